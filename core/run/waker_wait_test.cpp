// SPDX-License-Identifier: Apache-2.0
// Waits through the waker: who owns, starts and stops what, the standard callbacks, and the worked examples (WKR-1 to WKR-17, E1 to E10).
#include <gtest/gtest.h>

#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

WakerStatus status(const CoroutineHandle& coroutine) { return coroutine.core().waker().status(); }

class WakerWait : public ::testing::Test, protected World {};

TEST_F(WakerWait, CleanStopsWhatThisWaitStartedAndNothingElse) {
    run([&] {
        const Ref<Bell> shared = bell("shared");
        const auto other = spawn([&] { wait_for(*shared); });
        yield();
        EXPECT_EQ(shared->loop_refs(), 1U);
        Waker& waker = fresh();
        waker.resume_when(*shared, WakeBy::resolve);
        waker.clean();  // never started: a surplus stop would be the other waiter's
        EXPECT_EQ(shared->loop_refs(), 1U);
        waker.clean();
        EXPECT_EQ(shared->subscriber_count(), 1U);
        other.cancel();
    });
}

TEST_F(WakerWait, RunsItsDestructorHookOnce) {
    run([&] {
        Waker& waker = fresh();
        waker.set_destructor_hook([&] { log("hook"); });
        waker.clean();
        waker.clean();
    });
    EXPECT_EQ(text(), "hook");
}

TEST_F(WakerWait, HoldsOneReferencePerEventAndGivesItBack) {
    run([&] {
        const Ref<Bell> b = bell();
        Waker& waker = fresh();
        waker.resume_when(*b, WakeBy::resolve);
        waker.resume_when(*b, WakeBy::timeout);
        EXPECT_EQ(b->references(), 2U);  // one per distinct event, not per callback
        b->add_reference();
        waker.resume_when(*b, WakeBy::token, true);  // handed over, for an event that it holds already
        EXPECT_EQ(b->references(), 2U);
        EXPECT_EQ(waker.subscription_count(), 3U);
        EXPECT_EQ(waker.events().size(), 1U);
        waker.clean();
        EXPECT_EQ(b->references(), 1U);
    });
}

TEST_F(WakerWait, OwnsWhatWasTransferredAlsoIfSubscribingFails) {
    run([&] {
        Ref<Bell> b = bell();
        b->add_reference();
        Bell* raw = b.get();
        b.reset();
        Waker& waker = fresh();
        waker.resume_when(*raw, WakeBy::resolve, true);
        EXPECT_EQ(Bell::alive(), 1);
        waker.clean();
        EXPECT_EQ(Bell::alive(), 0);

        Ref<Bell> closed = bell();
        closed->close();
        closed->add_reference();
        EXPECT_THROW(waker.resume_when(*closed, WakeBy::resolve, true), AsyncError);
        EXPECT_EQ(closed->references(), 1U);
        closed->add_reference();
        EXPECT_THROW(waker.resume_when(*closed, Subscription::Function(), true), AsyncError);
        EXPECT_EQ(closed->references(), 1U);
        Ref<Bell> open = bell();
        open->add_reference();
        EXPECT_THROW(waker.resume_when(*open, Subscription::Function(), true), AsyncError);  // a missing callback
        EXPECT_EQ(open->references(), 1U);
        EXPECT_FALSE(waker.has_subscriptions());
    });
    EXPECT_EQ(Bell::alive(), 0);
}

TEST_F(WakerWait, ForgetsOneEventAndKeepsTheOthers) {
    run([&] {
        const Ref<Bell> a = bell("a");
        const Ref<Bell> b = bell("b");
        const auto c = spawn([&] {
            Waker& waker = fresh();
            waker.resume_when(*a, WakeBy::resolve);
            waker.resume_when(*b, WakeBy::resolve);
            waker.resume_when(*a, WakeBy::token);
            suspend();
            log("woken");
            waker.clean();
        });
        yield();
        c.core().waker().forget(*a);
        EXPECT_EQ(a->loop_refs(), 0U);
        EXPECT_EQ(a->subscriber_count(), 0U);
        EXPECT_EQ(a->references(), 1U);
        EXPECT_EQ(b->loop_refs(), 1U);
        a->ring();
        EXPECT_EQ(status(c), WakerStatus::waiting);
        b->ring();
        yield();
    });
    EXPECT_EQ(text(), "woken");
}

