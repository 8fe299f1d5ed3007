// SPDX-License-Identifier: Apache-2.0
// Zombies: the transition, and what they may do (ZOM-1 to ZOM-11, ZOM-16 to ZOM-21, Z1, Z5 to Z7, the table of strategies, INV-ZOM).
#include <gtest/gtest.h>

#include <optional>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class ZombieTest : public ::testing::Test, protected World {
protected:
    /// A safe scope and a member that waits for `bell`.
    Coroutine<> member(const ScopeRef& scope, const Ref<Bell>& bell, std::string name = "A") {
        return scope.spawn([this, bell, name] {
            wait_for(*bell);
            log(name);
        });
    }
    [[nodiscard]] Duration time() { return reactor().now() - Instant{}; }
};

using Zombie = ZombieTest;

TEST_F(Zombie, TheTransitionMovesCountsAndNothingElse) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const Ref<Bell> b = bell();
        const auto a = member(scope, b);
        yield();
        const std::size_t active = scheduler().active_count();
        const std::size_t registered = program_.runtime().statistics().registered;
        cancel(a, CancelKind::safe_cancel);
        EXPECT_TRUE(a.is_zombie());  // ZOM-3
        EXPECT_EQ(scope.core().active(), 0U);
        EXPECT_EQ(scope.core().zombies(), 1U);
        EXPECT_EQ(scheduler().active_count(), active - 1);
        EXPECT_EQ(program_.runtime().statistics().registered, registered);
        EXPECT_EQ(a.state(), CoroutineState::waiting);  // ZOM-5: its wait goes on
        EXPECT_EQ(b->loop_refs(), 1U);
        EXPECT_FALSE(a.is_cancellation_requested());
        // Again: nothing (INV-ZOM-02).
        cancel(a, CancelKind::safe_cancel);
        cancel(a, CancelKind::safe_dispose);
        EXPECT_EQ(scheduler().active_count(), active - 1);
        EXPECT_EQ(scope.core().zombies(), 1U);
        b->ring();
        a.await();
        EXPECT_EQ(scope.core().zombies(), 0U);  // ZOM-9: a zombie finishes
        EXPECT_EQ(scheduler().active_count(), active - 1);
        EXPECT_FALSE(a.is_cancelled());  // INV-CAN-09
        EXPECT_TRUE(a.is_zombie());      // ZOM-4
        cancel(a, CancelKind::safe_cancel);
        EXPECT_EQ(scope.core().zombies(), 0U);
    });
    EXPECT_EQ(text(), "A");
}

TEST_F(Zombie, OneThatIsAboutToUnwindDoesNotBecomeOne) {
    run([&] {
        Scope scope;
        const Ref<Bell> b = bell();
        const auto stored = member(scope, b);
        const auto pending = scope.spawn([&] {
            current_coroutine().cancel();
            protect([] { yield(); });
        });
        yield();
        stored.cancel();
        cancel(stored, CancelKind::safe_cancel);
        cancel(pending, CancelKind::safe_cancel);
        EXPECT_FALSE(stored.is_zombie());  // ZOM-3.2
        EXPECT_FALSE(pending.is_zombie());
        yield();
    });
}

TEST_F(Zombie, NothingElseMakesOne) {
    const ErrorValue exit = run([&] {
        // ZOM-2
        Scope scope;
        const auto cancelled = scope.spawn([] { wait_forever(); });
        auto orphan = scope.spawn([&] {
            static_cast<void>(caught([] { protect([] { yield(); }); }));
            EXPECT_FALSE(current_coroutine().is_zombie());
        });
        yield();
        orphan.release();
        cancelled.cancel();
        EXPECT_FALSE(cancelled.is_zombie());
        const auto failed = spawn([] { throw Failure("E"); });  // in the main scope (ERR-8)
        static_cast<void>(caught([&] { failed.await(); }));
        EXPECT_FALSE(current_coroutine().is_zombie());
        EXPECT_TRUE(program_.runtime().zombies().empty());
    });
    EXPECT_FALSE(exit);
}

