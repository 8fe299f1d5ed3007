// SPDX-License-Identifier: Apache-2.0
// Cases of the reactor oracle: the clock, ticks, timers.
#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {

OracleCases reactor_cases() {
    OracleCases cases{"reactor", make_reactor_oracle};
    cases.streams = {
        {"INV-RCT-01", "time went back from 5 ns to 4 ns", "clock t=5", "clock t=5; clock t=6", "clock t=4"},
        {"INV-RCT-05", "a tick began inside a tick", "tick_begin", "tick_end; tick_begin", "tick_begin"},
        {"INV-RCT-05", "a tick ended that had not begun", "", "tick_begin; tick_end", "tick_end"},
        {"INV-RCT-05", "coroutine code runs inside a tick", "tick_begin",
         "step_begin e a=1; step_end e a=1; tick_end; step_begin a", "step_begin a"},
        {"INV-RCT-04", "a timer fired after it was stopped", "tick_begin; event_started /e a=1",
         "delivered e a=1 n=timer", "event_stopped /e; delivered e a=1 n=timer"},
        {"INV-RCT-02", "a timer fired twice for one arming",
         "tick_begin; event_started /e a=1; delivered e a=1 n=timer", "delivered e a=2 n=timer",
         "delivered e a=1 n=timer"},
    };
    cases.stages = {
        {"INV-RCT-05", "a callback outside of a tick",
         [](Stage& stage) {
             if (!stage.broken) { Stage::tell(EventKind::tick_begin); }
             Stage::tell(EventKind::delivered, Stage::label("e"), {}, 1, 0, "timer");
             if (!stage.broken) { Stage::tell(EventKind::tick_end); }
         }},
    };
    return cases;
}

}  // namespace heddle::prop
