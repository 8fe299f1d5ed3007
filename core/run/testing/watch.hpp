// SPDX-License-Identifier: Apache-2.0
// Watch: an observer that looks into the scheduler after every step and fails the test where its books do not balance.
//
//   event ──▶ what may follow what (one start, one end, no nested tick …)
//   step_end, quiescent ──▶ walk of registry, ready queue, scopes and contexts: INV-SCHED-01 to 04, 11, 12, 22 to 24
//
// It asserts; a wrong book ends the test program with the invariant's number.
#pragma once

#include <map>
#include <vector>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle::testing {

class Watch final : public Observer {
public:
    void attach(const Scheduler& scheduler) { scheduler_ = &scheduler; }

    void on_event(const Event& event) override {
        if (scheduler_ == nullptr) { return; }
        follow(event);
        if (event.kind == EventKind::step_end || event.kind == EventKind::quiescent) { look(); }
        if (event.kind == EventKind::run_ended) { end(); }
    }

    [[nodiscard]] std::uint64_t looks() const { return looks_; }

private:
    struct Life {
        bool spawned_in_second_phase = false;
        bool started = false;
        bool doomed = false;
        bool finished = false;
        bool finalized = false;
    };

    void follow(const Event& event) {
        Life& life = lives_[event.who];
        switch (event.kind) {
            case EventKind::spawned: life.spawned_in_second_phase = second_phase_; break;
            case EventKind::started:
                HEDDLE_ASSERT(!life.started && !life.doomed, "INV-SCHED-05");
                // What stood unstarted when the second phase began was doomed by its sweep, finally runners excepted.
                HEDDLE_ASSERT(!second_phase_ || life.spawned_in_second_phase || scheduler_->current()->is_internal(),
                              "INV-SHUT-06");
                life.started = true;
                break;
            case EventKind::doomed: life.doomed = true; break;
            case EventKind::finished:
                HEDDLE_ASSERT(!life.finished, "INV-SCHED-09");
                life.finished = true;
                break;
            case EventKind::finalized:
                HEDDLE_ASSERT(life.finished && !life.finalized, "INV-SCHED-09");
                life.finalized = true;
                break;
            case EventKind::tick_begin:
                HEDDLE_ASSERT(!in_tick_, "INV-RCT-05");
                in_tick_ = true;
                if (event.a == 1) {
                    HEDDLE_ASSERT(scheduler_->ready_queue().empty() && !scheduler_->has_microtasks(), "INV-SCHED-13");
                    HEDDLE_ASSERT(!second_phase_, "INV-SHUT-06");
                }
                break;
            case EventKind::tick_end: in_tick_ = false; break;
            case EventKind::heartbeat: HEDDLE_ASSERT(!in_tick_, "INV-TASK-05"); break;
            case EventKind::shutdown_begun:
                HEDDLE_ASSERT(!shutdown_, "INV-SHUT-01");
                shutdown_ = true;
                break;
            case EventKind::second_phase:
                HEDDLE_ASSERT(shutdown_ && !second_phase_, "INV-SHUT-06");
                second_phase_ = true;
                break;
            case EventKind::step_end:
                if (!on_stack_ || on_stack_ != event.who) { break; }
                // Handlers that left during the step ended the interval with it.
                HEDDLE_ASSERT(!scheduler_->current()->has_switch_handlers(), "INV-SW-02");
                on_stack_ = {};
                break;
            case EventKind::context_pooled: {
                const RuntimeStatistics now = scheduler_->statistics();
                HEDDLE_ASSERT(now.pooled_contexts <= 4 || now.pooled_contexts <= now.ready, "INV-SCHED-24");
                break;
            }
            case EventKind::handler_enter:
                if (event.a > 0) { break; }
                HEDDLE_ASSERT(!on_stack_ || on_stack_ == event.who, "INV-SW-02");
                on_stack_ = event.who;
                break;
            case EventKind::handler_leave:
            case EventKind::handler_finish:
                if (on_stack_ == event.who) { on_stack_ = {}; }
                break;
            default: break;
        }
    }

