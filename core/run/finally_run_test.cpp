// SPDX-License-Identifier: Apache-2.0
// Finally handlers of coroutines and scopes (FIN-1 to FIN-12, S1, S14, INV-FIN).
#include "heddle/core/run/finally_run.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class FinallyTest : public ::testing::Test, protected World {
protected:
    UniqueFunction<void(CoroutineHandle)> logs(std::string entry) {
        return [this, entry](const CoroutineHandle&) { log(entry); };
    }
    UniqueFunction<void(ScopeRef)> scope_logs(std::string entry) {
        return [this, entry](const ScopeRef&) { log(entry); };
    }
    UniqueFunction<void(CoroutineHandle)> fails(std::string entry) {
        return [this, entry](const CoroutineHandle&) {
            log(entry);
            throw Failure(entry);
        };
    }
};

using Finally = FinallyTest;

TEST_F(Finally, RunsOnceOnEveryPathInRegistrationOrder) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const auto normal = spawn("normal", [] {});
            const auto failed = spawn("failed", [] { throw Failure("E"); });
            const auto cancelled = spawn("cancelled", [] { wait_forever(); });
            const auto doomed = spawn("doomed", [&] { program.log("never"); });
            for (const CoroutineHandle& c : {CoroutineHandle(normal), CoroutineHandle(failed), CoroutineHandle(cancelled),
                                             CoroutineHandle(doomed)}) {
                for (const char* which : {"1", "2"}) {
                    c.finally([&program, which](const CoroutineHandle& of) {
                        EXPECT_TRUE(of.is_completed());
                        program.log(std::string(of.name()) + which);
                    });
                }
            }
            doomed.cancel();
            yield();
            yield();
            cancelled.cancel();
            yield();
            yield();
            static_cast<void>(caught([&] { failed.await(); }));
        });
        EXPECT_EQ(program.text(), "normal1 normal2 failed1 failed2 doomed1 doomed2 cancelled1 cancelled2");  // FIN-4
    });
}

TEST_F(Finally, RunsBeforeAnAwaiterGoesOn) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const auto c = spawn([] { throw Failure("E"); });
            for (const char* name : {"f1", "f2", "f3"}) {
                c.finally([&program, name](const CoroutineHandle&) { program.log(name); });
            }
            spawn([&] { program.log("ready"); });
            program.log(message(caught([&] { c.await(); })));
        });
        EXPECT_EQ(program.text(), "f1 f2 f3 ready E");  // SCH-49
    });
}

TEST_F(Finally, OnAFinishedCoroutineRunsAtOnceAndItsErrorComesOut) {
    run([&] {
        const auto c = spawn([] {});
        c.await();
        c.finally(logs("now"));
        EXPECT_EQ(text(), "now");
        EXPECT_EQ(message(caught([&] { c.finally(fails("E")); })), "E");  // FIN-3
    });
}

TEST_F(Finally, AHandlerThatSuspendsHoldsUpNobody) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<Bell> bell = Bell::make(program.scheduler());
            const auto c = spawn([] {});
            c.finally([&](const CoroutineHandle&) {
                program.log("f1");
                wait_for(*bell);
                program.log("f1.");
                yield();
                program.log("f1..");
            });
            c.finally([&](const CoroutineHandle&) {
                program.log("f2");
                yield();
                program.log("f2.");
            });
            c.finally([&](const CoroutineHandle&) { program.log("f3"); });
            c.await();
            yield();
            program.log("main");
            bell->ring();
            for (int i = 0; i < 4; ++i) { yield(); }
            EXPECT_TRUE(current_scope().child_scopes().empty());  // the internal scope is gone
        });
        EXPECT_EQ(program.text(), "f1 f2 f3 f2. main f1. f1..");  // FIN-2
    });
}

TEST_F(Finally, ItsScopeIsNotCompletedBeforeTheyEnded) {
    run([&] {
        Scope scope;
        const auto c = scope.spawn([] {});
        c.finally([&](const CoroutineHandle&) {
            yield();
            log("handler");
        });
        const Ref<OneShotEvent> token = OneShotEvent::make(scheduler());
        scope.await_completion(*token);
        log("completed");
    });
    EXPECT_EQ(text(), "handler completed");
}

