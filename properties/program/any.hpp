// SPDX-License-Identifier: Apache-2.0
// program/any: the scenario whose parameter is a program (program_data.hpp), so that a generated one is replayed from its trace alone.
#pragma once

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

/// Parameter `program`: the text of a program; what is none is refused when the call is made (SC2).
[[nodiscard]] sim::Scenario program_scenario();

}  // namespace heddle::prop