TEST_F(Zombie, RunsIsAwaitedAndForciblyCancelledLikeAnyOther) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const Ref<Bell> b = bell();
        const auto value = scope.spawn([&] {
            wait_for(*b);
            return 3;
        });
        const auto failed = scope.spawn([&] {
            wait_for(*b);
            throw Failure("E");
        });
        const auto killed = scope.spawn([&] { log_caught([] { wait_forever(); }); });
        yield();
        scope.dispose();
        b->ring();
        EXPECT_EQ(value.await(), 3);  // ZOM-6
        log_caught([&] { failed.await(); });
        killed.cancel("forced");  // ZOM-7
        killed.await();
        EXPECT_TRUE(killed.is_zombie());
        EXPECT_TRUE(killed.is_cancelled());
    });
    EXPECT_EQ(text(), "E forced");
}

TEST_F(Zombie, MaySpawnIntoOpenScopesOrdinarily) {
    run([&] {
        Scope scope;
        Scope other;
        const auto zombie = scope.spawn([&] {
            yield();
            const auto active = other.spawn([] { EXPECT_FALSE(current_coroutine().is_zombie()); });  // ZOM-8
            active.await();
        });
        yield();
        scope.dispose_safely();
        zombie.await();
    });
}

TEST_F(Zombie, BlocksTerminationAndTheLongWaitAndNothingElse) {
    run([&] {
        Scope parent;
        parent.finally([&](const ScopeRef&) { log("parent"); });
        Scope scope = parent.inherit();
        scope.finally([&](const ScopeRef&) { log("scope"); });
        const Ref<Bell> b = bell();
        const auto zombie = member(scope, b);
        zombie.finally([&](const CoroutineHandle&) {
            EXPECT_FALSE(current_coroutine().is_zombie());  // ZOM-11
            log("own");
        });
        yield();
        parent.dispose_safely();
        EXPECT_TRUE(scope.is_finished());  // ZOM-10
        EXPECT_TRUE(scope.is_closed());
        EXPECT_FALSE(scope.core().is_terminated());
        EXPECT_THROW(scope.spawn([] {}), AsyncError);
        const Ref<OneShotEvent> token = OneShotEvent::make(scheduler());
        scope.await_completion(*token);
        spawn([&] { b->ring(); });
        scope.await_after_cancellation();
        log("waited");
        for (int i = 0; i < 4; ++i) { yield(); }
        EXPECT_TRUE(parent.core().is_terminated());
    });
    EXPECT_EQ(text(), "A own scope parent waited");
}

TEST_F(Zombie, ItsErrorTakesTheWayOfAnyError) {
    const ErrorValue exit = run([&] {
        Scope scope;
        const auto zombie = scope.spawn([] {
            yield();
            throw Failure("E");
        });
        const auto rest = scope.spawn([&] { log_caught([] { wait_forever(); }); });
        yield();
        scope.dispose_safely();
        static_cast<void>(caught([&] { rest.await(); }));
        EXPECT_TRUE(rest.is_cancelled());  // ZOM-17: the error cancels the zombies of a scope that is not safe
        static_cast<void>(caught([&] { zombie.await(); }));
    });
    EXPECT_EQ(text(), "a sibling failed");
    EXPECT_FALSE(exit);  // ZOM-16: kept on the handle, then delivered

    program_.clear();
    const ErrorValue reported = run([&] {
        Scope scope;
        scope.spawn([] {
            yield();
            throw Failure("E");
        });
        yield();
        scope.dispose_safely();
        log_caught([] { wait_forever(); });
    });
    EXPECT_EQ(text(), "graceful shutdown");
    EXPECT_EQ(chain(reported), "E");
}

TEST_F(Zombie, ItsCancellationIsNoError) {
    EXPECT_FALSE(run([&] {
        Scope scope;
        scope.set_exception_handler([&](const ScopeRef&, const CoroutineHandle&, const ErrorValue&) { log("handler"); });
        const auto zombie = scope.spawn([] { wait_forever(); });
        yield();
        scope.dispose_safely();
        zombie.cancel();
        yield();
    }));
    EXPECT_EQ(text(), "");  // ZOM-18
}

