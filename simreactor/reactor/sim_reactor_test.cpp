// SPDX-License-Identifier: Apache-2.0
// The simulated reactor beyond the contract: its clock, its descriptors and children, nodes, and the ends that a world can meet.
#include "heddle/simreactor/reactor/sim_reactor.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/prng.hpp"
#include "heddle/simreactor/reactor/testing/reactor_rig.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;
using testing::ReactorRig;

/// Turns violations into exceptions for the length of a test.
class Violations final : public ViolationSink {
public:
    Violations() : previous_(exchange_violation_sink(this)) {}
    ~Violations() { exchange_violation_sink(previous_); }
    Violations(const Violations&) = delete;
    Violations& operator=(const Violations&) = delete;
    void violated(const Violation& violation) override { throw violation; }

private:
    ViolationSink* previous_;
};

// ── time ──

TEST(SimReactor, JumpsToTheNearestDeadline) {
    ReactorRig rig;
    rig.times = true;
    rig.timer("late", 1h);
    rig.timer("early", 2ms);
    rig.run();
    EXPECT_EQ(rig.log, "early@2 | late@3600000");
}

TEST(SimReactor, FiresAMillionTimersOverTenYears) {
    SimReactor reactor;
    struct Sink final : ReactorSink {
        void deliver(const Delivery&) noexcept override { ++count; }
        [[nodiscard]] bool has_ready_work() const noexcept override { return false; }
        std::size_t count = 0;
    } sink;
    reactor.startup(sink);
    constexpr std::size_t timers = 1'000'000;
    constexpr Duration ten_years = std::chrono::hours(24) * 3650;
    Prng prng{1};
    for (std::size_t i = 0; i < timers; ++i) {
        reactor.start(reactor.open_timer({.timeout = prng.between(Duration{0}, ten_years)}, {}));
    }
    while (reactor.alive()) { reactor.tick(TickMode::may_block); }
    EXPECT_EQ(sink.count, timers);
    EXPECT_GT(reactor.now() - Instant{}, ten_years - 24h);
    EXPECT_LE(reactor.now() - Instant{}, ten_years + 1ms);
}

TEST(SimReactor, CountsNanosecondsWhereItIsToldTo) {
    SimReactorOptions options;
    options.resolution = Duration{1};
    ReactorRig rig{options};
    rig.timer("x", Duration{17});
    rig.run();
    EXPECT_EQ(rig.reactor.now(), Instant{17});
}

TEST(SimReactor, BurntTimeIsSeenByTheNextTick) {  // RCT-25
    ReactorRig rig;
    rig.timer("x", 5ms);
    rig.reactor.burn(7ms + 1us);
    EXPECT_EQ(rig.reactor.now(), Instant{});
    EXPECT_EQ(rig.reactor.true_time(), Instant{} + 8ms) << "in multiples of the resolution";
    rig.poll();
    EXPECT_EQ(rig.log, "x");
    EXPECT_EQ(rig.reactor.now(), Instant{} + 8ms);
}

// ── hangs ──

TEST(SimReactor, WaitForWhatCanNeverHappenIsAViolation) {  // RCT-69
    const Violations violations;
    LabelBook book;
    SimReactorOptions options;
    options.book = &book;
    ReactorRig rig{options};
    const Label label = book.root("main/trigger");
    rig.reactor.start(rig.reactor.open_trigger({.label = label}));
    try {
        rig.tick(TickMode::may_block);
        FAIL() << "it came back";
    } catch (const Violation& violation) {
        EXPECT_EQ(violation.invariant, "RCT-69");
        EXPECT_NE(violation.message.find("hang: "), std::string::npos);
        EXPECT_NE(violation.message.find("trigger main/trigger;"), std::string::npos) << violation.message;
    }
    rig.reactor.reset();
    EXPECT_FALSE(rig.reactor.is_up());
    EXPECT_EQ(rig.reactor.active_events(), 0U);
}

TEST(SimReactor, TimerThatNeverComesIsAHangToo) {  // RCT-69: a sleep without end
    const Violations violations;
    ReactorRig rig;
    rig.timer("x", Duration::max());
    EXPECT_THROW(rig.tick(TickMode::may_block), Violation);
    rig.reactor.reset();
}

// ── descriptors, children ──

