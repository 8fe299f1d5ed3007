// SPDX-License-Identifier: Apache-2.0
// Microtasks and the heartbeat (SCH-60 to SCH-64, SCH-76, SCH-77, INV-TASK-01 to 05).
#include "heddle/core/run/microtasks.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class Task final : public Microtask {
public:
    explicit Task(std::function<void()> body) : body_(std::move(body)) {}
    void run() override {
        ++runs;
        body_();
    }
    void dispose() override { ++disposals; }

    int runs = 0;
    int disposals = 0;

private:
    std::function<void()> body_;
};

// ── microtasks ──

TEST(Microtasks, RunInOrderBeforeTheNextDispatch) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] { program.log("A"); });
            add_microtask([&] { program.log("1"); });
            add_microtask([&] { program.log("2"); });
            program.log("main");
            yield();
            add_microtask([&] { program.log("3"); });
            program.log("main");
        });
        EXPECT_EQ(program.text(), "main 1 2 A main 3");
    });
}

TEST(Microtasks, AddedDuringADrainRunInTheSameOne) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            add_microtask([&] {
                program.log("1");
                add_microtask([&] {
                    program.log("3");
                    add_microtask([&] { program.log("4"); });
                });
            });
            add_microtask([&] { program.log("2"); });
            spawn([&] { program.log("A"); });
            yield();
        });
        EXPECT_EQ(program.text(), "1 2 3 4 A");
    });
}

TEST(Microtasks, MayBeQueuedSeveralTimesAndAreDisposedOnce) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        Task task([&] { program.log("run"); });
        program.run([&] {
            EXPECT_TRUE(program.runtime().add_microtask(task));
            EXPECT_TRUE(program.runtime().add_microtask(task));
            EXPECT_TRUE(program.runtime().add_microtask(task));
            EXPECT_EQ(task.references(), 3U);
            EXPECT_EQ(program.runtime().statistics().microtasks, 3U);
            yield();
            EXPECT_EQ(task.runs, 3);
            EXPECT_EQ(task.disposals, 1);
        });
    });
}

TEST(Microtasks, AreKeptByTheirOtherHolders) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        Task task([] {});
        task.add_reference();
        program.run([&] {
            program.runtime().add_microtask(task);
            yield();
            EXPECT_EQ(task.disposals, 0);
            program.runtime().add_microtask(task);
            yield();
        });
        EXPECT_EQ(task.runs, 2);
        EXPECT_EQ(task.references(), 1U);
        task.drop_reference();
        EXPECT_EQ(task.disposals, 1);
    });
}

TEST(Microtasks, ThatAreCancelledAreNeitherQueuedNorRun) {
    in_every_mode([](Program& program) {  // SCH-60, SCH-62
        SCOPED_TRACE(program.mode());
        Task before([&] { program.log("never"); });
        before.cancel();
        Task queued([&] { program.log("never"); });
        program.run([&] {
            EXPECT_FALSE(program.runtime().add_microtask(before));
            EXPECT_EQ(before.references(), 0U);
            EXPECT_EQ(program.runtime().statistics().microtasks, 0U);
            add_microtask([&] { program.log("1"); });
            program.runtime().add_microtask(queued);
            program.runtime().add_microtask(queued);
            add_microtask([&] { program.log("2"); });
            queued.cancel();
            EXPECT_EQ(program.runtime().statistics().microtasks, 4U);
            yield();
            EXPECT_EQ(program.runtime().statistics().microtasks, 0U);
        });
        EXPECT_EQ(program.text(), "1 2");
        EXPECT_EQ(queued.runs, 0);
        EXPECT_EQ(queued.disposals, 1);
    });
}

TEST(Microtasks, MayCancelOneThatIsBehindThem) {
    Program program;
    Task second([&] { program.log("never"); });
    program.run([&] {
        add_microtask([&] { second.cancel(); });
        program.runtime().add_microtask(second);
    });
    EXPECT_EQ(program.text(), "");
    EXPECT_EQ(second.disposals, 1);
}

TEST(Microtasks, BehindAThrowStayQueuedInOrderAndTheThrowerIsDisposed) {
    in_every_mode([](Program& program) {  // T11, SCH-61, INV-TASK-01
        SCOPED_TRACE(program.mode());
        Task thrower([&] {
            program.log("m1");
            throw Failure("E");
        });
        const ErrorValue error = program.run([&] {
            spawn([&] {
                EXPECT_EQ(message(caught([] { wait_forever(); })), "graceful shutdown");
                EXPECT_EQ(program.runtime().statistics().microtasks, 2U);
                EXPECT_EQ(thrower.disposals, 1);
                program.log("cleanup");
            });
            yield();
            program.runtime().add_microtask(thrower);
            add_microtask([&] { program.log("m2"); });
            add_microtask([&] { program.log("m3"); });
        });
        EXPECT_EQ(program.text(), "m1 cleanup m2 m3");
        EXPECT_EQ(chain(error), "E");
        EXPECT_EQ(thrower.references(), 0U);
    });
}

