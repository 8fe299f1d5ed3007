// SPDX-License-Identifier: Apache-2.0
// One coroutine's life: states and predicates, birth, priorities, outcome, the order of its end, handles (SCH-6 to
// SCH-22, SCH-47 to SCH-51, SCH-85 to SCH-90, SCH-93).
#include "heddle/core/run/coroutine.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

/// State and true predicates of SCH-8: S started, Q queued, R running, P suspended, C completed, X cancelled, x
/// cancellation requested.
std::string row(const CoroutineHandle& coroutine) {
    std::string text(to_string(coroutine.state()));
    text += " ";
    if (coroutine.is_started()) { text += "S"; }
    if (coroutine.is_queued()) { text += "Q"; }
    if (coroutine.is_running()) { text += "R"; }
    if (coroutine.is_suspended()) { text += "P"; }
    if (coroutine.is_completed()) { text += "C"; }
    if (coroutine.is_cancelled()) { text += "X"; }
    if (coroutine.is_cancellation_requested()) { text += "x"; }
    return text;
}

// ── states and predicates ──

TEST(CoroutineStates, AreTheRowsOfTheTable) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            EXPECT_EQ(row(current_coroutine()), "running SR");
            SpawnOptions options;
            options.before = [](CoroutineHandle created) { EXPECT_EQ(row(created), "created "); };
            options.after = [](CoroutineHandle queued) { EXPECT_EQ(row(queued), "ready_new Q"); };
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            const Coroutine<> a = spawn(options, [&] {
                EXPECT_EQ(row(current_coroutine()), "running SR");
                yield();
                wait_for(*event);
            });
            const Coroutine<> doomed = spawn([] {});
            EXPECT_EQ(row(a), "ready_new Q");
            doomed.cancel();
            EXPECT_EQ(row(doomed), "doomed x");
            yield();
            EXPECT_EQ(row(a), "ready SQP");
            EXPECT_EQ(row(doomed), "finished CX");
            yield();
            EXPECT_EQ(row(a), "waiting SP");
            event->complete();
            EXPECT_EQ(row(a), "ready SQP");
            yield();
            EXPECT_EQ(row(a), "finished SC");
        });
    });
}

TEST(CoroutineStates, TellACancellationRequestFromACancelledEnd) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> suppresses = spawn([] {
                try {
                    wait_forever();
                } catch (const Cancellation&) {}
            });
            const Coroutine<> protects = spawn([] { protect([] { yield(); }); });
            const Coroutine<> throws_one = spawn([] { throw AsyncCancellation("by hand"); });
            yield();
            suppresses.cancel();
            EXPECT_EQ(row(suppresses), "ready SQPx");
            protects.cancel();
            EXPECT_EQ(row(protects), "ready SQPx");  // deferred counts at once (PRT-3)
            yield();
            EXPECT_EQ(row(suppresses), "finished SCX");  // it was accepted, however it ended (CAN-14)
            EXPECT_EQ(row(protects), "finished SCX");
            EXPECT_EQ(row(throws_one), "finished SC");  // nobody asked for it (CAN-17)
            EXPECT_TRUE(throws_one.error().is_cancellation());
        });
    });
}

TEST(CoroutineStates, CallTheOneThatHostsATickRunning) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> a = spawn([&] {
                add_microtask([&, self = current_coroutine()] {
                    EXPECT_TRUE(self.is_running());
                    EXPECT_FALSE(self.is_suspended());
                    EXPECT_EQ(self.state(), CoroutineState::waiting);
                    program.log("looked");
                });
                pause_for(1ms);
            });
            a.await();
        });
        EXPECT_EQ(program.text(), "looked");
    });
}

TEST(CoroutineOutcome, IsNoneUntilItFinishedAndNeverChangesThen) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        Coroutine<int> answer;
        Coroutine<int> failure;
        program.run([&] {
            answer = spawn([] {
                yield();
                return 42;
            });
            failure = spawn([]() -> int { throw Failure("no"); });
            EXPECT_FALSE(answer.result());
            yield();
            EXPECT_FALSE(answer.result());
            EXPECT_FALSE(answer.error());
            EXPECT_EQ(message(failure.error()), "no");
            EXPECT_FALSE(failure.result());
            yield();
            EXPECT_EQ(answer.result(), 42);
            EXPECT_THROW(failure.await(), Failure);
        });
        EXPECT_EQ(answer.result(), 42);
        EXPECT_FALSE(answer.error());
        EXPECT_EQ(message(failure.error()), "no");
    });
}

