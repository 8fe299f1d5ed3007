// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/scenario/all.hpp"

#include "heddle/properties/litmus/litmus.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/planted/scenarios.hpp"
#include "heddle/properties/program/any.hpp"
#include "heddle/properties/scenario/bridge.hpp"
#include "heddle/properties/scenario/io.hpp"
#include "heddle/properties/scenario/registers.hpp"
#include "heddle/properties/scenario/sync.hpp"
#include "heddle/properties/scenario/worked.hpp"

namespace heddle::prop {
namespace {

void append(std::vector<sim::Scenario>& all, std::vector<sim::Scenario> more) {
    for (sim::Scenario& scenario : more) { all.push_back(std::move(scenario)); }
}

std::vector<sim::Scenario> list() {
    std::vector<sim::Scenario> all;
    append(all, demo_scenarios());
    append(all, flight_scenarios());
    append(all, spec_scenarios());
    append(all, sync_scenarios());
    append(all, bridge_scenarios());
    append(all, io_scenarios());
    append(all, register_scenarios());
    all.push_back(program_scenario());
    append(all, corpus_scenarios());
    append(all, litmus_scenarios());
    append(all, planted_scenarios());
    return all;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Worked& worked) { return out << worked.name; }

std::vector<sim::Scenario> spec_scenarios() {
    std::vector<sim::Scenario> scenarios;
    for (const std::span<const Worked> chapter : {worked_scheduler(), worked_waker(), worked_scopes(), worked_zombies(), worked_sync()}) {
        for (const Worked& worked : chapter) {
            sim::Scenario scenario;
            scenario.name = "spec/" + std::string(worked.name);
            scenario.about = worked.about;
            scenario.program = [run = worked.program](const sim::Parameters&) { return sim::Program(run); };
            scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
            // Several of them end with an error or in a deadlock; which one is said in the example, not a violation.
            scenario.world = [](sim::WorldOptions& world) { world.errors_are_violations = false; };
            scenario.depth = 2;
            scenarios.push_back(std::move(scenario));
        }
    }
    return scenarios;
}

std::span<const sim::Scenario> all_scenarios() {
    static const std::vector<sim::Scenario> all = list();
    return all;
}

}  // namespace heddle::prop
