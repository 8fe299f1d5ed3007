// SPDX-License-Identifier: Apache-2.0
// Cases of the waker oracle: the arrows of a wait, its outcome, what may replace it.
#include <stdexcept>

#include "heddle/core/run/reactor_event.hpp"
#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

ErrorValue error(const char* text) { return ErrorValue(std::make_exception_ptr(std::runtime_error(text))); }

/// Somebody who waits.
struct Waiting {
    Ref<OneShotEvent> event = OneShotEvent::make(Stage::scheduler());
    CoroutineHandle waiter = spawn("waiter", [event = event] {
        try {
            await_event(event);
        } catch (const Cancellation&) {
            // Some of the cases cancel it.
        } catch (const std::runtime_error&) {
            // Some of the cases fail what it waits for.
        }
    });
    Waiting() { yield(); }
    ~Waiting() { event->complete(); }
    [[nodiscard]] Waker& waker() const { return waiter.core().waker(); }
};

StageCase waiting_case(const char* invariant, const char* message, void (*breaks)(Waiting&)) {
    return {invariant, message, [breaks](Stage& stage) {
                Waiting waiting;
                if (stage.broken) { breaks(waiting); }
                yield();
            }};
}

/// What is in the queue is looked at twice, with something in between.
StageCase queued_case(const char* invariant, const char* message, void (*queues)(Waiting&), void (*breaks)(Waiting&)) {
    return {invariant, message, [queues, breaks](Stage& stage) {
                Waiting waiting;
                queues(waiting);
                Stage::look();
                if (stage.broken) { breaks(waiting); }
                Stage::look();
            }};
}

}  // namespace

OracleCases waker_cases() {
    OracleCases cases{"waker", make_waker_oracle};
    cases.streams = {
        {"INV-WAKE-01", "only an unstarted coroutine is doomed", "spawned a", "doomed a", "started a; doomed a"},
        {"INV-WAKE-01", "started without having been queued", "", "spawned a; started a", "started a"},
        {"INV-WAKE-01", "only the running coroutine yields", "spawned a", "started a; yielded a", "yielded a"},
        {"INV-WAKE-01", "parked without running", "spawned a", "started a; parked a", "parked a"},
        {"INV-WAKE-01", "resumed without having been queued", "spawned a; started a; woken a", "fast_return a",
         "resumed a"},
        {"INV-WAKE-01", "an early wake-up of somebody who does not run", "spawned a", "started a; woken a n=early",
         "woken a n=early"},
        {"INV-WAKE-01", "somebody was woken who does not wait", "spawned a", "started a; parked a; woken a", "woken a"},
        {"INV-WAKE-04", "a fast return without a wake-up", "spawned a; started a", "woken a; fast_return a",
         "fast_return a"},
        {"INV-WAKE-04", "a wait ended for no reason", "spawned a; started a; parked a", "woken a; resumed a",
         "resumed a"},
        {"INV-WAKE-05", "one wait was ended twice", "spawned a; started a; parked a; woken a",
         "resumed a; parked a; woken a", "woken a"},
        {"INV-WAKE-11", "a doomed coroutine ran", "spawned a", "started a", "doomed a; started a"},
        {"INV-SHUT-07", "a coroutine that is unwound parked again", "spawned a; started a", "parked a",
         "unwound a; parked a"},
        {"INV-LIVE-02", "a coroutine that was woken ended without going on", "spawned a; started a; parked a; woken a",
         "resumed a; finished a", "finished a"},
    };
    cases.stages = {
        waiting_case("INV-WAKE-03", "an event woke a coroutine, and it still waits",
                     [](Waiting& waiting) { Stage::tell(EventKind::woken, waiting.waiter.label()); }),
        waiting_case("INV-WAKE-03", "a coroutine waits for nothing",
                     [](Waiting& waiting) { waiting.waker().drop_subscriptions(); }),
        waiting_case("INV-WAKE-03", "a wake-up was lost: everything that a coroutine waits for is over",
                     [](Waiting& waiting) { waiting.event->closed_ = true; }),
        waiting_case("INV-WAKE-06", "a coroutine waits with an outcome of an earlier wait",
                     [](Waiting& waiting) { waiting.waker().outcome_.has_value = true; }),
        waiting_case("INV-CAN-11", "a cancelled wait keeps its subscriptions",
                     [](Waiting& waiting) {
                         Stage::tell(EventKind::woken, waiting.waiter.label(), {}, 1, 0, "cancel");
                         waiting.waker().status_ = WakerStatus::queued;
                         Stage::scheduler().enqueue(waiting.waiter.core(), false);
                     }),
        queued_case(
            "INV-WAKE-02", "the outcome of a wait was replaced by something that is not a cancellation",
            [](Waiting& waiting) { waiting.event->complete(1); },
            [](Waiting& waiting) { waiting.waker().outcome_.value = 2; }),
        queued_case(
            "INV-CAN-06", "an error or cancellation that was stored was replaced",
            [](Waiting& waiting) { waiting.event->fail(error("one")); },
            [](Waiting& waiting) { waiting.waker().outcome_.error = error("two"); }),
        queued_case(
            "INV-CAN-06", ", has none", [](Waiting& waiting) { waiting.event->fail(error("one")); },
            [](Waiting& waiting) { waiting.waker().outcome_.error = {}; }),
        queued_case(
            "INV-WAKE-10", "an event is in the triggered list twice",
            [](Waiting& waiting) { waiting.event->complete(1); },
            [](Waiting& waiting) {
                Subscription* node = Stage::scheduler().new_subscription();
                node->held_ = waiting.event;
                waiting.waker().triggered_->next_triggered_ = node;
            }),
        {"INV-WAKE-02", "a later event replaced the outcome of a wait",
         [](Stage& stage) {
             Waiting waiting;
             waiting.event->complete(1);
             if (stage.broken) { waiting.waker().outcome_.error = error("later"); }
             Stage::look();
         }},
        {"INV-WAKE-07", "an event that fired before its wait began was lost",
         [](Stage& stage) {
             const Ref<OneShotEvent> event = OneShotEvent::make(Stage::scheduler());
             auto waiter = spawn("waiter", [event, broken = stage.broken] {
                 if (broken) { Stage::tell(EventKind::woken, current_coroutine().label(), {}, 0, 0, "early"); }
                 await_event(event);
             });
             yield();
             if (stage.broken) { waiter.core().waker().outcome_.has_value = true; }
             yield();
             event->complete();
         }},
        {"INV-WAKE-11", "a doomed coroutine lost its first reason",
         [](Stage& stage) {
             auto doomed = spawn("doomed", [] {});
             doomed.cancel();
             Stage::look();
             if (stage.broken) {
                 doomed.core().waker().outcome_.error = ErrorValue::make<AsyncCancellation>("another");
             }
             Stage::look();
         }},
        {"INV-AWAIT-02", "awaiting what was over parked",
         [](Stage& stage) {
             auto waiter = spawn("waiter", [broken = stage.broken] {
                 const Ref<ReactorEvent> timer = ReactorEvent::timer(Stage::scheduler(), {.timeout = 1ms});
                 Waker& waker = current_coroutine().core().waker();
                 waker.clean();
                 waker.resume_when(*timer, WakeBy::resolve);
                 if (broken) { timer->closed_ = true; }
                 Stage::scheduler().suspend({"await", SourceLocation::current()});
                 waker.clean();
             });
             yield();
         }},
    };
    return cases;
}

}  // namespace heddle::prop