TEST(ZombieHook, IsToldAfterTheWaitersWereWoken) {
    std::string seen;
    std::optional<Program> program;
    RuntimeOptions options;
    options.on_zombie = [&](const CoroutineHandle& coroutine, const ScopeRef& scope) {
        seen += std::string(coroutine.name()) + std::to_string(scope.core().zombies()) + " ";
        EXPECT_TRUE(coroutine.is_zombie());
        EXPECT_THROW(yield(), AsyncError);
        if (coroutine.name() == "b") { throw Failure("E"); }
    };
    program.emplace(options);
    const ErrorValue exit = program->run([&] {
        Scope scope;
        const Ref<OneShotEvent> token = OneShotEvent::make(program->scheduler());
        scope.spawn("a", [] { yield(); });
        scope.spawn("b", [] { yield(); });
        yield();
        scope.dispose_safely();
        scope.dispose_safely();
        static_cast<void>(caught([] { yield(); }));
    });
    EXPECT_EQ(seen, "a1 b2 ");  // ZOM-21
    EXPECT_EQ(chain(exit), "E");
}

TEST_F(Zombie, StandsInTheRegisterWithWhereItIs) {
    run([&] {
        Scope scope;
        const Ref<Bell> b = bell("front door");
        const auto a = scope.spawn("watcher", [&] { wait_for(*b, "watch"); });
        yield();
        EXPECT_TRUE(program_.runtime().zombies().empty());
        scope.dispose_safely();
        const std::vector<CoroutineRecord> zombies = program_.runtime().zombies();
        ASSERT_EQ(zombies.size(), 1U);
        EXPECT_EQ(zombies[0].id, a.id());
        EXPECT_EQ(zombies[0].scope, scope.id());
        EXPECT_TRUE(zombies[0].zombie);
        EXPECT_EQ(zombies[0].state, CoroutineState::waiting);
        EXPECT_NE(zombies[0].title.find("watcher"), std::string::npos);
        EXPECT_NE(zombies[0].suspended_at.find("zombie_test.cpp"), std::string::npos);
        EXPECT_EQ(zombies[0].waits_for, "watch front door");
        EXPECT_EQ(program_.runtime().coroutines().size(), 2U);
        b->ring();
        yield();
    });
}

// ── the table of strategies, and the worked traces ──

struct Strategy {
    const char* name;
    bool safe;
    void (*apply)(Scope&);
    bool unstarted_runs;
    bool started_is_zombie;
};

TEST(ZombieTable, EachStrategyDoesWhatTheTableSays) {
    const Strategy strategies[] = {
        {"cancel, not safe", false, [](Scope& s) { s.cancel(); }, false, false},
        {"cancel, safe", true, [](Scope& s) { s.cancel(); }, false, true},
        {"dispose, not safe", false, [](Scope& s) { s.dispose(); }, false, false},
        {"dispose, safe", true, [](Scope& s) { s.dispose(); }, true, true},
        {"dispose_safely, not safe", false, [](Scope& s) { s.dispose_safely(); }, true, true},
        {"dispose_safely, safe", true, [](Scope& s) { s.dispose_safely(); }, true, true},
        {"release, not safe", false, [](Scope& s) { s.release(); }, false, false},
        {"release, safe", true, [](Scope& s) { s.release(); }, true, true},
    };
    for (const Strategy& strategy : strategies) {
        SCOPED_TRACE(strategy.name);
        in_every_mode([&](Program& program) {
            SCOPED_TRACE(program.mode());
            program.run([&] {
                Scope scope;
                const ScopeRef ref = scope;
                strategy.safe ? scope.allow_zombies() : scope.as_not_safely();
                const Ref<Bell> bell = Bell::make(program.scheduler());
                const auto started = scope.spawn([&] { program.log(message(caught([&] { wait_for(*bell); }))); });
                yield();
                const auto unstarted = scope.spawn([&] { program.log("new"); });
                strategy.apply(scope);
                EXPECT_THROW(ref.spawn([] {}), AsyncError);
                EXPECT_EQ(started.is_zombie(), strategy.started_is_zombie);
                EXPECT_EQ(started.is_cancellation_requested(), !strategy.started_is_zombie);
                EXPECT_EQ(unstarted.is_zombie(), strategy.unstarted_runs);
                yield();
                bell->ring();
                yield();
                EXPECT_TRUE(ref.core().is_terminated());
                EXPECT_EQ(unstarted.is_started(), strategy.unstarted_runs);
            });
            const std::string ended = strategy.started_is_zombie ? "none" : program.entries().back();
            EXPECT_EQ(program.text(), (strategy.unstarted_runs ? "new " : "") + ended);
            EXPECT_EQ(ended == "none", strategy.started_is_zombie);
        });
    }
}

