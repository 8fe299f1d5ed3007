// SPDX-License-Identifier: Apache-2.0
// Switch handlers: who is told when a coroutine gains or loses the stack (SCH-78 to SCH-84, INV-SW-01 to 04).
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "heddle/core/run/testing/program.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class Handler final : public SwitchHandler {
public:
    /// @param calls how many calls it stays for
    Handler(Program& program, std::string name, int calls = 1000)
        : program_(program), name_(std::move(name)), calls_(calls) {}
    bool on_switch(CoroutineHandle coroutine, bool entering, bool finishing) override {
        EXPECT_FALSE(entering && finishing);
        program_.log(name_ + (finishing ? ":FINISH" : entering ? ":ENTER" : ":LEAVE"));
        if (also) { also(coroutine); }
        return --calls_ > 0;
    }

    std::function<void(CoroutineHandle)> also{};

private:
    Program& program_;
    std::string name_;
    int calls_;
};

TEST(SwitchHandlers, SeeEachGainLossAndTheEnd) {
    in_every_mode([](Program& program) {  // T9, SCH-79
        SCOPED_TRACE(program.mode());
        Handler h(program, "h");
        program.run([&] {
            const Coroutine<> a = spawn([&] {
                program.log("a1");
                yield();
                program.log("a2");
            });
            a.add_switch_handler(h);
            spawn([&] { program.log("b1"); });
        });
        EXPECT_EQ(program.text(), "h:ENTER a1 h:LEAVE b1 h:ENTER a2 h:FINISH");
    });
}

TEST(SwitchHandlers, AttachedWhileItRunsBeginWithLeave) {
    in_every_mode([](Program& program) {  // SCH-79, SCH-82
        SCOPED_TRACE(program.mode());
        Handler h(program, "h");
        program.run([&] {
            const Coroutine<> a = spawn([&] {
                EXPECT_EQ(program.runtime().add_switch_handler(h), 0U);  // the current coroutine's
                yield();
                pause_for(1ms);
            });
            a.await();
        });
        EXPECT_EQ(program.text(), "h:LEAVE h:ENTER h:LEAVE h:ENTER h:FINISH");
    });
}

TEST(SwitchHandlers, AreNotCalledForAFastReturnButForALateOne) {
    in_every_mode([](Program& program) {  // SCH-30.7, SCH-30.10
        SCOPED_TRACE(program.mode());
        Handler h(program, "h");
        program.run([&] {
            const Ref<OneShotEvent> fast = OneShotEvent::make(program.scheduler());
            fast->set_start_hook([&] { fast->complete(); });
            current_coroutine().add_switch_handler(h);
            wait_for(*fast);
            program.log("fast");
            program.reactor().script_polls({true});
            pause_for(0ms);
            program.log("late");
        });
        EXPECT_EQ(program.text(), "fast h:LEAVE h:ENTER late h:FINISH");
    });
}

TEST(SwitchHandlers, SeeOnlyTheEndOfADoomedOne) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        Handler h(program, "h");
        program.run([&] {
            const Coroutine<> doomed = spawn([] {});
            doomed.add_switch_handler(h);
            doomed.cancel();
        });
        EXPECT_EQ(program.text(), "h:FINISH");
    });
}

TEST(SwitchHandlers, NeverOverlapBetweenCoroutines) {
    in_every_mode([](Program& program) {  // INV-SW-02
        SCOPED_TRACE(program.mode());
        program.reactor().set_poll_every(2);
        std::vector<std::unique_ptr<Handler>> handlers;
        std::string on_stack;
        program.run([&] {
            for (const char* name : {"a", "b", "c"}) {
                const Coroutine<> made = spawn([&, name] {
                    for (int i = 0; i < 3; ++i) {
                        yield();
                        pause_for(1ms);
                    }
                    if (*name == 'b') { throw AsyncCancellation("ends"); }
                });
                handlers.push_back(std::make_unique<Handler>(program, name));
                made.add_switch_handler(*handlers.back());
            }
        });
        for (const std::string& entry : program.entries()) {
            const std::string who = entry.substr(0, 1);
            if (entry.ends_with("ENTER")) {
                EXPECT_EQ(on_stack, "");
                on_stack = who;
            } else {
                EXPECT_EQ(on_stack, who);
                on_stack.clear();
            }
        }
        EXPECT_GE(program.entries().size(), 3U * 8U);
    });
}

