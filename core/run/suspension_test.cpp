// SPDX-License-Identifier: Apache-2.0
// Where nobody may suspend (SCH-25, SCH-28, SCH-90, INV-SCHED-18), and what a suspension leaves alone: the exceptions
// that its coroutine is handling (SCH-29, SCH-91, SCH-92, INV-SCHED-25).
#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/scope.hpp"
#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

/// Tries every way to suspend; all must refuse, and the waker of the one that runs must stay as it is.
void tries_to_suspend(Program& program) {
    CoroutineCore* const current = program.scheduler().current();
    ASSERT_NE(current, nullptr);
    const WakerStatus status = current->waker().status();
    const std::size_t subscriptions = current->waker().subscription_count();
    const RuntimeStatistics before = program.runtime().statistics();
    const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
    EXPECT_THROW(yield(), AsyncError);
    EXPECT_THROW(program.scheduler().suspend({"wait", SourceLocation::current()}), AsyncError);
    EXPECT_THROW(wait_for(*event), AsyncError);
    EXPECT_EQ(event->subscriber_count(), 0U);
    EXPECT_EQ(current->waker().status(), status);
    EXPECT_EQ(current->waker().subscription_count(), subscriptions);
    const RuntimeStatistics after = program.runtime().statistics();
    EXPECT_EQ(after.ready, before.ready);
    EXPECT_EQ(after.active, before.active);
    EXPECT_EQ(after.switches, before.switches);
    program.log("refused");
}

// ── regions ──

TEST(NonSuspendable, IsAHeartbeatHandler) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            program.runtime().set_heartbeat([&] {
                program.runtime().set_heartbeat({});
                tries_to_suspend(program);
            });
            pause_for(1ms);
        });
        EXPECT_EQ(program.text(), "refused");
    });
}

TEST(NonSuspendable, IsAMicrotask) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            add_microtask([&] { tries_to_suspend(program); });
            pause_for(1ms);  // hosts the drain, WAITING
            add_microtask([&] { tries_to_suspend(program); });
            yield();                                            // hosts the drain, QUEUED
            add_microtask([&] { tries_to_suspend(program); });  // drained by the scheduler coroutine
        });
        EXPECT_EQ(program.text(), "refused refused refused");
    });
}

TEST(NonSuspendable, IsACallbackOfTheReactorAndOfAnEventThatACoroutineFires) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const auto callback = [&](EventSource&, const Outcome&) { tries_to_suspend(program); };
            const Ref<ReactorEvent> timer = ReactorEvent::timer(program.scheduler(), {.timeout = 1ms});
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            Waker& waker = current_coroutine().core().waker();
            waker.resume_when(*event, callback);
            event->complete();
            waker.clean();
            spawn([&, timer, callback] {
                Waker& own = current_coroutine().core().waker();
                own.resume_when(*timer, [&](EventSource& source, const Outcome& outcome) {
                    callback(source, outcome);
                    program.scheduler().resume(own.coroutine(), &source, outcome);
                });
                program.scheduler().suspend({"wait", SourceLocation::current()});
                own.clean();
            });
        });
        EXPECT_EQ(program.text(), "refused refused");
    });
}

TEST(NonSuspendable, IsEveryCallOfASwitchHandler) {
    struct Tries final : SwitchHandler {
        Program* program = nullptr;
        bool on_switch(CoroutineHandle, bool, bool) override {
            tries_to_suspend(*program);
            return true;
        }
    };
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        Tries handler;
        handler.program = &program;
        program.run([&] {
            spawn([] { yield(); }).add_switch_handler(handler);
            yield();
            yield();
        });
        EXPECT_EQ(program.text(), "refused refused refused refused");  // ENTER LEAVE ENTER FINISH
    });
}

TEST(NonSuspendable, AreSpawnAndDisposeHooks) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            SpawnOptions options;
            options.before = options.after = [&](CoroutineHandle) { tries_to_suspend(program); };
            const Coroutine<> made = spawn(options, [] {});
            made.set_dispose_hook([&](CoroutineCore&) { tries_to_suspend(program); });
            made.await();
        });
        EXPECT_EQ(program.text(), "refused refused refused");
    });
}

TEST(NonSuspendable, AreHandlersOfScopeErrorsAndOfScopeWaiters) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope parent;
            parent.set_child_scope_exception_handler(
                [&](ScopeRef, CoroutineHandle, const ErrorValue&) { tries_to_suspend(program); });
            Scope child = parent.inherit();
            child.spawn([] { throw Failure("child"); });
            Scope own;
            own.set_exception_handler([&](ScopeRef, CoroutineHandle, const ErrorValue&) { tries_to_suspend(program); });
            own.spawn([] { throw Failure("own"); });
            Scope ending;
            ending.spawn([] {
                try {
                    wait_forever();
                } catch (const Cancellation&) { throw Failure("ending"); }
            });
            yield();
            ending.cancel();
            ending.await_after_cancellation([&](const ErrorValue&, ScopeRef) { tries_to_suspend(program); });
        });
        EXPECT_EQ(program.text(), "refused refused refused");
    });
}