TEST(Microtasks, IgnoreACancellationThatLeavesThemExceptThatTheDrainStops) {
    in_every_mode([](Program& program) {  // CAN-16
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            add_microtask([] { throw AsyncCancellation("thrown by hand"); });
            add_microtask([&] { program.log("2"); });
            spawn([&] { program.log("A"); });
            yield();
        });
        EXPECT_FALSE(error);
        EXPECT_EQ(program.entries().size(), 2U);
    });
}

TEST(Microtasks, LeftBehindAThrowKeepTheReactorFromBlocking) {
    in_every_mode([](Program& program) {  // SCH-41, INV-SCHED-13
        SCOPED_TRACE(program.mode());
        program.run([&] {
            for (int i = 0; i < 2; ++i) {
                add_microtask([] { throw AsyncCancellation("stops one drain"); });
            }
            add_microtask([&] { program.log("last at " + std::to_string(program.reactor().true_time().ns())); });
            pause_for(1ms);  // the tick of the pause is stopped, so is the loop's first drain
        });
        EXPECT_EQ(program.text(), "last at 0");
    });
}

TEST(Microtasks, KeepTheRunGoingUntilTheyAreDone) {
    in_every_mode([](Program& program) {  // SCH-73
        SCOPED_TRACE(program.mode());
        int left = 3;
        std::function<void()> again = [&] {
            program.log("again");
            if (--left > 0) {
                program.runtime().spawn_internal("next", [&] { add_microtask([&] { again(); }); });
            }
        };
        program.run([&] { add_microtask([&] { again(); }); });
        EXPECT_EQ(program.text(), "again again again");
    });
}

TEST(Microtasks, LeftBehindAThrowInTheVeryLastDrainAreDisposedAndCounted) {
    in_every_mode([](Program& program) {  // SCH-71, INV-TASK-02
        SCOPED_TRACE(program.mode());
        Task never([&] { program.log("never"); });
        const ErrorValue error = program.run([&] {
            for (const char* name : {"E1", "E2", "E3", "E4"}) {
                add_microtask([&program, name] {
                    program.log(name);
                    throw Failure(name);
                });
            }
            program.runtime().add_microtask(never);
        });
        // E1 starts the shutdown, E2 the second phase, E3 ends its drain, E4 the final one.
        EXPECT_EQ(program.text(), "E1 E2 E3 E4");
        EXPECT_EQ(chain(error), "E4 < E3 < E2 < E1");
        EXPECT_EQ(never.disposals, 1);
        EXPECT_EQ(program.runtime().statistics().never_executed, 1U);
    });
}

TEST(Microtasks, LetAnIterationGoOnInAnotherCoroutineWhenItsCallbackSuspends) {
    in_every_mode([](Program& program) {  // SCH-64
        SCOPED_TRACE(program.mode());
        int next = 0;
        std::function<void()> iterate = [&] {
            bool came_back = false;
            while (next < 4) {
                const int item = next++;
                came_back = false;
                auto done = std::make_shared<bool>(false);
                add_microtask([&, done] {
                    if (!*done) {
                        program.runtime().spawn_internal("iterate", [&] { iterate(); });
                    }
                });
                program.log("begin" + std::to_string(item));
                pause_for(1ms);
                program.log("end" + std::to_string(item));
                *done = came_back = true;
            }
            EXPECT_TRUE(came_back || next == 4);
        };
        program.run([&] { iterate(); });
        EXPECT_EQ(program.text(), "begin0 begin1 begin2 begin3 end0 end1 end2 end3");
    });
}

// ── heartbeat ──

TEST(Heartbeat, ComesOncePerTickBeforeTheMicrotasks) {
    in_every_mode([](Program& program) {  // SCH-76, INV-TASK-05
        SCOPED_TRACE(program.mode());
        program.run([&] {
            program.runtime().set_heartbeat([&] { program.log("h"); });
            add_microtask([&] { program.log("m"); });
            program.log("main");
            yield();
            program.log("main");
            yield();
            program.runtime().set_heartbeat({});
            program.log("main");
            yield();
        });
        EXPECT_EQ(program.text(), "main h m main h main");
    });
}

