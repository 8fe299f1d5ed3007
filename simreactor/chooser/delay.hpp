// SPDX-License-Identifier: Apache-2.0
// DelayChooser: a run with at most k deviations from the baseline, placed at random.
//
//   points of a run   0 1 2 3 4 5 6 7 8 9 … length_estimate
//   answers           0 0 0 2 0 0 0 1 0 0 …                     k = 2 of them are not 0
//
// DC1  Positions are drawn without replacement from the first `length_estimate` points, so that a set of at most k
//      deviations that fits into the run has a chance of at least 1 / (C(length, k) · alternatives).
// DC2  A run that is shorter than the estimate deviates less often, never more.
// Chance enters with the seed: once per run for the positions, once per deviation for the alternative.
#pragma once

#include <vector>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/simreactor/prng.hpp"

namespace heddle::sim {

class DelayChooser final : public Chooser {
public:
    struct Options {
        std::uint64_t seed = 0;
        std::uint32_t deviations_max = 2;    ///< k; 0 is the baseline run
        std::uint64_t length_estimate = 64;  ///< points of a run; best taken from an earlier one (`points`)
    };

    explicit DelayChooser(const Options& options) { begin(options); }

    /// The next run, as if made anew. Cost: O(k log k).
    void begin(const Options& options);

    std::uint32_t choose(const ChoicePoint& point) override {
        const std::uint64_t index = points_++;
        if (next_ == positions_.size() || positions_[next_] != index) [[likely]] { return 0; }
        ++next_;
        return 1 + static_cast<std::uint32_t>(prng_.below(point.count - 1));
    }

    /// Points that this run has come to so far.
    [[nodiscard]] std::uint64_t points() const { return points_; }
    /// Deviations that it has made so far.
    [[nodiscard]] std::size_t deviations() const { return next_; }

private:
    Prng prng_;
    std::vector<std::uint64_t> positions_;  // ascending
    std::size_t next_ = 0;
    std::uint64_t points_ = 0;
};

}  // namespace heddle::sim
