// SPDX-License-Identifier: Apache-2.0
// Scenarios of the planted bugs: one small program each, that a correct runtime passes and the runtime with that bug does not.
//
// A program cites the invariant at the place where it would show; what it does not say itself the oracles say.
// The list is written out by hand, one file for each group. `planted/MUT-07` needs simrun-planted; without the bug it passes everywhere.
#pragma once

#include <vector>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

[[nodiscard]] std::vector<sim::Scenario> planted_scenarios();

}  // namespace heddle::prop
