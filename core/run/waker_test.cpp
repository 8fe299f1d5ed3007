// SPDX-License-Identifier: Apache-2.0
// The waker: every row of the status table, the standard callbacks, who owns and stops what (WKR-1 to WKR-17, E1 to E10, INV-WAKE).
#include "heddle/core/run/waker.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/bell.hpp"
#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

WakerStatus status(const CoroutineHandle& coroutine) { return coroutine.core().waker().status(); }

ErrorValue reason(const char* text = "cancelled") { return ErrorValue::make<AsyncCancellation>(text); }

TimerOptions in(Duration timeout) {
    TimerOptions options;
    options.timeout = timeout;
    return options;
}

/// A world, and the waker of whoever runs in it.
class WakerTest : public ::testing::Test {
protected:
    Scheduler& scheduler() { return program_.scheduler(); }
    Ref<Bell> bell(std::string name = "bell") { return Bell::make(scheduler(), std::move(name)); }
    /// The waker of the running coroutine, cleaned.
    Waker& fresh() {
        Waker& waker = scheduler().require_current("test").waker();
        waker.clean();
        return waker;
    }
    void suspend() { scheduler().suspend({"test", std::source_location::current()}); }
    void cancel(const CoroutineHandle& target, CancelKind kind = CancelKind::forced, const char* text = "cancelled") {
        scheduler().cancel(target.core(), kind, reason(text));
    }
    /// Runs in the next tick's microtask drain: in a scheduler phase, on whoever suspends then.
    void in_next_tick(UniqueFunction<void()> body) { program_.runtime().add_microtask(std::move(body)); }

    template <class Body>
    ErrorValue run(Body&& body) {
        return program_.run(std::forward<Body>(body));
    }
    void log(std::string_view entry) { program_.log(entry); }
    [[nodiscard]] std::string text() const { return program_.text(); }

    Program program_;
};

// ── the table WKR-9, row by row ──

using WakerTable = WakerTest;

TEST_F(WakerTable, SpawnQueues) {
    run([&] {
        const auto c = spawn([] {});
        EXPECT_EQ(status(c), WakerStatus::queued);
        EXPECT_EQ(scheduler().ready_queue().size(), 1U);
    });
}

TEST_F(WakerTable, YieldQueuesAtTheTail) {
    run([&] {
        const CoroutineHandle main = current_coroutine();
        spawn([&] {
            EXPECT_EQ(status(main), WakerStatus::queued);
            log("first");
        });
        yield();
        log("main");
        EXPECT_EQ(status(main), WakerStatus::none);
    });
    EXPECT_EQ(text(), "first main");
}

TEST_F(WakerTable, SuspendWithoutSubscriptionReturnsAtOnce) {
    run([&] {
        spawn([&] { log("other"); });
        fresh();
        const std::uint64_t before = program_.switches();
        suspend();
        EXPECT_EQ(status(current_coroutine()), WakerStatus::none);
        EXPECT_EQ(program_.switches(), before);
        log("main");
    });
    EXPECT_EQ(text(), "main other");
}

TEST_F(WakerTable, SuspendWithSubscriptionsWaits) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto c = spawn([&] { wait_for(*b); });
        yield();
        EXPECT_EQ(status(c), WakerStatus::waiting);
        EXPECT_EQ(c.state(), CoroutineState::waiting);
        b->ring();
        EXPECT_EQ(status(c), WakerStatus::queued);
    });
}

TEST_F(WakerTable, AnEarlyWakeUpIsAResult) {
    run([&] {
        const Ref<Bell> b = bell();
        Waker& waker = fresh();
        waker.resume_when(*b, WakeBy::resolve);
        b->ring_value(4);
        EXPECT_EQ(waker.status(), WakerStatus::result);
        EXPECT_FALSE(waker.has_subscriptions());  // WKR-13
        suspend();
        EXPECT_EQ(waker.outcome().value, 4);
        EXPECT_EQ(b->starts(), 0);
    });
}

