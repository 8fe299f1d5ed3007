// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/step_graph.hpp"

#include <algorithm>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {

bool conflict_closely(std::span<const Foot> a, std::span<const Foot> b) {
    for (const Foot& one : a) {
        for (const Foot& other : b) {
            if (one.cell == other.cell && conflicts(one.mode, other.mode)) { return true; }
        }
    }
    return false;
}

// ── names ──

Pid StepGraph::pid_of(Label label) {
    bool fresh = false;
    const Pid pid = pid_index_.at(label.value, pid_count(), fresh).value;
    if (fresh) {
        labels_.push_back(label);
        last_.push_back(no_step);
        last_edge_.push_back(none);
        if (labels_.size() > width_) { widen(static_cast<std::uint32_t>(labels_.size())); }
    }
    return pid;
}

std::uint32_t StepGraph::cell_number(Cell cell) {
    bool fresh = false;
    const std::uint32_t number = cell_index_.at(cell.value, static_cast<std::uint32_t>(last_access_.size()), fresh).value;
    if (fresh) {
        last_access_.push_back(none);
        cells_.push_back(cell);
    }
    return number;
}

/// Wider clocks for more processes; the steps that are known keep theirs.
void StepGraph::widen(std::uint32_t pids) {
    const std::uint32_t wider = std::max(width_ * 2, pids);
    std::vector<std::uint32_t> clocks(steps_.size() * wider, 0);
    for (std::size_t step = 0; step < steps_.size(); ++step) {
        std::copy_n(clocks_.begin() + static_cast<std::ptrdiff_t>(step * width_), width_,
                    clocks.begin() + static_cast<std::ptrdiff_t>(step * wider));
    }
    clocks_ = std::move(clocks);
    width_ = wider;
}

// ── building ──

void StepGraph::truncate(StepIndex count) {
    HEDDLE_ASSERT(!open_ && count <= steps_.size(), "SG3");
    if (count == 0) {  // all of it: nothing to go back to
        for (const Foot& foot : feet_) { last_access_[foot.cell] = none; }
        for (const Edge& edge : edges_) { last_edge_[edge.to] = none; }
        for (const Step& step : steps_) { last_[step.pid] = no_step; }
        accesses_.clear();
        feet_.clear();
        edges_.clear();
        races_.clear();
        stated_.clear();
        clocks_.clear();
        steps_.clear();
        return;
    }
    while (steps_.size() > count) { take_back(static_cast<StepIndex>(steps_.size() - 1)); }
}

void StepGraph::take_back(StepIndex step) {
    const Step& at = steps_[step];
    for (std::size_t i = accesses_.size(); i > at.first_access; --i) { last_access_[feet_[i - 1].cell] = accesses_[i - 1].previous; }
    accesses_.resize(at.first_access);
    feet_.resize(at.first_access);
    for (std::size_t i = edges_.size(); i > at.first_edge; --i) { last_edge_[edges_[i - 1].to] = edges_[i - 1].previous; }
    edges_.resize(at.first_edge);
    races_.resize(at.first_race);
    stated_.resize(at.first_stated);
    last_[at.pid] = at.previous;
    clocks_.resize(static_cast<std::size_t>(step) * width_);
    steps_.pop_back();
}

void StepGraph::begin(Pid pid) {
    HEDDLE_ASSERT(!open_, "SG3: one step at a time");
    open_ = true;
    Step step;
    step.pid = pid;
    step.previous = last_[pid];
    step.ordinal = step.previous == no_step ? 1 : steps_[step.previous].ordinal + 1;
    step.first_access = static_cast<std::uint32_t>(accesses_.size());
    step.first_stated = static_cast<std::uint32_t>(stated_.size());
    step.first_edge = static_cast<std::uint32_t>(edges_.size());
    step.first_race = static_cast<std::uint32_t>(races_.size());
    last_[pid] = static_cast<StepIndex>(steps_.size());
    if (!steps_.empty()) {
        step.chained = steps_.back().chained;
        step.first_at = steps_.back().first_at;
        step.at = steps_.back().at;
    }
    steps_.push_back(step);
    clocks_.resize(clocks_.size() + width_, 0);
    own_.clear();
    chained_ = no_step;
    follows_all_ = false;
    digest_of_answers_ = 0;
}