TEST_F(WakerWait, StartsNothingBeforeSuspend) {
    run([&] {
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(10ms));
        Waker& waker = fresh();
        waker.resume_when(*timer, WakeBy::resolve);
        EXPECT_EQ(timer->loop_refs(), 0U);
        EXPECT_EQ(program_.reactor().active_events(), 0U);
        program_.reactor().pass_time(50ms);
        suspend();  // INV-SCHED-20: the timer counts from here
        EXPECT_GE(program_.reactor().now().ns(), Duration(10ms).count());
        waker.clean();
    });
}

TEST_F(WakerWait, TheStandardCallbacksSayWhatTheyWakeWith) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto outcome_of = [&](WakeBy by, const Outcome& outcome, bool& handled) {
            Waker& waker = fresh();
            waker.resume_when(*b, by);
            in_next_tick([&, outcome] { handled = b->ring(outcome); });
            const ErrorValue thrown = caught([&] { suspend(); });
            Outcome result = waker.outcome();
            result.error = thrown;
            waker.clean();
            return result;
        };
        const ErrorValue error = ErrorValue::make<Failure>("E");
        bool handled = false;

        EXPECT_EQ(outcome_of(WakeBy::resolve, {5, true, {}}, handled).value, 5);
        EXPECT_TRUE(outcome_of(WakeBy::resolve, {0, false, error}, handled).error.same_error(error));
        EXPECT_TRUE(handled);

        Outcome given = outcome_of(WakeBy::token, {5, true, {}}, handled);
        EXPECT_TRUE(holds<OperationCanceled>(given.error));
        EXPECT_FALSE(given.error.previous());
        given = outcome_of(WakeBy::token, {0, false, error}, handled);
        EXPECT_TRUE(holds<OperationCanceled>(given.error));
        EXPECT_TRUE(given.error.previous().same_error(error));
        EXPECT_FALSE(handled);  // a token's error is not the waiter's
        EXPECT_TRUE(b->is_used());

        EXPECT_TRUE(holds<TimeoutError>(outcome_of(WakeBy::timeout, {}, handled).error));
        EXPECT_TRUE(outcome_of(WakeBy::timeout, {0, false, error}, handled).error.same_error(error));
    });
}

TEST_F(WakerWait, TheFirstEventWinsAndALoserHandlesNothing) {
    run([&] {
        const Ref<Bell> a = bell("a");
        const Ref<Bell> b = bell("b");
        Waker& waker = fresh();
        waker.resume_when(*a, WakeBy::resolve);
        waker.resume_when(*b, WakeBy::resolve);
        in_next_tick([&] {
            a->ring_value(1);
            a->ring_value(2);
            EXPECT_FALSE(b->ring_error(ErrorValue::make<Failure>("late")));  // WKR-12
        });
        suspend();
        EXPECT_EQ(waker.outcome().value, 1);  // WKR-10
        ASSERT_EQ(waker.triggered().size(), 2U);  // WKR-14: each once, the winner first
        EXPECT_EQ(waker.triggered()[0], a.get());
        EXPECT_EQ(waker.triggered()[1], b.get());
        EXPECT_TRUE(waker.was_triggered(*b));
        EXPECT_EQ(a->loop_refs() + b->loop_refs(), 0U);  // WKR-15
        EXPECT_EQ(a->subscriber_count() + b->subscriber_count(), 0U);
        EXPECT_EQ(b->references(), 2U);
        waker.clean();
        EXPECT_EQ(b->references(), 1U);
        EXPECT_TRUE(waker.triggered().empty());
    });
}

