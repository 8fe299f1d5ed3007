// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/exhaustive.hpp"

#include <algorithm>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {

ExhaustiveSearch::ExhaustiveSearch(const Options& options) : options_(options) {
    plans_.push_back({0, 0, 0, 0});
    if (options_.by_delay) { waiting_.push_back({0}); }
}

/// The next plan in order; none if all were run.
std::optional<std::uint32_t> ExhaustiveSearch::next_in_order() {
    if (!options_.by_delay) {
        if (next_plan_ == plans_.size()) { return std::nullopt; }
        return static_cast<std::uint32_t>(next_plan_++);
    }
    while (cost_ < waiting_.size() && next_of_cost_ == waiting_[cost_].size()) {
        std::vector<std::uint32_t>().swap(waiting_[cost_]);
        ++cost_;
        next_of_cost_ = 0;
    }
    if (cost_ == waiting_.size()) { return std::nullopt; }
    return waiting_[cost_][next_of_cost_++];
}

bool ExhaustiveSearch::next() {
    const std::optional<std::uint32_t> index = next_in_order();
    if (!index) {
        exhausted_ = true;
        return false;
    }
    present_ = *index;
    plan_.clear();
    for (std::uint32_t at = present_; at != 0; at = plans_[at].parent) { plan_.push_back({plans_[at].position, plans_[at].answer}); }
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
    const std::uint32_t cost = plans_[present_].depth;
    const std::uint32_t first = position_ - static_cast<std::uint32_t>(counts_.size());
    for (std::uint32_t i = 0; i < counts_.size(); ++i) {
        for (std::uint32_t answer = 1; answer < counts_[i]; ++answer) {
            const std::uint32_t total = cost + (options_.by_delay ? answer : 1);
            if (options_.deviations_max && total > *options_.deviations_max) {
                bounded_ = left_out_ = true;
                break;  // later answers cost as much, or more
            }
            if (plan_.size() == 1 && options_.part_count > 1) {
                const std::uint64_t first_one = hash_mix(plan_.front().position, plan_.front().answer);
                if (hash_mix(first_one, hash_mix(first + i, answer)) % options_.part_count != options_.part_index) { continue; }
            }
            if (plans_.size() >= options_.plans_max) {
                ++dropped_;
                left_out_ = true;
                continue;
            }
            if (options_.by_delay) {
                if (waiting_.size() <= total) { waiting_.resize(total + 1); }
                waiting_[total].push_back(static_cast<std::uint32_t>(plans_.size()));
            }
            plans_.push_back({present_, first + i, answer, total});
        }
    }
}

double ExhaustiveSearch::alternatives() const {
    double product = 1;
    for (const std::uint32_t count : counts_) { product *= count; }
    return product;
}

}  // namespace heddle::sim
