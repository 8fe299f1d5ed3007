// SPDX-License-Identifier: Apache-2.0
// TraceWatch: the steps, clocks and races of runs that somebody else decides, so that runs are told apart by their traces.
//
//   world ── choose ──▶ TraceWatch ── choose ──▶ the chooser that decides
//     └──── events, touches ──▶   └──▶ StepGraph ──▶ key(): equal for two linearisations of one trace
//
// TW1  It never changes an answer.
// TW2  Once the reactor is asked anything, or delivers, the order of all steps counts (ReducedSearch, RS4): then runs are told apart by
//      their answers.
// Choice points: none of its own.
#pragma once

#include <cstdint>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/observer.hpp"
#include "heddle/simreactor/explore/step_graph.hpp"

namespace heddle::sim {

/// Attach it as chooser and as observer.
class TraceWatch final : public Chooser, public Observer {
public:
    /// A new run, which `decides` answers. Cost: O(steps of the run before).
    void begin(Chooser& decides);
    /// The run is over.
    void finish();

    std::uint32_t choose(const ChoicePoint& point) override;
    void on_event(const Event& event) override;
    void on_touch(Cell cell, TouchMode mode) override;

    /// Names the trace of the run, behind `finish`.
    [[nodiscard]] std::uint64_t key() const { return reactor_seen_ ? hash_mix(answers_, 1) : graph_.digest(); }
    [[nodiscard]] const StepGraph& graph() const { return graph_; }
    /// Its order is all that is known about it (TW2).
    [[nodiscard]] bool reactor_seen() const { return reactor_seen_; }

private:
    void close();

    StepGraph graph_;
    Chooser* decides_ = nullptr;
    std::uint64_t answers_ = 0;  // hash over all answers
    bool reactor_seen_ = false;
};

}  // namespace heddle::sim
