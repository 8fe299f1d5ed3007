// SPDX-License-Identifier: Apache-2.0
// Combinators: several events in one wait (AWT-12 to AWT-17, AWC-09 to AWC-21, PROT-03).
#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class Collect : public ::testing::Test, protected World {
protected:
    struct Three {
        Ref<OneShotEvent> a, b, c;
        EventSource* inputs[3];
        explicit Three(Scheduler& scheduler)
            : a(OneShotEvent::make(scheduler, "a")),
              b(OneShotEvent::make(scheduler, "b")),
              c(OneShotEvent::make(scheduler, "c")),
              inputs{a.get(), b.get(), c.get()} {}
        [[nodiscard]] std::size_t subscribers() const { return a->subscriber_count() + b->subscriber_count() + c->subscriber_count(); }
    };
    static ErrorValue failure(const char* text) { return ErrorValue::make<Failure>(text); }
    /// "0=1 2!E": what settled, in the order in which it did.
    static std::string say(const Collected& collected) {
        std::string all;
        for (const std::size_t index : collected.order) {
            const Outcome& outcome = collected.outcomes[index];
            all += (all.empty() ? "" : " ") + std::to_string(index) +
                   (outcome.error ? "!" + message(outcome.error) : "=" + std::to_string(outcome.value));
        }
        return all;
    }
};

TEST_F(Collect, EachModeEndsWhenItsConditionHolds) {
    struct Case {
        CollectMode mode;
        std::size_t wanted;
        const char* result;
    };
    // b fails, then a succeeds, then c succeeds; all in one tick, so that late arrivals are there to be left out.
    for (const Case& one : {Case{CollectMode::all, 1, "1!E 0=1 2=3"}, Case{CollectMode::any, 1, "1!E"}, Case{CollectMode::some, 2, "1!E 0=1"},
                            Case{CollectMode::some, 9, "1!E 0=1 2=3"}, Case{CollectMode::some_success, 1, "1!E 0=1"},
                            Case{CollectMode::some_success, 3, "1!E 0=1 2=3"}, Case{CollectMode::any_success, 1, "1!E 0=1"},
                            Case{CollectMode::some, 0, ""}, Case{CollectMode::some_success, 0, ""}}) {
        run([&] {
            Three three(scheduler());
            in_next_tick([&] {
                three.b->fail(failure("E"));
                three.a->complete(1);
                three.c->complete(3);
            });
            EXPECT_EQ(say(await_collect(three.inputs, {one.mode, one.wanted})), one.result);  // AWC-10
            EXPECT_EQ(three.subscribers(), 0U);
            yield();  // nothing was wanted: the events come now
        });
    }
}

TEST_F(Collect, TheOrFailModesThrowTheFirstError) {
    const ErrorValue exit = run([&] {
        for (const CollectMode mode : {CollectMode::all_or_fail, CollectMode::some_or_fail}) {
            Three three(scheduler());
            in_next_tick([&] {
                three.a->complete(1);
                three.b->fail(failure("E1"));
                three.c->fail(failure("E2"));
            });
            EXPECT_EQ(message(caught([&] { await_collect(three.inputs, {mode, 2}); })), "E1");
            Three good(scheduler());
            in_next_tick([&] {
                good.c->complete(3);
                good.a->complete(1);
                good.b->complete(2);
            });
            EXPECT_EQ(say(await_collect(good.inputs, {mode, 3})), "2=3 0=1 1=2");
        }
    });
    EXPECT_FALSE(exit);
}

TEST_F(Collect, AnySuccessReportsAllErrorsAndThrowsNone) {
    run([&] {
        Three three(scheduler());
        in_next_tick([&] {
            three.c->fail(failure("E3"));
            three.a->fail(failure("E1"));
            three.b->fail(failure("E2"));
        });
        EXPECT_EQ(say(await_collect(three.inputs, {CollectMode::any_success})), "2!E3 0!E1 1!E2");  // AWC-12
    });
}

TEST_F(Collect, EmptyInputsEndAtOnce) {
    run([&] {
        spawn([&] { log("other"); });
        for (const CollectMode mode : {CollectMode::all, CollectMode::all_or_fail, CollectMode::any, CollectMode::some,
                                       CollectMode::some_or_fail, CollectMode::some_success, CollectMode::any_success}) {
            EXPECT_TRUE(await_collect({}, {mode}).order.empty());  // AWC-11
        }
        await_all(std::span<EventSource* const>());
        EXPECT_THROW(await_any({}), ValueError);  // there is no index to return
        log("main");
    });
    EXPECT_EQ(text(), "main other");
}

