// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/chooser/lookahead.hpp"

#include <algorithm>
#include <utility>

namespace heddle::sim {
namespace {

constexpr Cell ready_tail = cell(Label{hash_text("loop")}, "ready-tail");
constexpr Cell ready_head = cell(Label{hash_text("loop")}, "ready-head");

/// Longer histories cost memory, and what comes so late depends on everything before it.
constexpr std::uint32_t history_max = 4096;

}  // namespace

bool is_competition(const ChoicePoint& point) {
    if (point.candidates.size() != point.count) { return false; }
    switch (point.kind) {
        case ChoiceKind::dispatch:
        case ChoiceKind::ready:
        case ChoiceKind::timer:
        case ChoiceKind::pool:
        case ChoiceKind::close:
        case ChoiceKind::node: return true;
        default: return false;
    }
}

bool conflict(std::span<const Lookahead::Access> a, std::span<const Lookahead::Access> b) {
    for (const Lookahead::Access& one : a) {
        for (const Lookahead::Access& other : b) {
            if (one.cell == other.cell && conflicts(one.mode, other.mode)) { return true; }
        }
    }
    return false;
}

Lookahead::Process Lookahead::process_of(Label label) {
    bool fresh = false;
    const Process process = index_.at(label.value, process_count(), fresh).value;
    if (fresh) { processes_.emplace_back(); }
    return process;
}

std::uint32_t Lookahead::number_of(Cell cell) {
    bool fresh = false;
    const std::uint32_t number = cell_index_.at(cell.value, cell_count(), fresh).value;
    if (fresh) { cells_.push_back(CellUse::data); }
    return number;
}

void Lookahead::begin_run() {
    running_ = nobody;
    touched_.clear();
    foreseen_.clear();
    foreseen_known_ = was_foreseen_ = false;
    for (Known& known : processes_) {
        known.steps = 0;
        known.alive = known.foreseen = false;
        expect(known);
    }
}

void Lookahead::expect(Known& known) const {
    if (known.steps < known.history.size()) {
        known.pending = known.history[known.steps];
    } else {
        known.pending.clear();
    }
}

void Lookahead::settle() {
    if (running_ == nobody) { return; }
    const Process process = std::exchange(running_, nobody);
    Known& known = processes_[process];
    if (!was_foreseen_ && known.steps <= history_max) {
        if (known.history.size() < known.steps) { known.history.resize(known.steps); }
        std::vector<Access>& memory = known.history[known.steps - 1];
        if (memory != touched_) { memory = touched_; }
    }
    if (foreseen_known_) {
        known.pending.swap(foreseen_);
    } else {
        expect(known);
    }
    foreseen_.clear();
    known.foreseen = std::exchange(foreseen_known_, false);
    step_over(process, touched_);
}

void Lookahead::on_event(const Event& event) {
    switch (event.kind) {
        case EventKind::step_begin: {
            settle();
            const Process process = process_of(event.who);
            Known& known = processes_[process];
            running_ = process;
            ++known.steps;
            known.alive = true;
            was_foreseen_ = known.foreseen;
            touched_.clear();
            if (was_foreseen_) { touched_ = known.pending; }
            break;
        }
        case EventKind::spawned: {
            const Process child = process_of(event.who);
            processes_[child].alive = true;
            born(child, running_);
            break;
        }
        case EventKind::finished: {
            const Process process = process_of(event.who);
            processes_[process].alive = false;
            ended(process);
            break;
        }
        default: break;
    }
}

void Lookahead::on_touch(Cell cell, TouchMode mode) {
    if (running_ == nobody || was_foreseen_ || is_order(mode) || cell == ready_tail || cell == ready_head) { return; }
    const Access access{number_of(cell), mode};
    for (Access& known : touched_) {
        if (known.cell != access.cell) { continue; }
        if (known.mode != mode) { known.mode = TouchMode::write; }
        return;
    }
    touched_.push_back(access);
}

void Lookahead::foresee(Cell cell, TouchMode mode, CellUse use) {
    const std::uint32_t number = number_of(cell);
    cells_[number] = use;
    foreseen_.push_back({number, mode});
    foreseen_known_ = true;
}

}  // namespace heddle::sim
