// SPDX-License-Identifier: Apache-2.0
// Unhandled errors, graceful shutdown, the second phase, terminal unwinding and the end of a run (SCH-65 to SCH-75,
// INV-SHUT-01 to 08).
#include <gtest/gtest.h>

#include <cstdlib>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/program.hpp"
#include "heddle/core/run/unwind.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

/// Waits, logs the cancellation that ends the wait, and throws `then` if it is not empty.
auto waits(Program& program, std::string name, std::string then = {}) {
    return [&program, name, then] {
        program.log(name + ":" + message(caught([] { wait_forever(); })));
        if (!then.empty()) { throw Failure(then); }
    };
}

// ── unhandled errors ──

TEST(Unhandled, ErrorOfACoroutineNobodyHoldsShutsTheProgramDown) {
    in_every_mode([](Program& program) {  // T5
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            const Coroutine<> y = spawn(waits(program, "Y"));
            spawn([] { throw Failure("X"); });
            program.log("main:" + message(caught([&] { y.await(); })));
        });
        EXPECT_EQ(program.text(), "main:graceful shutdown Y:graceful shutdown");  // registry order
        EXPECT_EQ(chain(error), "X");
    });
}

TEST(Unhandled, ErrorOfAReactorCallbackIsRecordedAndTheTickCompletes) {
    in_every_mode([](Program& program) {  // SCH-65, RCT-9
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            const Ref<ReactorEvent> bad = ReactorEvent::timer(program.scheduler(), {.timeout = 1ms});
            const Ref<ReactorEvent> good = ReactorEvent::timer(program.scheduler(), {.timeout = 1ms});
            Waker& waker = current_coroutine().core().waker();
            waker.resume_when(*bad, [](EventSource&, const Outcome&) { throw Failure("callback"); });
            waker.resume_when(*good, WakeBy::resolve);
            program.scheduler().suspend({"wait", SourceLocation::current()});
            waker.clean();
            program.log("not reached");
        });
        // The good one woke main in the same tick; the shutdown that follows takes the place of that plain wake-up
        // (WKR-11).
        EXPECT_EQ(program.text(), "");
        EXPECT_EQ(chain(error), "callback");
    });
}

TEST(Unhandled, ErrorsNoticedTogetherFormOneChainAndCountAsOne) {
    in_every_mode([](Program& program) {  // SCH-65
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            Coroutine<> one = spawn([] { throw Failure("E1"); });
            Coroutine<> two = spawn([] { throw Failure("E2"); });
            yield();
            one.release();
            two.release();
            program.log(message(caught([] { yield(); })));
            EXPECT_FALSE(program.scheduler().has_second_phase_begun());
        });
        EXPECT_EQ(program.text(), "graceful shutdown");
        EXPECT_EQ(chain(error), "E2 < E1");
    });
}

TEST(Unhandled, NeverIsACancellation) {
    in_every_mode([](Program& program) {  // CAN-16, SCH-74
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            spawn([] { throw AsyncCancellation("by hand"); });
            spawn(waits(program, "w")).cancel();
            yield();
            throw OperationCanceled("main ends cancelled");
        });
        EXPECT_FALSE(error);
    });
}

// ── graceful shutdown ──

TEST(Shutdown, LetsItsCallerGoOnUntilTheNextSuspension) {
    in_every_mode([](Program& program) {  // T14
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            spawn([&] {
                shutdown();
                program.log("x");
                yield();
                program.log("y");
            });
        });
        EXPECT_EQ(program.text(), "x");
        EXPECT_FALSE(error);
    });
}

