// SPDX-License-Identifier: Apache-2.0
// The way of an error through scopes (ERR-1 to ERR-12, S2, S10, S11, INV-ERR).
#include <gtest/gtest.h>

#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

class ErrorWay : public ::testing::Test, protected World {
protected:
    /// A handler that says whom it was called for, and handles.
    ScopeErrorHandler handles(std::string name) {
        return [this, name](const ScopeRef&, const CoroutineHandle& coroutine, const ErrorValue& error) {
            log(name + "(" + (coroutine ? std::string(coroutine.name()) : "none") + "," + message(error) + ")");
        };
    }
    ScopeErrorHandler throws(std::string name, ErrorValue instead) {
        return [this, name, instead](const ScopeRef&, const CoroutineHandle&, const ErrorValue& error) {
            log(name + "(" + message(error) + ")");
            instead.rethrow();
        };
    }
    auto waits(const ScopeRef& scope, std::string name) {
        return scope.spawn([this, name] { log(name + ":" + message(caught([] { wait_forever(); }))); });
    }
};

TEST_F(ErrorWay, AHandlerMakesChildrenIndependent) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            // S2
            Scope scope;
            scope.set_exception_handler([&](const ScopeRef& of, const CoroutineHandle& coroutine, const ErrorValue& error) {
                EXPECT_EQ(of, ScopeRef(scope));
                EXPECT_TRUE(coroutine.is_completed());  // ERR-2: inside its finalization
                EXPECT_EQ(coroutine.core().scope(), &scope.core());
                program.log(std::string(coroutine.name()) + ":" + message(error));
            });
            scope.spawn("B1", [] { throw Failure("E1"); });
            scope.spawn("B2", [] { throw Failure("E2"); });
            const auto good = scope.spawn("Good", [&] {
                yield();
                program.log("good");
            });
            good.await();
            EXPECT_TRUE(scope.core().is_open());  // ERR-3
        });
        EXPECT_EQ(program.text(), "B1:E1 B2:E2 good");
        EXPECT_FALSE(exit);
    });
}

TEST_F(ErrorWay, WithoutAHandlerTheScopeFailsTogether) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            // S10, ERR-7
            Scope scope;
            scope.spawn([&] {
                const ErrorValue got = caught([] { wait_forever(); });
                EXPECT_TRUE(holds<AsyncCancellation>(got));  // a fresh one, never the error itself
                program.log("Y");
            });
            yield();
            scope.spawn([] { throw Failure("E"); });
            scope.spawn([&] { program.log("never"); });
            program.log(message(caught([] { wait_forever(); })));
        });
        EXPECT_EQ(program.text(), "Y graceful shutdown");
        EXPECT_EQ(chain(exit), "E");
    });
}

TEST_F(ErrorWay, KeptOnAHandleItStillEndsTheScope) {
    const ErrorValue exit = run([&] {
        Scope scope;
        waits(scope, "Y");
        auto x = scope.spawn([] { throw Failure("E"); });
        scope.spawn([&] { log("never"); });
        yield();
        yield();
        EXPECT_EQ(text(), "Y:a sibling failed");  // "kept" does not undo ERR-1.4
        EXPECT_EQ(message(caught([&] { x.await(); })), "E");
        x.release();
    });
    EXPECT_FALSE(exit);
}

TEST_F(ErrorWay, KeptAndNeverAwaitedItIsReportedWhenTheLastHandleGoes) {
    const ErrorValue exit = run([&] {
        Scope scope;
        auto x = scope.spawn([] { throw Failure("E"); });
        CoroutineHandle copy = x;
        yield();
        x.release();
        log_caught([] { yield(); });
        copy.release();
        log_caught([] { yield(); });
    });
    EXPECT_EQ(text(), "none graceful shutdown");
    EXPECT_EQ(chain(exit), "E");
}

TEST_F(ErrorWay, AKeptErrorAfterTheRunIsADiagnosticOnly) {
    Coroutine<> x;
    EXPECT_FALSE(run([&] {
        x = spawn([] { throw Failure("E"); });
        yield();
    }));
    x.release();
    EXPECT_FALSE(run([] {}));
}

