// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/chooser/delay.hpp"

#include <algorithm>

namespace heddle::sim {

void DelayChooser::begin(const Options& options) {
    prng_ = Prng{options.seed}.stream("delay walk");
    positions_.clear();
    next_ = 0;
    points_ = 0;
    // Floyd's sampling: k distinct numbers below n with k draws. A run of no known length has at least one point to
    // deviate at.
    const std::uint64_t length = std::max<std::uint64_t>(options.length_estimate, 1);
    const std::uint64_t count = std::min<std::uint64_t>(options.deviations_max, length);
    for (std::uint64_t top = length - count; top < length; ++top) {
        const std::uint64_t drawn = prng_.below(top + 1);
        const bool known = std::ranges::find(positions_, drawn) != positions_.end();
        positions_.push_back(known ? top : drawn);
    }
    std::ranges::sort(positions_);
}

}  // namespace heddle::sim
