// SPDX-License-Identifier: Apache-2.0
// Liveness with bounds: what is finite in a finite time. For scenarios and property tests that name the bounds; no run
// needs them to end, since a world has bounds of its own on dispatches and ticks.
//
//   livelock   too many steps at one instant; or all coroutines in the same states, the same one running, again and again
//   drain      a scope that is asked to cancel terminates within so many steps and so much virtual time
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/core/base/time.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {

struct LivelockBounds {
    std::uint64_t steps_per_instant = 20'000;
    /// Times that one abstract state may come back at one instant. It knows nothing of user memory: a program that
    /// counts to a million by yielding is in the same state a million times.
    std::uint64_t repeats = 2'000;
};
/// Violates INV-LIVE-01. The message of a lasso names its length and the coroutines that take turns in it.
[[nodiscard]] std::unique_ptr<sim::Oracle> make_livelock_oracle(const LivelockBounds& bounds = {});

struct DrainBounds {
    std::uint64_t steps = 10'000;              ///< of all coroutines and deliveries
    Duration time = std::chrono::seconds(10);  ///< virtual
};
/// Violates INV-LIVE-08. Requires of the program: clean-up and protected regions of the scopes that it cancels fit the
/// bounds.
[[nodiscard]] std::unique_ptr<sim::Oracle> make_drain_oracle(const DrainBounds& bounds = {});

}  // namespace heddle::prop