TEST(NonSuspendable, AreDestructorsThatRunInAFinalization) {
    struct Tries {
        Program* program = nullptr;
        explicit Tries(Program& p) : program(&p) {}
        Tries(Tries&& other) noexcept : program(std::exchange(other.program, nullptr)) {}
        Tries(const Tries& other) = default;
        ~Tries() {
            if (program != nullptr) { tries_to_suspend(*program); }
        }
    };
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> doomed = spawn([tries = Tries(program)] {});
            doomed.cancel();
            yield();
            EXPECT_EQ(program.text(), "refused");  // F7: the entry that never ran
            spawn([&] { return std::make_unique<Tries>(program); });
            yield();
            EXPECT_EQ(program.text(), "refused refused");  // F12: the result that nobody holds
            spawn([&]() -> std::unique_ptr<Tries> {
                current_coroutine().cancel();
                return std::make_unique<Tries>(program);
            });
            yield();
            EXPECT_EQ(program.text(), "refused refused refused");  // F2: the result that the outcome rules discard
        });
    });
}

TEST(NonSuspendable, IsNotTheOrdinaryCodeAroundTheRegions) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        struct Yields {
            Program* program = nullptr;
            explicit Yields(Program& p) : program(&p) {}
            Yields(Yields&& other) noexcept : program(std::exchange(other.program, nullptr)) {}
            ~Yields() {
                if (program == nullptr) { return; }
                EXPECT_TRUE(current_coroutine().is_running());
                cleanup([] { yield(); });
                program->log("destroyed");
            }
        };
        program.run([&] {
            // The entry that ran is destroyed by its coroutine, before the end (SCH-93), and a finally on a finished
            // one is a plain call.
            const Coroutine<> made = spawn([yields = Yields(program)] {});
            made.finally([&](CoroutineHandle) { program.log("finally"); });
            spawn([&] { program.log("other"); });
            made.await();
            made.finally([&](CoroutineHandle) {
                yield();
                program.log("late");
            });
        });
        EXPECT_EQ(program.text(), "other destroyed finally late");
    });
}

TEST(SchedulerPhase, RefusesWhatNeedsACoroutineAndAllowsTheRest) {
    in_every_mode([](Program& program) {  // SCH-25
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Ref<OneShotEvent> event = OneShotEvent::make(program.scheduler());
            const Coroutine<> waits = spawn([&] { wait_for(*event), program.log("woken"); });
            const Coroutine<> cancelled = spawn([&] { wait_forever(); });
            yield();
            add_microtask([&] {
                EXPECT_THROW(static_cast<void>(current_coroutine()), AsyncError);
                EXPECT_THROW(static_cast<void>(spawn([] {})), AsyncError);
                EXPECT_THROW(protect([] {}), AsyncError);
                event->complete();
                cancelled.cancel();
                program.runtime().spawn_internal("made", [&] { program.log("made"); });
                add_microtask([&] { program.log("microtask"); });
            });
            waits.await();
            EXPECT_TRUE(cancelled.core().is_cancellation_requested() || cancelled.is_cancelled());
            pause_for(1ms);
            EXPECT_TRUE(cancelled.is_cancelled());
        });
        EXPECT_EQ(program.text(), "microtask woken made");
    });
}

TEST(SchedulerPhase, AllowsAShutdown) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            add_microtask([&] { program.runtime().shutdown(); });
            program.log(message(caught([] { wait_forever(); })));
        });
        EXPECT_EQ(program.text(), "graceful shutdown");
    });
}

// ── exceptions across suspensions ──

TEST(ExceptionState, OfACoroutineThatSuspendsInACatchIsItsOwn) {
    in_every_mode([](Program& program) {  // SCH-29
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const auto body = [&](std::string name) {
                return [&program, name] {
                    EXPECT_EQ(std::current_exception(), nullptr);
                    try {
                        throw Failure(name);
                    } catch (const Failure&) {
                        for (int i = 0; i < 3; ++i) { yield(); }
                        pause_for(1ms);
                        try {
                            throw;
                        } catch (const Failure& again) { program.log(again.what()); }
                    }
                    EXPECT_EQ(std::current_exception(), nullptr);
                };
            };
            try {
                throw Failure("main");
            } catch (const Failure&) {
                spawn(body("a"));
                spawn(body("b"));
                spawn(body("c"));
                pause_for(5ms);
                program.log(message(caught([] { throw; })));
            }
        });
        EXPECT_EQ(program.text(), "a b c main");
    });
}

TEST(ExceptionState, OfACoroutineThatSuspendsInADestructorDuringUnwindingIsItsOwn) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        struct Suspends {
            ~Suspends() {
                EXPECT_EQ(std::uncaught_exceptions(), 1);
                cleanup([] {
                    yield();
                    pause_for(1ms);
                });
                EXPECT_EQ(std::uncaught_exceptions(), 1);
            }
        };
        program.run([&] {
            const auto body = [&](std::string name) {
                return [&program, name] {
                    EXPECT_EQ(std::uncaught_exceptions(), 0);
                    const ErrorValue error = caught([&] {
                        const Suspends guard;
                        throw Failure(name);
                    });
                    program.log(message(error));
                    EXPECT_EQ(std::uncaught_exceptions(), 0);
                };
            };
            spawn(body("a"));
            spawn(body("b"));
            spawn([&] {
                for (int i = 0; i < 4; ++i) {
                    EXPECT_EQ(std::uncaught_exceptions(), 0);
                    EXPECT_EQ(std::current_exception(), nullptr);
                    yield();
                }
            });
        });
        EXPECT_EQ(program.text(), "a b");
    });
}