TEST_F(WakerTable, ResumeOfWhoDoesNotWaitIsRefused) {
    run([&] {
        fresh();
        EXPECT_THROW(scheduler().resume(current_coroutine().core(), nullptr, {}), AsyncError);
        const auto finished = spawn([] {});
        finished.await();
        EXPECT_THROW(scheduler().resume(finished.core(), nullptr, {}), AsyncError);
        EXPECT_EQ(status(current_coroutine()), WakerStatus::none);
    });
}

TEST_F(WakerTable, CancelBeforeTheFirstEnqueueDooms) {
    for (const CancelKind kind : {CancelKind::forced, CancelKind::safe_cancel}) {
        run([&] {
            SpawnOptions options;
            options.before = [&](const CoroutineHandle& c) {
                EXPECT_EQ(status(c), WakerStatus::none);
                cancel(c, kind);
                EXPECT_EQ(status(c), WakerStatus::ignored);
                EXPECT_EQ(scheduler().ready_queue().size(), 1U);
            };
            const auto c = spawn(options, [&] { log("never"); });
            yield();
            EXPECT_TRUE(c.is_completed());
            EXPECT_FALSE(c.is_started());
        });
    }
    EXPECT_EQ(text(), "");
}

TEST_F(WakerTable, SafeDisposeBeforeTheFirstEnqueueQueuesAZombie) {
    run([&] {
        SpawnOptions options;
        options.before = [&](const CoroutineHandle& c) {
            cancel(c, CancelKind::safe_dispose);
            EXPECT_EQ(status(c), WakerStatus::queued);
            EXPECT_TRUE(c.is_zombie());
        };
        spawn(options, [&] { log("runs"); });
        EXPECT_EQ(scheduler().ready_queue().size(), 1U);
        yield();
    });
    EXPECT_EQ(text(), "runs");
}

TEST_F(WakerTable, ASafeCancelOfARunningCoroutineOnlyMakesItAZombie) {
    run([&] {
        const auto c = spawn([&] {
            cancel(current_coroutine(), CancelKind::safe_cancel);
            EXPECT_EQ(status(current_coroutine()), WakerStatus::none);
            // Early RESULT, likewise unchanged.
            const Ref<Bell> b = bell();
            fresh().resume_when(*b, WakeBy::resolve);
            b->ring();
            cancel(current_coroutine(), CancelKind::safe_dispose);
            EXPECT_EQ(status(current_coroutine()), WakerStatus::result);
            suspend();
            yield();
            log("on");
        });
        yield();
        EXPECT_TRUE(c.is_zombie());
        c.await();
    });
    EXPECT_EQ(text(), "on");
}

TEST_F(WakerTable, LosingItsProtectionWakesAWaiterWithWhatWasHeldBack) {
    run([&] {
        const auto deferred = spawn([&] {
            EXPECT_EQ(message(caught([&] { protect([] { wait_forever(); }); })), "held");
            log("deferred");
        });
        const auto pending = spawn([&] {
            current_coroutine().cancel("mine");
            EXPECT_EQ(message(caught([&] { protect([] { wait_forever(); }); })), "mine");
            log("pending");
        });
        yield();
        deferred.cancel("held");
        spawn([&] { log("before"); });
        EXPECT_EQ(status(deferred), WakerStatus::waiting);
        EXPECT_EQ(status(pending), WakerStatus::waiting);
        scheduler().remove_protection(pending.core());
        scheduler().remove_protection(deferred.core());
        EXPECT_EQ(status(deferred), WakerStatus::queued);
        EXPECT_EQ(status(pending), WakerStatus::queued);
        yield();
    });
    EXPECT_EQ(text(), "before pending deferred");
}

