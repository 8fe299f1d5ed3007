// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/oracle/judge.hpp"

namespace heddle::prop {

void Judge::begin(sim::World& world) {
    world_ = &world;
    nodes_left_ = world.node_count();
    steps_skipped_ = 0;
    judging_ = true;
    reset();
}

void Judge::on_event(const Event& event) {
    if (!judging_) { return; }
    follow(event);
    const Scheduler* running = scheduler();
    if (event.kind == EventKind::run_ended) {
        if (running != nullptr) { ended(*running); }
        judging_ = --nodes_left_ > 0;  // J3
        return;
    }
    if (running == nullptr || (event.kind != EventKind::step_end && event.kind != EventKind::quiescent)) { return; }
    if (event.kind == EventKind::quiescent) { settled(*running); }
    ++steps_skipped_;
    if (steps_skipped_ * everyone < running->registry().size()) { return; }  // J2
    const bool neighbours = steps_skipped_ == 1;
    steps_skipped_ = 0;
    look(*running, event, neighbours);
}

std::string Judge::name(Label label) const {
    if (!label) { return "?"; }
    return world_->labels().text(label);
}

void Judge::fail(std::string_view invariant, const std::string& message) const {
    report_violation({std::string(invariant), message, __FILE__, __LINE__});
}

}  // namespace heddle::prop