TEST(Heartbeat, ComesOncePerIterationOfTheLoopAndNeverWhileItIsBlocked) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.reactor().set_poll_every(0);
        program.run([&] {
            program.runtime().set_heartbeat([&] { program.log("h"); });
            pause_for(100ms);
            program.runtime().set_heartbeat({});
        });
        // The in-place tick of the pause; the iteration that blocks for 100 ms; the one that dispatches main.
        EXPECT_EQ(program.text(), "h h h");
        EXPECT_EQ(program.reactor().now(), Instant{} + 100ms);
    });
}

TEST(Heartbeat, GivesThePreviousOneToTheInstallerWhoMayChainIt) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            EXPECT_FALSE(program.runtime().set_heartbeat([&] { program.log("first"); }));
            UniqueFunction<void()> first = program.runtime().set_heartbeat({});
            ASSERT_TRUE(first);
            program.runtime().set_heartbeat([&program, first = std::move(first)]() mutable {
                first();
                program.log("second");
            });
            yield();
            program.runtime().set_heartbeat({});
        });
        EXPECT_EQ(program.text(), "first second");
    });
}

TEST(Heartbeat, MayReplaceItselfWhileItRuns) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            program.runtime().set_heartbeat([&program, word = std::make_unique<std::string>("first")] {
                UniqueFunction<void()> previous = program.runtime().set_heartbeat([&] { program.log("second"); });
                previous = {};  // what runs must outlive this
                program.log(*word);
            });
            yield();
            yield();
            program.runtime().set_heartbeat({});
        });
        EXPECT_EQ(program.text(), "first second");
    });
}

TEST(Heartbeat, MaySpawnInternallyResumeCancelAndShutDown) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            const Coroutine<> woken = spawn([&] { wait_for(*event), program.log("woken"); });
            const Coroutine<> cancelled = spawn([&] { program.log(message(caught([] { wait_forever(); }))); });
            yield();
            program.runtime().set_heartbeat([&] {
                program.runtime().set_heartbeat({});
                event->complete();
                cancelled.cancel("by heartbeat");
                program.runtime().spawn_internal("made", [&] { program.log("made"); });
                add_microtask([&] { program.log("microtask"); });
                program.runtime().shutdown(ErrorValue::make<AsyncCancellation>("stop"));
            });
            program.log(message(caught([] { yield(); })));
        });
        // main, which hosts the tick, was queued before anybody else; `made` was still unstarted at the shutdown.
        EXPECT_EQ(program.text(), "microtask stop by heartbeat");
    });
}

TEST(Heartbeat, ThatThrowsIsAnUnhandledError) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            program.runtime().set_heartbeat([&] {
                program.runtime().set_heartbeat({});
                throw Failure("heartbeat");
            });
            add_microtask([&] { program.log("microtask"); });
            program.log(message(caught([] { wait_forever(); })));
        });
        EXPECT_EQ(program.text(), "microtask graceful shutdown");
        EXPECT_EQ(chain(error), "heartbeat");
    });
}

TEST(Heartbeat, AndATriggerEachSufficeForAForeignQueue) {
    // SCH-77: requests arrive from outside while the program computes, and while it is idle; none is lost, whichever
    // notices first.
    for (const bool with_heartbeat : {true, false}) {
        for (const bool busy : {true, false}) {
            Program program;
            std::vector<int> queue;
            std::vector<int> served;
            const auto take = [&] {
                for (const int request : std::exchange(queue, {})) {
                    program.runtime().spawn_internal("serve", [&served, request] { served.push_back(request); });
                }
            };
            program.run([&] {
                const Ref<ReactorEvent> trigger = ReactorEvent::trigger(program.scheduler());
                const TriggerPortPtr port = trigger->port();
                class Wakes final : public EventCallback {
                public:
                    explicit Wakes(std::function<void()> body) : body_(std::move(body)) {}
                    void call(EventSource&, const Outcome&) override { body_(); }

                private:
                    std::function<void()> body_;
                } wakes(take);
                trigger->subscribe(wakes);
                trigger->start();
                if (with_heartbeat) { program.runtime().set_heartbeat(take); }
                for (int i = 1; i <= 3; ++i) {
                    program.reactor().at(Duration(std::chrono::milliseconds(i)), [&, i, port] {
                        queue.push_back(i);
                        port->fire();
                    });
                }
                if (busy) {
                    while (served.size() < 3) {
                        program.reactor().pass_time(500us);
                        yield();
                    }
                } else {
                    pause_for(10ms);
                }
                program.runtime().set_heartbeat({});
                trigger->unsubscribe(wakes);
                trigger->stop();
            });
            EXPECT_EQ(served, (std::vector<int>{1, 2, 3}));
        }
    }
}

}  // namespace
}  // namespace heddle::testing
