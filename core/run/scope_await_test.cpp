// SPDX-License-Identifier: Apache-2.0
// Waiting for scopes (SCP-25 to SCP-28, S12, S16, INV-SCOPE-10 to 12, INV-ERR-07).
#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class ScopeWaitTest : public ::testing::Test, protected World {
protected:
    /// A token that nobody fires.
    EventSource& no_token() {
        if (!token_) { token_ = OneShotEvent::make(scheduler(), "token"); }
        return *token_;
    }
    /// A coroutine outside the scope that waits for its completion and says how it went.
    auto completion(const ScopeRef& scope, std::string name = "W") {
        return spawn([this, scope, name] { log(name + ":" + message(caught([&] { scope.await_completion(no_token()); }))); });
    }
    auto after_cancellation(const ScopeRef& scope, std::string name = "Z") {
        return spawn([this, scope, name] { log(name + ":" + message(caught([&] { scope.await_after_cancellation(); }))); });
    }
    static ErrorValue reason(const char* text = "r") { return ErrorValue::make<AsyncCancellation>(text); }

    void TearDown() override { token_.reset(); }
    Ref<OneShotEvent> token_;
};

using Completion = ScopeWaitTest;

TEST_F(Completion, WaitsForTheActiveCoroutinesOfTheWholeSubtree) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            Scope child = scope.inherit();
            scope.spawn([&] {
                yield();
                program.log("member");
            });
            child.spawn([&] {
                for (int i = 0; i < 3; ++i) { yield(); }
                program.log("below");
            });
            const Ref<OneShotEvent> token = OneShotEvent::make(program.scheduler());
            scope.await_completion(*token);
            program.log("done");
            EXPECT_TRUE(token->is_used());  // marked, although it never fired
            EXPECT_TRUE(scope.core().is_open());
        });
        EXPECT_EQ(program.text(), "member below done");
    });
}

TEST_F(Completion, ReturnsAtOnceWhereNothingIsActive) {
    Scope* outside = nullptr;
    run([&] {
        Scope scope;
        outside = &scope;
        const std::uint64_t before = program_.switches();
        scope.await_completion(no_token());  // row 5: empty
        Scope child = scope.inherit();
        scope.await_completion(no_token());  // an empty child, too
        scope.dispose();
        scope.await_completion(no_token());  // row 1: terminated
        EXPECT_EQ(program_.switches(), before);

        Scope busy;
        busy.spawn([] { wait_forever(); });
        yield();
        in_next_tick([&] { busy.await_completion(no_token()); });  // row 1: no current coroutine
        yield();
        busy.cancel();
        yield();
        busy.await_completion(no_token());  // closed and drained
    });
}

TEST_F(Completion, DoesNotWaitForZombies) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const auto zombie = scope.spawn([] { yield(); });
        yield();
        scope.dispose();
        scope.await_completion(no_token());  // row 2
        EXPECT_FALSE(zombie.is_completed());
        EXPECT_TRUE(scope.is_finished());
        zombie.await();
    });
}

TEST_F(Completion, OfACancelledScopeWithMembersThrowsItsCancellation) {
    run([&] {
        // S12
        Scope scope;
        const auto a = scope.spawn([&] {
            static_cast<void>(caught([] { wait_forever(); }));
            yield();
            log("cleaned");
        });
        yield();
        const ErrorValue why = reason("why");
        scope.cancel(why);
        EXPECT_TRUE(caught([&] { scope.await_completion(no_token()); }).same_error(why));  // row 3
        EXPECT_FALSE(scope.is_closed());
        scope.await_after_cancellation();
        log("after");
        EXPECT_TRUE(a.is_completed());
    });
    EXPECT_EQ(text(), "cleaned after");
}

TEST_F(Completion, OfItsOwnScopeIsRefused) {
    run([&] {
        Scope scope;
        Scope child = scope.inherit();
        const auto member = scope.spawn([&] {
            EXPECT_THROW(scope.await_completion(no_token()), AsyncError);  // row 4
            EXPECT_THROW(scope.await_after_cancellation(), AsyncError);    // not cancelled either
        });
        const auto below = child.spawn([&] { EXPECT_THROW(scope.await_completion(no_token()), AsyncError); });
        const auto cancelled = scope.spawn([&] {
            protect([] { yield(); });
            scope.dispose_safely();
            EXPECT_THROW(scope.await_after_cancellation(), AsyncError);
        });
        member.await();
        below.await();
        cancelled.await();
        EXPECT_THROW(current_scope().await_completion(no_token()), AsyncError);
    });
}

