// SPDX-License-Identifier: Apache-2.0
// How a coroutine runs and ends: entry, outcome, the steps F1 to F12 of SCH-48, switch handlers.
#include <algorithm>

#include "heddle/core/run/finally_run.hpp"
#include "heddle/core/run/scheduler.hpp"
#include "heddle/core/run/unwind.hpp"

namespace heddle {

/// First dispatch (SCH-47) and everything up to the end of finalization, on the coroutine's own stack.
void Scheduler::run_hosted(CoroutineCore& coroutine) {
    current_ = &coroutine;
    coroutine.waker_.status_ = WakerStatus::none;
    coroutine.started_ = true;
    if (observed()) [[unlikely]] {
        note(EventKind::step_begin, coroutine.label_);
        note(EventKind::started, coroutine.label_);
    }
    if (coroutine.has_switch_handlers_) [[unlikely]] { call_handlers(coroutine, true, false); }
    execute(coroutine);
    finalize(coroutine);
}

void Scheduler::execute(CoroutineCore& coroutine) {
    try {
        coroutine.run_entry();
    } catch (const UnwindToken&) {
        coroutine.ended_by_token_ = true;
    } catch (...) {
        coroutine.error_ = ErrorValue(std::current_exception());
    }
}

/// F4: how the stored outcome follows from what the entry returned or threw.
ErrorValue Scheduler::outcome_of(CoroutineCore& coroutine, ErrorValue thrown) {
    if (coroutine.unwinding_) {
        if (thrown && !thrown.is_cancellation()) { exit_ = thrown.with_previous(exit_); }  // SCH-72
        return ErrorValue::make<AsyncCancellation>("the runtime ended before this coroutine did");
    }
    if (coroutine.waker_.status_ == WakerStatus::ignored) { return std::exchange(coroutine.waker_.outcome_.error, {}); }
    if (coroutine.has_pending_) {
        const ErrorValue pending = std::exchange(coroutine.extras_->pending, {});
        coroutine.has_pending_ = false;
        if (!thrown || thrown.is_cancellation()) { return pending; }
        return thrown.with_previous(pending);
    }
    if (thrown && coroutine.extras_ && coroutine.extras_->last_delivered) {
        const ErrorValue& delivered = coroutine.extras_->last_delivered;
        // What travelled through user code lost its history on the way; here the runtime attaches it again (SCH-89, CAN-13).
        return thrown.same_error(delivered) ? delivered : thrown.is_cancellation() ? thrown : thrown.with_previous(delivered);
    }
    return thrown;
}

void Scheduler::finalize(CoroutineCore& coroutine) {
    HEDDLE_ASSERT(!coroutine.finished_, "INV-SCHED-09");
    // Handlers, hooks and destructors run on a stack that is not theirs, up to the one that the last reference takes along (SCH-28).
    const NoSuspend region(*this);
    const Ref<CoroutineCore> alive(&coroutine);
    const bool unwound = coroutine.unwinding_;
    Waker& waker = coroutine.waker_;
    // F1, F2: outcome and FINISHED in one step.
    HEDDLE_ASSERT(waker.status_ != WakerStatus::queued, "INV-SCHED-03");
    ErrorValue thrown = std::exchange(coroutine.error_, {});
    if (thrown || coroutine.unwinding_ || coroutine.has_pending_ || waker.status_ == WakerStatus::ignored) [[unlikely]] {
        coroutine.error_ = outcome_of(coroutine, std::move(thrown));
        if (coroutine.error_) { coroutine.drop_result(); }
    }
    waker.status_ = WakerStatus::none;
    waker.in_suspend_ = false;
    coroutine.finished_ = true;
    coroutine.set_closed();
    const bool is_cancellation = coroutine.error_ && coroutine.error_.is_cancellation();
    if (observed()) [[unlikely]] {
        note(EventKind::finished, coroutine.label_, {}, !coroutine.error_ ? 0 : is_cancellation ? 2 : 1, 0,
             coroutine.error_ ? std::string_view(coroutine.error_.describe()) : std::string_view());
        // Behind the event: for one that was cancelled before it ran, that is where its step begins.
        touch(coroutine.label_, "state", TouchMode::write);
        if (coroutine.error_ && !is_cancellation) { touch(coroutine.label_, "handles", TouchMode::read); }  // whether one can keep it
    }
    // F3
    if (coroutine.has_switch_handlers_) [[unlikely]] {
        call_handlers(coroutine, false, true);
        coroutine.extras_->switch_handlers.clear();
        coroutine.has_switch_handlers_ = false;
    }
    // F5
    bool handled = false;
    if (coroutine.subscriber_count() > 0) { handled = coroutine.notify({0, false, coroutine.error_}); }
    // F6
    if (coroutine.extras_ && !coroutine.extras_->finally_handlers.empty()) {
        std::vector<UniqueFunction<void(CoroutineHandle)>> handlers = std::exchange(coroutine.extras_->finally_handlers, {});
        if (unwound) {
            never_executed_ += handlers.size();
        } else {
            std::vector<FinallyRun::Job> jobs;
            jobs.reserve(handlers.size());
            for (auto& handler : handlers) {
                jobs.emplace_back([handler = std::move(handler), held = Ref<CoroutineCore>(&coroutine)]() mutable {
                    handler(CoroutineHandle(held.get()));
                });
            }
            FinallyRun::start(*this, *coroutine.scope_, &coroutine, std::move(jobs));
        }
    }
    // F7
    if (!waker.is_clean()) { waker.clean(); }
    if (!coroutine.started_) { coroutine.drop_entry(); }
    if (coroutine.extras_ && coroutine.extras_->dispose_hook) {
        try {
            std::exchange(coroutine.extras_->dispose_hook, {})(coroutine);
        } catch (...) {
            record_unhandled(ErrorValue(std::current_exception()));
        }
    }
    // F8
    ErrorValue error = coroutine.error_;
    const bool is_error = error && !is_cancellation && !unwound;
    if (is_error && !handled) { handled = coroutine.scope_->propagate(error, &coroutine); }
    if (coroutine.finally_run_ != nullptr) { std::exchange(coroutine.finally_run_, nullptr)->runner_ended(unwound); }
    // F9
    ScopeCore& scope = *coroutine.scope_;
    const Ref<ScopeCore> scope_alive(&scope);
    scope.remove_member(coroutine);
    scope.evaluate();
    coroutine.scope_ = nullptr;
    // F10
    if (is_error && !handled) {
        // An error that a scope handler put in its place is not the stored outcome, so no handle can keep it (ERR-4, SCH-9).
        if (coroutine.handles_ == 0 || coroutine.is_main_ || !error.same_error(coroutine.error_)) {
            record_unhandled(error);
        } else {
            coroutine.error_kept_ = true;  // ERR-9: until somebody awaits it, or the last handle goes
        }
    }
    // F11, F12
    remove_from_registry(coroutine);
    if (coroutine.error_kept_) { kept_errors_.push_back(coroutine); }
    coroutine.context_ = nullptr;
    coroutine.fiber_ = nullptr;
    coroutine.wait_ = nullptr;
    if (observed()) [[unlikely]] {
        note(EventKind::finalized, coroutine.label_);
        note(EventKind::step_end, coroutine.label_);
    }
    current_ = scheduler_core_.get();  // whoever is called from here on must not find a coroutine that is gone (INV-SCHED-04)
    coroutine.drop_reference();
}

void Scheduler::remove_from_registry(CoroutineCore& coroutine) {
    HEDDLE_ASSERT(coroutine.registered_, "INV-SCHED-11");
    coroutine.registered_ = false;
    registry_.remove(coroutine);
    if (!coroutine.zombie_) {
        HEDDLE_ASSERT(active_count_ > 0, "INV-SCHED-12");
        --active_count_;
    }
    if (active_count_ == 0) { active_count_changed(); }
}

// ── switch handlers (SCH-78 to SCH-83) ──

void Scheduler::call_handlers(CoroutineCore& coroutine, bool entering, bool finishing) {
    CoroutineCore::Extras& extras = *coroutine.extras_;
    const EventKind kind = finishing ? EventKind::handler_finish : entering ? EventKind::handler_enter : EventKind::handler_leave;
    const NoSuspend region(*this);
    ErrorValue thrown;
    coroutine.in_switch_pass_ = true;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < extras.switch_handlers.size(); ++i) {
        SwitchHandler* handler = extras.switch_handlers[i];
        note(kind, coroutine.label_, {}, static_cast<std::int64_t>(i));
        bool keep = true;
        try {
            keep = handler->on_switch(CoroutineHandle(&coroutine), entering, finishing);
        } catch (const Cancellation&) {
            // No error (CAN-16), and no reason to lose one that another handler threw.
        } catch (...) {
            thrown = ErrorValue(std::current_exception()).with_previous(thrown);
        }
        if (keep) { extras.switch_handlers[kept++] = handler; }
    }
    extras.switch_handlers.resize(kept);
    coroutine.has_switch_handlers_ = kept > 0;
    coroutine.in_switch_pass_ = false;
    if (thrown) { record_unhandled(thrown); }  // SCH-81
}

