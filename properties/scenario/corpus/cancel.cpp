// SPDX-License-Identifier: Apache-2.0
// Corpus, area cancel: a request that is swallowed, delivered to the wrong place, or counted as a success.
//
//   BUG-036  python/cpython#86296, python/cpython#107547       a result that is there hides the cancellation
//   BUG-037  python/cpython#7216, status-im/nim-chronos#334    a timeout reports before what it cancelled has cleaned up
//   BUG-038  Kotlin/kotlinx.coroutines#2233                    a permit granted at the deadline belongs to nobody
//   BUG-040  dotnet/runtime#34036, dotnet/corefx#32262, lewissbaker/cppcoro#221
//                                                              the cancel call runs the cancelled one inside itself
//   BUG-041  scylladb/seastar@7d5fedd32                        subscribers destroy each other during the delivery
//   BUG-042  repoprompt/repoprompt-ce#492                      a cancelled waiter enters the critical section
//   BUG-043  status-im/nim-chronos#280, status-im/nim-chronos#107
//                                                              what the inner call produced has no owner
//   BUG-045  microsoft/vs-threading#520                        a wait that ended by cancellation is taken for a grant
//
// Where chance enters: sim::choose, who runs next, ties of timers.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"
#include "heddle/properties/scenario/corpus/primitives.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

void result_hides_a_cancellation() {
    const std::vector<Event> futures{make_event("f"), make_event("f"), make_event("f")};
    bool left_the_loop = false;
    auto a = spawn("looper", [&] {
        for (const Event& future : futures) {
            try {
                await_event(future, Timeout(5ms));
            } catch (const OperationCanceled&) {
                // The bound of this round, not a request to end.
            }
        }
        left_the_loop = true;
    });
    let_all_run();
    const std::uint32_t when = sim::choose(3, "the cancellation comes");  // after a ran / behind the completion / before it
    if (when == 2) { a.cancel(); }
    futures.front()->complete();
    if (when == 0) { let_all_run(); }
    a.cancel();
    join(a);
    HEDDLE_CHECK(!left_the_loop);
    HEDDLE_CHECK(a.is_cancelled() && a.error().is_cancellation());
    HEDDLE_CHECK(!holds<OperationCanceled>(a.error()));
}

/// Runs `body` as a coroutine, at most so long; it has ended when this returns. False if it was cancelled for the time.
template <class Body>
bool with_timeout(Duration limit, Body&& body) {
    auto inner = spawn("inner", std::forward<Body>(body));
    try {
        await(inner, Timeout(limit));
        return true;
    } catch (const OperationCanceled&) {
        inner.cancel();
        join(inner);
        return false;
    }
}

void timeout_reports_before_the_cleanup() {
    Lock lock;
    Condition condition;
    bool inside = false;
    const Clock clock;
    const std::uint32_t when = sim::choose(3, "the condition is signalled");  // never / at the deadline / before it
    auto notifier = spawn("notifier", [&] {
        if (when == 0) { return; }
        sleep_for(when == 1 ? 5ms : 1ms);
        condition.notify_one();
    });
    const bool done = with_timeout(5ms, [&] {
        lock.lock();
        struct Finally {
            Lock& lock;
            bool& inside;
            ~Finally() {
                cleanup([this] {
                    sleep_for(3ms);
                    inside = false;
                    lock.unlock();
                });
            }
        };
        const Finally leave{lock, inside};
        inside = true;
        condition.wait(lock);
    });
    HEDDLE_CHECK(done == (when == 2));
    HEDDLE_CHECK(clock.is_at(done ? 4ms : 8ms));
    HEDDLE_CHECK(!inside);
    HEDDLE_CHECK(lock.is_free());
    lock.lock();
    inside = true;
    yield();
    lock.unlock();
    join(notifier);
}

