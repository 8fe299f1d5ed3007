// SPDX-License-Identifier: Apache-2.0
// Deadlock: coroutines are left, and nothing can ever wake them (SCH-54 to SCH-59).
//
//   nothing ready, no microtask, no counted event ──▶ one more non-blocking tick ──▶ woke somebody: false alarm
//                                                            └─▶ DeadlockError becomes the exit exception, everybody is cancelled
//                                                                └─▶ again, and no fewer than before: terminal unwinding
//
// L1  Evaluated in the scheduler coroutine only, on facts of that moment (SCH-42, INV-DEAD-01).
// L2  Every further detection of a run finds fewer coroutines, or the rest is unwound (INV-LIVE-07).
#include <cstdio>

#include "heddle/core/run/scheduler.hpp"

namespace heddle {

std::string Scheduler::deadlock_report() const {
    std::string text = "heddle: deadlock, " + std::to_string(registry_.size()) + " coroutine(s) wait and nothing can wake them\n";
    for (const CoroutineCore* c = registry_.front(); c != nullptr; c = registry_.next(*c)) {
        text += "  " + c->describe();
        if (c->zombie_) { text += " (zombie)"; }
        text += "\n";
        for (const EventSource* event : c->waker_.events()) { text += "    waits for " + event->describe() + "\n"; }
        if (!c->waker_.has_subscriptions() && *c->wait_kind() != '\0') { text += std::string("    waits for ") + c->wait_kind() + "\n"; }
    }
    return text;
}

/// What the program's own objects can do about it: a channel that starves closes (CHAN-42).
bool Scheduler::objects_resolve() {
    std::vector<RuntimeObject*> asked;
    for (RuntimeObject* object = objects_.front(); object != nullptr; object = objects_.next(*object)) { asked.push_back(object); }
    bool resolved = false;
    begin_phase();
    for (RuntimeObject* object : asked) { resolved = object->resolve_deadlock() || resolved; }
    end_phase();
    flush();
    return resolved && (!ready_.empty() || !microtasks_.empty() || reactor_.alive() || pending_);
}

void Scheduler::resolve_deadlock() {
    begin_phase();
    run_tick(TickMode::no_wait);  // pending close and error notifications (SCH-55.2)
    end_phase();
    flush();
    if (!ready_.empty() || !microtasks_.empty() || reactor_.alive() || pending_) {
        seen("deadlock.false_alarm");
        return;
    }
    if (registry_.empty() || objects_resolve()) { return; }
    if (options_.report_deadlocks) { std::fputs(deadlock_report().c_str(), stderr); }
    if (deadlock_seen_ && registry_.size() >= last_deadlock_size_) {
        seen("deadlock.no_progress");
        unwind_deadlocked_ = true;  // SCH-58
        return;
    }
    deadlock_seen_ = true;
    last_deadlock_size_ = registry_.size();
    note(EventKind::deadlock, {}, {}, static_cast<std::int64_t>(registry_.size()));
    exit_ = ErrorValue::make<DeadlockError>(registry_.size()).with_previous(exit_);
    sweep(ErrorValue::make<AsyncCancellation>("deadlock"));
}

}  // namespace heddle