    void look() {
        ++looks_;
        const Scheduler& s = *scheduler_;
        std::size_t active = 0;
        std::size_t registered = 0;
        std::size_t queued = 0;
        std::size_t hosted = 0;
        std::size_t running = 0;
        CoroutineId last{};
        for (const CoroutineCore* c = s.registry().front(); c != nullptr; c = s.registry().next(*c)) {
            ++registered;
            active += c->is_zombie() ? 0 : 1;
            HEDDLE_ASSERT(c->id() > last, "INV-SCHED-11");
            last = c->id();
            HEDDLE_ASSERT(!c->is_internal() || c->scope() != nullptr, "INV-SCOPE-02");
            const std::size_t places = places_in_ready(*c);
            HEDDLE_ASSERT(places == (c->waker().in_queue() ? 1U : 0U), "INV-SCHED-02");
            queued += places;
            if (c->is_completed()) { continue; }  // inside its own finalization
            const CoroutineState state = c->state();
            const bool main = s.registry().front() == c && c->id() == main_id();
            const bool started =
                state == CoroutineState::running || state == CoroutineState::waiting || state == CoroutineState::ready;
            HEDDLE_ASSERT(started == c->is_started(), "INV-SCHED-01");
            HEDDLE_ASSERT(started ? main || c->context() != nullptr : c->context() == nullptr, "INV-SCHED-01");
            HEDDLE_ASSERT(c->context() == nullptr || c->context()->hosted == c, "INV-SCHED-22");
            hosted += c->context() != nullptr ? 1 : 0;
            if (state == CoroutineState::running) {
                ++running;
                HEDDLE_ASSERT(c == s.current(), "INV-SCHED-04");
            }
        }
        HEDDLE_ASSERT(running <= 1, "INV-SCHED-04");
        const RuntimeStatistics now = s.statistics();
        HEDDLE_ASSERT(queued == s.ready_queue().size(), "INV-SCHED-02");
        HEDDLE_ASSERT(registered == now.registered, "INV-SCHED-11");
        HEDDLE_ASSERT(active == s.active_count(), "INV-SCHED-12");
        std::size_t active_in_scopes = 0;
        for (const ScopeCore* scope : s.root_scopes()) { active_in_scopes += count(*scope); }
        HEDDLE_ASSERT(active_in_scopes == active, "INV-SCHED-12");
        for (std::size_t i = 0; i < now.pooled_contexts; ++i) {
            HEDDLE_ASSERT(s.pooled_context(i)->hosted == nullptr, "INV-SCHED-22");
        }
        const std::size_t known = hosted + now.pooled_contexts + 1;
        HEDDLE_ASSERT(now.live_contexts == known || now.live_contexts == known + 1, "INV-SCHED-23");
    }

    static std::size_t count(const ScopeCore& scope) {
        std::size_t active = 0;
        std::size_t zombies = 0;
        for (const CoroutineCore* c = scope.members().front(); c != nullptr; c = scope.members().next(*c)) {
            ++(c->is_zombie() ? zombies : active);
            HEDDLE_ASSERT(c->scope() == &scope, "INV-SCOPE-02");
        }
        HEDDLE_ASSERT(active == scope.active() && zombies == scope.zombies(), "INV-SCOPE-01");
        for (const ScopeCore* child = scope.children().front(); child != nullptr;
             child = scope.children().next(*child)) {
            HEDDLE_ASSERT(child->parent() == &scope, "INV-SCOPE-03");
            active += count(*child);
        }
        return active;
    }

    [[nodiscard]] std::size_t places_in_ready(const CoroutineCore& coroutine) const {
        std::size_t places = 0;
        const auto& ready = scheduler_->ready_queue();
        for (std::size_t i = 0; i < ready.size(); ++i) { places += ready[i] == &coroutine ? 1 : 0; }
        return places;
    }

    /// The main coroutine is the first one of a run.
    [[nodiscard]] CoroutineId main_id() const {
        const CoroutineCore* first = scheduler_->registry().front();
        return first != nullptr && first->context() == nullptr && first->is_started() ? first->id() : CoroutineId{};
    }

    void end() {
        const RuntimeStatistics now = scheduler_->statistics();
        HEDDLE_ASSERT(now.registered == 0 && now.active == 0 && now.ready == 0 && now.microtasks == 0, "INV-SHUT-05");
        HEDDLE_ASSERT(now.pooled_contexts == 0 && now.live_contexts == 0, "INV-SHUT-05");
        for (const auto& [who, life] : lives_) {
            HEDDLE_ASSERT(life.finalized || !(life.started || life.doomed || life.finished), "INV-SCHED-09");
        }
        lives_.clear();
        shutdown_ = second_phase_ = false;
    }

    const Scheduler* scheduler_ = nullptr;
    std::map<Label, Life> lives_;
    Label on_stack_;
    std::uint64_t looks_ = 0;
    bool in_tick_ = false;
    bool shutdown_ = false;
    bool second_phase_ = false;
};

}  // namespace heddle::testing
