// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/wakeup_tree.hpp"

#include <algorithm>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {

// ── Reversal ──

void Reversal::add(Pid pid, StepIndex step, bool reversed, bool unknown) {
    if (first_.size() <= pid) { first_.resize(pid + 1, none); }
    if (first_[pid] == none) { first_[pid] = static_cast<std::uint32_t>(items_.size()); }
    items_.push_back({pid, step, reversed, unknown, false});
}

void Reversal::build(const StepGraph& graph, const Race& race, StepIndex end) {
    HEDDLE_ASSERT(race.first < race.second && race.second < end && end <= graph.size(), "SG2");
    graph_ = &graph;
    for (const Item& item : items_) { first_[item.pid] = none; }
    items_.clear();
    for (StepIndex step = race.first + 1; step < end; ++step) {
        if (!graph.happens_before(race.first, step)) { add(graph.pid(step), step, false, false); }
    }
    add(graph.pid(race.second), race.second, true, !graph.is_stated(race.second));
    left_ = items_.size();
}

Footprint Reversal::feet(std::size_t item) const {
    const Item& at = items_[item];
    return at.reversed ? graph_->stated(at.step) : graph_->feet(at.step);
}

std::optional<std::size_t> Reversal::find(Pid pid) const {
    if (pid >= first_.size() || first_[pid] == none) { return std::nullopt; }
    for (std::size_t item = first_[pid]; item < items_.size(); ++item) {
        if (items_[item].pid == pid && !items_[item].removed) { return item; }
    }
    return std::nullopt;
}

bool Reversal::is_initial(std::size_t item) const {
    const Item& at = items_[item];
    if (at.unknown && left_ > 1) { return false; }  // WT1: it is the last
    for (std::size_t i = 0; i < item; ++i) {
        if (items_[i].removed) { continue; }
        if (graph_->happens_before(items_[i].step, at.step)) { return false; }
        if (at.reversed && conflict(feet(item), graph_->feet(items_[i].step))) { return false; }
    }
    return true;
}

bool Reversal::is_independent(const Footprint& feet) const {
    return std::ranges::none_of(items_, [&](const Item& at) {
        return !at.removed && (at.unknown || conflict(feet, at.reversed ? graph_->stated(at.step) : graph_->feet(at.step)));
    });
}

// ── WakeupForest ──

bool WakeupForest::equal(Answers a, Answers b) { return std::ranges::equal(a, b); }

/// As the right-most branch below `parent`.
std::uint32_t WakeupForest::append(WakeupTree& tree, std::uint32_t parent, Pid pid, bool unknown, const Footprint& feet, Answers answers) {
    std::uint32_t fresh = free_;
    if (fresh == none) {
        fresh = static_cast<std::uint32_t>(twigs_.size());
        twigs_.emplace_back();
    } else {
        free_ = twigs_[fresh].next;
    }
    Twig& twig = twigs_[fresh];
    twig.pid = pid;
    twig.unknown = unknown;
    twig.cells = feet.cells;
    twig.feet.assign(feet.feet.begin(), feet.feet.end());
    twig.answers.assign(answers.begin(), answers.end());
    twig.first = twig.next = none;
    std::uint32_t* link = parent == none ? &tree.first : &twigs_[parent].first;
    while (*link != none) { link = &twigs_[*link].next; }
    *link = fresh;
    return fresh;
}

void WakeupForest::add(WakeupTree& tree, Pid pid) {
    bool known = false;
    for_each(tree, [&](const Branch& branch) {
        known = known || branch.pid == pid;
        return !known;
    });
    if (!known) { append(tree, none, pid, true, {}, {}); }
}

WakeupTree WakeupForest::take(WakeupTree& tree, Pid pid, Answers answers) {
    WakeupTree taken;
    for (std::uint32_t at = tree.first; at != none; at = twigs_[at].next) {
        if (twigs_[at].pid != pid || !equal(twigs_[at].answers, answers)) { continue; }
        std::swap(taken.first, twigs_[at].first);
        break;
    }
    return taken;
}

void WakeupForest::remove(WakeupTree& tree, Pid pid) {
    for (std::uint32_t* link = &tree.first; *link != none;) {
        const std::uint32_t at = *link;
        if (twigs_[at].pid != pid) {
            link = &twigs_[at].next;
            continue;
        }
        *link = twigs_[at].next;
        give_back(at);
    }
}

void WakeupForest::clear(WakeupTree& tree) {
    while (tree.first != none) {
        const std::uint32_t at = tree.first;
        tree.first = twigs_[at].next;
        give_back(at);
    }
}

/// A twig that hangs on nothing any more, with all that stands below it.
void WakeupForest::give_back(std::uint32_t twig) {
    open_.assign(1, twig);
    while (!open_.empty()) {
        const std::uint32_t at = open_.back();
        open_.pop_back();
        for (std::uint32_t below = twigs_[at].first; below != none; below = twigs_[below].next) { open_.push_back(below); }
        twigs_[at].next = free_;
        free_ = at;
    }
}

}  // namespace heddle::sim
