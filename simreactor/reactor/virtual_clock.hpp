// SPDX-License-Identifier: Apache-2.0
// VirtualClock: the true time of a simulated world. Nothing reads the machine's; a reactor moves it.
//
//   true time ──────▶ moves in a tick that waits, by CP-TIME, or when a program burns CPU (RCT-25)
//       │ ClockSkew: what a node's own clock makes of it
//   Reactor::now() ─▶ each node's cached view of that (RCT-18)
//
// VC1  It never goes back.
// VC2  The nodes of one world share one clock: what one waits for, all have waited for.
// VC3  A node's own clock never goes back either, and true_of(own) is the first instant at which it shows `own` or more.
// Choice points: none here; SimReactor asks how far.
#pragma once

#include <cstdint>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle::sim {

/// How a node's clock differs from true time: it is ahead from the beginning, and runs faster or slower.
struct ClockSkew {
    static constexpr std::int64_t million = 1'000'000;
    static constexpr std::int32_t drift_max = 500'000;

    Duration ahead = Duration::zero();  ///< zero or more: as if the world had begun earlier for it
    std::int32_t drift = 0;             ///< parts per million, -drift_max to drift_max; above zero it is fast

    [[nodiscard]] constexpr bool is_none() const { return ahead == Duration::zero() && drift == 0; }
    /// What it shows at a true time. Never stays never.
    [[nodiscard]] constexpr Instant own_of(Instant true_time) const {
        if (is_none() || true_time.is_never()) { return true_time; }
        return true_time + ahead + Duration(part_of(true_time.ns(), drift, million));
    }
    /// VC3. Not before the world began.
    [[nodiscard]] constexpr Instant true_of(Instant own) const {
        if (is_none() || own.is_never()) { return own; }
        const std::int64_t shown = own.ns() - ahead.count();
        if (shown <= 0) { return Instant{}; }
        Instant found = Instant{} + Duration(shown - part_of(shown, drift, million + drift));
        while (own_of(found) < own) { found = found + Duration(1); }
        while (found > Instant{} && own_of(found + Duration(-1)) >= own) { found = found + Duration(-1); }
        return found;
    }

    friend bool operator==(const ClockSkew&, const ClockSkew&) = default;

private:
    /// value * part / whole, rounded down, without a larger type. Requires: value ≥ 0, |part| < 2^20, 0 < whole < 2^21.
    [[nodiscard]] static constexpr std::int64_t part_of(std::int64_t value, std::int64_t part, std::int64_t whole) {
        const std::int64_t rest = value % whole * part;
        return value / whole * part + rest / whole - (rest % whole < 0 ? 1 : 0);
    }
};

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
