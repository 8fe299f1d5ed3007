// SPDX-License-Identifier: Apache-2.0
// How a coroutine ends: outcome, the order F1 to F12, doomed ones, what handles keep (SCH-47 to SCH-51, SCH-85 to
// SCH-89, SCH-93, ERR-9).
#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class Subscriber final : public EventCallback {
public:
    explicit Subscriber(std::function<void(const Outcome&)> body) : body_(std::move(body)) {}
    void call(EventSource&, const Outcome& outcome) override { body_(outcome); }

private:
    std::function<void(const Outcome&)> body_;
};

class OnFinish final : public SwitchHandler {
public:
    explicit OnFinish(std::function<void(CoroutineHandle)> body) : body_(std::move(body)) {}
    bool on_switch(CoroutineHandle coroutine, bool, bool finishing) override {
        if (finishing) { body_(coroutine); }
        return true;
    }

private:
    std::function<void(CoroutineHandle)> body_;
};

TEST(Finalization, TakesItsStepsInOrderAndEachSeesTheOutcome) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        CoroutineHandle made;
        const auto step = [&](const char* name) {
            EXPECT_TRUE(made.is_completed());
            EXPECT_EQ(message(made.error()), "failed");
            const RuntimeStatistics now = program.runtime().statistics();
            program.log(std::string(name) + ":" + (made.core().scope() != nullptr ? "member" : "alone") + "," +
                        std::to_string(now.registered));
        };
        OnFinish finish([&](CoroutineHandle) { step("F3"); });
        Subscriber subscriber([&](const Outcome& outcome) {
            EXPECT_EQ(message(outcome.error), "failed");
            EXPECT_EQ(program.runtime().statistics().ready, 0U);  // F6 has not spawned yet
            step("F5");
        });
        program.run([&] {
            Scope scope;
            scope.set_exception_handler([&](ScopeRef, CoroutineHandle coroutine, const ErrorValue& error) {
                EXPECT_EQ(coroutine, made);
                EXPECT_EQ(message(error), "failed");
                EXPECT_EQ(scope.core().active(), 1U);  // F9 has not taken it out yet
                step("F8");
            });
            made = scope.spawn([] { throw Failure("failed"); });
            made.add_switch_handler(finish);
            made.core().subscribe(subscriber);
            made.set_dispose_hook([&](CoroutineCore&) {
                EXPECT_EQ(program.runtime().statistics().ready, 1U);  // F6 has
                step("F7");
            });
            made.finally([&](CoroutineHandle) { step("finally"); });
            pause_for(1ms);
            made.release();
        });
        EXPECT_EQ(program.text(), "F3:member,2 F5:member,2 F7:member,3 F8:member,3 finally:alone,2");
    });
}

TEST(Finalization, GoesThroughAllStepsWhateverEachOfThemThrows) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        CoroutineHandle made;
        OnFinish finish([](CoroutineHandle) { throw Failure("F3"); });
        Subscriber subscriber([](const Outcome&) { throw Failure("F5"); });
        const ErrorValue error = program.run([&] {
            made = spawn([] { throw Failure("own"); });
            made.add_switch_handler(finish);
            made.core().subscribe(subscriber);
            made.set_dispose_hook([](CoroutineCore&) { throw Failure("F7"); });
            made.finally([&](CoroutineHandle) {
                program.log("finally");
                throw Failure("handler");
            });
            EXPECT_EQ(message(caught([] { yield(); })), "graceful shutdown");
            EXPECT_TRUE(made.is_completed());
        });
        EXPECT_EQ(program.text(), "finally");
        EXPECT_EQ(program.runtime().statistics().registered, 0U);
        EXPECT_EQ(message(made.error()), "own");  // kept on the handle
        EXPECT_EQ(chain(error), "handler < F7 < F5 < F3");
        made.release();
    });
}

TEST(Finalization, StartsFinallyHandlersBeforeAnAwaiterGoesOn) {
    in_every_mode([](Program& program) {  // SCH-49
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> c = spawn([] { throw Failure("c"); });
            for (const char* name : {"f1", "f2", "f3"}) {
                c.finally([&program, name](CoroutineHandle) { program.log(name); });
            }
            EXPECT_EQ(message(caught([&] { c.await(); })), "c");
            program.log("awaiter");
        });
        EXPECT_EQ(program.text(), "f1 f2 f3 awaiter");
    });
}

