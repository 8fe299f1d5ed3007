// SPDX-License-Identifier: Apache-2.0
// Corpus, area scope: who belongs to a scope, whose cancellation it is, and when a scope is over.
//
//   BUG-029  true-async/php-async@03642bf           membership and back pointer change apart from each other
//   BUG-030  true-async/php-async@ae79e20           a hidden child scope is freed by its parent's cascade, and again
//   BUG-032  python-trio/trio#1175                  an inner scope swallows the outer one's cancellation
//   BUG-033  agronholm/anyio#1138                   a cancellation is delivered for ever to one who has ended
//   BUG-034  Kotlin/kotlinx.coroutines#621, Kotlin/kotlinx.coroutines#1545
//                                                   a child of a cancelled scope runs; one that never starts holds it up
//   BUG-035  Kotlin/kotlinx.coroutines#1127         a join forgets that the joining one was cancelled
//
// Where chance enters: sim::choose, who runs next, ties of timers.
#include <optional>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

std::size_t member_count(const ScopeRef& scope) { return scope.core().members().size(); }
std::size_t counted(const ScopeRef& scope) { return scope.core().active() + scope.core().zombies(); }

void created_but_not_yet_enqueued() {
    Scope scope;
    int ran = 0;
    const std::uint32_t what = sim::choose(3, "between creation and enqueue");  // nothing / the child is cancelled / the scope is disposed
    SpawnOptions options;
    options.name = Name("child");
    options.scope = scope;
    options.before = [&](const CoroutineHandle& child) {
        HEDDLE_CHECK(member_count(scope) == 1 && counted(scope) == 1);
        if (what == 1) { child.cancel(); }
        if (what == 2) { scope.dispose(); }
    };
    auto child = spawn(options, [&ran] { ++ran; });
    HEDDLE_CHECK(member_count(scope) == 1 && counted(scope) == 1);
    if (sim::choose(2, "disposed before it runs") == 1) {
        scope.dispose();
        HEDDLE_CHECK(member_count(scope) == 1 && counted(scope) == 1);
        HEDDLE_CHECK(child.state() == CoroutineState::doomed);
    }
    let_all_run();
    HEDDLE_CHECK(child.is_completed());
    HEDDLE_CHECK(member_count(scope) == 0 && counted(scope) == 0);
    HEDDLE_CHECK(ran == (child.is_cancelled() ? 0 : 1));
    HEDDLE_CHECK(child.is_cancelled() || what == 0);
    HEDDLE_CHECK(scope.core().is_terminated() == scope.is_cancelled());
    join(child);
}

void hidden_child_scope_disposed_twice() {
    int group_over = 0;
    int parent_over = 0;
    Scope parent;
    parent.finally([&](const ScopeRef&) { ++parent_over; });
    std::optional<Scope> group(parent.inherit());
    const ScopeRef hidden = *group;
    hidden.finally([&](const ScopeRef&) { ++group_over; });
    auto task = hidden.spawn("task", [] { park_for_ever(); });
    if (sim::choose(2, "the task has started") == 1) { let_all_run(); }
    parent.dispose();
    const std::uint32_t again = sim::choose(3, "then");  // nothing / disposed again / the program shuts down
    if (again == 1) { parent.dispose(); }
    if (again == 2) { shutdown(); }
    hidden.cancel();
    group.reset();
    let_all_run_after_shutdown();
    HEDDLE_CHECK(task.is_completed() && task.error().is_cancellation());
    HEDDLE_CHECK(group_over == 1 && parent_over == 1);
    HEDDLE_CHECK(hidden.core().is_terminated() && parent.core().is_terminated());
    HEDDLE_CHECK(hidden.is_cancelled() && counted(hidden) == 0);
    join(task);
}

void cancellation_of_the_outer_scope() {
    Scope outer;
    const Event inner = make_event("inner");
    const ErrorValue reason = ErrorValue::make<AsyncCancellation>("outer");
    bool behind_inner = false;
    bool behind_outer = false;
    const bool shielded = sim::choose(2, "the cleanup is shielded and suspends") == 1;
    auto a = outer.spawn("a", [&] {
        struct Finally {
            bool shielded;
            const Event& inner;
            ~Finally() {
                if (!shielded) { return; }
                cleanup([this] {
                    inner->complete();
                    sleep_for(1ms);
                });
            }
        };
        try {
            const Finally leave{shielded, inner};
            await_event(make_event("work"), inner);
        } catch (const OperationCanceled&) {
            // The inner scope's own.
        }
        behind_inner = true;
        yield();
        behind_outer = true;
    });
    sleep_for(1ms);
    const std::uint32_t first = sim::choose(3, "the inner one is cancelled, too");  // not / before / after
    if (first == 1) { inner->complete(); }
    outer.cancel(reason);
    if (first == 2) { inner->complete(); }
    join(a);
    HEDDLE_CHECK(behind_inner == (first == 1));
    HEDDLE_CHECK(!behind_outer);
    HEDDLE_CHECK(a.is_cancelled() && a.error().same_error(reason));
}

