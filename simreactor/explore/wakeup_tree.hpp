// SPDX-License-Identifier: Apache-2.0
// Reversal: what has to run at a node so that a race is decided the other way. WakeupTree, in a WakeupForest: those that wait at a node.
//
//   run        …  e  a  b  c  k  d        race (e, k): e and k conflict, and nothing between orders them
//   node       …  ●                       where e was chosen
//   reversal      a  c  d  k              what does not follow from e, then k. Its initials may be run first: a, and c if a is no
//                                         reason for it; k only if it is alone or known to be clear
// WT1  k runs without e before it, so it may touch something else than it did: it conflicts with everything (⊤), unless it stated its
//      whole footprint before it read anything. With its old footprint instead, traces would be lost.
// WT2  A reversal that an explored branch of the node covers (it is an initial, or independent of all of it) is dropped; one that
//      follows the branches of the tree to a leaf is covered by what will be explored there.
// WT3  Both are emptied and filled again run after run: they keep their memory.
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

    [[nodiscard]] bool empty() const { return left_ == 0; }
    /// Items are numbered from 0 to here; those that were removed keep their numbers.
    [[nodiscard]] std::size_t end() const { return items_.size(); }
    [[nodiscard]] bool is_removed(std::size_t item) const { return items_[item].removed; }
    [[nodiscard]] Pid pid(std::size_t item) const { return items_[item].pid; }
    [[nodiscard]] StepIndex step(std::size_t item) const { return items_[item].step; }
    /// True for k, which chooses its values afresh.
    [[nodiscard]] bool is_reversed(std::size_t item) const { return items_[item].reversed; }
    [[nodiscard]] bool is_unknown(std::size_t item) const { return items_[item].unknown; }
    /// What it touches; nothing is known if it `is_unknown`.
    [[nodiscard]] Footprint feet(std::size_t item) const;
    /// The first step of `pid` that is left.
    [[nodiscard]] std::optional<std::size_t> find(Pid pid) const;
    /// True if nothing in the sequence has to come before this one. Requires: the first one of its process. Cost: O(size).
    [[nodiscard]] bool is_initial(std::size_t item) const;
    /// True if a step with this footprint, of a process that is not in the sequence, could run before or after it all.
    [[nodiscard]] bool is_independent(const Footprint& feet) const;
    void remove(std::size_t item) {
        items_[item].removed = true;
        --left_;
    }

private:
    struct Item {
        Pid pid = 0;
        StepIndex step = 0;
        bool reversed = false;
        bool unknown = false;
        bool removed = false;
    };
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    void add(Pid pid, StepIndex step, bool reversed, bool unknown);

    const StepGraph* graph_ = nullptr;
    std::vector<Item> items_;
    std::vector<std::uint32_t> first_;  // by process
    std::size_t left_ = 0;
};

/// What a value question of a step was answered, in order.
using Answers = std::span<const std::uint32_t>;

/// The reversals that wait at one node, as the branches of a tree that lies in a WakeupForest.
struct WakeupTree {
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::uint32_t first = none;
    [[nodiscard]] bool empty() const { return first == none; }
};

/// All trees of a search. What one of them gives up the others use again: after a while nothing is allocated.
class WakeupForest {
public:
    struct Branch {
        Pid pid = 0;
        bool unknown = false;  ///< its footprint, and the answers it will give
    };

    /// Calls `visit(branch)` for the branches at the node, in order, until it returns false.
    template <class Visit>
    void for_each(const WakeupTree& tree, Visit visit) const {
        for (std::uint32_t at = tree.first; at != none && visit(Branch{twigs_[at].pid, twigs_[at].unknown}); at = twigs_[at].next) {}
    }
    /// Merges a reversal (which is used up). @param answers_of  the answers of a step of the run
    /// @returns how many steps of it the tree had already; none if it covers it all
    template <class AnswersOf>
    std::optional<std::size_t> insert(WakeupTree& tree, Reversal& sequence, AnswersOf answers_of) {
        std::uint32_t parent = none;
        std::size_t depth = 0;
        for (std::uint32_t next = descend(tree, parent, sequence, answers_of); next != none;
             next = descend(tree, parent, sequence, answers_of)) {
            if (twigs_[next].first == none || sequence.empty()) { return std::nullopt; }  // WT2
            parent = next;
            ++depth;
        }
        for (std::size_t item = 0; item < sequence.end(); ++item) {
            if (sequence.is_removed(item)) { continue; }
            const bool unknown = sequence.is_unknown(item);
            parent = append(tree, parent, sequence.pid(item), unknown, unknown ? Footprint{} : sequence.feet(item),
                            sequence.is_reversed(item) ? Answers{} : answers_of(sequence.step(item)));
        }
        return depth;
    }
    /// A branch of one step about which nothing is known, unless there is one of this process.
    void add(WakeupTree& tree, Pid pid);
    /// Takes out what stands below the branch of `pid` that gave these answers; empty if there is none.
    [[nodiscard]] WakeupTree take(WakeupTree& tree, Pid pid, Answers answers);
    /// The process is done here, whatever it answered.
    void remove(WakeupTree& tree, Pid pid);
    void clear(WakeupTree& tree);

private:
    static constexpr std::uint32_t none = WakeupTree::none;

    struct Twig {
        Pid pid = 0;
        bool unknown = false;
        std::uint64_t cells = 0;  // Footprint::cells
        std::vector<Foot> feet{};
        std::vector<std::uint32_t> answers{};
        std::uint32_t first = none;  // below it
        std::uint32_t next = none;   // beside it; of those that are free, the next one
    };

    std::uint32_t append(WakeupTree& tree, std::uint32_t parent, Pid pid, bool unknown, const Footprint& feet, Answers answers);
    void give_back(std::uint32_t twig);
    [[nodiscard]] static bool equal(Answers a, Answers b);

    template <class AnswersOf>
    std::uint32_t descend(const WakeupTree& tree, std::uint32_t parent, Reversal& sequence, AnswersOf answers_of) const {
        for (std::uint32_t at = parent == none ? tree.first : twigs_[parent].first; at != none; at = twigs_[at].next) {
            const Twig& twig = twigs_[at];
            const std::optional<std::size_t> item = sequence.find(twig.pid);
            if (!item) {
                if (!twig.unknown && sequence.is_independent({twig.feet, twig.cells})) { return at; }
                continue;
            }
            if (!sequence.is_initial(*item)) { continue; }
            if (!twig.unknown && !sequence.is_reversed(*item) && !equal(twig.answers, answers_of(sequence.step(*item)))) { continue; }
            sequence.remove(*item);
            return at;
        }
        return none;
    }

    std::vector<Twig> twigs_;
    std::uint32_t free_ = none;
    std::vector<std::uint32_t> open_;  // scratch of give_back
};

}  // namespace heddle::sim
