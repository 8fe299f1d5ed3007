// SPDX-License-Identifier: Apache-2.0
// Reversal: what has to run at a node so that a race is decided the other way. WakeupTree: the reversals that wait at a node.
//
//   run        …  e  a  b  c  k  d        race (e, k): e and k conflict, and nothing between orders them
//   node       …  ●                       where e was chosen
//   reversal      a  c  d  k              what does not follow from e, then k. Its initials may be run first: a, and c if a is no
//                                         reason for it; k only if it is alone or known to be clear
// WT1  k runs without e before it, so it may touch something else than it did: it conflicts with everything (⊤), unless it stated its
//      whole footprint before it read anything. With its old footprint instead, traces would be lost.
// WT2  A reversal that an explored branch of the node covers (it is an initial, or independent of all of it) is dropped; one that
//      follows the branches of the tree to a leaf is covered by what will be explored there.
// Chance: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "heddle/simreactor/explore/step_graph.hpp"

namespace heddle::sim {

class Reversal {
public:
    /// @param end  steps from `race.first` up to here are considered; those behind `race.second` make a longer sequence
    void build(const StepGraph& graph, const Race& race, StepIndex end);

    [[nodiscard]] bool empty() const { return items_.empty(); }
    [[nodiscard]] std::size_t size() const { return items_.size(); }
    [[nodiscard]] Pid pid(std::size_t item) const { return items_[item].pid; }
    [[nodiscard]] StepIndex step(std::size_t item) const { return items_[item].step; }
    /// True for k, which chooses its values afresh.
    [[nodiscard]] bool is_reversed(std::size_t item) const { return items_[item].reversed; }
    [[nodiscard]] bool is_unknown(std::size_t item) const { return items_[item].unknown; }
    /// What it touches; nothing is known if it `is_unknown`.
    [[nodiscard]] std::span<const Foot> feet(std::size_t item) const;
    /// The first step of `pid`.
    [[nodiscard]] std::optional<std::size_t> find(Pid pid) const;
    /// True if nothing in the sequence has to come before this one. Requires: the first one of its process. Cost: O(size).
    [[nodiscard]] bool is_initial(std::size_t item) const;
    /// True if a step with this footprint, of a process that is not in the sequence, could run before or after it all.
    [[nodiscard]] bool is_independent(std::span<const Foot> feet) const;
    void remove(std::size_t item) { items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(item)); }

private:
    struct Item {
        Pid pid = 0;
        StepIndex step = 0;
        bool reversed = false;
        bool unknown = false;
    };

    const StepGraph* graph_ = nullptr;
    std::vector<Item> items_;
};

/// What a value question of a step was answered, in order.
using Answers = std::vector<std::uint32_t>;

class WakeupTree {
public:
    struct Branch {
        Pid pid = 0;
        bool unknown = false;        ///< its footprint, and the answers it will give
        std::vector<Foot> feet{};
        Answers answers{};
        std::vector<Branch> branches{};
    };

    [[nodiscard]] bool empty() const { return branches_.empty(); }
    [[nodiscard]] const std::vector<Branch>& branches() const { return branches_; }
    void clear() { branches_.clear(); }
    /// Merges a reversal (which is used up). @param answers_of  the answers of a step of the run
    /// @returns false if the tree covers it already
    template <class AnswersOf>
    bool insert(Reversal& sequence, AnswersOf answers_of) {
        std::vector<Branch>* level = &branches_;
        while (Branch* next = descend(*level, sequence, answers_of)) {
            if (next->branches.empty() || sequence.empty()) { return false; }  // WT2
            level = &next->branches;
        }
        for (std::size_t i = 0; i < sequence.size(); ++i) {
            Branch branch;
            branch.pid = sequence.pid(i);
            branch.unknown = sequence.is_unknown(i);
            if (!branch.unknown) { branch.feet.assign(sequence.feet(i).begin(), sequence.feet(i).end()); }
            if (!sequence.is_reversed(i)) { branch.answers = answers_of(sequence.step(i)); }
            level->push_back(std::move(branch));
            level = &level->back().branches;
        }
        return true;
    }
    /// A branch of one step about which nothing is known, unless there is one of this process.
    void add(Pid pid);
    /// Takes out what stands below the branch of `pid` that gave these answers; empty if there is none.
    [[nodiscard]] WakeupTree take(Pid pid, const Answers& answers);
    /// The process is done here, whatever it answered.
    void remove(Pid pid);

private:
    template <class AnswersOf>
    static Branch* descend(std::vector<Branch>& level, Reversal& sequence, AnswersOf answers_of) {
        for (Branch& branch : level) {
            const std::optional<std::size_t> at = sequence.find(branch.pid);
            if (!at) {
                if (!branch.unknown && sequence.is_independent(branch.feet)) { return &branch; }
                continue;
            }
            if (!sequence.is_initial(*at)) { continue; }
            if (!branch.unknown && !sequence.is_reversed(*at) && branch.answers != answers_of(sequence.step(*at))) { continue; }
            sequence.remove(*at);
            return &branch;
        }
        return nullptr;
    }

    std::vector<Branch> branches_;
};

}  // namespace heddle::sim