TEST_F(Collect, SettledInputsAreReplayedInListOrderAndTheRestIsNotTouched) {
    run([&] {
        const auto done = spawn([] {});
        const auto failed = spawn([] { throw Failure("kept"); });
        const auto later = spawn([] { yield(); });
        yield();
        const Ref<OneShotEvent> fired = OneShotEvent::make(scheduler());
        fired->complete();
        const std::uint64_t before = program_.switches();
        EventSource* const inputs[] = {&later.core(), &done.core(), &failed.core()};
        // The token fired, but the condition holds already (AWC-09, AWT-13).
        EXPECT_EQ(say(await_collect(inputs, {CollectMode::any}, fired)), "1=0");
        EXPECT_EQ(program_.switches(), before);
        EXPECT_TRUE(later.core().is_used());
        EXPECT_FALSE(failed.core().is_used());  // behind the end: neither visited nor marked
        EXPECT_FALSE(fired->is_used());
        EXPECT_EQ(message(caught([&] { failed.await(); })), "kept");  // its error is still there
    });
}

TEST_F(Collect, AnErrorOfAnInputBehindTheEndIsNotLost) {
    const ErrorValue exit = run([&] {
        const auto done = spawn([] {});
        auto failed = spawn([] { throw Failure("kept"); });
        yield();
        EventSource* const inputs[] = {&done.core(), &failed.core()};
        await_collect(inputs, {CollectMode::any});
        failed.release();
        static_cast<void>(caught([] { yield(); }));
    });
    EXPECT_EQ(chain(exit), "kept");
}

TEST_F(Collect, ErrorsItSawCountAsHandled) {
    const ErrorValue exit = run([&] {
        auto early = spawn([] { throw Failure("early"); });
        yield();
        auto late = spawn([] { throw Failure("late"); });
        EventSource* const inputs[] = {&early.core(), &late.core()};
        EXPECT_EQ(say(await_collect(inputs, {CollectMode::all})), "0!early 1!late");
        early.release();
        late.release();
        yield();
    });
    EXPECT_FALSE(exit);  // AWC-15
}

TEST_F(Collect, LaterErrorsStayAtTheirSource) {
    const ErrorValue exit = run([&] {
        const Ref<Bell> b = bell();
        const auto first = spawn([] { throw Failure("first"); });
        const auto second = spawn([&] {
            wait_for(*b);
            throw Failure("second");
        });
        EventSource* const inputs[] = {&first.core(), &second.core()};
        EXPECT_EQ(message(caught([&] { await_collect(inputs, {CollectMode::some_or_fail, 2}); })), "first");
        b->ring();
        yield();
        EXPECT_EQ(message(caught([&] { second.await(); })), "second");
    });
    EXPECT_FALSE(exit);
}

TEST_F(Collect, TheSameInputTwiceCountsTwice) {
    run([&] {
        const Ref<OneShotEvent> e = OneShotEvent::make(scheduler());
        EventSource* const twice[] = {e.get(), e.get()};
        in_next_tick([&] { e->complete(4); });
        EXPECT_EQ(say(await_collect(twice, {CollectMode::some, 2})), "0=4 1=4");  // AWT-15
        EXPECT_EQ(say(await_collect(twice, {CollectMode::all})), "0=4 1=4");
        const auto c = spawn([] {});
        EventSource* const pending[] = {&c.core(), &c.core()};
        EXPECT_EQ(say(await_collect(pending, {CollectMode::all})), "0=0 1=0");
    });
}

TEST_F(Collect, ATokenDiscardsWhatWasCollected) {
    run([&] {
        Three three(scheduler());
        const Ref<OneShotEvent> token = OneShotEvent::make(scheduler());
        in_next_tick([&] {
            three.a->complete(1);
            token->fail(failure("cause"));
            three.b->complete(2);
            three.c->complete(3);  // too late
        });
        const ErrorValue thrown = caught([&] { await_collect(three.inputs, {CollectMode::all}, token); });
        EXPECT_EQ(chain(thrown), "the token fired < cause");
        EXPECT_TRUE(holds<OperationCanceled>(thrown));
        EXPECT_EQ(three.subscribers() + token->subscriber_count(), 0U);
        // Fired already: after the visit of what is settled, before anything is subscribed.
        Three again(scheduler());
        again.a->complete(1);
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { await_collect(again.inputs, {CollectMode::all}, token); })));
        EXPECT_EQ(again.subscribers(), 0U);
    });
}

