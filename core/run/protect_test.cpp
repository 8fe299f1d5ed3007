// SPDX-License-Identifier: Apache-2.0
// protect and cleanup: regions into which no cancellation comes (PRT-1 to PRT-11, S7, S15, S17, INV-PRT).
#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

class Protect : public ::testing::Test, protected World {};
class Cleanup : public ::testing::Test, protected World {};

TEST_F(Protect, RunsItsBodyAndReturnsItsValue) {
    run([&] {
        EXPECT_EQ(protect([] {
                      EXPECT_EQ(current_coroutine().core().protection_depth(), 1U);
                      return 5;
                  }),
                  5);
        protect([] {});
        EXPECT_EQ(current_coroutine().core().protection_depth(), 0U);
        log_caught([] { protect([] { throw Failure("E"); }); });
        EXPECT_EQ(current_coroutine().core().protection_depth(), 0U);
    });
    EXPECT_EQ(text(), "E");
}

TEST_F(Protect, IsNotAtomic) {
    run([&] {
        spawn([&] { log("other"); });
        protect([&] {
            log("in");
            yield();
            log("out");
        });
    });
    EXPECT_EQ(text(), "in other out");  // PRT-2
}

TEST_F(Protect, HoldsACancellationBackUntilTheOutermostExit) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            // S7
            const Ref<Bell> one = Bell::make(program.scheduler());
            const Ref<Bell> two = Bell::make(program.scheduler());
            const auto c = spawn([&] {
                protect([&] {
                    protect([&] {
                        wait_for(*one);
                        program.log("one");
                    });
                    program.log("x");
                    wait_for(*two);
                    program.log("two");
                });
                program.log("never");
            });
            yield();
            c.cancel("r");
            c.cancel("r2");  // the first one is kept
            EXPECT_TRUE(c.is_cancellation_requested());
            EXPECT_FALSE(c.is_cancelled());
            one->ring();
            yield();
            two->ring();
            yield();
            EXPECT_TRUE(c.is_cancelled());
            EXPECT_EQ(message(c.error()), "r");
        });
        EXPECT_EQ(program.text(), "one x two");
    });
}

TEST_F(Protect, LosesItsValueToTheCancellation) {
    run([&] {
        const auto c = spawn([&] {
            log_caught([&] {
                static_cast<void>(protect([] {
                    current_coroutine().cancel("r");
                    yield();
                    return 1;
                }));
                log("never");
            });
            log_caught([] { yield(); });
        });
        c.await();
    });
    EXPECT_EQ(text(), "r none");  // PRT-4, INV-PRT-02
}

TEST_F(Protect, LetsAnErrorSurfaceAndTheCancellationFollow) {
    run([&] {
        const auto c = spawn([&] {
            log_caught([] {
                protect([] {
                    current_coroutine().cancel("r");
                    throw Failure("E");
                });
            });
            EXPECT_TRUE(current_coroutine().core().has_pending_cancellation());
            log_caught([] { yield(); });
        });
        const auto escapes = spawn([] {
            protect([] {
                current_coroutine().cancel("r");
                throw Failure("E");
            });
        });
        c.await();
        static_cast<void>(caught([&] { escapes.await(); }));
        EXPECT_EQ(chain(escapes.error()), "E < r");  // PRT-5
    });
    EXPECT_EQ(text(), "E r");
}

TEST_F(Protect, OnlyTheOutermostExitDelivers) {
    run([&] {
        const auto c = spawn([&] {
            log_caught([&] {
                protect([&] {
                    log_caught([] {
                        protect([] { current_coroutine().cancel("r"); });  // PRT-6, INV-PRT-01: not here
                    });
                    EXPECT_EQ(current_coroutine().core().protection_depth(), 1U);
                    log_caught([] { protect([] { throw Failure("E"); }); });
                    EXPECT_TRUE(current_coroutine().core().has_deferred_cancellation());
                });
            });
        });
        c.await();
    });
    EXPECT_EQ(text(), "none E r");
}

TEST_F(Protect, APendingCancellationStaysPendingInside) {
    run([&] {
        const auto c = spawn([&] {
            current_coroutine().cancel("r");
            log_caught([&] {
                protect([&] {
                    yield();
                    log("inside");
                });
            });
            log_caught([] { yield(); });
        });
        c.await();
    });
    EXPECT_EQ(text(), "inside none r");  // PRT-3
}

TEST_F(Protect, DoesNotHoldBackWhatIsNoCancellationOfTheCoroutine) {
    run([&] {
        const Ref<Bell> bell = Bell::make(scheduler());
        const Ref<OneShotEvent> token = OneShotEvent::make(scheduler());
        const auto c = spawn([&] {
            protect([&] {
                Waker& waker = current_coroutine().core().waker();
                waker.clean();
                waker.resume_when(*bell, WakeBy::resolve);
                waker.resume_when(*token, WakeBy::token);
                const ErrorValue thrown = caught([&] { scheduler().suspend({"test", SourceLocation::current()}); });
                EXPECT_TRUE(holds<OperationCanceled>(thrown));  // PROT-01
                waker.clean();
                log("token");
            });
        });
        yield();
        token->complete();
        c.await();
    });
    EXPECT_EQ(text(), "token");
}

