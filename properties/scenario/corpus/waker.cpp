// SPDX-License-Identifier: Apache-2.0
// Corpus, area waker: wake-ups that get lost, come twice, or reach somebody who has left.
//
//   BUG-013  boostorg/fiber#268                                   a wait token grows old before its wait begins
//   BUG-015  boostorg/fiber#128                                   a timed-out wait leaves its entry in the queue
//   BUG-016  tokio-rs/tokio#4618, madelson/DistributedLock#120    a notification dies with the waiter that it woke
//   BUG-017  tokio-rs/tokio#3652                                  leaving a broadcast throws a stored permit away
//   BUG-019  python/cpython#90155, python/cpython#93222, python/cpython#1031, python/asyncio#270
//                                                                 a permit is lost in the wake-to-run window
//   BUG-020  agronholm/anyio#1145                                 cancelled neighbours hide a live waiter
//   BUG-021  userver-framework/userver@6b70cdb31                  the waker touches a waiter that has gone
//   BUG-023  userver-framework/userver@6cde5bac5                  a cancelled condition wait locks twice
//   BUG-024  smol-rs/event-listener#138, crystal-lang/crystal#15872
//                                                                 a notification comes while the waiter registers
//   BUG-026  ydb-platform/nbs#6239                                a late completion writes into a stack that has gone on
//   BUG-027  microsoft/vs-threading#186                           the token fires while its callback is registered
//
// The primitives are local (primitives.hpp). Where chance enters: sim::choose, who runs next, ties of timers.
#include <optional>
#include <string>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"
#include "heddle/properties/scenario/corpus/primitives.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

void token_taken_before_the_park() {
    Channel channel(1);
    Lock lock;
    channel.send(1);
    bool sent = false;
    auto producer = spawn("producer", [&] {
        channel.send(2, [&] {
            lock.lock();  // suspends between the registration and the wait
            lock.unlock();
        });
        sent = true;
    });
    auto consumer = spawn("consumer", [&] {
        lock.lock();
        yield();
        lock.unlock();
        if (sim::choose(2, "the producer parks first") == 1) { yield(); }
        HEDDLE_CHECK(channel.receive() == 1);
        HEDDLE_CHECK(channel.receive() == 2);
    });
    consumer.as_hi_priority();
    await_all(producer, consumer);
    HEDDLE_CHECK(sent);
}

void timed_out_wait_leaves_its_entry() {
    const Ref<ReactorEvent> bell = ReactorEvent::trigger(scheduler(), "bell");
    const TriggerPortPtr port = bell->port();
    int resumed = 0;
    auto a = spawn("a", [&] {
        const Ended first = wait_bounded(*bell, 5ms);
        HEDDLE_CHECK(bell->subscriber_count() == 0);
        HEDDLE_CHECK(bell->loop_refs() == 0);
        ++resumed;
        if (first == Ended::signalled) { return; }
        await_event(*bell);
        HEDDLE_CHECK(bell->subscriber_count() == 0);
        ++resumed;
    });
    auto b = spawn("b", [&] {
        sleep_for(sim::choose(2, "at the deadline") == 1 ? 5ms : 10ms);
        const int before = resumed;
        const bool waits = a.state() == CoroutineState::waiting;
        HEDDLE_CHECK(bell->subscriber_count() == (waits ? 1U : 0U));
        port->fire();
        sleep_for(5ms);
        HEDDLE_CHECK(!waits || resumed > before);
        HEDDLE_CHECK(a.is_completed() || a.state() == CoroutineState::waiting);
        port->fire();
    });
    await_all(a, b);
}

