// SPDX-License-Identifier: Apache-2.0
// simrun-planted: simrun over the patched copies of core and simreactor. simrun hands `planted/…` scenarios on to it.
#include "heddle/properties/planted/planted.hpp"
#include "heddle/properties/scenario/all.hpp"
#include "heddle/tools/simrun/simrun_main.hpp"

int main(int argc, char** argv) {
    heddle::SimrunOptions options;
    options.scenarios = heddle::prop::all_scenarios();
    options.select_planted = [&options](std::string_view id) {
        bool known = id.empty();
        for (const heddle::sim::Scenario& scenario : options.scenarios) { known = known || scenario.planted == id; }
        if (known) { heddle::planted::select(id); }
        return known;
    };
    return heddle::simrun_main(argc, argv, options);
}