TEST_F(Protect, LeftByAnotherCancellationThrowsTheHeldBackOne) {
    run([&] {
        const auto c = spawn([] {
            protect([] {
                current_coroutine().cancel("held");
                throw AsyncCancellation("by hand");
            });
        });
        log_caught([&] { c.await(); });
        EXPECT_EQ(chain(c.error()), "held < by hand");  // PRT-11
    });
    EXPECT_EQ(text(), "held");
}

TEST_F(Protect, GivesWayToShutdownAndItsOuterExitsChangeNothing) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            // S17
            const Ref<Bell> never = Bell::make(program.scheduler());
            const Ref<Bell> second = Bell::make(program.scheduler());
            const auto c = spawn([&] {
                program.log(message(caught([&] {
                    protect([&] {
                        protect([&] {
                            program.log(message(caught([&] { wait_for(*never); })));
                            EXPECT_EQ(current_coroutine().core().protection_depth(), 0U);
                        });
                        program.log(message(caught([&] {
                            protect([&] {
                                EXPECT_EQ(current_coroutine().core().protection_depth(), 1U);
                                wait_for(*second);
                                program.log("undisturbed");
                            });
                        })));
                        program.log("middle");
                    });
                })));
            });
            yield();
            shutdown(ErrorValue::make<AsyncCancellation>("shutdown"));
            protect([] { static_cast<void>(caught([] { yield(); })); });
            c.cancel("r2");
            second->ring();
        });
        EXPECT_EQ(program.text(), "shutdown undisturbed r2 middle none");
    });
}

TEST_F(Protect, DeliversTheFirstReasonWhenShutdownRemovesIt) {
    run([&] {
        // S15: pending in protect, then shutdown.
        spawn([&] {
            current_coroutine().cancel("r");
            log_caught([] { protect([] { wait_forever(); }); });
        });
        // The same with a deferred one.
        const auto b = spawn([&] { log_caught([] { protect([] { wait_forever(); }); }); });
        yield();
        b.cancel("deferred");
        shutdown(ErrorValue::make<AsyncCancellation>("shutdown"));
    });
    EXPECT_EQ(text(), "r deferred");
}

TEST_F(Protect, GivesWayToShutdownInTheWindowOfAWakeUpToo) {
    in_every_mode([](Program& program) {  // PRT-7, WKR-11
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<Bell> value = Bell::make(program.scheduler());
            const Ref<Bell> error = Bell::make(program.scheduler());
            const auto replaced = spawn([&] { program.log(message(caught([&] { protect([&] { wait_for(*value); }); }))); });
            const auto behind = spawn([&] {
                protect([&] {
                    program.log(message(caught([&] { wait_for(*error); })));
                    program.log(message(caught([] { yield(); })));
                });
            });
            yield();
            value->ring();
            error->ring_error(ErrorValue::make<Failure>("E"));
            replaced.cancel("r1");
            behind.cancel("r2");
            EXPECT_TRUE(behind.core().has_deferred_cancellation());
            shutdown(ErrorValue::make<AsyncCancellation>("shutdown"));
            EXPECT_FALSE(behind.core().has_deferred_cancellation());
            EXPECT_TRUE(behind.core().has_pending_cancellation());  // neither the error nor the cancellation gets lost
        });
        EXPECT_EQ(program.text(), "r1 E r2");
    });
}

TEST_F(Protect, GivesWayToADeadlock) {
    const ErrorValue exit = run([&] {
        const auto c = spawn([&] { log_caught([] { protect([] { wait_forever(); }); }); });
        log_caught([&] { protect([&] { wait_forever(); }); });
        static_cast<void>(c);
    });
    EXPECT_EQ(text(), "deadlock deadlock");
    EXPECT_TRUE(holds<DeadlockError>(exit));
}

TEST_F(Protect, DoesNotKeepASafeRequestAway) {
    run([&] {
        const auto c = spawn([&] { protect([&] { yield(); }); });
        yield();
        scheduler().cancel(c.core(), CancelKind::safe_cancel, ErrorValue::make<AsyncCancellation>());
        EXPECT_TRUE(c.is_zombie());  // PRT-8
        EXPECT_FALSE(c.core().has_deferred_cancellation());
        c.await();
    });
}

TEST_F(Protect, OutsideARunOnlyCallsItsBody) {
    EXPECT_EQ(protect([] { return 4; }), 4);
    run([&] {
        program_.runtime().add_microtask([&] {
            EXPECT_THROW(protect([] {}), AsyncError);  // SCH-25: a scheduler phase
            log("refused");
        });
        yield();
    });
    EXPECT_EQ(protect([] { return 5; }), 5);
    EXPECT_EQ(text(), "refused");
}

// ── cleanup ──