TEST(SwitchHandlers, AreCalledInOrderAndRemovedAfterAFalse) {
    in_every_mode([](Program& program) {  // SCH-80, INV-SW-03
        SCOPED_TRACE(program.mode());
        Handler once(program, "1", 1);
        Handler twice(program, "2", 2);
        Handler stays(program, "3");
        program.run([&] {
            const Coroutine<> a = spawn([] { yield(); });
            EXPECT_EQ(a.add_switch_handler(once), 0U);
            EXPECT_EQ(a.add_switch_handler(twice), 1U);
            EXPECT_EQ(a.add_switch_handler(stays), 2U);
            a.await();
        });
        EXPECT_EQ(program.text(), "1:ENTER 2:ENTER 3:ENTER 2:LEAVE 3:LEAVE 3:ENTER 3:FINISH");
    });
}

TEST(SwitchHandlers, AreKeptOnceAndCannotChangeDuringAPass) {
    in_every_mode([](Program& program) {  // SCH-81
        SCOPED_TRACE(program.mode());
        Handler one(program, "1");
        Handler two(program, "2");
        Handler other(program, "other");
        one.also = [&](CoroutineHandle coroutine) {
            EXPECT_THROW(coroutine.add_switch_handler(other), AsyncError);
            EXPECT_THROW(coroutine.remove_switch_handler(two), AsyncError);
        };
        program.run([&] {
            const Coroutine<> a = spawn([&] {
                yield();
                current_coroutine().remove_switch_handler(one);
                current_coroutine().remove_switch_handler(other);  // was never added
            });
            EXPECT_EQ(a.add_switch_handler(one), 0U);
            EXPECT_EQ(a.add_switch_handler(two), 1U);
            EXPECT_EQ(a.add_switch_handler(one), 0U);
            a.await();
            EXPECT_THROW(a.add_switch_handler(other), AsyncError);  // it has finished
        });
        EXPECT_EQ(program.text(), "1:ENTER 2:ENTER 1:LEAVE 2:LEAVE 1:ENTER 2:ENTER 2:FINISH");
    });
}

TEST(SwitchHandlers, ThatThrowAreReportedAfterThePassWhichGoesOn) {
    in_every_mode([](Program& program) {  // SCH-81, SCH-65
        SCOPED_TRACE(program.mode());
        Handler one(program, "1");
        Handler two(program, "2");
        Handler three(program, "3");
        int passes = 0;
        one.also = [&](CoroutineHandle) {
            if (++passes == 2) { throw Failure("E1"); }
        };
        two.also = [&](CoroutineHandle) {
            if (passes == 2) { throw Failure("E2"); }
        };
        const ErrorValue error = program.run([&] {
            const Coroutine<> a = spawn([&] { program.log(message(caught([] { wait_forever(); }))); });
            for (Handler* handler : {&one, &two, &three}) { a.add_switch_handler(*handler); }
        });
        EXPECT_EQ(program.text(),
                  "1:ENTER 2:ENTER 3:ENTER 1:LEAVE 2:LEAVE 3:LEAVE 1:ENTER 2:ENTER 3:ENTER graceful shutdown 1:FINISH "
                  "2:FINISH 3:FINISH");
        EXPECT_EQ(chain(error), "E2 < E1");  // one report: they count as one at the handling point, so no second phase
    });
}

TEST(SwitchHandlers, ThatThrowACancellationHideNoErrorOfAnother) {
    in_every_mode([](Program& program) {  // SCH-81, CAN-16
        SCOPED_TRACE(program.mode());
        Handler one(program, "1");
        Handler two(program, "2");
        int passes = 0;
        one.also = [&](CoroutineHandle) {
            if (++passes == 1) { throw Failure("E"); }
        };
        two.also = [&](CoroutineHandle) {
            if (passes == 1) { throw AsyncCancellation("no error"); }
        };
        const ErrorValue error = program.run([&] {
            const Coroutine<> a = spawn([&] {
                EXPECT_TRUE(program.scheduler().has_pending_error());
                EXPECT_THROW(yield(), AsyncCancellation);
            });
            for (Handler* handler : {&one, &two}) { a.add_switch_handler(*handler); }
        });
        EXPECT_EQ(chain(error), "E");
    });
}

