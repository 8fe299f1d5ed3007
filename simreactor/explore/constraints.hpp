// SPDX-License-Identifier: Apache-2.0
// Constraints: what a failure needs, in words that survive an edit of the program; and the replay that holds to them.
//
//   failing run ── its races, as they came ──▶ "a before b"  ┐
//               ── its answers to all but dispatch ──▶ values ┴─ ddmin ──▶ the few that bring the same violation about
//   baseline of the edited program ── b's coroutine is held before b until a has happened ──▶ the violation, again
//
// CO1  A step is named by who takes it, a cell, and which of its steps on that cell it is ("main/b @ main/shared.value #2"): a new coroutine, a
//      new suspension point or a step elsewhere changes no name that it does not concern.
// CO2  Only races are kept: two conflicting steps that nothing else orders. What follows from the program itself needs no constraint.
// CO3  Which step of a coroutine holds b is not known before it is run. So a run in which b came too early teaches it, and the next one holds
//      the coroutine there: replay runs again until it learns nothing new. Each run teaches at least one step, so it ends.
// CO4  Nobody is held for ever: once a can no longer come (its coroutine has ended), or only held coroutines are left, the first in baseline
//      order goes on, and the constraint is reported as not met.
// CO5  "Reproduced" means the same kind of end and the same invariant.
// Choice points: `dispatch` is answered with the first that is not held, what a value names as it says, all else with 0.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/base/result.hpp"
#include "heddle/simreactor/chooser/order_gate.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

/// A program with its judges and its world: what a trace is about.
struct Judged {
    const Program& program;
    std::function<OracleList()> oracles{};
    std::function<void(WorldOptions&)> world{};
};

struct AdaptiveResult {
    ReplayResult replay;              ///< of the last run; `divergence` is none
    std::vector<std::string> unmet;   ///< constraints that did not hold in it, in words
    std::uint64_t runs = 0;
};

/// Runs the program with the constraints of `trace` alone: its decisions are not looked at.
/// @returns an error that names the constraint if one of them cannot be read
[[nodiscard]] Result<AdaptiveResult> replay_adaptively(const Judged& judged, const trace::Trace& trace, const ReplayOptions& options = {});

struct LiftResult {
    trace::Constraints constraints;  ///< minimal: none of them can be left out, unless the budget was spent
    bool enough = false;             ///< they alone reach the violation again
    std::uint64_t runs = 0;
};

/// @param failing  a violation that its decisions replay to
/// @param runs_max  schedules to spend; at least 1
/// @param go_on  asked before each of them; false spends the budget at once
[[nodiscard]] LiftResult lift_constraints(const Judged& judged, const trace::Trace& failing, std::uint64_t runs_max,
                                          const std::function<bool()>& go_on = {});

/// "main/b @ main/shared.value #2"; none if the text is no such thing.
[[nodiscard]] std::optional<Anchor> anchor_of(std::string_view text);

}  // namespace heddle::sim
