// SPDX-License-Identifier: Apache-2.0
// Cases of the switch oracle: passes of switch handlers, and microtasks.
#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {

OracleCases switch_cases() {
    OracleCases cases{"switch", make_switch_oracle};
    cases.streams = {
        {"INV-SW-01", "LEAVE was called for a fast return", "started a; step_begin a; handler_leave a", "step_end a",
         "fast_return a"},
        {"INV-SW-01", "FINISH before the coroutine had finished", "started a; step_begin a",
         "finished a; handler_finish a", "handler_finish a"},
        {"INV-SW-01", "ENTER or LEAVE outside of the coroutine's life", "step_begin a", "started a; handler_enter a",
         "handler_enter a"},
        {"INV-SW-01", "a call after LEAVE without a switch", "started a; step_begin a; handler_leave a",
         "step_end a; step_begin a; handler_enter a", "handler_leave a"},
        {"INV-SW-01", "ENTER twice", "started a; step_begin a; handler_enter a", "handler_leave a", "handler_enter a"},
        {"INV-SW-02", "ENTER or LEAVE while another coroutine has the stack", "started a",
         "step_begin a; handler_enter a", "handler_enter a"},
        {"INV-SW-03", "a pass skipped or repeated a handler", "started a; step_begin a; handler_enter a",
         "handler_enter a a=1", "handler_enter a a=2"},
        {"INV-SW-03", "a handler was called after FINISH", "started a; step_begin a; finished a; handler_finish a",
         "handler_finish a a=1", "handler_finish a"},
        {"INV-TASK-02", "more microtasks ended than were added", "microtask_added; microtask_run",
         "microtask_added; microtask_skipped", "microtask_run"},
        {"INV-TASK-04", "a microtask ran inside the reactor", "microtask_added", "tick_begin; tick_end; microtask_run",
         "tick_begin; microtask_run"},
        {"INV-TASK-04", "a coroutine was dispatched inside the reactor", "tick_begin", "tick_end; step_begin a",
         "step_begin a"},
        {"INV-TASK-04", "a coroutine was dispatched before a microtask that was queued",
         "step_begin a; microtask_added; step_end a", "microtask_run; step_begin b", "step_begin b"},
        {"INV-TASK-05", "the heartbeat was called inside the reactor", "tick_begin", "tick_end; heartbeat",
         "heartbeat"},
        {"INV-LIVE-04", "a microtask was never executed although nothing was thrown before it", "microtask_added",
         "unhandled; microtask_dropped", "microtask_dropped"},
    };
    cases.stages = {
        {"INV-TASK-02", "a microtask was neither run, skipped nor counted as never executed",
         [](Stage& stage) {
             if (stage.broken) { Stage::tell(EventKind::microtask_added); }
         }},
        {"INV-TASK-03", "a microtask has more queue entries than references",
         [](Stage& stage) {
             auto* task = new FunctionMicrotask([] {});
             Stage::scheduler().add_microtask(*task);
             Stage::scheduler().add_microtask(*task);
             if (stage.broken) { task->references_ = 1; }
             Stage::look();
         }},
    };
    return cases;
}

}  // namespace heddle::prop
