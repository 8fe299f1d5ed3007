// SPDX-License-Identifier: Apache-2.0
// Every choice point of the simulated reactor: each of its alternatives is really reachable, nothing else is, and
// alternative 0 is production's answer (RCT-68, RCT-71; H-FAULTS). Each test searches all answers of a small world.
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/reactor/testing/reactor_rig.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;
using testing::baseline;
using testing::behaviours;
using testing::ReactorRig;
using Logs = std::set<std::string>;

SimReactorOptions only(std::initializer_list<ChoiceKind> kinds, TimeLevel level = TimeLevel::T0) {
    SimReactorOptions options;
    options.timing = Timing::at(level);
    options.mask = ChoiceMask(kinds);
    return options;
}

void fire_three(ReactorRig& rig) {
    for (const char* name : {"a", "b", "c"}) { rig.trigger(name)->fire(); }
    for (int i = 0; i < 20; ++i) { rig.poll(); }
}

TEST(SimChoices, ReadyReportsSourcesInAnyOrder) {  // CP-READY
    EXPECT_EQ(behaviours(only({ChoiceKind::ready}), fire_three),
              (Logs{"a b c", "a c b", "b a c", "b c a", "c a b", "c b a"}));
    EXPECT_EQ(baseline({}, fire_three), "a b c");
}

TEST(SimChoices, BatchLeavesSourcesForLaterTicks) {  // CP-SUBSET
    EXPECT_EQ(behaviours(only({ChoiceKind::batch}), fire_three), (Logs{"a b c", "a | b c", "a b | c", "a | b | c"}));
}

TEST(SimChoices,
     ReadyAndBatchReportAnySubset) {  // CP-SUBSET with CP-READY: 13 ordered partitions of three sources, in any order
    EXPECT_EQ(behaviours(only({ChoiceKind::ready, ChoiceKind::batch}), fire_three).size(), 6U * 4);
}

TEST(SimChoices, BatchReportsEverySourceWithinItsBound) {  // RCT-72
    // Descriptors are ready for ever. However often the batch is cut, the second one is left at most `subset` times in
    // a row.
    SimReactorOptions options = only({ChoiceKind::batch, ChoiceKind::ready});
    options.fairness.subset = 2;
    std::size_t longest = 0;
    for (const std::string& log : behaviours(options, [](ReactorRig& rig) {
             const int a = rig.reactor.make_descriptor();
             const int b = rig.reactor.make_descriptor();
             rig.reader("a", a);
             rig.reader("b", b);
             rig.reactor.set_ready(a, PollBits::readable);
             rig.reactor.set_ready(b, PollBits::readable);
             for (int i = 0; i < 5; ++i) { rig.poll(); }
         })) {
        std::size_t left = 0;
        for (const char c : log) {
            if (c == 'a') { longest = std::max(longest, ++left); }
            if (c == 'b') { left = 0; }
        }
    }
    EXPECT_EQ(longest, 4U);  // "b a | a | a | a b"
}

TEST(SimChoices, PoolCompletesInAnyOrder) {  // CP-POOL
    EXPECT_EQ(behaviours(only({ChoiceKind::pool}),
                         [](ReactorRig& rig) {
                             for (const char* name : {"a", "b", "c"}) { rig.task(name); }
                             rig.run();
                         }),
              (Logs{"a b c", "a c b", "b a c", "b c a", "c a b", "c b a"}));
}

TEST(SimChoices, PoolIsOvertakenWithinItsBound) {  // RCT-72
    SimReactorOptions options = only({ChoiceKind::pool});
    options.fairness.pool = 2;
    for (const std::string& log : behaviours(options, [](ReactorRig& rig) {
             for (const char* name : {"a", "b", "c", "d"}) { rig.task(name); }
             rig.run();
         })) {
        EXPECT_LE(log.find('a'), 4U) << log;  // two overtake it at most: "b c a d"
    }
}

TEST(SimChoices, PoolHasAsManyRequestsAtWorkAsWorkers) {
    SimReactorOptions options = only({ChoiceKind::pool});
    options.workers = 2;
    const Logs logs = behaviours(options, [](ReactorRig& rig) {
        for (const char* name : {"a", "b", "c"}) { rig.task(name); }
        rig.run();
    });
    EXPECT_EQ(logs, (Logs{"a b | c", "b a | c"}));  // c begins when a worker is free
}

