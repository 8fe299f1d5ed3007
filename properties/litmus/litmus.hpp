// SPDX-License-Identifier: Apache-2.0
// litmus/…: programs whose number of traces is known, as scenarios, and the numbers (docs/explorer.md, "Programs with known counts").
//
// The definitions give the counts: a parameter that no table lists has one, too. All coroutines are there from the beginning, variables
// are 0 unless said, and no oracle ends a run.
#pragma once

#include <vector>

#include "heddle/properties/litmus/machine.hpp"
#include "heddle/simreactor/explore/known_counts.hpp"
#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

/// A scenario made of a Litmus program.
[[nodiscard]] sim::Scenario litmus_scenario(std::string name, std::string about, std::vector<sim::Parameter> parameters,
                                            std::function<Litmus(const sim::Parameters&)> build);
/// An integer parameter.
[[nodiscard]] sim::Parameter number(std::string name, std::string about, std::int64_t initial, std::int64_t min, std::int64_t max);

[[nodiscard]] std::vector<sim::Scenario> litmus_cells();     ///< loads, stores, compare-and-swaps, locks
[[nodiscard]] std::vector<sim::Scenario> litmus_messages();  ///< mailboxes, and messages to handlers
[[nodiscard]] std::vector<sim::Scenario> litmus_objects();   ///< coroutine objects by their operation cells
[[nodiscard]] std::vector<sim::Scenario> litmus_scenarios(); ///< all of them

/// What `simrun selfcheck` compares.
[[nodiscard]] std::vector<sim::KnownCount> known_counts();

}  // namespace heddle::prop
