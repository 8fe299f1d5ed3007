// SPDX-License-Identifier: Apache-2.0
// examined: what is made of a schedule that violated something, before anybody is told.
//
//   answers ──again, with a recorder──▶ trace ──fewer decisions──▶ ──weaker assumptions──▶ ──constraints──▶ Found
//
// XM1  The schedule is run again and has to end the same way (CP1); if it does not, that is a violation of its own (INV-RCT-14).
// XM2  Every trace that replaces the first one was run, and had the same end: same kind, same invariant.
// XM3  The label is the weakest of the six that was seen to reach it (docs/explorer.md): what is tried under each is bounded, so a weaker one
//      may exist, but none that is claimed is missing.
// XM4  All of it together runs at most ExploreOptions::shrink_runs_max schedules; a quarter of them is left for the constraints. Long
//      ones are fewer: they end with four million steps.
// Chance: none.
#pragma once

#include <cstdint>
#include <span>

#include "heddle/simreactor/explore/campaign.hpp"

namespace heddle::sim {

/// The world that a search of that order runs in, without its observers.
[[nodiscard]] WorldOptions searched_world(const ExploreOptions& options, trace::Order order);

/// @param answers  of the schedule, by position
/// @param shrink  false: recorded and labelled alone
[[nodiscard]] Found examined(const Program& program, const ExploreOptions& options, std::span<const std::uint32_t> answers, const Outcome& outcome,
                             trace::Order order, bool shrink);

}  // namespace heddle::sim