TEST(Shutdown, CancelsEverybodyOnceInRegistryOrderWithItsReason) {
    in_every_mode([](Program& program) {  // SCH-67, INV-SHUT-01
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn(waits(program, "waiting"));
            spawn([&] {
                protect([&] { program.log("protected:" + message(caught([] { wait_forever(); }))); });
                program.log("left");  // PRT-9: the exit of the region delivers nothing again
            });
            yield();
            const Coroutine<> unstarted = spawn([&] { program.log("never"); });
            shutdown(ErrorValue::make<OperationCanceled>("reason"));
            EXPECT_TRUE(program.scheduler().is_shutting_down());
            EXPECT_EQ(unstarted.state(), CoroutineState::doomed);
            shutdown(ErrorValue::make<OperationCanceled>("second"));  // idempotent
            const ErrorValue own = caught([] { yield(); });
            EXPECT_TRUE(holds<OperationCanceled>(own));
            program.log("main:" + message(own));
        });
        EXPECT_EQ(program.text(), "main:reason waiting:reason protected:reason left");
    });
}

TEST(Shutdown, RefusesAReasonThatIsNoCancellation) {
    Program program;
    program.run([&] {
        EXPECT_THROW(shutdown(ErrorValue::make<Failure>("no")), ValueError);
        EXPECT_FALSE(program.scheduler().is_shutting_down());
        yield();
    });
}

TEST(Shutdown, TakesAPendingErrorAsTheExitError) {
    in_every_mode([](Program& program) {  // SCH-67
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            Coroutine<> made = spawn([] { throw Failure("E"); });
            yield();
            made.release();
            shutdown();
            EXPECT_FALSE(program.scheduler().has_pending_error());
            yield();
        });
        EXPECT_EQ(chain(error), "E");
    });
}

TEST(Shutdown, ReachesZombiesAndThoseThatAreInTheirCleanupAlready) {
    in_every_mode([](Program& program) {  // SCH-68, CAN-15
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            scope.allow_zombies();
            scope.spawn(waits(program, "zombie"));
            const Coroutine<> cleaning = spawn([&] {
                program.log("first:" + message(caught([] { wait_forever(); })));
                program.log("again:" + message(caught([] { wait_forever(); })));
            });
            yield();
            scope.dispose();
            cleaning.cancel("request");
            yield();
            shutdown();
        });
        EXPECT_EQ(program.text(), "first:request zombie:graceful shutdown again:graceful shutdown");
    });
}

TEST(Shutdown, LetsCleanupSuspendAndSpawn) {
    in_every_mode([](Program& program) {  // SCH-69
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> made = spawn([&] {
                EXPECT_TRUE(caught([] { wait_forever(); }));
                pause_for(2ms);
                const Coroutine<> helper = spawn([&] {
                    pause_for(2ms);
                    program.log("helper");
                });
                helper.await();
                program.log("clean");
            });
            yield();
            shutdown();
        });
        EXPECT_EQ(program.text(), "helper clean");
        EXPECT_EQ(program.reactor().now(), Instant{} + 4ms);
    });
}

TEST(Shutdown, RunsFinallyHandlersOfThoseItDooms) {
    in_every_mode([](Program& program) {  // FIN-10, FIN-11
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> unstarted = spawn([] {});
            unstarted.finally([&](CoroutineHandle) { program.log("finally"); });
            shutdown();
        });
        EXPECT_EQ(program.text(), "finally");
    });
}

TEST(Shutdown, EndsARunThatAVisibleTimerWouldKeepGoing) {
    in_every_mode([](Program& program) {  // T15, SCH-73
        SCOPED_TRACE(program.mode());
        Ref<ReactorEvent> periodic;
        const ErrorValue error = program.run([&] {
            periodic = ReactorEvent::timer(program.scheduler(), {.timeout = 1ms, .periodic = true});
            periodic->start();
            spawn([] {
                pause_for(5ms);
                throw Failure("E");
            });
        });
        EXPECT_EQ(chain(error), "E");
        EXPECT_EQ(program.reactor().now(), Instant{} + 5ms);
        EXPECT_EQ(program.reactor().open_sources(), 0U);  // closed with the reactor
        periodic.reset();
    });
}

// ── the second phase ──