TEST_F(WakerWait, ATriggeredEventLivesUntilTheNextClean) {
    run([&] {
        Ref<Bell> b = bell();
        Waker& waker = fresh();
        waker.resume_when(*b, WakeBy::resolve);
        in_next_tick([&] {
            b->ring();
            b.reset();
        });
        suspend();
        EXPECT_EQ(Bell::alive(), 1);
        EXPECT_EQ(waker.triggered().front()->describe(), "bell");
        waker.clean();
        EXPECT_EQ(Bell::alive(), 0);
    });
}

TEST_F(WakerWait, SeveralCallbacksOnOneEventStartItOnce) {
    run([&] {
        const Ref<Bell> b = bell();
        int calls = 0;
        Waker& waker = fresh();
        waker.resume_when(*b, [&](EventSource&, const Outcome&) { ++calls; });
        waker.resume_when(*b, WakeBy::resolve);
        waker.resume_when(*b, [&](EventSource&, const Outcome&) { ++calls; });
        in_next_tick([&] {
            EXPECT_EQ(b->loop_refs(), 1U);
            b->ring();
        });
        suspend();
        waker.clean();
        EXPECT_EQ(calls, 2);
        EXPECT_EQ(b->starts(), 1);
        EXPECT_EQ(b->stops(), 1);  // INV-EVT-03
    });
}

TEST_F(WakerWait, WakesOutsideAPhaseDropOtherCallbacksOfTheSameEventMidPass) {
    run([&] {
        const Ref<Bell> b = bell();
        int calls = 0;
        const auto c = spawn([&] {
            Waker& waker = fresh();
            waker.resume_when(*b, WakeBy::resolve);
            waker.resume_when(*b, [&](EventSource&, const Outcome&) { ++calls; });
            suspend();
            waker.clean();
        });
        yield();
        Listener after(*b, [&](EventSource&, const Outcome&) { log("after"); });
        b->ring();
        EXPECT_EQ(calls, 0);  // INV-EVT-05: its wait has ended
        EXPECT_EQ(status(c), WakerStatus::queued);
    });
    EXPECT_EQ(text(), "after");
}

TEST_F(WakerWait, AnEventClosedSinceIsReplayedOrSkipped) {
    run([&] {
        const Ref<Bell> keeps = bell("keeps");
        const Ref<Bell> mute = bell("mute");
        Waker& waker = fresh();
        waker.resume_when(*mute, [&](EventSource&, const Outcome&) { log("mute"); });
        waker.resume_when(*keeps, [&](EventSource& event, const Outcome& outcome) {
            log("replayed");
            scheduler().resume(waker.coroutine(), &event, outcome);
        });
        mute->close();
        keeps->close({8, true, {}}, true);
        EXPECT_EQ(text(), "mute replayed");  // told when they closed; early, so RESULT
        EXPECT_EQ(waker.status(), WakerStatus::result);
        waker.clean();
        program_.clear();

        // Closed by the start of an earlier event of the same wait: the loop of SCH-30.6 meets it closed.
        const Ref<Bell> first = bell("first");
        const Ref<Bell> second = bell("second");
        bool armed = false;
        first->at_start([&] { second->close({9, true, {}}, true); });
        waker.resume_when(*first, [](EventSource&, const Outcome&) {});
        waker.resume_when(*second, [&](EventSource& event, const Outcome& outcome) {
            if (std::exchange(armed, true)) { scheduler().resume(waker.coroutine(), &event, outcome); }  // let the replay decide
        });
        suspend();
        EXPECT_EQ(waker.outcome().value, 9);
        EXPECT_EQ(second->starts(), 0);
        EXPECT_EQ(first->loop_refs(), 0U);
        waker.clean();
    });
}

