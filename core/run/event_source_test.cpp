// SPDX-License-Identifier: Apache-2.0
// Events: passes, starts and stops, closing, replay, ownership (EVT-1 to EVT-19, INV-EVT-01 to INV-EVT-10).
#include "heddle/core/run/event_source.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/run/testing/bell.hpp"
#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

/// An event needs a scheduler, but no run.
class EventTest : public ::testing::Test {
protected:
    Listener::Body logs(std::string entry) {
        return [this, entry](EventSource&, const Outcome&) { program_.log(entry); };
    }
    Scheduler& scheduler() { return program_.scheduler(); }

    Program program_;
};

using Event = EventTest;

TEST_F(Event, NotifiesInTheOrderOfSubscription) {
    const Ref<Bell> bell = Bell::make(scheduler());
    Listener a(*bell, logs("a"));
    Listener b(*bell, logs("b"));
    Listener c(*bell, logs("c"));
    bell->ring();
    b.leave();  // EVT-5: the others keep their order
    Listener d(*bell, logs("d"));
    bell->ring();
    EXPECT_EQ(program_.text(), "a b c a c d");
}

TEST_F(Event, CallsWhatWasSubscribedWhenThePassBeganAndStillIs) {
    const Ref<Bell> bell = Bell::make(scheduler());
    Listener late(logs("late"));
    Listener gone(logs("gone"));
    Listener a(*bell, [&](EventSource&, const Outcome&) {
        program_.log("a");
        if (!late.is_subscribed()) { bell->subscribe(late); }
        gone.leave();
    });
    Listener b(*bell, logs("b"));
    bell->subscribe(gone);
    Listener c(*bell, logs("c"));
    bell->ring();
    EXPECT_EQ(program_.text(), "a b c");
    program_.clear();
    bell->ring();
    EXPECT_EQ(program_.text(), "a b c late");
}

TEST_F(Event, ACallbackThatRemovesItselfOrAnEarlierOneSkipsNobody) {
    const Ref<Bell> bell = Bell::make(scheduler());
    Listener a(*bell, logs("a"));
    Listener b(logs("b"));
    Listener self([&](EventSource& event, const Outcome&) {
        program_.log("self");
        event.unsubscribe(a);
        event.unsubscribe(self);
    });
    bell->subscribe(b);
    bell->subscribe(self);
    Listener c(*bell, logs("c"));
    Listener d(*bell, logs("d"));
    bell->ring();
    EXPECT_EQ(program_.text(), "a b self c d");
    program_.clear();
    bell->ring();
    EXPECT_EQ(program_.text(), "b c d");
}

TEST_F(Event, ACallbackThatLeavesAndComesBackInOnePassIsALaterAddition) {
    const Ref<Bell> bell = Bell::make(scheduler());
    Listener b(logs("b"));
    Listener a(*bell, [&](EventSource& event, const Outcome&) {
        program_.log("a");
        event.unsubscribe(b);
        event.subscribe(b);
    });
    bell->subscribe(b);
    bell->ring();
    EXPECT_EQ(program_.text(), "a");
}

TEST_F(Event, LivesUntilThePassInWhichItIsReleasedIsOver) {
    Ref<Bell> bell = Bell::make(scheduler());
    Listener a(*bell, [&](EventSource&, const Outcome&) {
        bell.reset();
        program_.log("released");
    });
    Listener b(*bell, [&](EventSource& event, const Outcome&) { program_.log(event.describe()); });
    EXPECT_EQ(Bell::alive(), 1);
    bell->ring();
    EXPECT_EQ(program_.text(), "released bell");
    EXPECT_EQ(Bell::alive(), 0);
    EXPECT_FALSE(a.is_subscribed());  // EVT-17: the last release dropped them
    EXPECT_FALSE(b.is_subscribed());
}

/// A callback on the heap, owned by its references (EVT-4).
class Owned final : public EventCallback {
public:
    Owned(int& disposed, std::function<void()> body) : disposed_(disposed), body_(std::move(body)) {}
    void call(EventSource& event, const Outcome&) override {
        event.unsubscribe(*this);
        body_();
        EXPECT_EQ(disposed_, 0);  // its storage outlives the call
    }

private:
    void dispose() override {
        ++disposed_;
        delete this;
    }
    int& disposed_;
    std::function<void()> body_;
};

TEST_F(Event, ACallbackIsFreedWhenItsLastHolderLetsGo) {
    const Ref<Bell> bell = Bell::make(scheduler());
    int disposed = 0;
    const Ref<Owned> held(new Owned(disposed, [&] { program_.log("called"); }));
    bell->subscribe(*held);
    bell->ring();
    EXPECT_EQ(disposed, 0);
    bell->subscribe(*held);
    {
        Ref<Owned> other = held;
        bell->unsubscribe(*other);
        bell->unsubscribe(*other);  // twice is harmless
    }
    EXPECT_EQ(disposed, 0);
    int second = 0;
    bell->subscribe(*new Owned(second, [&] { program_.log("second"); }));
    bell->ring();
    EXPECT_EQ(second, 1);
    EXPECT_EQ(program_.text(), "called second");
}

