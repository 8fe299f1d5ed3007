// SPDX-License-Identifier: Apache-2.0
// The simulated reactor beyond the contract: its outside, its clock, nodes, labels, footprints, and the ends that a
// world can meet.
#include "heddle/simreactor/reactor/sim_reactor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/reactor/testing/reactor_rig.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;
using testing::baseline;
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

// ── labels ──

class LabelCollector final : public Chooser {
public:
    std::uint32_t choose(const ChoicePoint& point) override {
        ++seen[{point.kind, point.at.value}];
        return random.choose(point);
    }
    std::map<std::pair<ChoiceKind, std::uint64_t>, int> seen;
    RandomChooser random{1};
};

void several_choices(ReactorRig& rig) {
    for (const char* name : {"a", "b"}) { rig.timer(name, 1ms); }
    const TriggerPortPtr a = rig.trigger("c");
    const TriggerPortPtr b = rig.trigger("d");
    for (int i = 0; i < 12; ++i) {
        a->fire();
        b->fire();
        rig.reactor.set_anchor(i % 2 == 0 ? Label{} : LabelBook::of("main"));
        if (rig.reactor.poll_due(true)) { rig.poll(); }
    }
}

TEST(SimReactor, NamesEachChoiceOnce) {  // C3
    for (const bool with_book : {true, false}) {
        LabelBook book;
        LabelCollector chooser;
        SimReactorOptions options;
        options.book = with_book ? &book : nullptr;
        options.chooser = &chooser;
        ReactorRig rig{options};
        several_choices(rig);
        EXPECT_GT(chooser.seen.size(), 20U);
        for (const auto& [point, count] : chooser.seen) { EXPECT_EQ(count, 1); }
    }
}

TEST(SimReactor, NamesChoicesAfterWhoHostsTheTick) {
    LabelBook book;
    LabelCollector chooser;
    SimReactorOptions options;
    options.book = &book;
    options.chooser = &chooser;
    options.mask = {ChoiceKind::poll};
    ReactorRig rig{options};
    const Label main = book.root("main");
    rig.trigger("x")->fire();
    for (const Label anchor : {main, main, Label{}}) {
        rig.reactor.set_anchor(anchor);
        static_cast<void>(rig.reactor.poll_due(true));
    }
    for (const char* text : {"main:poll", "main:poll#2", "loop:poll"}) {
        const auto found = std::ranges::any_of(
            chooser.seen, [&](const auto& at) { return book.text(Label{at.first.second}) == text; });
        EXPECT_TRUE(found) << text;
    }
}

TEST(SimReactor, NamesTheOutside) {
    LabelBook book;
    SimReactorOptions options;
    options.book = &book;
    ReactorRig rig{options};
    EXPECT_EQ(book.text(rig.reactor.add_thread("poster").label()), "outside/poster");
    EXPECT_EQ(book.text(rig.reactor.add_thread("poster").label()), "outside/poster#2");
}

// ── footprints ──

class TouchLog final : public Observer {
public:
    void on_event(const Event&) override {}
    void on_touch(Cell cell, TouchMode mode) override { touches.push_back({cell, mode}); }
    [[nodiscard]] std::vector<Touch> take() { return std::exchange(touches, {}); }
    std::vector<Touch> touches;
};

TEST(SimReactorFootprints, TimerWritesEachOfItsArmings) {
    TouchLog observer;
    SimReactorOptions options;
    options.observer = &observer;
    ReactorRig rig{options};
    const Label label = LabelBook::of("t");
    const SourceId timer = rig.timer("t", 2ms);
    const Cell first = cell(label, "armed", 1);
    const Cell second = cell(label, "armed", 2);
    EXPECT_EQ(observer.take(), (std::vector<Touch>{{first, TouchMode::write}}));
    rig.reactor.stop(timer);
    EXPECT_EQ(observer.take(), (std::vector<Touch>{{first, TouchMode::write}}));
    rig.reactor.stop(timer);  // too late: it found nothing
    EXPECT_EQ(observer.take(), (std::vector<Touch>{{first, TouchMode::read}}));
    rig.reactor.start(timer);
    EXPECT_EQ(observer.take(), (std::vector<Touch>{{second, TouchMode::write}}));
    rig.run();
    EXPECT_TRUE(observer.take().empty()) << "what a delivery touches comes with it";
    EXPECT_EQ(rig.footprints.back(),
              (std::vector<Touch>{{second, TouchMode::write}, {VirtualClock::now_cell(), TouchMode::max}}));
}

TEST(SimReactorFootprints, FiresOfATriggerCommuteAndItsDeliveryDoesNot) {
    TouchLog observer;
    SimReactorOptions options;
    options.observer = &observer;
    ReactorRig rig{options};
    const TriggerPortPtr port = rig.trigger("t");
    const Cell flag = cell(LabelBook::of("t"), "flag");
    observer.touches.clear();
    port->fire();
    port->fire();
    EXPECT_EQ(observer.take(), (std::vector<Touch>{{flag, TouchMode::set}, {flag, TouchMode::set}}));
    rig.poll();
    EXPECT_EQ(rig.footprints.back(), (std::vector<Touch>{{flag, TouchMode::write}}));
}

TEST(SimReactorFootprints, WorkersFootprintBelongsToItsCompletion) {
    TouchLog observer;
    SimReactorOptions options;
    options.observer = &observer;
    ReactorRig rig{options};
    const TriggerPortPtr port = rig.trigger("t");
    rig.task("job", [&] { port->fire(); });
    observer.touches.clear();
    rig.poll();
    EXPECT_TRUE(observer.take().empty());
    EXPECT_EQ(rig.footprints.front(), (std::vector<Touch>{{cell(LabelBook::of("job"), "request"), TouchMode::write},
                                                          {cell(LabelBook::of("t"), "flag"), TouchMode::set}}));
}