void StepGraph::at(Instant instant) {
    HEDDLE_ASSERT(open_ && steps_.back().at <= instant, "SG6");
    if (steps_.back().at == instant) { return; }
    steps_.back().at = instant;
    steps_.back().first_at = static_cast<StepIndex>(steps_.size() - 1);
}

void StepGraph::chain() {
    HEDDLE_ASSERT(open_, "SG3: something happens in a step");
    const auto self = static_cast<StepIndex>(steps_.size() - 1);
    if (steps_.back().chained != no_step && steps_.back().chained != self) { chained_ = steps_.back().chained; }
    steps_.back().chained = self;
}

void StepGraph::touch_number(std::uint32_t cell, TouchMode mode) {
    HEDDLE_ASSERT(open_, "SG3: a footprint belongs to a step");
    const std::uint32_t first = steps_.back().first_access;
    const bool orders = is_order(mode);
    for (std::size_t i = feet_.size(); i > first; --i) {
        Foot& known = feet_[i - 1];
        if (known.cell != cell || is_order(known.mode) != orders) { continue; }
        if (known.mode == mode) { return; }
        if (orders) { continue; }
        known.mode = TouchMode::write;  // two modes together conflict with everything
        return;
    }
    const std::uint32_t before = last_access_[cell];
    const std::uint32_t unlike = before == none || feet_[before].mode != mode ? before : accesses_[before].unlike;
    accesses_.push_back({static_cast<StepIndex>(steps_.size() - 1), before, unlike});
    last_access_[cell] = static_cast<std::uint32_t>(feet_.size());
    feet_.push_back({cell, mode});
    steps_.back().cells |= Footprint::bit(cell);
}

void StepGraph::state(Cell cell, TouchMode mode) {
    HEDDLE_ASSERT(open_, "SG3: a statement belongs to a step");
    Step& step = steps_.back();
    step.is_stated = true;
    stated_.push_back({cell_number(cell), mode});
    ++step.stated_count;
}

void StepGraph::enable(Pid target) {
    HEDDLE_ASSERT(open_, "SG3: something happens in a step");
    if (target == steps_.back().pid) { return; }  // program order
    edges_.push_back({static_cast<StepIndex>(steps_.size() - 1), target, last_edge_[target]});
    last_edge_[target] = static_cast<std::uint32_t>(edges_.size() - 1);
}

/// What made the open step possible, and which earlier steps it conflicts with: nearest ones only, what they follow is in their clocks.
void StepGraph::find_predecessors() {
    const auto self = static_cast<StepIndex>(steps_.size() - 1);
    const Step& step = steps_[self];
    enabling_.clear();
    conflicting_.clear();
    for (std::uint32_t at = last_edge_[step.pid]; at != none; at = edges_[at].previous) {
        // Older edges made an earlier step of this process possible.
        if (step.previous != no_step && edges_[at].from < step.previous) { break; }
        if (edges_[at].from != self) { enabling_.push_back(edges_[at].from); }
    }
    for (std::size_t i = step.first_access; i < feet_.size(); ++i) {
        const Foot& foot = feet_[i];
        if (foot.mode == TouchMode::give) { continue; }
        for (std::uint32_t at = accesses_[i].previous, next = none; at != none; at = next) {
            next = accesses_[at].previous;
            if (feet_[at].mode == foot.mode && !is_order(foot.mode) && foot.mode != TouchMode::write) {
                next = accesses_[at].unlike;  // a loop that reads a cell would make the next step as slow as it is long
                continue;
            }
            const StepIndex other = accesses_[at].step;
            if (other == self) { continue; }
            if (foot.mode == TouchMode::take && steps_[other].pid == step.pid) { break; }  // what came before, it took then
            const TouchMode mode = feet_[at].mode;
            if (foot.mode == TouchMode::take) {
                if (mode == TouchMode::give) { enabling_.push_back(other); }
                continue;
            }
            if (conflicts(foot.mode, mode)) { conflicting_.push_back(other); }
            if (mode == TouchMode::write) { break; }  // everything older happens before it
        }
    }
    if (conflicting_.size() > 1) {
        std::ranges::sort(conflicting_, std::greater<>());
        conflicting_.erase(std::unique(conflicting_.begin(), conflicting_.end()), conflicting_.end());
    }
}