TEST(SwitchHandlers, AtEnterThatThrowWaitForTheNextHandlingPoint) {
    in_every_mode([](Program& program) {  // INV-SHUT-02
        SCOPED_TRACE(program.mode());
        Handler h(program, "h");
        h.also = [&](CoroutineHandle) {
            h.also = {};
            throw Failure("enter");
        };
        const ErrorValue error = program.run([&] {
            const Coroutine<> a = spawn([&] {
                EXPECT_TRUE(program.scheduler().has_pending_error());
                program.log("runs");
                EXPECT_THROW(yield(), AsyncCancellation);
            });
            a.add_switch_handler(h);
        });
        EXPECT_EQ(program.text(), "h:ENTER runs h:LEAVE h:ENTER h:FINISH");
        EXPECT_EQ(chain(error), "enter");
    });
}

TEST(SwitchHandlers, OfTheStartListComeWithEveryMain) {
    in_every_mode([](Program& program) {  // SCH-82, SCH-83, INV-SW-04
        SCOPED_TRACE(program.mode());
        Handler stays(program, "s");
        Handler once(program, "o", 1);
        EXPECT_EQ(program.runtime().add_switch_handler(stays), 0U);
        EXPECT_EQ(program.runtime().add_switch_handler(once), 1U);
        EXPECT_EQ(program.runtime().add_switch_handler(stays), 0U);
        program.run([&] {
            program.log("main");
            yield();
        });
        EXPECT_EQ(program.text(), "s:ENTER o:ENTER main s:LEAVE s:ENTER s:FINISH");
        program.clear();
        program.run([&] {
            program.log("main");
            spawn([] {}).await();  // others have none of it
        });
        EXPECT_EQ(program.text(), "s:ENTER o:ENTER main s:LEAVE s:ENTER s:FINISH");  // a false removes the copy only
    });
}

TEST(SwitchHandlers, OfTheStartListMayBeAddedWhereNoCoroutineIsCurrent) {
    Program program;
    Handler h(program, "h");
    program.run([&] {
        program.runtime().set_heartbeat([&] {
            program.runtime().set_heartbeat({});
            program.runtime().add_switch_handler(h);  // SCH-82: no current coroutine in a scheduler phase
        });
        yield();
    });
    EXPECT_EQ(program.text(), "");
    program.run([] {});
    EXPECT_EQ(program.text(), "h:ENTER h:FINISH");
}

TEST(SwitchHandlers, CarryPerFlowGlobalsAcrossSwitches) {
    in_every_mode([](Program& program) {  // SCH-84
        SCOPED_TRACE(program.mode());
        int global = 0;
        class Carries final : public SwitchHandler {
        public:
            explicit Carries(int& global) : global_(global) {}
            bool on_switch(CoroutineHandle, bool entering, bool) override {
                if (entering) {
                    global_ = kept_;
                } else {
                    kept_ = std::exchange(global_, 0);
                }
                return true;
            }

        private:
            int& global_;
            int kept_ = 0;
        };
        std::vector<std::unique_ptr<Carries>> handlers;
        program.run([&] {
            for (int who = 1; who <= 3; ++who) {
                const Coroutine<> made = spawn([&, who] {
                    EXPECT_EQ(global, 0);
                    global = who;
                    for (int i = 0; i < 3; ++i) {
                        yield();
                        EXPECT_EQ(global, who);
                    }
                });
                handlers.push_back(std::make_unique<Carries>(global));
                made.add_switch_handler(*handlers.back());
            }
        });
        EXPECT_EQ(global, 0);
    });
}

TEST(SwitchHandlers, AtLeaveMaySpawnWhoGoesOnWithTheWork) {
    in_every_mode([](Program& program) {  // SCH-84
        SCOPED_TRACE(program.mode());
        Handler h(program, "h", 1);
        h.also = [&](CoroutineHandle) {
            SpawnOptions high;
            high.priority = Priority::high;
            program.runtime().spawn_with(
                high, [&] { program.log("goes on"); }, SourceLocation::current(), true);
        };
        program.run([&] {
            spawn([&] { program.log("other"); });
            current_coroutine().add_switch_handler(h);
            yield();
            program.log("main");
        });
        EXPECT_EQ(program.text(), "h:LEAVE goes on other main");
    });
}

}  // namespace
}  // namespace heddle::testing
