// SPDX-License-Identifier: Apache-2.0
// Contexts: direct hand-over from a coroutine that ended to the next one, and the pool of idle ones (SCH-43 to SCH-46).
#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

/// Says when its coroutine gains and loses the stack.
class Says final : public SwitchHandler {
public:
    Says(Program& program, std::string name) : program_(program), name_(std::move(name)) {}
    bool on_switch(CoroutineHandle, bool entering, bool finishing) override {
        program_.log(name_ + (finishing ? ":FINISH" : entering ? ":ENTER" : ":LEAVE"));
        return true;
    }

private:
    Program& program_;
    std::string name_;
};

TEST(HandOver, StartsTheNextOneOnTheContextOfTheFinishedOne) {
    Program program;  // T6
    program.reactor().set_poll_every(0);
    program.run([&] {
        const Context* used = nullptr;
        std::uint64_t switches = 0;
        const Ref<OneShotEvent> gate = OneShotEvent::make(program.scheduler());
        const Coroutine<> started = spawn([&] {
            wait_for(*gate);
            EXPECT_EQ(program.switches(), switches + 1);  // one switch, when N had ended
            program.log("S");
        });
        yield();
        spawn([&] {
            spawn([&] {
                EXPECT_EQ(current_coroutine().core().context(), used);
                EXPECT_EQ(program.switches(), switches);  // no switch at all
                program.log("N");
            });
            gate->complete();  // queue: N, S
            used = current_coroutine().core().context();
            switches = program.switches();
            program.log("C");
        });
        wait_for(started.core());
    });
    EXPECT_EQ(program.text(), "C N S");
}

TEST(HandOver, FinalizesADoomedOneOnTheContextOfTheFinishedOne) {
    Program program;  // SCH-43(c)
    program.reactor().set_poll_every(0);
    program.run([&] {
        const Context* used = nullptr;
        std::uint64_t switches = 0;
        const Coroutine<> first = spawn([&] {
            used = current_coroutine().core().context();
            switches = program.switches();
        });
        const Coroutine<> doomed = spawn([] {});
        doomed.set_dispose_hook([&](CoroutineCore&) {
            EXPECT_EQ(program.switches(), switches);
            program.log("doomed");
        });
        doomed.cancel();
        spawn([&] {
            EXPECT_EQ(program.switches(), switches);
            EXPECT_EQ(current_coroutine().core().context(), used);
            program.log("next");
        });
        wait_for(first.core());
    });
    EXPECT_EQ(program.text(), "doomed next");
}

TEST(HandOver, EntersTheSchedulerCoroutineOnlyForAReason) {
    Program program;  // SCH-37, INV-SCHED-15
    program.reactor().set_poll_every(0);
    program.run([&] {
        std::uint64_t before = 0;
        const auto next = [&](std::uint64_t expected, const char* name) {
            return [&, expected, name] {
                EXPECT_EQ(program.switches() - before, expected) << name;
                program.log(name);
            };
        };
        const Coroutine<> warm = spawn([] {});
        warm.await();
        // A dispatch that transfers control: directly.
        Coroutine<> made = spawn(next(1, "direct"));
        before = program.switches();
        made.await();
        // A dispatch that found a doomed one: through the scheduler coroutine.
        const Coroutine<> doomed = spawn([] {});
        doomed.cancel();
        made = spawn(next(2, "doomed"));
        before = program.switches();
        made.await();
        // Nothing ready: the scheduler coroutine blocks, and comes back.
        before = program.switches();
        pause_for(1ms);
        next(2, "idle")();
        // A context that ended with somebody started behind it: directly.
        made = spawn([&] { before = program.switches(); });
        yield();
        next(1, "ended")();
    });
    EXPECT_EQ(program.text(), "direct doomed idle ended");
}