TEST_F(Finally, AllRunEvenIfSomeThrow) {
    const ErrorValue exit = run([&] {
        const auto c = spawn([] { throw Failure("own"); });
        c.finally(fails("f1"));
        c.finally(logs("f2"));
        c.finally(fails("f3"));
        log_caught([&] { c.await(); });  // woken with the error, so that the shutdown's cancellation follows it (WKR-11)
        log_caught([] { yield(); });
    });
    EXPECT_EQ(text(), "f1 f2 f3 own graceful shutdown");
    ASSERT_TRUE(holds<CompositeError>(exit));
    try {
        exit.rethrow();
    } catch (const CompositeError& composite) {
        ASSERT_EQ(composite.errors().size(), 2U);
        EXPECT_EQ(message(composite.errors()[0]), "f1");
        EXPECT_EQ(message(composite.errors()[1]), "f3");
    }
}

TEST_F(Finally, OneErrorComesAsItselfBehindTheCoroutinesOwn) {
    const ErrorValue exit = run([&] {
        spawn([] { throw Failure("own"); }).finally(fails("f"));
        static_cast<void>(caught([] { wait_forever(); }));
        static_cast<void>(caught([] { wait_forever(); }));
    });
    EXPECT_EQ(text(), "f");
    EXPECT_EQ(chain(exit), "f < own");  // FIN-6, T12: two reports
}

TEST_F(Finally, ErrorsTakeTheWayOfTheCoroutinesScope) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler([&](const ScopeRef& of, const CoroutineHandle& coroutine, const ErrorValue& error) {
            EXPECT_EQ(of, ScopeRef(scope));
            log(std::string(coroutine.name()) + ":" + message(error));
        });
        scope.set_child_scope_exception_handler([&](const ScopeRef&, const CoroutineHandle&, const ErrorValue&) { log("not asked"); });
        const auto c = scope.spawn("c", [] {});
        c.finally(fails("f"));
        yield();
        yield();
        EXPECT_TRUE(scope.core().is_open());
        EXPECT_FALSE(c.error());  // the stored outcome never changes
    });
    EXPECT_EQ(text(), "f c:f");
    EXPECT_FALSE(exit);
}

TEST_F(Finally, AHandleDoesNotKeepAHandlersError) {
    const ErrorValue exit = run([&] {
        const auto c = spawn([] {});
        c.finally(fails("f"));
        log_caught([] { yield(); });
        log_caught([&] { c.await(); });
    });
    EXPECT_EQ(text(), "f graceful shutdown none");  // FIN-5: unhandled means reported at once
    EXPECT_EQ(chain(exit), "f");
}

TEST_F(Finally, ACancellationThatLeavesAHandlerIsNoError) {
    const ErrorValue exit = run([&] {
        const auto c = spawn([] {});
        c.finally([](const CoroutineHandle&) { throw AsyncCancellation("no"); });
        c.finally(logs("f2"));
        c.await();
    });
    EXPECT_EQ(text(), "f2");
    EXPECT_FALSE(exit);
}

TEST_F(Finally, TheErrorThatCancelsTheScopeDoesNotPreventThem) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            // S14
            Scope scope;
            scope.spawn([] { throw Failure("E"); }).finally([&](const CoroutineHandle&) { program.log("f"); });
            static_cast<void>(caught([] { wait_forever(); }));
        });
        EXPECT_EQ(program.text(), "f");
        EXPECT_EQ(chain(exit), "E");
    });
}

TEST_F(Finally, NoRequestAndNoSweepReachesOneThatHasNotStarted) {
    run([&] {
        Scope scope;
        const auto c = scope.spawn([] { yield(); });
        c.finally(logs("f"));
        yield();
        SpawnOptions first;
        first.priority = Priority::high;
        const auto requests = spawn([&] {
            c.await();  // woken behind it, so it acts from a callback instead
        });
        Listener acts(c.core(), [&](EventSource&, const Outcome&) {
            in_next_tick([&] {
                scope.cancel();
                scope.dispose_safely();
                shutdown();
            });
        });
        static_cast<void>(caught([&] { c.await(); }));
        static_cast<void>(caught([&] { requests.await(); }));
    });
    EXPECT_EQ(text(), "f");  // FIN-11
}