TEST_F(WakerTable, AnEventInItsOwnTickLetsTheCoroutineGoOnAhead) {
    run([&] {
        const Ref<Bell> b = bell();
        const CoroutineHandle main = current_coroutine();
        spawn([&] { log("other"); });
        in_next_tick([&] {
            EXPECT_EQ(status(main), WakerStatus::waiting);
            b->ring_value(1);
            EXPECT_EQ(status(main), WakerStatus::result);
            EXPECT_FALSE(scheduler().resume(main.core(), nullptr, {2, true, {}}));  // RESULT, not yet returned: nothing
        });
        EXPECT_EQ(wait_for(*b).value, 1);
        log("main");
        yield();
    });
    EXPECT_EQ(text(), "main other");
}

TEST_F(WakerTable, AWakeFromElsewhereQueuesAtTheTail) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto c = spawn([&] {
            wait_for(*b);
            log("c");
        });
        yield();
        spawn([&] { log("before"); });
        b->ring();
        EXPECT_EQ(status(c), WakerStatus::queued);
        yield();
    });
    EXPECT_EQ(text(), "before c");
}

TEST_F(WakerTable, ForcedCancelOfAWaiterQueuesItAtTheTailWithTheReason) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto c = spawn([&] {
            log(message(caught([&] { wait_for(*b); })));
        });
        yield();
        EXPECT_EQ(b->loop_refs(), 1U);
        spawn([&] { log("before"); });
        c.cancel("why");
        EXPECT_EQ(status(c), WakerStatus::queued);
        EXPECT_EQ(b->loop_refs(), 0U);  // SCH-27: outside a phase the subscriptions go at once
        EXPECT_EQ(b->subscriber_count(), 0U);
        yield();
    });
    EXPECT_EQ(text(), "before why");
}

TEST_F(WakerTable, ForcedCancelInItsOwnTickQueuesToo) {
    run([&] {
        const Ref<Bell> b = bell();
        const CoroutineHandle main = current_coroutine();
        spawn([&] { log("other"); });
        in_next_tick([&] {
            main.cancel("why");
            EXPECT_EQ(status(main), WakerStatus::queued);
            b->ring();  // too late
        });
        log(message(caught([&] { wait_for(*b); })));
    });
    EXPECT_EQ(text(), "other why");
}

TEST_F(WakerTable, ForcedCancelWhileItsEventsStartQueuesToo) {
    run([&] {
        const Ref<Bell> b = bell();
        const Ref<Bell> second = bell();
        const CoroutineHandle main = current_coroutine();
        spawn([&] { log("other"); });
        b->at_start([&] { main.cancel("why"); });
        Waker& waker = fresh();
        waker.resume_when(*b, WakeBy::resolve);
        waker.resume_when(*second, WakeBy::resolve);
        log(message(caught([&] { suspend(); })));
        EXPECT_EQ(second->starts(), 0);  // SCH-30.6: starting stops as soon as it no longer waits
        EXPECT_EQ(b->loop_refs(), 0U);
        waker.clean();
    });
    EXPECT_EQ(text(), "other why");
}

TEST_F(WakerTable, ForcedCancelOfAProtectedWaiterIsHeldBack) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto c = spawn([&] {
            log(message(caught([&] {
                protect([&] {
                    wait_for(*b);
                    log("waited");
                });
            })));
        });
        yield();
        c.cancel("held");
        EXPECT_EQ(status(c), WakerStatus::waiting);
        EXPECT_TRUE(c.is_cancellation_requested());
        EXPECT_EQ(b->loop_refs(), 1U);
        b->ring();
        yield();
    });
    EXPECT_EQ(text(), "waited held");
}

TEST_F(WakerTable, SafeCancelOfAWaiterChangesNothingButItsCount) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto c = spawn([&] {
            wait_for(*b);
            log("on");
        });
        yield();
        cancel(c, CancelKind::safe_cancel);
        EXPECT_EQ(status(c), WakerStatus::waiting);
        EXPECT_TRUE(c.is_zombie());
        EXPECT_EQ(b->loop_refs(), 1U);
        b->ring();
        yield();
    });
    EXPECT_EQ(text(), "on");
}

