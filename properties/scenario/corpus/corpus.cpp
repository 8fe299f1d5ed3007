// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/scenario/corpus/corpus.hpp"

#include <iterator>
#include <string>

#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop {
namespace corpus {
namespace {

/// A judge of the end alone.
class EndJudge final : public sim::Oracle {
public:
    explicit EndJudge(Duration limit) : limit_(limit) {}
    void begin(sim::World&) override {}
    void at_end(sim::World& world) override {
        const Duration end = world.runtime().now() - Instant{};
        if (end <= limit_) { return; }
        report_violation({"BOUNDED-STOP", "the run ended at " + std::to_string(end.count()) + " ns, after " + std::to_string(limit_.count()) + " ns",
                          __FILE__, __LINE__});
    }

private:
    Duration limit_;
};

/// Comes to its end only in a run that ended well.
class MustFail final : public sim::Oracle {
public:
    void begin(sim::World&) override {}
    void at_end(sim::World&) override {
        report_violation({"DEADLOCK-SEEN", "the run ended well although somebody waits for what can never come", __FILE__, __LINE__});
    }
};

template <class Judge, class... Arguments>
sim::Scenario judged_by(sim::Scenario scenario, Arguments... arguments) {
    scenario.oracles = [inner = std::move(scenario.oracles), arguments...](const sim::Parameters& parameters) {
        sim::OracleList judges = inner ? inner(parameters) : sim::OracleList{};
        judges.push_back(std::make_unique<Judge>(arguments...));
        return judges;
    };
    return scenario;
}

}  // namespace

sim::Scenario scenario_of(const Entry& entry, void (*program)()) {
    sim::Scenario scenario;
    scenario.name = entry.name;
    scenario.about = entry.about;
    scenario.source = entry.source;
    scenario.depth = entry.depth;
    scenario.program = [program](const sim::Parameters&) { return sim::Program(program); };
    scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
    scenario.world = [choices = entry.choices](sim::WorldOptions& world) { world.mask = choices; };
    return scenario;
}

sim::Scenario ends_by(sim::Scenario scenario, Duration limit) { return judged_by<EndJudge>(std::move(scenario), limit); }

sim::Scenario ends_with_an_error(sim::Scenario scenario) {
    scenario.world = [inner = std::move(scenario.world)](sim::WorldOptions& world) {
        inner(world);
        world.errors_are_violations = false;
    };
    return judged_by<MustFail>(std::move(scenario));
}

sim::SimReactor& outside() {
    sim::World* const world = sim::World::current();
    if (world == nullptr) { throw AsyncError("this scenario needs a simulated world"); }
    return world->reactor();
}

bool Clock::is_at(Duration expected, Duration measured) {
    const sim::World* const world = sim::World::current();
    const bool exact = world != nullptr && world->options().timing.level < sim::TimeLevel::T2 &&
                       !world->options().mask.has(ChoiceKind::time);
    return exact ? measured == expected : measured >= expected;
}

Completion::Completion(Scheduler& of, Duration after, UniqueFunction<void()> body) {
    auto run = [over = over_, inner = std::move(body)]() mutable {
        *over = true;
        inner();
    };
    if (sim::World::current() == nullptr) {
        alarm_ = std::make_unique<Alarm>(of, after, std::move(run));
        return;
    }
    reactor_ = &outside();
    post_ = reactor_->post("completion", std::move(run), {.after = sim::Latency::exactly(after), .counted = true});
}

Completion::~Completion() {
    if (reactor_ != nullptr) { reactor_->withdraw(post_); }
}

Ended wait_bounded(EventSource& event, Duration limit, SourceLocation at) {
    if (event.is_closed()) { return Ended::signalled; }
    Scheduler& mine = scheduler();
    Waker& waker = mine.require_suspendable("wait").waker();
    struct Clean {
        Waker& waker;
        ~Clean() { waker.clean(); }
    } clean{waker};
    const EventSource* const timer = waker.begin_with_timeout(limit);
    waker.resume_when(event, WakeBy::resolve);
    mine.suspend({"wait", at, event.label()});
    HEDDLE_CHECK(!waker.triggered().empty());
    return waker.triggered().front() == timer ? Ended::timed_out : Ended::signalled;
}

}  // namespace corpus

std::vector<sim::Scenario> corpus_scenarios() {
    std::vector<sim::Scenario> all;
    for (const auto area : {corpus::scheduler_area, corpus::waker_area, corpus::scope_area, corpus::cancel_area, corpus::zombie_area,
                            corpus::reactor_area, corpus::timer_area, corpus::shutdown_area, corpus::harness_area,
                            corpus::channel_area, corpus::future_area, corpus::group_area, corpus::pool_area,
                            corpus::pool_callbacks_area, corpus::breaker_area, corpus::io_area}) {
        std::vector<sim::Scenario> scenarios = area();
        all.insert(all.end(), std::make_move_iterator(scenarios.begin()), std::make_move_iterator(scenarios.end()));
    }
    return all;
}

}  // namespace heddle::prop