/// What foreign code sees of the exceptions of whoever hosts it.
void sees_nothing(Program& program) {
    EXPECT_EQ(std::current_exception(), nullptr);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    program.log("clean");
}

TEST(ExceptionState, IsHiddenFromEverythingForeignInsideASuspension) {
    struct Looks final : SwitchHandler {
        Program* program = nullptr;
        bool on_switch(CoroutineHandle, bool, bool) override {
            sees_nothing(*program);
            return true;
        }
    };
    in_every_mode([](Program& program) {  // SCH-91
        SCOPED_TRACE(program.mode());
        program.reactor().set_poll_every(1);
        Looks looks;
        looks.program = &program;
        program.run([&] {
            try {
                throw Failure("mine");
            } catch (const Failure&) {
                const Coroutine<> doomed = spawn([] {});
                doomed.add_switch_handler(looks);
                doomed.cancel();
                add_microtask([&] { sees_nothing(program); });
                program.runtime().set_heartbeat([&] {
                    program.runtime().set_heartbeat({});
                    sees_nothing(program);
                });
                const Ref<ReactorEvent> timer = ReactorEvent::timer(program.scheduler(), {.timeout = 0ms});
                Waker& waker = current_coroutine().core().waker();
                waker.resume_when(*timer, [&](EventSource& source, const Outcome& outcome) {
                    sees_nothing(program);
                    program.scheduler().resume(waker.coroutine(), &source, outcome);
                });
                program.scheduler().suspend({"wait", SourceLocation::current()});
                waker.clean();
                yield();
                const Ref<OneShotEvent> starts = OneShotEvent::make(program.scheduler());
                starts->set_start_hook([&] {
                    sees_nothing(program);
                    starts->complete();
                });
                wait_for(*starts);
                program.log(message(caught([] { throw; })));
            }
        });
        EXPECT_EQ(program.text(), "clean clean clean clean clean mine");
    });
}

TEST(ExceptionState, IsThereAgainWhenAMicrotaskThrewAndWhenTheSuspensionThrows) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            try {
                throw Failure("mine");
            } catch (const Failure&) {
                add_microtask([] { throw Failure("microtask"); });
                EXPECT_EQ(message(caught([] { wait_forever(); })), "graceful shutdown");
                program.log(message(caught([] { throw; })));
            }
            EXPECT_EQ(std::uncaught_exceptions(), 0);
        });
        EXPECT_EQ(program.text(), "mine");
        EXPECT_EQ(chain(error), "microtask");
    });
}

TEST(ExceptionStateDeathTest, MakesAMicrotaskThatRethrowsNothingTerminate) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    // With "mine" visible it would be thrown out of the drain, recorded, and the program would end well.
    EXPECT_DEATH(
        {
            Program program;
            program.run([&] {
                try {
                    throw Failure("mine");
                } catch (const Failure&) {
                    add_microtask([] { throw; });
                    yield();
                }
            });
        },
        "terminate called");
}

TEST(Destructors, MayDoWhatReleasesAndRequests) {
    // SCH-92: none of it throws, none suspends, wherever the destructor runs.
    struct LetsGo {
        Program* program = nullptr;
        CoroutineHandle other{};
        std::unique_ptr<Scope> scope{};
        explicit LetsGo(Program& p) : program(&p) {}
        LetsGo(LetsGo&& from) noexcept
            : program(std::exchange(from.program, nullptr)),
              other(std::move(from.other)),
              scope(std::move(from.scope)) {}
        ~LetsGo() {
            if (program == nullptr) { return; }
            other.cancel("let go");
            other.release();
            scope->cancel();
            scope.reset();
            program->log("gone");
        }
    };
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const auto make = [&] {
                LetsGo guard(program);
                guard.other = spawn([&] { wait_forever(); });
                guard.scope = std::make_unique<Scope>();
                guard.scope->spawn([&] { wait_forever(); });
                return guard;
            };
            spawn([make] { const LetsGo guard = make(); });
            const Coroutine<> doomed = spawn([guard = make()] {});
            doomed.cancel();
            spawn([make] { return std::make_unique<LetsGo>(make()); });
            add_microtask([guard = std::make_shared<LetsGo>(make())] {});
            const ErrorValue error = caught([&] {
                const LetsGo guard = make();
                throw Failure("unwinding");
            });
            EXPECT_EQ(message(error), "unwinding");
        });
        EXPECT_EQ(program.text(), "gone gone gone gone gone");
    });
}

}  // namespace
}  // namespace heddle::testing
