// SPDX-License-Identifier: Apache-2.0
// What the simulated reactor tells of itself: labels of its choices, footprints of its deliveries, and that telling changes nothing.
#include "heddle/simreactor/reactor/sim_reactor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/reactor/testing/reactor_rig.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;
using testing::baseline;
using testing::ReactorRig;

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

}  // namespace
}  // namespace heddle::sim
