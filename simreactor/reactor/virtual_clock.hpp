// SPDX-License-Identifier: Apache-2.0
// VirtualClock: the true time of a simulated world. Nothing reads the machine's; a reactor moves it.
//
//   true time ──────▶ moves in a tick that waits, by CP-TIME, or when a program burns CPU (RCT-25)
//   Reactor::now() ─▶ each node's cached view of it (RCT-18)
//
// VC1  It never goes back.
// VC2  The nodes of one world share one clock: what one waits for, all have waited for.
// Choice points: none here; SimReactor asks how far.
#pragma once

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle::sim {

class VirtualClock {
public:
    [[nodiscard]] Instant now() const { return now_; }

    void advance_to(Instant at) {
        HEDDLE_ASSERT(at >= now_, "VC1, RCT-19");
        HEDDLE_ASSERT(!at.is_never(), "an instant that never comes cannot be waited for");
        now_ = at;
    }

    /// No node's wait goes past it: with several nodes, the latest instant that another one's windows allow (docs/explorer.md).
    /// It bounds choices, never what is due: a wait for one's own earliest deadline may pass it.
    void set_limit(Instant limit) { limit_ = limit; }
    [[nodiscard]] Instant limit() const { return limit_; }

    void reset() {
        now_ = Instant{};
        limit_ = Instant::never();
    }

    /// The cell that stands for the time in footprints: advancing it is C-max, reading it R. Arming a timer reads no
    /// clock.
    [[nodiscard]] static constexpr Cell now_cell() { return cell(Label{hash_text("clock")}, "now"); }

private:
    Instant now_;
    Instant limit_ = Instant::never();
};

}  // namespace heddle::sim
