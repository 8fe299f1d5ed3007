// SPDX-License-Identifier: Apache-2.0
// Who runs next: ready queue, suspension, fast returns, the in-place tick and the loop (SCH-19 to SCH-42). Contexts are
// in context_test.cpp; what must not suspend, and exceptions across suspensions, in suspension_test.cpp.
#include "heddle/core/run/scheduler.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/program.hpp"
#include "heddle/core/seam/testing/scripted_chooser.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

WaitPoint here(SourceLocation at = SourceLocation::current()) { return {"wait", at}; }

/// Says when its coroutine gains and loses the stack.
class Says final : public SwitchHandler {
public:
    Says(Program& program, std::string name) : program_(program), name_(std::move(name)) {}
    bool on_switch(CoroutineHandle, bool entering, bool finishing) override {
        program_.log(name_ + (finishing ? ":FINISH" : entering ? ":ENTER" : ":LEAVE"));
        return true;
    }

private:
    Program& program_;
    std::string name_;
};

// ── worked traces ──

TEST(Scheduler, RunsYieldersInTurns) {
    in_every_mode([](Program& program) {  // T1
        SCOPED_TRACE(program.mode());
        const auto steps = [&](std::string name, int count) {
            return [&program, name, count] {
                for (int i = 1; i <= count; ++i) {
                    program.log(name + std::to_string(i));
                    if (i < count) { yield(); }
                }
            };
        };
        program.run([&] {
            spawn(steps("a", 3));
            spawn(steps("b", 2));
            spawn(steps("c", 1));
        });
        EXPECT_EQ(program.text(), "a1 b1 c1 a2 b2 a3");
    });
}

TEST(Scheduler, QueuesWhatIsSpawnedBehindWhatIsReady) {
    in_every_mode([](Program& program) {  // T2
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] {
                program.log("p1");
                spawn([&] {
                    program.log("k1");
                    yield();
                    program.log("k2");
                });
                program.log("p2");
                yield();
                program.log("p3");
                spawn([&] { program.log("l1"); });
            });
            spawn([&] { program.log("i1"); });
        });
        EXPECT_EQ(program.text(), "p1 p2 i1 k1 p3 k2 l1");
    });
}

TEST(Scheduler, LetsALoneYieldReturnWithoutASwitch) {
    in_every_mode([](Program& program) {  // T3, T10
        SCOPED_TRACE(program.mode());
        Says h(program, "h");
        program.run([&] {
            current_coroutine().add_switch_handler(h);
            const std::uint64_t before = program.switches();
            yield();
            EXPECT_EQ(program.switches(), before);
            program.log("on");
        });
        EXPECT_EQ(program.text(), "h:LEAVE h:ENTER on h:FINISH");
    });
}

TEST(Scheduler, DispatchesInTheOrderOfWakeUps) {
    in_every_mode([](Program& program) {  // SCH-23
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<OneShotEvent> one = OneShotEvent::make(program.scheduler());
            const Ref<OneShotEvent> two = OneShotEvent::make(program.scheduler());
            spawn([&] { wait_for(*one), program.log("one"); });
            spawn([&] { wait_for(*two), program.log("two"); });
            yield();
            two->complete();
            spawn([&] { program.log("new"); });
            one->complete();
            yield();
            program.log("main");
        });
        EXPECT_EQ(program.text(), "two new one main");
    });
}

TEST(Scheduler, LetsNoStormOfSpawnsOvertakeWhoWasThereBefore) {
    in_every_mode([](Program& program) {  // INV-SCHED-07; the ring grows on the way
        SCOPED_TRACE(program.mode());
        int before = 0;
        program.run([&] {
            spawn([&] {
                for (int i = 0; i < 1000; ++i) {
                    spawn([&] { ++before; });
                }
            });
            spawn([&] { program.log(std::to_string(before)); });
            yield();
            yield();
            program.log(std::to_string(before));
        });
        EXPECT_EQ(program.text(), "0 1000");
    });
}

