// SPDX-License-Identifier: Apache-2.0
// Runtime: launch, end, what it tells at any time, and the ambient functions (SCH-1 to SCH-5, SCH-52, SCH-73 to
// SCH-75).
#include "heddle/core/run/runtime.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

TEST(Runtime, RefusesEveryOperationOutsideARun) {
    Program program;
    EXPECT_EQ(program.scheduler().state(), Scheduler::State::ready);
    yield();  // the one that is a no-op (SCH-1)
    EXPECT_THROW(static_cast<void>(spawn([] {})), AsyncError);
    EXPECT_THROW(static_cast<void>(current_coroutine()), AsyncError);
    EXPECT_THROW(static_cast<void>(current_scope()), AsyncError);
    EXPECT_THROW(static_cast<void>(now()), AsyncError);
    EXPECT_THROW(shutdown(), AsyncError);
    EXPECT_THROW(add_microtask([] {}), AsyncError);
    EXPECT_THROW(program.runtime().add_microtask([] {}), AsyncError);
    EXPECT_THROW(static_cast<void>(program.runtime().spawn_internal("late", [] {})), AsyncError);
    program.run([] {});
    EXPECT_EQ(program.scheduler().state(), Scheduler::State::ready);
    EXPECT_THROW(static_cast<void>(spawn([] {})), AsyncError);
}

TEST(Runtime, HasEmptyStatisticsBeforeItsLaunch) {
    Program program;
    const RuntimeStatistics now = program.runtime().statistics();
    EXPECT_EQ(now.active, 0U);
    EXPECT_EQ(now.registered, 0U);
    EXPECT_EQ(now.ready, 0U);
    EXPECT_EQ(now.microtasks, 0U);
    EXPECT_EQ(now.active_events, 0U);
    EXPECT_EQ(now.live_contexts, 0U);
    EXPECT_EQ(now.spawned, 0U);
    EXPECT_TRUE(program.runtime().coroutines().empty());
    EXPECT_TRUE(program.runtime().zombies().empty());
    EXPECT_FALSE(program.runtime().exit_error());
}

TEST(Runtime, RunsMainAsAStartedMemberOfTheMainScope) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            EXPECT_EQ(program.scheduler().state(), Scheduler::State::active);
            const CoroutineHandle main = current_coroutine();
            EXPECT_TRUE(main.is_started());
            EXPECT_EQ(main.state(), CoroutineState::running);
            EXPECT_EQ(main.core().scope(), program.scheduler().main_scope());
            EXPECT_TRUE(program.scheduler().main_scope()->is_safe());
            const RuntimeStatistics now = program.runtime().statistics();
            EXPECT_EQ(now.active, 1U);
            EXPECT_EQ(now.registered, 1U);  // the scheduler coroutine is in neither (SCH-52)
        });
    });
}

TEST(Runtime, RefusesToRunInsideItselfAndGoesOn) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            EXPECT_THROW(program.runtime().run([] {}), AsyncError);
            spawn([&] {
                EXPECT_THROW(program.runtime().run([] {}), AsyncError);
                program.log("A");
            });
        });
        EXPECT_FALSE(error);
        EXPECT_EQ(program.text(), "A");
    });
}

TEST(Runtime, RefusesASecondOneOnItsThreadButNotAfterIt) {
    Program outer;
    Program inner;
    outer.run([&] {
        EXPECT_THROW(inner.runtime().run([] {}), AsyncError);
        spawn([&] { EXPECT_THROW(inner.runtime().run([] {}), AsyncError); });
    });
    EXPECT_FALSE(inner.run([&] { inner.log("now"); }));
    EXPECT_EQ(inner.text(), "now");
}

TEST(Runtime, ReturnsWhatMainReturned) {
    Program program;
    EXPECT_EQ(program.runtime().run([] { return 42; }), 42);
    EXPECT_EQ(*program.runtime().run([] { return std::make_unique<std::string>("moved"); }), "moved");
}

TEST(Runtime, ReturnsAnEmptyValueInSilenceWhenMainWasCancelled) {
    Program program;
    const int result = program.runtime().run([]() -> int {
        current_coroutine().cancel("enough");
        yield();
        return 42;
    });
    EXPECT_EQ(result, 0);
    EXPECT_FALSE(program.runtime().exit_error());  // SCH-74
}

TEST(Runtime, GoesOnAfterMainUntilTheLastCoroutineEnded) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] {
                pause_for(5ms);
                program.log("slow");
            });
            program.log("main");
        });
        EXPECT_EQ(program.text(), "main slow");
        EXPECT_EQ(program.reactor().now(), Instant{} + 5ms);
    });
}

TEST(Runtime, WaitsForAVisibleEventThatNobodyOwnsAndNotForAHiddenOne) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        Ref<ReactorEvent> visible;
        Ref<ReactorEvent> hidden;
        program.run([&] {
            visible = ReactorEvent::timer(program.scheduler(), {.timeout = 3ms});
            hidden = ReactorEvent::timer(program.scheduler(), {.timeout = 50ms}, true);
            visible->start();
            hidden->start();
        });
        EXPECT_TRUE(visible->is_closed());  // it fired
        EXPECT_EQ(program.reactor().now(), Instant{} + 3ms);
        visible.reset();
        hidden.reset();
    });
}

