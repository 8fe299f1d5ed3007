// SPDX-License-Identifier: Apache-2.0
// The queues, the suspension, the in-place tick and the loop. What ends a coroutine is in finalize.cpp, what ends a run in shutdown.cpp.
#include "heddle/core/run/scheduler.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "heddle/core/run/unwind.hpp"

namespace heddle {

constinit thread_local Scheduler* detail::ambient = nullptr;

// Not inlined: the compiler may keep a thread-local's address across a stack switch.
[[gnu::noinline]] Scheduler* exchange_ambient_scheduler(Scheduler* scheduler) noexcept {
    return std::exchange(detail::ambient, scheduler);
}

// ── ready queue ──

void Scheduler::enqueue(CoroutineCore& coroutine, bool at_head) {
    HEDDLE_ASSERT(!coroutine.finished_, "INV-SCHED-03");
    touch(loop_label_, "ready-tail", TouchMode::write);
    if (at_head) {
        touch(loop_label_, "ready-head", TouchMode::write);
        ready_.push_front(&coroutine);
    } else {
        ready_.push_back(&coroutine);
    }
}

/// The next coroutine to dispatch: the head, or whichever the Chooser picks in `any` order (CP-DISPATCH).
CoroutineCore& Scheduler::take_next() {
    ++dispatches_;
    if (options_.dispatches_max != 0 && dispatches_ > options_.dispatches_max) [[unlikely]] { report_endless(); }
    if (options_.any_order && may_choose() && ready_.size() > 1) {
        std::vector<Label>& candidates = candidates_;
        candidates.clear();
        for (std::size_t i = 0; i < ready_.size(); ++i) { candidates.push_back(ready_[i]->label_); }
        const Label at = options_.name_points ? labels_->point(current_->label_, to_string(ChoiceKind::dispatch)) : Label{};
        const std::uint32_t chosen =
            options_.chooser->choose({ChoiceKind::dispatch, at, static_cast<std::uint32_t>(candidates.size()), candidates});
        HEDDLE_ASSERT(chosen < candidates.size(), "C1");
        return *ready_.take(chosen);
    }
    return *ready_.pop_front();
}

bool Scheduler::list_ready(std::vector<Label>& into) const {
    if (!microtasks_.empty() || pending_) { return false; }
    if (current_ != scheduler_core_.get() && current_ != nullptr && current_->waker_.status_ == WakerStatus::result) {
        into.push_back(current_->label_);  // SCH-34
        return true;
    }
    const std::size_t count = options_.any_order ? ready_.size() : std::min<std::size_t>(ready_.size(), 1);
    for (std::size_t i = 0; i < count; ++i) { into.push_back(ready_[i]->label_); }
    return true;
}

void Scheduler::after_wake(CoroutineCore& coroutine) {
    // SCH-26, SCH-27: in a scheduler phase the subscriptions go at the flush point, elsewhere now.
    if (!coroutine.waker_.has_subscriptions()) { return; }
    if (observed()) [[unlikely]] {
        // Whoever ends a wait takes it away from all that could have ended it: each of them may come before, or too late.
        for (const EventSource* event : coroutine.waker_.events()) {
            if (!event->waits_unseen()) { touch(event->label(), "state", TouchMode::read); }
        }
    }
    if (in_phase_) {
        if (!coroutine.waker_.flush_pending_) {
            coroutine.waker_.flush_pending_ = true;
            woken_.push_back(&coroutine);
        }
    } else {
        coroutine.waker_.drop_subscriptions();
    }
}

void Scheduler::flush() {
    for (std::size_t i = 0; i < woken_.size(); ++i) {
        if (woken_[i]->waker_.flush_pending_) { woken_[i]->waker_.drop_subscriptions(); }
    }
    woken_.clear();
}

bool Scheduler::resume(CoroutineCore& coroutine, EventSource* by, const Outcome& outcome) {
    Waker& waker = coroutine.waker_;
    switch (waker.status_) {
        case WakerStatus::waiting: {
            if (by == nullptr || !by->waits_unseen()) {
                touch(coroutine.label_, "wait", by != nullptr && by->ends_commute() ? TouchMode::add : TouchMode::write);
            }
            waker.outcome_ = outcome;
            waker.origin_ = Waker::Origin::event;
            if (in_phase_ && &coroutine == current_ && options_.return_in_place) {
                waker.status_ = WakerStatus::result;  // its own in-place tick: it goes on at once (SCH-34)
            } else {
                waker.status_ = WakerStatus::queued;
                enqueue(coroutine, false);
            }
            note(EventKind::woken, coroutine.label_, by != nullptr ? by->label() : Label{}, outcome.error ? 1 : 0);
            after_wake(coroutine);
            return true;
        }
        case WakerStatus::none:
            touch(coroutine.label_, "wait", TouchMode::read);
            if (&coroutine != current_ || !waker.has_subscriptions()) { throw AsyncError("not suspended: " + coroutine.title()); }
            waker.outcome_ = outcome;
            waker.origin_ = Waker::Origin::event;
            waker.status_ = WakerStatus::result;  // early wake-up (WKR-13)
            note(EventKind::woken, coroutine.label_, by != nullptr ? by->label() : Label{}, outcome.error ? 1 : 0, 0, "early");
            after_wake(coroutine);
            return true;
        case WakerStatus::result:
            touch(coroutine.label_, "wait", TouchMode::read);
            if (!waker.in_suspend_ && by == nullptr) { throw AsyncError("not suspended: " + coroutine.title()); }
            [[fallthrough]];
        case WakerStatus::queued:
        case WakerStatus::ignored:
            touch(coroutine.label_, "wait", TouchMode::read);
            seen("waker.late_wake");  // an event may fire after another one has won (WKR-10)
            return false;
    }
    return false;
}

// ── requirements ──

CoroutineCore& Scheduler::require_current(const char* operation) const {
    if (state_ != State::active || current_ == nullptr) {
        throw AsyncError(std::string(operation) + ": no coroutine is running");
    }
    if (in_phase_ || current_ == scheduler_core_.get()) {
        throw AsyncError(std::string(operation) + ": not allowed in a scheduler phase");
    }
    return *current_;
}

CoroutineCore& Scheduler::require_suspendable(const char* operation) const {
    CoroutineCore& current = require_current(operation);
    if (no_suspend_ > 0) { throw AsyncError(std::string(operation) + ": not allowed in a handler, hook or callback"); }
    return current;
}

// ── suspension (SCH-30) ──

void Scheduler::deliver_pending(CoroutineCore& self) {
    CoroutineCore::Extras& extras = *self.extras_;
    self.waker_.clean();
    self.has_pending_ = false;
    const ErrorValue reason = std::exchange(extras.pending, {});
    extras.last_delivered = reason;
    note(EventKind::cancel_delivered, self.label_);
    touch(self.label_, "wait", TouchMode::write);
    reason.rethrow();
}

void Scheduler::note_wait(CoroutineCore& self, const WaitPoint& at) {
    self.wait_ = &at;
    self.suspended_since_ = reactor_.now();
    if (observed()) [[unlikely]] {
        note(EventKind::parked, self.label_, options_.name_points ? labels_->point(self.label_, at.kind, at.object) : Label{},
             static_cast<std::int64_t>(self.waker_.subscription_count()), 0, at.kind);
    }
}

void Scheduler::finish_wait(CoroutineCore& self) {
    Waker& waker = self.waker_;
    waker.in_suspend_ = false;
    if (!waker.outcome_.error) [[likely]] { return; }
    const ErrorValue error = std::exchange(waker.outcome_.error, {});
    if (waker.origin_ == Waker::Origin::cancel) {
        self.extras().last_delivered = error;
        note(EventKind::cancel_delivered, self.label_);
    }
    error.rethrow();
}

void Scheduler::suspend(const WaitPoint& at) {
    CoroutineCore& self = require_suspendable("suspend");
    if (self.unwinding_) { throw_unwind(self); }
    Waker& waker = self.waker_;
    if (self.has_pending_ && self.protection_depth_ == 0 && !waker.outcome_.error) { deliver_pending(self); }
    if (waker.status_ == WakerStatus::none && !waker.has_subscriptions()) { return; }
    if (waker.status_ != WakerStatus::result) {
        waker.status_ = WakerStatus::waiting;
        touch(self.label_, "wait", TouchMode::write);
        park(self, at);
    }
    finish_wait(self);
}

/// The coroutine that a yield or a bare wait of the running one switches to when nothing but a switch is to be done: nobody watches, nothing is due
/// before the next dispatch, and another started coroutine is at the head. Null: the long way, which decides all the rest.
[[gnu::always_inline]] inline CoroutineCore* Scheduler::direct_successor() const {
    const bool watched = detail::any(observed(), may_choose(), options_.dispatches_max != 0);
    const bool due = detail::any(heartbeat_ != nullptr, !microtasks_.empty(), static_cast<bool>(pending_), second_phase_, terminal_due_);
    const bool closed = detail::any(in_phase_, no_suspend_ > 0, ready_.empty(), !globals_.clean(), !woken_.empty());
    if (detail::any(watched, due, closed)) [[unlikely]] { return nullptr; }
    CoroutineCore* const next = ready_.front();
    return detail::any(next->waker_.status_ != WakerStatus::queued, next->fiber_ == nullptr) ? nullptr : next;
}

/// With tens of thousands of ready coroutines a switch is mostly cache misses, and the queue knows what comes: one of them is asked for
/// at each of the places that lead to it, coroutine, fiber, saved registers, as far ahead as the one before takes.
[[gnu::always_inline]] inline void Scheduler::prefetch_ready() const {
    constexpr std::size_t worthwhile = 128;
    if (ready_.size() < worthwhile) { return; }
    __builtin_prefetch(&ready_[12]->waker_);
    __builtin_prefetch(&ready_[12]->fiber_);
    if (const Fiber* fiber = ready_[6]->fiber_; fiber != nullptr) { __builtin_prefetch(fiber); }
    if (const Fiber* fiber = ready_[2]->fiber_; fiber != nullptr) { fiber->prefetch(); }
}

/// SCH-30 to SCH-35 for that case: the same effects in one frame. False: nothing was done.
[[gnu::always_inline]] inline bool Scheduler::yield_directly(CoroutineCore& self, CoroutineCore& next, const WaitPoint& at) {
    Waker& waker = self.waker_;
    const bool special = detail::any(self.unwinding_, self.has_pending_, self.has_switch_handlers_);
    if (detail::any(special, self.fiber_ == nullptr, !waker.is_clean())) [[unlikely]] { return false; }
    if (reactor_.poll_due_in_place()) [[unlikely]] {
        poll_found_due_ = true;  // asked once per opportunity: the long way takes this answer
        return false;
    }
    ready_.rotate(&self);
    waker.status_ = WakerStatus::queued;
    waker.in_suspend_ = true;
    self.wait_ = &at;
    self.suspended_since_ = reactor_.now();
    prefetch_ready();
    ++switches_;
    Fiber::switch_to(*self.fiber_, *next.fiber_, globals_);
    current_ = &self;
    self.wait_ = nullptr;
    if (dead_context_ != nullptr) [[unlikely]] { reap(); }
    // What others can have done to a queued coroutine: cancelled it, unwound it, given it switch handlers.
    if (detail::any(self.unwinding_, self.has_switch_handlers_, static_cast<bool>(waker.outcome_.error))) [[unlikely]] {
        waker.status_ = WakerStatus::result;
        finish_yield(self);
        return true;
    }
    waker.in_suspend_ = false;
    waker.status_ = WakerStatus::none;
    return true;
}

/// The same for a wait: steps 5 to 10 for a waker that is WAITING without a subscription. On return it is RESULT. False: nothing was done.
[[gnu::always_inline]] inline bool Scheduler::park_directly(CoroutineCore& self, CoroutineCore& next, const WaitPoint& at) {
    if (detail::any(self.has_switch_handlers_, self.fiber_ == nullptr, &self != current_)) [[unlikely]] { return false; }
    if (reactor_.poll_due_in_place()) [[unlikely]] {
        poll_found_due_ = true;
        return false;
    }
    static_cast<void>(ready_.pop_front());
    self.waker_.in_suspend_ = true;
    self.wait_ = &at;
    self.suspended_since_ = reactor_.now();
    prefetch_ready();
    ++switches_;
    Fiber::switch_to(*self.fiber_, *next.fiber_, globals_);
    current_ = &self;
    self.wait_ = nullptr;
    if (dead_context_ != nullptr) [[unlikely]] { reap(); }
    if (self.waker_.status_ == WakerStatus::queued) { self.waker_.status_ = WakerStatus::result; }
    if (self.has_switch_handlers_) [[unlikely]] { call_handlers(self, true, false); }
    if (self.unwinding_) [[unlikely]] { throw_unwind(self); }
    HEDDLE_ASSERT(self.waker_.status_ == WakerStatus::result, "INV-WAKE-04");
    return true;
}

void Scheduler::suspend_until_resumed(CoroutineCore& self, const WaitPoint& at) {
    if (self.unwinding_) { throw_unwind(self); }
    Waker& waker = self.waker_;
    struct Clean {
        Waker& waker;
        ~Clean() {
            if (waker.first_ != nullptr || waker.triggered_ != nullptr || waker.destructor_hook_ != nullptr) [[unlikely]] {
                waker.clean();
                return;
            }
            waker.outcome_ = {};
            waker.origin_ = Waker::Origin::none;
            waker.status_ = WakerStatus::none;
            waker.kept_ = false;
        }
    } clean{waker};
    if (!waker.is_clean()) { waker.clean(); }
    if (self.has_pending_ && self.protection_depth_ == 0) { deliver_pending(self); }
    waker.status_ = WakerStatus::waiting;
    CoroutineCore* const next = direct_successor();
    if (next == nullptr || !park_directly(self, *next, at)) [[unlikely]] { park(self, at); }
    finish_wait(self);
}

[[gnu::always_inline]] inline void Scheduler::yield_either_way(const WaitPoint& at) {
    CoroutineCore* const next = direct_successor();
    if (next != nullptr && current_ != scheduler_core_.get()) [[likely]] {
        if (yield_directly(*current_, *next, at)) [[likely]] { return; }
    }
    yield_the_long_way(at);
}

void Scheduler::yield_now(const WaitPoint& at) { yield_either_way(at); }

void Scheduler::yield_ambient(SourceLocation at) {
    Scheduler* const scheduler = ambient_scheduler();
    if (scheduler == nullptr || scheduler->state_ != State::active) [[unlikely]] { return; }
    scheduler->yield_either_way({"yield", at});
}

/// What the long way does after its switch.
void Scheduler::finish_yield(CoroutineCore& self) {
    if (self.has_switch_handlers_) { call_handlers(self, true, false); }
    if (self.unwinding_) { throw_unwind(self); }
    struct Clean {
        Waker& waker;
        ~Clean() { waker.clean(); }
    } clean{self.waker_};
    finish_wait(self);
}

void Scheduler::yield_the_long_way(const WaitPoint& at) {
    CoroutineCore& self = require_suspendable("yield");
    if (self.unwinding_) { throw_unwind(self); }
    Waker& waker = self.waker_;
    if (self.has_pending_ && self.protection_depth_ == 0 && !waker.outcome_.error) { deliver_pending(self); }
    waker.clean();
    waker.status_ = WakerStatus::queued;
    enqueue(self, false);
    if (observed()) [[unlikely]] { note(EventKind::yielded, self.label_); }
    park(self, at);
    struct Clean {
        Waker& waker;
        ~Clean() { waker.clean(); }
    } clean{waker};
    finish_wait(self);
}

/// Steps 5 to 10. On return the waker is RESULT; a start that threw comes out as its exception.
void Scheduler::park(CoroutineCore& self, const WaitPoint& at) {
    Waker& waker = self.waker_;
    waker.in_suspend_ = true;
    // What runs on this stack until control is back is not this coroutine's code: it must not see what it has caught (SCH-91).
    std::optional<ExceptionGuard> guard;
    if (!globals_.clean()) [[unlikely]] { guard.emplace(globals_); }
    if (waker.first_ != nullptr) {
        begin_phase();
        ErrorValue failure;
        try {
            waker.start_events();
        } catch (...) {
            failure = ErrorValue(std::current_exception());
        }
        end_phase();
        flush();
        if (waker.status_ == WakerStatus::result) {  // fast return
            waker.drop_subscriptions();
            note(EventKind::fast_return, self.label_);
            return;
        }
        if (failure && !waker.in_queue()) {  // else a cancellation came with it: that is the outcome, and it is on its way
            waker.in_suspend_ = false;
            waker.clean();
            guard.reset();
            failure.rethrow();
        }
    }
    if (self.has_switch_handlers_) [[unlikely]] { call_handlers(self, false, false); }
    note_wait(self, at);
    const bool switched = in_place_tick(self);
    current_ = &self;
    self.wait_ = nullptr;
    if (switched) {
        reap();
        if (waker.status_ == WakerStatus::queued) { waker.status_ = WakerStatus::result; }
        if (self.has_switch_handlers_) [[unlikely]] { call_handlers(self, true, false); }
    } else if (self.has_switch_handlers_) [[unlikely]] {
        call_handlers(self, true, false);
    }
    if (observed()) [[unlikely]] { note(EventKind::resumed, self.label_, {}, switched ? 1 : 0); }
    if (self.unwinding_) [[unlikely]] {
        guard.reset();
        throw_unwind(self);
    }
    HEDDLE_ASSERT(waker.status_ == WakerStatus::result, "INV-WAKE-04");
}

// ── the parts of a tick ──

void Scheduler::run_heartbeat() {
    if (!heartbeat_) [[likely]] { return; }
    note(EventKind::heartbeat);
    try {
        const NoSuspend region(*this);
        const std::shared_ptr<UniqueFunction<void()>> running = heartbeat_;  // it may install another one
        (*running)();
    } catch (...) {
        record_unhandled(ErrorValue(std::current_exception()));
    }
    flush();
}

/// SCH-61. Stops at the first throw; the rest stays queued, in order.
void Scheduler::drain_microtasks() {
    while (!microtasks_.empty()) {
        Microtask& task = microtasks_.pop();
        ErrorValue thrown;
        if (task.is_cancelled()) {
            note(EventKind::microtask_skipped);
        } else {
            note(EventKind::microtask_run);
            try {
                const NoSuspend region(*this);
                task.run();
            } catch (...) {
                thrown = ErrorValue(std::current_exception());
            }
        }
        task.drop_reference();
        if (thrown) {
            record_unhandled(std::move(thrown));
            break;
        }
    }
    flush();
}

bool Scheduler::poll_allowed(bool in_place) {
    if (may_choose()) [[unlikely]] {
        if (!options_.choose_polls) { return false; }
        reactor_.set_anchor(in_place ? current_->label_ : Label{});
    }
    if (std::exchange(poll_found_due_, false)) { return true; }
    return in_place ? reactor_.poll_due_in_place() : reactor_.poll_due(false);
}

void Scheduler::run_tick(TickMode mode) {
    if (observed()) [[unlikely]] {
        note(EventKind::tick_begin, {}, {}, mode == TickMode::may_block ? 1 : 0);
        reactor_.tick(mode);
        note(EventKind::tick_end);
    } else {
        reactor_.tick(mode);
    }
    flush();
}

void Scheduler::deliver(const Delivery& delivery) noexcept {
    if (observed()) [[unlikely]] {
        note(EventKind::step_begin, delivery.label, {}, 1);
        note(EventKind::delivered, delivery.label, {}, delivery.value, delivery.error, to_string(delivery.kind));
        for (const Touch& at : delivery.footprint) { observer_->on_touch(at.cell, at.mode); }
    }
    if (delivery.owner != nullptr) {
        try {
            const NoSuspend region(*this);
            delivery.owner->on_delivery(delivery);
        } catch (...) {
            record_unhandled(ErrorValue(std::current_exception()));  // RCT-9
        }
    }
    if (observed()) [[unlikely]] { note(EventKind::step_end, delivery.label, {}, 1); }
}

/// SCH-33, on the stack of the coroutine that suspends. True if another flow of control ran in between.
bool Scheduler::in_place_tick(CoroutineCore& self) {
    if (heartbeat_ || !microtasks_.empty() || pending_) [[unlikely]] {
        begin_phase();
        run_heartbeat();
        handle_pending();
        drain_microtasks();
        handle_pending();
        end_phase();
        flush();
    }
    if (observed()) [[unlikely]] { note(EventKind::step_end, self.label_); }
    if (!second_phase_ && poll_allowed(true)) [[unlikely]] {
        begin_phase();
        run_tick(TickMode::no_wait);
        handle_pending();
        end_phase();
        flush();
    }
    if (self.waker_.status_ == WakerStatus::result) {  // late fast return
        if (observed()) [[unlikely]] { note(EventKind::step_begin, self.label_); }
        return false;
    }
    if (!ready_.empty() && !second_phase_ && !terminal_due_) {
        if (ready_.size() > 3) {
            // Those who wait for the world come with system calls between them: two ahead is far enough, also where they are few.
            __builtin_prefetch(&ready_[3]->waker_);
            __builtin_prefetch(&ready_[3]->fiber_);
            if (const Fiber* fiber = ready_[2]->fiber_; fiber != nullptr) { __builtin_prefetch(fiber); }
            if (const Fiber* fiber = ready_[1]->fiber_; fiber != nullptr) { fiber->prefetch(); }
        }
        CoroutineCore& next = take_next();
        if (&next == &self) {
            self.waker_.status_ = WakerStatus::result;
            if (observed()) [[unlikely]] { note(EventKind::step_begin, self.label_); }
            return false;
        }
        dispatch_from(self, next);
    } else {
        to_scheduler(fiber_of(self), Entry::after_dispatch);
    }
    if (observed()) [[unlikely]] {
        current_ = &self;
        note(EventKind::step_begin, self.label_);
    }
    return true;
}

/// SCH-38 from a coroutine's own stack.
void Scheduler::dispatch_from(CoroutineCore& self, CoroutineCore& next) {
    if (next.waker_.status_ == WakerStatus::ignored) {
        current_ = &next;
        finalize(next);
        to_scheduler(fiber_of(self), Entry::after_dispatch);
        return;
    }
    if (!next.started_) { attach(next, acquire_context()); }
    if (observed()) [[unlikely]] { note(EventKind::switched, self.label_, next.label_); }
    switch_to(fiber_of(self), fiber_of(next));
}

// ── the loop (SCH-39) ──

bool Scheduler::loop_continues() const {
    // SCH-73: once shutdown has begun, events that nobody owns no longer keep the application going.
    return !registry_.empty() || !microtasks_.empty() || (reactor_.alive() && !shutting_down_);
}

/// Goes round the loop until a coroutine is to be dispatched on the caller's stack. Null: control belongs to the scheduler coroutine
/// (host given: it is at `scheduler_entry_point_`), or the loop has ended (no host).
CoroutineCore* Scheduler::next_to_run(Context* host, Entry entry) {
    const bool on_scheduler = host == nullptr;
    current_ = scheduler_core_.get();
    for (;; entry = Entry::after_dispatch) {
        bool had_ready = false;
        if (entry == Entry::after_dispatch) {
            handle_pending();
            if (second_phase_ || terminal_due_ || unwind_deadlocked_ || !loop_continues()) {
                if (!on_scheduler) {
                    scheduler_entry_point_ = Entry::after_dispatch;
                    return nullptr;
                }
                if (second_phase_) { return nullptr; }
                if (terminal_due_ || unwind_deadlocked_) {
                    unwind_rest();
                    continue;
                }
                return nullptr;
            }
            begin_phase();
            run_heartbeat();
            handle_pending();
            drain_microtasks();
            handle_pending();
            had_ready = !ready_.empty();
            if (!had_ready && !on_scheduler) {  // SCH-43(d): the scheduler coroutine continues this iteration
                end_phase();
                flush();
                scheduler_entry_point_ = Entry::poll;
                return nullptr;
            }
        } else {
            begin_phase();
        }
        if (second_phase_) {
            end_phase();
            flush();
            continue;
        }
        if (!had_ready) {
            // A throw left microtasks behind, or an error is pending: no reason to sleep (SCH-41).
            const bool idle = microtasks_.empty() && ready_.empty() && !pending_;
            if (idle) { note(EventKind::quiescent); }
            const bool done = registry_.empty() && shutting_down_;
            if (may_choose()) { reactor_.set_anchor({}); }
            run_tick(idle && !done ? TickMode::may_block : TickMode::no_wait);
        } else if (poll_allowed(false)) {
            run_tick(TickMode::no_wait);
        }
        flush();
        end_phase();
        handle_pending();
        if (second_phase_ || terminal_due_) { continue; }
        if (had_ready && !ready_.empty()) {
            CoroutineCore& next = take_next();
            if (next.waker_.status_ != WakerStatus::ignored) { return &next; }
            current_ = &next;
            finalize(next);
            current_ = scheduler_core_.get();
            continue;
        }
        if (ready_.empty() && microtasks_.empty() && !registry_.empty() && !reactor_.alive() && on_scheduler && !pending_) {
            resolve_deadlock();
        }
    }
}

void Scheduler::scheduler_main() {
    for (;;) {
        CoroutineCore* next = next_to_run(nullptr, scheduler_entry_point_);
        scheduler_entry_point_ = Entry::after_dispatch;
        if (next == nullptr) {
            if (second_phase_) { run_second_phase(); }
            leave_loop();
            return;
        }
        if (!next->started_) { attach(*next, acquire_context()); }
        if (observed()) [[unlikely]] { note(EventKind::switched, loop_label_, next->label_); }
        switch_to(scheduler_context_->fiber, fiber_of(*next));
        current_ = scheduler_core_.get();
        reap();
    }
}

// ── contexts ──

void Scheduler::scheduler_entry(void* argument) {
    Scheduler& self = *static_cast<Scheduler*>(argument);
    self.scheduler_main();
    Context& context = *self.scheduler_context_;
    self.leave_for_good(context, self.main_fiber_);
}

void Scheduler::context_entry(void* argument) {
    Context& context = *static_cast<Context*>(argument);
    context.scheduler->context_main(context);
}

void Scheduler::context_main(Context& context) {
    reap();
    for (;;) {
        run_hosted(*context.hosted);
        context.hosted = nullptr;
        CoroutineCore* next = nullptr;
        if (!unwinding_rest_ && options_.hand_over) {
            next = next_to_run(&context, Entry::after_dispatch);
        } else {
            scheduler_entry_point_ = Entry::after_dispatch;
        }
        if (next == nullptr) {
            retire(context, scheduler_context_->fiber);
        } else if (!next->started_) {
            attach(*next, context);  // SCH-43(a): starts here, no switch
        } else {
            if (observed()) [[unlikely]] { note(EventKind::switched, loop_label_, next->label_); }
            retire(context, fiber_of(*next));
        }
        // Here again with a new coroutine: handed over, or taken from the pool.
    }
}

/// Puts the context into the pool, or ends it, and switches away; returns when it hosts somebody again.
void Scheduler::retire(Context& context, Fiber& to) {
    if (pool_accepts()) {
        pool_.push_back(&context);
        note(EventKind::context_pooled);
        switch_to(context.fiber, to);
        reap();
        return;
    }
    leave_for_good(context, to);
}

bool Scheduler::pool_accepts() const {
    return options_.pool_contexts && !loop_ended_ && (pool_.size() < 4 || pool_.size() < ready_.size());
}

Context& Scheduler::acquire_context() {
    if (!pool_.empty()) {
        Context& context = *pool_.back();
        pool_.pop_back();
        note(EventKind::context_reused);
        return context;
    }
    const Stack whole = stacks_->acquire();
    // The context lives above the first frame of its own stack: no allocation, and one page for both.
    constexpr std::size_t reserved = (sizeof(Context) + 63) & ~std::size_t{63};
    Stack usable = whole;
    usable.top -= reserved;
    Context* context = ::new (static_cast<void*>(usable.top)) Context;
    context->stack = whole;
    context->scheduler = this;
    context->fiber.create(usable, &Scheduler::context_entry, context);
    ++live_contexts_;
    note(EventKind::context_created);
    return *context;
}

void Scheduler::destroy_context(Context& context) {
    HEDDLE_ASSERT(context.hosted == nullptr, "INV-SCHED-22");
    const Stack stack = context.stack;
    context.fiber.destroy();
    context.~Context();
    stacks_->release(stack);
    --live_contexts_;
    note(EventKind::context_destroyed);
}

void Scheduler::attach(CoroutineCore& coroutine, Context& context) {
    HEDDLE_ASSERT(context.hosted == nullptr && coroutine.context_ == nullptr, "INV-SCHED-22");
    context.hosted = &coroutine;
    coroutine.context_ = &context;
    coroutine.fiber_ = &context.fiber;
}

Fiber& Scheduler::fiber_of(CoroutineCore& coroutine) {
    if (coroutine.is_main_) { return main_fiber_; }
    if (&coroutine == scheduler_core_.get()) { return scheduler_context_->fiber; }
    return coroutine.context_->fiber;
}

void Scheduler::switch_to(Fiber& from, Fiber& to) {
    ++switches_;
    Fiber::switch_to(from, to, globals_);
}

/// A run that goes on for ever would stop a search: its bound makes it a violation, and the world keeps its trace.
void Scheduler::report_endless() {
    report_violation({"INV-LIVE-01", "the run made more than " + std::to_string(options_.dispatches_max) + " dispatches: livelock",
                      __FILE__, __LINE__});
}

void Scheduler::leave_for_good(Context& context, Fiber& to) {
    HEDDLE_ASSERT(dead_context_ == nullptr, "one context dies at a time");
    dead_context_ = &context;
    ++switches_;
    Fiber::switch_away_for_good(context.fiber, to, globals_);
}

void Scheduler::to_scheduler(Fiber& from, Entry entry) {
    scheduler_entry_point_ = entry;
    switch_to(from, scheduler_context_->fiber);
}

/// Gives back the stack of a context that was left for good by the switch that brought us here.
void Scheduler::reap() {
    if (Context* dead = std::exchange(dead_context_, nullptr); dead != nullptr) [[unlikely]] { destroy_context(*dead); }
}

}  // namespace heddle
