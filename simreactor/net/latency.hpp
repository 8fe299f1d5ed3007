// SPDX-License-Identifier: Apache-2.0
// Latency: how long something takes, as an interval. What chooses within it: the timing level (reactor/timing.hpp).
#pragma once

#include "heddle/core/base/time.hpp"

namespace heddle::sim {

/// How long something takes. Under T0 and T1 it is `min`. Requires: 0 ≤ min ≤ max.
struct Latency {
    Duration min = Duration::zero();
    Duration max = Duration::zero();

    [[nodiscard]] static constexpr Latency exactly(Duration value) { return {value, value}; }
    [[nodiscard]] constexpr bool is_none() const { return max == Duration::zero(); }
    friend bool operator==(const Latency&, const Latency&) = default;
};

}  // namespace heddle::sim