void StepGraph::join(StepIndex step) {
    std::uint32_t* into = clocks_.data() + (steps_.size() - 1) * width_;
    const std::uint32_t* from = clocks_.data() + static_cast<std::size_t>(step) * width_;
    for (std::uint32_t i = 0; i < pid_count(); ++i) { into[i] = std::max(into[i], from[i]); }
}

/// All steps before the first one of its instant: of each process, the last of them stands for those before it.
void StepGraph::join_earlier_instants(const Step& step) {
    if (step.first_at == 0) { return; }
    std::uint32_t* into = clocks_.data() + (steps_.size() - 1) * width_;
    for (Pid pid = 0; pid < pid_count(); ++pid) {
        StepIndex last = last_[pid];
        while (last != no_step && last >= step.first_at) { last = steps_[last].previous; }
        if (last != no_step) { into[pid] = std::max(into[pid], steps_[last].ordinal); }
    }
}

void StepGraph::end() {
    HEDDLE_ASSERT(open_, "SG3: no step is open");
    const auto self = static_cast<StepIndex>(steps_.size() - 1);
    find_predecessors();
    Step& step = steps_[self];
    if (step.previous != no_step) { join(step.previous); }
    for (Pid pid = 0; follows_all_ && pid < pid_count(); ++pid) {
        if (last_[pid] != no_step && last_[pid] != self) { join(last_[pid]); }
    }
    join_earlier_instants(step);
    if (chained_ != no_step) { join(chained_); }
    for (const StepIndex from : enabling_) {
        join(from);
        step.enabler = step.enabler == no_step ? from : std::max(step.enabler, from);
    }
    for (const StepIndex earlier : conflicting_) {  // from latest to earliest: a later one may cover an earlier one
        const Step& other = steps_[earlier];
        if (other.ordinal <= clock(self, other.pid)) { continue; }
        if (other.pid != step.pid) { races_.push_back({earlier, self}); }
        join(earlier);
    }
    clocks_[static_cast<std::size_t>(self) * width_ + step.pid] = step.ordinal;
    step.access_count = static_cast<std::uint32_t>(feet_.size()) - step.first_access;
    std::uint64_t past = 0;
    for (Pid pid = 0; pid < pid_count(); ++pid) {
        const std::uint32_t count = clock(self, pid);
        if (count != 0) { past += hash_mix(labels_[pid].value, count); }
    }
    step.digest = (self == 0 ? 0 : steps_[self - 1].digest) +
                  hash_mix(hash_mix(labels_[step.pid].value, step.ordinal), past + digest_of_answers_);
    if (step.is_stated) {
        check_statement();
        for (std::size_t i = step.first_access; i < feet_.size(); ++i) {
            const auto statement = std::span(stated_).subspan(step.first_stated);
            if (std::ranges::find(statement, feet_[i]) == statement.end()) { stated_.push_back(feet_[i]); }
        }
        for (const Foot& foot : std::span(stated_).subspan(step.first_stated)) { step.stated_cells |= Footprint::bit(foot.cell); }
        step.stated_count = static_cast<std::uint32_t>(stated_.size()) - step.first_stated;
    }
    open_ = false;
}

void StepGraph::check_statement() const {
    const Step& step = steps_.back();
    const auto statement = std::span(stated_).subspan(step.first_stated, step.stated_count);
    for (std::size_t i = step.first_access; i < feet_.size(); ++i) {
        const Foot& foot = feet_[i];
        const bool commutes = foot.mode != TouchMode::read && foot.mode != TouchMode::write;
        const bool is_own = std::ranges::find(own_, foot.cell) != own_.end();
        const bool is_stated = std::ranges::any_of(statement, [&](const Foot& at) {
            return at.cell == foot.cell && (at.mode == foot.mode || at.mode == TouchMode::write);
        });
        HEDDLE_ASSERT(commutes || is_own || is_stated, "SG5: a step touches only what it stated");
    }
}

std::span<const Race> StepGraph::races_from(StepIndex from) const {
    const std::size_t first = from >= steps_.size() ? races_.size() : steps_[from].first_race;
    return std::span(races_).subspan(first);
}

}  // namespace heddle::sim