TEST_F(WakerWait, AFailedStartStopsWhatWasStartedAndThrows) {
    run([&] {
        const Ref<Bell> good = bell("good");
        const Ref<Bell> bad = bell("bad");
        bad->at_start([] { throw IoError("cannot be watched"); });
        spawn([&] { log("other"); });
        Waker& waker = fresh();
        waker.resume_when(*good, WakeBy::resolve);
        waker.resume_when(*bad, WakeBy::resolve);
        EXPECT_THROW(suspend(), IoError);
        log("no switch");
        EXPECT_EQ(waker.status(), WakerStatus::none);
        EXPECT_FALSE(waker.has_subscriptions());
        EXPECT_EQ(good->stops(), 1);
        EXPECT_EQ(bad->loop_refs(), 0U);
        yield();
    });
    EXPECT_EQ(text(), "no switch other");
}

TEST_F(WakerWait, AnEventThatFiresInItsStartIsAFastReturn) {
    run([&] {
        const Ref<Bell> b = bell();
        b->at_start([&] { b->ring_value(2); });
        spawn([&] { log("other"); });
        const std::uint64_t before = program_.switches();
        EXPECT_EQ(wait_for(*b).value, 2);
        EXPECT_EQ(program_.switches(), before);
        log("main");
        EXPECT_EQ(b->loop_refs(), 0U);
    });
    EXPECT_EQ(text(), "main other");
}

TEST_F(WakerWait, RefusesToSuspendWhereItMayNotAndStaysAsItIs) {
    run([&] {
        const Ref<Bell> b = bell();
        Waker& waker = fresh();
        waker.resume_when(*b, WakeBy::resolve);
        {
            const Scheduler::NoSuspend region(scheduler());
            EXPECT_THROW(suspend(), AsyncError);
        }
        EXPECT_EQ(waker.status(), WakerStatus::none);
        EXPECT_TRUE(waker.has_subscriptions());
        waker.clean();
    });
}

TEST_F(WakerWait, BeginsWithATimeoutThatItOwns) {
    run([&] {
        const Ref<Bell> b = bell();
        Waker& waker = fresh();
        const EventSource* timer = waker.begin_with_timeout(20ms, b.get());
        ASSERT_NE(timer, nullptr);
        EXPECT_EQ(waker.events().size(), 2U);
        EXPECT_EQ(waker.events()[0], timer);  // WKR-2: in that order
        suspend();
        EXPECT_TRUE(waker.was_triggered(*timer));
        EXPECT_EQ(program_.reactor().now().ns(), Duration(20ms).count());
        waker.clean();
        EXPECT_EQ(program_.reactor().open_sources(), 0U);

        EXPECT_EQ(waker.begin_with_timeout(0ms), nullptr);
        EXPECT_FALSE(waker.has_subscriptions());

        const Ref<OneShotEvent> fired = OneShotEvent::make(scheduler());
        fired->complete();
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { waker.begin_with_timeout(20ms, fired.get()); })));
        EXPECT_FALSE(waker.has_subscriptions());
        EXPECT_EQ(program_.reactor().open_sources(), 0U);
    });
}

TEST_F(WakerWait, IsLinearInTheNumberOfDistinctEvents) {
    run([&] {
        std::vector<Ref<Bell>> bells;
        Waker& waker = fresh();
        for (int i = 0; i < 20'000; ++i) {
            bells.push_back(bell());
            waker.resume_when(*bells.back(), WakeBy::resolve);
        }
        EXPECT_EQ(waker.subscription_count(), 20'000U);
        waker.clean();
    });
    EXPECT_EQ(Bell::alive(), 0);
}

// ── the worked examples ──

class WakerExample : public ::testing::Test, protected World {};

TEST_F(WakerExample, E1TheFirstArmedOfTwoEqualTimersWins) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Waker& waker = current_coroutine().core().waker();
            const Ref<ReactorEvent> t1 = ReactorEvent::timer(program.scheduler(), in(10ms));
            const Ref<ReactorEvent> t2 = ReactorEvent::timer(program.scheduler(), in(10ms));
            waker.clean();
            waker.resume_when(*t1, WakeBy::resolve);
            waker.resume_when(*t2, WakeBy::resolve);
            program.scheduler().suspend({"test", SourceLocation::current()});
            ASSERT_EQ(waker.triggered().size(), 2U);
            EXPECT_EQ(waker.triggered()[0], t1.get());
            EXPECT_EQ(waker.triggered()[1], t2.get());
            EXPECT_TRUE(program.scheduler().ready_queue().empty());
            waker.clean();
        });
    });
}

