// SPDX-License-Identifier: Apache-2.0
// StepGraph: the steps of one run with their footprints, vector clocks and races (docs/explorer.md).
//
//   begin(p) · touch · touch · enable(q) · end ──▶ step k = {pid, ordinal, footprint, clock}      clock[q] = how many of q's steps
//                                                  race (e, k)                                     are k or happen before it
//
// SG1  Happens-before = program order ∪ enabling ∪ order of conflicting steps. Enabling edges are joined before races are looked for:
//      what made a step possible is no race with it.
// SG2  A race is a pair of conflicting steps of two processes that no third step orders.
// SG3  The graph is a stack: `truncate` takes back the newest steps and leaves what the older ones meant, so that a search that runs a
//      prefix again does not record it again. Each access keeps the one before it on its cell, each step the one before it of its process.
// SG4  Processes and cells get dense numbers in the order in which a search first meets them; they stay when steps are taken back.
// SG5  A step that states its whole footprint before it does anything keeps to it. That is what a reversed step may be known by.
// SG6  Where time is one of the things that pass, all steps of an instant happen before all steps of a later one (`at`).
// Chance: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "heddle/core/base/time.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle::sim {

/// A process: a coroutine, by its label, as a small number.
using Pid = std::uint32_t;
using StepIndex = std::uint32_t;
inline constexpr StepIndex no_step = ~StepIndex{0};

/// One cell of a footprint, by its number in the graph.
struct Foot {
    std::uint32_t cell = 0;
    TouchMode mode = TouchMode::read;
    friend constexpr bool operator==(const Foot&, const Foot&) = default;
};

/// What a step touches. `cells` has a bit per cell, several cells share one: without a bit in common there is no cell in common.
struct Footprint {
    std::span<const Foot> feet{};
    std::uint64_t cells = 0;

    [[nodiscard]] static constexpr std::uint64_t bit(std::uint32_t cell) { return std::uint64_t{1} << (cell % 64); }
};

[[nodiscard]] bool conflict_closely(std::span<const Foot> a, std::span<const Foot> b);
/// True if two footprints touch one cell in conflicting modes. Cost: product of their sizes, which are small.
[[nodiscard]] inline bool conflict(const Footprint& a, const Footprint& b) {
    return (a.cells & b.cells) != 0 && conflict_closely(a.feet, b.feet);
}

struct Race {
    StepIndex first = 0;
    StepIndex second = 0;
    friend constexpr bool operator==(const Race&, const Race&) = default;
};

class StepGraph {
public:
    // ── names ──

    [[nodiscard]] Pid pid_of(Label label);
    [[nodiscard]] Label label_of(Pid pid) const { return labels_[pid]; }
    [[nodiscard]] std::uint32_t pid_count() const { return static_cast<std::uint32_t>(labels_.size()); }
    [[nodiscard]] std::uint32_t cell_number(Cell cell);
    [[nodiscard]] std::optional<std::uint32_t> find_cell(Cell cell) const {
        const GenerationMap::Slot* slot = cell_index_.find(cell.value);
        return slot == nullptr ? std::nullopt : std::optional(slot->value);
    }
    [[nodiscard]] Cell cell_of(std::uint32_t number) const { return cells_[number]; }

    // ── one run, step by step ──

    /// Back to the first `count` steps; 0 forgets the run. Requires: no step is open.
    void truncate(StepIndex count);

    /// Opens the next step. Requires: none is open.
    void begin(Pid pid);
    void touch(Cell cell, TouchMode mode) { touch_number(cell_number(cell), mode); }
    void touch_number(std::uint32_t cell, TouchMode mode);
    /// The open step states its whole footprint before it does anything: it will not touch more, whatever the others did before.
    /// `end` checks it: what it touches besides must be its own (`allow`) or of a commuting class.
    void state(Cell cell, TouchMode mode);
    /// A cell that belongs to the process of the open step, which may touch it whatever it stated: its end, its waits.
    void allow(std::uint32_t cell) { own_.push_back(cell); }
    /// The open step made the next step of `target` possible.
    void enable(Pid target);
    /// The open step comes after every other: it was impossible as long as any of them was not done.
    void follow_all() { follows_all_ = true; }
    /// SG6: the open step happens at this instant. Requires: no earlier than the step before it.
    void at(Instant instant);
    /// The open step comes after the last one that said the same, as dispatches do where the queue decides.
    void chain();
    /// An answer that the open step got: part of what it is.
    void answer(std::uint32_t index) { digest_of_answers_ = hash_mix(digest_of_answers_, index + 1); }
    /// Closes the open step: its clock and its races are known from here on.
    void end();

    // ── what is known ──

