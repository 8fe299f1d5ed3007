// SPDX-License-Identifier: Apache-2.0
// Corpus, group: waits for a group in which everybody fails, drops in any order, nested groups, and leaving early.
//
//   BUG-110  true-async/php-async@e61c508      any() sleeps although every task has failed
//   BUG-112  true-async/php-async@152eddb      a settled waiter outlives its group
//   BUG-114  python/cpython#116720             an inner group swallows the outer one's cancellation
//   BUG-115  scylladb/seastar@830ce8673        who runs behind a parallel loop
//   BUG-116  langchain-ai/langgraph#7266, alibaba/PhotonLibOS#1252   leaving a group early skips its children
//
// Where chance enters: sim::choose, who runs next, ties of timers.
#include <optional>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

class TaskFailed : public std::runtime_error {
public:
    TaskFailed() : std::runtime_error("the task failed") {}
};

void any_of_a_group_that_fails() {
    TaskGroup<int> group;
    for (int i = 0; i < 2; ++i) {
        group.spawn([]() -> int {
            sleep_for(1ms);
            throw TaskFailed();
        });
    }
    const std::uint32_t when = sim::choose(3, "asked at once, at the instant of the failures, behind them");
    if (when > 0) { sleep_for(when == 1 ? 1ms : 2ms); }
    const ErrorValue error = caught([&] { static_cast<void>(group.any().await()); });
    HEDDLE_CHECK(holds<CompositeError>(error));
    HEDDLE_CHECK(group.is_finished());
}

void wait_and_group_dropped_in_any_order() {
    std::optional<TaskGroup<int>> group(std::in_place);
    group->spawn([] { return 1; });
    if (sim::choose(2, "the task has ended") == 1) { let_all_run(); }
    std::optional<Future<std::vector<std::pair<TaskKey, int>>>> wait = group->all();
    if (sim::choose(2, "the wait goes first") == 1) {
        wait.reset();
        group.reset();
    } else {
        group.reset();
        if (sim::choose(2, "somebody still looks") == 1) { static_cast<void>(caught([&] { static_cast<void>(wait->await()); })); }
        wait.reset();
    }
    let_all_run();
    HEDDLE_CHECK(statistics().registered == 1);
}

void nested_groups_and_a_cancellation() {
    bool behind_the_inner = false;
    bool behind_a_suspension = false;
    auto owner = spawn("owner", [&] {
        with_group({}, [&](TaskGroup<>&) {
            const ErrorValue inner = caught([&] {
                with_group({}, [&](TaskGroup<>& group) {
                    group.spawn([] {
                        sleep_for(5ms);
                        throw TaskFailed();
                    });
                });
            });
            behind_the_inner = true;
            if (inner.is_cancellation()) { inner.rethrow(); }
            yield();
            behind_a_suspension = true;
        });
    });
    sleep_for(sim::choose(2, "before the failure") == 1 ? 4ms : 5ms);
    const bool was_over = owner.is_completed();
    owner.cancel();
    join(owner);
    HEDDLE_CHECK(was_over || !behind_a_suspension || owner.error().is_cancellation());
    HEDDLE_CHECK(behind_the_inner);
    if (!was_over) { HEDDLE_CHECK(owner.error().is_cancellation()); }
}

void who_runs_behind_a_loop() {
    const CoroutineId self = current_coroutine().id();
    const bool suspends = sim::choose(2, "the last element suspends") == 1;
    iterate(std::vector<int>{1, 2}, [&](int value) {
        HEDDLE_CHECK(current_coroutine().id() != self);
        if (value == 1 || suspends) { yield(); }
    });
    HEDDLE_CHECK(current_coroutine().id() == self);
    yield();
    HEDDLE_CHECK(current_coroutine().id() == self);
    HEDDLE_CHECK(statistics().registered == 1);
}

void group_left_early() {
    bool t2_ended = false;
    bool created_second = false;
    auto owner = spawn("m", [&] {
        with_group({}, [&](TaskGroup<>& group) {
            group.spawn([] {
                sleep_for(1ms);
                throw TaskFailed();
            });
            if (sim::choose(2, "the second cannot be created") == 1) { throw TaskFailed(); }
            group.spawn([&] {
                const ErrorValue ended = caught([] { sleep_for(5ms); });
                t2_ended = true;
                if (ended) { ended.rethrow(); }
            });
            created_second = true;
        });
    });
    if (sim::choose(2, "m is cancelled at its exit") == 1) {
        sleep_for(2ms);
        owner.cancel();
    }
    const ErrorValue error = caught([&] { owner.await(); });
    HEDDLE_CHECK(static_cast<bool>(error));
    HEDDLE_CHECK(t2_ended == created_second);
    bool attached = holds<CompositeError>(error) || holds<TaskFailed>(error);
    for (ErrorValue at = error; at; at = at.previous()) { attached = attached || holds<CompositeError>(at); }
    HEDDLE_CHECK(attached);  // what the first task threw is visible
    HEDDLE_CHECK(statistics().registered == 1);
}

}  // namespace

std::vector<sim::Scenario> group_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-110", "true-async/php-async@e61c508",
                     "The wait for a first success ends with the errors when the last task has failed.", 2, {value, dispatch, timer, timer_io}},
                    any_of_a_group_that_fails),
        scenario_of({"corpus/BUG-112", "true-async/php-async@152eddb",
                     "A group and a wait for it may go in either order, settled or not.", 3, {value, dispatch}},
                    wait_and_group_dropped_in_any_order),
        scenario_of({"corpus/BUG-114", "python/cpython#116720",
                     "A cancellation of the outer group's owner passes an inner group that fails at the same instant.", 3,
                     {value, dispatch, timer, timer_io}},
                    nested_groups_and_a_cancellation),
        scenario_of({"corpus/BUG-115", "scylladb/seastar@830ce8673",
                     "Behind a parallel loop its caller is the running coroutine again.", 2, {value, dispatch}},
                    who_runs_behind_a_loop),
        scenario_of({"corpus/BUG-116", "langchain-ai/langgraph#7266, alibaba/PhotonLibOS#1252",
                     "A group that is left early has ended its children, and shows what they threw.", 3,
                     {value, dispatch, timer, timer_io}},
                    group_left_early),
    };
}

}  // namespace heddle::prop::corpus
