// SPDX-License-Identifier: Apache-2.0
// Divergence: where two runs stop being one. `diff` finds it between two traces; a replay reports its own in the same
// words.
//
//   expected  ──●──●──●──●─▶ main/a parked
//   found     ──●──●──●──●─▶ main/b spawned          ▲ the first one that differs, with what stands around it
//
// D1  Only the first difference counts: everything after it is a consequence.
// D2  The finest layer that both traces have decides: events, else decisions, else check-points, else the outcome.
// D3  What cannot be compared (files, lines) or only says how a run was found (seed, strategy, search bound) never
//     diverges; differences of the latter are listed as notes.
// Choice points: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/traces/trace.hpp"

namespace heddle::trace {

enum class DivergenceKind : std::uint8_t {
    // those of a strict replay
    label_missing,         ///< a decision's choice point, or its candidate, never came
    set_differs,           ///< the point came with other candidates
    footprint_differs,     ///< the same steps touched other cells
    value_domain_changed,  ///< the point came with another number of alternatives
    early_end,             ///< the run ended before the trace did
    // those that only two traces can show
    choice,       ///< the same question was answered otherwise
    event,        ///< something else happened
    hash,         ///< the rolling hashes part between two check-points, and nothing finer was recorded
    outcome,      ///< all the same until the end, and another end
    constraints,  ///< the same run with other constraints
    recipe,       ///< another program: nothing can be compared
    count_,
};

/// "label-missing", …
[[nodiscard]] std::string_view to_string(DivergenceKind kind);

struct Divergence {
    DivergenceKind kind = DivergenceKind::event;
    std::string where;     ///< JSON pointer into the expected trace, or the label of a choice point
    std::string expected;  ///< one line each
    std::string found;
    std::vector<std::string> before;          ///< what both have right before it, oldest first
    std::vector<std::string> after_expected;  ///< what would have come next
    std::vector<std::string> after_found;

    /// Several lines for people, with a newline at the end.
    [[nodiscard]] std::string text() const;
};

struct DiffOptions {
    std::size_t neighbours = 3;  ///< lines before and after
};

struct TraceDiff {
    std::vector<std::string> notes;  ///< differences that are none of the run's (D3), one line each
    std::optional<Divergence> divergence;

    [[nodiscard]] bool same_run() const { return !divergence.has_value(); }
    /// For people; "the same run\n" where it is one.
    [[nodiscard]] std::string text() const;
};

/// Compares two traces. Cost: O(size).
[[nodiscard]] TraceDiff diff(const Trace& expected, const Trace& found, DiffOptions options = {});

}  // namespace heddle::trace