TEST(CoroutineOutcome, IsNotVisibleWhileTheCapturesAreStillBeingDestroyed) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        struct Slow {
            Program* program = nullptr;
            Slow() = default;
            explicit Slow(Program& p) : program(&p) {}
            Slow(Slow&& other) noexcept : program(std::exchange(other.program, nullptr)) {}
            ~Slow() {
                if (program == nullptr) { return; }
                cleanup([&] { yield(); });  // still ordinary code of the coroutine (SCH-93)
                program->log("destroyed");
            }
        };
        program.run([&] {
            const Coroutine<int> a = spawn([slow = Slow(program)] { return 1; });
            yield();
            EXPECT_EQ(a.state(), CoroutineState::ready);
            EXPECT_FALSE(a.result());  // SCH-9
            EXPECT_EQ(a.await(), 1);
        });
        EXPECT_EQ(program.text(), "destroyed");
    });
}

TEST(CoroutineIdentity, IsAnIncreasingNumberAndTwoPlaces) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const std::uint32_t spawn_line = __LINE__ + 1;
            const Coroutine<> a = spawn([] { yield(); });
            const Coroutine<> b = spawn([] {});
            EXPECT_GT(a.id(), current_coroutine().id());
            EXPECT_GT(b.id(), a.id());
            EXPECT_EQ(a.core().spawn_line(), spawn_line);
            EXPECT_TRUE(std::string_view(a.core().spawn_file()).ends_with("coroutine_test.cpp"));
            EXPECT_EQ(a.core().suspend_file(), nullptr);
            EXPECT_EQ(a.core().suspend_line(), 0U);
            yield();
            EXPECT_EQ(a.core().suspend_line(), spawn_line);
            EXPECT_TRUE(std::string_view(a.core().suspend_file()).ends_with("coroutine_test.cpp"));
        });
    });
}

TEST(CoroutineIdentity, ShowsATraceOnlyWhileItWaitsOrIsReadyToGoOn) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> a = spawn([] {
                EXPECT_TRUE(current_coroutine().stack_trace().empty());
                yield();
                pause_for(1ms);
            });
            EXPECT_TRUE(a.stack_trace().empty());
            yield();
            EXPECT_EQ(a.stack_trace().size(), 2U);
            EXPECT_NE(a.stack_trace()[0].find("(yield)"), std::string::npos);
            yield();
            EXPECT_NE(a.stack_trace()[0].find("(pause)"), std::string::npos);
            a.await();
            EXPECT_TRUE(a.stack_trace().empty());
        });
    });
}

// ── spawn ──

TEST(Spawn, NeverRunsTheNewOneBeforeItReturns) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            program.log("start");
            spawn([&] { program.log("A"); });
            spawn([&] { program.log("B"); });
            program.log("end");
        });
        EXPECT_EQ(program.text(), "start end A B");
    });
}

TEST(Spawn, MovesCapturesIn) {
    Program program;
    program.run([&] {
        auto word = std::make_unique<std::string>("moved");
        const Coroutine<std::string> a = spawn([word = std::move(word)] { return *word; });
        EXPECT_EQ(a.await(), "moved");
    });
}

TEST(Spawn, TakesTheExplicitScopeThenTheProvidersThenTheCurrentOne) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope one;
            Scope two;
            const auto scope_of = [&](const SpawnOptions& options) { return spawn(options, [] {}).core().scope(); };
            SpawnOptions both;
            both.scope = one;
            both.provider = [&]() -> ScopeRef { return two; };
            EXPECT_EQ(scope_of(both), &one.core());
            SpawnOptions provided;
            provided.provider = both.provider;
            EXPECT_EQ(scope_of(provided), &two.core());
            SpawnOptions none;
            none.provider = [] { return ScopeRef(); };
            EXPECT_EQ(scope_of(none), program.scheduler().main_scope());
            one.spawn([&] {
                   EXPECT_EQ(scope_of({}), &one.core());
                   EXPECT_EQ(scope_of(none), &one.core());
                   EXPECT_EQ(&current_scope().core(), &one.core());
               })
                .await();
        });
    });
}

TEST(Spawn, PassesOnWhatTheProviderThrowsAndCreatesNothing) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            SpawnOptions options;
            options.provider = []() -> ScopeRef { throw Failure("no scope"); };
            EXPECT_EQ(message(caught([&] { spawn(options, [&] { program.log("never"); }); })), "no scope");
            EXPECT_EQ(program.runtime().statistics().registered, 1U);
            EXPECT_EQ(program.runtime().statistics().ready, 0U);
            EXPECT_EQ(program.runtime().statistics().spawned, 0U);
            EXPECT_EQ(program.scheduler().main_scope()->active(), 1U);
        });
        EXPECT_EQ(program.text(), "");
    });
}

