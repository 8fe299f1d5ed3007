// SPDX-License-Identifier: Apache-2.0
// Reversals: schedules by the number of races that are decided the other way than in the baseline run.
//
//   baseline   … e a b k …     race (e, k)          0 reversals
//   plan       … a k           e is held back       1: what does not follow from e, then k, then whoever production would take
//
// RV1  A plan is a sequence of answers up to the reversal and of processes behind it. A process that is not on offer ends the plan: the run
//      goes on as production does.
// RV2  Traces are told apart by their keys (trace_watch.hpp); the races of one that was seen are not reversed again.
// RV3  Questions that are no dispatch (the reactor's, sim::choose) have no races: another answer to one counts as a reversal.
// RV4  Plans are run in the order of their number of reversals. The search ends by itself, and leaves out what the bound leaves out: a
//      bounded search is never complete.
// Chance: none. Memory: the answers of every plan that waits.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_set>
#include <vector>

#include "heddle/simreactor/explore/strategy.hpp"

namespace heddle::sim {

class Reversals final : public Schedules, private Chooser, private Observer {
public:
    explicit Reversals(std::uint32_t reversals_max) : reversals_max_(reversals_max) { plans_.push_back({}); }

    Chooser* next() override;
    void finish(const RunEnd& end) override;
    Observer* observer() override { return this; }
    [[nodiscard]] bool wants_watch() const override { return true; }
    [[nodiscard]] bool is_systematic() const override { return false; }
    [[nodiscard]] bool is_sample() const override { return false; }
    [[nodiscard]] std::uint32_t depth() const override { return plan_.reversals; }

private:
    struct Plan {
        std::vector<std::uint32_t> answers{};
        std::vector<Label> processes{};  // of the steps from the reversal on
        std::uint32_t reversals = 0;
        std::uint32_t first_step = 0;    // of `processes`
    };
    struct Asked {
        std::uint32_t count = 0;
        std::uint32_t answer = 0;
        bool dispatch = false;
        std::uint32_t steps = 0;  // begun before it
    };

    std::uint32_t choose(const ChoicePoint& point) override;
    void on_event(const Event& event) override;

    std::uint32_t reversals_max_;
    std::deque<Plan> plans_;
    std::unordered_set<std::uint64_t> seen_;  // looked up, never walked
    Plan plan_;                               // of the present run
    std::size_t next_process_ = 0;
    bool follows_ = true;                     // the plan
    bool dispatched_ = false;                 // a dispatch was answered, its step has not begun
    std::vector<Asked> asked_;
    std::uint32_t steps_ = 0;
};

}  // namespace heddle::sim
