// SPDX-License-Identifier: Apache-2.0
// Deadlock: when it is seen, how it is resolved, and that the run ends whatever the stuck ones do (SCH-54 to SCH-59,
// INV-DEAD-01 to 03, INV-LIVE-07).
#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

std::size_t waiting_count(const ErrorValue& error) {
    try {
        error.rethrow();
    } catch (const DeadlockError& deadlock) { return deadlock.waiting_count(); } catch (...) {
        return 0;
    }
}

TEST(Deadlock, OfTwoThatAwaitEachOtherCancelsBothAndIsThrown) {
    in_every_mode([](Program& program) {  // T4
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            auto both = std::make_shared<std::pair<Coroutine<>, Coroutine<>>>();
            both->first = spawn([&, both] {
                const Coroutine<> other = both->second;
                program.log(message(caught([&] { other.await(); })));
                throw AsyncCancellation("ends cancelled");
            });
            both->second = spawn([&, both] {
                const Coroutine<> other = both->first;
                both->first = both->second = {};
                other.await();
            });
        });
        EXPECT_EQ(program.text(), "deadlock");
        EXPECT_EQ(waiting_count(error), 2U);
        EXPECT_FALSE(error.previous());
    });
}

TEST(Deadlock, IsTerminalHoweverTheyTakeIt) {
    in_every_mode([](Program& program) {  // T13, SCH-56
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            for (const char* name : {"c1", "c2"}) {
                spawn([&program, name] {
                    program.log(message(caught([] { wait_forever(); })));
                    pause_for(1ms);  // suspends again, and goes on to its end
                    program.log(name);
                });
            }
        });
        EXPECT_EQ(program.text(), "deadlock deadlock c1 c2");
        EXPECT_EQ(waiting_count(error), 2U);
    });
}

TEST(Deadlock, CountsZombiesMainAndTheProtectedAndCancelsAllOfThem) {
    in_every_mode([](Program& program) {  // SCH-55.5, ZOM-15, PRT-7
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            Scope scope;
            scope.allow_zombies();
            scope.spawn([&] { program.log("zombie:" + message(caught([] { wait_forever(); }))); });
            spawn([&] { protect([&] { program.log("protected:" + message(caught([] { wait_forever(); }))); }); });
            yield();
            scope.dispose();
            program.log("main:" + message(caught([] { wait_forever(); })));
        });
        EXPECT_EQ(program.text(), "main:deadlock zombie:deadlock protected:deadlock");  // registry order
        EXPECT_EQ(waiting_count(error), 3U);
    });
}

TEST(Deadlock, DoesNotBeginAShutdown) {
    in_every_mode([](Program& program) {  // SCH-59
        SCOPED_TRACE(program.mode());
        program.run([&] {
            EXPECT_TRUE(caught([] { wait_forever(); }));
            EXPECT_FALSE(program.scheduler().is_shutting_down());
        });
    });
}

TEST(Deadlock, IsNotSeenWhileAVisibleEventIsStartedNorWhileSomebodyIsReady) {
    in_every_mode([](Program& program) {  // SCH-42, SCH-54
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            spawn([&] { wait_for(*event), program.log("woken"); });
            spawn([&] {
                for (int i = 0; i < 5; ++i) { pause_for(1ms); }  // between two pauses no event is started
                for (int i = 0; i < 5; ++i) { yield(); }
                event->complete();
            });
            wait_for(*event);
        });
        EXPECT_EQ(program.text(), "woken");
        EXPECT_FALSE(error);
    });
}

TEST(Deadlock, IsNotPreventedByHiddenEvents) {
    in_every_mode([](Program& program) {  // SCH-54
        SCOPED_TRACE(program.mode());
        Ref<ReactorEvent> hidden;
        const ErrorValue error = program.run([&] {
            hidden = ReactorEvent::timer(program.scheduler(), {.timeout = 50ms}, true);
            wait_for(*hidden);
        });
        hidden.reset();
        EXPECT_EQ(waiting_count(error), 1U);
        EXPECT_EQ(program.reactor().now(), Instant{});  // found without waiting for it
    });
}