TEST(SimChoices, TiesFireInAnyOrderFromT1On) {  // CP-LATE: ties; RCT-66
    const auto program = [](ReactorRig& rig) {
        for (const char* name : {"a", "b", "c"}) { rig.timer(name, 5ms); }
        rig.timer("later", 6ms);
        rig.run();
    };
    EXPECT_EQ(behaviours(only({ChoiceKind::timer}, TimeLevel::T0), program), (Logs{"a b c | later"}));
    EXPECT_EQ(
        behaviours(only({ChoiceKind::timer}, TimeLevel::T1), program),
        (Logs{"a b c | later", "a c b | later", "b a c | later", "b c a | later", "c a b | later", "c b a | later"}));
}

TEST(SimChoices, TieThatIsStoppedByAnotherDropsOut) {  // RCT-11, RCT-30
    EXPECT_EQ(behaviours(only({ChoiceKind::timer}, TimeLevel::T1),
                         [](ReactorRig& rig) {
                             const SourceId a = rig.timer("a", 5ms);
                             rig.timer("b", 5ms);
                             const SourceId c = rig.reactor.open_timer({.timeout = 5ms}, {.owner = &rig.owner("c")});
                             rig.reactor.start(c);
                             rig.owner("unused");
                             rig.reactor.close(a);
                             rig.run();
                         }),
              (Logs{"b c", "c b"}));
}

SimReactorOptions late(std::initializer_list<ChoiceKind> kinds, Duration jitter) {
    SimReactorOptions options = only(kinds, TimeLevel::T2);
    options.timing = {.level = TimeLevel::T2, .jitter = jitter};
    return options;
}

TEST(SimChoices, TimersAreLateWithinTheirJitterUnderT2) {  // CP-LATE
    const auto program = [](ReactorRig& rig) {
        rig.times = true;
        rig.timer("a", 1ms);
        rig.timer("b", 2ms);
        rig.run();
    };
    // a may fire at 1 or 2, b at 2 or 3, and b may overtake a at 2: in a pass of its own, for deadlines ascend within
    // one (RCT-66).
    EXPECT_EQ(behaviours(late({ChoiceKind::late, ChoiceKind::timer}, 1ms), program),
              (Logs{"a@1 | b@2", "a@1 | b@3", "a@2 b@2", "b@2 | a@2"}));
    EXPECT_EQ(baseline(late({}, 1ms), program), "a@1 | b@2");
}

TEST(SimChoices, TimersDoNotOvertakeTheirEldersUnderT3) {  // TM3, RCT-31
    SimReactorOptions options = late({ChoiceKind::late, ChoiceKind::timer}, 1ms);
    options.timing.level = TimeLevel::T3;
    const auto both = [](const char* first, Duration first_timeout, const char* second, Duration second_timeout) {
        return [=](ReactorRig& rig) {
            rig.times = true;
            rig.timer(first, first_timeout);
            rig.timer(second, second_timeout);
            rig.run();
        };
    };
    EXPECT_EQ(behaviours(options, both("a", 1ms, "b", 2ms)), (Logs{"a@1 | b@2", "a@1 | b@3", "a@2 b@2"}));
    // Armed first, the longer one is nobody's elder for no longer: it may come first if the other one is late.
    EXPECT_EQ(behaviours(options, both("b", 2ms, "a", 1ms)), (Logs{"a@1 | b@2", "a@1 | b@3", "a@2 b@2", "b@2 | a@2"}));
}

TEST(SimChoices, WhateverIsPendingMayBeFirstUnderT4) {  // TM4
    SimReactorOptions options = only({ChoiceKind::late, ChoiceKind::timer}, TimeLevel::T4);
    EXPECT_EQ(behaviours(options,
                         [](ReactorRig& rig) {
                             rig.times = true;
                             rig.timer("soon", 1ms);
                             rig.timer("much-later", 10s);
                             rig.run();
                         }),
              (Logs{"soon@1 | much-later@10000", "soon@10000 much-later@10000", "much-later@10000 | soon@10000"}));
    options = only({ChoiceKind::late, ChoiceKind::batch}, TimeLevel::T4);
    EXPECT_TRUE(behaviours(options, [](ReactorRig& rig) {
                    rig.task("task");
                    rig.timer("deadline", 20ms);
                    rig.run();
                }).contains("deadline | task"));
}

