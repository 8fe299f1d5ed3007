// SPDX-License-Identifier: Apache-2.0
// minimize: fewer and smaller deviations that still reach the same violation.
//
//   decisions ──leave out halves, quarters, … one──▶ run ──same invariant, strictly smaller──▶ go on from there
//             ──lower one answer──────────────────▶
//
// MI1  Accepted only if strictly smaller in (number of deviations, sum of their answers): shrinking ends (BUG-170).
// MI2  Iterative, with a budget of runs; the result is what was recorded in the accepted run, not what was asked of it.
// MI3  1-minimal within its budget: no single deviation can be left out.
// Chance: none.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "heddle/traces/trace.hpp"

namespace heddle::sim {

/// Size of a list of deviations; the order that shrinking descends.
struct DecisionSize {
    std::size_t count = 0;
    std::uint64_t sum = 0;
    friend auto operator<=>(const DecisionSize&, const DecisionSize&) = default;
};
[[nodiscard]] DecisionSize size_of(const std::vector<trace::Decision>& decisions);

struct MinimizeResult {
    trace::Trace trace;
    std::uint64_t runs = 0;
    bool budget_spent = false;
};

/// Runs a candidate and returns the trace that it left, or none if it did not reach the same violation.
using TryDecisions = std::function<std::optional<trace::Trace>(const std::vector<trace::Decision>&)>;

[[nodiscard]] MinimizeResult minimize(const trace::Trace& failing, const TryDecisions& attempt, std::uint64_t runs_max);

}  // namespace heddle::sim