TEST(Scheduler, EndsALoopThatYieldsUntilATimerHasFired) {
    in_every_mode([](Program& program) {  // T16, INV-LIVE-03
        SCOPED_TRACE(program.mode());
        bool flag = false;
        program.run([&] {
            spawn([&] {
                while (!flag) { yield(); }
                program.log("seen");
            });
            spawn([&] {
                pause_for(5ms);
                flag = true;
            });
        });
        EXPECT_EQ(program.text(), "seen");
    });
}

TEST(Scheduler, AsksTheChooserWhoIsNextOnlyInAnyOrder) {
    for (const bool any_order : {false, true}) {
        ScriptedChooser chooser;
        chooser.answer(ChoiceKind::dispatch, {2, 1});
        RuntimeOptions options;
        options.chooser = &chooser;
        options.any_order = any_order;
        Program program(options);
        program.run([&] {
            spawn("a", [&] { program.log("a"); });
            spawn("b", [&] { program.log("b"); });
            spawn("c", [&] { program.log("c"); });
        });
        EXPECT_EQ(program.text(), any_order ? "c b a" : "a b c");
        EXPECT_EQ(chooser.asked(ChoiceKind::dispatch), any_order ? 2U : 0U);  // the third time there is no choice (C2)
    }
}

// ── suspend, step by step ──

TEST(Suspend, ReturnsAtOnceWithNothingToWaitFor) {
    in_every_mode([](Program& program) {  // SCH-30.3, INV-SCHED-17
        SCOPED_TRACE(program.mode());
        Says h(program, "h");
        program.run([&] {
            spawn([&] { program.log("other"); });
            current_coroutine().add_switch_handler(h);
            const std::uint64_t before = program.switches();
            program.scheduler().suspend(here());
            EXPECT_EQ(program.switches(), before);
            EXPECT_EQ(program.runtime().statistics().ready, 1U);
            EXPECT_EQ(current_coroutine().core().waker().status(), WakerStatus::none);
            program.log("on");
        });
        EXPECT_EQ(program.text(), "on h:FINISH other");
    });
}

TEST(Suspend, ThrowsAPendingCancellationBeforeItStartsAnything) {
    in_every_mode([](Program& program) {  // SCH-30.2
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] {
                const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
                event->set_start_hook([&] { program.log("started"); });
                Waker& waker = current_coroutine().core().waker();
                waker.resume_when(*event, WakeBy::resolve);
                current_coroutine().cancel("now");
                EXPECT_EQ(message(caught([&] { program.scheduler().suspend(here()); })), "now");
                EXPECT_FALSE(waker.has_subscriptions());
                EXPECT_EQ(event->subscriber_count(), 0U);
                EXPECT_FALSE(current_coroutine().core().has_pending_cancellation());
            });
        });
        EXPECT_EQ(program.text(), "");
    });
}

TEST(Suspend, GivesAnEarlyErrorPrecedenceOverAPendingCancellation) {
    in_every_mode([](Program& program) {  // SCH-30.2 with WKR-13
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] {
                const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
                Waker& waker = current_coroutine().core().waker();
                waker.resume_when(*event, WakeBy::resolve);
                event->fail(ErrorValue::make<Failure>("early"));
                current_coroutine().cancel("late");
                EXPECT_EQ(message(caught([&] { program.scheduler().suspend(here()); })), "early");
                waker.clean();
                EXPECT_EQ(message(caught([&] { yield(); })), "late");
                program.log("both");
            });
        });
        EXPECT_EQ(program.text(), "both");
    });
}

TEST(Suspend, ReturnsAtOnceAfterAnEarlyWakeUp) {
    in_every_mode([](Program& program) {  // SCH-30.4
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] { program.log("other"); });
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            Waker& waker = current_coroutine().core().waker();
            waker.resume_when(*event, WakeBy::resolve);
            event->complete(7);
            EXPECT_EQ(waker.status(), WakerStatus::result);
            const std::uint64_t before = program.switches();
            program.scheduler().suspend(here());
            EXPECT_EQ(waker.outcome().value, 7);
            EXPECT_EQ(program.switches(), before);
            waker.clean();
            program.log("on");
        });
        EXPECT_EQ(program.text(), "on other");
    });
}