TEST_F(Finally, AForcedRequestEndsTheWaitOfAStartedOneAndTheRestStillRuns) {
    const ErrorValue exit = run([&] {
        Scope scope;
        const auto c = scope.spawn([] {});
        c.finally([&](const CoroutineHandle&) { log_caught([] { wait_forever(); }); });
        c.finally([&](const CoroutineHandle&) { wait_forever(); });
        yield();
        yield();
        EXPECT_EQ(text(), "");
        scope.dispose_safely();
        EXPECT_EQ(scope.core().zombies(), 0U);  // a safe one does not reach it
        yield();
        scope.as_not_safely().cancel(ErrorValue::make<AsyncCancellation>("forced"));
        yield();
        yield();
        EXPECT_TRUE(scope.core().is_terminated());
    });
    EXPECT_EQ(text(), "forced");
    EXPECT_FALSE(exit);
}

TEST_F(Finally, IsSkippedByTerminalUnwindingAndCounted) {
    const ErrorValue exit = run([&] {
        const auto c = spawn([] {
            for (;;) { static_cast<void>(caught([] { wait_forever(); })); }
        });
        c.finally(logs("never"));
    });
    EXPECT_TRUE(holds<DeadlockError>(exit));
    EXPECT_EQ(text(), "");
    EXPECT_EQ(program_.runtime().statistics().never_executed, 1U);
}

TEST_F(Finally, ItsHandlersMaySpawnAndAwait) {
    const ErrorValue exit = run([&] {
        const auto c = spawn([] {});
        c.finally([&](const CoroutineHandle&) {
            const auto helper = spawn([&] { log("helper"); });
            helper.await();
            log("done");
        });
        c.finally(logs("f2"));
        c.await();
        for (int i = 0; i < 4; ++i) { yield(); }
    });
    EXPECT_EQ(text(), "f2 helper done");
    EXPECT_FALSE(exit);
}

TEST_F(Finally, ALongListRunsInOneCoroutine) {
    run([&] {
        const auto c = spawn([] {});
        for (int i = 0; i < 1000; ++i) { c.finally([](const CoroutineHandle&) {}); }
        c.await();
        EXPECT_EQ(program_.runtime().statistics().spawned, 2U);  // c and one runner
    });
}

// ── scopes ──

using ScopeFinally = FinallyTest;

TEST_F(ScopeFinally, RunsAfterTheMembersAndTheirsAndTheErrorComesOut) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            // S1
            Scope scope;
            const auto x = scope.spawn([] { yield(); });
            for (const char* name : {"f1", "f2", "f3"}) {
                x.finally([&program, name](const CoroutineHandle&) {
                    program.log(name);
                    if (name[1] == '3') { throw Failure("E"); }
                });
            }
            Scope child = scope.inherit();
            const auto y = child.spawn([] { wait_forever(); });
            y.finally([&](const CoroutineHandle&) { program.log("g"); });
            scope.finally([&](const ScopeRef& of) {
                EXPECT_EQ(of, ScopeRef(scope));
                program.log("h");
            });
            yield();
            scope.cancel();
            for (int i = 0; i < 6; ++i) { static_cast<void>(caught([] { yield(); })); }
        });
        EXPECT_EQ(program.text(), "f1 f2 f3 g h");
        EXPECT_EQ(chain(exit), "E");
    });
}

TEST_F(ScopeFinally, EmptinessAloneDoesNotRunThem) {
    run([&] {
        Scope scope;
        scope.finally(scope_logs("f"));
        scope.spawn([] {}).await();
        yield();
        log("still open");
        const ScopeRef ref = scope;
        scope.release();
        EXPECT_FALSE(ref.core().is_terminated());  // FIN-7: the wait is open again until they are done
        EXPECT_TRUE(ref.is_closed());
        yield();
        EXPECT_TRUE(ref.core().is_terminated());
    });
    EXPECT_EQ(text(), "still open f");  // FIN-9
}