std::size_t Scheduler::add_switch_handler(CoroutineCore* coroutine, SwitchHandler& handler) {
    if (coroutine == nullptr) { coroutine = in_coroutine() ? current_ : nullptr; }
    std::vector<SwitchHandler*>* list = &main_start_handlers_;
    if (coroutine != nullptr) {
        if (coroutine->in_switch_pass_) { throw AsyncError("switch handlers cannot be added during their pass"); }
        if (coroutine->finished_) { throw AsyncError("switch handlers cannot be added to a finished coroutine"); }
        list = &coroutine->extras().switch_handlers;
        coroutine->has_switch_handlers_ = true;
    }
    const auto at = std::ranges::find(*list, &handler);
    if (at != list->end()) { return static_cast<std::size_t>(at - list->begin()); }
    list->push_back(&handler);
    return list->size() - 1;
}

void Scheduler::remove_switch_handler(CoroutineCore& coroutine, SwitchHandler& handler) {
    if (coroutine.in_switch_pass_) { throw AsyncError("switch handlers cannot be removed during their pass"); }
    if (!coroutine.extras_) { return; }
    std::erase(coroutine.extras_->switch_handlers, &handler);
    coroutine.has_switch_handlers_ = !coroutine.extras_->switch_handlers.empty();
}

void Scheduler::add_finally(CoroutineCore& coroutine, UniqueFunction<void(CoroutineHandle)> handler) {
    HEDDLE_ASSERT(!coroutine.finished_, "FIN-3");
    coroutine.extras().finally_handlers.push_back(std::move(handler));
}

}  // namespace heddle
