// SPDX-License-Identifier: Apache-2.0
// CoverageChooser: answers of runs that showed something new, changed a little.
//
//   corpus   0 2 1 1 0 …  ──copy, 1 to 5 changes──▶  0 2 0 1 0 …  ──run──▶ new coverage? ──yes──▶ into the corpus
//
// CC1  A parent has `children` children, then the next one comes; new ones come first. While there is none, runs are random walks.
// CC2  Answers are kept by position, as large numbers taken modulo what is offered: a change may shift what the later ones decide.
// CC3  Behind the parent's end answers are drawn.
// What new coverage is, the caller says (coverage_map.hpp). Chance enters with the seed.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/simreactor/prng.hpp"

namespace heddle::sim {

class CoverageChooser final : public Chooser {
public:
    struct Options {
        std::uint32_t changes_max = 5;
        std::uint32_t children = 16;
        std::size_t corpus_max = 4096;  ///< parents kept; more drop the oldest
    };

    explicit CoverageChooser(const Options& options) : options_(options) {}
    CoverageChooser() : CoverageChooser(Options{}) {}

    /// The next run.
    void begin(std::uint64_t seed);
    /// The run is over. @param fresh  it showed something new
    void finish(bool fresh);

    std::uint32_t choose(const ChoicePoint& point) override {
        if (position_ == plan_.size()) { plan_.push_back(prng_.next()); }
        return static_cast<std::uint32_t>(plan_[position_++] % point.count);
    }

    [[nodiscard]] std::size_t corpus_size() const { return corpus_.size(); }

private:
    using Answers = std::vector<std::uint64_t>;

    Options options_;
    Prng prng_;
    std::deque<Answers> corpus_;
    std::size_t parent_ = 0;         // into corpus_
    std::uint32_t children_ = 0;     // that it has had
    Answers plan_;                   // of the present run
    std::size_t position_ = 0;
};

}  // namespace heddle::sim