TEST_F(Event, IgnoresARingFromInsideItsOwnPass) {
    const Ref<Bell> bell = Bell::make(scheduler());
    Listener a(*bell, [&](EventSource&, const Outcome&) {
        program_.log("a");
        EXPECT_FALSE(bell->ring());
    });
    Listener b(*bell, logs("b"));
    bell->ring();
    EXPECT_EQ(program_.text(), "a b");
}

TEST_F(Event, AThrowingCallbackStopsNobodyAndIsReportedOnce) {
    ErrorValue exit = program_.run([&] {
        const Ref<Bell> bell = Bell::make(scheduler());
        Listener a(*bell, [](EventSource&, const Outcome&) { throw Failure("E1"); });
        Listener b(*bell, logs("b"));
        Listener c(*bell, [](EventSource&, const Outcome&) { throw Failure("E2"); });
        Listener d(*bell, [](EventSource&, const Outcome&) { throw AsyncCancellation("no error"); });
        Listener e(*bell, logs("e"));
        EXPECT_NO_THROW(bell->ring());
        program_.log("after");
    });
    EXPECT_EQ(program_.text(), "b e after");
    EXPECT_EQ(chain(exit), "E2 < E1");  // EVT-8: one chain, newest first; a cancellation is no error and hides none
}

TEST_F(Event, RefusesSubscribersOnceItIsClosed) {
    const Ref<Bell> bell = Bell::make(scheduler());
    bell->close();
    Listener a([](EventSource&, const Outcome&) {});
    EXPECT_THROW(bell->subscribe(a), AsyncError);
    EXPECT_FALSE(a.is_subscribed());
}

TEST_F(Event, AHookMayTransformWhatThePassCarries) {
    const Ref<Bell> bell = Bell::make(scheduler());
    bell->transform([](const Outcome&) { return Outcome{0, false, ErrorValue::make<TimeoutError>()}; });
    Listener a(*bell, [&](EventSource&, const Outcome& outcome) {
        EXPECT_TRUE(holds<TimeoutError>(outcome.error));
        program_.log("a");
    });
    bell->ring_value(3);
    EXPECT_EQ(program_.text(), "a");
}

TEST_F(Event, TellsWhetherACallbackTookTheError) {
    const Ref<Bell> bell = Bell::make(scheduler());
    const ErrorValue error = ErrorValue::make<Failure>("E");
    bool take = true;
    Listener a(*bell, [&](EventSource& event, const Outcome&) {
        if (take) { event.mark_error_handled(); }
    });
    Listener b(*bell, [](EventSource&, const Outcome&) {});
    EXPECT_TRUE(bell->ring_error(error));
    take = false;
    EXPECT_FALSE(bell->ring_error(error));  // EVT-2: cleared when a notification begins
}

TEST_F(Event, IsClosedAndStoppedBeforeItsLastPass) {
    const Ref<Bell> bell = Bell::make(scheduler());
    bell->start();
    bell->start();
    Listener a(*bell, [&](EventSource& event, const Outcome&) {
        EXPECT_TRUE(event.is_closed());
        EXPECT_EQ(event.loop_refs(), 0U);
        EXPECT_EQ(bell->stops(), 1);
        event.stop();   // EVT-13: on a closed event both do nothing
        event.start();
    });
    bell->close();
    EXPECT_EQ(a.calls(), 1);
    EXPECT_EQ(bell->starts(), 1);
    EXPECT_EQ(bell->stops(), 1);
    EXPECT_EQ(bell->loop_refs(), 0U);
}

TEST_F(Event, ActivatesWithTheFirstStartAndRestsWithTheLastStop) {
    const Ref<Bell> bell = Bell::make(scheduler());
    bell->stop();  // a surplus stop is a no-op
    EXPECT_EQ(bell->stops(), 0);
    bell->start();
    bell->start();
    EXPECT_EQ(bell->starts(), 1);
    EXPECT_EQ(bell->loop_refs(), 2U);
    bell->stop();
    EXPECT_EQ(bell->stops(), 0);
    bell->stop();
    bell->stop();
    EXPECT_EQ(bell->stops(), 1);
    bell->start();  // EVT-3: stopped and started again
    EXPECT_EQ(bell->starts(), 2);
}

TEST_F(Event, AStartThatThrowsLeavesEverythingAsBefore) {
    const Ref<Bell> bell = Bell::make(scheduler());
    bell->at_start([] { throw IoError("no such device"); });
    EXPECT_THROW(bell->start(), IoError);
    EXPECT_EQ(bell->loop_refs(), 0U);
    bell->at_start({});
    bell->start();
    EXPECT_EQ(bell->loop_refs(), 1U);
}

