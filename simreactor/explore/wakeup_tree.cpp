// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/wakeup_tree.hpp"

#include <algorithm>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {

void Reversal::build(const StepGraph& graph, const Race& race, StepIndex end) {
    HEDDLE_ASSERT(race.first < race.second && race.second < end && end <= graph.size(), "SG2");
    graph_ = &graph;
    items_.clear();
    for (StepIndex step = race.first + 1; step < end; ++step) {
        if (!graph.happens_before(race.first, step)) { items_.push_back({graph.pid(step), step, false, false}); }
    }
    items_.push_back({graph.pid(race.second), race.second, true, !graph.is_stated(race.second)});
}

std::span<const Foot> Reversal::feet(std::size_t item) const {
    const Item& at = items_[item];
    return at.reversed ? graph_->stated(at.step) : graph_->feet(at.step);
}

std::optional<std::size_t> Reversal::find(Pid pid) const {
    const auto found = std::ranges::find_if(items_, [&](const Item& at) { return at.pid == pid; });
    if (found == items_.end()) { return std::nullopt; }
    return static_cast<std::size_t>(found - items_.begin());
}

bool Reversal::is_initial(std::size_t item) const {
    const Item& at = items_[item];
    if (at.unknown && item > 0) { return false; }  // WT1
    for (std::size_t i = 0; i < item; ++i) {
        if (graph_->happens_before(items_[i].step, at.step)) { return false; }
        if (at.reversed && conflict(feet(item), graph_->feet(items_[i].step))) { return false; }
    }
    return true;
}

bool Reversal::is_independent(std::span<const Foot> feet) const {
    return std::ranges::none_of(items_, [&](const Item& at) {
        return at.unknown || conflict(feet, at.reversed ? graph_->stated(at.step) : graph_->feet(at.step));
    });
}

void WakeupTree::add(Pid pid) {
    const bool known = std::ranges::any_of(branches_, [&](const Branch& branch) { return branch.pid == pid; });
    if (!known) { branches_.push_back({pid, true}); }
}

WakeupTree WakeupTree::take(Pid pid, const Answers& answers) {
    WakeupTree taken;
    const auto found =
        std::ranges::find_if(branches_, [&](const Branch& branch) { return branch.pid == pid && branch.answers == answers; });
    if (found != branches_.end()) { taken.branches_ = std::move(found->branches); }
    return taken;
}

void WakeupTree::remove(Pid pid) {
    std::erase_if(branches_, [&](const Branch& branch) { return branch.pid == pid; });
}

}  // namespace heddle::sim