TEST(SimChoices, TimersOutsideEachOthersWindowsKeepTheirOrder) {  // TM1
    for (const std::string& log :
         behaviours(late({ChoiceKind::late, ChoiceKind::timer, ChoiceKind::time}, 1ms), [](ReactorRig& rig) {
             rig.timer("a", 1ms);
             rig.timer("b", 3ms);
             rig.run();
         })) {
        EXPECT_EQ(log, "a | b");
    }
}

TEST(SimChoices, TimerIsOvertakenWithinItsBound) {  // RCT-72
    SimReactorOptions options = late({ChoiceKind::late, ChoiceKind::timer}, 100ms);
    options.fairness.late = 2;
    for (const std::string& log : behaviours(options, [](ReactorRig& rig) {
             for (int i = 0; i < 4; ++i) { rig.timer(std::to_string(i), std::chrono::milliseconds(i + 1)); }
             rig.run();
         })) {
        EXPECT_LE(std::count(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(log.find('0')), '|'), 2) << log;
    }
}

TEST(SimChoices, CompletionFallsAnywhereInItsLatency) {  // RCT-70
    SimReactorOptions options = only({ChoiceKind::late, ChoiceKind::batch}, TimeLevel::T2);
    options.timing = {.level = TimeLevel::T2, .task = {0ms, 10ms}};
    const Logs logs = behaviours(options, [](ReactorRig& rig) {
        rig.task("task");
        rig.timer("early", 5ms);
        rig.timer("late", 20ms);
        rig.run();
    });
    EXPECT_TRUE(logs.contains("task | early | late"));
    EXPECT_TRUE(logs.contains("early | task | late"));
    EXPECT_TRUE(logs.contains("task early | late"));
    for (const std::string& log : logs) { EXPECT_LT(log.find("task"), log.find("late")) << log; }
    options.timing.level = TimeLevel::T0;
    EXPECT_EQ(behaviours(options,
                         [](ReactorRig& rig) {
                             rig.task("task");
                             rig.timer("early", 5ms);
                             rig.run();
                         }),
              (Logs{"task | early"}));
}

void io_and_timer(ReactorRig& rig) {
    rig.trigger("io")->fire();
    rig.timer("timer", 0ms);
    for (int i = 0; i < 20; ++i) { rig.poll(); }
}

TEST(SimChoices, TimerIoMeetInOneTickOrInTwo) {  // CP-TIMERIO
    EXPECT_EQ(behaviours(only({ChoiceKind::timer_io, ChoiceKind::batch}), io_and_timer),
              (Logs{"io timer", "io | timer", "timer | io"}));
    EXPECT_EQ(baseline({}, io_and_timer), "io timer");
}

TEST(SimChoices, TimerIoPutsTimersOffWithinItsBound) {  // RCT-72
    SimReactorOptions options = only({ChoiceKind::timer_io});
    options.fairness.timer_io = 2;
    std::size_t most = 0;
    for (const std::string& log : behaviours(options, [](ReactorRig& rig) {
             const int fd = rig.reactor.make_descriptor();
             rig.reader("io", fd);
             rig.reactor.set_ready(fd, PollBits::readable);
             rig.timer("timer", 0ms);
             for (int i = 0; i < 6; ++i) { rig.poll(); }
         })) {
        most = std::max(most, log.find("timer"));
    }
    EXPECT_EQ(most, std::string("io | io | io ").size());
}

TEST(SimChoices, TimeMovesInATickThatDoesNotWait) {  // CP-TIME, RCT-25
    const auto program = [](ReactorRig& rig) {
        rig.timer("timer", 4ms);
        rig.poll();
        rig.write(rig.time());
    };
    EXPECT_EQ(behaviours(only({ChoiceKind::time}), program), (Logs{"0", "2", "timer 4"}));
    EXPECT_EQ(baseline({}, program), "0");
}