TEST(Runtime, RunsAgainAfterARunThatEndedWellOrBadly) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        CoroutineId last{};
        const auto once = [&](const char* name, bool fails) {
            return program.run([&, name, fails] {
                EXPECT_GT(current_coroutine().id(), last);
                EXPECT_FALSE(program.runtime().exit_error());  // the chain goes at launch
                const Coroutine<> child = spawn([&] { program.log(name); });
                last = child.id();
                child.await();
                if (fails) { throw Failure("bad"); }
            });
        };
        EXPECT_FALSE(once("one", false));
        EXPECT_EQ(chain(once("two", true)), "bad");
        EXPECT_EQ(chain(program.runtime().exit_error()), "bad");  // readable until the next launch (SCH-74)
        EXPECT_FALSE(once("three", false));
        EXPECT_FALSE(program.runtime().exit_error());
        EXPECT_EQ(program.text(), "one two three");
    });
}

TEST(Runtime, ThrowsTheNewestErrorWithItsOwnType) {
    Program program;
    struct Special : Failure {
        using Failure::Failure;
        int code = 7;
    };
    try {
        program.runtime().run([] { spawn([] { throw Special("it"); }); });
        ADD_FAILURE() << "an unhandled error must come out of run()";
    } catch (const Special& error) { EXPECT_EQ(error.code, 7); }
}

TEST(Runtime, ListsWhoWaitsWhereForWhatAndSinceWhen) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        std::uint32_t spawn_line = 0;
        std::uint32_t wait_line = 0;
        std::vector<CoroutineRecord> seen;
        std::size_t seen_by_heartbeat = 0;
        program.run([&] {
            Scope scope;
            spawn_line = __LINE__ + 1;
            const Coroutine<> waiter = scope.spawn("waiter", [&] {
                pause_for(2ms);
                wait_line = __LINE__ + 1;
                pause_for(5ms);
            });
            spawn("late", [] {});
            pause_for(3ms);
            spawn("newest", [] {});
            seen = program.runtime().coroutines();
            program.runtime().set_heartbeat(
                [&] { seen_by_heartbeat = std::max(seen_by_heartbeat, program.runtime().coroutines().size()); });
            waiter.await();
            program.runtime().set_heartbeat({});
            ASSERT_EQ(seen.size(), 3U);
            EXPECT_EQ(seen[0].state, CoroutineState::running);
            EXPECT_EQ(seen[0].id, current_coroutine().id());
            EXPECT_NE(seen[0].title.find("main"), std::string::npos);
            EXPECT_TRUE(seen[0].suspended_at.empty());
            EXPECT_EQ(seen[1].id, waiter.id());
            EXPECT_EQ(seen[1].scope, scope.id());
            EXPECT_NE(seen[1].title.find("waiter"), std::string::npos);
            EXPECT_EQ(seen[1].state, CoroutineState::waiting);
            EXPECT_TRUE(seen[1].spawned_at.ends_with("runtime_test.cpp:" + std::to_string(spawn_line)))
                << seen[1].spawned_at;
            EXPECT_TRUE(seen[1].suspended_at.ends_with("runtime_test.cpp:" + std::to_string(wait_line)))
                << seen[1].suspended_at;
            EXPECT_TRUE(seen[1].waits_for.starts_with("pause ")) << seen[1].waits_for;
            EXPECT_EQ(seen[1].since, Instant{} + 2ms);
            EXPECT_FALSE(seen[1].zombie);
            EXPECT_EQ(seen[2].state, CoroutineState::ready_new);
        });
        EXPECT_GE(seen_by_heartbeat, 2U);
        EXPECT_TRUE(program.runtime().coroutines().empty());
    });
}

TEST(Runtime, CountsActiveCoroutinesAndTheRegistryApart) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            scope.allow_zombies();
            const Coroutine<> member = scope.spawn([] { pause_for(1ms); });
            EXPECT_EQ(program.runtime().statistics().active, 2U);
            scope.dispose_safely();
            EXPECT_EQ(program.runtime().statistics().active, 1U);
            EXPECT_EQ(program.runtime().statistics().registered, 2U);
            EXPECT_EQ(program.runtime().zombies().size(), 1U);
            member.await();
            EXPECT_EQ(program.runtime().statistics().registered, 1U);
        });
        EXPECT_EQ(program.runtime().statistics().active, 0U);
    });
}

TEST(Runtime, GivesTheAmbientFunctionsToMainStartHandlersToo) {
    struct AtStart final : SwitchHandler {
        CoroutineId seen{};
        bool on_switch(CoroutineHandle coroutine, bool, bool) override {
            if (current_coroutine() == coroutine) { seen = coroutine.id(); }
            return false;
        }
    } handler;
    Program program;
    program.runtime().add_switch_handler(handler);
    program.run([&] { EXPECT_EQ(handler.seen, current_coroutine().id()); });
}

TEST(Runtime, LivesAThousandTimesInOneProcessAndOnSeveralThreads) {
    const auto live = [](int count, std::string& text) {
        StackPool stacks{StackOptions{}};
        RuntimeOptions options;
        options.stack_pool = &stacks;
        for (int i = 0; i < count; ++i) {
            Program program(options);
            program.run([&] {
                const Coroutine<int> a = spawn([] { return 1; });
                const Coroutine<int> b = spawn([&] { return a.await() + 1; });
                program.log(std::to_string(b.await()));
            });
            text += program.text();
        }
    };
    std::string here;
    std::string there;
    std::thread other([&] { live(200, there); });
    live(1000, here);
    other.join();
    EXPECT_EQ(here, std::string(1000, '2'));
    EXPECT_EQ(there, std::string(200, '2'));
}

}  // namespace
}  // namespace heddle::testing
