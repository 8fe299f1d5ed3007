// SPDX-License-Identifier: Apache-2.0
// Corpus, area zombie: coroutines that outlive what they belong to.
//
//   BUG-048  true-async/php-async#132                             a bounded disposal waits for a sleeper's timer
//   BUG-050  true-async/php-async#245, true-async/php-async#246   children of a finished task are forgotten by the drain
//   BUG-051  true-async/php-async#160                             data of the body goes while a child still reads it
//   BUG-052  python/cpython#91887                                 a coroutine that nobody holds disappears while parked
//   BUG-053  cjrh/aiorun#77                                       the end waits for one who swallows its cancellations
//   BUG-055  Kotlin/kotlinx.coroutines#64                         a join returns before the last stretch has run
//
// Where chance enters: sim::choose, who runs next, ties of timers.
#include <memory>
#include <optional>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

void bounded_disposal_and_a_long_sleep() {
    Scope scope;
    scope.allow_zombies();
    const Clock clock;
    const std::uint32_t how = sim::choose(3, "the scope is disposed");  // within 10 ms / safely / within 10 ms and safely
    const Duration end = how == 1 ? 2000ms : 10ms;                      // the epilogue's bound, or the disposal's
    scope.spawn("sleeper", [clock, end] {
        try {
            sleep_for(100'000ms);
        } catch (const Cancellation&) {
            HEDDLE_CHECK(clock.is_at(end));
            throw;
        }
        HEDDLE_CHECK(clock.elapsed() < 100'000ms);  // nobody ended its sleep
    });
    if (sim::choose(2, "the sleeper has begun") == 1) { let_all_run(); }
    if (how != 1) { scope.dispose_after_timeout(10ms); }
    if (how != 0) { scope.dispose_safely(); }
    // The handle goes: what is left, is left as zombies.
}

void children_of_a_finished_task() {
    const Clock clock;
    auto context = std::make_unique<int>(1);
    bool used = false;
    Scope group;
    group.allow_zombies();
    auto task = group.spawn("task", [&] {
        spawn("child", [&] {
            sleep_for(10ms);
            HEDDLE_CHECK(context != nullptr);
            used = true;
        });
        if (sim::choose(2, "the child starts first") == 1) { yield(); }
    });
    const Event no_limit = make_event("no limit");
    if (sim::choose(2, "drained as zombies") == 1) {
        join(task);
        group.dispose_safely();
        HEDDLE_CHECK(group.core().active() == 0 && group.core().zombies() == 1);
        group.await_after_cancellation();
    } else {
        group.await_completion(*no_limit);
    }
    context.reset();
    HEDDLE_CHECK(used);
    HEDDLE_CHECK(clock.is_at(10ms));
}

void context_of_a_finished_body() {
    bool alive = true;
    bool read = false;
    std::optional<Scope> scope(std::in_place);
    scope->allow_zombies();
    const ScopeRef known = *scope;
    auto task = scope->spawn("task", [&] {
        known.finally([&](const ScopeRef&) { alive = false; });
        spawn("child", [&] {
            yield();
            yield();
            HEDDLE_CHECK(alive);
            read = true;
        });
    });
    if (sim::choose(2, "the handle goes first") == 1) { scope.reset(); }
    join(task);
    scope.reset();
    let_all_run();
    HEDDLE_CHECK(read);
    HEDDLE_CHECK(!alive);
    HEDDLE_CHECK(known.core().is_terminated());
}

void nobody_holds_a_parked_coroutine() {
    const Clock clock;
    bool resumed = false;
    Coroutine<> handle = spawn("alone", [&] {
        const Event mine = make_event("mine");
        const Alarm completes(scheduler(), 10ms, [&] { mine->complete(); });
        await_event(mine);
        HEDDLE_CHECK(clock.is_at(10ms));
        resumed = true;
    });
    if (sim::choose(2, "dropped while it is parked") == 1) { let_all_run(); }
    handle.release();
    sleep_for(9ms);
    HEDDLE_CHECK(statistics().registered == 2);
    sleep_for(2ms);
    HEDDLE_CHECK(resumed);
    HEDDLE_CHECK(statistics().registered == 1);
}

void one_who_swallows_its_cancellations() {
    const auto clock = std::make_shared<const Clock>();
    const std::uint32_t swallows = sim::choose(3, "cancellations swallowed");
    Scope scope;
    scope.allow_zombies();
    auto stubborn = scope.spawn("stubborn", [clock, swallows] {
        struct Leaves {
            const Clock& clock;
            // The second period of the epilogue is the last one, whatever was swallowed (ZOM-12).
            ~Leaves() { HEDDLE_CHECK(clock.elapsed() <= 4'100ms); }
        } leaves{*clock};
        std::uint32_t swallowed = 0;
        for (;;) {
            HEDDLE_CHECK(clock->elapsed() <= 4'100ms);
            try {
                sleep_for(10ms);
            } catch (const Cancellation&) {
                if (swallowed++ == swallows) { throw; }
            }
        }
    });
    let_all_run();
    scope.dispose_safely();
    HEDDLE_CHECK(stubborn.is_zombie());
    HEDDLE_CHECK(current_runtime("report").zombies().size() == 1);
    if (sim::choose(2, "the program shuts down") == 1) { shutdown(); }
}

void join_before_the_last_stretch() {
    int x = 0;
    bool started = false;
    auto a = spawn("a", [&] {
        struct Finally {
            int& x;
            ~Finally() {
                cleanup([this] {
                    yield();
                    x = 1;
                });
            }
        };
        started = true;
        const Finally last{x};
        yield();
    });
    if (sim::choose(2, "a has started") == 1) { yield(); }
    a.cancel();
    const ErrorValue error = caught([&] { a.await(); });
    HEDDLE_CHECK(a.is_completed());
    HEDDLE_CHECK(x == (started ? 1 : 0));
    HEDDLE_CHECK(error.is_cancellation() || (started && !a.is_cancelled()));
}

}  // namespace

std::vector<sim::Scenario> zombie_area() {
    using enum ChoiceKind;
    return {
        ends_by(scenario_of({"corpus/BUG-048", "true-async/php-async#132",
                             "A bounded disposal ends a sleeping member at its bound; a safe one leaves it to the end of the run.", 2,
                             {value, dispatch, timer, poll}},
                            bounded_disposal_and_a_long_sleep),
                2'100ms),
        scenario_of({"corpus/BUG-050", "true-async/php-async#245, true-async/php-async#246",
                     "A drain waits for what a finished task has spawned, zombies included.", 3, {value, dispatch}},
                    children_of_a_finished_task),
        scenario_of({"corpus/BUG-051", "true-async/php-async#160",
                     "What belongs to a scope lives until the last coroutine of it has ended.", 3, {value, dispatch}},
                    context_of_a_finished_body),
        scenario_of({"corpus/BUG-052", "python/cpython#91887",
                     "A parked coroutine that nobody holds a handle of is resumed when its time comes.", 2, {value, dispatch, timer, poll}},
                    nobody_holds_a_parked_coroutine),
        ends_by(scenario_of({"corpus/BUG-053", "cjrh/aiorun#77",
                             "A coroutine that swallows its cancellations is listed as a zombie and ended in bounded time.", 3,
                             {value, dispatch}},
                            one_who_swallows_its_cancellations),
                4'100ms),
        scenario_of({"corpus/BUG-055", "Kotlin/kotlinx.coroutines#64",
                     "A join of a cancelled coroutine returns after its cleanup, which suspends, has run.", 3, {value, dispatch}},
                    join_before_the_last_stretch),
    };
}

}  // namespace heddle::prop::corpus