TEST(SecondPhase, ChainsTheErrorsNewestFirst) {
    in_every_mode([](Program& program) {  // T12, SCH-70, SCH-74
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            const Coroutine<> x = spawn([&] { program.log(message(caught([] { wait_forever(); }))); });
            x.finally([&](CoroutineHandle) { throw Failure("E2"); });
            spawn([] { throw Failure("E1"); });
        });
        EXPECT_EQ(program.text(), "graceful shutdown");
        EXPECT_EQ(chain(error), "E2 < E1");
        EXPECT_EQ(chain(program.runtime().exit_error()), "E2 < E1");
    });
}

TEST(SecondPhase, SweepsAgainAndBlocksNoMore) {
    in_every_mode([](Program& program) {  // SCH-70, INV-SHUT-06
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            spawn([&] {
                EXPECT_TRUE(caught([] { wait_forever(); }));
                program.log("pause:" + message(caught([] { pause_for(1h); })));
                // A pause that would have to block never ends: what is left is unwound.
                struct Guard {
                    Program& program;
                    ~Guard() { program.log("unwound"); }
                } guard{program};
                pause_for(1h);
                program.log("never");
            });
            spawn(waits(program, "b", "E2"));
            yield();
            throw Failure("E1");
        });
        EXPECT_EQ(program.text(), "b:graceful shutdown pause:graceful shutdown unwound");
        EXPECT_EQ(chain(error), "E2 < graceful shutdown < E1");
        EXPECT_LT(program.reactor().now(), Instant{} + 1h);
    });
}

TEST(SecondPhase, CollectsFurtherErrorsAndNeverBeginsAThird) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            for (const char* name : {"E2", "E3", "E4"}) {
                spawn([name] {
                    try {
                        wait_forever();
                    } catch (const Cancellation&) {}
                    throw Failure(name);
                });
            }
            yield();
            add_microtask([] { throw Failure("E1"); });
        });
        const std::string text = chain(error);
        EXPECT_LT(text.find("E4"), text.find("E3"));
        EXPECT_LT(text.find("E3"), text.find("E2"));
        EXPECT_LT(text.find("E2"), text.find("E1"));
    });
}

TEST(SecondPhase, EndsForOneThatSwallowsEveryCancellationAndYields) {
    in_every_mode([](Program& program) {  // SCH-70: at most 64 x (registry + 1) dispatches
        SCOPED_TRACE(program.mode());
        std::uint64_t rounds = 0;
        bool in_second = false;
        const ErrorValue error = program.run([&] {
            spawn([&] {
                for (;;) {
                    try {
                        yield();
                    } catch (const Cancellation&) {
                        if (program.scheduler().has_second_phase_begun()) { in_second = true; }
                    }
                    if (program.scheduler().has_second_phase_begun()) { ++rounds; }
                }
            });
            yield();
            add_microtask([] { throw Failure("E1"); });
            add_microtask([] { throw Failure("E2"); });
        });
        EXPECT_TRUE(in_second);
        EXPECT_GT(rounds, 10U);
        EXPECT_LE(rounds, 64U * 2U);
        EXPECT_EQ(chain(error), "E2 < E1");
    });
}

TEST(SecondPhase, DoomsWhatIsSpawnedInItWithoutThrowing) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            spawn([&] {
                EXPECT_TRUE(caught([] { wait_forever(); }));
                EXPECT_TRUE(caught([] { wait_forever(); }));
                EXPECT_TRUE(program.scheduler().has_second_phase_begun());
                const Coroutine<> late = spawn([&] { program.log("never"); });
                EXPECT_EQ(late.state(), CoroutineState::doomed);
                late.finally([&](CoroutineHandle coroutine) {
                    program.log("finally:" + std::string(to_string(coroutine.state())));
                });
            });
            spawn(waits(program, "b", "E2"));
            yield();
            throw Failure("E1");
        });
        EXPECT_EQ(program.text(), "b:graceful shutdown finally:finished");
        EXPECT_EQ(message(error), "E2");
    });
}