TEST_F(ErrorWay, GoesUpThroughChildHandlerThenHandler) {
    // S11: the child scope's handler first, the scope's own only if the first is absent or throws.
    const auto tree = [&](bool child_handler, bool child_throws, bool handler) {
        program_.clear();
        ErrorValue exit = run([&] {
            Scope parent;
            if (child_handler) {
                parent.set_child_scope_exception_handler(child_throws ? throws("K", ErrorValue::make<Failure>("E'")) : handles("K"));
            }
            if (handler) { parent.set_exception_handler(handles("H")); }
            Scope child = parent.inherit();
            child.spawn("X", [] { throw Failure("E"); });
            static_cast<void>(caught([] { yield(); }));
            EXPECT_TRUE(child.is_cancelled());
            EXPECT_EQ(parent.core().is_open(), child_handler ? !child_throws || handler : handler);
        });
        return chain(exit);
    };
    EXPECT_EQ(tree(true, false, true), "none");
    EXPECT_EQ(text(), "K(X,E)");
    EXPECT_EQ(tree(false, false, true), "none");
    EXPECT_EQ(text(), "H(X,E)");
    EXPECT_EQ(tree(true, true, true), "none");
    EXPECT_EQ(text(), "K(E) H(X,E')");
    EXPECT_EQ(tree(true, true, false), "E' < E");
    EXPECT_EQ(text(), "K(E)");
}

TEST_F(ErrorWay, AScopesOwnErrorsDoNotAskItsChildHandler) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_child_scope_exception_handler(handles("K"));
        scope.spawn([] { throw Failure("E"); });
        static_cast<void>(caught([] { yield(); }));
        EXPECT_TRUE(scope.is_cancelled());
    });
    EXPECT_EQ(text(), "");
    EXPECT_EQ(chain(exit), "E");
}

TEST_F(ErrorWay, AHandlersErrorReplacesItAndACancellationDoesNot) {
    const ErrorValue exit = run([&] {
        Scope outer;
        outer.set_child_scope_exception_handler(handles("outer"));
        Scope scope = outer.inherit();
        scope.set_exception_handler(throws("H", ErrorValue::make<Failure>("E'")));
        scope.spawn("X", [] { throw Failure("E"); });
        yield();
        EXPECT_TRUE(scope.is_cancelled());

        Scope second = outer.inherit();
        second.set_exception_handler(throws("H", ErrorValue::make<AsyncCancellation>("no")));
        second.spawn("Y", [] { throw Failure("E"); });
        yield();
        EXPECT_TRUE(second.is_cancelled());
    });
    EXPECT_EQ(text(), "H(E) outer(X,E') H(E) outer(Y,E)");
    EXPECT_FALSE(exit);
}

TEST_F(ErrorWay, TheSameErrorThrownAgainKeepsItsHistory) {
    ErrorValue seen;
    run([&] {
        Scope outer;
        outer.set_child_scope_exception_handler([&](const ScopeRef&, const CoroutineHandle&, const ErrorValue& error) { seen = error; });
        Scope scope = outer.inherit();
        scope.set_exception_handler([](const ScopeRef&, const CoroutineHandle&, const ErrorValue& error) { error.rethrow(); });
        const auto x = scope.spawn([] {
            current_coroutine().cancel("r");
            throw Failure("E");
        });
        yield();
        static_cast<void>(caught([&] { x.await(); }));
    });
    EXPECT_EQ(chain(seen), "E < r");  // SCH-89
}

TEST_F(ErrorWay, WhatReplacedItIsReportedAlthoughAHandleExists) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler(throws("H", ErrorValue::make<Failure>("E'")));
        const auto x = scope.spawn([] { throw Failure("E"); });
        log_caught([] { yield(); });
        EXPECT_EQ(message(x.error()), "E");  // SCH-9: the stored outcome never changes
    });
    EXPECT_EQ(chain(exit), "E' < E");
}