TEST(SimChoices,
     TimeReachesTheNearestDeadlineWithinItsBound) {  // CP-TIME, RCT-72: a program that yields until a timer fires ends
    ReactorRig rig;
    rig.timer("timer", 4ms);
    for (int i = 0; i < 4; ++i) {
        rig.poll();
        EXPECT_EQ(rig.log, "");
    }
    rig.poll();
    EXPECT_EQ(rig.log, "timer");
}

TEST(SimChoices, TimeMovesAlthoughADescriptorIsAlwaysReady) {  // INV-LIVE-03
    ReactorRig rig;
    const int fd = rig.reactor.make_descriptor();
    rig.reader("io", fd);
    rig.reactor.set_ready(fd, PollBits::readable);
    rig.timer("timer", 4ms);
    for (int i = 0; i < 5; ++i) { rig.tick(TickMode::may_block); }
    EXPECT_NE(rig.log.find("timer"), std::string::npos);
}

TEST(SimChoices, MergeTellsFiresApart) {  // CP-MERGE
    const auto program = [](ReactorRig& rig) {
        const TriggerPortPtr port = rig.trigger("x");
        for (int i = 0; i < 3; ++i) { port->fire(); }
        for (int i = 0; i < 10; ++i) { rig.poll(); }
    };
    EXPECT_EQ(behaviours(only({ChoiceKind::merge}), program), (Logs{"x", "x | x", "x | x | x"}));
    EXPECT_EQ(baseline({}, program), "x");
}

TEST(SimChoices, MergeTellsSignalsApart) {  // CP-MERGE, F12
    EXPECT_EQ(behaviours(only({ChoiceKind::merge}),
                         [](ReactorRig& rig) {
                             rig.reactor.start(rig.reactor.open_signal(15, rig.named("x")));
                             rig.reactor.raise_signal(15);
                             rig.reactor.raise_signal(15);
                             for (int i = 0; i < 10; ++i) { rig.poll(); }
                         }),
              (Logs{"x", "x | x"}));
}

void signals_and_exit(ReactorRig& rig) {
    rig.reactor.start(rig.reactor.open_signal(1, rig.named("hup")));
    rig.reactor.start(rig.reactor.open_signal(15, rig.named("term")));
    const int pid = rig.reactor.start_child();
    rig.reactor.start(rig.reactor.open_process(pid, rig.named("exit")));
    rig.reactor.raise_signal(15);
    rig.reactor.end_child(pid, 0);
    rig.reactor.raise_signal(1);
    for (int i = 0; i < 10; ++i) { rig.poll(); }
}

TEST(SimChoices, SignalsAndExitsComeInAnyOrder) {  // CP-SIGNAL
    EXPECT_EQ(behaviours(only({ChoiceKind::ready}), signals_and_exit).size(), 6U);
    EXPECT_EQ(baseline({}, signals_and_exit), "term exit hup");
}

TEST(SimChoices, ExitComesBeforeOrAfterTheEndOfItsPipe) {  // CP-EXIT
    const auto program = [](ReactorRig& rig) {
        const int pipe = rig.reactor.make_descriptor();
        rig.reader("eof", pipe);
        const int pid = rig.reactor.start_child();
        rig.reactor.start(rig.reactor.open_process(pid, rig.named("exit")));
        rig.reactor.end_child(pid, 0);
        rig.reactor.hang_up(pipe);
        rig.poll();
    };
    EXPECT_EQ(behaviours(only({ChoiceKind::ready, ChoiceKind::batch}), program),
              (Logs{"eof exit", "exit eof", "eof", "exit"}));
    EXPECT_EQ(baseline({}, program), "eof exit") << "signals and exits are last (RCT-60, G9)";
}

TEST(SimChoices, SpuriousTickRunsNothing) {  // CP-SPURIOUS
    EXPECT_EQ(behaviours(only({ChoiceKind::spurious}),
                         [](ReactorRig& rig) {
                             rig.trigger("x")->fire();
                             rig.poll();
                             rig.write("-");
                             rig.poll();
                         }),
              (Logs{"x -", "- | x"}));
}