TEST(SecondPhase, BegunInATickLetsItsHostGoOnWithTheCancellation) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            shutdown();
            EXPECT_TRUE(caught([] { yield(); }));
            add_microtask([] { throw Failure("E"); });
            program.log(message(caught([] { wait_forever(); })));
            EXPECT_TRUE(program.scheduler().has_second_phase_begun());
        });
        EXPECT_EQ(program.text(), "graceful shutdown");
        EXPECT_EQ(chain(error), "E");
    });
}

// ── terminal unwinding ──

/// Makes a program whose stuck coroutines are unwound: a deadlock that repeats (SCH-58).
auto stuck(Program& program, std::string name, std::function<void()> in_destructor = {}) {
    return [&program, name, in_destructor] {
        struct Guard {
            Program& program;
            const std::string& name;
            const std::function<void()>& body;
            ~Guard() {
                program.log("~" + name);
                if (body) { body(); }
            }
        } guard{program, name, in_destructor};
        for (;;) {
            try {
                wait_forever();
            } catch (const Cancellation&) { program.log(name); }
        }
    };
}

TEST(Unwinding, GoesFromTheNewestToMainAndRunsEveryDestructor) {
    in_every_mode([](Program& program) {  // SCH-72, INV-SHUT-07
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            spawn(stuck(program, "a"));
            spawn(stuck(program, "b"));
            stuck(program, "main")();
        });
        EXPECT_EQ(program.text(), "main a b ~b ~a ~main");
        EXPECT_TRUE(holds<DeadlockError>(error));
    });
}

TEST(Unwinding, CannotBeCaughtByTypeAndComesBackAtEachSuspension) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] {
                EXPECT_TRUE(caught([] { wait_forever(); }));
                for (int i = 0; i < 3; ++i) {
                    try {
                        try {
                            protect([] { wait_forever(); });
                        } catch (const Cancellation&) {
                            program.log("as cancellation");
                        } catch (const std::exception&) { program.log("as exception"); }
                    } catch (...) { program.log("swallowed"); }
                }
                cleanup([] { yield(); });  // swallows it too
                program.log("end");
            });
        });
        EXPECT_EQ(program.text(), "swallowed swallowed swallowed end");
    });
}

TEST(Unwinding, EndsWithACancellationForThoseWhoSubscribedAndSkipsFinallyHandlers) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        struct Counts final : EventCallback {
            std::vector<std::string> seen;
            void call(EventSource&, const Outcome& outcome) override {
                EXPECT_TRUE(outcome.error.is_cancellation());
                seen.push_back(message(outcome.error));
            }
        } counts;
        struct Enters final : SwitchHandler {
            int enters = 0;
            int finishes = 0;
            bool on_switch(CoroutineHandle, bool entering, bool finishing) override {
                enters += entering ? 1 : 0;
                finishes += finishing ? 1 : 0;
                return true;
            }
        } enters;
        Coroutine<> made;
        program.run([&] {
            made = spawn(stuck(program, "a"));
            made.add_switch_handler(enters);
            made.finally([&](CoroutineHandle) { program.log("never"); });
            made.core().subscribe(counts);
        });
        EXPECT_EQ(counts.seen.size(), 1U);
        EXPECT_EQ(enters.enters, 3);  // start, deadlock, unwinding
        EXPECT_EQ(enters.finishes, 1);
        EXPECT_TRUE(made.is_completed());
        EXPECT_TRUE(made.error().is_cancellation());
        EXPECT_EQ(program.runtime().statistics().never_executed, 1U);  // the finally handler
        EXPECT_EQ(program.text(), "a ~a");
        made.release();
    });
}

TEST(Unwinding, AddsErrorsThatLeaveItToTheChain) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            spawn([&] {
                EXPECT_TRUE(caught([] { wait_forever(); }));
                try {
                    wait_forever();
                } catch (...) { throw Failure("instead"); }
            });
        });
        EXPECT_EQ(message(error), "instead");
        EXPECT_TRUE(holds<DeadlockError>(error.previous()));
    });
}