TEST_F(ErrorWay, SettingAHandlerReplacesTheOneOfItsKind) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler(handles("old"));
        scope.set_exception_handler(handles("new"));
        scope.spawn("X", [] { throw Failure("E"); });
        yield();
        // From inside itself, too.
        scope.set_exception_handler([&](const ScopeRef& of, const CoroutineHandle&, const ErrorValue&) {
            log("once");
            of.set_exception_handler(handles("then"));
        });
        scope.spawn("Y", [] { throw Failure("E"); });
        scope.spawn("Z", [] { throw Failure("E"); });
        yield();
    });
    EXPECT_EQ(text(), "new(X,E) once then(Z,E)");  // ERR-5
    EXPECT_FALSE(exit);
}

TEST_F(ErrorWay, AHandlerMayNotSuspendAndMayRequest) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler([&](const ScopeRef& of, const CoroutineHandle&, const ErrorValue&) {
            EXPECT_THROW(yield(), AsyncError);  // ERR-2
            of.cancel(ErrorValue::make<AsyncCancellation>("by the handler"));
        });
        waits(scope, "other");
        const auto x = scope.spawn([] { throw Failure("E"); });
        yield();
        yield();
        EXPECT_TRUE(scope.core().is_terminated());
        static_cast<void>(x);
    });
    EXPECT_EQ(text(), "other:by the handler");
    EXPECT_FALSE(exit);
}

TEST_F(ErrorWay, AHandlersScopeIsValidWithoutItsHandle) {
    run([&] {
        {
            Scope scope;
            scope.allow_zombies();
            scope.set_exception_handler([&](const ScopeRef& of, const CoroutineHandle&, const ErrorValue&) {
                EXPECT_TRUE(of.is_closed());
                log("handled");
            });
            scope.spawn([] {
                yield();
                throw Failure("E");
            });
            yield();
        }
        yield();
    });
    EXPECT_EQ(text(), "handled");
}

TEST_F(ErrorWay, EachAncestorUsesItsOwnFlag) {
    run([&] {
        Scope outer;
        outer.set_child_scope_exception_handler(handles("outer"));
        Scope middle = outer.inherit();
        middle.as_not_safely();
        Scope inner = middle.inherit();
        inner.allow_zombies();
        const auto in_middle = waits(middle, "middle");
        const auto in_inner = waits(inner, "inner");
        const auto in_outer = outer.spawn([&] {
            for (int i = 0; i < 3; ++i) { yield(); }
            log("outer goes on");
        });
        yield();
        inner.spawn("X", [] { throw Failure("E"); });
        yield();
        EXPECT_TRUE(in_inner.is_zombie());           // ERR-6: by inner's flag …
        EXPECT_TRUE(in_inner.is_cancellation_requested() || in_inner.is_completed());  // … and then cancelled by middle's
        yield();
        EXPECT_TRUE(outer.core().is_open());
        in_outer.await();
        static_cast<void>(in_middle);
    });
    EXPECT_EQ(text(), "outer(X,E) inner:a sibling failed middle:a sibling failed outer goes on");
}

TEST_F(ErrorWay, OfTheMainScopeIsReportedAndCancelsNobodyByItself) {
    const ErrorValue exit = run([&] {
        const auto x = spawn([] { throw Failure("E"); });
        const auto sibling = spawn([&] {
            yield();
            log("sibling");
        });
        yield();
        EXPECT_TRUE(current_scope().core().is_open());  // ERR-8
        sibling.await();
        EXPECT_FALSE(sibling.is_zombie());
        log_caught([&] { x.await(); });
    });
    EXPECT_EQ(text(), "sibling E");
    EXPECT_FALSE(exit);
}

TEST_F(ErrorWay, OfMainIsReportedAlthoughAHandleExists) {
    CoroutineHandle kept;
    const ErrorValue exit = run([&] {
        kept = current_coroutine();
        throw Failure("E");
    });
    EXPECT_EQ(chain(exit), "E");  // ERR-9
    EXPECT_EQ(message(kept.error()), "E");
    kept.release();
    EXPECT_FALSE(run([] {}));
}

TEST_F(ErrorWay, TakenByAnAwaiterNeverReachesTheScope) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler(handles("H"));
        const auto x = scope.spawn([] { throw Failure("E"); });
        log_caught([&] { x.await(); });  // ERR-10
        log_caught([&] { x.await(); });  // the same again, and no double report (AWT-3)
        EXPECT_TRUE(scope.core().is_open());
    });
    EXPECT_EQ(text(), "E E");
    EXPECT_FALSE(exit);
}

