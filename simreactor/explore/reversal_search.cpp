// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/reversal_search.hpp"

#include <utility>

namespace heddle::sim {

Chooser* Reversals::next() {
    if (plans_.empty()) { return nullptr; }
    plan_ = std::move(plans_.front());
    plans_.pop_front();
    next_process_ = 0;
    follows_ = true;
    dispatched_ = false;
    asked_.clear();
    steps_ = 0;
    return this;
}

std::uint32_t Reversals::choose(const ChoicePoint& point) {
    const std::size_t position = asked_.size();
    std::uint32_t answer = 0;
    const bool dispatch = point.kind == ChoiceKind::dispatch;
    if (position < plan_.answers.size()) {
        answer = plan_.answers[position] < point.count ? plan_.answers[position] : 0;
    } else if (dispatch && follows_ && next_process_ < plan_.processes.size()) {
        follows_ = false;
        for (std::uint32_t i = 0; i < point.count; ++i) {
            if (point.candidates[i] == plan_.processes[next_process_]) {
                answer = i;
                follows_ = true;
                break;
            }
        }
        ++next_process_;
    }
    dispatched_ = dispatched_ || dispatch;
    asked_.push_back({point.count, answer, dispatch, steps_});
    return answer;
}

void Reversals::on_event(const Event& event) {
    if (event.kind != EventKind::step_begin || event.a != 0) { return; }
    const std::uint32_t step = steps_++;
    if (std::exchange(dispatched_, false) || step < plan_.first_step) { return; }
    // A step that nobody was asked about is the next of the plan, or the plan is over.
    if (!follows_ || next_process_ >= plan_.processes.size()) { return; }
    follows_ = plan_.processes[next_process_++] == event.who;
}

void Reversals::finish(const RunEnd& end) {
    if (!end.extend || end.watch == nullptr || !seen_.insert(end.watch->key()).second) { return; }
    if (plan_.reversals == reversals_max_) { return; }
    const auto answers_before = [&](std::size_t position) {
        std::vector<std::uint32_t> answers;
        for (std::size_t i = 0; i < position; ++i) { answers.push_back(asked_[i].answer); }
        return answers;
    };
    for (std::size_t i = plan_.answers.size(); i < asked_.size(); ++i) {
        if (asked_[i].dispatch) { continue; }
        for (std::uint32_t answer = 0; answer < asked_[i].count; ++answer) {
            if (answer == asked_[i].answer) { continue; }
            Plan plan{answers_before(i), {}, plan_.reversals + 1, 0};
            plan.answers.push_back(answer);
            plans_.push_back(std::move(plan));
        }
    }
    const StepGraph& graph = end.watch->graph();
    for (const Race& race : graph.races_from(0)) {
        // The question that chose the first step of the race; where there was none, nobody else could run.
        std::size_t position = 0;
        while (position < asked_.size() && (!asked_[position].dispatch || asked_[position].steps < race.first)) { ++position; }
        if (position == asked_.size() || asked_[position].steps != race.first) { continue; }
        Plan plan{answers_before(position), {}, plan_.reversals + 1, race.first};
        for (StepIndex step = race.first + 1; step < race.second; ++step) {
            if (!graph.happens_before(race.first, step)) { plan.processes.push_back(graph.label_of(graph.pid(step))); }
        }
        plan.processes.push_back(graph.label_of(graph.pid(race.second)));
        plans_.push_back(std::move(plan));
    }
}

}  // namespace heddle::sim
