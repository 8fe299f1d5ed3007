// SPDX-License-Identifier: Apache-2.0
// Reactor sources as events: one test per kind of the table in docs/spec/02-waker-events.md, section 1 (EVT-12 to EVT-18, INV-EVT-01).
#include "heddle/core/run/reactor_event.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class ReactorEventTest : public ::testing::Test, protected World {
protected:
    [[nodiscard]] std::size_t counted() { return reactor().active_events(); }
    [[nodiscard]] Duration time() { return reactor().now() - Instant{}; }
};

using Source = ReactorEventTest;

TEST_F(Source, AOneShotTimerFiresOnceAndIsClosedBeforeItsCallbacks) {
    run([&] {
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(10ms));
        EXPECT_EQ(counted(), 0U);
        Listener sees(*timer, [&](EventSource& event, const Outcome& outcome) {
            EXPECT_TRUE(event.is_closed());
            EXPECT_EQ(event.loop_refs(), 0U);
            EXPECT_FALSE(outcome.has_value);
            EXPECT_EQ(counted(), 0U);
        });
        wait_for(*timer);
        EXPECT_EQ(time(), 10ms);
        EXPECT_EQ(sees.calls(), 1);
        Outcome outcome;
        EXPECT_TRUE(timer->replay(outcome));
        EXPECT_FALSE(outcome.error);
        EXPECT_THROW(timer->rearm(5ms), AsyncError);
        timer->start();
        EXPECT_EQ(counted(), 0U);
    });
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(Source, IsCountedOncePerEventNotPerStart) {
    run([&] {
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(10ms));
        timer->start();
        timer->start();
        EXPECT_EQ(counted(), 1U);
        timer->stop();
        EXPECT_EQ(counted(), 1U);
        timer->stop();
        timer->stop();
        EXPECT_EQ(counted(), 0U);
    });
}

TEST_F(Source, AHiddenTimerIsNeverCountedAndDoesNotKeepTheRunGoing) {
    Ref<ReactorEvent> timer;
    run([&] {
        timer = ReactorEvent::timer(scheduler(), in(10s), true);
        timer->start();
        EXPECT_TRUE(timer->is_hidden());
        EXPECT_EQ(counted(), 0U);
    });
    EXPECT_LT(time(), 10s);
    timer.reset();
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(Source, APeriodicTimerGoesOnUntilItIsStopped) {
    run([&] {
        TimerOptions options = in(10ms);
        options.periodic = true;
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), options);
        for (int i = 1; i <= 3; ++i) {
            wait_for(*timer);
            EXPECT_EQ(time(), i * 10ms);
            EXPECT_FALSE(timer->is_closed());
        }
        EXPECT_EQ(counted(), 0U);  // each wait stopped it again
        Outcome outcome;
        EXPECT_FALSE(timer->replay(outcome));
    });
}

TEST_F(Source, AMultishotTimerIsArmedAgainByHandAlsoFromItsCallback) {
    run([&] {
        TimerOptions options = in(10ms);
        options.multishot = true;
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), options);
        int left = 2;
        Listener again(*timer, [&](EventSource&, const Outcome&) {
            log(std::to_string(time() / 1ms));
            if (left-- > 0) { timer->rearm(5ms); }
        });
        timer->start();
        const Ref<ReactorEvent> later = ReactorEvent::timer(scheduler(), in(100ms));
        wait_for(*later);
        timer->stop();
        EXPECT_FALSE(timer->is_closed());
        again.leave();
        timer->close();
        EXPECT_THROW(timer->rearm(5ms), AsyncError);
    });
    EXPECT_EQ(text(), "10 15 20");
}

