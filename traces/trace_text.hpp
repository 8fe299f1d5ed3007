// SPDX-License-Identifier: Apache-2.0
// The words in which traces are told to people: times, decisions, events, one line each. Diff and timeline share them.
// Choice points: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "heddle/traces/trace.hpp"

namespace heddle::trace {

/// "0", "5ms", "1.25ms", "10us", "2s", "never": exact, in the largest unit that needs at most three digits after the
/// point.
[[nodiscard]] std::string spelled(Instant at);

/// "dispatch at loop:dispatch takes main/b (1 of 0..2)".
[[nodiscard]] std::string describe(const Decision& decision);

/// "5ms  main/a parked main/a:sleep a=1", without the label's own prefix where who and what share it.
[[nodiscard]] std::string describe(const TraceEvent& event);

/// "violation of INV-WAKE-03 at step 2 in main/b (any+jitter): message".
[[nodiscard]] std::string describe(const Outcome& outcome);

/// `label` as seen from `from`: "sleep#2" for "main/a:sleep#2" seen from "main/a", else the label.
[[nodiscard]] std::string_view relative(std::string_view label, std::string_view from);

/// How many terminal columns a text takes: code points, which is right for what labels are made of.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// The first `columns` code points; where some were cut, the last one shown is "~".
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace heddle::trace