TEST(Unwinding, TakesAlongWhatDestructorsSpawnWithoutRunningIt) {
    in_every_mode([](Program& program) {  // INV-SHUT-08
        SCOPED_TRACE(program.mode());
        int spawned = 0;
        program.run([&] {
            const auto spawns = [&] {
                const Coroutine<> late = spawn([&] { program.log("never"); });
                ++spawned;
                late.cancel();
                current_coroutine().cancel();
                shutdown();
            };
            spawn(stuck(program, "a", spawns));
            spawn(stuck(program, "b", spawns));
        });
        EXPECT_EQ(spawned, 2);
        EXPECT_EQ(program.text(), "a b ~b ~a");
        EXPECT_EQ(program.runtime().statistics().never_executed, 2U);
    });
}

TEST(Unwinding, ReachesQueuedAndUnstartedOnes) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        // The second phase's budget runs out with a queue full of yielders and what they spawned internally.
        Coroutine<> unstarted;
        program.run([&] {
            for (const char* name : {"a", "b"}) {
                spawn([&program, name] {
                    struct Guard {
                        Program& program;
                        const char* name;
                        ~Guard() { program.log(std::string("~") + name); }
                    } guard{program, name};
                    for (;;) {
                        try {
                            yield();
                        } catch (const Cancellation&) {}
                    }
                });
            }
            yield();
            add_microtask([] { throw Failure("E1"); });
            add_microtask([] { throw Failure("E2"); });
            add_microtask([&] { unstarted = program.runtime().spawn_internal("late", [&] { program.log("never"); }); });
        });
        // The last microtask is run by a tick of the second phase, or by its own drain; internal ones may still run
        // then.
        EXPECT_TRUE(unstarted.is_completed());
        EXPECT_NE(program.text().find("~b ~a"), std::string::npos);
        unstarted.release();
    });
}

TEST(UnwindingDeathTest, OfOneThatNeverEndsTerminatesTheProcess) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Program program;
            program.run([&] {
                spawn("stubborn", [&] {
                    EXPECT_TRUE(caught([] { wait_forever(); }));  // the deadlock
                    for (int swallowed = 0; swallowed <= 1000; ++swallowed) {
                        try {
                            wait_forever();
                        } catch (...) {}
                    }
                    std::_Exit(0);  // one more than it may be given
                });
            });
        },
        "SCH-72 violated: stubborn#[0-9]+ swallowed the unwinding token 1000 times");
}

TEST(Unwinding, LeavesTheRuntimeFitForTheNextRun) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] { spawn(stuck(program, "a")); });
        program.clear();
        EXPECT_FALSE(program.run([&] {
            spawn([&] {
                pause_for(1ms);
                program.log("fine");
            });
        }));
        EXPECT_EQ(program.text(), "fine");
    });
}

// ── the end ──

TEST(Ending, RunsCloseCompletionsBeforeTheReactorGoesDown) {
    in_every_mode([](Program& program) {  // SCH-71, RCT-38
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<ReactorEvent> poll = ReactorEvent::poll(program.scheduler(), 7, PollBits::readable, true);
            poll->close();
        });
        EXPECT_EQ(program.reactor().closed_descriptors(), std::vector<int>{7});
        EXPECT_EQ(program.reactor().open_sources(), 0U);
    });
}

TEST(Ending, ThrowsOnlyWhatWasUnhandled) {
    in_every_mode([](Program& program) {  // INV-SHUT-03
        SCOPED_TRACE(program.mode());
        EXPECT_FALSE(program.run([&] {
            const Coroutine<> failed = spawn([] { throw Failure("awaited"); });
            EXPECT_THROW(failed.await(), Failure);
            Scope scope;
            scope.set_exception_handler([](ScopeRef, CoroutineHandle, const ErrorValue&) {});
            scope.spawn([] { throw Failure("handled"); });
            yield();
            shutdown();
        }));
    });
}

}  // namespace
}  // namespace heddle::testing