TEST_F(Source, APollReportsItsMaskToEveryWaiter) {
    run([&] {
        const Ref<ReactorEvent> read = ReactorEvent::poll(scheduler(), 3, PollBits::readable);
        const Ref<ReactorEvent> write = ReactorEvent::poll(scheduler(), 3, PollBits::writable);
        const auto reader = spawn([&] { log("read" + std::to_string(wait_for(*read).value)); });
        const auto writer = spawn([&] { log("write" + std::to_string(wait_for(*write).value)); });
        yield();
        EXPECT_EQ(counted(), 2U);
        reactor().set_ready(3, PollBits::readable | PollBits::writable);
        reader.await();
        writer.await();
        EXPECT_FALSE(read->is_closed());
        reactor().set_failed(3, EIO);
        EXPECT_TRUE(holds<IoError>(caught([&] { wait_for(*read); })));
        reactor().set_ready(3, 0);
    });
    EXPECT_EQ(text(), "read1 write2");
}

TEST_F(Source, ClosesItsDescriptorWhenTheLastWaiterOfItIsGone) {
    run([&] {
        Ref<ReactorEvent> a = ReactorEvent::poll(scheduler(), 3, PollBits::readable, true);
        Ref<ReactorEvent> b = ReactorEvent::poll(scheduler(), 3, PollBits::writable, true);
        a.reset();
        EXPECT_TRUE(reactor().closed_descriptors().empty());
        b.reset();
    });
    EXPECT_EQ(reactor().closed_descriptors(), std::vector<int>{3});
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(Source, ATriggerKeepsAFireUntilSomebodyWaits) {
    run([&] {
        const Ref<ReactorEvent> trigger = ReactorEvent::trigger(scheduler());
        EXPECT_EQ(counted(), 0U);
        trigger->port()->fire();
        wait_for(*trigger);
        log("fired");
        EXPECT_EQ(counted(), 0U);
        EXPECT_FALSE(trigger->is_closed());
    });
    EXPECT_EQ(text(), "fired");
}

TEST_F(Source, ASignalIsDeliveredToEverySubscriber) {
    run([&] {
        const Ref<ReactorEvent> one = ReactorEvent::signal(scheduler(), SIGUSR1);
        const Ref<ReactorEvent> two = ReactorEvent::signal(scheduler(), SIGUSR1);
        const auto a = spawn([&] { log(std::to_string(wait_for(*one).value == SIGUSR1)); });
        const auto b = spawn([&] { log(std::to_string(wait_for(*two).value == SIGUSR1)); });
        yield();
        reactor().raise(SIGUSR1);
        a.await();
        b.await();
        EXPECT_FALSE(one->is_closed());
    });
    EXPECT_EQ(text(), "1 1");
}

TEST_F(Source, AProcessReportsItsEndOnceAndRemembersIt) {
    run([&] {
        reactor().add_child(77);
        const Ref<ReactorEvent> child = ReactorEvent::process(scheduler(), 77);
        reactor().at(10ms, [&] { reactor().end_child(77, 3); });
        const Ref<ReactorEvent> keeps = ReactorEvent::timer(scheduler(), in(20ms));
        keeps->start();
        EXPECT_EQ(wait_for(*child).value, 3);
        EXPECT_TRUE(child->is_closed());
        Outcome outcome;
        EXPECT_TRUE(child->replay(outcome));
        EXPECT_EQ(outcome.value, 3);
        keeps->stop();
        EXPECT_EQ(counted(), 0U);
    });
}

TEST_F(Source, AProcessThatHasEndedAlreadyIsReportedFromItsStart) {
    run([&] {
        const Ref<ReactorEvent> child = ReactorEvent::process(scheduler(), 78);  // nobody's: reaped elsewhere
        spawn([&] { log("other"); });
        EXPECT_EQ(wait_for(*child).value, -1);
        log("main");  // a fast return
        EXPECT_TRUE(child->is_closed());
        EXPECT_EQ(child->loop_refs(), 0U);
        EXPECT_EQ(counted(), 0U);
    });
    EXPECT_EQ(text(), "main other");
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(Source, ATaskIsCountedFromItsSubmissionAndKeepsItsOutcome) {
    run([&] {
        const Ref<ReactorEvent> task = ReactorEvent::task(scheduler(), [&] { log("worked"); });
        EXPECT_EQ(counted(), 1U);
        EXPECT_EQ(task->loop_refs(), 0U);
        wait_for(*task);
        EXPECT_EQ(counted(), 0U);
        EXPECT_TRUE(task->is_closed());
        Outcome outcome;
        EXPECT_TRUE(task->replay(outcome));

        const Ref<ReactorEvent> fails = ReactorEvent::task(scheduler(), [] { throw Failure("E"); });
        EXPECT_EQ(message(caught([&] { wait_for(*fails); })), "E");
    });
    EXPECT_EQ(text(), "worked");
}

TEST_F(Source, ATaskThatHasNotBegunCanBeCancelled) {
    run([&] {
        const Ref<ReactorEvent> task = ReactorEvent::task(scheduler(), [&] { log("worked"); });
        EXPECT_TRUE(task->cancel_request());
        EXPECT_TRUE(holds<AsyncCancellation>(caught([&] { wait_for(*task); })));
        EXPECT_FALSE(task->cancel_request());
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(1ms));
        EXPECT_FALSE(timer->cancel_request());
    });
    EXPECT_EQ(text(), "");
}

TEST_F(Source, ATaskDroppedInFlightCompletesInSilence) {
    run([&] {
        Ref<ReactorEvent> task = ReactorEvent::task(scheduler(), [&] { log("worked"); });
        reactor().begin_task(task->source());
        task.reset();
        EXPECT_EQ(counted(), 1U);
    });
    EXPECT_EQ(text(), "worked");
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(Source, ClosingTellsItsWaiters) {
    run([&] {
        const Ref<ReactorEvent> poll = ReactorEvent::poll(scheduler(), 3, PollBits::readable);
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(10ms));
        const auto a = spawn([&] { log_caught([&] { wait_for(*poll); }); });
        const auto b = spawn([&] { log_caught([&] { wait_for(*timer); }); });
        yield();
        EXPECT_EQ(counted(), 2U);
        poll->close();
        timer->close();
        poll->close();  // again: nothing
        EXPECT_EQ(counted(), 0U);
        EXPECT_TRUE(poll->is_closed());
        a.await();
        b.await();
        Outcome outcome;
        EXPECT_TRUE(timer->replay(outcome));
        EXPECT_TRUE(holds<AsyncCancellation>(outcome.error));
    });
    EXPECT_EQ(text(), "poll was closed timer was closed");  // EVT-16
}

TEST_F(Source, NothingIsDeliveredAfterStopReturned) {
    run([&] {
        // Both descriptors are ready in one tick; the first callback stops the other source.
        const Ref<ReactorEvent> a = ReactorEvent::poll(scheduler(), 3, PollBits::readable);
        const Ref<ReactorEvent> b = ReactorEvent::poll(scheduler(), 4, PollBits::readable);
        Listener stops(*a, [&](EventSource&, const Outcome&) {
            log("a");
            b->stop();
        });
        Listener never(*b, [&](EventSource&, const Outcome&) { log("b"); });
        b->start();
        const auto waiter = spawn([&] { wait_for(*a); });
        yield();
        reactor().set_ready(3, PollBits::readable);
        reactor().set_ready(4, PollBits::readable);
        waiter.await();
    });
    EXPECT_EQ(text(), "a");  // INV-RCT-04
}

TEST_F(Source, LeftStartedByNobodyIsGoneWithItsOwner) {
    run([&] {
        Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(10ms));
        timer->start();
        EXPECT_EQ(counted(), 1U);
        timer.reset();
        EXPECT_EQ(counted(), 0U);
    });
    EXPECT_EQ(time(), 0ms);
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(Source, AnErrorOfACallbackInATickStartsShutdownOnce) {
    const ErrorValue exit = run([&] {
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(10ms));
        Listener fails(*timer, [](EventSource&, const Outcome&) { throw Failure("E"); });
        // Woken in the same tick, but not running yet: the shutdown's cancellation replaces the plain wake-up (WKR-11).
        log_caught([&] { wait_for(*timer); });
        log_caught([] { yield(); });
    });
    EXPECT_EQ(chain(exit), "E");
    EXPECT_EQ(text(), "graceful shutdown none");
}

}  // namespace
}  // namespace heddle::testing