TEST_F(ErrorWay, CancelledAwaitersDoNotTakeIt) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler(handles("H"));
        const auto x = scope.spawn("X", [] {
            yield();
            throw Failure("E");
        });
        const auto awaiter = spawn([&] { static_cast<void>(caught([&] { x.await(); })); });
        yield();
        awaiter.cancel();
        yield();
        yield();
    });
    EXPECT_EQ(text(), "H(X,E)");
    EXPECT_FALSE(exit);
}

// ── errors without a coroutine (ERR-11) ──

using OnBehalf = ErrorWay;

TEST_F(OnBehalf, OfAnOpenScopeAnErrorTakesTheWayOfItsMembers) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler(handles("H"));
        in_next_tick([&] { scheduler().report_for_scope(scope.core(), ErrorValue::make<Failure>("E")); });
        yield();
        yield();
        EXPECT_TRUE(scope.core().is_open());
        EXPECT_EQ(scope.core().active(), 0U);
    });
    EXPECT_EQ(text(), "H(error,E)");
    EXPECT_FALSE(exit);
}

TEST_F(OnBehalf, RunsBeforeWhatIsReady) {
    run([&] {
        Scope scope;
        scope.set_exception_handler(handles("H"));
        spawn([&] { log("ready"); });
        scheduler().report_for_scope(scope.core(), ErrorValue::make<Failure>("E"));
        yield();
    });
    EXPECT_EQ(text(), "H(error,E) ready");
}

TEST_F(OnBehalf, OfAClosedScopeItStartsInAChild) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_child_scope_exception_handler(handles("K"));
        waits(scope, "a");
        yield();
        scope.cancel();
        scheduler().report_for_scope(scope.core(), ErrorValue::make<Failure>("E"));
        yield();
        yield();
        EXPECT_TRUE(scope.core().is_terminated());  // and the child is gone
    });
    EXPECT_EQ(text(), "K(error,E) a:the scope was cancelled");
    EXPECT_FALSE(exit);
}

TEST_F(OnBehalf, UnhandledItEndsTheScopeAndIsReportedWithItsHistory) {
    const ErrorValue exit = run([&] {
        Scope scope;
        waits(scope, "a");
        yield();
        const ErrorValue error = ErrorValue::make<Failure>("E").with_previous(ErrorValue::make<Failure>("older"));
        scheduler().report_for_scope(scope.core(), error);
        static_cast<void>(caught([] { yield(); }));
        EXPECT_TRUE(scope.is_cancelled());
        static_cast<void>(caught([] { yield(); }));
    });
    EXPECT_EQ(text(), "a:a sibling failed");
    EXPECT_EQ(chain(exit), "E < older");
}

TEST_F(OnBehalf, IsNotLostIfItsCoroutineNeverRuns) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scheduler().report_for_scope(scope.core(), ErrorValue::make<Failure>("E"));
        scope.cancel();
        static_cast<void>(caught([] { yield(); }));
    });
    EXPECT_EQ(chain(exit), "E");
}

TEST_F(OnBehalf, OfATerminatedScopeItIsReportedAtOnceAndACancellationIsNone) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.dispose();
        scheduler().report_for_scope(scope.core(), ErrorValue::make<AsyncCancellation>("no"));
        EXPECT_FALSE(scheduler().has_pending_error());
        scheduler().report_for_scope(scope.core(), ErrorValue::make<Failure>("E"));
        EXPECT_TRUE(scheduler().has_pending_error());
    });
    EXPECT_EQ(chain(exit), "E");
}

TEST(CompositeErrors, HoldWhatOccurredInOrder) {
    EXPECT_TRUE(CompositeError().errors().empty());  // ERR-12
    CompositeError composite({ErrorValue::make<Failure>("E1")});
    composite.append(ErrorValue::make<Failure>("E2"));
    ASSERT_EQ(composite.errors().size(), 2U);
    EXPECT_EQ(message(composite.errors()[0]), "E1");
    EXPECT_EQ(message(composite.errors()[1]), "E2");
}

}  // namespace
}  // namespace heddle::testing
