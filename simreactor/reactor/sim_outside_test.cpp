// SPDX-License-Identifier: Apache-2.0
// What comes from outside a simulated reactor: the steps of other threads, and posts.
#include "heddle/simreactor/reactor/sim_reactor.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "heddle/simreactor/reactor/testing/reactor_rig.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;
using testing::ReactorRig;

// ── threads and posts ──

TEST(ForeignThread, RunsItsStepsInOrderAtTheirTimes) {
    ReactorRig rig;
    rig.times = true;
    const TriggerPortPtr port = rig.trigger("x");
    ForeignThread& thread = rig.reactor.add_thread("worker");
    thread.then(Latency::exactly(2ms), [port] { port->fire(); }).then(Latency::exactly(3ms), [port] { port->fire(); });
    while (rig.deliveries.size() < 4) { rig.tick(TickMode::may_block); }
    EXPECT_EQ(rig.log, "x@2 | x@5");
    EXPECT_TRUE(thread.done());
    EXPECT_EQ(rig.deliveries[0].kind, SourceKind::none);
    EXPECT_EQ(rig.deliveries[0].label, thread.label());
    EXPECT_EQ(rig.deliveries[2].value, 2) << "number of the step";
    thread.then([port] { port->fire(); });
    while (rig.deliveries.size() < 6) { rig.tick(TickMode::may_block); }
    EXPECT_EQ(thread.steps_run(), 3U);
}

TEST(ForeignThread, StepsOfTwoThreadsInterleaveInEveryWay) {
    SimReactorOptions options;
    options.mask = {ChoiceKind::ready, ChoiceKind::batch};
    const auto logs = testing::behaviours(options, [](ReactorRig& rig) {
        for (const char* name : {"a", "b"}) {
            ForeignThread& thread = rig.reactor.add_thread(name);
            for (const char* step : {"1", "2"}) {
                thread.then([&rig, word = std::string(name) + step] { rig.write(word); });
            }
        }
        for (int i = 0; i < 20; ++i) { rig.poll(); }
        std::erase(rig.log, '|');
        std::erase(rig.log, ' ');
    });
    EXPECT_EQ(logs, (std::set<std::string>{"a1a2b1b2", "a1b1a2b2", "a1b1b2a2", "b1a1a2b2", "b1a1b2a2", "b1b2a1a2"}));
}

TEST(Post, ComesAtItsTimeOrNotAtAll) {
    ReactorRig rig;
    rig.times = true;
    rig.timer("timer", 3ms);
    rig.reactor.post("soon", [&] { rig.write("soon@" + rig.time()); });
    rig.reactor.post("then", [&] { rig.write("then@" + rig.time()); }, {.after = Latency::exactly(2ms)});
    const PostId never = rig.reactor.post("never", [&] { rig.write("never"); }, {.after = Latency::exactly(1ms)});
    EXPECT_TRUE(rig.reactor.withdraw(never));
    EXPECT_FALSE(rig.reactor.withdraw(never));
    rig.run();
    EXPECT_EQ(rig.log, "soon@0 | then@2 | timer@3");
    EXPECT_EQ(rig.reactor.posts_waiting(), 0U);
}

TEST(Post, KeepsTheLoopAliveOnlyIfItCounts) {  // RCT-16
    ReactorRig rig;
    rig.reactor.post("a", [&] { rig.write("a"); }, {.after = Latency::exactly(5ms)});
    EXPECT_FALSE(rig.reactor.alive());
    rig.reactor.post("b", [&] { rig.write("b"); }, {.after = Latency::exactly(6ms), .counted = true});
    EXPECT_EQ(rig.reactor.active_events(), 1U);
    rig.run();
    EXPECT_EQ(rig.log, "a | b");
    EXPECT_FALSE(rig.reactor.alive());
}

TEST(Post, MayStartWhatIsDeliveredAtOnce) {  // RCT-53 inside a delivery
    ReactorRig rig;
    const int pid = rig.reactor.start_child();
    rig.reactor.end_child(pid, 3);
    rig.reactor.post("x", [&] { rig.reactor.start(rig.reactor.open_process(pid, rig.named("exit"))); });
    rig.poll();
    EXPECT_EQ(rig.log, "exit");
    EXPECT_EQ(rig.deliveries.back().value, 3);
}

}  // namespace
}  // namespace heddle::sim
