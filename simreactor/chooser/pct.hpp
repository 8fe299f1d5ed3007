// SPDX-License-Identifier: Apache-2.0
// PctChooser: priorities that change at d-1 random steps (probabilistic concurrency testing).
//
//   steps      0 1 2 3 4 5 6 7 8 9 …
//   priority   a a a b b b a|c c c …        at | whoever would run falls below all others
//
// PC1  A bug of depth d is found with a chance of at least 1 / (n · L^(d-1)): n processes, L steps.
// PC2  L is an estimate from earlier runs, a fifth more than their median; change points behind the end do nothing.
// PC3  Questions that no processes compete for are answered at random.
// Chance enters with the seed: priorities, change points.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/simreactor/chooser/lookahead.hpp"
#include "heddle/simreactor/chooser/priorities.hpp"

namespace heddle::sim {

/// Attach it as chooser and as observer.
class PctChooser final : public Chooser, public Observer {
public:
    /// @param depth  d ≥ 1; 1 changes nothing
    explicit PctChooser(std::uint32_t depth) : depth_(depth) {}

    /// The next run.
    void begin(std::uint64_t seed);
    /// The run is over, and its length is known. @param cut  before its end: it tells nothing, or a lower bound where all are
    void finish(bool cut = false);

    std::uint32_t choose(const ChoicePoint& point) override;
    void on_event(const Event& event) override;

    /// Steps of a run, as far as earlier ones tell; 0 before the first one.
    [[nodiscard]] std::uint64_t length() const { return length_; }
    /// The run at hand only shows how long runs are: every step draws its priority.
    [[nodiscard]] bool is_profiling() const { return length_ == 0; }

private:
    static constexpr std::uint32_t cut_profiles_max = 8;
    [[nodiscard]] std::uint32_t process_of(Label label);
    [[nodiscard]] bool changes_here();

    std::uint32_t depth_;
    Priorities priorities_;
    GenerationMap index_;
    std::uint32_t processes_ = 0;
    std::vector<std::uint64_t> changes_;  // steps, ascending
    std::size_t next_change_ = 0;
    std::uint64_t steps_ = 0;             // begun in this run
    std::uint64_t length_ = 0;
    std::uint64_t longest_ = 0;           // of the runs that only showed that
    std::uint32_t cut_profiles_ = 0;
};

}  // namespace heddle::sim
