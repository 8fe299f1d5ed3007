// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/program/judged_run.hpp"

#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/program/any.hpp"
#include "heddle/properties/program/interpreter.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {
namespace {

sim::WorldOptions base_options(const JudgedOptions& options) {
    sim::WorldOptions world;
    world.order = options.order;
    world.timing = sim::Timing::at(options.time);
    world.errors_are_violations = false;
    world.hand_over = options.hand_over;
    world.pool_contexts = options.pool_contexts;
    return world;
}

}  // namespace

JudgedRuns::JudgedRuns(const JudgedOptions& options)
    : options_(options), oracles_(options.oracles ? options.oracles() : all_oracles()), world_(base_options(options)) {
    sim::WorldOptions& world = world_.mutable_options();
    for (const auto& oracle : oracles_) { world.oracles.push_back(oracle.get()); }
    world.chooser = options.audit != nullptr ? options.audit : &chooser_;
}

sim::Outcome JudgedRuns::run(const ProgramData& program, const Schedule& schedule) {
    chooser_.begin(schedule);
    return world_.run(interpret(program));
}

trace::Recipe JudgedRuns::recipe(const ProgramData& program) const {
    trace::Recipe recipe;
    recipe.scenario = "program/any";
    recipe.parameters = {{"program", to_text(program)}};
    recipe.strategy = "generated";
    sim::describe_world(base_options(options_), recipe);
    return recipe;
}

trace::Trace JudgedRuns::record(const ProgramData& program, const Schedule& schedule) const {
    sim::Scenario scenario = program_scenario();
    if (options_.oracles) {
        scenario.oracles = [make = options_.oracles](const sim::Parameters&) { return make(); };
    }
    const trace::Recipe wanted = recipe(program);
    const Result<sim::ScenarioCall> call = sim::make_call(std::span(&scenario, 1), wanted.scenario, wanted.parameters);
    HEDDLE_ASSERT(call, "PD2: the text of a program is a program");
    ScheduleChooser chooser;
    chooser.begin(schedule);
    return sim::record(*call, wanted, &chooser);
}

std::string failure_report(const trace::Trace& trace, const std::string& name) {
    const std::string path = name + ".trace.json";
    const Result<std::uint64_t> written = trace::write_trace(path, trace, trace::Overwrite::yes);
    std::string text = trace.outcome.invariant + ": " + trace.outcome.message + "\n" + trace::render(trace);
    if (!written) { return text + written.error().text(); }
    return text + "simrun --replay " + path;
}

}  // namespace heddle::prop