void close_three(ReactorRig& rig) {
    rig.timer("far", 1h);
    for (const char* name : {"a", "b", "c"}) {
        const SourceId poll = rig.reactor.open_poll(rig.reactor.make_descriptor(), true, LabelBook::of(name));
        rig.reactor.close(poll);
    }
    for (int i = 0; i < 10; ++i) { rig.poll(); }
    rig.log.clear();
    for (const Delivery& delivery : rig.deliveries) {
        for (const char* name : {"a", "b", "c"}) {
            if (delivery.closed && delivery.label == LabelBook::of(name)) { rig.log += name; }
        }
    }
}

TEST(SimChoices, CloseCompletionsComeInAnyOrder) {  // CP-CLOSE
    SimReactorOptions options = only({ChoiceKind::close});
    options.fairness.close = 1;
    options.fairness.time = 1000;
    EXPECT_EQ(behaviours(options, close_three), (Logs{"abc", "acb", "bac", "bca", "cab", "cba"}));
    EXPECT_EQ(baseline(options, close_three), "cba") << "the last one first (G19)";
}

TEST(SimChoices, CloseCompletionsTakeSeveralTicks) {  // CP-CLOSE, RCT-72
    SimReactorOptions options = only({ChoiceKind::close});
    options.fairness.close = 2;
    EXPECT_EQ(behaviours(options,
                         [](ReactorRig& rig) {
                             rig.reactor.close(rig.reactor.open_poll(rig.reactor.make_descriptor(), true, {}));
                             for (const char* word : {"1", "2", "3"}) {
                                 rig.poll();
                                 rig.write(word);
                             }
                         }),
              (Logs{"closed 1 | 2 | 3", "1 | closed 2 | 3", "1 | 2 | closed 3"}));
}

TEST(SimChoices, CancelWinsOrLosesAgainstARequestAtWork) {  // CP-REQCANCEL
    const auto program = [](ReactorRig& rig) {
        const SourceId id = rig.task("task", [&rig] { rig.write("ran"); });
        EXPECT_TRUE(rig.reactor.cancel(id));
        EXPECT_TRUE(rig.reactor.cancel(id));  // asked once
        rig.run();
        if (rig.deliveries.back().cancelled) { rig.write("cancelled"); }
    };
    EXPECT_EQ(behaviours(only({ChoiceKind::req_cancel}), program), (Logs{"task cancelled", "ran task"}));
    EXPECT_EQ(baseline({}, program), "task cancelled");
}

TEST(SimChoices, CancelAlwaysWinsAgainstARequestThatWaits) {  // G23
    SimReactorOptions options = only({ChoiceKind::req_cancel});
    options.workers = 1;
    EXPECT_EQ(behaviours(options,
                         [](ReactorRig& rig) {
                             rig.task("first");
                             const SourceId id = rig.task("second", [&rig] { rig.write("ran"); });
                             rig.reactor.cancel(id);
                             rig.run();
                         }),
              (Logs{"second first"}));
}

TEST(SimChoices, ClosedRequestRunsOrNotInSilence) {  // CP-REQCANCEL, RCT-45
    EXPECT_EQ(behaviours(only({ChoiceKind::req_cancel}),
                         [](ReactorRig& rig) {
                             rig.timer("later", 1ms);
                             rig.reactor.close(rig.task("task", [&rig] { rig.write("ran"); }));
                             rig.run();
                         }),
              (Logs{"later", "ran | later"}));
}

TEST(SimChoices, PollIsAskedAndForcedWithinItsBound) {  // CP-POLL, RCT-72
    SimReactorOptions options = only({ChoiceKind::poll});
    options.fairness.poll = 2;
    const auto program = [](ReactorRig& rig) {
        rig.trigger("x")->fire();
        for (int i = 0; i < 4; ++i) { rig.write(rig.reactor.poll_due(i % 2 == 0) ? "1" : "0"); }
    };
    EXPECT_EQ(behaviours(options, program),
              (Logs{"0 0 1 0", "0 0 1 1", "0 1 0 0", "0 1 0 1", "0 1 1 0", "0 1 1 1", "1 0 0 1", "1 0 1 0", "1 0 1 1",
                    "1 1 0 0", "1 1 0 1", "1 1 1 0", "1 1 1 1"}));
    EXPECT_EQ(baseline(options, program), "0 0 1 0");
}

