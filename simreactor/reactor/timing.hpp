// SPDX-License-Identifier: Apache-2.0
// Timing: how freely simulated time moves. Everything pending has a window [earliest, latest] of virtual time:
//
//   level   timer armed for d           completion, exit, post, step with a latency of a … b
//   T0      [d, d], ties by start id    [now + a, now + a]
//   T1      [d, d], ties in any order   [now + a, now + a]
//   T2, T3  [d, d + jitter]             [now + a, now + b]
//   T4      [d, ∞)                      [now + a, ∞)
//
// TM1  i may happen next iff earliest(i) ≤ latest(j) for everything pending j. CP-TIME alone, and its bound, pass over
//      windows: they stand for a program that took so long, and whatever is pending then is late together.
// TM2  Within one pass of timers an earlier deadline never fires after a later one (RCT-66): under T2 the one that is
//      overtaken is late for the pass and waits for the next.
// TM3  Under T3 a timer never overtakes one that was armed before it, for no longer (RCT-31): what is left is what one loop with late timers
//      can do. All windows begin at instants of one clock, so that no other order of two of them is impossible.
// TM4  Under T4 nothing has to happen before anything else: whatever is pending may be first, and the clock is then as late as it takes.
// Choice points: none here; SimReactor asks.
#pragma once

#include "heddle/core/base/time.hpp"
#include "heddle/simreactor/net/latency.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

using TimeLevel = trace::TimeLevel;

/// When something may happen.
struct Window {
    Instant earliest;
    Instant latest;
};

struct Timing {
    TimeLevel level = TimeLevel::T1;
    Duration jitter = Duration::zero();  ///< by how much a timer may be late; T2 and T3 only
    Latency task{};                      ///< of a worker-pool request, from its begin to its completion
    Latency post{};                      ///< of a post that names no latency of its own

    /// Sensible values for a level: nothing takes time under T0 and T1; under T2 and T3 timers are up to 1 ms late, requests
    /// and posts take up to 10 ms; under T4 any time.
    [[nodiscard]] static Timing at(TimeLevel level);

    /// Throws ValueError, naming the member, its value and its range.
    void validate() const;

    /// The window of what begins at `now` and takes `latency`, in multiples of `resolution` (RCT-24).
    [[nodiscard]] Window window(Instant now, const Latency& latency, Duration resolution) const {
        const Instant earliest = now + round_up(latency.min, resolution);
        if (level == TimeLevel::T4) { return {earliest, Instant::never()}; }
        return {earliest, level < TimeLevel::T2 ? earliest : now + round_up(latency.max, resolution)};
    }
    [[nodiscard]] Instant latest(Instant deadline) const {
        return level < TimeLevel::T2 ? deadline : level == TimeLevel::T4 ? Instant::never() : deadline + jitter;
    }
};

}  // namespace heddle::sim