void permit_granted_at_the_deadline() {
    Semaphore semaphore(1);
    semaphore.acquire();
    bool owned = false;
    bool timed_out = false;
    auto a = spawn("a", [&] {
        try {
            semaphore.acquire(Timeout(10ms));
            owned = true;
            semaphore.release();
        } catch (const OperationCanceled&) { timed_out = true; }
    });
    int next_served = 0;
    const bool has_next = sim::choose(2, "another waiter behind") == 1;
    Coroutine<> next;
    if (has_next) {
        next = spawn("next", [&] {
            semaphore.acquire();
            ++next_served;
            semaphore.release();
        });
    }
    const auto release = [&] { semaphore.release(); };
    const std::uint32_t by = sim::choose(3, "released");  // by its holder / by a timer / from outside
    if (by == 1) {
        const Alarm releases(scheduler(), 10ms, release);
        join(a);
        while (!releases.is_over()) { sleep_for(1ms); }
    } else if (by == 2) {
        const Completion releases(scheduler(), 10ms, release);
        join(a);
        while (!releases.is_over()) { sleep_for(1ms); }
    } else {
        sleep_for(10ms);
        semaphore.release();
        join(a);
    }
    if (has_next) { join(next); }
    HEDDLE_CHECK(owned != timed_out);
    HEDDLE_CHECK(next_served == (has_next ? 1 : 0));
    HEDDLE_CHECK(semaphore.permits() == 1);
}

void cancel_runs_the_cancelled_one() {
    const Event token = make_event("token");
    const Event work = make_event("work");
    Lock lock;
    bool in_cancel = false;
    int callbacks = 0;
    const bool removes_itself = sim::choose(2, "the callback removes itself") == 1;
    auto a = spawn("a", [&] {
        Listener* self = nullptr;
        Listener registration(*token, [&](const Outcome&) {
            ++callbacks;
            if (removes_itself) { self->leave(); }
            work->complete();
        });
        self = &registration;
        await_event(work);
        HEDDLE_CHECK(!in_cancel);
        registration.leave();
        lock.lock();
        yield();
        lock.unlock();
    });
    auto b = spawn("b", [&] {
        while (token->subscriber_count() == 0) { yield(); }
        lock.lock();
        in_cancel = true;
        token->complete();
        in_cancel = false;
        yield();
        lock.unlock();
    });
    await_all(a, b);
    HEDDLE_CHECK(callbacks == 1);
    HEDDLE_CHECK(lock.is_free());
}

void subscribers_destroy_each_other() {
    constexpr std::size_t count = 3;
    std::array<std::size_t, count> order{0, 1, 2};
    for (std::uint32_t step = sim::choose(6, "order of subscription"); step > 0; --step) { std::ranges::next_permutation(order); }
    const Event cancelled = make_event("cancelled");
    std::array<std::unique_ptr<Listener>, count> subscribers;
    std::array<int, count> called{};
    for (const std::size_t i : order) {
        subscribers.at(i) = std::make_unique<Listener>(*cancelled, [&, i](const Outcome&) {
            ++called.at(i);
            subscribers.at((i + 1) % count).reset();
        });
    }
    cancelled->complete();
    // Each that is alive when its turn comes is called once and destroys its successor; the others are not called.
    std::array<bool, count> alive{true, true, true};
    for (const std::size_t i : order) {
        HEDDLE_CHECK(called.at(i) == (alive.at(i) ? 1 : 0));
        if (alive.at(i)) { alive.at((i + 1) % count) = false; }
    }
    subscribers = {};
    HEDDLE_CHECK(cancelled->subscriber_count() == 0);
}

void cancelled_waiter_and_the_critical_section() {
    Lock lock;
    lock.lock();
    bool a_inside = false;
    bool c_inside = false;
    auto a = spawn("a", [&] {
        lock.lock();
        a_inside = true;
        lock.unlock();
    });
    let_all_run();
    const bool has_next = sim::choose(2, "another waiter behind") == 1;
    Coroutine<> c;
    if (has_next) {
        c = spawn("c", [&] {
            lock.lock();
            c_inside = true;
            lock.unlock();
        });
        let_all_run();
    }
    const std::uint32_t when = sim::choose(3, "a is cancelled");  // not / before the unlock / behind it
    if (when == 1) { a.cancel(); }
    lock.unlock();
    if (when == 2) { a.cancel(); }
    join(a);
    if (has_next) { join(c); }
    HEDDLE_CHECK(a_inside == (when == 0));
    HEDDLE_CHECK(a.is_cancelled() == (when != 0));
    HEDDLE_CHECK(c_inside == has_next);
    HEDDLE_CHECK(lock.is_free());
}