TEST_F(Cleanup, WaitsInADestructorWhileACancellationUnwinds) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<Bell> bell = Bell::make(program.scheduler());
            const auto c = spawn([&] {
                const AtExit closes([&] {
                    cleanup([&] {
                        program.log("closing");
                        wait_for(*bell);
                        program.log("closed");
                    });
                });
                wait_forever();
            });
            yield();
            c.cancel("r");
            yield();
            c.cancel("r2");  // new, since r was delivered: held back by the clean-up
            bell->ring();
            program.log(message(caught([&] { c.await(); })));
        });
        // Held back, it is pending at the end: the coroutine finishes first, so it is absorbed into the outcome.
        EXPECT_EQ(program.text(), "closing closed r2");
    });
}

TEST_F(Cleanup, MakesWhatItHeldBackPending) {
    run([&] {
        const auto c = spawn([&] {
            cleanup([&] {
                current_coroutine().cancel("r");
                yield();
            });
            log("after");
            log_caught([] { yield(); });
        });
        c.await();
    });
    EXPECT_EQ(text(), "after r");  // PRT-10
}

TEST_F(Cleanup, ReportsAnErrorAndNeverThrowsIt) {
    const ErrorValue exit = run([&] {
        cleanup([] { throw Failure("E"); });
        log("after");
    });
    EXPECT_EQ(text(), "after");
    EXPECT_EQ(chain(exit), "E");
}

TEST_F(Cleanup, DropsOtherCancellations) {
    const ErrorValue exit = run([&] {
        const auto failed = spawn([] { throw AsyncCancellation("its own"); });
        cleanup([&] { failed.await(); });
        cleanup([] { throw AsyncCancellation("by hand"); });
        yield();
        log("on");
    });
    EXPECT_EQ(text(), "on");
    EXPECT_FALSE(exit);
}

TEST_F(Cleanup, PutsBackAForcedCancellationThatReachedIntoIt) {
    run([&] {
        const auto c = spawn([&] {
            cleanup([&] {
                log("waits");
                wait_forever();  // the shutdown removes the protection and ends this wait
            });
            log("after");
            log_caught([] { yield(); });
        });
        yield();
        shutdown(ErrorValue::make<AsyncCancellation>("shutdown"));
        EXPECT_EQ(message(caught([] { yield(); })), "shutdown");  // main's own
        static_cast<void>(caught([&] { c.await(); }));
        EXPECT_TRUE(c.is_cancelled());
    });
    EXPECT_EQ(text(), "waits after shutdown");
}

TEST_F(Cleanup, NestedDeliversOnce) {
    run([&] {
        const auto c = spawn([&] {
            cleanup([&] {
                cleanup([&] { wait_forever(); });
                log("inner done");
                log_caught([] { yield(); });  // protection is gone: the pending one comes here
            });
            log_caught([] { yield(); });
        });
        yield();
        shutdown(ErrorValue::make<AsyncCancellation>("shutdown"));
        static_cast<void>(caught([&] { c.await(); }));
    });
    EXPECT_EQ(text(), "inner done shutdown none");
}

TEST_F(Cleanup, InsideProtectLeavesTheDeliveryToTheOutermostExit) {
    run([&] {
        const auto c = spawn([&] {
            log_caught([&] {
                protect([&] {
                    cleanup([&] { current_coroutine().cancel("r"); });
                    EXPECT_FALSE(current_coroutine().core().has_pending_cancellation());
                    log_caught([] { yield(); });
                });
            });
        });
        c.await();
    });
    EXPECT_EQ(text(), "none r");
}

TEST_F(Cleanup, SwallowsTheUnwindingTokenWhichReturnsAtTheNextSuspension) {
    const ErrorValue exit = run([&] {
        spawn([&] {
            const AtExit closes([&] {
                cleanup([&] {
                    log("closing");
                    wait_forever();
                    log("never");
                });
                log("closed");
            });
            for (;;) { static_cast<void>(caught([] { wait_forever(); })); }
        });
    });
    EXPECT_EQ(text(), "closing closed");
    EXPECT_TRUE(holds<DeadlockError>(exit));
}

TEST_F(Cleanup, InASchedulerPhaseRunsUnprotectedAndReportsASuspension) {
    const ErrorValue exit = run([&] {
        program_.runtime().add_microtask([&] {
            cleanup([&] {
                log("ran");
                yield();  // not possible here; an error like any other
            });
            log("after");
        });
        static_cast<void>(caught([] { yield(); }));
        static_cast<void>(caught([] { yield(); }));
    });
    EXPECT_EQ(text(), "ran after");
    EXPECT_TRUE(holds<AsyncError>(exit));
}

TEST_F(Cleanup, OutsideARunNeverThrowsEither) {
    bool ran = false;
    ::testing::internal::CaptureStderr();
    cleanup([&] {
        ran = true;
        throw Failure("E");
    });
    EXPECT_TRUE(ran);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("E"), std::string::npos);
}

TEST_F(Cleanup, KeepsTheExceptionInFlight) {
    run([&] {
        spawn([&] { log("other"); });
        log_caught([&] {
            const AtExit closes([&] {
                cleanup([&] {
                    EXPECT_EQ(std::uncaught_exceptions(), 1);
                    yield();
                    EXPECT_EQ(std::uncaught_exceptions(), 1);
                });
            });
            throw Failure("E");
        });
    });
    EXPECT_EQ(text(), "other E");  // SCH-29
}

}  // namespace
}  // namespace heddle::testing
