// SPDX-License-Identifier: Apache-2.0
// Cases of the event oracle: starts and stops, passes, who waits for what is over.
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// A timer that somebody waits for, twice.
struct TwoWait {
    Ref<ReactorEvent> timer = ReactorEvent::timer(Stage::scheduler(), {.timeout = 3ms});
    CoroutineHandle first = spawn("first", [timer = timer] { await_event(*timer); });
    CoroutineHandle second = spawn("second", [timer = timer] { await_event(*timer); });
    TwoWait() {
        yield();
        yield();
    }
};

}  // namespace

OracleCases event_cases() {
    OracleCases cases{"event", make_event_oracle};
    cases.streams = {
        {"INV-EVT-02", "loop_refs is not the number of starts less that of stops", "", "event_started /e a=1",
         "event_started /e a=2"},
        {"INV-EVT-02", "an event was stopped that was not started", "", "event_started /e a=1; event_stopped /e",
         "event_stopped /e"},
        {"INV-EVT-02", "a stop did not lower loop_refs by one",
         "event_started /e a=1; event_started /e a=2; event_started /e a=3", "event_stopped /e a=2",
         "event_stopped /e a=1"},
        {"INV-EVT-04", "waiters were not told in the order in which they began to wait",
         "parked a; parked b; notified /e", "woken a /e; woken b /e", "woken b /e; woken a /e"},
        {"INV-EVT-06", "a coroutine's subscribers were told before it had an outcome", "spawned c",
         "finished c; notified /c", "notified /c"},
        {"INV-EVT-06", "a coroutine's subscribers were told twice", "spawned c; finished c; notified /c", "notified /d",
         "notified /c"},
    };
    cases.stages = {
        {"INV-EVT-01", "more events are counted than are started",
         [](Stage& stage) {
             if (stage.broken) { Stage::scheduler().reactor().count_up(); }
             Stage::tell(EventKind::quiescent);
         }},
        {"INV-EVT-02", "a coroutine waits for an event that is not started",
         [](Stage& stage) {
             const TwoWait two;
             if (stage.broken) { two.timer->loop_refs_ = 0; }
             yield();
         }},
        {"INV-EVT-03", "an event was stopped more often than its waits started it",
         [](Stage& stage) {
             const TwoWait two;
             if (stage.broken) { two.timer->loop_refs_ = 1; }
             yield();
         }},
        {"INV-EVT-07", "a coroutine waits only for what is over",
         [](Stage& stage) {
             const TwoWait two;
             if (stage.broken) { two.timer->closed_ = true; }
             Stage::tell(EventKind::quiescent);
         }},
        {"INV-EVT-10", "an event that a wait started was never stopped",
         [](Stage& stage) {
             Stage::scheduler().in_phase_ = true;  // as where a wait starts its events
             Stage::tell(EventKind::event_started, {}, Stage::label("e"), 1);
             if (!stage.broken) { Stage::tell(EventKind::event_stopped, {}, Stage::label("e"), 0); }
             Stage::scheduler().in_phase_ = false;
         }},
        {"INV-EVT-10", "the run ended although a counted event is started",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             stage.on_end = [](Scheduler& scheduler) { scheduler.reactor().count_up(); };
         }},
    };
    return cases;
}

}  // namespace heddle::prop