TEST_F(Event, ThatClosesWhileItIsBeingStartedIsNotStarted) {
    const Ref<Bell> bell = Bell::make(scheduler());
    Listener a(*bell, logs("closed"));
    bell->at_start([&] { bell->close(); });
    bell->start();
    EXPECT_EQ(program_.text(), "closed");
    EXPECT_EQ(bell->loop_refs(), 0U);  // INV-EVT-02
}

TEST_F(Event, ClosedFromInsideItsPassTellsThoseWhoAreLeft) {
    const Ref<Bell> bell = Bell::make(scheduler());
    Listener added([&](EventSource&, const Outcome& outcome) { program_.log("added:" + message(outcome.error)); });
    Listener a(*bell, [&](EventSource&, const Outcome& outcome) {
        program_.log("a:" + message(outcome.error));
        if (outcome.error) { return; }
        bell->subscribe(added);
        bell->close({0, false, ErrorValue::make<Failure>("closed")}, true);
    });
    Listener b(*bell, [&](EventSource& event, const Outcome& outcome) {
        program_.log("b:" + message(outcome.error));
        event.unsubscribe(b);
    });
    bell->ring_value(1);
    EXPECT_EQ(program_.text(), "a:none b:none a:closed added:closed");  // EVT-16
}

TEST_F(Event, ReplaysItsOutcomeAnyNumberOfTimesAndNotBefore) {
    const Ref<OneShotEvent> event = OneShotEvent::make(scheduler());
    Outcome outcome{9, true, {}};
    EXPECT_FALSE(event->replay(outcome));
    EXPECT_EQ(outcome.value, 9);  // EVT-18: no effect
    EXPECT_TRUE(event->complete(7));
    EXPECT_FALSE(event->complete(8));
    EXPECT_FALSE(event->fail(ErrorValue::make<Failure>("late")));
    for (int i = 0; i < 3; ++i) {
        Outcome again;
        EXPECT_TRUE(event->replay(again));
        EXPECT_EQ(again.value, 7);
        EXPECT_TRUE(again.has_value);
        EXPECT_FALSE(again.error);
    }
}

TEST_F(Event, GoesWithItsLastOwner) {
    Ref<Bell> bell = Bell::make(scheduler());
    bell->start();
    Ref<Bell> other = bell;
    Listener a(*bell, [](EventSource&, const Outcome&) {});
    bell.reset();
    EXPECT_EQ(Bell::alive(), 1);
    other.reset();
    EXPECT_EQ(Bell::alive(), 0);
    EXPECT_FALSE(a.is_subscribed());
}

TEST_F(Event, ACoroutineIsAnEventWithoutLoopPresence) {
    program_.run([&] {
        const auto c = spawn([] { return 5; });
        c.core().start();  // EVT-15
        EXPECT_EQ(program_.reactor().active_events(), 0U);
        c.core().stop();
        Listener a(c.core(), [&](EventSource& event, const Outcome& outcome) {
            EXPECT_TRUE(event.is_closed());
            EXPECT_FALSE(outcome.error);
            program_.log("finished");
        });
        yield();
        EXPECT_EQ(program_.text(), "finished");
        Outcome outcome;
        EXPECT_TRUE(c.core().replay(outcome));
    });
}

TEST_F(Event, ACallbackLeftOnACoroutineGoesWithIt) {
    Listener a([&](EventSource&, const Outcome&) { program_.log("finished"); });
    program_.run([&] { spawn([] {}).core().subscribe(a); });
    EXPECT_EQ(program_.text(), "finished");
    EXPECT_FALSE(a.is_subscribed());
}

TEST_F(Event, DescribesACoroutineWithItsSpawnAndSuspendPlaces) {
    program_.run([&] {
        const auto c = spawn("worker", [] { wait_forever(); });
        EXPECT_NE(c.core().describe().find("worker"), std::string::npos);
        EXPECT_NE(c.core().describe().find("event_source_test.cpp"), std::string::npos);
        EXPECT_EQ(c.core().describe().find("suspended at"), std::string::npos);
        yield();
        EXPECT_NE(c.core().describe().find("suspended at"), std::string::npos);  // EVT-19
        c.cancel();
    });
}

TEST_F(Event, CallbacksCannotSuspend) {
    program_.run([&] {
        const Ref<Bell> bell = Bell::make(scheduler());
        Listener a(*bell, [&](EventSource&, const Outcome&) {
            EXPECT_THROW(yield(), AsyncError);  // SCH-28
            program_.log("refused");
        });
        bell->ring();
        yield();
    });
    EXPECT_EQ(program_.text(), "refused");
}

}  // namespace
}  // namespace heddle::testing