void produced_for_one_who_is_cancelled() {
    struct Resource {
        int& live;
        explicit Resource(int& count) : live(count) { ++live; }
        ~Resource() { --live; }
    };
    int live = 0;
    bool used = false;
    const Event ready = make_event("ready");
    auto alloc = spawn("alloc", [&] {
        await_event(ready);
        return std::make_shared<Resource>(live);
    });
    auto a = spawn("a", [&] {
        const std::shared_ptr<Resource> resource = await(alloc);
        used = true;
        park_for_ever();
    });
    let_all_run();
    ready->complete();
    const std::uint32_t when = sim::choose(3, "a is cancelled");  // while it uses it / before it is produced / in the window
    if (when == 0) { let_all_run(); }
    if (when == 2) { yield(); }
    a.cancel();
    join(a, alloc);
    HEDDLE_CHECK(a.is_cancelled() && a.error().is_cancellation());
    HEDDLE_CHECK(used || when != 0);
    HEDDLE_CHECK(live == 1);  // alloc's own copy
    alloc.release();
    HEDDLE_CHECK(live == 0);
}

void ended_by_cancellation_is_no_grant() {
    Semaphore semaphore(1);
    const Event token = make_event("token");
    semaphore.acquire();
    int holders = 1;
    bool a_held = false;
    const std::uint32_t when = sim::choose(3, "the token fires");  // while a waits / before it enters / while its wait is started
    if (when == 1) { token->complete(); }
    if (when == 2) {
        token->set_start_hook([&] { token->complete(); });
    }
    const auto hold = [&] {
        HEDDLE_CHECK(++holders == 1);
        yield();
        --holders;
        semaphore.release();
    };
    auto a = spawn("a", [&] {
        try {
            semaphore.acquire(token);
        } catch (const OperationCanceled&) { return; }
        a_held = true;
        hold();
    });
    auto c = spawn("c", [&] {
        semaphore.acquire();
        hold();
    });
    let_all_run();
    HEDDLE_CHECK(holders == 1);
    token->complete();
    yield();
    --holders;
    semaphore.release();
    join(a, c);
    HEDDLE_CHECK(!a_held);
    HEDDLE_CHECK(holders == 0 && semaphore.permits() == 1);
}

}  // namespace

std::vector<sim::Scenario> cancel_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-036", "python/cpython#86296, python/cpython#107547",
                     "A coroutine that is cancelled as its bounded wait succeeds does not go on with its loop.", 3, {value, dispatch, timer, poll, time}},
                    result_hides_a_cancellation),
        scenario_of({"corpus/BUG-037", "python/cpython#7216, status-im/nim-chronos#334",
                     "A bounded call returns when what it cancelled has cleaned up, not before.", 3, {value, dispatch, timer}},
                    timeout_reports_before_the_cleanup),
        scenario_of({"corpus/BUG-038", "Kotlin/kotlinx.coroutines#2233",
                     "A permit released at the deadline of the one who waits for it belongs to somebody.", 3,
                     {value, dispatch, timer, timer_io, poll, time}},
                    permit_granted_at_the_deadline),
        scenario_of({"corpus/BUG-040", "dotnet/runtime#34036, dotnet/corefx#32262, lewissbaker/cppcoro#221",
                     "Firing a token only queues whoever waits, also when the callback takes itself away.", 2, {value, dispatch}},
                    cancel_runs_the_cancelled_one),
        scenario_of({"corpus/BUG-041", "scylladb/seastar@7d5fedd32",
                     "Subscribers that destroy each other while they are told are called once each, or not at all.", 2, {value}},
                    subscribers_destroy_each_other),
        scenario_of({"corpus/BUG-042", "repoprompt/repoprompt-ce#492",
                     "A waiter that is cancelled in the slice in which it gets the lock does not enter.", 3, {value, dispatch}},
                    cancelled_waiter_and_the_critical_section),
        scenario_of({"corpus/BUG-043", "status-im/nim-chronos#280, status-im/nim-chronos#107",
                     "What a child has produced for a parent that is cancelled is freed by its owner.", 3, {value, dispatch}},
                    produced_for_one_who_is_cancelled),
        scenario_of({"corpus/BUG-045", "microsoft/vs-threading#520",
                     "A wait for a permit that its token ended hands out no permit.", 3, {value, dispatch}},
                    ended_by_cancellation_is_no_grant),
    };
}

}  // namespace heddle::prop::corpus
