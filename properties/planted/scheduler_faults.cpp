// SPDX-License-Identifier: Apache-2.0
// Faults of the scheduler: who runs, when the reactor is polled, and when a run ends.
#include <memory>
#include <stdexcept>

#include "heddle/properties/planted/builder.hpp"

namespace heddle::prop::planted_bugs {
namespace {

using namespace std::chrono_literals;

/// How often a coroutine stands in the ready queue.
std::size_t times_queued(const CoroutineHandle& coroutine) {
    std::size_t count = 0;
    const Ring<CoroutineCore*>& ready = scheduler().ready_queue();
    for (std::size_t i = 0; i < ready.size(); ++i) { count += ready[i] == &coroutine.core() ? 1 : 0; }
    return count;
}

}  // namespace

void add_scheduler_faults(Builder& add) {
    add.add("FLT-05", "high priority is for the start alone: a yield goes to the tail", 0, ChoiceMask::none(), [] {
        auto other_ran = std::make_shared<bool>(false);
        auto high = spawn({.name = "high", .priority = Priority::high}, [other_ran] {
            for (int i = 0; i < 5; ++i) { yield(); }
            HEDDLE_ASSERT(*other_ran, "INV-SCHED-08");
        });
        auto other = spawn("other", [other_ran] { *other_ran = true; });
        await_all(high, other);
    });
    add.add("FLT-06", "while somebody is ready the reactor does not wait", 1, ChoiceMask{ChoiceKind::poll}, [] {
        auto sleeper = spawn("sleeper", [] { sleep_for(100ms); });
        for (int i = 0; i < 2; ++i) {
            // Each of them ends at once: the loop dispatches the next one after a poll of its own.
            auto quick = spawn("quick", [] {});
            auto second = spawn("second", [] { HEDDLE_ASSERT(now() < Instant{} + 100ms, "INV-SCHED-13"); });
            await_all(quick, second);
        }
        sleeper.await();
    });
    add.add("FLT-09", "a coroutine cancelled before its start is finalized, and its awaiter sees it", 0, ChoiceMask::none(), [] {
        auto c = spawn("c", [] {});
        auto finally_ran = std::make_shared<bool>(false);
        c.finally([finally_ran](const CoroutineHandle&) { *finally_ran = true; });
        c.cancel("before the start");
        bool cancelled = false;
        try {
            c.await();
        } catch (const Cancellation&) {
            cancelled = true;
        }
        HEDDLE_ASSERT(cancelled && *finally_ran, "INV-CAN-03");
    });
    add.add("FLT-15", "a coroutine that yields until a timer has set a flag comes to an end", 0, ChoiceMask{ChoiceKind::poll}, [] {
        auto flag = std::make_shared<bool>(false);
        auto a = spawn("a", [flag] {
            while (!*flag) { yield(); }
        });
        auto b = spawn("b", [flag] {
            sleep_for(5ms);
            *flag = true;
        });
        await_all(a, b);
    });
    add.add("FLT-16", "a microtask that throws leaves the ones behind it in the queue", 0, ChoiceMask::none(), [] {
        auto second_ran = std::make_shared<bool>(false);
        add_microtask([] { throw std::runtime_error("first"); });
        add_microtask([second_ran] { *second_ran = true; });
        for (int i = 0; i < 3; ++i) {
            try {
                yield();
            } catch (const Cancellation&) {  // the error shuts the runtime down
            }
        }
        HEDDLE_ASSERT(*second_ran, "INV-TASK-02");
    });
    add.ends_with_an_error();
    add.add("FLT-21", "clean-up that spawns its own successor does not keep a deadlocked run going for ever", 0, ChoiceMask::none(), [] {
        struct Again {
            static void run() {
                try {
                    await_event(event("never"));
                } catch (const Cancellation&) {
                    spawn("again", [] { run(); });
                    throw;
                }
            }
        };
        spawn("again", [] { Again::run(); });
    });
    add.ends_with_an_error();
    add.add("FLT-22", "time moves although somebody is always ready", 0, ChoiceMask{ChoiceKind::time}, [] {
        auto flag = std::make_shared<bool>(false);
        auto b = spawn("b", [flag] {
            sleep_for(5ms);
            *flag = true;
        });
        while (!*flag) { yield(); }
        b.await();
    });
    add.add("FLT-23", "a coroutine that its before hook cancels is queued once", 0, ChoiceMask::none(), [] {
        SpawnOptions options;
        options.name = "a";
        options.before = [](const CoroutineHandle& a) { a.cancel(); };
        auto a = spawn(options, [] { HEDDLE_ASSERT(false, "INV-CAN-03"); });
        HEDDLE_ASSERT(times_queued(a) == 1, "INV-SCHED-02");
        try {
            a.await();
        } catch (const Cancellation&) {
        }
    });
}

}  // namespace heddle::prop::planted_bugs