TEST(SimChoices, PollIsNotAskedWhenThereIsNothingToFind) {  // C2
    SimReactorOptions options = only({ChoiceKind::poll});
    EXPECT_EQ(behaviours(options,
                         [](ReactorRig& rig) {
                             rig.trigger("x");
                             for (int i = 0; i < 10; ++i) { rig.write(rig.reactor.poll_due(true) ? "1" : "0"); }
                         }),
              (Logs{"0 0 0 0 0 0 0 0 0 0"}));
}

TEST(SimChoices, FaultsMakeStartsAndSubmissionsFail) {  // CP-ERROR, RCT-51
    SimReactorOptions options = only({ChoiceKind::fault});
    const auto program = [](ReactorRig& rig) {
        const auto attempt = [&](const char* name, const std::function<void()>& what) {
            const std::size_t before = rig.reactor.active_events();
            try {
                what();
                rig.write(name);
            } catch (const Error&) {
                rig.write("!");
                EXPECT_EQ(rig.reactor.active_events(), before);
            }
        };
        attempt("poll", [&] { rig.reader("r", rig.reactor.make_descriptor()); });
        attempt("signal", [&] { rig.reactor.start(rig.reactor.open_signal(1, {})); });
        attempt("process", [&] { rig.reactor.start(rig.reactor.open_process(rig.reactor.start_child(), {})); });
        attempt("task", [&] { rig.task("t"); });
    };
    EXPECT_EQ(behaviours(options, program), (Logs{"poll signal process task"})) << "off unless they are asked for";
    options.faults = true;
    const Logs logs = behaviours(options, program);
    EXPECT_EQ(logs.size(), 16U);
    EXPECT_TRUE(logs.contains("! ! ! !"));
}

TEST(SimChoices, AnywhereComesAtEveryDeliveryPoint) {  // CP-CANCEL
    const auto program = [](ReactorRig& rig) {
        rig.reactor.post("post", [&rig] { rig.write("post"); }, {.anywhere = true});
        for (const char* name : {"a", "b", "c"}) {
            rig.trigger(name)->fire();
            rig.poll();
        }
        // Nothing else can happen: it comes at last.
        if (rig.reactor.posts_waiting() > 0) { rig.tick(TickMode::may_block); }
    };
    const Logs logs = behaviours(only({ChoiceKind::arrival}), program);
    EXPECT_EQ(logs, (Logs{"a post | b | c", "a | b post | c", "a | b | c post", "a | b | c | post"}));
    EXPECT_EQ(baseline({}, program), "a post | b | c");
}

TEST(SimChoices, AnywhereComesWhenNothingCountedIsLeft) {
    const Logs logs = behaviours(only({ChoiceKind::arrival}), [](ReactorRig& rig) {
        rig.reactor.post("post", [&rig] { rig.write("post"); }, {.anywhere = true});
        rig.poll();  // as before a deadlock is declared (SCH-55.2)
    });
    EXPECT_EQ(logs, (Logs{"post"}));
}

TEST(SimChoices, MaskKeepsEverythingElseAtProductionsAnswer) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        RandomChooser random{seed};
        SimReactorOptions options = only({});
        options.chooser = &random;
        EXPECT_EQ(baseline(options, io_and_timer), "io timer");
        EXPECT_EQ(baseline(options, signals_and_exit), "term exit hup");
    }
}

