// SPDX-License-Identifier: Apache-2.0
// run_slice: a part of a reduced search for a while, in a worker.
//
//   SliceInput ── load, apply ──▶ ReducedSearch ── schedules, for a while ──▶ SliceResult + Report
//
// Chance: none. When a slice ends depends on the clock; which traces all slices together run does not (LB2).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/lease_book.hpp"
#include "heddle/simreactor/explore/worker.hpp"

namespace heddle::sim {

struct SliceOptions {
    double seconds = 1;
    double seconds_min = 0.1;  ///< before it gives parts away
};

/// A wish of the supervisor: somebody has nothing to do.
inline constexpr std::uint32_t wish_for_work = 1;

/// Requires: options.reduction is none or source, options.order is given, options.clock.
[[nodiscard]] std::pair<Report, SliceResult> run_slice(const ScenarioCall& call, ExploreOptions options,
                                                       const SliceInput& input, const SliceOptions& slice, Seat& seat);

/// A search's tree from its root, down to where it has at least `parts_min` leases that have nothing to tell each
/// other, or to level `depth_max`: above, all that is enabled is explored. Each run that this takes is repeated by a
/// lease.
[[nodiscard]] std::vector<Lease> plan_leases(const ScenarioCall& call, const ExploreOptions& options,
                                             std::size_t parts_min, std::uint32_t depth_max = 12);

}  // namespace heddle::sim
