// SPDX-License-Identifier: Apache-2.0
// Exhaustive: every schedule of a program, by the number of answers that deviate from the baseline: 0, 1, 2, …
//
//   ()                          the baseline run asks points 0 … L-1
//   (3:1) (3:2) (7:1) …         one deviation: point 3 answered 1, …
//   (3:1 5:1) …                 two: the second one behind the first
//
// EX1  Each schedule is run once: a plan names positions and answers of its deviations, in order, and its run tells the points behind
//      the last one, which are the next plans.
// EX2  Plans are run in order of their number of deviations, so the first failure is a shallowest one.
// EX3  Without a bound and with room for all plans, the end of the queue means that there is no other schedule: complete.
// EX4  By delay an answer i counts i, and plans are run in the order of that sum.
// EX5  Parts of a search share the runs with at most one deviation, which count in part 0 alone; each pair of first deviations belongs to
//      one part, with everything behind it.
// No reduction: every interleaving counts (docs/explorer.md). Memory: 16 bytes per plan that waits or led to one that waits.
// Chance: none.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/core/seam/chooser.hpp"

namespace heddle::sim {

class ExhaustiveSearch final : public Chooser {
public:
    struct Options {
        std::optional<std::uint32_t> deviations_max{};  ///< bound; none: all
        bool by_delay = false;                          ///< answer i costs i, in place of 1 (EX4)
        std::size_t plans_max = 20'000'000;              ///< memory; what does not fit makes the search incomplete
        std::uint64_t part_index = 0;                    ///< EX5
        std::uint64_t part_count = 1;
    };

    explicit ExhaustiveSearch(const Options& options);

    /// Prepares the next run. False when there is none.
    bool next();
    /// The run is over: what it asked behind its last deviation becomes plans. @param extend false if it was cut or violated
    void finish(bool extend);

    std::uint32_t choose(const ChoicePoint& point) override {
        const std::uint32_t index = position_++;
        if (next_deviation_ < plan_.size()) {
            if (plan_[next_deviation_].position != index) [[likely]] { return 0; }
            return plan_[next_deviation_++].answer;
        }
        counts_.push_back(point.count);
        return 0;
    }

    /// The present run counts in another part (EX5).
    [[nodiscard]] bool is_repeat() const { return options_.part_index != 0 && plan_.size() <= 1; }
    /// Deviations of the present run.
    [[nodiscard]] std::uint32_t depth() const { return static_cast<std::uint32_t>(plan_.size()); }
    /// Nothing was left out: no bound was met, no plan was dropped, no run was cut.
    [[nodiscard]] bool complete() const { return exhausted_ && !left_out_; }
    [[nodiscard]] std::uint64_t runs() const { return runs_; }
    [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
    /// Product of the alternatives at the points behind the last deviation of the run that is over.
    [[nodiscard]] double alternatives() const;
    /// Deeper plans exist that the bound left out.
    [[nodiscard]] bool bounded() const { return bounded_; }

private:
    struct Deviation {
        std::uint32_t position;
        std::uint32_t answer;
    };
    struct Plan {
        std::uint32_t parent;  // index into plans_
        std::uint32_t position;
        std::uint32_t answer;
        std::uint32_t depth;  // deviations, or their delay
    };

    std::optional<std::uint32_t> next_in_order();

    Options options_;
    std::vector<Plan> plans_;       // plan 0 is the baseline
    std::size_t next_plan_ = 0;     // plans before it were run; with delays: unused
    std::vector<std::vector<std::uint32_t>> waiting_;  // with delays: plans by their cost, to be run in this order
    std::size_t cost_ = 0;          // with delays: of the present plan
    std::size_t next_of_cost_ = 0;
    std::uint32_t present_ = 0;     // plan
    std::vector<Deviation> plan_;   // of the present run
    std::size_t next_deviation_ = 0;
    std::uint32_t position_ = 0;
    std::vector<std::uint32_t> counts_;  // alternatives of the points behind the last deviation
    std::uint64_t runs_ = 0;
    std::uint64_t dropped_ = 0;
    bool bounded_ = false;
    bool exhausted_ = false;
    bool left_out_ = false;
};

}  // namespace heddle::sim
