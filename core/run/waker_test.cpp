// SPDX-License-Identifier: Apache-2.0
// The waker's status machine: every row of the table in docs/spec/02-waker-events.md (WKR-8, WKR-9, INV-WAKE-01).
#include "heddle/core/run/waker.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

WakerStatus status(const CoroutineHandle& coroutine) { return coroutine.core().waker().status(); }

class WakerTable : public ::testing::Test, protected World {};

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
                scheduler().cancel(main.core(), CancelKind::forced, cancellation("held"));
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

}  // namespace
}  // namespace heddle::testing