    [[nodiscard]] StepIndex size() const { return static_cast<StepIndex>(steps_.size()) - (open_ ? 1 : 0); }
    [[nodiscard]] bool is_open() const { return open_; }
    /// The instant of the last step (SG6).
    [[nodiscard]] Instant now() const { return steps_.empty() ? Instant{} : steps_.back().at; }
    [[nodiscard]] Pid pid(StepIndex step) const { return steps_[step].pid; }
    /// 1 for the first step of its process.
    [[nodiscard]] std::uint32_t ordinal(StepIndex step) const { return steps_[step].ordinal; }
    [[nodiscard]] Footprint feet(StepIndex step) const {
        return {std::span(feet_).subspan(steps_[step].first_access, steps_[step].access_count), steps_[step].cells};
    }
    /// What a step that made a statement touches in every order of the others: the statement, and what is its own. Empty if it made none.
    [[nodiscard]] Footprint stated(StepIndex step) const {
        return {std::span(stated_).subspan(steps_[step].first_stated, steps_[step].stated_count), steps_[step].stated_cells};
    }
    [[nodiscard]] bool is_stated(StepIndex step) const { return steps_[step].is_stated; }
    /// How many steps of `pid` are `step` or happen before it.
    [[nodiscard]] std::uint32_t clock(StepIndex step, Pid pid) const { return pid < width_ ? clocks_[step * width_ + pid] : 0; }
    /// Also true of a step and itself.
    [[nodiscard]] bool happens_before(StepIndex first, StepIndex second) const {
        return first <= second && clock(second, steps_[first].pid) >= steps_[first].ordinal;
    }
    [[nodiscard]] StepIndex last_of(Pid pid) const { return last_[pid]; }
    /// The last step that made this one possible; no_step if none did.
    [[nodiscard]] StepIndex enabler(StepIndex step) const { return steps_[step].enabler; }
    /// All races whose second step is `from` or later, in order of their second steps.
    [[nodiscard]] std::span<const Race> races_from(StepIndex from) const;
    /// Equal for two runs iff they are two linearisations of one trace (up to collisions of 64 bits): labels, ordinals, answers and
    /// clocks of all steps, in no order.
    [[nodiscard]] std::uint64_t digest() const { return steps_.empty() ? 0 : steps_[size() - 1].digest; }

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    struct Step {
        Pid pid = 0;
        std::uint32_t ordinal = 0;
        StepIndex previous = no_step;  // of the same process
        std::uint32_t first_access = 0;
        std::uint32_t access_count = 0;
        std::uint32_t first_stated = 0;
        std::uint32_t stated_count = 0;
        std::uint32_t first_edge = 0;
        std::uint32_t first_race = 0;
        bool is_stated = false;
        StepIndex enabler = no_step;
        StepIndex chained = no_step;     // the last chained step up to this one
        StepIndex first_at = 0;          // the first step of its instant
        Instant at{};
        std::uint64_t cells = 0;         // Footprint::cells
        std::uint64_t stated_cells = 0;
        std::uint64_t digest = 0;  // of this step and all before it
    };
    struct Access {
        StepIndex step = 0;
        std::uint32_t previous = none;  // on the same cell
        std::uint32_t unlike = none;    // the newest one before it in another mode than its own was, when it was pushed
    };
    struct Edge {
        StepIndex from = 0;
        Pid to = 0;
        std::uint32_t previous = none;  // to the same process
    };

    void find_predecessors();
    void take_back(StepIndex step);
    void join_earlier_instants(const Step& step);
    void widen(std::uint32_t pids);
    void join(StepIndex step);
    void check_statement() const;

    GenerationMap pid_index_;
    std::vector<Label> labels_;      // by pid
    std::vector<StepIndex> last_;    // by pid
    std::vector<std::uint32_t> last_edge_;  // by pid
    GenerationMap cell_index_;
    std::vector<Cell> cells_;        // by number
    std::vector<std::uint32_t> last_access_;  // by cell

    std::vector<Step> steps_;
    std::vector<Foot> feet_;         // of all steps, with accesses_ beside them
    std::vector<Access> accesses_;
    std::vector<Foot> stated_;
    std::vector<std::uint32_t> own_;  // of the open step: cells that it may touch besides what it stated
    std::vector<Edge> edges_;
    std::vector<Race> races_;
    std::vector<std::uint32_t> clocks_;  // width_ words per step
    std::uint32_t width_ = 8;

    std::vector<StepIndex> enabling_;     // scratch of `end`
    std::vector<StepIndex> conflicting_;  // likewise
    std::uint64_t digest_of_answers_ = 0;
    bool open_ = false;
    bool follows_all_ = false;
    StepIndex chained_ = no_step;  // the step that the open one comes after
};

}  // namespace heddle::sim
