// SPDX-License-Identifier: Apache-2.0
// Traces as text: canonical JSON, and a reader that survives anything.
//
//   Trace ── to_json ──▶ one text ── from_json ──▶ the same Trace
//                          any bytes ── from_json ──▶ a valid Trace, or one line that says what is wrong and where
//
// J1  Canonical: fixed order of members, one decision, constraint, check-point or event per line, 64-bit numbers as
//     strings (JSON numbers lose bits beyond 2^53 in most programs), a newline at the end. from_json(to_json(t)) == t
//     for every valid t whose texts are UTF-8; other bytes become U+FFFD.
// J2  The reader keeps no tree: values go into the Trace as they are read, and the first wrong one ends it, however
//     deep or long the rest may be. Memory is at most about ten times the text.
// J3  Unknown and duplicate members are refused, and so is every version but ours.
// Choice points: none.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/base/result.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::trace {

/// Canonical text (J1). Cost: O(size).
[[nodiscard]] std::string to_json(const Trace& trace);

/// Reads a trace.
/// @param text       any bytes
/// @param file_name  for the error's `where`, which is "file:line: JSON pointer"
/// @returns the trace, or an error whose text() is one line of at most about 600 characters
[[nodiscard]] Result<Trace> from_json(std::string_view text, std::string_view file_name);

/// Text from outside as one short printable line, quoted: control characters and broken UTF-8 replaced, long text cut.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace heddle::trace
