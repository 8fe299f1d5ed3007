// SPDX-License-Identifier: Apache-2.0
// CoverageMap: what the runs of a program have shown so far, as a set of features.
//
//   race (e, k) of a run ──▶ who hands which cell to whom · which step of whom to which step of whom
//
// CV1  A feature is a hash of labels, cells and ordinals: no address, no position in the run.
// CV2  A run without races, or whose steps are not known (trace_watch.hpp), shows its trace and nothing else.
// Chance: none.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "heddle/simreactor/explore/trace_watch.hpp"

namespace heddle::sim {

class CoverageMap {
public:
    /// @returns true if the run showed something that no earlier one did
    bool add(const TraceWatch& run);
    [[nodiscard]] std::size_t size() const { return features_.size(); }

private:
    std::unordered_set<std::uint64_t> features_;  // looked up, never walked
};

}  // namespace heddle::sim
