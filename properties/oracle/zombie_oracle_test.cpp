// SPDX-License-Identifier: Apache-2.0
// Cases of the zombie oracle: transitions, counts, the epilogue.
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

Ref<OneShotEvent> new_event() { return OneShotEvent::make(Stage::scheduler()); }

}  // namespace

OracleCases zombie_cases() {
    OracleCases cases{"zombie", make_zombie_oracle};
    cases.streams = {
        {"INV-ZOM-01", "born a zombie, but spawned as an active coroutine", "", "spawned a b=1; became_zombie a a=1",
         "spawned a; became_zombie a a=1"},
        {"INV-ZOM-01", "a coroutine became a zombie without a safe request", "spawned a",
         "cancel_requested a a=2; became_zombie a", "became_zombie a"},
        {"INV-ZOM-02", "a coroutine became a zombie twice", "spawned a; cancel_requested a a=2; became_zombie a",
         "cancel_requested a a=2", "became_zombie a"},
    };
    cases.stages = {
        {"INV-ZOM-01", "zombie status was lost, or came from nowhere",
         [](Stage& stage) {
             const Ref<OneShotEvent> event = new_event();
             const CoroutineHandle waiter = Stage::waiting(event);
             if (stage.broken) { waiter.core().zombie_ = true; }
             yield();
             event->complete();
         }},
        {"INV-ZOM-02", "the active count does not follow spawns, transitions and ends",
         [](Stage& stage) {
             if (stage.broken) { ++Stage::scheduler().active_count_; }
             yield();
         }},
        {"INV-ZOM-03", "a coroutine's wait changed although nothing but a safe request reached it",
         [](Stage& stage) {
             const Ref<OneShotEvent> event = new_event();
             const CoroutineHandle waiter = Stage::waiting(event);
             Stage::look();
             if (stage.broken) { waiter.core().waker().status_ = WakerStatus::queued; }
             Stage::look();
             event->complete();
         }},
        {"INV-ZOM-04", "the registry does not follow spawns and ends",
         [](Stage& stage) {
             if (stage.broken) { Stage::tell(EventKind::spawned, Stage::label("nobody"), {}, 9, 1); }
             yield();
         }},
        {"INV-ZOM-05", "the epilogue's timer is counted",
         [](Stage& stage) {
             const Ref<ReactorEvent> timer = ReactorEvent::timer(Stage::scheduler(), {.timeout = 1ms}, !stage.broken);
             Stage::tell(EventKind::epilogue_entered);
             timer->start();
         }},
        {"INV-ZOM-05", "no active coroutine is left, and the epilogue's timer is not armed",
         [](Stage& stage) {
             Scope scope;
             scope.allow_zombies();
             scope.spawn("zombie", [broken = stage.broken] {
                 yield();
                 yield();
                 if (broken) { Stage::scheduler().disarm_epilogue(); }
                 yield();
             });
             yield();
         }},
        {"INV-ZOM-05", "the epilogue's timer is armed out of season",
         [](Stage& stage) {
             Scheduler& scheduler = Stage::scheduler();
             if (stage.broken) {
                 const std::size_t before = std::exchange(scheduler.active_count_, 0);
                 scheduler.active_count_changed();
                 scheduler.active_count_ = before;
             }
             yield();
         }},
        {"INV-ZOM-07", "zombies held the run up for longer than two timeouts",
         [](Stage& stage) {
             if (stage.broken) {
                 Stage::tell(EventKind::epilogue_entered);
                 Stage::tell(EventKind::event_started, {}, Stage::label("timer"), 1);
             }
             sleep_for(5s);
         }},
    };
    return cases;
}

}  // namespace heddle::prop
