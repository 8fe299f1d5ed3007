// SPDX-License-Identifier: Apache-2.0
// simrun: the command with this repository's scenarios, those about HTTP where its parser is there. Planted bugs live in simrun-planted, to which it hands calls
// that name one.
#include <vector>

#ifdef HEDDLE_WITH_HTTP
#include "heddle/properties/http/http_scenarios.hpp"
#endif
#include "heddle/properties/litmus/bugs.hpp"
#include "heddle/properties/litmus/litmus.hpp"
#include "heddle/properties/scenario/all.hpp"
#include "heddle/tools/simrun/simrun_main.hpp"

int main(int argc, char** argv) {
    const auto own = heddle::prop::all_scenarios();
    std::vector<heddle::sim::Scenario> scenarios(own.begin(), own.end());
#ifdef HEDDLE_WITH_HTTP
    for (heddle::sim::Scenario& scenario : heddle::http::http_scenarios()) { scenarios.push_back(std::move(scenario)); }
#endif
    heddle::SimrunOptions options;
    options.scenarios = scenarios;
    options.known_counts = heddle::prop::known_counts();
    options.known_means = heddle::prop::known_means();
    options.planted_program = "simrun-planted";
    return heddle::simrun_main(argc, argv, options);
}