TEST_F(WakerExample, E2ATargetThatEndsBeforeTheTokenInOneTickGivesItsValue) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<OneShotEvent> target = OneShotEvent::make(program.scheduler());
            const Ref<OneShotEvent> token = OneShotEvent::make(program.scheduler());
            const Ref<ReactorEvent> alive = ReactorEvent::timer(program.scheduler(), in(50ms));
            alive->start();
            program.reactor().at(10ms, [&] {
                target->complete(3);
                token->complete();
            });
            Waker& waker = current_coroutine().core().waker();
            waker.clean();
            waker.resume_when(*target, WakeBy::resolve);
            waker.resume_when(*token, WakeBy::token);
            program.scheduler().suspend({"test", SourceLocation::current()});
            EXPECT_EQ(waker.outcome().value, 3);
            waker.clean();
            alive->stop();
        });
    });
}

TEST_F(WakerExample, E3ACancellationInTheWindowReplacesAValueThatStaysReadable) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Coroutine<int> b;
            const auto a = spawn([&] {
                program.log(message(caught([&] { b.await(); })));
            });
            b = spawn([] { return 4; });
            spawn([&] { a.cancel("window"); });
            a.await();
            EXPECT_EQ(b.await(), 4);
        });
        EXPECT_EQ(program.text(), "window");
    });
}

TEST_F(WakerExample, E4NeitherTheErrorNorTheCancellationGetsLost) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        // Cancelled first: A gets the cancellation, the error goes its own way.
        ErrorValue exit = program.run([&] {
            Coroutine<> b;
            const auto a = spawn([&] { program.log(message(caught([&] { b.await(); }))); });
            spawn([&] { a.cancel("C"); });
            b = spawn([] { throw Failure("E"); });
            a.await();
            EXPECT_EQ(message(caught([&] { b.await(); })), "E");  // kept on its handle, unhandled by A
        });
        EXPECT_EQ(program.text(), "C");
        EXPECT_FALSE(exit);
        program.clear();

        // The error first: it stays this wait's outcome, the cancellation comes at the next suspension.
        exit = program.run([&] {
            Coroutine<> b;
            const auto a = spawn([&] {
                program.log(message(caught([&] { b.await(); })));
                program.log(message(caught([] { yield(); })));
            });
            const auto escapes = spawn([&] { b.await(); });
            b = spawn([] { throw Failure("E"); });
            spawn([&] {
                a.cancel("C");
                escapes.cancel("C");
            });
            a.await();
            static_cast<void>(caught([&] { escapes.await(); }));
            EXPECT_EQ(chain(escapes.error()), "E < C");
        });
        EXPECT_EQ(program.text(), "E C");
        EXPECT_FALSE(exit);
    });
}

TEST_F(WakerExample, E5AnEventTriggeredBeforeSuspendIsNotLost) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<Bell> bell = Bell::make(program.scheduler());
            Waker& waker = current_coroutine().core().waker();
            waker.clean();
            waker.resume_when(*bell, WakeBy::resolve);
            bell->ring_error(ErrorValue::make<Failure>("E"));
            EXPECT_EQ(message(caught([&] { program.scheduler().suspend({"test", SourceLocation::current()}); })), "E");
            waker.clean();
        });
    });
}

