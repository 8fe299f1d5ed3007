// SPDX-License-Identifier: Apache-2.0
// Cancellation requests by the state of their target (CAN-1 to CAN-20, S6, S8, S9, INV-CAN).
#include "heddle/core/run/cancellation.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

/// A cancellation of a program's own kind.
class Stop : public Cancellation {
public:
    using Cancellation::Cancellation;
};

class Cancel : public ::testing::Test, protected World {};

TEST(CancellationTypes, FormTheFamilyThatHandlersOfErrorsDoNotCatch) {
    static_assert(!std::is_base_of_v<std::exception, Cancellation>);  // CAN-2
    static_assert(std::is_base_of_v<Cancellation, AsyncCancellation>);
    static_assert(std::is_base_of_v<AsyncCancellation, OperationCanceled>);
    static_assert(std::is_base_of_v<AsyncError, ServiceUnavailable>);
    static_assert(std::is_base_of_v<AsyncError, ContextError>);
    EXPECT_TRUE(ErrorValue::make<Stop>("stop").is_cancellation());
    EXPECT_FALSE(ErrorValue::make<TimeoutError>().is_cancellation());
}

TEST_F(Cancel, OfEachKindDoesWhatTheTableSays) {
    struct Row {
        CancelKind kind;
        bool unstarted_runs, started_is_cancelled;
        std::size_t active, zombies;  // right after the request: who will never run counts until its turn (CAN-7)
        const char* log;
    };
    for (const Row& row : {Row{CancelKind::forced, false, true, 2, 0, "r"},
                           Row{CancelKind::safe_cancel, false, false, 1, 1, "none"},
                           Row{CancelKind::safe_dispose, true, false, 0, 2, "runs none"}}) {  // CAN-3
        program_.clear();
        const ErrorValue exit = run([&] {
            Scope scope;
            const Ref<Bell> b = bell();
            const auto started = scope.spawn([&] { log_caught([&] { wait_for(*b); }); });
            yield();
            const auto unstarted = scope.spawn([&] { log("runs"); });
            cancel(started, row.kind, "r");
            cancel(unstarted, row.kind, "r");
            EXPECT_EQ(started.is_cancellation_requested(), row.started_is_cancelled);
            EXPECT_EQ(started.is_zombie(), !row.started_is_cancelled);
            EXPECT_EQ(unstarted.state(), row.unstarted_runs ? CoroutineState::ready_new : CoroutineState::doomed);
            EXPECT_EQ(unstarted.is_zombie(), row.unstarted_runs);
            EXPECT_EQ(scope.core().active(), row.active);
            EXPECT_EQ(scope.core().zombies(), row.zombies);
            yield();
            b->ring();
            yield();
            EXPECT_EQ(unstarted.is_started(), row.unstarted_runs);
            EXPECT_EQ(scope.core().active() + scope.core().zombies(), 0U);
        });
        EXPECT_EQ(text(), row.log);
        EXPECT_FALSE(exit);
    }
}

TEST_F(Cancel, InterruptsNothingBetweenSuspensionPoints) {
    run([&] {
        const auto c = spawn([&] {
            log("a");
            yield();
            log("never");
        });
        yield();
        c.cancel();
        log("main goes on");  // CAN-6: never switches
        yield();
        EXPECT_TRUE(c.is_completed());
    });
    EXPECT_EQ(text(), "a main goes on");
}

TEST_F(Cancel, RefusesAReasonThatIsNoCancellation) {
    run([&] {
        const auto c = spawn([&] { log("runs"); });
        EXPECT_THROW(c.cancel(ErrorValue::make<Failure>("no")), ValueError);  // CAN-5
        EXPECT_FALSE(c.is_cancellation_requested());
        c.await();
        EXPECT_FALSE(c.is_cancelled());
    });
    EXPECT_EQ(text(), "runs");
}

TEST_F(Cancel, DeliversTheVeryReasonObject) {
    run([&] {
        const ErrorValue reason = ErrorValue::make<Stop>("mine");
        const auto c = spawn([&] {
            const ErrorValue got = caught([] { wait_forever(); });
            EXPECT_TRUE(holds<Stop>(got));
            EXPECT_TRUE(got.same_error(reason));
        });
        yield();
        c.cancel(reason);
        c.await();
        const auto plain = spawn([] { wait_forever(); });
        yield();
        plain.cancel();
        yield();
        EXPECT_TRUE(holds<AsyncCancellation>(plain.error()));
    });
}