TEST(Finalization, OfADoomedOneIsTheSameWithoutItsCode) {
    in_every_mode([](Program& program) {  // SCH-50
        SCOPED_TRACE(program.mode());
        struct Says final : SwitchHandler {
            Program* program = nullptr;
            bool on_switch(CoroutineHandle, bool entering, bool finishing) override {
                program->log(finishing ? "FINISH" : entering ? "ENTER" : "LEAVE");
                return true;
            }
        } says;
        says.program = &program;
        program.run([&] {
            const Coroutine<int> doomed = spawn([&] {
                program.log("never");
                return 1;
            });
            doomed.add_switch_handler(says);
            doomed.finally([&](CoroutineHandle) { program.log("finally"); });
            doomed.cancel("doomed");
            doomed.cancel("second");
            const ErrorValue error = caught([&] { doomed.await(); });
            EXPECT_TRUE(holds<AsyncCancellation>(error));
            program.log(message(error));
            EXPECT_FALSE(doomed.result());
            EXPECT_FALSE(doomed.is_started());
        });
        EXPECT_EQ(program.text(), "FINISH finally doomed");  // no ENTER, no LEAVE
    });
}

TEST(Finalization, ShowsNobodyACoroutineThatIsGone) {
    in_every_mode([](Program& program) {  // INV-SCHED-04
        SCOPED_TRACE(program.mode());
        struct Asks {
            Program* program = nullptr;
            explicit Asks(Program& p) : program(&p) {}
            Asks(Asks&& other) noexcept : program(std::exchange(other.program, nullptr)) {}
            ~Asks() {
                if (program == nullptr) { return; }
                EXPECT_THROW(static_cast<void>(current_coroutine()), AsyncError);
                program->log("asked");
            }
        };
        program.run([&] {
            spawn([&] { return Asks(program); });  // its result goes with it, at F12
            yield();
        });
        EXPECT_EQ(program.text(), "asked");
    });
}

TEST(Finalization, NeverSwitches) {
    in_every_mode([](Program& program) {  // SCH-51
        SCOPED_TRACE(program.mode());
        OnFinish finish([&](CoroutineHandle) { program.log("F3@" + std::to_string(program.switches())); });
        program.run([&] {
            const Coroutine<> made = spawn([&] { program.log("end@" + std::to_string(program.switches())); });
            made.add_switch_handler(finish);
            made.set_dispose_hook([&](CoroutineCore&) { program.log("F7@" + std::to_string(program.switches())); });
            const Coroutine<> awaiter = spawn([&] { made.await(); });
            awaiter.await();
        });
        ASSERT_EQ(program.entries().size(), 3U);
        EXPECT_EQ(program.entries()[1].substr(2), program.entries()[0].substr(3));
        EXPECT_EQ(program.entries()[2].substr(2), program.entries()[0].substr(3));
    });
}

// ── the outcome (F4) ──

TEST(Outcome, IsThePendingCancellationAfterANormalReturnOrAnotherCancellation) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<int> returned = spawn([] {
                current_coroutine().cancel("pending");
                return 7;
            });
            const Coroutine<> threw_one = spawn([] {
                current_coroutine().cancel("pending");
                throw AsyncCancellation("by hand");
            });
            yield();
            EXPECT_EQ(message(returned.error()), "pending");
            EXPECT_FALSE(returned.result());
            EXPECT_EQ(message(threw_one.error()), "pending");
            EXPECT_FALSE(threw_one.error().previous());
        });
    });
}

TEST(Outcome, IsTheErrorWithThePendingCancellationBehindIt) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> made = spawn([] {
                current_coroutine().cancel("pending");
                throw Failure("error");
            });
            EXPECT_EQ(message(caught([&] { made.await(); })), "error");
            EXPECT_EQ(chain(made.error()), "error < pending");
            EXPECT_TRUE(made.is_cancelled());
        });
    });
}

TEST(Outcome, IsAnErrorWithTheLastDeliveredCancellationBehindIt) {
    in_every_mode([](Program& program) {  // CAN-13
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> made = spawn([] {
                for (int i = 0; i < 2; ++i) {
                    EXPECT_TRUE(caught([] { wait_forever(); }));
                }
                throw Failure("cleanup failed");
            });
            yield();
            made.cancel("first");
            yield();
            made.cancel("second");
            EXPECT_THROW(made.await(), Failure);
            EXPECT_EQ(chain(made.error()), "cleanup failed < second");
        });
    });
}

TEST(Outcome, OfASuppressedCancellationIsTheNormalReturn) {
    in_every_mode([](Program& program) {  // CAN-14
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<int> made = spawn([] {
                EXPECT_TRUE(caught([] { wait_forever(); }));
                return 5;
            });
            yield();
            made.cancel();
            EXPECT_EQ(made.await(), 5);
        });
    });
}

TEST(Outcome, IsOneErrorObjectForEveryAwaiter) {
    in_every_mode([](Program& program) {  // SCH-89, AWT-3
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const Coroutine<> made = spawn([] {
                yield();
                throw Failure("shared");
            });
            std::vector<const void*> seen;
            const auto look = [&] {
                try {
                    made.await();
                } catch (const Failure& error) { seen.push_back(&error); }
            };
            const Coroutine<> one = spawn(look);
            const Coroutine<> two = spawn(look);
            one.await();
            two.await();
            look();
            look();
            ASSERT_EQ(seen.size(), 4U);
            for (const void* at : seen) { EXPECT_EQ(at, seen.front()); }
        });
    });
}