TEST(Suspend, StartsNothingBeforeItIsCalledAndThenEverythingInOneCall) {
    in_every_mode([](Program& program) {  // SCH-31, INV-SCHED-20
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const auto timer = [&](Duration timeout) {
                return ReactorEvent::timer(program.scheduler(), {.timeout = timeout});
            };
            const Ref<ReactorEvent> one = timer(2ms);
            const Ref<ReactorEvent> two = timer(3ms);
            Waker& waker = current_coroutine().core().waker();
            waker.resume_when(*one, WakeBy::resolve);
            waker.resume_when(*two, WakeBy::resolve);
            EXPECT_EQ(program.runtime().statistics().active_events, 0U);
            spawn([&] { EXPECT_EQ(program.runtime().statistics().active_events, 2U); });
            program.scheduler().suspend(here());
            EXPECT_EQ(program.runtime().statistics().active_events, 0U);
            EXPECT_EQ(waker.triggered().size(), 1U);
            waker.clean();
            waker.clean();  // SCH-32
        });
    });
}

TEST(Suspend, ReturnsFastWhenAnEventFiresWhileItIsBeingStarted) {
    in_every_mode([](Program& program) {  // SCH-30.6 and 7, INV-SCHED-16
        SCOPED_TRACE(program.mode());
        Says h(program, "h");
        program.run([&] {
            spawn([&] { program.log("other"); });
            current_coroutine().add_switch_handler(h);
            program.runtime().set_heartbeat([&] { program.log("heartbeat"); });
            const Ref<OneShotEvent> first = OneShotEvent::make(program.scheduler());
            const Ref<OneShotEvent> second = OneShotEvent::make(program.scheduler());
            first->set_start_hook([&] {
                EXPECT_TRUE(program.scheduler().in_scheduler_phase());
                first->complete(3);
            });
            second->set_start_hook([&] { program.log("second started"); });
            Waker& waker = current_coroutine().core().waker();
            waker.resume_when(*first, WakeBy::resolve);
            waker.resume_when(*second, WakeBy::resolve);
            const std::uint64_t before = program.switches();
            program.scheduler().suspend(here());
            EXPECT_EQ(program.switches(), before);
            EXPECT_EQ(waker.outcome().value, 3);
            EXPECT_FALSE(waker.has_subscriptions());
            EXPECT_EQ(second->subscriber_count(), 0U);
            waker.clean();
            program.runtime().set_heartbeat({});
            program.log("on");
        });
        EXPECT_EQ(program.text(), "on h:FINISH other");
    });
}

TEST(Suspend, PassesOnWhatAStartThrewWithEverythingStopped) {
    in_every_mode([](Program& program) {  // SCH-30.8
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] { program.log("other"); });
            const Ref<ReactorEvent> timer = ReactorEvent::timer(program.scheduler(), {.timeout = 5ms});
            const Ref<OneShotEvent> broken = OneShotEvent::make(program.scheduler());
            broken->set_start_hook([] { throw Failure("cannot start"); });
            Waker& waker = current_coroutine().core().waker();
            waker.resume_when(*timer, WakeBy::resolve);
            waker.resume_when(*broken, WakeBy::resolve);
            const std::uint64_t before = program.switches();
            EXPECT_EQ(message(caught([&] { program.scheduler().suspend(here()); })), "cannot start");
            EXPECT_EQ(program.switches(), before);
            EXPECT_EQ(waker.status(), WakerStatus::none);
            EXPECT_FALSE(waker.has_subscriptions());
            EXPECT_EQ(timer->loop_refs(), 0U);
            EXPECT_EQ(broken->loop_refs(), 0U);
            EXPECT_EQ(program.runtime().statistics().active_events, 0U);
            program.log("on");
        });
        EXPECT_EQ(program.text(), "on other");
    });
}

TEST(Suspend, PrefersAnOutcomeToAStartThatThrew) {
    in_every_mode([](Program& program) {  // step 7 comes before step 8
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            event->set_start_hook([&] {
                event->complete(9);
                throw Failure("and then fails");
            });
            EXPECT_EQ(wait_for(*event).value, 9);
        });
    });
}

