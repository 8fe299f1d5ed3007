// SPDX-License-Identifier: Apache-2.0
// Cancellation requests by target state (CAN-3, CAN-4, WKR-11), and the exits of protected regions.
#include "heddle/core/run/cancellation.hpp"

#include <cstdio>

#include "heddle/core/run/scheduler.hpp"
#include "heddle/core/run/unwind.hpp"

namespace heddle {

void Scheduler::make_pending(CoroutineCore& coroutine, ErrorValue reason) {
    HEDDLE_ASSERT(!coroutine.has_pending_, "CAN-10");
    coroutine.extras().pending = std::move(reason);
    coroutine.has_pending_ = true;
}

void Scheduler::cancel(CoroutineCore& coroutine, CancelKind kind, const ErrorValue& reason) {
    Waker& waker = coroutine.waker_;
    const Label who = coroutine.label_;
    const bool out_of_reach = coroutine.finally_run_ != nullptr && (!coroutine.started_ || kind != CancelKind::forced);  // FIN-11
    const bool undelivered = coroutine.has_pending_ || coroutine.has_deferred_ || waker.status_ == WakerStatus::ignored ||
                             (waker.origin_ == Waker::Origin::cancel && waker.outcome_.error);
    const bool cancels = kind == CancelKind::forced || (kind == CancelKind::safe_cancel && !coroutine.started_);
    const bool accepted = cancels && !coroutine.finished_ && !out_of_reach && !undelivered;
    // Whoever is the first request, or comes before its end, writes; who comes too late has found that out.
    touch(who, "wait", accepted ? TouchMode::write : TouchMode::read);
    note(EventKind::cancel_requested, who, {}, static_cast<std::int64_t>(kind), accepted ? 1 : 0);
    if (coroutine.finished_ || out_of_reach) { return; }
    if (!coroutine.registered_ && !coroutine.started_ && waker.status_ == WakerStatus::none) {
        // SCH-90: a request inside the spawn's `before` hook first does the rest of the enqueueing.
        waker.status_ = WakerStatus::queued;
        enqueue(coroutine, coroutine.priority_ == Priority::high);
        register_coroutine(coroutine);
    }
    if (!cancels) {
        make_zombie(coroutine);
        return;
    }
    if (!accepted) { return; }  // CAN-10: the first reason is kept
    coroutine.cancel_accepted_ = true;
    if (!coroutine.started_) {
        HEDDLE_ASSERT(waker.status_ == WakerStatus::queued, "CAN-4");
        waker.status_ = WakerStatus::ignored;
        waker.outcome_ = {0, false, reason};
        waker.origin_ = Waker::Origin::cancel;
        note(EventKind::doomed, who);
        return;
    }
    if (coroutine.protection_depth_ > 0) {
        coroutine.extras().deferred = reason;
        coroutine.has_deferred_ = true;
        note(EventKind::cancel_deferred, who);
        return;
    }
    end_wait_with(coroutine, reason);
}

/// An accepted cancellation meets an unprotected, started coroutine: outcome of its wait, or pending (WKR-11, CAN-12).
void Scheduler::end_wait_with(CoroutineCore& coroutine, const ErrorValue& reason) {
    Waker& waker = coroutine.waker_;
    const bool in_window = !waker.kept_ &&  // CV-04: news that cannot be undone stays, and the cancellation follows it
                           (waker.status_ == WakerStatus::queued || (waker.status_ == WakerStatus::result && waker.in_suspend_));
    if (waker.status_ == WakerStatus::waiting) {
        waker.outcome_ = {0, false, reason};
        waker.origin_ = Waker::Origin::cancel;
        // To the tail, also in its own in-place tick: only an event lets it go on at once (WKR-9, SCH-34).
        waker.status_ = WakerStatus::queued;
        enqueue(coroutine, false);
        note(EventKind::woken, coroutine.label_, {}, 1, 0, "cancel");
        after_wake(coroutine);
    } else if (in_window && !(waker.outcome_.error && waker.origin_ == Waker::Origin::event)) {
        seen("waker.cancel_in_window");
        waker.outcome_ = {0, false, reason};  // WKR-11(a): the value is dropped, or re-offered by its primitive (CAN-19)
        waker.origin_ = Waker::Origin::cancel;
    } else {
        if (in_window) { seen("waker.cancel_behind_error"); }
        make_pending(coroutine, reason);  // WKR-11(b): neither the error nor the cancellation gets lost
    }
}

/// PRT-7: protection ends, and what it held back, or what is pending, becomes the delivered reason.
void Scheduler::remove_protection(CoroutineCore& coroutine) {
    coroutine.protection_depth_ = 0;
    ++coroutine.protection_epoch_;
    ErrorValue reason;
    if (coroutine.has_pending_) {
        reason = std::exchange(coroutine.extras_->pending, {});
        coroutine.has_pending_ = false;
    } else if (coroutine.has_deferred_) {
        reason = std::exchange(coroutine.extras_->deferred, {});
        coroutine.has_deferred_ = false;
    }
    if (reason) { end_wait_with(coroutine, reason); }
}

// ── regions ──

Protection::Protection() { enter(false); }
Protection::Protection(InCleanup) noexcept { enter(true); }

void Protection::enter(bool in_cleanup) {
    Scheduler* scheduler = ambient_scheduler();
    if (scheduler == nullptr || scheduler->state() != Scheduler::State::active) { return; }
    // A destructor may run in a scheduler phase: there is nobody to protect then, and nobody who could suspend (PRT-10, SCH-25).
    if (in_cleanup && !scheduler->in_coroutine()) { return; }
    coroutine_ = &scheduler->require_current("protect");
    epoch_ = coroutine_->protection_epoch_;
    ++coroutine_->protection_depth_;
    scheduler->note(EventKind::protect_entered, coroutine_->label(), {}, coroutine_->protection_depth_);
}

ErrorValue Protection::close() {
    if (coroutine_ == nullptr || coroutine_->protection_epoch_ != epoch_) { return {}; }  // PRT-9
    HEDDLE_ASSERT(coroutine_->protection_depth_ > 0, "INV-PRT-04");
    --coroutine_->protection_depth_;
    coroutine_->scheduler().note(EventKind::protect_left, coroutine_->label(), {}, coroutine_->protection_depth_);
    if (coroutine_->protection_depth_ > 0 || !coroutine_->has_deferred_) { return {}; }
    coroutine_->has_deferred_ = false;
    return std::exchange(coroutine_->extras_->deferred, {});
}

void Protection::leave() {
    if (const ErrorValue due = close(); due) {
        coroutine_->extras().last_delivered = due;
        coroutine_->scheduler().note(EventKind::cancel_delivered, coroutine_->label());
        due.rethrow();
    }
}

void Protection::leave_by_exception() {
    const ErrorValue due = close();
    if (!due) { throw; }
    try {
        throw;
    } catch (const UnwindToken&) {
        throw;
    } catch (const Cancellation&) {
        const ErrorValue other(std::current_exception());
        coroutine_->extras().last_delivered = due.with_previous(other);  // PRT-11
        coroutine_->scheduler().note(EventKind::cancel_delivered, coroutine_->label());
        due.rethrow();
    } catch (...) {
        coroutine_->scheduler().make_pending(*coroutine_, due);  // PRT-5: the error must surface
        throw;
    }
}

void Protection::leave_quietly(bool by_exception) noexcept {
    const ErrorValue due = close();
    if (by_exception) {
        try {
            throw;
        } catch (const UnwindToken&) {
            // It returns at the next suspension.
        } catch (const Cancellation&) {
            const ErrorValue thrown(std::current_exception());
            if (coroutine_ != nullptr && coroutine_->extras_ && coroutine_->extras_->last_delivered.same_error(thrown) &&
                !coroutine_->has_pending_ && coroutine_->protection_epoch_ != epoch_) {
                coroutine_->scheduler().make_pending(*coroutine_, coroutine_->extras_->last_delivered);
            }
        } catch (...) {
            const ErrorValue error(std::current_exception());
            if (Scheduler* scheduler = ambient_scheduler(); scheduler != nullptr) {
                scheduler->record_unhandled(error);
            } else {
                // Outside a runtime there is nobody to report it to, and a destructor must not throw.
                std::fprintf(stderr, "heddle: an error left a cleanup outside a run: %s\n", error.describe().c_str());
            }
        }
    }
    if (due && !coroutine_->has_pending_) { coroutine_->scheduler().make_pending(*coroutine_, due); }
}

}  // namespace heddle
