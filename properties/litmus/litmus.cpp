// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/litmus/litmus.hpp"

#include <utility>

#include "heddle/properties/litmus/bugs.hpp"

namespace heddle::prop {

sim::Scenario litmus_scenario(std::string name, std::string about, std::vector<sim::Parameter> parameters,
                              std::function<Litmus(const sim::Parameters&)> build) {
    sim::Scenario scenario;
    scenario.name = "litmus/" + std::move(name);
    scenario.about = std::move(about);
    scenario.parameters = std::move(parameters);
    scenario.program = [build = std::move(build)](const sim::Parameters& given) { return build(given).program(); };
    return scenario;
}

sim::Parameter number(std::string name, std::string about, std::int64_t initial, std::int64_t min, std::int64_t max) {
    sim::Parameter parameter;
    parameter.name = std::move(name);
    parameter.about = std::move(about);
    parameter.initial = std::to_string(initial);
    parameter.min = min;
    parameter.max = max;
    return parameter;
}

std::vector<sim::Scenario> litmus_scenarios() {
    std::vector<sim::Scenario> all = litmus_cells();
    for (auto* more : {&litmus_messages, &litmus_objects, &litmus_bugs, &litmus_queue_bugs, &litmus_pointer_bugs}) {
        for (sim::Scenario& scenario : more()) { all.push_back(std::move(scenario)); }
    }
    return all;
}

}  // namespace heddle::prop