TEST_F(Zombie, TraceZ1TheShortWaitReturnsAtOnceAndTheLongOneAfterIt) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            scope.allow_zombies();
            scope.spawn([&] {
                pause_for(50ms);
                program.log("a");
            });
            yield();
            scope.dispose();
            const Ref<OneShotEvent> token = OneShotEvent::make(program.scheduler());
            scope.await_completion(*token);
            EXPECT_LT(program.reactor().now() - Instant{}, 1ms);
            program.log("at once");
            scope.await_after_cancellation();
            program.log("after");
            EXPECT_EQ(program.reactor().now() - Instant{}, 50ms);
        });
        EXPECT_EQ(program.text(), "at once a after");
    });
}

TEST_F(Zombie, TraceZ5DisposedBeforeItStartedItRunsAsOne) {
    run([&] {
        Scope scope;
        scope.spawn([&] {
            EXPECT_TRUE(current_coroutine().is_zombie());
            yield();
            log("a");
        });
        scope.dispose_safely();
        yield();
        yield();
    });
    EXPECT_EQ(text(), "a");
}

TEST_F(Zombie, TraceZ6ATimeoutThatWasSetBeforeStillBoundsIt) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const auto a = scope.spawn([&] { log_caught([] { pause_for(1s); }); });
        scope.dispose_after_timeout(5ms);
        yield();
        scope.dispose_safely();  // ZOM-19: keeps it armed
        EXPECT_TRUE(a.is_zombie());
        a.await();
        EXPECT_EQ(time(), 5ms);
        EXPECT_TRUE(a.is_cancelled());
    });
    EXPECT_EQ(text(), "the scope's time has expired");
}

TEST_F(Zombie, TraceZ7ARepeatedSafeCancelCountsOnce) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const Ref<Bell> b = bell();
        const auto a = member(scope, b);
        yield();
        const std::size_t before = scheduler().active_count();
        scope.cancel();
        scope.cancel();
        EXPECT_EQ(scheduler().active_count(), before - 1);
        EXPECT_FALSE(scope.core().is_terminated());
        b->ring();
        a.await();
        EXPECT_TRUE(scope.core().is_terminated());
    });
}

TEST_F(Zombie, TheSupportedBoundedWait) {
    run([&] {
        // ZOM-20
        Scope scope;
        scope.spawn([] {
            yield();
            throw Failure("E");
        });
        const auto slow = scope.spawn([] { static_cast<void>(caught([] { pause_for(10s); })); });
        yield();
        scope.allow_zombies();
        scope.dispose_safely();
        const Ref<ReactorEvent> bound = ReactorEvent::timer(scheduler(), in(100ms));
        const ErrorValue thrown = caught([&] {
            scope.await_after_cancellation([&](const ErrorValue& error, const ScopeRef&) { log(message(error)); }, bound.get());
        });
        EXPECT_TRUE(holds<OperationCanceled>(thrown));
        EXPECT_EQ(time(), 100ms);
        slow.cancel();
    });
    EXPECT_EQ(text(), "E");
}

}  // namespace
}  // namespace heddle::testing