TEST_F(ScopeFinally, GetsNoScopeOnceTheHandleIsGone) {
    run([&] {
        {
            Scope scope;
            scope.finally([&](const ScopeRef& of) { log(of ? "scope" : "none"); });
        }
        yield();
    });
    EXPECT_EQ(text(), "none");
}

TEST_F(ScopeFinally, OnATerminatedScopeRunsAtOnce) {
    run([&] {
        Scope scope;
        scope.dispose();
        scope.finally([&](const ScopeRef& of) {
            EXPECT_EQ(of, ScopeRef(scope));
            log("now");
        });
        EXPECT_EQ(text(), "now");
    });
}

TEST_F(ScopeFinally, OneAddedWhileTheyRunGetsItsOwnRound) {
    run([&] {
        Scope scope;
        scope.finally([&](const ScopeRef& of) {
            log("first");
            of.finally([&](const ScopeRef& again) {
                EXPECT_FALSE(again.core().is_terminated());
                log("second");
            });
        });
        scope.finally(scope_logs("other"));
        scope.dispose();
        for (int i = 0; i < 3; ++i) { yield(); }
        EXPECT_TRUE(scope.core().is_terminated());
    });
    EXPECT_EQ(text(), "first other second");  // FIN-8
}

TEST_F(ScopeFinally, ErrorsEnterAtTheScopeItself) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.set_exception_handler([&](const ScopeRef&, const CoroutineHandle& coroutine, const ErrorValue& error) {
            EXPECT_FALSE(coroutine);  // FIN-12: no coroutine's
            log("H:" + message(error));
        });
        scope.finally([](const ScopeRef&) { throw Failure("E"); });
        scope.dispose();
        yield();
        EXPECT_TRUE(scope.core().is_terminated());

        Scope second;
        second.finally([](const ScopeRef&) { throw Failure("E1"); });
        second.finally([](const ScopeRef&) { throw Failure("E2"); });
        second.dispose();
        log_caught([] { yield(); });
    });
    EXPECT_EQ(text(), "H:E graceful shutdown");
    EXPECT_TRUE(holds<CompositeError>(exit));
}

TEST_F(ScopeFinally, RunsInAGracefulShutdown) {
    const ErrorValue exit = run([&] {
        Scope scope;
        scope.finally([&](const ScopeRef&) {
            log("f");
            throw Failure("E2");
        });
        scope.spawn([] { throw Failure("E1"); });
        static_cast<void>(caught([] { wait_forever(); }));
    });
    EXPECT_EQ(text(), "f");
    EXPECT_EQ(chain(exit), "E2 < E1");  // FIN-10, T12
}

TEST_F(ScopeFinally, ABusyChildIsWaitedForAndAnEmptyOneIsNot) {
    run([&] {
        Scope parent;
        parent.finally(scope_logs("parent"));
        Scope child = parent.inherit();
        child.finally(scope_logs("child"));
        const auto c = child.spawn([&] {
            static_cast<void>(caught([] { wait_forever(); }));
            yield();
            log("member");
        });
        yield();
        parent.dispose();
        c.await();
        for (int i = 0; i < 3; ++i) { yield(); }
    });
    EXPECT_EQ(text(), "member child parent");
}

TEST_F(ScopeFinally, MayWaitWithoutHoldingTheNextOneUp) {
    run([&] {
        Scope scope;
        scope.finally([&](const ScopeRef&) {
            pause_for(10ms);
            log("slow");
        });
        scope.finally(scope_logs("fast"));
        scope.dispose();
        scope.await_after_cancellation();
        log("drained");
        EXPECT_TRUE(scope.core().is_terminated());  // SCP-23: it stayed for its handlers, and for nothing else
    });
    EXPECT_EQ(text(), "fast slow drained");
}

}  // namespace
}  // namespace heddle::testing
