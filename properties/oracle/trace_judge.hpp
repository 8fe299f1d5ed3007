// SPDX-License-Identifier: Apache-2.0
// TraceJudge: brute force as judge of the reduced searches, and of the footprints that they rest on.
//
//   program ──none────▶ every schedule: its trace, and what everybody went through in it
//           ──source──▶ the same traces, the same histories, the same ends
//           ──optimal─▶ likewise
//
// TJ1  Two schedules of one trace have one history: else a footprint says less than what was touched, and whoever's histories differ names it.
// TJ2  A reduced search reaches the traces that brute force reaches, and no others: else a race was not seen, or not reversed.
// TJ3  Nothing is said about a program whose schedules brute force could not all run.
// Chance: none; the searches answer every question.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "heddle/core/seam/footprint.hpp"
#include "heddle/simreactor/explore/reduced_search.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {

struct JudgeOptions {
    std::uint64_t runs_max = 100'000;  ///< schedules of brute force
    trace::Order order = trace::Order::any;
    sim::Timing timing{};
    /// Touches for which this is true are hidden from the searches, as from a footprint that is too small. Empty: none.
    std::function<bool(Cell, TouchMode)> hidden{};
};

struct Verdict {
    std::string complaint{};     ///< empty: the searches agree
    std::uint64_t schedules = 0; ///< of brute force
    std::uint64_t traces = 0;
    std::uint64_t source_runs = 0;
    std::uint64_t optimal_runs = 0;
    bool reduced = true;         ///< false: the reactor had a say, and all steps counted as dependent
};

/// None if brute force does not come to an end within `runs_max`. Cost: all schedules of the program, in worlds of its own.
[[nodiscard]] std::optional<Verdict> judge_traces(const sim::Program& program, const JudgeOptions& options = {});

}  // namespace heddle::prop