TEST_F(Collect, AnInputThatIsTheTokenActsAsTheToken) {
    run([&] {
        Three three(scheduler());
        in_next_tick([&] { three.b->complete(); });
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { await_collect(three.inputs, {CollectMode::any}, three.b); })));
        // Settled before: it is not replayed as an input either.
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { await_collect(three.inputs, {CollectMode::any}, three.b); })));
    });
}

TEST_F(Collect, ACancellationDiscardsToAndAffectsNoInput) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto first = spawn([&] {
            wait_for(*b);
            return 1;
        });
        const auto second = spawn([&] {
            wait_for(*b);
            return 2;
        });
        const auto waiter = spawn([&] { log_caught([&] { await_all_or_fail(first, second); }); });
        yield();
        EXPECT_EQ(first.core().subscriber_count(), 1U);
        waiter.cancel("mine");
        EXPECT_EQ(first.core().subscriber_count(), 0U);
        waiter.await();
        EXPECT_FALSE(first.is_cancellation_requested());  // AWC-20
        b->ring();
        EXPECT_EQ(first.await() + second.await(), 3);
    });
    EXPECT_EQ(text(), "mine");
}

TEST_F(Collect, AnErrorThatIsTheAnswerIsFollowedByACancellationInTheWindow) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            for (const CollectMode mode : {CollectMode::all_or_fail, CollectMode::any}) {
                const Ref<OneShotEvent> e = OneShotEvent::make(program.scheduler());
                const auto waiter = spawn([&] {
                    EventSource* const inputs[] = {e.get()};
                    program.log(message(caught([&] {
                        const Collected collected = await_collect(inputs, {mode});
                        collected.outcomes.front().error.rethrow();
                    })));
                    program.log(message(caught([] { yield(); })));
                });
                yield();
                e->fail(ErrorValue::make<Failure>("E"));
                waiter.cancel("C");
                waiter.await();
            }
        });
        EXPECT_EQ(program.text(), "E C E C");  // WKR-11(b)
        EXPECT_FALSE(exit);
    });
}

TEST_F(Collect, OnlyAllOrFailCancelsTheRestAndWaitsForIt) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            const auto slow = spawn([&] {
                static_cast<void>(caught([] { wait_forever(); }));
                yield();
                program.log("slow ended");
            });
            const auto unstarted_by_then = spawn([&] { program.log(message(caught([] { wait_forever(); }))); });
            const Ref<OneShotEvent> other = OneShotEvent::make(program.scheduler());
            const auto fails = spawn([] { throw Failure("E"); });
            program.log(message(caught([&] { await_all_or_fail(slow, unstarted_by_then, fails); })));
            EXPECT_TRUE(slow.is_completed());
            EXPECT_TRUE(unstarted_by_then.is_completed());
        });
        EXPECT_EQ(program.text(), "the wait for it and its siblings is over slow ended E");  // AWT-16
        EXPECT_FALSE(exit);
    });
}

TEST_F(Collect, AllOrFailEndedByItsTokenCancelsTheRestToo) {
    run([&] {
        const auto slow = spawn([&] { log_caught([] { wait_forever(); }); });
        EventSource* const inputs[] = {&slow.core()};
        const ErrorValue thrown = caught([&] { await_collect(inputs, {CollectMode::all_or_fail}, Timeout(5ms)); });
        EXPECT_TRUE(holds<OperationCanceled>(thrown));
        EXPECT_TRUE(slow.is_completed());
        const auto other = spawn([&] { log_caught([] { wait_forever(); }); });
        EventSource* const others[] = {&other.core()};
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { await_collect(others, {CollectMode::all}, Timeout(5ms)); })));
        EXPECT_FALSE(other.is_cancellation_requested());  // no other form does
        other.cancel("end");
    });
    EXPECT_EQ(text(), "the wait for it and its siblings is over end");
}

TEST_F(Collect, CancelRestSelectsItForAnyOtherForm) {
    run([&] {
        const auto fast = spawn([] { return 1; });
        const auto slow = spawn([&] { log_caught([] { wait_forever(); }); });
        EventSource* const inputs[] = {&fast.core(), &slow.core()};
        CollectOptions options;
        options.mode = CollectMode::any;
        options.cancel_rest = true;
        EXPECT_EQ(await_collect(inputs, options).order.front(), 0U);
        EXPECT_TRUE(slow.is_completed());
    });
    EXPECT_EQ(text(), "the wait for it and its siblings is over");
}