TEST_F(Completion, EndsWithTheCancellationThatDidNotCompleteTheScope) {
    run([&] {
        Scope scope;
        scope.spawn([&] { log_caught([] { wait_forever(); }); });
        completion(scope);
        yield();
        scope.cancel(reason("r"));
        yield();
    });
    EXPECT_EQ(text(), "r W:r");
}

TEST_F(Completion, ReturnsWhenARequestCompletedTheScope) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            // Two members become zombies one after the other: the wait must not take the first for a cancellation.
            Scope scope;
            scope.allow_zombies();
            Scope child = scope.inherit();
            const auto a = scope.spawn([] { yield(); });
            const auto b = scope.spawn([] { yield(); });
            const auto c = child.spawn([] { yield(); });
            const Ref<OneShotEvent> token = OneShotEvent::make(program.scheduler());
            const auto w = spawn([&] {
                program.log(message(caught([&] { scope.await_completion(*token); })));
            });
            yield();
            scope.dispose();
            w.await();
            a.await();
            b.await();
            c.await();
        });
        EXPECT_EQ(program.text(), "none");
    });
}

TEST_F(Completion, EndsWithAnErrorOfTheSubtreeWhichIsHandledByThat) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            // S16
            Scope scope;
            Scope child = scope.inherit();
            const Ref<OneShotEvent> token = OneShotEvent::make(program.scheduler());
            scope.spawn([&] { program.log(message(caught([] { wait_forever(); }))); });
            child.spawn([] { throw Failure("E"); });
            program.log(message(caught([&] { scope.await_completion(*token); })));
            EXPECT_TRUE(scope.is_cancelled());
            yield();
        });
        // The sibling was queued by the same error, before the waiter.
        EXPECT_EQ(program.text(), "a sibling failed E");
        EXPECT_FALSE(exit);
    });
}

TEST_F(Completion, GetsTheErrorAlsoWhenItMakesZombiesOfTheRest) {
    const ErrorValue exit = run([&] {
        // INV-ERR-07 in a safe scope: the error reaches the waiter before what it causes.
        Scope scope;
        scope.allow_zombies();
        scope.spawn([&] {
            yield();
            yield();
            log("zombie");
        });
        scope.spawn([] {
            yield();
            throw Failure("E");
        });
        completion(scope, "W1");
        completion(scope, "W2");
        for (int i = 0; i < 3; ++i) { yield(); }
    });
    EXPECT_EQ(text(), "zombie W1:E W2:E");
    EXPECT_FALSE(exit);
}

TEST_F(Completion, AZombiesErrorReachesItToo) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.allow_zombies();
        const auto zombie = scope.spawn([] {
            yield();
            throw Failure("E");
        });
        const auto active = scope.spawn([] { wait_forever(); });
        completion(scope);
        yield();
        cancel(zombie, CancelKind::safe_cancel);
        yield();
        yield();
        EXPECT_TRUE(active.is_zombie());  // ZOM-17: by the error in a safe scope
        active.cancel();
        static_cast<void>(caught([&] { zombie.await(); }));
    });
    EXPECT_EQ(text(), "W:E");
    EXPECT_FALSE(exit);
}

TEST_F(Completion, ATokenEndsTheWaitAndNothingElse) {
    run([&] {
        Scope scope;
        scope.spawn([] { wait_forever(); });
        const Ref<OneShotEvent> token = OneShotEvent::make(scheduler());
        const auto w = spawn([&] {
            const ErrorValue thrown = caught([&] { scope.await_completion(*token); });
            EXPECT_TRUE(holds<OperationCanceled>(thrown));
            EXPECT_EQ(scope.core().waiter_count(), 0U);
        });
        yield();
        EXPECT_EQ(scope.core().waiter_count(), 1U);
        token->complete();
        w.await();
        EXPECT_FALSE(scope.is_cancelled());
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { scope.await_completion(*token); })));  // fired before
        scope.cancel();
        yield();
    });
}

