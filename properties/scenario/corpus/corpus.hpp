// SPDX-License-Identifier: Apache-2.0
// The bug corpus as scenarios: public concurrency reports about other runtimes, translated to this one. A correct runtime passes each
// of them under every combination of its choices (README.md beside this file: which entry became what, and which wait).
//
//   entry: coroutines, their steps, "? a / b"  ──▶  program, HEDDLE_CHECKs for its right outcome, sim::choose and the world's own points
//
// C1  A name is that of the entry ("corpus/BUG-019"); `source` names the reports exactly as the entry does.
// C2  `depth` is the entry's own estimate plus one; `world` leaves only the kinds of choice that the entry names.
// C3  Alternative 0 of each choice is the entry's default policy: no cancellation, no fault, nothing completes at once.
// Choice points: those of each scenario.
#pragma once

#include <vector>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

/// All of them, by area and number.
[[nodiscard]] std::vector<sim::Scenario> corpus_scenarios();

namespace corpus {

/// One area each, in the file of its name.
[[nodiscard]] std::vector<sim::Scenario> scheduler_area();
[[nodiscard]] std::vector<sim::Scenario> waker_area();
[[nodiscard]] std::vector<sim::Scenario> scope_area();
[[nodiscard]] std::vector<sim::Scenario> cancel_area();
[[nodiscard]] std::vector<sim::Scenario> zombie_area();
[[nodiscard]] std::vector<sim::Scenario> reactor_area();
[[nodiscard]] std::vector<sim::Scenario> timer_area();
[[nodiscard]] std::vector<sim::Scenario> shutdown_area();
[[nodiscard]] std::vector<sim::Scenario> harness_area();
[[nodiscard]] std::vector<sim::Scenario> channel_area();
[[nodiscard]] std::vector<sim::Scenario> future_area();
[[nodiscard]] std::vector<sim::Scenario> group_area();
[[nodiscard]] std::vector<sim::Scenario> pool_area();
[[nodiscard]] std::vector<sim::Scenario> pool_callbacks_area();
[[nodiscard]] std::vector<sim::Scenario> breaker_area();
[[nodiscard]] std::vector<sim::Scenario> io_area();

}  // namespace corpus
}  // namespace heddle::prop