void notification_given_to_one_who_leaves() {
    Notify notify;
    bool a_took = false;
    bool b_woke = false;
    auto a = spawn("a", [&] {
        notify.wait();
        a_took = true;
        park_for_ever();
    });
    auto b = spawn("b", [&] {
        notify.wait();
        b_woke = true;
    });
    let_all_run();
    notify.notify_one();
    const std::uint32_t cancelled = sim::choose(2, "a is cancelled in the window");
    if (cancelled == 1) { a.cancel(); }
    let_all_run();
    HEDDLE_CHECK(a_took != b_woke);  // one notification, one who used it
    if (cancelled == 0) { a.cancel(); }
    if (!b_woke) { notify.notify_one(); }
    join(a, b);
    HEDDLE_CHECK(a.is_cancelled() && a.error().is_cancellation());
    HEDDLE_CHECK(!notify.has_permit());
}

void stored_permit_survives_a_leaving_waiter() {
    Notify notify;
    auto a = spawn("a", [&] {
        notify.wait();
        park_for_ever();
    });
    let_all_run();
    notify.notify_all();
    notify.notify_one();  // nobody waits: stored
    if (sim::choose(2, "a runs before it leaves") == 1) { let_all_run(); }
    a.cancel();
    bool b_through = false;
    auto b = spawn("b", [&] {
        notify.wait();
        b_through = true;
    });
    let_all_run();
    HEDDLE_CHECK(b_through);
    HEDDLE_CHECK(!notify.has_permit());
    join(a, b);
}

void permit_lost_in_the_window() {
    Semaphore semaphore(1);
    semaphore.acquire();
    std::string arrived;
    std::string served;
    const auto user = [&](char name) {
        return [&, name] {
            arrived += name;
            semaphore.acquire();
            served += name;
            yield();
            semaphore.release();
        };
    };
    auto a = spawn("a", user('a'));
    auto b = spawn("b", user('b'));
    let_all_run();
    const bool cancelled = sim::choose(2, "a is cancelled in the window") == 1;
    const bool newcomer = sim::choose(2, "a newcomer in the window") == 1;
    semaphore.release();
    Coroutine<> n;
    if (newcomer) {
        n = spawn("newcomer", user('n'));
        n.as_hi_priority();
    }
    if (cancelled) { a.cancel(); }
    join(a, b);
    if (newcomer) { join(n); }
    if (cancelled) { std::erase(arrived, 'a'); }
    HEDDLE_CHECK(served == arrived);
    HEDDLE_CHECK(semaphore.permits() == 1);
}

void cancelled_neighbours_of_a_live_waiter() {
    Semaphore semaphore(1);
    semaphore.acquire();
    int served = 0;
    const auto user = [&] {
        semaphore.acquire();
        ++served;
        semaphore.release();
    };
    auto a = spawn("a", user);
    auto b = spawn("b", user);
    auto c = spawn("c", user);
    let_all_run();
    const bool first = sim::choose(2, "a is cancelled") == 1;
    const bool second = sim::choose(2, "b is cancelled") == 1;
    const bool before = sim::choose(2, "the release comes first") == 1;
    if (before) { semaphore.release(); }
    if (first) { a.cancel(); }
    if (second) { b.cancel(); }
    if (!before) { semaphore.release(); }
    join(a, b, c);
    HEDDLE_CHECK(served == 3 - (first ? 1 : 0) - (second ? 1 : 0));
    HEDDLE_CHECK(!c.error());
    HEDDLE_CHECK(semaphore.permits() == 1);
}

