// SPDX-License-Identifier: Apache-2.0
// Cases of the end oracle: shutdowns, deadlocks, what is left.
#include <stdexcept>

#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {
namespace {

ErrorValue error() { return ErrorValue(std::make_exception_ptr(std::runtime_error("error"))); }
Label me() { return current_coroutine().label(); }

/// Something is wrong when the run ends.
StageCase ending_case(const char* invariant, const char* message, void (*breaks)(Scheduler&)) {
    return {invariant, message, [breaks](Stage& stage) {
                if (stage.broken) { stage.on_end = breaks; }
            }};
}

/// A tick that found nothing, as the runtime makes before it says "deadlock".
void quiet_tick() {
    Stage::tell(EventKind::tick_begin);
    Stage::tell(EventKind::tick_end);
}

}  // namespace

OracleCases end_cases() {
    OracleCases cases{"end", make_end_oracle};
    cases.streams = {
        {"INV-SHUT-01", "shutdown began twice", "shutdown_begun", "second_phase", "shutdown_begun"},
        {"INV-SHUT-06", "the second phase began without shutdown, or twice", "", "shutdown_begun; second_phase",
         "second_phase"},
        {"INV-SHUT-06", "new code began in the second phase", "spawned a; shutdown_begun; second_phase",
         "spawned b n=internal; started b", "started a"},
        {"INV-SHUT-06", "a blocking tick in the second phase", "shutdown_begun; second_phase", "tick_begin",
         "tick_begin a=1"},
        {"INV-SHUT-07", "a coroutine that is unwound parked", "spawned a", "parked a", "unwound a; parked a"},
        {"INV-LIVE-07", "a further deadlock of no fewer coroutines", "deadlock a=3", "deadlock a=2", "deadlock a=3"},
    };
    cases.stages = {
        ending_case("INV-SHUT-02", "an error is pending behind the last handling point",
                    [](Scheduler& scheduler) { scheduler.pending_ = error(); }),
        ending_case("INV-SHUT-03", "run() throws although nothing was unhandled",
                    [](Scheduler& scheduler) { scheduler.exit_ = error(); }),
        ending_case("INV-SHUT-03", "something was unhandled, and run() does not throw",
                    [](Scheduler&) { Stage::tell(EventKind::unhandled); }),
        ending_case("INV-SHUT-04", "the run ended although a counted event is left",
                    [](Scheduler& scheduler) { scheduler.reactor().count_up(); }),
        ending_case("INV-SHUT-05", "the run ended with something in a queue or the registry",
                    [](Scheduler& scheduler) { scheduler.active_count_ = 1; }),
        ending_case("INV-DEAD-01", "a deadlock of nobody",
                    [](Scheduler&) {
                        quiet_tick();
                        Stage::tell(EventKind::deadlock);
                    }),
        ending_case("INV-LIVE-01", "the run ended before a coroutine did",
                    [](Scheduler&) { Stage::tell(EventKind::spawned, Stage::label("nobody")); }),
        ending_case("INV-ERR-06", "the history of an error has no end",
                    [](Scheduler& scheduler) {
                        Stage::tell(EventKind::unhandled);
                        const std::exception_ptr one = error().exception();
                        for (int i = 0; i < 100'001; ++i) {
                            scheduler.exit_ = ErrorValue(one, std::move(scheduler.exit_));
                        }
                    }),
        {"INV-SHUT-01", "a sweep left a coroutine out",
         [](Stage& stage) {
             Stage::tell(EventKind::shutdown_begun);
             if (!stage.broken) { Stage::tell(EventKind::cancel_requested, me(), {}, 0, 1); }
             yield();
         }},
        {"INV-SHUT-02", "a coroutine went on while an error waits for its handling point",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             Stage::scheduler().pending_ = error();
             Stage::tell(EventKind::step_begin, me());
         }},
        {"INV-SHUT-07", "an older coroutine was unwound before a younger one",
         [](Stage& stage) {
             auto younger = spawn("younger", [] {});
             if (stage.broken) { Stage::tell(EventKind::unwound, me()); }
         }},
        {"INV-DEAD-01", "a deadlock although somebody is ready",
         [](Stage& stage) {
             auto ready = spawn("ready", [] {});
             if (stage.broken) { Stage::tell(EventKind::deadlock, {}, {}, 2); }
         }},
        {"INV-DEAD-01", "a deadlock although a counted event is started",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             Stage::scheduler().reactor().count_up();
             Stage::tell(EventKind::deadlock, {}, {}, 1);
         }},
        {"INV-DEAD-01", "a deadlock without one more tick that wakes nobody",
         [](Stage& stage) {
             if (stage.broken) { Stage::tell(EventKind::deadlock, {}, {}, 1); }
         }},
        {"INV-DEAD-02", "the loop turns, nothing can ever happen, and no deadlock is found",
         [](Stage& stage) {
             for (int i = 0; i < (stage.broken ? 65 : 64); ++i) { Stage::tell(EventKind::quiescent); }
         }},
        {"INV-DEAD-03", "a sweep left a coroutine out",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             quiet_tick();
             Stage::tell(EventKind::deadlock, {}, {}, 1);
             yield();
         }},
        {"INV-DEAD-03", "a deadlock is not in the exit chain",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             quiet_tick();
             Stage::tell(EventKind::deadlock, {}, {}, 1);
             Stage::tell(EventKind::cancel_requested, me(), {}, 0, 1);
             stage.on_end = [](Scheduler& scheduler) { scheduler.exit_ = error(); };
         }},
    };
    cases.hosts = {
        {"INV-SHUT-05", "something is left in a queue or the registry behind the run",
         [](sim::World& world) { world.runtime().scheduler().active_count_ = 1; }},
        {"INV-SHUT-05", "a context is left behind the run",
         [](sim::World& world) { world.runtime().scheduler().live_contexts_ = 1; }},
        {"INV-SHUT-05", "the runtime cannot be launched again",
         [](sim::World& world) { world.runtime().scheduler().state_ = Scheduler::State::off; }},
        {"INV-EVT-10", "an event is counted behind the run", [](sim::World& world) { world.reactor().count_up(); }},
    };
    return cases;
}

}  // namespace heddle::prop
