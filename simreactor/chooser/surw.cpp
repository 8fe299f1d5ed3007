// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/chooser/surw.hpp"

#include <algorithm>
#include <utility>

namespace heddle::sim {

// ── profile ──

void SurwChooser::finish(bool cut) {
    settle();
    if (!counts_) { return; }
    // A run that was cut has not shown all; where every run is, its part has to do.
    if (cut && (profiled_ || ++cut_profiles_ < cut_profiles_max)) { return; }
    for (Use& use : uses_) { use.accesses = use.in_run; }
    profiled_ = true;
    find_targets();
}

void SurwChooser::find_targets() {
    struct Users {
        std::uint32_t processes = 0;
        std::uint64_t accesses = 0;
        TouchMode mode = TouchMode::read;
        bool conflicting = false;  // two of them do not commute
    };
    std::vector<Users> users(cell_count());
    for (const Use& use : uses_) {
        if (use.accesses == 0) { continue; }
        Users& at = users[use.cell];
        if (at.processes++ > 0 && conflicts(at.mode, use.mode)) { at.conflicting = true; }
        at.mode = at.processes == 1 || at.mode == use.mode ? use.mode : TouchMode::write;
        at.accesses += use.accesses;
    }
    targets_.clear();
    targets_weight_ = 0;
    for (const std::uint32_t least : {std::max(2U, process_count() / 2), 2U}) {
        for (std::uint32_t cell = 0; cell < users.size(); ++cell) {
            if (users[cell].processes < least || !users[cell].conflicting) { continue; }
            targets_.push_back({cell, users[cell].accesses});
            targets_weight_ += users[cell].accesses;
        }
        if (!targets_.empty()) { break; }
    }
}

// ── one run ──

void SurwChooser::begin(std::uint64_t seed) {
    begin_run();
    priorities_.begin(Prng{seed}.stream("selectively uniform"));
    target_ = no_cell;
    drawn_ = nobody;
    counts_ = !profiled_ || ++since_profile_ == options_.profile_every;
    if (counts_) {
        since_profile_ = 0;
        for (Use& use : uses_) { use.in_run = 0; }
    }
    if (is_profiling() || targets_.empty()) { return; }
    std::uint64_t at = priorities_.prng().below(targets_weight_);
    for (const Target& target : targets_) {
        if (at < target.accesses) {
            target_ = target.cell;
            break;
        }
        at -= target.accesses;
    }
    weigh();
}

/// Everything belongs to the process that everything descends from.
void SurwChooser::weigh() {
    shares_.assign(process_count(), {});
    for (const Use& use : uses_) {
        if (use.cell == target_) { shares_[use.process].own = use.accesses; }
    }
    // Children have larger numbers than their parents only if they were met in that order; so every one tells all its ancestors.
    parents_.resize(process_count(), nobody);
    for (Process process = 0; process < process_count(); ++process) {
        const std::uint64_t own = shares_[process].own;
        if (own == 0) { continue; }
        std::uint32_t generations = 0;
        for (Process above = parents_[process]; above != nobody && generations < process_count(); above = parents_[above]) {
            shares_[above].kids += own;
            ++generations;
        }
    }
}

void SurwChooser::born(Process child, Process parent) {
    if (counts_) {
        parents_.resize(std::max<std::size_t>(parents_.size(), process_count()), nobody);
        if (child != parent) { parents_[child] = parent; }
    }
    if (target_ == no_cell || parent == nobody || child >= shares_.size() || parent >= shares_.size()) { return; }
    Share& above = shares_[parent];
    const std::uint64_t total = weight(parent);
    const std::uint64_t share = std::min(weight(child), above.kids);
    above.kids -= share;
    // What was drawn for the family goes to one of its members.
    if (drawn_ == parent && share > 0 && priorities_.prng().below(total) < share) { drawn_ = child; }
}

void SurwChooser::ended(Process process) {
    if (target_ == no_cell || process >= shares_.size()) { return; }
    shares_[process] = {};
    if (drawn_ == process) { draw(); }
}

void SurwChooser::step_over(Process process, std::span<const Access> accesses) {
    priorities_.redraw(process);
    // PY1: it may be the drawn one that waits, without being blocked, for one that waits at the target.
    if (priorities_.stepped(process) && target_ != no_cell) { draw(); }
    if (counts_) {
        for (const Access& access : accesses) {
            bool fresh = false;
            const std::uint64_t key = (static_cast<std::uint64_t>(process) << 32) | access.cell;
            const std::uint32_t at = use_index_.at(hash_mix(key, 1), static_cast<std::uint32_t>(uses_.size()), fresh).value;
            if (fresh) { uses_.push_back({process, access.cell, access.mode}); }
            ++uses_[at].in_run;
            if (uses_[at].mode != access.mode) { uses_[at].mode = TouchMode::write; }
        }
    }
    if (target_ == no_cell || process >= shares_.size()) { return; }
    if (std::ranges::none_of(accesses, [this](const Access& access) { return access.cell == target_; })) { return; }
    if (shares_[process].own > 0) { --shares_[process].own; }
    if (drawn_ == process) { draw(); }
}

void SurwChooser::draw() {
    drawn_ = nobody;
    std::uint64_t total = 0;
    for (Process process = 0; process < shares_.size(); ++process) {
        if (is_alive(process)) { total += weight(process); }
    }
    if (total == 0) { return; }
    std::uint64_t at = priorities_.prng().below(total);
    for (Process process = 0; process < shares_.size(); ++process) {
        if (!is_alive(process)) { continue; }
        if (at < weight(process)) {
            drawn_ = process;
            return;
        }
        at -= weight(process);
    }
}

bool SurwChooser::waits(Process process) const {
    if (drawn_ == nobody || process == drawn_) { return false; }
    return std::ranges::any_of(pending(process), [this](const Access& access) { return access.cell == target_; });
}

std::uint32_t SurwChooser::choose(const ChoicePoint& point) {
    if (!is_competition(point)) { return static_cast<std::uint32_t>(priorities_.prng().below(point.count)); }
    settle();
    if (target_ != no_cell && drawn_ == nobody) { draw(); }
    std::uint32_t best = point.count;
    std::uint64_t highest = 0;
    for (std::uint32_t i = 0; i < point.count; ++i) {
        const Process process = process_of(point.candidates[i]);
        if (waits(process)) { continue; }
        const std::uint64_t priority = priorities_.of(process);
        if (priority > highest) {
            highest = priority;
            best = i;
        }
    }
    if (best < point.count) { return best; }
    // SU4: the drawn one is blocked.
    std::uint64_t total = 0;
    for (const Label candidate : point.candidates) { total += std::max<std::uint64_t>(weight(process_of(candidate)), 1); }
    std::uint64_t at = priorities_.prng().below(total);
    for (std::uint32_t i = 0; i < point.count; ++i) {
        const std::uint64_t own = std::max<std::uint64_t>(weight(process_of(point.candidates[i])), 1);
        if (at < own) {
            drawn_ = process_of(point.candidates[i]);
            return i;
        }
        at -= own;
    }
    return 0;
}

}  // namespace heddle::sim