void waker_meets_a_waiter_that_has_gone() {
    OneShotEvent* slot = nullptr;  // of the single waiter, while it waits
    Event held;                    // what the waker took out of the slot
    int resumed = 0;
    bool timed_out = false;
    auto a = spawn("waiter", [&] {
        const Event mine = make_event("mine");
        slot = mine.get();
        timed_out = wait_bounded(*mine, 10ms) == Ended::timed_out;
        slot = nullptr;
        ++resumed;
    });
    bool woke_it = false;
    const Duration gap = sim::choose(2, "a tick lies in the gap") == 1 ? 1ms : 0ms;
    const auto look = [&] { held = Event(slot); };
    const auto wake = [&] {
        if (!held) { return; }
        woke_it = a.state() == CoroutineState::waiting;
        held->complete();
    };
    if (sim::choose(2, "woken from outside") == 1) {
        const Completion looks(scheduler(), 10ms, look);
        const Completion wakes(scheduler(), 10ms + gap, wake);
        join(a);
        while (!wakes.is_over()) { sleep_for(1ms); }
    } else {
        const Alarm looks(scheduler(), 10ms, look);
        const Alarm wakes(scheduler(), 10ms + gap, wake);
        join(a);
        while (!wakes.is_over()) { sleep_for(1ms); }
    }
    HEDDLE_CHECK(resumed == 1);
    HEDDLE_CHECK(timed_out != woke_it);
    HEDDLE_CHECK(!held || held->subscriber_count() == 0);
}

void condition_wait_of_one_who_is_cancelled() {
    Lock lock;
    Condition condition;
    bool entered = false;
    const std::uint32_t when = sim::choose(3, "a is cancelled");  // while it waits / before it locks / between lock and wait
    auto a = spawn("a", [&] {
        if (when == 1) { current_coroutine().cancel(); }
        lock.lock();
        entered = true;
        if (when == 2) { current_coroutine().cancel(); }
        const ErrorValue error = caught([&] { condition.wait(lock); });
        HEDDLE_CHECK(error.is_cancellation());
        HEDDLE_CHECK(lock.is_mine());
        lock.unlock();
        error.rethrow();
    });
    bool b_held = false;
    auto b = spawn("b", [&] {
        yield();
        if (when == 0) { a.cancel(); }
        lock.lock();
        b_held = true;
        yield();
        lock.unlock();
    });
    join(a, b);
    HEDDLE_CHECK(b_held);
    HEDDLE_CHECK(lock.is_free());
    HEDDLE_CHECK(a.is_cancelled());
    HEDDLE_CHECK(entered || when != 2);
}

void notified_while_registering() {
    const Event done = make_event("done");
    bool other_ran = false;
    // in its turn / before the check / between check and registration / between registration and park / inside the start
    const std::uint32_t where = sim::choose(5, "the notification comes");
    if (where == 4) {
        done->set_start_hook([&] { done->complete(); });
    }
    auto waiter = spawn("waiter", [&] {
        const bool before = other_ran;
        Waker& waker = scheduler().current()->waker();
        if (where == 1) { done->complete(); }
        if (!done->is_closed()) {
            if (where == 2) { done->complete(); }
            const ErrorValue refused = caught([&] { waker.resume_when(*done, WakeBy::resolve); });
            HEDDLE_CHECK(static_cast<bool>(refused) == (where == 2));
            if (where == 3) { done->complete(); }
        }
        scheduler().suspend({"done", SourceLocation::current()});
        waker.clean();
        HEDDLE_CHECK(done->is_closed());
        HEDDLE_CHECK(where == 0 || other_ran == before);  // what is done already never parks
    });
    auto notifier = spawn("notifier", [&] {
        other_ran = true;
        done->complete();
    });
    await_all(waiter, notifier);
}

void late_completion_and_a_stack_that_went_on() {
    const Event future = make_event("future");
    bool gone = false;
    auto a = spawn("a", [&] {
        struct Leaves {
            bool& gone;
            ~Leaves() { gone = true; }
        } leaves{gone};
        const Event on_stack = make_event("on the stack");
        const Listener forward(*future, [&](const Outcome&) {
            HEDDLE_CHECK(!gone);
            on_stack->complete();
        });
        await_any({on_stack.get(), future.get()});
        park_for_ever();
    });
    let_all_run();
    const std::uint32_t when = sim::choose(3, "the future completes");  // after a has ended / before the cancel / behind it, in the window
    if (when == 1) { future->complete(); }
    a.cancel();
    if (when == 2) { future->complete(); }
    join(a);
    HEDDLE_CHECK(gone);
    HEDDLE_CHECK(future->subscriber_count() == 0);
    HEDDLE_CHECK(future->complete() == (when == 0));
    HEDDLE_CHECK(a.is_cancelled() && a.error().is_cancellation());
}

