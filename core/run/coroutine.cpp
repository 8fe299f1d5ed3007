// SPDX-License-Identifier: Apache-2.0
// Birth, predicates and handles of coroutines; SCH-6 to SCH-18.
#include "heddle/core/run/coroutine.hpp"

#include <algorithm>

#include "heddle/core/run/scheduler.hpp"

namespace heddle {

std::string_view to_string(CoroutineState state) {
    switch (state) {
        case CoroutineState::created: return "created";
        case CoroutineState::ready_new: return "ready_new";
        case CoroutineState::doomed: return "doomed";
        case CoroutineState::running: return "running";
        case CoroutineState::waiting: return "waiting";
        case CoroutineState::ready: return "ready";
        case CoroutineState::finished: return "finished";
    }
    return "?";
}

CoroutineCore::CoroutineCore(Scheduler& scheduler)
    : EventSource(scheduler), id_{++scheduler.last_coroutine_id_}, waker_(*this) {}

CoroutineCore::~CoroutineCore() {
    HEDDLE_ASSERT(!waker_.in_queue() && !registered_, "INV-SCHED-03");
    HEDDLE_ASSERT(context_ == nullptr, "SCH-88");
}

CoroutineState CoroutineCore::state() const {
    if (finished_) { return CoroutineState::finished; }
    switch (waker_.status()) {
        case WakerStatus::ignored: return CoroutineState::doomed;
        case WakerStatus::queued: return started_ ? CoroutineState::ready : CoroutineState::ready_new;
        case WakerStatus::waiting: return CoroutineState::waiting;
        case WakerStatus::none:
        case WakerStatus::result: break;
    }
    return started_ ? CoroutineState::running : CoroutineState::created;
}

bool CoroutineCore::is_running() const { return !finished_ && started_ && scheduler().current() == this; }
bool CoroutineCore::is_suspended() const { return started_ && !finished_ && scheduler().current() != this; }

bool CoroutineCore::replay(Outcome& outcome) const {
    if (!finished_) { return false; }
    outcome = {0, false, error_};
    return true;
}

std::string CoroutineCore::title() const {
    if (const LabelBook* book = scheduler().labels(); book != nullptr && label_) { return book->text(label_); }
    return std::string(name()) + "#" + std::to_string(id_.value);
}

std::string CoroutineCore::describe() const {
    std::string text = "coroutine " + title() + " spawned at " + spawn_file_ + ":" + std::to_string(spawn_line_);
    if (is_suspended() && suspend_file() != nullptr) {
        text += ", suspended at " + std::string(suspend_file()) + ":" + std::to_string(suspend_line());
    }
    return text;
}

void CoroutineCore::drop_handle() {
    HEDDLE_ASSERT(handles_ > 0, "a handle is released once");
    // Nobody sees it go, unless it is the last one of a coroutine that failed: that one's error is reported at once (ERR-9).
    if (ambient_scheduler() == &scheduler() && scheduler().observed()) [[unlikely]] {
        const bool may_report = finished_ && error_ && !error_.is_cancellation();
        scheduler().touch(label_, "handles", may_report ? TouchMode::write : TouchMode::add);
        if (may_report) { scheduler().touch(scheduler().loop_label_, "unhandled", TouchMode::write); }
    }
    if (--handles_ == 0 && error_kept_) {
        // ERR-9: nobody awaited it, and now nobody can.
        forget_kept_error();
        scheduler().record_unhandled(error_);
    }
    drop_reference();
}

void CoroutineCore::look() const {
    // What is left of a finished one may outlive its runtime, and be looked at then.
    if (ambient_scheduler() == &scheduler()) { scheduler().touch(label_, "state", TouchMode::read); }
}

void CoroutineCore::touch_set_up(std::string_view field) const {
    if (ambient_scheduler() == &scheduler()) { scheduler().touch(label_, field, TouchMode::write); }
}

void CoroutineCore::forget_kept_error() {
    touch_set_up("handles");
    error_kept_ = false;
    scheduler().kept_errors_.remove(*this);
}

// ── spawn ──

std::string_view Scheduler::keep_name(const Name& name) {
    if (!name.is_borrowed()) { return name.text(); }
    auto at = names_.find(name.text());
    if (at == names_.end()) { at = names_.emplace(name.text()).first; }
    return *at;
}

ScopeCore* Scheduler::current_scope() const {
    // SCH-15: in a scheduler phase parentage must not depend on whose stack hosts it.
    if (state_ == State::active && !in_phase_ && current_ != nullptr && current_->scope_ != nullptr &&
        current_ != scheduler_core_.get()) {
        return current_->scope_;
    }
    return main_scope_.get();
}

void Scheduler::register_coroutine(CoroutineCore& coroutine) {
    if (coroutine.registered_) { return; }
    coroutine.registered_ = true;
    coroutine.add_reference();  // the runtime's own, until F12 (SCH-85)
    CoroutineCore* at = registry_.back();
    while (at != nullptr && at->id_ > coroutine.id_) { at = registry_.previous(*at); }
    if (at == nullptr) {
        registry_.push_front(coroutine);
    } else {
        registry_.insert_after(*at, coroutine);
    }
    if (!coroutine.zombie_) {
        ++active_count_;
        if (active_count_ == 1) { active_count_changed(); }
    }
}

void Scheduler::spawn(CoroutineCore& coroutine, const SpawnOptions& options, SourceLocation at, bool internal) {
    // Until it is registered this is the only reference: a failed spawn destroys the coroutine (SCH-87).
    const Ref<CoroutineCore> alive(&coroutine);
    if (!internal) { require_current("spawn"); }
    if (state_ != State::active) { throw AsyncError("spawn: the runtime is not running"); }
    ScopeRef chosen = options.scope;  // held: nobody else need hold what a provider returns
    if (!chosen && options.provider) { chosen = options.provider(); }
    const bool implicit = !chosen;
    ScopeCore* const scope = implicit ? current_scope() : &chosen.core();
    bool born_zombie = false;
    touch(scope->label(), "flag", TouchMode::read);
    if (scope->private_) { throw AsyncError("spawn: the scheduler's scope takes no coroutines"); }
    if (!scope->is_open()) {
        // SCP-12 to SCP-14: only a zombie may go on spawning into its own scope, and what it spawns is a zombie.
        born_zombie = implicit && !scope->terminated_ && current_ != nullptr && !in_phase_ && current_->zombie_;
        if (!born_zombie) { throw AsyncError("spawn: the scope is closed, cancelled or terminated"); }
    }
    const std::string_view name = keep_name(options.name);
    coroutine.name_ = name.data();
    coroutine.name_size_ = static_cast<std::uint32_t>(name.size());
    coroutine.priority_ = options.priority;
    coroutine.spawn_file_ = at.file_name();
    coroutine.spawn_line_ = at.line();
    if (labels_ != nullptr) {
        const bool from_coroutine = !in_phase_ && current_ != nullptr && current_->label_;
        coroutine.label_ = labels_->child(from_coroutine ? current_->label_ : loop_label_, name);
    }
    ++spawned_;
    scope->add_member(coroutine, born_zombie);
    touch(scope->label(), "order", TouchMode::write);
    if (options.before) {
        try {
            const NoSuspend region(*this);
            options.before(CoroutineHandle(&coroutine));
        } catch (...) {
            const ErrorValue error(std::current_exception());
            if (coroutine.registered_) {  // SCH-90: a request reached it inside the hook; it ends on its queue turn
                cancel(coroutine, CancelKind::forced,
                       ErrorValue(std::make_exception_ptr(AsyncCancellation("a spawn hook failed", error))));
                throw;
            }
            coroutine.error_ = error;
            coroutine.finished_ = true;
            coroutine.set_closed();
            {
                const NoSuspend region(*this);
                coroutine.drop_entry();
            }
            scope->remove_member(coroutine);
            scope->evaluate();
            coroutine.scope_ = nullptr;
            throw;
        }
    }
    if (!coroutine.registered_) {
        coroutine.waker_.status_ = WakerStatus::queued;
        enqueue(coroutine, options.priority == Priority::high);
        register_coroutine(coroutine);
    }
    if (observed()) [[unlikely]] {
        note(EventKind::spawned, coroutine.label_, scope->label(), static_cast<std::int64_t>(coroutine.id_.value),
             coroutine.zombie_ ? 1 : 0);
        if (coroutine.zombie_) { note(EventKind::became_zombie, coroutine.label_, scope->label(), 1); }
    }
    if (options.after) {
        try {
            const NoSuspend region(*this);
            options.after(CoroutineHandle(&coroutine));
        } catch (...) {
            const ErrorValue error(std::current_exception());
            cancel(coroutine, CancelKind::forced, ErrorValue(std::make_exception_ptr(AsyncCancellation("a spawn hook failed", error))));
            throw;
        }
    }
    if (second_phase_ && coroutine.waker_.status_ == WakerStatus::queued && !coroutine.started_) {
        // SCH-70: no new code begins any more, internally spawned or not, and a destructor that spawns must not meet an exception.
        cancel(coroutine, CancelKind::forced, ErrorValue::make<AsyncCancellation>("the runtime is ending"));
    }
}

void Scheduler::spawn_internal(CoroutineCore& coroutine, ScopeCore& scope, Priority priority, Name name, FinallyRun* finally_run) {
    const Ref<CoroutineCore> alive(&coroutine);
    coroutine.internal_ = true;
    coroutine.finally_run_ = finally_run;
    const std::string_view text = keep_name(name);
    coroutine.name_ = text.data();
    coroutine.name_size_ = static_cast<std::uint32_t>(text.size());
    coroutine.priority_ = priority;
    if (labels_ != nullptr) { coroutine.label_ = labels_->child(scope.label() ? scope.label() : loop_label_, text); }
    ++spawned_;
    scope.add_member(coroutine, false);
    coroutine.waker_.status_ = WakerStatus::queued;
    enqueue(coroutine, priority == Priority::high);
    register_coroutine(coroutine);
    note(EventKind::spawned, coroutine.label_, scope.label(), static_cast<std::int64_t>(coroutine.id_.value), 0, "internal");
}

void Scheduler::as_hi_priority(CoroutineCore& coroutine) {
    // SCH-22: on an unstarted one of NORMAL priority; at most one head insertion in a life (INV-SCHED-08).
    if (coroutine.state() != CoroutineState::ready_new || coroutine.priority_ == Priority::high) { return; }
    for (std::size_t i = 0; i < ready_.size(); ++i) {
        if (ready_[i] == &coroutine) {
            ready_.take(i);
            break;
        }
    }
    coroutine.priority_ = Priority::high;
    enqueue(coroutine, true);
}

// ── handles ──

void CoroutineHandle::cancel(const ErrorValue& reason) const {
    if (reason && !reason.is_cancellation()) { throw ValueError("cancel: the reason must be a Cancellation, found " + reason.describe()); }
    Scheduler& scheduler = core().scheduler();
    scheduler.cancel(core(), CancelKind::forced, reason ? reason : ErrorValue::make<AsyncCancellation>());
}

void CoroutineHandle::cancel(std::string_view reason) const { cancel(ErrorValue::make<AsyncCancellation>(std::string(reason))); }

void CoroutineHandle::finally(UniqueFunction<void(CoroutineHandle)> handler) const {
    if (looked().is_completed()) {
        handler(*this);
        return;
    }
    core().touch_set_up("state");
    core().scheduler().add_finally(core(), std::move(handler));
}

CoroutineCore& CoroutineHandle::looked() const {
    core().look();
    return core();
}

CoroutineCore& CoroutineHandle::watched() const {
    core().look();
    if (Scheduler* scheduler = ambient_scheduler(); scheduler == &core().scheduler()) {
        scheduler->touch(core().label(), "wait", TouchMode::read);
    }
    return core();
}

std::size_t CoroutineHandle::add_switch_handler(SwitchHandler& handler) const {
    core().touch_set_up("wait");
    return core().scheduler().add_switch_handler(&core(), handler);
}
void CoroutineHandle::remove_switch_handler(SwitchHandler& handler) const {
    core().touch_set_up("wait");
    core().scheduler().remove_switch_handler(core(), handler);
}

const CoroutineHandle& CoroutineHandle::as_hi_priority() const {
    core().scheduler().as_hi_priority(core());
    return *this;
}

std::vector<std::string> CoroutineHandle::stack_trace() const {
    const CoroutineState state = watched().state();
    if (state != CoroutineState::waiting && state != CoroutineState::ready) { return {}; }
    const CoroutineCore& c = core();
    return {std::string("suspended at ") + (c.suspend_file() != nullptr ? c.suspend_file() : "unknown") + ":" +
                std::to_string(c.suspend_line()) + " (" + c.wait_kind() + ")",
            std::string("spawned at ") + c.spawn_file() + ":" + std::to_string(c.spawn_line())};
}

void CoroutineHandle::set_dispose_hook(UniqueFunction<void(CoroutineCore&)> hook) const {
    core().touch_set_up("state");
    core().set_dispose_hook(std::move(hook));
}

}  // namespace heddle
