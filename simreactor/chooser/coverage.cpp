// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/chooser/coverage.hpp"

namespace heddle::sim {

void CoverageChooser::begin(std::uint64_t seed) {
    prng_ = Prng{seed}.stream("coverage");
    plan_.clear();
    position_ = 0;
    if (corpus_.empty()) { return; }
    if (children_ == options_.children) {
        children_ = 0;
        parent_ = (parent_ + 1) % corpus_.size();
    }
    ++children_;
    plan_ = corpus_[parent_];
    if (plan_.empty()) { return; }
    const std::uint64_t changes = 1 + prng_.below(options_.changes_max);
    for (std::uint64_t i = 0; i < changes; ++i) { plan_[prng_.below(plan_.size())] = prng_.next(); }
}

void CoverageChooser::finish(bool fresh) {
    if (!fresh) { return; }
    plan_.resize(position_);
    corpus_.push_front(plan_);
    if (corpus_.size() > options_.corpus_max) { corpus_.pop_back(); }
    parent_ = children_ = 0;  // new ones come first
}

}  // namespace heddle::sim