TEST_F(Completion, SeveralWaitersAreWokenInTheOrderTheyCame) {
    run([&] {
        Scope scope;
        scope.spawn([] {
            yield();
            yield();
        });
        completion(scope, "W1");
        completion(scope, "W2");
        const auto cancelled = completion(scope, "W3");
        yield();
        cancelled.cancel("mine");
        yield();
        yield();
        yield();
    });
    EXPECT_EQ(text(), "W3:mine W1:none W2:none");
}

TEST_F(Completion, WaitersOfAChildAreToldBeforeThoseOfItsParent) {
    run([&] {
        Scope parent;
        Scope child = parent.inherit();
        parent.spawn([] { wait_forever(); });
        child.spawn([] { wait_forever(); });
        completion(parent, "P");
        completion(child, "C");
        yield();
        parent.cancel(reason("r"));
        yield();
    });
    EXPECT_EQ(text(), "C:r P:r");  // SCP-16
}

TEST_F(Completion, AWaiterThatIsOnItsWayTakesNoError) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.spawn([] {
            yield();
            throw Failure("E");
        });
        const auto w = completion(scope);
        yield();
        w.cancel("mine");
        log_caught([] { yield(); });
    });
    EXPECT_EQ(text(), "W:mine graceful shutdown");  // ERR-1.5: nobody took it
    EXPECT_EQ(chain(exit), "E");
}

TEST_F(Completion, AReturnMeansThatItHeldWhenTheWaiterWasWoken) {
    run([&] {
        Scope scope;
        scope.spawn([] { yield(); });
        const auto w = spawn([&] {
            scope.await_completion(no_token());
            EXPECT_EQ(scope.core().active(), 1U);  // SCP-28: it got a member in between
            log("returned");
        });
        spawn([&] {
            yield();
            scope.spawn([&] { log("new"); });
        });
        w.await();
        yield();
    });
    EXPECT_EQ(text(), "returned new");
}

// ── await_after_cancellation ──

using AfterCancellation = ScopeWaitTest;

TEST_F(AfterCancellation, RefusesAScopeThatWasNeitherCancelledNorDisposed) {
    run([&] {
        Scope scope;
        const auto a = scope.spawn([] { wait_forever(); });
        yield();
        EXPECT_THROW(scope.await_after_cancellation(), AsyncError);
        scope.cancel();
        scope.await_after_cancellation();
        EXPECT_TRUE(a.is_completed());
        scope.await_after_cancellation();  // terminated: returns
        Scope empty;
        empty.await_after_cancellation();  // drained: returns
    });
}

TEST_F(AfterCancellation, WaitsForEverybodyZombiesIncluded) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        Scope child = scope.inherit();
        scope.spawn([&] {
            yield();
            log("a");
        });
        child.spawn([&] {
            for (int i = 0; i < 4; ++i) { yield(); }
            log("b");
        });
        yield();
        scope.dispose_safely();
        after_cancellation(scope);
        completion(scope);
        scope.await_after_cancellation();
        log("main");
        yield();
    });
    EXPECT_EQ(text(), "a W:none b main Z:none");  // not after the first member
}

TEST_F(AfterCancellation, EndsWithTheFirstErrorIfThereIsNoHandler) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.spawn([] {
            static_cast<void>(caught([] { wait_forever(); }));
            throw Failure("E");
        });
        scope.spawn([] {
            static_cast<void>(caught([] { wait_forever(); }));
            for (int i = 0; i < 3; ++i) { yield(); }
        });
        yield();
        scope.cancel();
        log_caught([&] { scope.await_after_cancellation(); });
        EXPECT_FALSE(scope.core().is_terminated());
    });
    EXPECT_EQ(text(), "E");
    EXPECT_FALSE(exit);
}

TEST_F(AfterCancellation, GivesErrorsToItsHandlerAndGoesOnWaiting) {
    const ErrorValue exit = run([&] {
        Scope scope;
        for (const char* name : {"E1", "E2"}) {
            scope.spawn([name] {
                static_cast<void>(caught([] { wait_forever(); }));
                throw Failure(name);
            });
        }
        scope.spawn([] {
            wait_forever();  // a cancellation, which is never passed to the handler
        });
        yield();
        scope.cancel();
        scope.await_after_cancellation([&](const ErrorValue& error, const ScopeRef& of) {  // SCP-26
            EXPECT_EQ(of, ScopeRef(scope));
            EXPECT_THROW(yield(), AsyncError);
            log(message(error));
        });
        log("done");
        EXPECT_TRUE(scope.core().is_terminated());
    });
    EXPECT_EQ(text(), "E1 E2 done");
    EXPECT_FALSE(exit);
}