TEST(Spawn, SurvivesAProviderWhoseScopeNobodyElseHolds) {
    Program program;
    program.run([&] {
        SpawnOptions options;
        options.provider = []() -> ScopeRef {
            Scope scope;
            ScopeRef name = scope;
            scope.release();
            return name;  // terminated: the returned name is all that is left of it
        };
        EXPECT_THROW(spawn(options, [] {}), AsyncError);
    });
}

TEST(Spawn, IsRefusedByScopesThatAreNotOpenAndCreatesNothing) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope cancelled;
            cancelled.spawn([] { pause_for(1ms); });
            cancelled.cancel();
            Scope closed;
            closed.spawn([] { pause_for(1ms); });
            closed.dispose_safely();
            Scope terminated;
            const ScopeRef name = terminated;
            terminated.release();
            const auto before = program.runtime().statistics();
            const auto never = [&] { program.log("never"); };
            EXPECT_THROW(cancelled.spawn(never), AsyncError);
            EXPECT_THROW(closed.spawn(never), AsyncError);
            EXPECT_THROW(name.spawn(never), AsyncError);
            for (ScopeCore* scope : program.scheduler().root_scopes()) {
                if (scope->describe().find("scheduler") != std::string::npos || scope->id().value == 1) {
                    EXPECT_THROW(ScopeRef(scope).spawn(never), AsyncError);  // the scheduler's own (SCH-16)
                }
            }
            EXPECT_EQ(program.runtime().statistics().registered, before.registered);
            EXPECT_EQ(program.runtime().statistics().spawned, before.spawned);
        });
        EXPECT_EQ(program.text(), "");
    });
}

TEST(Spawn, FromASchedulerPhaseIsInternalAndGoesIntoTheMainScope) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            scope
                .spawn([&] {
                    add_microtask([&] {
                        EXPECT_THROW(spawn([] {}), AsyncError);  // SCH-13
                        const Coroutine<> made = program.runtime().spawn_internal("made", [&] { program.log("made"); });
                        EXPECT_EQ(made.core().scope(), program.scheduler().main_scope());  // SCH-15
                    });
                    yield();
                    program.log("host");
                })
                .await();
        });
        EXPECT_EQ(program.text(), "host made");
    });
}

// ── spawn hooks ──

TEST(SpawnHooks, AreCalledAtTheirStepsOfTheOrder) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            SpawnOptions options;
            options.scope = scope;
            const auto look = [&](const char* name) {
                const RuntimeStatistics now = program.runtime().statistics();
                program.log(std::string(name) + " members=" + std::to_string(scope.core().active()) +
                            " ready=" + std::to_string(now.ready) + " registered=" + std::to_string(now.registered) +
                            " active=" + std::to_string(now.active));
            };
            options.before = [&](CoroutineHandle) { look("before"); };
            options.after = [&](CoroutineHandle) { look("after"); };
            const Coroutine<> made = spawn(options, [&] { program.log("runs"); });
            program.log("returned");
            made.await();
        });
        EXPECT_EQ(program.text(),
                  "before members=1 ready=0 registered=1 active=1 after members=1 ready=1 registered=2 active=2 "
                  "returned runs");
    });
}

TEST(SpawnHooks, BeforeThatThrowsUndoesTheSpawn) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            CoroutineHandle kept;
            SpawnOptions options;
            options.scope = scope;
            options.before = [&](CoroutineHandle coroutine) {
                kept = coroutine;
                throw Failure("before");
            };
            auto token = std::make_shared<int>(0);
            EXPECT_EQ(message(caught([&] { spawn(options, [&program, token] { program.log("never"); }); })), "before");
            EXPECT_EQ(token.use_count(), 1);
            EXPECT_EQ(program.runtime().statistics().registered, 1U);
            EXPECT_EQ(program.runtime().statistics().active, 1U);
            EXPECT_EQ(program.runtime().statistics().ready, 0U);
            EXPECT_EQ(scope.core().active(), 0U);
            EXPECT_EQ(row(kept), "finished C");
            EXPECT_EQ(message(kept.error()), "before");  // SCH-90
            EXPECT_EQ(kept.core().scope(), nullptr);
        });
        EXPECT_EQ(program.text(), "");
    });
}