TEST_F(WakerTable, ResumeOfAQueuedCoroutineDoesNothing) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto c = spawn([&] { log(std::to_string(wait_for(*b).value)); });
        yield();
        EXPECT_TRUE(scheduler().resume(c.core(), nullptr, {1, true, {}}));
        EXPECT_FALSE(scheduler().resume(c.core(), nullptr, {2, true, {}}));
        EXPECT_EQ(scheduler().ready_queue().size(), 1U);  // INV-WAKE-05
        const auto fresh_one = spawn([] {});
        EXPECT_FALSE(scheduler().resume(fresh_one.core(), nullptr, {}));
        EXPECT_EQ(scheduler().ready_queue().size(), 2U);
    });
    EXPECT_EQ(text(), "1");
}

TEST_F(WakerTable, ForcedCancelOfAQueuedCoroutineKeepsItsPlace) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto x = spawn([&] {
            log(message(caught([&] { wait_for(*b); })));
        });
        const auto y = spawn([&] { log(message(caught([] { yield(); }))); });
        yield();
        b->ring_value(1);
        const std::size_t ready = scheduler().ready_queue().size();
        y.cancel("y");
        x.cancel("x");
        EXPECT_EQ(scheduler().ready_queue().size(), ready);
        yield();
    });
    EXPECT_EQ(text(), "y x");  // y yielded before x was woken
}

TEST_F(WakerTable, ForcedCancelOfAQueuedProtectedCoroutineIsHeldBack) {
    run([&] {
        const auto c = spawn([&] {
            log(message(caught([&] {
                protect([&] {
                    yield();
                    log("back");
                });
            })));
        });
        yield();
        EXPECT_EQ(status(c), WakerStatus::queued);
        c.cancel("held");
        EXPECT_TRUE(c.core().has_deferred_cancellation());
        yield();
    });
    EXPECT_EQ(text(), "back held");
}

TEST_F(WakerTable, SafeCancelOfAQueuedCoroutineKeepsItsOutcome) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto c = spawn([&] { log(std::to_string(wait_for(*b).value)); });
        yield();
        b->ring_value(6);
        cancel(c, CancelKind::safe_cancel);
        EXPECT_EQ(status(c), WakerStatus::queued);
        EXPECT_TRUE(c.is_zombie());
        const auto fresh_one = spawn([&] { log("born"); });
        cancel(fresh_one, CancelKind::safe_dispose);
        EXPECT_EQ(status(fresh_one), WakerStatus::queued);
        EXPECT_TRUE(fresh_one.is_zombie());
        yield();
    });
    EXPECT_EQ(text(), "6 born");
}

TEST_F(WakerTable, CancelOfAnUnstartedCoroutineDoomsItInItsPlace) {
    run([&] {
        const auto a = spawn([&] { log("a"); });
        const auto b = spawn([&] { log("b"); });
        spawn([&] {
            EXPECT_TRUE(a.is_completed());
            EXPECT_TRUE(b.is_completed());
            log("c");
        });
        cancel(a, CancelKind::forced, "first");
        cancel(b, CancelKind::safe_cancel);
        EXPECT_EQ(status(a), WakerStatus::ignored);
        EXPECT_EQ(status(b), WakerStatus::ignored);
        EXPECT_EQ(scheduler().ready_queue().size(), 3U);
        // IGNORED: resume and cancel do nothing, the first reason is kept (INV-WAKE-11).
        EXPECT_FALSE(scheduler().resume(a.core(), nullptr, {}));
        cancel(a, CancelKind::forced, "second");
        cancel(a, CancelKind::safe_dispose);
        cancel(a, CancelKind::safe_cancel);
        EXPECT_EQ(status(a), WakerStatus::ignored);
        EXPECT_FALSE(a.is_zombie());
        EXPECT_EQ(scheduler().ready_queue().size(), 3U);
        yield();
        EXPECT_EQ(message(a.error()), "first");
        EXPECT_EQ(status(a), WakerStatus::none);
        EXPECT_TRUE(a.is_cancelled());
    });
    EXPECT_EQ(text(), "c");
}

