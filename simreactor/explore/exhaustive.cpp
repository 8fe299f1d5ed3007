// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/exhaustive.hpp"

#include <algorithm>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {

ExhaustiveSearch::ExhaustiveSearch(const Options& options) : options_(options) { plans_.push_back({0, 0, 0, 0}); }

bool ExhaustiveSearch::next() {
    if (next_plan_ == plans_.size()) {
        exhausted_ = true;
        return false;
    }
    const std::size_t index = next_plan_++;
    plan_.clear();
    for (std::uint32_t at = static_cast<std::uint32_t>(index); plans_[at].depth > 0; at = plans_[at].parent) {
        plan_.push_back({plans_[at].position, plans_[at].answer});
    }
    std::ranges::reverse(plan_);
    next_deviation_ = 0;
    position_ = 0;
    counts_.clear();
    ++runs_;
    return true;
}

void ExhaustiveSearch::finish(bool extend) {
    if (!extend) {
        left_out_ = true;  // what lies behind the place where the run was cut was not seen
        return;
    }
    // A program that is no function of its answers would leave a planned point unmet.
    HEDDLE_ASSERT(next_deviation_ == plan_.size(), "INV-RCT-14");
    const auto parent = static_cast<std::uint32_t>(next_plan_ - 1);
    const std::uint32_t depth = plans_[parent].depth + 1;
    if (options_.deviations_max && depth > *options_.deviations_max) {
        if (!counts_.empty()) { bounded_ = left_out_ = true; }
        return;
    }
    const std::uint32_t first = position_ - static_cast<std::uint32_t>(counts_.size());
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
        for (std::uint32_t answer = 1; answer < counts_[i]; ++answer) {
            if (plans_.size() >= options_.plans_max) {
                ++dropped_;
                left_out_ = true;
                continue;
            }
            plans_.push_back({parent, first + i, answer, depth});
        }
    }
}

}  // namespace heddle::sim