TEST(Suspend, SkipsAClosedEventThatHasNothingToReplay) {
    in_every_mode([](Program& program) {  // SCH-30.6
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<ReactorEvent> trigger = ReactorEvent::trigger(program.scheduler());
            const Ref<ReactorEvent> timer = ReactorEvent::timer(program.scheduler(), {.timeout = 2ms});
            Waker& waker = current_coroutine().core().waker();
            waker.resume_when(*trigger, [&](EventSource&, const Outcome&) { program.log("told"); });
            waker.resume_when(*timer, WakeBy::resolve);
            trigger->close();
            program.scheduler().suspend(here());
            EXPECT_TRUE(waker.was_triggered(*timer));
            waker.clean();
        });
        EXPECT_EQ(program.text(), "told");
    });
}

TEST(Suspend, RemovesSubscriptionsAtTheFlushOfAPhaseAndElsewhereAtOnce) {
    in_every_mode([](Program& program) {  // SCH-26, SCH-27
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<OneShotEvent> one = OneShotEvent::make(program.scheduler());
            const Ref<OneShotEvent> two = OneShotEvent::make(program.scheduler());
            const Coroutine<> a = spawn([&] { wait_for(*one); });
            const Coroutine<> b = spawn([&] { wait_for(*two); });
            yield();
            one->complete();
            EXPECT_FALSE(a.core().waker().has_subscriptions());
            add_microtask([&] {
                two->complete();
                EXPECT_TRUE(b.is_queued());
                EXPECT_TRUE(b.core().waker().has_subscriptions());
                add_microtask([&] { EXPECT_TRUE(b.core().waker().has_subscriptions()); });  // one drain, one flush
            });
            spawn([&] {
                EXPECT_TRUE(b.is_queued());
                EXPECT_FALSE(b.core().waker().has_subscriptions());
                program.log("flushed");
            });
            yield();
        });
        EXPECT_EQ(program.text(), "flushed");
    });
}

// ── the in-place tick ──

TEST(InPlaceTick, CallsHeartbeatThenMicrotasksThenPolls) {
    in_every_mode([](Program& program) {  // SCH-33
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] {
                pause_for(0ms);
                program.log("timer");
            });
            yield();
            spawn([&] { program.log("other"); });
            program.reactor().script_polls({true});
            program.runtime().set_heartbeat([&] {
                program.log("heartbeat");
                program.runtime().set_heartbeat({});
            });
            add_microtask([&] { program.log("microtask"); });
            yield();  // [other, main]; the timer fires in this tick
            program.log("main");
        });
        EXPECT_EQ(program.text(), "heartbeat microtask other main timer");
    });
}

TEST(InPlaceTick, LetsItsOwnCoroutineGoOnAheadOfTheQueueIfItPolls) {
    for (const bool polls : {true, false}) {  // T7, SCH-34
        in_every_mode([polls](Program& program) {
            SCOPED_TRACE(program.mode());
            program.run([&] {
                spawn([&] {
                    spawn([&] { program.log("B"); });
                    program.reactor().script_polls({polls});
                    const std::uint64_t before = program.switches();
                    pause_for(0ms);
                    if (polls) { EXPECT_EQ(program.switches(), before); }
                    program.log("A");
                });
            });
            EXPECT_EQ(program.text(), polls ? "A B" : "B A");
        });
    }
}

TEST(InPlaceTick, SendsOthersThatWakeInItToTheTail) {
    in_every_mode([](Program& program) {  // SCH-34
        SCOPED_TRACE(program.mode());
        program.run([&] {
            program.reactor().set_poll_every(0);
            const Coroutine<> other = spawn([&] { pause_for(0ms), program.log("other"); });
            yield();
            spawn([&] { program.log("B"); });
            program.reactor().script_polls({true});
            pause_for(0ms);
            program.log("A");
            other.await();
        });
        EXPECT_EQ(program.text(), "A B other");
    });
}

TEST(InPlaceTick, IsWokenByItsOwnMicrotaskWithoutASwitch) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            spawn([&] { program.log("B"); });
            add_microtask([&] { event->complete(); });
            const std::uint64_t before = program.switches();
            wait_for(*event);
            EXPECT_EQ(program.switches(), before);
            program.log("A");
        });
        EXPECT_EQ(program.text(), "A B");
    });
}