TEST(SimReactor, ReportsFailures) {  // RCT-36
    ReactorRig rig;
    const int fd = rig.reactor.make_descriptor();
    const SourceId proxy = rig.reader("x", fd);
    rig.reactor.fail(fd, EIO);
    rig.poll();
    EXPECT_EQ(rig.deliveries.back().error, EIO);
    rig.reactor.fail(fd, EBADF);
    rig.poll();
    EXPECT_EQ(rig.deliveries.back().error, 0);
    EXPECT_EQ(rig.deliveries.back().value, PollBits::disconnect);
    rig.reactor.close(proxy);
    rig.reactor.close_descriptor(fd);
    EXPECT_THROW(rig.reactor.open_poll(fd, false, {}), IoError);
}

TEST(SimReactor, DescriptorClosedUnderItsPollIsADisconnect) {  // RCT-36
    ReactorRig rig;
    const int fd = rig.reactor.make_descriptor();
    rig.reader("x", fd);
    rig.reactor.close_descriptor(fd);
    rig.poll();
    EXPECT_EQ(rig.deliveries.back().value, PollBits::disconnect);
}

TEST(SimReactor, ChildrenEndAtTheirTimes) {
    ReactorRig rig;
    rig.times = true;
    const int quick = rig.reactor.start_child(Latency::exactly(2ms), 7);
    const int slow = rig.reactor.start_child(Latency::exactly(9ms), 0);
    rig.reactor.start(rig.reactor.open_process(slow, rig.named("slow")));
    rig.reactor.start(rig.reactor.open_process(quick, rig.named("quick")));
    rig.tick(TickMode::may_block);
    EXPECT_EQ(rig.log, "quick@2");
    EXPECT_EQ(rig.deliveries.back().value, 7);
    EXPECT_TRUE(rig.reactor.kill_child(slow, 9));
    EXPECT_FALSE(rig.reactor.kill_child(slow, 9));
    rig.run();
    EXPECT_EQ(rig.log, "quick@2 | slow@2");
    EXPECT_EQ(rig.deliveries.back().value, -9);
}

TEST(SimReactor, ChildThatEndedWhileTheProgramComputedIsDeliveredInsideStart) {  // RCT-53
    ReactorRig rig;
    const int pid = rig.reactor.start_child(Latency::exactly(2ms), 4);
    const SourceId watch = rig.reactor.open_process(pid, rig.named("exit"));
    rig.reactor.burn(5ms);
    rig.reactor.start(watch);
    EXPECT_EQ(rig.log, "exit");
    EXPECT_EQ(rig.deliveries.back().value, 4);
}

TEST(SimReactor, WorkersTakeRequestsInTurn) {
    SimReactorOptions options;
    options.workers = 2;
    options.timing.task = Latency::exactly(10ms);
    ReactorRig rig{options};
    rig.times = true;
    for (const char* name : {"a", "b", "c", "d", "e"}) { rig.task(name); }
    rig.run();
    EXPECT_EQ(rig.log, "a@10 b@10 | c@20 d@20 | e@30");
}

// ── nodes ──

TEST(SimReactor, LetsOtherNodesRunBeforeItMovesTheirClock) {
    VirtualClock clock;
    std::vector<Instant> asked;
    bool woken = false;
    TriggerPortPtr port;
    SimReactorOptions options;
    options.clock = &clock;
    options.on_idle = [&](SimReactor& node, Instant next) {
        EXPECT_EQ(node.true_time(), clock.now());
        asked.push_back(next);
        if (woken) { return false; }
        woken = true;
        port->fire();  // what another node would do
        return true;
    };
    ReactorRig first{options};
    ReactorRig second{SimReactorOptions{.clock = &clock}};
    port = first.trigger("wake");
    first.timer("timer", 8ms);
    first.tick(TickMode::may_block);
    EXPECT_EQ(first.log, "wake") << "it looked again instead of sleeping";
    first.tick(TickMode::may_block);
    EXPECT_EQ(first.log, "wake | timer");
    EXPECT_EQ(asked, (std::vector<Instant>{Instant{} + 8ms, Instant{} + 8ms}));
    EXPECT_EQ(second.reactor.true_time(), Instant{} + 8ms) << "one clock";
}

TEST(SimReactor, AsksItsWorldBeforeItCallsAWaitAHang) {
    std::vector<Instant> asked;
    TriggerPortPtr port;
    SimReactorOptions options;
    options.on_idle = [&](SimReactor&, Instant next) {
        asked.push_back(next);
        port->fire();
        return true;
    };
    ReactorRig rig{options};
    port = rig.trigger("wake");
    rig.tick(TickMode::may_block);
    EXPECT_EQ(rig.log, "wake");
    EXPECT_EQ(asked, std::vector<Instant>{Instant::never()});
}