TEST_F(AfterCancellation, EndsWithWhatItsHandlerThrows) {
    const ErrorValue exit = run([&] {
        Scope scope;
        for (const char* name : {"E1", "E2"}) {
            scope.spawn([name] {
                static_cast<void>(caught([] { wait_forever(); }));
                if (name[1] == '2') { yield(); }
                throw Failure(name);
            });
        }
        yield();
        scope.cancel();
        log_caught([&] { scope.await_after_cancellation([](const ErrorValue&, const ScopeRef&) { throw Failure("E'"); }); });
        // A cancellation in its place would make the error vanish: the waiter gets the error (ERR-4).
        log_caught([&] {
            scope.await_after_cancellation([](const ErrorValue&, const ScopeRef&) { throw AsyncCancellation("no"); });
        });
    });
    EXPECT_EQ(text(), "E' E2");
    EXPECT_FALSE(exit);
}

TEST_F(AfterCancellation, ItsHandlerMayMakeRequestsOnTheSameScope) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.allow_zombies();
        scope.spawn([] {
            yield();
            yield();
            throw Failure("E");
        });
        const auto other = scope.spawn([&] { log("other:" + message(caught([] { wait_forever(); }))); });
        yield();
        scope.dispose_safely();
        const auto w1 = spawn([&] {
            scope.await_after_cancellation([&](const ErrorValue& error, const ScopeRef& of) {
                log("handler:" + message(error));
                of.as_not_safely().cancel(ErrorValue::make<AsyncCancellation>("enough"));  // EVT-7
                of.dispose();
            });
            log("w1");
        });
        const auto w2 = after_cancellation(scope, "w2");
        const auto w3 = completion(scope, "w3");
        w1.await();
        EXPECT_TRUE(other.is_completed());
        static_cast<void>(w2);
        static_cast<void>(w3);
    });
    EXPECT_EQ(text(), "w3:none handler:E other:enough w2:E w1");
    EXPECT_FALSE(exit);
}

TEST_F(AfterCancellation, ATokenBoundsIt) {
    run([&] {
        Scope scope;
        const auto stubborn = scope.spawn([] {
            static_cast<void>(caught([] { wait_forever(); }));
            static_cast<void>(caught([] { wait_forever(); }));
        });
        yield();
        scope.cancel();
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(10ms));
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { scope.await_after_cancellation({}, timer.get()); })));
        EXPECT_TRUE(timer->is_used());
        EXPECT_FALSE(stubborn.is_completed());
        EXPECT_EQ(scope.core().waiter_count(), 0U);
        scope.cancel();
        scope.await_after_cancellation();
    });
}

TEST_F(AfterCancellation, CoexistsWithTheOtherSort) {
    run([&] {
        // SCP-27: each is woken by its own predicate.
        Scope scope;
        const auto slow = scope.spawn([&] {
            static_cast<void>(caught([] { wait_forever(); }));
            yield();
        });
        completion(scope, "W");
        yield();
        scope.cancel(reason("r"));
        after_cancellation(scope, "Z");
        yield();
        EXPECT_EQ(text(), "W:r");
        slow.await();
        yield();
    });
    EXPECT_EQ(text(), "W:r Z:none");
}

TEST_F(AfterCancellation, AllGetTheSameErrorObject) {
    run([&] {
        Scope scope;
        scope.spawn([] {
            static_cast<void>(caught([] { wait_forever(); }));
            throw Failure("E");
        });
        scope.spawn([] {
            static_cast<void>(caught([] { wait_forever(); }));
            yield();
        });
        yield();
        scope.cancel();
        ErrorValue first;
        ErrorValue second;
        const auto a = spawn([&] { first = caught([&] { scope.await_after_cancellation(); }); });
        const auto b = spawn([&] { second = caught([&] { scope.await_after_cancellation(); }); });
        a.await();
        b.await();
        EXPECT_TRUE(first.same_error(second));
        EXPECT_EQ(message(first), "E");
    });
}

}  // namespace
}  // namespace heddle::testing