TEST(HandOver, GivesTheSameSequenceAsTheSchedulerCoroutineWould) {
    // SCH-44, INV-SCHED-21: one program with everything in it, the same log in every mode.
    std::string expected;
    in_every_mode([&](Program& program) {
        SCOPED_TRACE(program.mode());
        program.reactor().set_poll_every(3);
        Says main_handler(program, "m");
        std::uint64_t beats = 0;
        program.runtime().set_heartbeat([&] { ++beats; });
        std::vector<std::unique_ptr<Says>> handlers;
        const ErrorValue error = program.run([&] {
            current_coroutine().add_switch_handler(main_handler);
            const Ref<OneShotEvent> gate = OneShotEvent::make(program.scheduler());
            for (int i = 0; i < 6; ++i) {
                const std::string name(1, static_cast<char>('a' + i));
                const Coroutine<> made = spawn(Name::of(name), [&, i, name, gate] {
                    program.log(name + "1");
                    if (i % 3 == 0) { yield(); }
                    if (i % 3 == 1) { pause_for(Duration(std::chrono::milliseconds(i))); }
                    if (i % 3 == 2) { wait_for(*gate); }
                    program.log(name + "2");
                    if (i == 3) {
                        spawn([&] { program.log("child"); });
                        gate->complete();
                    }
                    add_microtask([&, name] { program.log(name + "m"); });
                });
                made.finally([&, name](CoroutineHandle) { program.log(name + "f"); });
                handlers.push_back(std::make_unique<Says>(program, name));
                made.add_switch_handler(*handlers.back());
                if (i == 5) { made.cancel(); }
            }
        });
        program.runtime().set_heartbeat({});
        EXPECT_FALSE(error);
        program.log("beats=" + std::to_string(beats));
        if (expected.empty()) { expected = program.text(); }
        EXPECT_EQ(program.text(), expected);
    });
    EXPECT_NE(expected.find("child"), std::string::npos);
}

/// Starts `count` coroutines that wait, lets all of them end, and tells how many contexts are kept.
std::size_t pooled_after(Program& program, int count) {
    std::size_t pooled = 0;
    program.reactor().set_poll_every(0);
    program.run([&] {
        const Ref<OneShotEvent> gate = OneShotEvent::make(program.scheduler());
        for (int i = 0; i < count; ++i) {
            spawn([&] { wait_for(*gate); });
        }
        yield();
        EXPECT_EQ(program.runtime().statistics().live_contexts, static_cast<std::size_t>(count) + 1);
        gate->complete();
        yield();
        pooled = program.runtime().statistics().pooled_contexts;
        EXPECT_EQ(program.runtime().statistics().live_contexts, pooled + 1);
    });
    EXPECT_EQ(program.runtime().statistics().live_contexts, 0U);
    EXPECT_EQ(program.runtime().statistics().pooled_contexts, 0U);
    return pooled;
}

TEST(ContextPool, KeepsFourAndMoreOnlyWhileMoreAreReady) {
    // SCH-45. Main yields behind n woken ones: when the i-th of them ends, n − i of them and main are queued, and the
    // next one has been taken out. So the pool grows while i − 1 < max(4, n − i).
    for (const auto& [count, kept] : {std::pair{1, 1U}, {3, 3U}, {4, 4U}, {9, 4U}, {10, 5U}, {20, 10U}}) {
        SCOPED_TRACE(count);
        Program program;
        EXPECT_EQ(pooled_after(program, count), kept);
    }
}

TEST(ContextPool, KeepsNoneWhereItIsSwitchedOff) {
    RuntimeOptions options;
    options.pool_contexts = false;
    Program program(options);
    EXPECT_EQ(pooled_after(program, 20), 0U);
}

TEST(ContextPool, IsUsedBeforeANewContextIsMade) {
    Program program;
    program.run([&] {
        const Ref<OneShotEvent> gate = OneShotEvent::make(program.scheduler());
        const auto round = [&](int count) {
            std::vector<Coroutine<>> made;
            for (int i = 0; i < count; ++i) {
                made.push_back(spawn([] { yield(); }));
            }
            for (const Coroutine<>& one : made) { one.await(); }
        };
        round(4);
        EXPECT_EQ(program.runtime().statistics().pooled_contexts, 4U);
        for (int i = 0; i < 100; ++i) { round(4); }
        EXPECT_EQ(program.runtime().statistics().live_contexts, 5U);
    });
}

}  // namespace
}  // namespace heddle::testing