TEST(SimReactorFootprints, DescriptorHasAReadAndAWriteSide) {
    TouchLog observer;
    SimReactorOptions options;
    options.observer = &observer;
    ReactorRig rig{options};
    const int fd = rig.reactor.make_descriptor();
    rig.reader("r", fd, PollBits::readable | PollBits::writable);
    observer.touches.clear();
    rig.reactor.set_ready(fd, PollBits::readable);
    const std::vector<Touch> made_readable = observer.take();
    rig.reactor.set_ready(fd, PollBits::writable);
    const std::vector<Touch> made_writable = observer.take();
    ASSERT_EQ(made_readable.size(), 1U);
    ASSERT_EQ(made_writable.size(), 1U);
    EXPECT_NE(made_readable[0].cell, made_writable[0].cell) << "they commute";
    rig.poll();
    const std::vector<Touch> both{{made_readable[0].cell, TouchMode::read}, {made_writable[0].cell, TouchMode::read}};
    EXPECT_EQ(rig.footprints.back(), both);
}

TEST(SimReactor, AnObserverChangesNoDecision) {  // O1
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const auto log = [&](Observer* observer) {
            RandomChooser random{seed};
            SimReactorOptions options;
            options.chooser = &random;
            options.observer = observer;
            return baseline(options, several_choices);
        };
        TouchLog observer;
        EXPECT_EQ(log(nullptr), log(&observer));
    }
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
    EXPECT_NE(refused([](auto& o) { o.timing.level = TimeLevel::T3; }).find("T3, which is not built yet"),
              std::string::npos);
    EXPECT_NE(refused([](auto& o) { o.timing.level = TimeLevel::T4; }), "");
    EXPECT_NE(refused([](auto& o) { o.timing.jitter = 1ms; }).find("jitter needs level T2"), std::string::npos);
    EXPECT_NE(refused([](auto& o) { o.timing.task = {2ms, 1ms}; }).find("task.max"), std::string::npos);
    EXPECT_NE(refused([](auto& o) { o.timing.post = {-2ms, 1ms}; }), "");
    EXPECT_NE(refused([](auto& o) { o.resolution = 0ns; }), "");
    EXPECT_NE(refused([](auto& o) { o.workers = 0; }), "");
    EXPECT_NE(refused([](auto& o) { o.candidates_max = 1; }), "");
    EXPECT_NE(refused([](auto& o) { o.fairness.poll = 0; }), "");
}

TEST(Timing, HasValuesForEachLevelThatExists) {
    EXPECT_EQ(Timing::at(TimeLevel::T1).jitter, 0ms);
    EXPECT_GT(Timing::at(TimeLevel::T2).jitter, 0ms);
    EXPECT_THROW(static_cast<void>(Timing::at(TimeLevel::T3)), ValueError);
    const Timing exact = Timing::at(TimeLevel::T1);
    EXPECT_EQ(exact.window(Instant{}, {1ms, 5ms}, 1ms).latest, Instant{} + 1ms);
    EXPECT_EQ(Timing::at(TimeLevel::T2).window(Instant{}, {1ns, 5ms}, 1ms).earliest, Instant{} + 1ms);
}

TEST(EventQueue, TakesEqualInstantsInTheOrderOfAdding) {  // MUT-H4, BUG-167
    const auto order = [](std::uint32_t unrelated) {
        EventQueue queue;
        std::vector<EventQueue::Ticket> others;
        for (std::uint32_t i = 0; i < unrelated; ++i) {
            others.push_back(queue.add({Instant{1 + i % 3}, Instant{9}}, Happening::post, 1000 + i));
        }
        for (std::uint32_t i = 0; i < 20; ++i) { queue.add({Instant{5}, Instant{5}}, Happening::post, i); }
        for (const EventQueue::Ticket ticket : others) { queue.remove(ticket); }
        std::vector<std::uint32_t> taken;
        queue.take_due(Instant{5}, [&](const EventQueue::Entry& entry) { taken.push_back(entry.index); });
        return taken;
    };
    const std::vector<std::uint32_t> alone = order(0);
    for (std::uint32_t i = 0; i < 20; ++i) { EXPECT_EQ(alone[i], i); }
    for (std::uint32_t unrelated = 1; unrelated < 30; ++unrelated) { EXPECT_EQ(order(unrelated), alone); }
}

TEST(EventQueue, KnowsTheEndOfTheFirstWindow) {
    EventQueue queue;
    EXPECT_TRUE(queue.next().is_never());
    EXPECT_TRUE(queue.min_latest().is_never());
    const EventQueue::Ticket short_one = queue.add({Instant{3}, Instant{4}}, Happening::task, 0);
    queue.add({Instant{1}, Instant{9}}, Happening::task, 1);
    EXPECT_EQ(queue.next(), Instant{1});
    EXPECT_EQ(queue.min_latest(), Instant{4});
    queue.remove(short_one);
    EXPECT_EQ(queue.min_latest(), Instant{9});
}

TEST(Slots, NeverFindsWhatWasTakenOut) {
    detail::Slots<int> slots;
    const std::uint32_t first = slots.add(1);
    const std::uint64_t old_key = slots.key(first);
    EXPECT_EQ(*slots.find(old_key), 1);
    slots.remove(first);
    EXPECT_EQ(slots.find(old_key), nullptr);
    EXPECT_EQ(slots.add(2), first) << "the place is used again";
    EXPECT_EQ(slots.find(old_key), nullptr);
    EXPECT_EQ(slots.find(0), nullptr);
    EXPECT_NE(slots.key(first), old_key);
}

}  // namespace
}  // namespace heddle::sim
