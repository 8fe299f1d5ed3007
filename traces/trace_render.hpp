// SPDX-License-Identifier: Apache-2.0
// The timeline: a trace as text that a person understands without a tool, one column per coroutine and one for the
// loop.
//
//    step  time  loop              main              a                 b
//       1  0                       spawns a
//                                  spawns b          |
//                                  parks: await      |                 |
//       2                          :                 parks: sleep      |
//   == dispatch takes b instead of a   (1 of 0..1 at loop:dispatch)
//   >>> VIOLATED INV-WAKE-03: …
//
// V1  One event per line, in the order in which things happened. Beside it "|" stands for a coroutine that is ready,
//     ":" for one that is parked.
// V2  Long runs are shortened around what matters: the begin, every choice that was not the baseline's, the violation,
//     the end. What was left out is counted.
// V3  Never wider than asked for, except for a single word that is. Coroutines that find no room share a column.
// Choice points: none.
#pragma once

#include <cstddef>
#include <string>

#include "heddle/traces/trace.hpp"
#include "heddle/traces/trace_phrase.hpp"

namespace heddle::trace {

struct RenderOptions {
    std::size_t width = 100;  ///< terminal columns; at least 40
    Detail detail = Detail::story;
    std::size_t rows_max = 120;  ///< of the timeline; 0 shows all
};

/// Recipe, timeline, outcome and constraints. Without events: the decisions in place of the timeline. Ends with a
/// newline. Cost: O(events × columns).
[[nodiscard]] std::string render(const Trace& trace, const RenderOptions& options = {});

}  // namespace heddle::trace