TEST_F(WakerTable, DispatchStartsWithoutAResultAndContinuesWithOne) {
    run([&] {
        const Ref<Bell> b = bell();
        spawn([&] {
            EXPECT_EQ(status(current_coroutine()), WakerStatus::none);
            Waker& waker = fresh();
            waker.resume_when(*b, WakeBy::resolve);
            suspend();
            EXPECT_EQ(waker.status(), WakerStatus::result);
            suspend();  // RESULT, suspend: the outcome at once
            EXPECT_EQ(waker.status(), WakerStatus::result);
            EXPECT_EQ(waker.outcome().value, 3);
            EXPECT_THROW(scheduler().resume(waker.coroutine(), nullptr, {}), AsyncError);  // RESULT, returned: refused
            waker.clean();
            EXPECT_EQ(waker.status(), WakerStatus::none);
            EXPECT_FALSE(waker.outcome().has_value);
            log("done");
        });
        yield();
        b->ring_value(3);
        yield();
    });
    EXPECT_EQ(text(), "done");
}

TEST_F(WakerTable, CancelOfAResultThatHasNotReturnedFollowsTheWindowRule) {
    run([&] {
        const Ref<Bell> b = bell();
        const CoroutineHandle main = current_coroutine();
        in_next_tick([&] {
            b->ring_value(1);
            main.cancel("a value is dropped");
            EXPECT_EQ(status(main), WakerStatus::result);
        });
        log(message(caught([&] { wait_for(*b); })));

        in_next_tick([&] {
            b->ring_error(ErrorValue::make<Failure>("E"));
            main.cancel("an error stays");
            EXPECT_TRUE(main.core().has_pending_cancellation());
        });
        log(message(caught([&] { wait_for(*b); })));
        log(message(caught([] { yield(); })));

        protect([&] {
            in_next_tick([&] {
                b->ring_value(2);
                // Held back: what comes of it is the business of the region's exit.
                scheduler().cancel(main.core(), CancelKind::forced, reason("held"));
                EXPECT_EQ(status(main), WakerStatus::result);
                EXPECT_TRUE(main.core().has_deferred_cancellation());
                scheduler().remove_protection(main.core());
            });
            log(message(caught([&] { wait_for(*b); })));
        });
    });
    EXPECT_EQ(text(), "a value is dropped E an error stays held");
}

TEST_F(WakerTable, SelfCancelIsPendingOrHeldBack) {
    run([&] {
        spawn([&] {
            current_coroutine().cancel("self");
            EXPECT_EQ(status(current_coroutine()), WakerStatus::none);
            EXPECT_TRUE(current_coroutine().core().has_pending_cancellation());
            log(message(caught([] { yield(); })));
            log(message(caught([&] {
                protect([&] {
                    current_coroutine().cancel("protected self");
                    EXPECT_TRUE(current_coroutine().core().has_deferred_cancellation());
                    yield();
                    log("body");
                });
            })));
            // Early RESULT: the wait's value gives way to the pending one, an early error does not (SCH-30.2).
            const Ref<Bell> b = bell();
            fresh().resume_when(*b, WakeBy::resolve);
            b->ring_value(1);
            current_coroutine().cancel("early");
            EXPECT_EQ(status(current_coroutine()), WakerStatus::result);
            log(message(caught([&] { suspend(); })));
            fresh().resume_when(*b, WakeBy::resolve);
            b->ring_error(ErrorValue::make<Failure>("E"));
            current_coroutine().cancel("after");
            log(message(caught([&] { suspend(); })));
            fresh();
            log(message(caught([] { yield(); })));
        });
        yield();
    });
    EXPECT_EQ(text(), "self body protected self early E after");
}

TEST_F(WakerTable, TerminalUnwindingTakesItOutOfTheQueueAndCleansIt) {
    Ref<Bell> b;
    const ErrorValue exit = run([&] {
        b = bell();
        spawn([&] {
            struct Last {
                Program& program;
                ~Last() { program.log("destroyed"); }
            } last{program_};
            for (;;) {
                try {
                    wait_for(*b);
                } catch (const Cancellation&) {
                    log("cancelled");
                }
            }
        });
        yield();
    });
    EXPECT_TRUE(holds<DeadlockError>(exit));
    EXPECT_EQ(text(), "cancelled destroyed");
    EXPECT_EQ(b->subscriber_count(), 0U);
    EXPECT_EQ(b->loop_refs(), 0U);
}

