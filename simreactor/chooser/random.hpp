// SPDX-License-Identifier: Apache-2.0
// RandomChooser: a random walk. Every alternative of every point is equally likely, whatever came before.
//
// Its distribution over schedules is skewed (a schedule's chance is the product of 1/count along it): it is the
// control that other samplers are measured against, and the cheapest way to touch everything once.
// Chance enters with the generator.
#pragma once

#include "heddle/core/seam/chooser.hpp"
#include "heddle/simreactor/prng.hpp"

namespace heddle::sim {

class RandomChooser final : public Chooser {
public:
    explicit RandomChooser(std::uint64_t seed) { begin(seed); }

    /// The next run, as if made anew with `seed`.
    void begin(std::uint64_t seed) { prng_ = Prng{seed}.stream("random walk"); }

    std::uint32_t choose(const ChoicePoint& point) override {
        return static_cast<std::uint32_t>(prng_.below(point.count));
    }

private:
    Prng prng_;
};

}  // namespace heddle::sim
