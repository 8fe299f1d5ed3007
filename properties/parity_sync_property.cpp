// SPDX-License-Identifier: Apache-2.0
// Parity: what the chapters 10 to 13 say by example happens on libuv as it does in the simulated world's baseline run: the same words,
// and the same events of coroutines and primitives in the same order.
//
// Bound: the examples of worked_sync, one run on each reactor. No order in them rests on how long something takes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heddle/core/run/runtime.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/properties/scenario/worked.hpp"
#include "heddle/realreactor/uv_reactor.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {
namespace {

/// What a program, or somebody it tells, can tell apart; not when, and not by which tick of the loop.
class Visible final : public Observer {
public:
    explicit Visible(const LabelBook& labels) : labels_(labels) {}

    void on_event(const Event& event) override {
        switch (event.kind) {
            case EventKind::spawned:
            case EventKind::started:
            case EventKind::finished:
            case EventKind::cancel_requested:
            case EventKind::cancel_delivered:
            case EventKind::scope_closed:
            case EventKind::scope_terminated:
            case EventKind::wait_begun:
            case EventKind::granted:
            case EventKind::grant_spent:
            case EventKind::handed_on:
            case EventKind::wait_left:
            case EventKind::value_in:
            case EventKind::value_out:
            case EventKind::object_closed:
            case EventKind::reported:
            case EventKind::user: break;
            default: return;
        }
        std::string line(to_string(event.kind));
        for (const Label label : {event.who, event.what}) { line += label ? " " + labels_.text(label) : " -"; }
        lines_.push_back(line + " " + std::to_string(event.a) + " " + std::string(event.note));
    }
    [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

private:
    const LabelBook& labels_;
    std::vector<std::string> lines_;
};

/// Both at once, for a runtime that has one observer.
class Both final : public Observer {
public:
    Both(Observer& first, Observer& second) : first_(first), second_(second) {}
    void on_event(const Event& event) override {
        first_.on_event(event);
        second_.on_event(event);
    }

private:
    Observer& first_;
    Observer& second_;
};

struct Told {
    std::string words;
    std::vector<std::string> events;
    std::string error;
};

Told told_by_simulation(const Worked& worked) {
    sim::World world;
    Visible visible(world.labels());
    Transcript transcript;
    world.mutable_options().observers = {&visible, &transcript};
    const sim::Outcome outcome = world.run(worked.program);
    return {transcript.text(), visible.lines(), outcome.message};
}

Told told_by_libuv(const Worked& worked) {
    real::UvReactor reactor;
    LabelBook labels;
    Visible visible(labels);
    Transcript transcript;
    Both both(visible, transcript);
    RuntimeOptions options;
    options.observer = &both;
    options.labels = &labels;
    std::string error;
    {
        Runtime runtime(reactor, options);
        try {
            runtime.run([&worked] { worked.program(); });
        } catch (const std::exception& thrown) {
            error = thrown.what();
        }
    }
    return {transcript.text(), visible.lines(), error};
}

class Parity : public testing::TestWithParam<Worked> {};

TEST_P(Parity, TheExampleIsTheSameOnBothReactors) {
    const Told simulated = told_by_simulation(GetParam());
    const Told real = told_by_libuv(GetParam());
    EXPECT_EQ(simulated.words, GetParam().says);
    EXPECT_EQ(real.words, simulated.words);
    EXPECT_EQ(real.error, simulated.error);
    EXPECT_EQ(real.events, simulated.events);
    EXPECT_GT(simulated.events.size(), 3U);
}

std::vector<Worked> examples() { return {worked_sync().begin(), worked_sync().end()}; }

INSTANTIATE_TEST_SUITE_P(Spec, Parity, testing::ValuesIn(examples()),
                         [](const auto& example) { return std::string(example.param.name); });

}  // namespace
}  // namespace heddle::prop
