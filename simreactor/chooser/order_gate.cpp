// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/chooser/order_gate.hpp"

namespace heddle::sim {

OrderGate::OrderGate(Plan plan) : plan_(std::move(plan)) { begin(); }

void OrderGate::begin() {
    counts_.clear();
    for (const Order& order : plan_.orders) {
        for (const Anchor& anchor : {order.before, order.after}) { counts_.try_emplace({anchor.who.value, anchor.cell.value}); }
    }
    steps_.clear();
    ended_.clear();
    states_.assign(plan_.orders.size(), {});
    answered_.assign(plan_.values.size(), false);
    running_ = {};
    learned_ = false;
}

std::uint32_t OrderGate::choose(const ChoicePoint& point) {
    if (point.kind == ChoiceKind::dispatch) {
        for (std::uint32_t i = 0; i < point.candidates.size(); ++i) {
            if (!is_held(point.candidates[i])) { return i; }
        }
        return 0;
    }
    for (std::size_t i = 0; i < plan_.values.size(); ++i) {
        const Value& value = plan_.values[i];
        if (value.kind == point.kind && value.at == point.at && value.choose < point.count) {
            answered_[i] = true;
            return value.choose;
        }
    }
    return 0;
}

bool OrderGate::is_held(Label who) {
    const auto begun = steps_.find(who.value);
    const std::uint32_t next = (begun == steps_.end() ? 0 : begun->second) + 1;
    for (std::size_t i = 0; i < plan_.orders.size(); ++i) {
        const Order& order = plan_.orders[i];
        State& state = states_[i];
        const bool waits = order.after.who == who && !state.before && !state.after && can_come(order.before);
        if (waits && state.held < patience && holds_.contains({i, next})) {
            ++state.held;
            return true;
        }
    }
    return false;
}

void OrderGate::on_event(const Event& event) {
    switch (event.kind) {
        case EventKind::step_begin:
            if (event.a != 0) { break; }  // a delivery: part of the step before it
            running_ = event.who;
            ++steps_[event.who.value];
            break;
        case EventKind::finished: ended_.insert(event.who.value); break;
        default: break;
    }
}

void OrderGate::on_touch(Cell cell, TouchMode mode) {
    if (is_order(mode)) { return; }
    const auto found = counts_.find({running_.value, cell.value});
    if (found == counts_.end()) { return; }
    Count& count = found->second;
    const std::uint32_t ordinal = steps_[running_.value];
    if (count.newest == ordinal) { return; }  // the same step once more
    count.newest = ordinal;
    happened({running_, cell, ++count.steps});
}

void OrderGate::happened(const Anchor& anchor) {
    for (std::size_t i = 0; i < plan_.orders.size(); ++i) {
        const Order& order = plan_.orders[i];
        State& state = states_[i];
        if (order.after == anchor && !state.after) {
            state.after = true;
            state.kept = state.before;
            if (!state.before && can_come(order.before)) { learned_ = holds_.emplace(i, steps_[running_.value]).second || learned_; }
        }
        if (order.before == anchor) { state.before = true; }
    }
}

std::vector<std::size_t> OrderGate::unmet_orders() const {
    std::vector<std::size_t> unmet;
    for (std::size_t i = 0; i < states_.size(); ++i) {
        if (!states_[i].kept) { unmet.push_back(i); }
    }
    return unmet;
}

std::vector<std::size_t> OrderGate::unmet_values() const {
    std::vector<std::size_t> unmet;
    for (std::size_t i = 0; i < answered_.size(); ++i) {
        if (!answered_[i]) { unmet.push_back(i); }
    }
    return unmet;
}

}  // namespace heddle::sim