TEST(SpawnHooks, AfterThatThrowsDoomsTheCoroutine) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            CoroutineHandle kept;
            SpawnOptions options;
            options.after = [&](CoroutineHandle coroutine) {
                kept = coroutine;
                throw Failure("after");
            };
            EXPECT_EQ(message(caught([&] { spawn(options, [&] { program.log("never"); }); })), "after");
            EXPECT_EQ(row(kept), "doomed x");
            EXPECT_EQ(program.runtime().statistics().active, 2U);
            yield();
            EXPECT_EQ(row(kept), "finished CX");
            EXPECT_TRUE(holds<AsyncCancellation>(kept.error()));
            EXPECT_EQ(message(kept.error().previous()), "after");
        });
        EXPECT_EQ(program.text(), "");
    });
}

TEST(SpawnHooks, BeforeThatCancelsEnqueuesOnceAndDooms) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            SpawnOptions options;
            options.scope = scope;
            options.before = [&](CoroutineHandle coroutine) {
                scope.cancel();
                EXPECT_EQ(row(coroutine), "doomed x");
                EXPECT_EQ(program.runtime().statistics().ready, 1U);
                EXPECT_EQ(program.runtime().statistics().active, 2U);
            };
            const Coroutine<> doomed = spawn(options, [&] { program.log("never"); });
            EXPECT_EQ(program.runtime().statistics().ready, 1U);
            EXPECT_EQ(program.runtime().statistics().active, 2U);
            EXPECT_EQ(program.runtime().statistics().registered, 2U);
            yield();
            EXPECT_EQ(row(doomed), "finished CX");
            EXPECT_EQ(program.runtime().statistics().active, 1U);
        });
        EXPECT_EQ(program.text(), "");
    });
}

TEST(SpawnHooks, BeforeThatCancelsAndThenThrowsCountsAsAfter) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            CoroutineHandle kept;
            SpawnOptions options;
            options.before = [&](CoroutineHandle coroutine) {
                kept = coroutine;
                coroutine.cancel("first");
                throw Failure("then");
            };
            EXPECT_EQ(message(caught([&] { spawn(options, [] {}); })), "then");
            EXPECT_EQ(program.runtime().statistics().ready, 1U);
            yield();
            EXPECT_EQ(row(kept), "finished CX");
            EXPECT_EQ(message(kept.error()), "first");  // CAN-4: the first reason is kept
        });
    });
}

// ── priorities ──

TEST(Priority, HighStartsNextTheLastOneFirst) {
    in_every_mode([](Program& program) {  // T8
        SCOPED_TRACE(program.mode());
        program.run([&] {
            SpawnOptions high;
            high.priority = Priority::high;
            spawn([&] { program.log("A"); });
            spawn(high, [&] { program.log("H1"); });
            spawn(high, [&] { program.log("H2"); });
            program.log("end");
        });
        EXPECT_EQ(program.text(), "end H2 H1 A");
    });
}

TEST(Priority, HighCountsForTheFirstStartOnly) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            SpawnOptions high;
            high.priority = Priority::high;
            spawn(high, [&] {
                program.log("h1");
                yield();
                program.log("h2");
                pause_for(0ms);
                program.log("h3");
            });
            spawn([&] {
                program.log("a1");
                yield();
                program.log("a2");
            });
        });
        EXPECT_EQ(program.text(), "h1 a1 h2 a2 h3");
    });
}

TEST(Priority, CanBeRaisedOnceBeforeTheStartAndNeverLater) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            SpawnOptions high;
            high.priority = Priority::high;
            const Coroutine<> yielded = spawn([&] {
                program.log("y1");
                yield();
                program.log("y2");
            });
            yield();
            const Coroutine<> a = spawn([&] { program.log("a"); });
            const Coroutine<> b = spawn([&] { program.log("b"); });
            const Coroutine<> h = spawn(high, [&] { program.log("h"); });
            const Coroutine<> doomed = spawn([] {});
            doomed.cancel();
            EXPECT_EQ(b.as_hi_priority(), b);
            b.as_hi_priority();        // was raised already
            h.as_hi_priority();        // is high already
            yielded.as_hi_priority();  // has started
            doomed.as_hi_priority();   // will never start
            a.await();
            a.as_hi_priority();  // has finished
        });
        EXPECT_EQ(program.text(), "y1 b h y2 a");
    });
}

}  // namespace
}  // namespace heddle::testing