TEST(SimReactor, TellsWhenItsNextHappeningIs) {
    ReactorRig rig;
    EXPECT_TRUE(rig.reactor.next_happening().is_never());
    rig.reactor.post("anywhere", [] {}, {.anywhere = true});
    EXPECT_TRUE(rig.reactor.next_happening().is_never()) << "it waits for some other tick";
    rig.timer("x", 8ms);
    EXPECT_EQ(rig.reactor.next_happening(), Instant{} + 8ms);
    rig.reactor.add_thread("t").then(Latency::exactly(3ms), [] {});
    EXPECT_EQ(rig.reactor.next_happening(), Instant{} + 3ms);
    rig.trigger("y")->fire();
    EXPECT_EQ(rig.reactor.next_happening(), Instant{});
}

// ── life ──

TEST(SimReactor, IsAsNewAfterAReset) {
    const auto use = [](SimReactor& reactor) {
        ReactorRig rig;  // only for its sink
        reactor.startup(rig);
        std::vector<std::uint64_t> ids;
        for (int i = 0; i < 5; ++i) { ids.push_back(reactor.open_timer({.timeout = 1ms}, rig.named("t")).value); }
        reactor.close(SourceId{ids[2]});
        ids.push_back(reactor.open_trigger(rig.named("x")).value);
        reactor.start(SourceId{ids[0]});
        ids.push_back(static_cast<std::uint64_t>(reactor.make_descriptor()));
        reactor.post("p", [] {}, {.counted = true});
        reactor.tick(TickMode::may_block);
        ids.push_back(static_cast<std::uint64_t>(reactor.now().ns()));
        ids.push_back(reactor.active_events());
        return ids;
    };
    SimReactor reactor;
    const auto first = use(reactor);
    reactor.reset();
    EXPECT_EQ(use(reactor), first);
    reactor.reset();
}

TEST(SimReactor, AbandonsWhatAFrozenWorldRefersTo) {  // WD: no destructor runs on broken state
    const auto held = std::make_shared<int>(0);
    ReactorRig rig;
    rig.reactor.submit_task([held] {}, {});
    rig.reactor.post("p", [held] {}, {.anywhere = true});
    rig.reactor.add_thread("t").then([held] {});
    EXPECT_EQ(held.use_count(), 4);
    rig.reactor.reset(SimReactor::ResetMode::abandon);
    EXPECT_EQ(held.use_count(), 4);
}

TEST(SimReactor, DestroysWhatDidNotRunOtherwise) {
    const auto held = std::make_shared<int>(0);
    ReactorRig rig;
    rig.reactor.submit_task([held] {}, {});
    rig.reactor.post("p", [held] {}, {.anywhere = true});
    rig.reactor.add_thread("t").then([held] {});
    rig.reactor.reset();
    EXPECT_EQ(held.use_count(), 1);
}

TEST(SimReactor, LetsChildrenRunOnAfterAShutdown) {
    ReactorRig rig;
    const int pid = rig.reactor.start_child(Latency::exactly(5ms), 2);
    rig.reactor.start(rig.reactor.open_process(pid, rig.named("exit")));
    rig.reactor.shutdown();
    rig.reactor.startup(rig);
    rig.reactor.start(rig.reactor.open_process(pid, rig.named("exit again")));
    rig.run();
    EXPECT_EQ(rig.log, "exit again");
}

TEST(SimReactor, RefusesOptionsOutOfRange) {
    const auto refused = [](const std::function<void(SimReactorOptions&)>& change) {
        SimReactorOptions options;
        change(options);
        try {
            const SimReactor reactor{options};
        } catch (const ValueError& error) { return std::string(error.what()); }
        return std::string();
    };
    EXPECT_EQ(refused([](auto&) {}), "");
    EXPECT_NE(refused([](auto& o) { o.timing.jitter = 1ms; }).find("jitter needs level T2"), std::string::npos);
    EXPECT_NE(refused([](auto& o) { o.timing.task = {2ms, 1ms}; }).find("task.max"), std::string::npos);
    EXPECT_NE(refused([](auto& o) { o.timing.post = {-2ms, 1ms}; }), "");
    EXPECT_NE(refused([](auto& o) { o.resolution = 0ns; }), "");
    EXPECT_NE(refused([](auto& o) { o.workers = 0; }), "");
    EXPECT_NE(refused([](auto& o) { o.candidates_max = 1; }), "");
    EXPECT_NE(refused([](auto& o) { o.fairness.poll = 0; }), "");
}

}  // namespace
}  // namespace heddle::sim