// ── captures and handles ──

TEST(Captures, GoRightAfterTheEntryEndedSoThatAHandleToOneselfIsNoCycle) {
    in_every_mode([](Program& program) {  // SCH-93
        SCOPED_TRACE(program.mode());
        auto token = std::make_shared<int>(0);
        program.run([&] {
            auto self = std::make_shared<CoroutineHandle>();
            *self = spawn([self, token] { yield(); });
            self.reset();
            EXPECT_EQ(token.use_count(), 2);
            yield();
            yield();
            EXPECT_EQ(token.use_count(), 1);
            const Coroutine<int> failed = spawn([token]() -> int { throw Failure("failed"); });
            EXPECT_THROW(failed.await(), Failure);
            EXPECT_EQ(token.use_count(), 1);  // the handle keeps the outcome, not the captures
            const Coroutine<> doomed = spawn([token] {});
            doomed.cancel();
            yield();
            EXPECT_EQ(token.use_count(), 1);
        });
    });
}

TEST(Handles, DoNotKeepACoroutineAliveNorEndItWhenDropped) {
    in_every_mode([](Program& program) {  // SCH-85, SCH-86, INV-SCHED-26
        SCOPED_TRACE(program.mode());
        program.run([&] {
            spawn([&] {
                yield();
                pause_for(1ms);
                program.log("ran to its end");
            }).release();
            Coroutine<> copy;
            {
                const Coroutine<> made = spawn([] {});
                copy = made;
                EXPECT_EQ(made.core().handle_count(), 2U);
            }
            EXPECT_EQ(copy.core().handle_count(), 1U);
        });
        EXPECT_EQ(program.text(), "ran to its end");
    });
}

TEST(Handles, KeepAnErrorUntilSomebodyAwaitsIt) {
    in_every_mode([](Program& program) {  // ERR-9(a)
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            const Coroutine<> made = spawn([] { throw Failure("kept"); });
            yield();
            yield();
            EXPECT_FALSE(program.scheduler().is_shutting_down());
            EXPECT_EQ(message(caught([&] { made.await(); })), "kept");
        });
        EXPECT_FALSE(error);
    });
}

TEST(Handles, ReportAnErrorWhenTheLastOfThemGoesUnawaited) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            Coroutine<> made = spawn([] { throw Failure("dropped"); });
            Coroutine<> copy = made;
            yield();
            made.release();
            yield();
            EXPECT_FALSE(program.scheduler().is_shutting_down());
            copy.release();
            EXPECT_TRUE(program.scheduler().has_pending_error());  // noticed, not thrown (SCH-65)
            program.log("goes on");
            EXPECT_THROW(pause_for(1ms), AsyncCancellation);
        });
        EXPECT_EQ(program.text(), "goes on");
        EXPECT_EQ(chain(error), "dropped");
    });
}

TEST(Handles, ReportNothingOnceAnAwaiterHadTheError) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue error = program.run([&] {
            Coroutine<> before = spawn([] { throw Failure("awaited before"); });
            EXPECT_THROW(before.await(), Failure);
            before.release();
            Coroutine<> after = spawn([] { throw Failure("awaited after"); });
            yield();
            EXPECT_THROW(after.await(), Failure);
            after.release();
            yield();
        });
        EXPECT_FALSE(error);
    });
}

TEST(Handles, ThrowNothingWhenTheyGoAfterTheRun) {
    Program program;
    Coroutine<> kept;
    EXPECT_FALSE(program.run([&] {
        kept = spawn([] { throw Failure("kept for good"); });
        yield();
    }));
    EXPECT_EQ(message(kept.error()), "kept for good");
    kept.release();
    EXPECT_FALSE(program.run([] {}));
}

TEST(Handles, MayOutliveTheRuntime) {
    Coroutine<> failed;
    Coroutine<int> ended;
    {
        Program program;
        program.run([&] {
            failed = spawn([] { throw Failure("kept"); });
            ended = spawn([] { return 7; });
        });
    }
    EXPECT_EQ(message(failed.error()), "kept");
    EXPECT_EQ(ended.result(), 7);
    failed.release();
}

TEST(Handles, ReportAtOnceWhatNobodyHoldsAndWhateverMainThrows) {
    in_every_mode([](Program& program) {  // F10, SCH-75
        SCOPED_TRACE(program.mode());
        EXPECT_EQ(chain(program.run([&] { spawn([] { throw Failure("nobody's"); }); })), "nobody's");
        CoroutineHandle main;
        EXPECT_EQ(chain(program.run([&] {
                      main = current_coroutine();  // a handle to main keeps nothing back
                      throw Failure("main's");
                  })),
                  "main's");
        main.release();
    });
}

}  // namespace
}  // namespace heddle::testing
