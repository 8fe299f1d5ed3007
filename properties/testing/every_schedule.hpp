// SPDX-License-Identifier: Apache-2.0
// holds_under_every_schedule: runs a program under every schedule of few deviations, in both orders, judged by all oracles.
//
//   program ──explore, all oracles, a check of its own at the end──▶ nothing violated │ the timeline of the shrunk counterexample
//
// A program says what it finds wrong with HEDDLE_ASSERT and the number of the invariant; what can be seen only when the run is over is
// said by the check at the end.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {

/// Called when a run has ended, whatever it ended with: everything of the program is gone but what outlives it.
using EndCheck = std::function<void(const Scheduler&)>;
using EventCheck = std::function<void(const Event&)>;

class Bystander final : public Judge {
public:
    explicit Bystander(EndCheck at_end, EventCheck on_each = {})
        : at_end_(std::move(at_end)), on_each_(std::move(on_each)) {}

private:
    void reset() override {}
    void follow(const Event& event) override {
        if (on_each_) { on_each_(event); }
    }
    void ended(const Scheduler& scheduler) override {
        if (at_end_) { at_end_(scheduler); }
    }

    EndCheck at_end_;
    EventCheck on_each_;
};

struct Bounds {
    std::uint32_t deviations = 2;      ///< answers other than production's in one schedule
    std::uint64_t runs_max = 20'000;   ///< not reached: every schedule within the bound is run
    bool errors_are_outcomes = false;  ///< an unhandled error or a deadlock is part of what the program does
    bool whole = true;                 ///< false: `runs_max` may end the search
    sim::TimeLevel time = sim::TimeLevel::T1;
    sim::ChoiceMask mask = sim::ChoiceMask::all();
    std::uint64_t dispatches_max = 20'000;  ///< more is INV-LIVE-01: a run that does not end
    EndCheck at_end{};
    EventCheck on_each{};
};

/// @returns the number of schedules
inline std::uint64_t holds_under_every_schedule(const sim::Program& program, const Bounds& bounds = {}) {
    sim::ExploreOptions options;
    options.bound = bounds.deviations;
    options.runs_max = bounds.runs_max;
    options.time = bounds.time;
    options.oracles = [&] {
        sim::OracleList oracles = all_oracles();
        oracles.push_back(std::make_unique<Bystander>(bounds.at_end, bounds.on_each));
        return oracles;
    };
    options.world = [&](sim::WorldOptions& world) {
        world.errors_are_violations = !bounds.errors_are_outcomes;
        world.dispatches_max = bounds.dispatches_max;
        world.mask = bounds.mask;
    };
    const sim::Report report = sim::explore(program, options);
    if (report.violation) {
        ADD_FAILURE() << report.violation->invariant << " (" << report.violation->mode
                      << "): " << report.violation->message << "\n"
                      << trace::render(report.violation->trace);
    }
    EXPECT_TRUE(!report.stopped || !bounds.whole) << "not every schedule within the bound was run: " << report.runs;
    return report.runs;
}

/// A handler of an event that is called like a waiter's, and has nothing to do with any coroutine.
class Listener final : public EventCallback {
public:
    Listener(EventSource& event, UniqueFunction<void()> body) : body_(std::move(body)) { event.subscribe(*this); }
    ~Listener() override { leave(); }
    void leave() {
        if (event() != nullptr) { event()->unsubscribe(*this); }
    }
    void call(EventSource&, const Outcome&) override { body_(); }

private:
    UniqueFunction<void()> body_;
};

/// What outlived the program of a run that a violation froze is part of a broken world: it is left alone (WD2).
template <class T>
void abandon(std::vector<T>& kept) {
    if (kept.empty()) { return; }
    static std::vector<std::vector<T>>& graves = *new std::vector<std::vector<T>>();
    graves.push_back(std::exchange(kept, {}));
}

inline Scheduler& the_scheduler() { return current_runtime("a property's program").scheduler(); }
inline Ref<OneShotEvent> new_event(const char* name) { return OneShotEvent::make(the_scheduler(), name); }

/// Runs `body`; a cancellation or an error of the runtime ends it quietly.
template <class F>
void quietly(F&& body) {
    try {
        body();
    } catch (const Cancellation&) {
        // Part of the program.
    } catch (const Error&) {
        // A timeout, or a wait that was refused.
    }
}

}  // namespace heddle::prop