void token_fires_during_its_registration() {
    const Event event = make_event("event");
    const Event token = make_event("token");
    const std::uint32_t when = sim::choose(3, "the token fires");  // while a waits / before its wait / while it is being started
    if (when == 1) { token->complete(); }
    if (when == 2) {
        token->set_start_hook([&] { token->complete(); });
    }
    bool ended = false;
    auto a = spawn("a", [&] {
        HEDDLE_CHECK(holds<OperationCanceled>(caught([&] { await_event(event, token); })));
        HEDDLE_CHECK(event->subscriber_count() == 0);
        ended = true;
    });
    auto canceller = spawn("canceller", [&] {
        yield();
        if (when == 0) { token->complete(); }
    });
    await_all(a, canceller);
    HEDDLE_CHECK(ended);
}

}  // namespace

std::vector<sim::Scenario> waker_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-013", "boostorg/fiber#268",
                     "A sender that suspends between registering and parking is still found by the receiver.", 3, {value, dispatch}},
                    token_taken_before_the_park),
        scenario_of({"corpus/BUG-015", "boostorg/fiber#128",
                     "A wait that timed out leaves no entry behind, so the next signal wakes its waiter once.", 2,
                     {value, dispatch, timer, timer_io, ready}},
                    timed_out_wait_leaves_its_entry),
        scenario_of({"corpus/BUG-016", "tokio-rs/tokio#4618, madelson/DistributedLock#120",
                     "A notification whose receiver is cancelled before it runs goes to the next waiter.", 3, {value, dispatch}},
                    notification_given_to_one_who_leaves),
        scenario_of({"corpus/BUG-017", "tokio-rs/tokio#3652",
                     "A waiter released by a broadcast that then leaves does not take a stored permit along.", 3, {value, dispatch}},
                    stored_permit_survives_a_leaving_waiter),
        scenario_of({"corpus/BUG-019", "python/cpython#90155, python/cpython#93222, python/cpython#1031, python/asyncio#270",
                     "A permit granted to a waiter that is cancelled in its window serves the next one, before any newcomer.", 3,
                     {value, dispatch}},
                    permit_lost_in_the_window),
        scenario_of({"corpus/BUG-020", "agronholm/anyio#1145",
                     "A release that meets cancelled waiters at the head of the queue still serves the live one behind them.", 4,
                     {value, dispatch}},
                    cancelled_neighbours_of_a_live_waiter),
        scenario_of({"corpus/BUG-021", "userver-framework/userver@6b70cdb31",
                     "A waker that looked before the waiter left and wakes after it changes nothing.", 3,
                     {value, dispatch, timer, timer_io, ready, batch, poll, time}},
                    waker_meets_a_waiter_that_has_gone),
        scenario_of({"corpus/BUG-023", "userver-framework/userver@6cde5bac5",
                     "A condition wait that a cancellation ends holds its lock once on every exit.", 2, {value, dispatch}},
                    condition_wait_of_one_who_is_cancelled),
        scenario_of({"corpus/BUG-024", "smol-rs/event-listener#138, crystal-lang/crystal#15872",
                     "A notification is seen wherever it falls between the check, the registration and the park.", 3, {value, dispatch}},
                    notified_while_registering),
        scenario_of({"corpus/BUG-026", "ydb-platform/nbs#6239",
                     "A wait that was cancelled has taken its callbacks along when the completion comes.", 3, {value, dispatch}},
                    late_completion_and_a_stack_that_went_on),
        scenario_of({"corpus/BUG-027", "microsoft/vs-threading#186",
                     "A token ends the wait whether it fires before, inside or after the registration of its callback.", 2,
                     {value, dispatch}},
                    token_fires_during_its_registration),
    };
}

}  // namespace heddle::prop::corpus
