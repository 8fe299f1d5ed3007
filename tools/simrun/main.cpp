// SPDX-License-Identifier: Apache-2.0
// simrun: the command with this repository's scenarios. Planted bugs live in simrun-planted, to which it hands calls
// that name one.
#include "heddle/properties/litmus/bugs.hpp"
#include "heddle/properties/litmus/litmus.hpp"
#include "heddle/properties/scenario/all.hpp"
#include "heddle/tools/simrun/simrun_main.hpp"

int main(int argc, char** argv) {
    heddle::SimrunOptions options;
    options.scenarios = heddle::prop::all_scenarios();
    options.known_counts = heddle::prop::known_counts();
    options.known_means = heddle::prop::known_means();
    options.planted_program = "simrun-planted";
    return heddle::simrun_main(argc, argv, options);
}