TEST_F(Cancel, OfAnUnstartedCoroutineIsSeenByEverybodyWhoCares) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            // S6: the finally handler runs, the awaiter gets the reason, the entry never runs (CAN-7).
            const auto c = spawn([&] { program.log("never"); });
            c.finally([&](const CoroutineHandle& handle) {
                EXPECT_TRUE(handle.is_cancelled());
                program.log("finally");
            });
            c.cancel("r");
            program.log(message(caught([&] { c.await(); })));
            EXPECT_FALSE(c.is_started());
        });
        EXPECT_EQ(program.text(), "finally r");
    });
}

TEST_F(Cancel, OfAFinishedCoroutineChangesNothing) {
    run([&] {
        const auto value = spawn([] { return 1; });
        const auto failed = spawn([] { throw Failure("E"); });
        yield();
        value.cancel();
        failed.cancel();
        EXPECT_EQ(value.await(), 1);
        EXPECT_FALSE(value.is_cancelled());
        log_caught([&] { failed.await(); });
        EXPECT_FALSE(failed.is_cancelled());
    });
    EXPECT_EQ(text(), "E");  // CAN-9
}

TEST_F(Cancel, DropsAFurtherRequestUntilTheFirstIsDelivered) {
    run([&] {
        const auto c = spawn([&] {
            log_caught([] { wait_forever(); });  // S9
            log_caught([] { yield(); });
        });
        yield();
        c.cancel("r1");
        c.cancel("r2");  // CAN-10
        c.await();
        EXPECT_TRUE(c.is_cancelled());
        EXPECT_FALSE(c.error());
    });
    EXPECT_EQ(text(), "r1 none");
}

TEST_F(Cancel, AcceptsANewRequestOnceTheFirstWasDelivered) {
    run([&] {
        const auto c = spawn([&] {
            log_caught([] { wait_forever(); });
            wait_forever();  // S8: its clean-up
        });
        yield();
        c.cancel("r1");
        yield();
        c.cancel("r2");
        log_caught([&] { c.await(); });
        EXPECT_EQ(message(c.error()), "r2");
    });
    EXPECT_EQ(text(), "r1 r2");  // CAN-15
}

TEST_F(Cancel, OfItselfLetsItRunToItsNextSuspension) {
    const ErrorValue exit = run([&] {
        const auto c = spawn([&] {
            current_coroutine().cancel("self");
            log("still here");
            EXPECT_TRUE(current_coroutine().is_cancellation_requested());
            yield();
            log("never");
        });
        yield();
        EXPECT_EQ(message(c.error()), "self");
        EXPECT_TRUE(c.is_cancelled());
    });
    EXPECT_EQ(text(), "still here");  // CAN-12
    EXPECT_FALSE(exit);
}

TEST_F(Cancel, PendingAtTheEndBecomesTheOutcome) {
    run([&] {
        const auto value = spawn([] {
            current_coroutine().cancel("self");
            return 7;
        });
        const auto other = spawn([] {
            current_coroutine().cancel("self");
            throw AsyncCancellation("by hand");
        });
        const auto error = spawn([] {
            current_coroutine().cancel("self");
            throw Failure("E");
        });
        log_caught([&] { value.await(); });
        EXPECT_FALSE(value.result().has_value());  // SCH-48 F4(i): the value is discarded
        log_caught([&] { other.await(); });
        log_caught([&] { error.await(); });
        EXPECT_EQ(chain(error.error()), "E < self");  // F4(ii)
    });
    EXPECT_EQ(text(), "self self E");
}

TEST_F(Cancel, AnErrorThatEscapesItsHandlingKeepsItAsPrevious) {
    run([&] {
        const auto c = spawn([&] {
            try {
                wait_forever();
            } catch (const Cancellation&) {
                throw Failure("E");
            }
        });
        yield();
        c.cancel("r");
        log_caught([&] { c.await(); });
        EXPECT_EQ(chain(c.error()), "E < r");  // CAN-13
    });
    EXPECT_EQ(text(), "E");
}

