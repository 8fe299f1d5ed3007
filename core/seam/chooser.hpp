// SPDX-License-Identifier: Apache-2.0
// Chooser: the door through which every free decision passes.
//
//   core, simreactor ── choose({kind, at, candidates}) ──▶ index        production has no Chooser: index 0 is inlined
//
// C1  Alternative 0 is what production does. A run in which every answer is 0 is the baseline run.
// C2  Asked only if there is more than one alternative.
// C3  The point and its candidates are named by labels; (kind, at) is unique within a run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/core/base/label.hpp"

namespace heddle {

/// What is being decided. The names in the comments are those of docs/spec 05, section 8.
enum class ChoiceKind : std::uint8_t {
    dispatch,     ///< which ready coroutine runs (CP-DISPATCH)
    poll,         ///< poll in this tick? 0 no, 1 yes (CP-POLL)
    ready,        ///< which ready source is reported next (CP-READY, CP-SIGNAL, CP-EXIT)
    batch,        ///< go on reporting, or end the batch? 0 go on, 1 end (CP-SUBSET)
    timer,        ///< which timer of those that may fire is next (ties, CP-LATE)
    timer_io,     ///< do due timers run in this tick? 0 yes, 1 in the next one (CP-TIMERIO)
    time,         ///< how far time moves in a non-blocking tick: 0 not at all, 1 to the nearest deadline (CP-TIME)
    pool,         ///< which worker-pool request completes next (CP-POOL)
    late,         ///< by how much something is late: 0 not at all, 1 as late as it may be (CP-LATE)
    merge,        ///< how many fires or signals one callback stands for (CP-MERGE)
    close,        ///< which close completion runs next (CP-CLOSE)
    spurious,     ///< a tick without callbacks: 0 no, 1 yes (CP-SPURIOUS)
    req_cancel,   ///< does cancelling a submitted request win? 0 yes, 1 no (CP-REQCANCEL)
    fault,        ///< does this operation fail? 0 no, n the n-th kind (CP-ERROR)
    arrival,      ///< does an outside post arrive here? (CP-CANCEL, sim::anywhere)
    value,        ///< a program's own sim::choose(n)
    node,         ///< which node of the world goes on
    count_,
};

[[nodiscard]] std::string_view to_string(ChoiceKind kind);

struct ChoicePoint {
    ChoiceKind kind = ChoiceKind::value;
    Label at;                            ///< who or what asks, with an ordinal
    std::uint32_t count = 0;             ///< number of alternatives, at least 2
    std::span<const Label> candidates;   ///< their labels; empty where the index says it all
};

class Chooser {
public:
    virtual ~Chooser() = default;
    /// @returns an index below `point.count`. Does not suspend and does not call back into the world.
    virtual std::uint32_t choose(const ChoicePoint& point) = 0;
};

}  // namespace heddle
