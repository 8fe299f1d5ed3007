// SPDX-License-Identifier: Apache-2.0
// Corpus, future: late observers, completed inputs, callbacks of what is settled already, and waits that have ended.
//
//   BUG-103  true-async/php-async#139, true-async/php-async@91ec597     a late await
//   BUG-104  true-async/php-async@934b1ec, true-async/php-async@1885ef4  combinators over completed members
//   BUG-105  true-async/php-async@490b2fb, true-async/php-async#193, true-async/php-async#198   map on a completed future
//   BUG-107  boostorg/fiber#133                                        a waiter that left with its timeout
//   BUG-109  gevent/gevent#1287, gevent/gevent#1613                    a callback linked inside a pass
//
// Where chance enters: sim::choose, who runs next, ties of timers.
#include <optional>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

class Broken : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

void late_await_of_a_failure() {
    const FutureState<int> state;
    const Future<int> future = state.future();
    int seen = 0;
    const auto awaits = [&] {
        return [&] {
            if (holds<Broken>(caught([&] { static_cast<void>(future.await()); }))) { ++seen; }
        };
    };
    auto a = spawn("a", awaits());
    if (sim::choose(2, "a parks first") == 1) { let_all_run(); }
    Coroutine<> b;
    const std::uint32_t when = sim::choose(3, "b registers before, inside, behind the notification");
    if (when == 0) { b = spawn("b", awaits()); }
    std::optional<Listener> inside;
    if (when == 1) {
        inside.emplace(future.event(), [&](const Outcome&) { b = current_runtime("test").spawn_internal("b", awaits()); });
    }
    state.error(ErrorValue::make<Broken>("e"));
    if (when == 2) { b = spawn("b", awaits()); }
    join(a, b);
    HEDDLE_CHECK(seen == 2);
    HEDDLE_CHECK(holds<Broken>(caught([&] { static_cast<void>(future.await()); })));
}

void combinators_over_completed_members() {
    const FutureState<int> pending;
    const FutureState<int> other;
    const Future<int> f1 = pending.future();
    const Future<int> f2 = other.future();
    const std::uint32_t when = sim::choose(3, "the member completes before, during, behind the registration");
    const bool second = sim::choose(2, "it is the second") == 1;
    if (when == 0) { other.complete(2); }
    bool any = false;
    bool all = false;
    auto a = spawn("a", [&] {
        EventSource* const inputs[] = {second ? &f1.event() : &f2.event(), second ? &f2.event() : &f1.event()};
        const Collected collected = await_collect(inputs, {CollectMode::any});
        HEDDLE_CHECK(collected.order.size() == 1 && collected.order.front() == (second ? 1U : 0U));
        any = true;
    });
    auto b = spawn("b", [&] {
        EventSource* const inputs[] = {&f2.event(), &f2.event()};  // AWC-14: twice counts twice
        HEDDLE_CHECK(await_collect(inputs, {CollectMode::all}).order.size() == 2);
        all = true;
    });
    if (when == 1) { other.complete(2); }
    let_all_run();
    HEDDLE_CHECK(any == (when != 2) && all == (when != 2));
    if (when == 2) { other.complete(2); }
    join(a, b);
    pending.complete(1);
}

void callback_of_what_is_completed() {
    int calls = 0;
    const auto count = [&calls](int value) {
        ++calls;
        return value + 1;
    };
    std::optional<FutureState<int>> state(std::in_place);
    if (sim::choose(2, "completed before it is attached") == 1) { state->complete(1); }
    std::optional<Future<int>> child = state->future().map(count);  // its source's handle is a temporary
    const bool dropped = sim::choose(2, "the child is dropped, too") == 1;
    if (dropped) {
        child->ignore();
        child.reset();
    }
    state->try_complete(1);
    state.reset();
    if (child) { HEDDLE_CHECK(child->await() == 2); }
    let_all_run();
    HEDDLE_CHECK(calls == 1);
}

void waiter_that_left_with_its_timeout() {
    const FutureState<int> state;
    const Future<int> future = state.future();
    const heddle::Channel<int> channel;
    bool timed_out = false;
    bool received = false;
    auto a = spawn("a", [&] {
        timed_out = holds<OperationCanceled>(caught([&] { static_cast<void>(future.await(Timeout(5ms))); }));
        static_cast<void>(caught([&] {
            static_cast<void>(channel.receive());
            received = true;
        }));
    });
    sleep_for(sim::choose(2, "the value comes at the deadline") == 1 ? 5ms : 10ms);
    state.complete(1);
    let_all_run();
    sleep_for(10ms);
    HEDDLE_CHECK(!received && a.state() == CoroutineState::waiting);
    HEDDLE_CHECK(future.core().subscriber_count() == 0);
    HEDDLE_CHECK(channel.try_send(7) == SendResult::ok);
    join(a);
    HEDDLE_CHECK(received && (timed_out || future.is_completed()));
}

void callbacks_linked_inside_a_pass() {
    const FutureState<int> state;
    const Future<int> future = state.future();
    int first = 0;
    int second = 0;
    std::optional<Future<>> inner;
    const auto link = [&] {
        return future.map([&](int) {
            ++first;
            inner = future.map([&](int) { ++second; });
            if (sim::choose(2, "it suspends") == 1) { yield(); }
        });
    };
    std::optional<Future<>> outer;
    const bool before = sim::choose(2, "linked behind the completion") == 0;
    if (before) { outer = link(); }
    state.complete(1);
    if (!before) { outer = link(); }
    outer->await();
    inner->await();
    HEDDLE_CHECK(first == 1 && second == 1);
}

}  // namespace

std::vector<sim::Scenario> future_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-103", "true-async/php-async#139, true-async/php-async@91ec597",
                     "Every awaiter of a failed future sees its error once, however late it comes.", 2, {value, dispatch}},
                    late_await_of_a_failure),
        scenario_of({"corpus/BUG-104", "true-async/php-async@934b1ec, true-async/php-async@1885ef4",
                     "A combinator counts members that are complete already, at every position.", 2, {value, dispatch}},
                    combinators_over_completed_members),
        scenario_of({"corpus/BUG-105", "true-async/php-async@490b2fb, true-async/php-async#193, true-async/php-async#198",
                     "A callback on a completed future runs once, and a chain lives although nobody holds its source.", 2,
                     {value, dispatch}},
                    callback_of_what_is_completed),
        scenario_of({"corpus/BUG-107", "boostorg/fiber#133",
                     "A value that comes behind the deadline wakes nobody who has gone on to another wait.", 3,
                     {value, dispatch, timer, timer_io}},
                    waiter_that_left_with_its_timeout),
        scenario_of({"corpus/BUG-109", "gevent/gevent#1287, gevent/gevent#1613",
                     "A callback linked before, inside or behind the notification is called once.", 2, {value, dispatch}},
                    callbacks_linked_inside_a_pass),
    };
}

}  // namespace heddle::prop::corpus
