// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/program/any.hpp"

#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/program/interpreter.hpp"
#include "heddle/properties/program/program_data.hpp"

namespace heddle::prop {
namespace {

Result<ProgramData> read(const sim::Parameters& parameters) { return program_from_text(parameters.text("program"), "program/any:program"); }

}  // namespace

sim::Scenario program_scenario() {
    sim::Scenario scenario;
    scenario.name = "program/any";
    scenario.about = "the program that its parameter says, judged by all oracles; an unhandled error or deadlock is an outcome, not a bug";
    sim::Parameter program;
    program.name = "program";
    program.about = "coroutines as lists of steps, main first (properties/program/program_data.hpp)";
    program.is_text = true;
    program.initial = R"([[["spawn",1,"normal"],["await",1,0]],[["yield"]]])";
    scenario.parameters.push_back(std::move(program));
    scenario.check = [](const sim::Parameters& parameters) -> std::optional<InputError> {
        const Result<ProgramData> data = read(parameters);
        if (data) { return std::nullopt; }
        return data.error();
    };
    scenario.program = [](const sim::Parameters& parameters) {
        const Result<ProgramData> data = read(parameters);
        HEDDLE_ASSERT(data, "SC2: parameters were checked");
        return interpret(*data);
    };
    scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
    scenario.world = [](sim::WorldOptions& world) { world.errors_are_violations = false; };
    scenario.depth = 2;
    return scenario;
}

}  // namespace heddle::prop
