// SPDX-License-Identifier: Apache-2.0
// All scenarios of this repository, listed by hand: what our simrun lists, explores and replays.
//
//   sync/…     small programs over the primitives (scenario/sync)   io/… programs over the simulated network (scenario/io)
//   spec/…     the worked examples of docs/spec          demo/…     small programs that show one bug each
//   corpus/…   publicly reported bugs (scenario/corpus)  program/any  any generated program, as text
#pragma once

#include <span>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

/// Made on first use; the span stays valid for the rest of the process.
[[nodiscard]] std::span<const sim::Scenario> all_scenarios();

[[nodiscard]] std::vector<sim::Scenario> spec_scenarios();
[[nodiscard]] std::vector<sim::Scenario> demo_scenarios();
[[nodiscard]] std::vector<sim::Scenario> flight_scenarios();

}  // namespace heddle::prop