TEST_F(Cancel, OfSeveralThatWereDeliveredTheLastOneIsThePreviousOfAnError) {
    run([&] {
        const auto c = spawn([&] {
            log_caught([] { wait_forever(); });
            log_caught([] { wait_forever(); });
            throw Failure("E");
        });
        yield();
        c.cancel("r1");
        yield();
        c.cancel("r2");
        static_cast<void>(caught([&] { c.await(); }));
        EXPECT_EQ(chain(c.error()), "E < r2");  // CAN-13
    });
    EXPECT_EQ(text(), "r1 r2");
}

TEST_F(Cancel, UndeliveredIsDroppedByTerminalUnwinding) {
    CoroutineHandle kept;
    const ErrorValue exit = run([&] {
        kept = spawn([&] {
            for (const char* reason : {"r1", "r2"}) {
                current_coroutine().cancel(reason);
                log_caught([] { protect([] { wait_forever(); }); });
            }
            log("never");
        });
    });
    // The first deadlock delivers what is pending; the second one unwinds (CAN-11).
    EXPECT_EQ(text(), "r1");
    EXPECT_EQ(message(kept.error()), "the runtime ended before this coroutine did");
    EXPECT_TRUE(holds<DeadlockError>(exit));
}

TEST_F(Cancel, MayBeSuppressedAndIsNotThrownAgain) {
    run([&] {
        const auto c = spawn([&] {
            log_caught([] { wait_forever(); });
            for (int i = 0; i < 3; ++i) { yield(); }
            return 3;
        });
        yield();
        c.cancel("r");
        EXPECT_EQ(c.await(), 3);  // CAN-14
        EXPECT_TRUE(c.is_cancelled());
    });
    EXPECT_EQ(text(), "r");
}

TEST_F(Cancel, ThatEscapesIsNoErrorOfAnybody) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler([&](const ScopeRef&, const CoroutineHandle&, const ErrorValue&) { log("handler"); });
        const auto c = scope.spawn([] { wait_forever(); });
        const auto sibling = scope.spawn([&] {
            yield();
            yield();
            log("sibling");
        });
        yield();
        c.cancel("r");
        log_caught([&] { c.await(); });  // awaiters still receive it (CAN-16)
        sibling.await();
        EXPECT_FALSE(scope.is_cancelled());
    });
    EXPECT_EQ(text(), "sibling r");
    EXPECT_FALSE(exit);  // INV-CAN-08
}

TEST_F(Cancel, ThrownByHandIsTreatedAlikeButWasNoRequest) {
    const ErrorValue exit = run([&] {
        const auto c = spawn([] { throw AsyncCancellation("by hand"); });
        log_caught([&] { c.await(); });
        EXPECT_FALSE(c.is_cancelled());  // CAN-17
    });
    EXPECT_EQ(text(), "by hand");
    EXPECT_FALSE(exit);
}

TEST_F(Cancel, KeepsTheQueuePlaceOfItsTarget) {
    run([&] {
        const auto x = spawn([&] { log_caught([] { yield(); }); });
        const auto y = spawn([&] { log_caught([] { yield(); }); });
        yield();
        y.cancel("Y");
        x.cancel("X");
        yield();
    });
    EXPECT_EQ(text(), "X Y");  // CAN-8
}

TEST_F(Cancel, EndsOnlyTheWaitForIo) {
    run([&] {
        const Ref<ReactorEvent> task = ReactorEvent::task(scheduler(), [&] { log("done anyway"); });
        const auto c = spawn([&] { log_caught([&] { wait_for(*task); }); });
        yield();
        c.cancel("r");
        c.await();
        EXPECT_EQ(program_.reactor().active_events(), 1U);  // CAN-20: it is still on its way
        wait_for(*task);
    });
    EXPECT_EQ(text(), "r done anyway");
}

TEST_F(Cancel, ByACoroutineThatEndsOtherwiseCountsOnlyIfItWasAccepted) {
    run([&] {
        const auto c = spawn([&] {
            current_coroutine().cancel("a");
            current_coroutine().cancel("b");
            log_caught([] { yield(); });
            log_caught([] { yield(); });
        });
        c.await();
    });
    EXPECT_EQ(text(), "a none");  // INV-CAN-01: each is delivered once or dropped
}

}  // namespace
}  // namespace heddle::testing