TEST_F(WakerExample, E6TheTimeoutOfAWaitIsArmedFirst) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Waker& waker = current_coroutine().core().waker();
            const EventSource* timeout = waker.begin_with_timeout(10ms);
            const Ref<ReactorEvent> e = ReactorEvent::timer(program.scheduler(), in(10ms));
            waker.resume_when(*e, WakeBy::resolve);
            program.scheduler().suspend({"test", SourceLocation::current()});
            EXPECT_EQ(waker.triggered().front(), timeout);
            waker.clean();

            // A descriptor: polled before timers run, so it wins when both are due (RCT-60).
            const Ref<ReactorEvent> poll = ReactorEvent::poll(program.scheduler(), 5, PollBits::readable);
            timeout = waker.begin_with_timeout(10ms);
            waker.resume_when(*poll, WakeBy::resolve);
            program.reactor().at(10ms, [&] { program.reactor().set_ready(5, PollBits::readable); });
            program.scheduler().suspend({"test", SourceLocation::current()});
            EXPECT_EQ(waker.triggered().front(), poll.get());
            EXPECT_EQ(waker.outcome().value, PollBits::readable);
            waker.clean();
            EXPECT_EQ(program.reactor().active_events(), 0U);
        });
    });
}

TEST_F(WakerExample, E7ASharedEventStaysWatchedForTheOtherWaiter) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<ReactorEvent> poll = ReactorEvent::poll(program.scheduler(), 5, PollBits::readable);
            const auto a = spawn([&] { wait_for(*poll); });
            const auto b = spawn([&] {
                EXPECT_EQ(wait_for(*poll).value, PollBits::readable);
                program.log("b");
            });
            yield();
            EXPECT_EQ(poll->loop_refs(), 2U);
            EXPECT_EQ(program.reactor().active_events(), 1U);
            a.cancel();
            EXPECT_EQ(poll->loop_refs(), 1U);
            EXPECT_EQ(program.reactor().active_events(), 1U);
            program.reactor().set_ready(5, PollBits::readable);
            b.await();
            EXPECT_EQ(poll->loop_refs(), 0U);
            program.reactor().set_ready(5, 0);
        });
        EXPECT_EQ(program.text(), "b");
    });
}

TEST_F(WakerExample, E9ACancellationLaterInTheTickReplacesTheValue) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<Bell> bell = Bell::make(program.scheduler());
            const auto a = spawn([&] { program.log(message(caught([&] { wait_for(*bell); }))); });
            yield();
            const Ref<ReactorEvent> alive = ReactorEvent::timer(program.scheduler(), in(50ms));
            program.reactor().at(10ms, [&] {
                bell->ring_value(1);
                a.cancel("cancelled");
                EXPECT_EQ(bell->subscriber_count(), 1U);  // until the flush point of the tick
            });
            wait_for(*alive);
            EXPECT_EQ(bell->subscriber_count(), 0U);
        });
        EXPECT_EQ(program.text(), "cancelled");
    });
}

TEST_F(WakerExample, E10ACancellationAfterTheTokenComesAtTheNextSuspension) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<Bell> bell = Bell::make(program.scheduler());
            const Ref<OneShotEvent> token = OneShotEvent::make(program.scheduler());
            const auto a = spawn([&] {
                Waker& waker = current_coroutine().core().waker();
                waker.clean();
                waker.resume_when(*bell, WakeBy::resolve);
                waker.resume_when(*token, WakeBy::token);
                const ErrorValue thrown = caught([&] { program.scheduler().suspend({"test", SourceLocation::current()}); });
                EXPECT_TRUE(holds<OperationCanceled>(thrown));
                waker.clean();
                program.log(message(caught([] { yield(); })));
            });
            yield();
            token->complete();
            a.cancel("next");
            a.await();
        });
        EXPECT_EQ(program.text(), "next");
    });
}

}  // namespace
}  // namespace heddle::testing
