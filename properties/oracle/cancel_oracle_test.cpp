// SPDX-License-Identifier: Apache-2.0
// Cases of the cancellation oracle: requests, deliveries, protection.
#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {
namespace {

/// Somebody who waits, protected or not.
struct Waiting {
    explicit Waiting(bool is_protected) {
        waiter = spawn("waiter", [event = event, is_protected] {
            try {
                if (is_protected) {
                    protect([&] { await_event(event); });
                } else {
                    await_event(event);
                }
            } catch (const Cancellation&) {
                // Some of the cases cancel it.
            }
        });
        yield();
    }
    ~Waiting() { event->complete(); }
    Ref<OneShotEvent> event = OneShotEvent::make(Stage::scheduler());
    CoroutineHandle waiter;
    [[nodiscard]] CoroutineCore& core() const { return waiter.core(); }
};

StageCase waiting_case(const char* invariant, const char* message, void (*breaks)(Waiting&),
                       bool is_protected = false) {
    return {invariant, message, [=](Stage& stage) {
                Waiting waiting(is_protected);
                if (stage.broken) { breaks(waiting); }
                Stage::look();
            }};
}

}  // namespace

OracleCases cancel_cases() {
    OracleCases cases{"cancel", make_cancel_oracle};
    cases.streams = {
        {"INV-CAN-01", "a cancellation was dropped although none is undelivered", "spawned a; started a",
         "cancel_requested a b=1", "cancel_requested a"},
        {"INV-CAN-01", "a cancellation was accepted that must be dropped",
         "spawned a; started a; cancel_requested a b=1", "cancel_requested a", "cancel_requested a b=1"},
        {"INV-CAN-01", "a cancellation was delivered that nobody asked for", "spawned a; started a; step_begin a",
         "cancel_requested a b=1; cancel_delivered a", "cancel_delivered a"},
        {"INV-CAN-01", "an accepted cancellation was lost: its target ended with a value",
         "spawned a; started a; cancel_requested a b=1", "finished a a=2", "finished a"},
        {"INV-CAN-02", "a cancellation was delivered outside of its target's code",
         "spawned a; started a; cancel_requested a b=1", "step_begin a; cancel_delivered a", "cancel_delivered a"},
        {"INV-CAN-03", "a doomed coroutine ended without its cancellation", "spawned a; doomed a", "finished a a=2",
         "finished a a=1"},
        {"INV-CAN-04", "a cancel switched to another coroutine",
         "spawned a; spawned b; step_begin a; cancel_requested b b=1", "step_end a; step_begin b", "step_begin b"},
        {"INV-CAN-05", "a finished coroutine was doomed", "spawned a", "doomed a", "finished a; doomed a"},
        {"INV-CAN-05", "a finished coroutine was woken by a cancellation", "spawned a; started a", "woken a n=cancel",
         "finished a; woken a n=cancel"},
        {"INV-CAN-10", "one cancellation was delivered twice",
         "spawned a; started a; step_begin a; cancel_requested a b=1; cancel_delivered a",
         "cancel_requested a b=1; cancel_delivered a", "cancel_delivered a"},
        {"INV-PRT-01", "a wait inside protect was ended by a cancellation",
         "spawned a; started a; protect_entered a a=1", "protect_left a; woken a n=cancel", "woken a n=cancel"},
        {"INV-PRT-01", "a cancellation was thrown inside protect",
         "spawned a; started a; cancel_requested a b=1; step_begin a", "cancel_delivered a",
         "protect_entered a a=1; cancel_delivered a"},
        {"INV-PRT-02", "a cancellation was held back outside protect", "spawned a; started a",
         "protect_entered a a=1; cancel_deferred a", "cancel_deferred a"},
        {"INV-PRT-04", "protection depth is not the number of regions entered", "spawned a; started a",
         "protect_entered a a=1", "protect_entered a a=2"},
        {"INV-PRT-04", "protection depth did not go down by one", "spawned a; started a; protect_entered a a=1",
         "protect_left a", "protect_left a a=1"},
    };
    cases.stages = {
        waiting_case("INV-PRT-04", "protection depth is not the number of regions entered since it was removed",
                     [](Waiting& waiting) { waiting.core().protection_depth_ = 1; }),
        waiting_case("INV-PRT-02", "a cancellation is held back outside protect",
                     [](Waiting& waiting) { waiting.core().has_deferred_ = true; }),
        waiting_case("INV-PRT-04", "an unprotected coroutine waits with a pending cancellation",
                     [](Waiting& waiting) { waiting.core().has_pending_ = true; }),
        waiting_case("INV-CAN-09", "reads as cancelled, and no request was accepted",
                     [](Waiting& waiting) { waiting.core().cancel_accepted_ = true; }),
        waiting_case("INV-SCOPE-08", "a safe request cancelled",
                     [](Waiting& waiting) {
                         Stage::tell(EventKind::cancel_requested, waiting.waiter.label(), {}, 2);
                         waiting.core().cancel_accepted_ = true;
                     }),
        waiting_case("INV-CAN-09", "lost a request that was accepted",
                     [](Waiting& waiting) {
                         waiting.waiter.cancel();
                         waiting.core().cancel_accepted_ = false;
                     }),
        waiting_case("INV-CAN-01", "an accepted cancellation is kept nowhere",
                     [](Waiting& waiting) {
                         waiting.waiter.cancel();
                         waiting.core().waker().outcome_ = {};
                     }),
        waiting_case(
            "INV-LIVE-09", "a cancellation that was held back was never delivered",
            [](Waiting& waiting) {
                waiting.waiter.cancel();
                waiting.core().has_deferred_ = false;
            },
            true),
        {"INV-CAN-03", "an unstarted coroutine was cancelled and is not doomed",
         [](Stage& stage) {
             auto unstarted = spawn("unstarted", [] {});
             unstarted.cancel();
             if (stage.broken) { unstarted.core().waker().outcome_ = {}; }
             Stage::look();
         }},
        {"INV-CAN-08", "a cancellation became the exit exception",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             stage.on_end = [](Scheduler& scheduler) {
                 scheduler.exit_ = ErrorValue::make<AsyncCancellation>("of somebody");
             };
         }},
    };
    return cases;
}

}  // namespace heddle::prop