TEST(Deadlock, IsAFalseAlarmIfOneMoreTickWakesSomebody) {
    in_every_mode([](Program& program) {  // SCH-55.2, INV-DEAD-01
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            // Hidden timers are no reason for the loop to go on. The first one is due in the loop's own tick and arms the
            // second one, which fires in the tick after it (RCT-30): the one that the resolution makes.
            const auto hidden = [&] { return ReactorEvent::timer(program.scheduler(), {.timeout = 0ms}, true); };
            const Ref<ReactorEvent> first = hidden();
            const Ref<ReactorEvent> second = hidden();
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            class Starts final : public EventCallback {
            public:
                explicit Starts(ReactorEvent& next) : next_(next) {}
                void call(EventSource&, const Outcome&) override { next_.start(); }

            private:
                ReactorEvent& next_;
            } starts(*second);
            class Completes final : public EventCallback {
            public:
                explicit Completes(OneShotEvent& target) : target_(target) {}
                void call(EventSource&, const Outcome&) override { target_.complete(); }

            private:
                OneShotEvent& target_;
            } completes(*event);
            first->subscribe(starts);
            second->subscribe(completes);
            first->start();
            wait_for(*event);
            first->unsubscribe(starts);
            second->unsubscribe(completes);
            program.log("woken");
        });
        EXPECT_EQ(program.text(), "woken");
        EXPECT_FALSE(error);
    });
}

TEST(Deadlock, EndsForThoseThatWouldOnlyWaitAgain) {
    in_every_mode([](Program& program) {  // T17, SCH-58
        SCOPED_TRACE(program.mode());
        std::function<void()> again = [&] {
            struct Guard {
                Program& program;
                ~Guard() { program.log("unwound"); }
            };
            try {
                const Guard guard{program};
                wait_forever();
            } catch (const Cancellation& cancellation) {
                program.log(cancellation.what());
                spawn([&] { again(); });
            }
        };
        const ErrorValue error = program.run([&] { spawn([&] { again(); }); });
        // The second detection finds no fewer, so the successor is unwound and spawns nothing any more.
        EXPECT_EQ(program.text(), "unwound deadlock unwound");
        EXPECT_EQ(waiting_count(error), 1U);
        EXPECT_FALSE(error.previous());
    });
}

TEST(Deadlock, IsResolvedAgainAsLongAsFewerAreLeft) {
    in_every_mode([](Program& program) {  // INV-LIVE-07
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            for (int lives = 1; lives <= 3; ++lives) {
                spawn([&program, lives] {
                    for (int i = 0; i < lives; ++i) {
                        program.log(message(caught([] { wait_forever(); })) + std::to_string(lives));
                    }
                });
            }
        });
        EXPECT_EQ(program.text(), "deadlock1 deadlock2 deadlock3 deadlock2 deadlock3 deadlock3");
        EXPECT_EQ(waiting_count(error), 1U);
        EXPECT_EQ(waiting_count(error.previous()), 2U);
        EXPECT_EQ(waiting_count(error.previous().previous()), 3U);
    });
}

TEST(Deadlock, StaysInTheHistoryOfALaterError) {
    in_every_mode([](Program& program) {  // SCH-56, INV-DEAD-03
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            spawn([&] {
                EXPECT_TRUE(caught([] { wait_forever(); }));
                throw Failure("later");
            });
        });
        EXPECT_EQ(message(error), "later");
        EXPECT_EQ(waiting_count(error.previous().previous()), 1U);  // behind the cancellation that it met (CAN-13)
    });
}

TEST(Deadlock, ReportSaysWhoWaitsWhereAndForWhat) {
    Program program;
    std::string report;
    std::string who;
    program.run([&] {
        const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler(), "the bell");
        const Coroutine<> waits = spawn("waits", [&] { wait_for(*event); });
        const Coroutine<> awaits = spawn("awaits", [&] { waits.await(); });
        yield();
        who = waits.core().title();
        report = program.scheduler().deadlock_report();
        event->complete();
    });
    EXPECT_NE(report.find("3 coroutine(s)"), std::string::npos) << report;
    EXPECT_NE(report.find("  coroutine " + who + " spawned at"), std::string::npos) << report;
    EXPECT_NE(report.find("deadlock_test.cpp"), std::string::npos) << report;
    EXPECT_NE(report.find("waits for the bell"), std::string::npos) << report;
    EXPECT_NE(report.find("waits for coroutine " + who), std::string::npos) << report;
}

TEST(Deadlock, ReportIsPrintedWhereItIsAskedFor) {
    RuntimeOptions options;
    options.report_deadlocks = true;
    Program program(options);
    ::testing::internal::CaptureStderr();
    program.run([] { wait_forever(); });
    const std::string printed = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(printed.find("heddle: deadlock, 1 coroutine(s)"), std::string::npos) << printed;
    EXPECT_NE(printed.find("waits for never"), std::string::npos) << printed;
}

TEST(Deadlock, LeavesTheRuntimeFitForTheNextRun) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(waiting_count(program.run([] { wait_forever(); })), 1U);
            EXPECT_FALSE(program.run([&] { spawn([&] { program.log("fine"); }); }));
        }
        EXPECT_EQ(program.text(), "fine fine fine");
    });
}

}  // namespace
}  // namespace heddle::testing
