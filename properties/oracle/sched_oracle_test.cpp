// SPDX-License-Identifier: Apache-2.0
// Cases of the scheduler oracle: lives, the state table, the ready queue, contexts.
#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

Ref<OneShotEvent> new_event() { return OneShotEvent::make(Stage::scheduler()); }
CoroutineCore& me() { return *Stage::scheduler().current(); }

/// Two coroutines in the ready queue, unstarted, and a third that waits.
struct Three {
    Ref<OneShotEvent> event = new_event();
    CoroutineHandle waiter = Stage::waiting(event);
    CoroutineHandle a = spawn("a", [] {});
    CoroutineHandle b = spawn("b", [] {});
    ~Three() { event->complete(); }
    [[nodiscard]] Waker& of_waiter() const { return waiter.core().waker(); }
};

/// A case about the state of three coroutines, broken in between two steps of main.
StageCase state_case(const char* invariant, const char* message, void (*breaks)(Three&, Scheduler&)) {
    return {invariant, message, [breaks](Stage& stage) {
                Three three;
                if (stage.broken) { breaks(three, Stage::scheduler()); }
                Stage::look();
            }};
}

}  // namespace

OracleCases sched_cases() {
    OracleCases cases{"sched", make_sched_oracle};
    cases.streams = {
        {"INV-SCHED-01", "a coroutine that has started was doomed", "spawned a a=1", "doomed a", "started a; doomed a"},
        {"INV-SCHED-04", "two coroutines run at once", "spawned a a=1; spawned b a=2; step_begin a",
         "step_end a; step_begin b", "step_begin b"},
        {"INV-SCHED-04", "a step ended that had not begun", "spawned a a=1; spawned b a=2; step_begin a; started a",
         "step_end a", "step_end b"},
        {"INV-SCHED-05", "an entry function began twice", "spawned a a=1; started a", "step_begin a", "started a"},
        {"INV-SCHED-05", "the entry of a doomed coroutine began", "spawned a a=1", "started a", "doomed a; started a"},
        {"INV-SCHED-06", "a coroutine began before its spawn returned", "", "spawned a a=1; started a", "started a"},
        {"INV-SCHED-09", "code ran after the end", "spawned a a=1; started a; parked a a=1", "resumed a; finished a",
         "finished a; resumed a"},
        {"INV-SCHED-09", "finalized twice", "spawned a a=1; started a; finished a", "finalized a", "finished a"},
        {"INV-SCHED-09", "finished without having been enqueued", "", "doomed a; finished a", "finished a"},
        {"INV-SCHED-09", "finalization out of order", "spawned a a=1; started a", "finished a; finalized a",
         "finalized a"},
        {"INV-SCHED-09", "a step of a finished coroutine",
         "spawned a a=1; step_begin a; started a; finished a; finalized a; step_end a", "spawned b a=2; step_begin b",
         "step_begin a"},
        {"INV-SCHED-16", "a fast return called switch handlers", "spawned a a=1; started a", "fast_return a",
         "handler_leave a; fast_return a"},
        {"INV-SCHED-17", "a suspension without a subscription parked", "spawned a a=1; started a",
         "yielded a; parked a", "parked a"},
        {"INV-SCHED-26", "one label names two coroutines", "spawned a a=1", "spawned b a=2", "spawned a a=2"},
        {"INV-SCHED-26", "a coroutine without an id", "", "spawned a a=1", "spawned a"},
    };
    cases.stages = {
        state_case("INV-SCHED-01", "a started coroutine has a context, and no other",
                   [](Three& three, Scheduler& scheduler) { three.a.core().context_ = scheduler.scheduler_context_; }),
        state_case("INV-SCHED-01", "a registered coroutine is neither queued nor started",
                   [](Three& three, Scheduler&) { three.a.core().waker().status_ = WakerStatus::none; }),
        state_case("INV-SCHED-01", "an unstarted coroutine waits",
                   [](Three& three, Scheduler&) { three.a.core().waker().status_ = WakerStatus::waiting; }),
        state_case("INV-SCHED-01", "a started coroutine is doomed",
                   [](Three& three, Scheduler&) { three.of_waiter().status_ = WakerStatus::ignored; }),
        state_case("INV-SCHED-02", "not exactly the queued coroutines are in the ready queue",
                   [](Three&, Scheduler& scheduler) { scheduler.ready_.take(0); }),
        state_case("INV-SCHED-03", "a coroutine is in the ready queue that is not queued",
                   [](Three& three, Scheduler& scheduler) {
                       scheduler.ready_.take(0);
                       scheduler.ready_.push_back(&three.waiter.core());
                   }),
        state_case("INV-SCHED-04", "a coroutine runs that is not the current one",
                   [](Three& three, Scheduler&) { three.of_waiter().status_ = WakerStatus::none; }),
        state_case("INV-SCHED-11", "the registry is not in the order of ids",
                   [](Three& three, Scheduler&) { std::swap(three.a.core().id_, three.b.core().id_); }),
        state_case("INV-SCHED-11", "a finished coroutine is registered",
                   [](Three& three, Scheduler&) { three.a.core().finished_ = true; }),
        state_case("INV-SCHED-12", "the active count is not the number of registered non-zombies",
                   [](Three&, Scheduler& scheduler) { ++scheduler.active_count_; }),
        state_case("INV-SCHED-12", "the active count is not the sum over all scopes",
                   [](Three&, Scheduler& scheduler) { ++scheduler.main_scope()->active_; }),
        state_case("INV-SCHED-22", "a coroutine's context hosts somebody else",
                   [](Three& three, Scheduler&) { three.waiter.core().context_->hosted = &three.a.core(); }),
        state_case("INV-SCHED-23", "there are more contexts than coroutines, pool and scheduler account for",
                   [](Three&, Scheduler& scheduler) { scheduler.live_contexts_ += 2; }),
        {"INV-SCHED-03", "a finished coroutine is in the ready queue",
         [](Stage& stage) {
             const CoroutineHandle over = spawn("over", [] {});
             yield();
             yield();
             const CoroutineHandle next = spawn("next", [] {});
             Scheduler& scheduler = Stage::scheduler();
             if (stage.broken) {
                 scheduler.ready_.take(0);
                 scheduler.ready_.push_back(&over.core());
             }
             Stage::look();
         }},
        {"INV-SCHED-04", "the current coroutine has finished",
         [](Stage& stage) {
             const CoroutineHandle over = spawn("over", [] {});
             yield();
             yield();
             Scheduler& scheduler = Stage::scheduler();
             if (stage.broken) {
                 me().waker().status_ = WakerStatus::queued;
                 scheduler.enqueue(me(), false);
                 scheduler.current_ = &over.core();
             }
             Stage::look();
         }},
        {"INV-SCHED-07", "was dispatched before",
         [](Stage& stage) {
             const Three three;
             if (stage.broken) {
                 Stage::tell(EventKind::step_end, me().label());
                 Stage::tell(EventKind::switched, me().label(), three.b.label());
                 ++Stage::scheduler().switches_;
                 Stage::tell(EventKind::step_begin, three.b.label());
             }
         }},
        {"INV-SCHED-08", "which was queued before it",
         [](Stage& stage) {
             const Three three;
             Stage::look();
             if (stage.broken) {
                 three.of_waiter().drop_subscriptions();
                 three.of_waiter().status_ = WakerStatus::queued;
                 Stage::scheduler().enqueue(three.waiter.core(), true);
             }
             Stage::look();
         }},
        {"INV-SCHED-07", "went before",
         [](Stage& stage) {
             const Three three;
             Stage::look();
             const CoroutineHandle late = spawn("late", [] {});
             auto& ready = Stage::scheduler().ready_;
             if (stage.broken) { ready.push_front(ready.take(ready.size() - 1)); }
             Stage::look();
         }},
        {"INV-SCHED-07", "the order of the ready queue changed",
         [](Stage& stage) {
             const Three three;
             Stage::look();
             auto& ready = Stage::scheduler().ready_;
             if (stage.broken) { ready.push_back(ready.take(0)); }
             Stage::look();
         }},
        {"INV-CAN-07", "the order of the ready queue changed",
         [](Stage& stage) {
             const Three three;
             Stage::look();
             three.a.cancel();
             three.b.cancel();
             auto& ready = Stage::scheduler().ready_;
             if (stage.broken) { ready.push_back(ready.take(0)); }
             Stage::look();
         }},
        {"INV-SCHED-09", "the run ended before a coroutine was finalized",
         [](Stage& stage) {
             if (stage.broken) { Stage::tell(EventKind::spawned, Stage::label("nobody"), {}, 9); }
         }},
        {"INV-SCHED-10", "a finished coroutine has no outcome, or another one than it was said to have",
         [](Stage& stage) {
             auto one = spawn("one", [] {});
             struct Lies final : EventCallback {
                 void call(EventSource& event, const Outcome&) override {
                     // Its end is told a second time, by somebody who forgot the first, with another outcome.
                     oracle->begin(*world);
                     Stage::tell(EventKind::doomed, event.label());
                     Stage::tell(EventKind::finished, event.label(), {}, 1);
                 }
                 sim::Oracle* oracle = nullptr;
                 sim::World* world = nullptr;
             } lies;
             lies.oracle = &stage.oracle();
             lies.world = &stage.world();
             lies.add_reference();
             if (stage.broken) { one.core().subscribe(lies); }
             yield();
             yield();
         }},
        {"INV-SCHED-10", "the outcome of a finished coroutine changed",
         [](Stage& stage) {
             auto one = spawn("one", [] {});
             if (stage.broken) {
                 one.core().set_dispose_hook(
                     [](CoroutineCore& core) { core.error_ = ErrorValue::make<AsyncCancellation>("too late"); });
             }
             yield();
             yield();
         }},
        {"INV-SCHED-13", "a blocking tick began although a coroutine is ready",
         [](Stage& stage) {
             auto one = spawn("one", [] {});
             Stage::tell(EventKind::tick_begin, {}, {}, stage.broken ? 1 : 0);
         }},
        {"INV-SCHED-13", "a blocking tick began although a microtask is queued",
         [](Stage& stage) {
             add_microtask([] {});
             Stage::tell(EventKind::tick_begin, {}, {}, stage.broken ? 1 : 0);
         }},
        {"INV-SCHED-14", "a dispatch took more than one switch",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             const Label other = Stage::label("other");
             Stage::tell(EventKind::spawned, other, {}, 9);
             Stage::tell(EventKind::step_end, me().label());
             Stage::tell(EventKind::switched, me().label(), other);
             Stage::scheduler().switches_ += 2;
             Stage::tell(EventKind::step_begin, other);
         }},
        {"INV-SCHED-15", "the scheduler coroutine came between two coroutines",
         [](Stage& stage) {
             const Three three;
             if (!stage.broken) { return; }
             Stage::tell(EventKind::step_end, me().label());
             Stage::tell(EventKind::switched, Stage::label("loop"), three.a.label());
             ++Stage::scheduler().switches_;
             Stage::tell(EventKind::step_begin, three.a.label());
         }},
        {"INV-SCHED-19", "user code runs in a scheduler phase",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             Stage::tell(EventKind::step_end, me().label());
             Stage::scheduler().in_phase_ = true;
             Stage::tell(EventKind::step_begin, me().label());
         }},
        {"INV-SCHED-19", "a ready coroutine still has subscriptions",
         [](Stage& stage) {
             const Three three;
             if (stage.broken) {
                 three.of_waiter().status_ = WakerStatus::queued;
                 Stage::scheduler().enqueue(three.waiter.core(), false);
             }
             yield();
         }},
        {"INV-SCHED-22", "a pooled context hosts a coroutine",
         [](Stage& stage) {
             auto one = spawn("one", [] {});
             yield();
             yield();
             Scheduler& scheduler = Stage::scheduler();
             if (stage.broken) { const_cast<Context*>(scheduler.pooled_context(0))->hosted = &me(); }
             Stage::look();
         }},
        {"INV-SCHED-24", "the pool accepted more contexts than it may hold",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             for (int i = 0; i < 5; ++i) { Stage::scheduler().pool_.push_back(nullptr); }
             Stage::tell(EventKind::context_pooled);
         }},
        {"INV-SCHED-24", "a context is pooled behind the end of the loop",
         [](Stage& stage) {
             if (!stage.broken) { return; }
             stage.on_end = [](Scheduler& scheduler) { scheduler.pool_.push_back(nullptr); };
         }},
    };
    return cases;
}

}  // namespace heddle::prop