void delivery_to_one_who_has_ended() {
    const Event work = make_event("work");
    const Clock clock;
    Scope scope;
    auto a = scope.spawn("a", [&] { await_event(work); });
    const std::uint32_t how = sim::choose(3, "a ends");  // at its wait / before it starts / in the same round as the delivery
    if (how != 1) { let_all_run(); }
    if (how == 2) { work->complete(); }
    scope.cancel();
    const RoundCounter rounds;
    const std::uint64_t switches = statistics().switches;
    sleep_for(10ms);
    HEDDLE_CHECK(clock.is_at(10ms));
    HEDDLE_CHECK(a.is_completed());
    HEDDLE_CHECK(member_count(scope) == 0);
    HEDDLE_CHECK(scope.core().is_terminated());
    HEDDLE_CHECK(rounds.rounds() <= 8);
    HEDDLE_CHECK(statistics().switches - switches <= 8);
    join(a);
}

void child_of_a_cancelled_scope() {
    Scope scope;
    int entered = 0;
    // not at all / before the child is created / between creation and enqueue / between enqueue and first run
    const std::uint32_t when = sim::choose(4, "the scope is cancelled");
    if (when == 1) { scope.cancel(); }
    SpawnOptions options;
    options.name = Name("child");
    options.scope = scope;
    options.before = [&](const CoroutineHandle&) {
        if (when == 2) { scope.cancel(); }
    };
    CoroutineHandle child;
    const ErrorValue refused = caught([&] { child = spawn(options, [&entered] { ++entered; }); });
    HEDDLE_CHECK(holds<AsyncError>(refused) == (when == 1));
    if (when == 3) { scope.cancel(); }
    let_all_run();
    HEDDLE_CHECK(entered == (when == 0 ? 1 : 0));
    if (when == 0) { scope.cancel(); }
    scope.await_after_cancellation();
    HEDDLE_CHECK(scope.core().is_terminated() && counted(scope) == 0);
    HEDDLE_CHECK(!child || child.is_completed());
}

void join_of_one_who_is_cancelled() {
    bool body = false;
    auto b = spawn("b", [] { sleep_for(10ms); });
    auto a = spawn("a", [&] {
        b.await();
        body = true;
    });
    bool had_run = false;
    const auto cancel = [&] {
        had_run = body;
        a.cancel();
    };
    if (sim::choose(2, "cancelled from outside") == 1) {
        const Completion cancels(scheduler(), 10ms, cancel);
        while (!cancels.is_over()) { sleep_for(1ms); }
        join(a, b);
    } else {
        sleep_for(10ms);
        if (sim::choose(2, "others run first") == 1) { let_all_run(); }
        cancel();
        join(a, b);
    }
    HEDDLE_CHECK(body == had_run);
    HEDDLE_CHECK(a.is_cancelled() == !had_run);
}

}  // namespace

std::vector<sim::Scenario> scope_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-029", "true-async/php-async@03642bf",
                     "A coroutine cancelled or disposed between creation and enqueue is a member until it ends, and counted as one.", 3,
                     {value, dispatch}},
                    created_but_not_yet_enqueued),
        scenario_of({"corpus/BUG-030", "true-async/php-async@ae79e20",
                     "Disposing a parent again, or shutting down, ends a hidden child scope once, and its references stay good.", 3,
                     {value, dispatch}},
                    hidden_child_scope_disposed_twice),
        scenario_of({"corpus/BUG-032", "python-trio/trio#1175",
                     "An outer scope's cancellation passes an inner one that was not, or was, cancelled itself, whatever its cleanup does.",
                     3, {value, dispatch, timer}},
                    cancellation_of_the_outer_scope),
        scenario_of({"corpus/BUG-033", "agronholm/anyio#1138",
                     "A cancelled scope whose member has ended lets the loop sleep.", 2, {value, dispatch, poll}},
                    delivery_to_one_who_has_ended),
        scenario_of({"corpus/BUG-034", "Kotlin/kotlinx.coroutines#621, Kotlin/kotlinx.coroutines#1545",
                     "A child of a cancelled scope never starts, and does not keep the scope from ending.", 2, {value, dispatch}},
                    child_of_a_cancelled_scope),
        scenario_of({"corpus/BUG-035", "Kotlin/kotlinx.coroutines#1127",
                     "A join whose target ends as the joining coroutine is cancelled ends with the cancellation.", 3,
                     {value, dispatch, timer, timer_io, poll, time}},
                    join_of_one_who_is_cancelled),
    };
}

}  // namespace heddle::prop::corpus
