// SPDX-License-Identifier: Apache-2.0
// Lookahead: what each process of a run is about to touch. Samplers that weigh steps against each other stand on it.
//
//   step of p ── touches, foresees ──▶ settle() ──▶ step_over(p, what it touched)     pending(p): what p's next step will touch
//
// LA1  A process is a coroutine or a source, named by its label; numbers stay from run to run.
// LA2  What the program foresees (foresight.hpp) is taken as it is. Where it says nothing, the n-th step of a process is expected to
//      touch what its n-th step touched in the latest run that came so far; nothing is expected of a step that never was.
// LA3  The ready queue is no object: it would make every step conflict with every other.
// Choice points: none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/observer.hpp"
#include "heddle/simreactor/chooser/foresight.hpp"

namespace heddle::sim {

/// True for questions whose candidates are processes that compete for the next step.
[[nodiscard]] bool is_competition(const ChoicePoint& point);

class Lookahead : public Observer, public Foresight {
public:
    using Process = std::uint32_t;
    static constexpr Process nobody = ~Process{0};

    struct Access {
        std::uint32_t cell = 0;  ///< a small number; the same cell has the same one in every run
        TouchMode mode = TouchMode::read;
        friend constexpr bool operator==(const Access&, const Access&) = default;
    };

    void on_event(const Event& event) final;
    void on_touch(Cell cell, TouchMode mode) final;
    void foresee(Cell cell, TouchMode mode, CellUse use) final;
    void foresee_nothing() final { foreseen_known_ = true; }

protected:
    /// A new run begins. What earlier runs taught stays.
    void begin_run();
    /// The step at hand is over, if one is. Called before a question about the next one is answered.
    void settle();

    /// The number of a process, which may not have begun yet.
    [[nodiscard]] Process process_of(Label label);
    [[nodiscard]] std::uint32_t process_count() const { return static_cast<std::uint32_t>(processes_.size()); }
    /// Expected accesses of its next step; empty if nothing is known.
    [[nodiscard]] std::span<const Access> pending(Process process) const { return processes_[process].pending; }
    [[nodiscard]] bool is_lock(std::uint32_t cell) const { return cells_[cell] == CellUse::lock; }
    [[nodiscard]] std::uint32_t cell_count() const { return static_cast<std::uint32_t>(cells_.size()); }
    [[nodiscard]] std::uint32_t steps(Process process) const { return processes_[process].steps; }
    /// Spawned in this run, and not ended.
    [[nodiscard]] bool is_alive(Process process) const { return processes_[process].alive; }

    // ── what a sampler learns, in the order in which it happens ──

    virtual void step_over(Process process, std::span<const Access> accesses) = 0;
    virtual void born(Process child, Process parent) { (void)child, (void)parent; }
    virtual void ended(Process process) { (void)process; }

private:
    struct Known {
        std::vector<Access> pending{};
        std::vector<std::vector<Access>> history{};  // by ordinal
        std::uint32_t steps = 0;                      // begun in this run
        bool alive = false;
        bool foreseen = false;                        // `pending`, by the program
    };

    [[nodiscard]] std::uint32_t number_of(Cell cell);
    void expect(Known& known) const;

    GenerationMap index_;
    std::vector<Known> processes_;
    GenerationMap cell_index_;
    std::vector<CellUse> cells_;
    Process running_ = nobody;
    bool was_foreseen_ = false;         // the running step
    std::vector<Access> touched_;       // by the running step; what was foreseen of it, if anything was
    bool foreseen_known_ = false;
    std::vector<Access> foreseen_;      // of the next step of the running process
};

/// True if they touch one cell in conflicting modes.
[[nodiscard]] bool conflict(std::span<const Lookahead::Access> a, std::span<const Lookahead::Access> b);

}  // namespace heddle::sim