TEST_F(Collect, ACancellationWhileItWaitsForTheRestIsRaisedAfterIt) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto slow = spawn([&] {
            static_cast<void>(caught([] { wait_forever(); }));
            wait_for(*b);
            log("slow");
        });
        const auto fails = spawn([] { throw Failure("E"); });
        const auto waiter = spawn([&] {
            log_caught([&] { await_all_or_fail(slow, fails); });
            log_caught([] { yield(); });
        });
        yield();
        yield();
        yield();
        waiter.cancel("C");
        b->ring();
        waiter.await();
    });
    EXPECT_EQ(text(), "slow E C");  // PROT-03
}

TEST_F(Collect, AShutdownWhileItWaitsForTheRestIsNotSwallowed) {
    run([&] {
        const auto stubborn = spawn([&] {
            static_cast<void>(caught([] { wait_forever(); }));
            static_cast<void>(caught([] { pause_for(50ms); }));
            static_cast<void>(caught([] { pause_for(50ms); }));
            log("stubborn");
        });
        const auto fails = spawn([] { throw Failure("E"); });
        spawn([&] {
            log_caught([&] { await_all_or_fail(stubborn, fails); });
            log_caught([] { yield(); });
        });
        yield();
        yield();
        yield();
        shutdown(ErrorValue::make<AsyncCancellation>("shutdown"));
    });
    EXPECT_EQ(text(), "E shutdown stubborn");
}

TEST_F(Collect, ForeignExceptionsOfTheRestAreTakenByIt) {
    const ErrorValue exit = run([&] {
        const auto odd = spawn([] {
            static_cast<void>(caught([] { wait_forever(); }));
            throw 42;  // NOLINT: programs may throw what they like
        });
        const auto fails = spawn([] { throw Failure("E"); });
        log_caught([&] { await_all_or_fail(odd, fails); });
    });
    EXPECT_EQ(text(), "E");
    EXPECT_FALSE(exit);
}

TEST_F(Collect, AnyReturnsTheIndexAndThrowsAnErrorOnlyOfTheFirst) {
    run([&] {
        Three three(scheduler());
        in_next_tick([&] {
            three.c->complete();
            three.a->fail(failure("late"));
        });
        EXPECT_EQ(await_any({three.a.get(), three.b.get(), three.c.get()}), 2U);
        EXPECT_EQ(message(caught([&] { await_any({three.b.get(), three.a.get()}); })), "late");
    });
}

TEST_F(Collect, AllWaitsForEveryEndAndThrowsTheFirstErrorThen) {
    const ErrorValue exit = run([&] {
        const auto cancelled = spawn([] { throw AsyncCancellation("counts as ended"); });
        const auto fails = spawn([] { throw Failure("E"); });
        const auto slow = spawn([&] {
            yield();
            yield();
            log("slow");
        });
        log_caught([&] { await_all(cancelled, fails, slow); });
    });
    EXPECT_EQ(text(), "slow E");
    EXPECT_FALSE(exit);
}

TEST_F(Collect, AClosedInputWithoutAnOutcomeIsRefused) {
    run([&] {
        const Ref<Bell> closed = bell();
        closed->close();
        const Ref<OneShotEvent> open = OneShotEvent::make(scheduler());
        EventSource* const inputs[] = {open.get(), closed.get()};
        EXPECT_THROW(await_collect(inputs, {}), AsyncError);  // INV-EVT-07: it could never settle
        EXPECT_EQ(open->subscriber_count(), 0U);
    });
}

TEST_F(Collect, AnInputThatCannotBeStartedEndsIt) {
    run([&] {
        const Ref<Bell> bad = bell();
        bad->at_start([] { throw IoError("cannot be watched"); });
        const Ref<OneShotEvent> open = OneShotEvent::make(scheduler());
        EventSource* const inputs[] = {open.get(), bad.get()};
        EXPECT_THROW(await_collect(inputs, {}), IoError);
        EXPECT_EQ(open->subscriber_count() + bad->subscriber_count(), 0U);
    });
}

TEST_F(Collect, ManyInputsAreOneWait) {
    run([&] {
        std::vector<Coroutine<>> coroutines;
        std::vector<EventSource*> inputs;
        for (int i = 0; i < 2000; ++i) {
            coroutines.push_back(spawn([] { yield(); }));
            inputs.push_back(&coroutines.back().core());
        }
        const std::uint64_t before = program_.switches();
        await_all(inputs);
        EXPECT_LT(program_.switches() - before, 5000U);
    });
}

}  // namespace
}  // namespace heddle::testing