// ── cleaning, ownership, callbacks ──

using WakerWait = WakerTest;

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

TEST(WakerExample, E1TheFirstArmedOfTwoEqualTimersWins) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Waker& waker = current_coroutine().core().waker();
            const Ref<ReactorEvent> t1 = ReactorEvent::timer(program.scheduler(), in(10ms));
            const Ref<ReactorEvent> t2 = ReactorEvent::timer(program.scheduler(), in(10ms));
            waker.clean();
            waker.resume_when(*t1, WakeBy::resolve);
            waker.resume_when(*t2, WakeBy::resolve);
            program.scheduler().suspend({"test", std::source_location::current()});
            ASSERT_EQ(waker.triggered().size(), 2U);
            EXPECT_EQ(waker.triggered()[0], t1.get());
            EXPECT_EQ(waker.triggered()[1], t2.get());
            EXPECT_TRUE(program.scheduler().ready_queue().empty());
            waker.clean();
        });
    });
}

TEST(WakerExample, E2ATargetThatEndsBeforeTheTokenInOneTickGivesItsValue) {
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
            program.scheduler().suspend({"test", std::source_location::current()});
            EXPECT_EQ(waker.outcome().value, 3);
            waker.clean();
            alive->stop();
        });
    });
}

TEST(WakerExample, E3ACancellationInTheWindowReplacesAValueThatStaysReadable) {
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

TEST(WakerExample, E4NeitherTheErrorNorTheCancellationGetsLost) {
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

TEST(WakerExample, E5AnEventTriggeredBeforeSuspendIsNotLost) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<Bell> bell = Bell::make(program.scheduler());
            Waker& waker = current_coroutine().core().waker();
            waker.clean();
            waker.resume_when(*bell, WakeBy::resolve);
            bell->ring_error(ErrorValue::make<Failure>("E"));
            EXPECT_EQ(message(caught([&] { program.scheduler().suspend({"test", std::source_location::current()}); })), "E");
            waker.clean();
        });
    });
}

TEST(WakerExample, E6TheTimeoutOfAWaitIsArmedFirst) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Waker& waker = current_coroutine().core().waker();
            const EventSource* timeout = waker.begin_with_timeout(10ms);
            const Ref<ReactorEvent> e = ReactorEvent::timer(program.scheduler(), in(10ms));
            waker.resume_when(*e, WakeBy::resolve);
            program.scheduler().suspend({"test", std::source_location::current()});
            EXPECT_EQ(waker.triggered().front(), timeout);
            waker.clean();

            // A descriptor: polled before timers run, so it wins when both are due (RCT-60).
            const Ref<ReactorEvent> poll = ReactorEvent::poll(program.scheduler(), 5, PollBits::readable);
            timeout = waker.begin_with_timeout(10ms);
            waker.resume_when(*poll, WakeBy::resolve);
            program.reactor().at(10ms, [&] { program.reactor().set_ready(5, PollBits::readable); });
            program.scheduler().suspend({"test", std::source_location::current()});
            EXPECT_EQ(waker.triggered().front(), poll.get());
            EXPECT_EQ(waker.outcome().value, PollBits::readable);
            waker.clean();
            EXPECT_EQ(program.reactor().active_events(), 0U);
        });
    });
}

TEST(WakerExample, E7ASharedEventStaysWatchedForTheOtherWaiter) {
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

TEST(WakerExample, E9ACancellationLaterInTheTickReplacesTheValue) {
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

TEST(WakerExample, E10ACancellationAfterTheTokenComesAtTheNextSuspension) {
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
                const ErrorValue thrown = caught([&] { program.scheduler().suspend({"test", std::source_location::current()}); });
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