/// A world in which everything is used.
void busy_world(ReactorRig& rig) {
    SimReactor& reactor = rig.reactor;
    const int fd = reactor.make_descriptor();
    const SourceId proxy = rig.reader("reader", fd);
    const TriggerPortPtr a = rig.trigger("a");
    const TriggerPortPtr b = rig.trigger("b");
    reactor.start(reactor.open_timer({.timeout = 7ms, .periodic = true}, rig.named("period")));
    for (const auto timeout : {1ms, 1ms, 2ms, 5ms}) { rig.timer("timer", timeout); }
    reactor.start(reactor.open_signal(2, rig.named("signal")));
    const int pid = reactor.start_child({1ms, 3ms}, 0);
    reactor.start(reactor.open_process(pid, rig.named("exit")));
    for (int i = 0; i < 3; ++i) { rig.task("task"); }
    try {
        reactor.cancel(rig.task("cancelled"));
        reactor.start(reactor.open_signal(3, rig.named("never")));
    } catch (const Error&) {}
    reactor.post("anywhere", [&] { rig.write("anywhere"); }, {.anywhere = true});
    reactor.add_thread("thread")
        .then([&, a] {
            a->fire();
            a->fire();
            reactor.set_ready(fd, PollBits::readable);
        })
        .then({1ms, 2ms}, [&, b] {
            b->fire();
            reactor.raise_signal(2);
        });
    for (const char* name : {"x", "y"}) {
        reactor.close(reactor.open_poll(reactor.make_descriptor(), true, LabelBook::of(name)));
    }
    for (int i = 0; i < 30; ++i) {
        if (i == 20) { reactor.close(proxy); }
        if (reactor.poll_due(true)) { rig.poll(); }
        rig.tick(i % 2 == 0 ? TickMode::may_block : TickMode::no_wait);
        if (i == 15) { rig.timer("again", 1ms); }
    }
}

TEST(SimChoices, RandomWalkLeavesNoAlternativeUntried) {  // H-FAULTS, BUG-173, MUT-H8
    constexpr ChoiceMask asked{ChoiceKind::poll,     ChoiceKind::ready,  ChoiceKind::batch,    ChoiceKind::timer,
                               ChoiceKind::timer_io, ChoiceKind::time,   ChoiceKind::pool,     ChoiceKind::late,
                               ChoiceKind::merge,    ChoiceKind::close,  ChoiceKind::spurious, ChoiceKind::req_cancel,
                               ChoiceKind::fault,    ChoiceKind::arrival};
    AuditChooser audit;
    for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
        RandomChooser random{seed};
        audit.set_chooser(&random);
        SimReactorOptions options;
        options.timing = Timing::at(TimeLevel::T2);
        options.faults = seed % 4 == 0;  // most worlds with failures end early
        options.chooser = &audit;
        ReactorRig rig{options};
        try {
            busy_world(rig);
        } catch (const Error&) {  // an injected failure that this world does not survive
        }
    }
    EXPECT_TRUE(audit.empty_cells(asked).empty()) << audit.report(asked);
}

TEST(SimChoices, SameAnswersGiveTheSameRun) {  // RCT-68, INV-RCT-14
    for (const TimeLevel level : {TimeLevel::T0, TimeLevel::T1, TimeLevel::T2, TimeLevel::T3, TimeLevel::T4}) {
        for (std::uint64_t seed = 0; seed < 50; ++seed) {
            const auto log = [&] {
                RandomChooser random{seed};
                SimReactorOptions options;
                options.timing = Timing::at(level);
                options.chooser = &random;
                return baseline(options, busy_world);
            };
            EXPECT_EQ(log(), log());
        }
    }
}

TEST(SimChoices, EveryRandomRunKeepsTheTimerRules) {  // INV-RCT-01 to 03, RCT-71
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        RandomChooser random{seed};
        SimReactorOptions options;
        options.timing = Timing::at(TimeLevel::T2);
        options.timing.jitter = 3ms;
        options.chooser = &random;
        ReactorRig rig{options};
        std::vector<Instant> deadlines;
        Instant last_now;
        std::vector<int> fired(20, 0);
        for (int i = 0; i < 20; ++i) {
            const Duration timeout = std::chrono::milliseconds(i * 7 % 10);
            testing::NamedOwner& owner = rig.owner(std::to_string(i));
            deadlines.push_back(rig.reactor.now() + timeout);
            owner.then = [&, i](const Delivery&) {
                EXPECT_GE(rig.reactor.now(), deadlines[static_cast<std::size_t>(i)]);
                EXPECT_LE(rig.reactor.now(), deadlines[static_cast<std::size_t>(i)] + 3ms)
                    << "no later than its window";
                EXPECT_GE(rig.reactor.now(), last_now);
                last_now = rig.reactor.now();
                ++fired[static_cast<std::size_t>(i)];
            };
            rig.reactor.start(rig.reactor.open_timer({.timeout = timeout}, {.owner = &owner}));
        }
        rig.run();
        EXPECT_EQ(fired, std::vector<int>(20, 1));
    }
}

}  // namespace
}  // namespace heddle::sim
