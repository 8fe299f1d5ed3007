// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/trace_watch.hpp"

namespace heddle::sim {
namespace {

constexpr Cell ready_tail = cell(Label{hash_text("loop")}, "ready-tail");
constexpr Cell ready_head = cell(Label{hash_text("loop")}, "ready-head");

}  // namespace

void TraceWatch::begin(Chooser& decides) {
    close();
    graph_.truncate(0);
    decides_ = &decides;
    answers_ = 0;
    reactor_seen_ = false;
}

void TraceWatch::close() {
    if (graph_.is_open()) { graph_.end(); }
}

void TraceWatch::finish() { close(); }

std::uint32_t TraceWatch::choose(const ChoicePoint& point) {
    const std::uint32_t answer = decides_->choose(point);
    answers_ = hash_mix(answers_, (static_cast<std::uint64_t>(point.count) << 32) | answer);
    if (point.kind == ChoiceKind::dispatch) { return answer; }
    if (point.kind != ChoiceKind::value) { reactor_seen_ = true; }
    if (graph_.is_open()) { graph_.answer(answer); }
    return answer;
}

void TraceWatch::on_event(const Event& event) {
    switch (event.kind) {
        case EventKind::step_begin:
            if (event.a != 0) { break; }  // a delivery: part of the step before it
            close();
            graph_.begin(graph_.pid_of(event.who));
            break;
        case EventKind::spawned:
        case EventKind::woken:
            if (graph_.is_open()) { graph_.enable(graph_.pid_of(event.who)); }
            break;
        case EventKind::delivered: reactor_seen_ = true; break;
        default: break;
    }
}

void TraceWatch::on_touch(Cell cell, TouchMode mode) {
    if (!graph_.is_open() || cell == ready_tail || cell == ready_head) { return; }
    graph_.touch(cell, mode);
}

}  // namespace heddle::sim
