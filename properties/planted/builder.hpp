// SPDX-License-Identifier: Apache-2.0
// What the programs of the planted bugs share: the list that they are added to, and short words for events and timers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop::planted_bugs {

using sim::ChoiceMask;

inline Scheduler& scheduler() { return current_runtime("scenario").scheduler(); }
inline Ref<OneShotEvent> event(const char* name = "event") { return OneShotEvent::make(scheduler(), name); }

/// Runs a function when an event fires; a subscriber that is no coroutine.
class Callback final : public EventCallback {
public:
    static void on(EventSource& source, UniqueFunction<void()> body) { source.subscribe(*new Callback(std::move(body))); }
    void call(EventSource&, const Outcome&) override { body_(); }

private:
    explicit Callback(UniqueFunction<void()> body) : body_(std::move(body)) {}
    void dispose() override { delete this; }
    UniqueFunction<void()> body_;
};

/// Runs `body` in the loop `after` from now, without a coroutine.
inline Ref<ReactorEvent> later(Duration after, UniqueFunction<void()> body) {
    TimerOptions options;
    options.timeout = after;
    Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), options, false, "later");
    Callback::on(*timer, std::move(body));
    timer->start();
    return timer;
}

class Builder {
public:
    /// @param mask  the kinds of choice that matter for it; the others are answered as production does
    void add(const char* id, const char* about, std::uint32_t depth, ChoiceMask mask, sim::Program program) {
        sim::Scenario scenario;
        scenario.name = std::string("planted/") + id;
        scenario.about = about;
        scenario.planted = id;
        scenario.depth = depth;
        scenario.program = [program](const sim::Parameters&) { return program; };
        scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
        scenario.world = [mask](sim::WorldOptions& world) {
            world.mask = mask;
            world.dispatches_max = 3'000;
        };
        scenarios.push_back(std::move(scenario));
    }
    sim::Scenario& last() { return scenarios.back(); }
    void source(const char* report) { last().source = report; }
    /// The program ends with an error of its own; that is no finding.
    void ends_with_an_error() {
        const auto before = last().world;
        last().world = [before](sim::WorldOptions& world) {
            before(world);
            world.errors_are_violations = false;
        };
    }

    std::vector<sim::Scenario> scenarios;
};

// One list for each group.
void add_reported(Builder& add);
void add_reported_sync(Builder& add);
void add_reported_pool(Builder& add);
void add_waker_faults(Builder& add);
void add_scheduler_faults(Builder& add);
void add_structure_faults(Builder& add);
void add_bridge_faults(Builder& add);

}  // namespace heddle::prop::planted_bugs
