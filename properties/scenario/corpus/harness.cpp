// SPDX-License-Identifier: Apache-2.0
// Corpus, area harness-itself, as far as a program can show it: a simulator that is wrong about the runtime it simulates.
//
//   BUG-162  awslabs/shuttle@e66ec1c                             a late wake resurrects a coroutine that has ended
//   BUG-163  awslabs/shuttle@b77c209, cmu-pasta/fray@44e9b75c    a model of a primitive deadlocks by itself
//   BUG-167  tigerbeetle/tigerbeetle@88947f0ee                   equal keys leave a heap in an order that nobody fixed
//
// README.md says what the others are, or wait for.
// Where chance enters: sim::choose, who runs next.
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"
#include "heddle/properties/scenario/corpus/primitives.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

void late_wake_of_one_who_has_ended() {
    const Event given = make_event("given");
    int ran = 0;
    const std::uint32_t how = sim::choose(3, "a ends");  // without a wait / by its timeout / cancelled while it waits
    auto a = spawn("a", [&] {
        ++ran;
        if (how == 1) { HEDDLE_CHECK(wait_bounded(*given, 1ms) == Ended::timed_out); }
        if (how == 2) { await_event(given); }
    });
    let_all_run();
    if (how == 2) { a.cancel(); }
    join(a);
    HEDDLE_CHECK(given->subscriber_count() == 0);
    HEDDLE_CHECK(given->complete());  // the late wake
    HEDDLE_CHECK(scheduler().ready_queue().empty());
    yield();
    HEDDLE_CHECK(ran == 1);
    HEDDLE_CHECK(a.state() == CoroutineState::finished);
    HEDDLE_CHECK(a.is_cancelled() == (how == 2));
}

void model_of_a_fair_semaphore() {
    Semaphore semaphore(2);
    semaphore.acquire({}, 2);
    bool b_through = false;
    semaphore.raise_total(1);
    auto a = spawn("a", [&] { semaphore.acquire({}, 3); });
    let_all_run();
    auto b = spawn("b", [&] {
        semaphore.acquire();
        b_through = true;
        semaphore.release();
    });
    let_all_run();
    const bool before = sim::choose(2, "a is cancelled before the release") == 1;
    if (before) { a.cancel(); }
    semaphore.release(2);
    if (sim::choose(2, "others run between") == 1) { let_all_run(); }
    if (!before) { a.cancel(); }
    join(a, b);
    HEDDLE_CHECK(b_through);
    HEDDLE_CHECK(a.is_cancelled());
    HEDDLE_CHECK(semaphore.waiting() == 0);
    HEDDLE_CHECK(semaphore.permits() == 2);
}

void equal_deadlines() {
    Scheduler& mine = scheduler();
    std::vector<int> fired;
    const auto note = [&](int which) { return [&fired, which] { fired.push_back(which); }; };
    // Timers that have nothing to do with the four: they change the shape of whatever holds the deadlines.
    std::vector<std::unique_ptr<Alarm>> unrelated;
    const auto disturb = [&] {
        switch (sim::choose(3, "an unrelated timer")) {
            case 1: unrelated.push_back(std::make_unique<Alarm>(mine, 1ms, [] {})); break;
            case 2:
                unrelated.push_back(std::make_unique<Alarm>(mine, 1ms, [] {}));
                unrelated.back()->stop();
                break;
            default: break;
        }
    };
    disturb();
    const Alarm first(mine, 5ms, note(1));
    disturb();
    Alarm second(mine, 5ms, note(2));
    const Alarm third(mine, 5ms, note(3));
    second.stop();
    disturb();
    const Alarm fourth(mine, 5ms, note(4));
    disturb();
    sleep_for(10ms);
    HEDDLE_CHECK((fired == std::vector<int>{1, 3, 4}));
}

}  // namespace

std::vector<sim::Scenario> harness_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-162", "awslabs/shuttle@e66ec1c",
                     "A wake that comes after its target has ended changes nothing and raises no alarm.", 2, {value, dispatch}},
                    late_wake_of_one_who_has_ended),
        scenario_of({"corpus/BUG-163", "awslabs/shuttle@b77c209, cmu-pasta/fray@44e9b75c",
                     "The local model of a fair semaphore lets the next one through when its head is cancelled.", 3, {value, dispatch}},
                    model_of_a_fair_semaphore),
        scenario_of({"corpus/BUG-167", "tigerbeetle/tigerbeetle@88947f0ee",
                     "Equal deadlines keep the order in which they were set, whatever other timers come and go.", 2, {value}},
                    equal_deadlines),
    };
}

}  // namespace heddle::prop::corpus