TEST(InPlaceTick, SwitchesOnceFromOneCoroutineToTheNext) {
    in_every_mode([](Program& program) {  // SCH-35, INV-SCHED-14
        SCOPED_TRACE(program.mode());
        program.reactor().set_poll_every(0);
        std::uint64_t left = 0;
        program.run([&] {
            const auto body = [&] {
                for (int i = 0; i < 10; ++i) {
                    left = program.switches();
                    yield();
                    if (i == 9) { break; }  // the other one may have ended meanwhile
                    EXPECT_EQ(program.switches(), left + 1);
                    program.log("once");
                }
            };
            const Coroutine<> a = spawn(body);
            const Coroutine<> b = spawn(body);
            wait_for(a.core());
            wait_for(b.core());
        });
        EXPECT_EQ(program.entries().size(), 18U);
    });
}

TEST(InPlaceTick, NeverPollsWhereTheChoiceIsSwitchedOff) {
    ScriptedChooser chooser;
    RuntimeOptions options;
    options.chooser = &chooser;
    options.choose_polls = false;
    Program program(options);
    program.reactor().set_poll_every(1);
    program.run([&] {
        const std::uint64_t before = program.reactor().ticks();
        for (int i = 0; i < 10; ++i) { yield(); }
        EXPECT_EQ(program.reactor().ticks(), before);
    });
}

TEST(InPlaceTick, PollsWithinTheReactorsBound) {
    in_every_mode([](Program& program) {  // SCH-36
        SCOPED_TRACE(program.mode());
        program.reactor().set_poll_every(4);
        program.run([&] {
            const std::uint64_t before = program.reactor().ticks();
            for (int i = 0; i < 40; ++i) { yield(); }
            EXPECT_EQ(program.reactor().ticks(), before + 10);
        });
    });
}

// ── dispatch and the loop ──

TEST(Dispatch, FinalizesADoomedOneOnTheDispatchingStack) {
    in_every_mode([](Program& program) {  // SCH-38, SCH-51
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] {
                const Coroutine<> doomed = spawn([&] { program.log("never"); });
                const std::size_t contexts = program.runtime().statistics().live_contexts;
                const CoroutineId host = current_coroutine().id();
                const std::uint64_t before = program.switches();
                doomed.set_dispose_hook([&, host](CoroutineCore& core) {
                    EXPECT_EQ(program.scheduler().current(), &core);
                    EXPECT_NE(core.id(), host);
                    EXPECT_EQ(core.context(), nullptr);
                    EXPECT_EQ(program.switches(), before);
                    EXPECT_EQ(program.runtime().statistics().live_contexts, contexts);
                    program.log("ended");
                });
                doomed.cancel();
                yield();
                program.log("host");
            });
        });
        EXPECT_EQ(program.text(), "ended host");
    });
}

TEST(Loop, RunsHeartbeatAndMicrotasksBeforeItDispatchesWhomTheReactorWoke) {
    in_every_mode([](Program& program) {  // SCH-40
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<ReactorEvent> timer = ReactorEvent::timer(program.scheduler(), {.timeout = 3ms});
            Waker& waker = current_coroutine().core().waker();
            waker.resume_when(*timer, [&](EventSource& event, const Outcome& outcome) {
                program.log("callback");
                program.scheduler().resume(waker.coroutine(), &event, outcome);
                program.runtime().set_heartbeat([&] { program.log("heartbeat"); });
                add_microtask([&] { program.log("microtask"); });
            });
            program.scheduler().suspend(here());
            program.runtime().set_heartbeat({});
            waker.clean();
            program.log("main");
        });
        EXPECT_EQ(program.text(), "callback heartbeat microtask main");
    });
}

TEST(Loop, GoesOnAfterTicksInWhichNothingHappened) {
    in_every_mode([](Program& program) {  // SCH-41
        SCOPED_TRACE(program.mode());
        program.reactor().set_idle_ticks_max(0);
        bool fired = false;
        program.run([&] {
            // Happenings that make nothing ready end a blocking tick all the same, or go by inside it.
            program.reactor().at(1ms, [] {});
            program.reactor().at(2ms, [] {});
            pause_for(5ms);
            fired = true;
        });
        EXPECT_TRUE(fired);
        EXPECT_EQ(program.reactor().now(), Instant{} + 5ms);
    });
}

}  // namespace
}  // namespace heddle::testing
