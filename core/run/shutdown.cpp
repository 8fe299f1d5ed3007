// SPDX-License-Identifier: Apache-2.0
// Launch, unhandled errors, graceful shutdown, the second phase, and the end of a run (SCH-2 to SCH-5, SCH-65 to SCH-75).
//
//   ACTIVE ──unhandled error or shutdown()──▶ shutting down: everybody is cancelled, the loop goes on (SCH-67, SCH-69)
//     │                                          │ another unhandled error
//     │                                          ▼
//     │                                       second phase: sweep again, dispatch what is ready, no blocking (SCH-70)
//     └──registry, microtasks, events empty──────┴──▶ leave the loop: closes, last drain, terminal unwinding (SCH-71, SCH-72)
//
// X1  An error is handled at a handling point, never thrown out of the place where it was noticed (SCH-65).
// X2  Shutdown starts at most once per run; the second phase ends unconditionally (INV-SHUT-01, INV-SHUT-06).
// X3  A cancellation is never an exit exception (INV-CAN-08).
#include <algorithm>
#include <cstdio>

#include "heddle/core/run/finally_run.hpp"
#include "heddle/core/run/scheduler.hpp"
#include "heddle/core/run/unwind.hpp"

namespace heddle {

/// The flow that called run(): it has no entry of its own kind, run() executes it (SCH-3).
class Scheduler::MainCoroutine final : public CoroutineCore {
public:
    MainCoroutine(Scheduler& scheduler, UniqueFunction<void()> entry) : CoroutineCore(scheduler), entry_(std::move(entry)) {}

private:
    void run_entry() override {
        struct Drop {
            UniqueFunction<void()>& entry;
            ~Drop() { entry.reset(); }
        } drop{entry_};
        entry_();
    }
    void drop_entry() noexcept override { entry_.reset(); }
    void drop_result() noexcept override {}
    UniqueFunction<void()> entry_;
};

/// The runtime's own coroutine: never registered, never finished; its flow is scheduler_main.
class Scheduler::SchedulerCoroutine final : public CoroutineCore {
public:
    explicit SchedulerCoroutine(Scheduler& scheduler) : CoroutineCore(scheduler) {}

private:
    void run_entry() override {}
    void drop_entry() noexcept override {}
    void drop_result() noexcept override {}
};

Scheduler::Scheduler(Reactor& reactor, const RuntimeOptions& options, Runtime& runtime)
    : reactor_(reactor), runtime_(runtime), options_(options), globals_(exception_globals()) {
    adopt_options();
    stacks_ = options_.stack_pool;
    if (stacks_ == nullptr) {
        own_stacks_ = std::make_unique<StackPool>(options_.stack);
        stacks_ = own_stacks_.get();
    }
    state_ = State::ready;
}

void Scheduler::adopt_options() {
    observer_ = options_.observer;
    labels_ = options_.labels;
    if (labels_ == nullptr && (may_choose() || observed())) {
        own_labels_ = std::make_unique<LabelBook>();
        labels_ = own_labels_.get();
    }
    if (labels_ != nullptr) { loop_label_ = labels_->root(options_.name == "main" ? "loop" : std::string(options_.name) + ".loop"); }
    private_scope_ = make_scope(nullptr, true, "scheduler");
    private_scope_->private_ = true;
    scheduler_core_ = Ref<CoroutineCore>(new SchedulerCoroutine(*this));
    scheduler_core_->label_ = loop_label_;
    scheduler_core_->scope_ = private_scope_.get();
}

void Scheduler::renew(const RuntimeOptions& options) {
    HEDDLE_ASSERT(state_ != State::active, "a runtime is renewed between runs");
    options_ = options;
    observer_ = nullptr;  // what is left of the earlier run is no part of the next one
    drop_own_scopes();
    HEDDLE_ASSERT(root_scopes_.empty(), "no scope of an earlier run is left");
    last_coroutine_id_ = last_scope_id_ = spawned_ = switches_ = dispatches_ = 0;
    main_start_handlers_.clear();
    heartbeat_.reset();
    exit_ = pending_ = {};
    if (labels_ != nullptr) { labels_->reset(); }
    adopt_options();
}

Scheduler::~Scheduler() {
    HEDDLE_ASSERT(state_ != State::active, "a runtime outlives its run");
    // A handle may outlive its runtime; what it keeps has nobody to be reported to then.
    while (CoroutineCore* coroutine = kept_errors_.front()) { coroutine->forget_kept_error(); }
    main_core_.reset();
    drop_own_scopes();
    while (objects_.pop_front() != nullptr) {}  // RO1
}

/// The scopes that the runtime made for itself go without finally handlers: nothing of a program lives in them any more.
void Scheduler::drop_own_scopes() {
    ScopeCore::end_all(*this);  // handles that outlive the runtime hold something inert
    if (scheduler_core_) {
        scheduler_core_->scope_ = nullptr;
        scheduler_core_.reset();
    }
    for (Ref<ScopeCore>* scope : {&private_scope_, &main_scope_}) {
        if (!*scope) { continue; }
        std::erase(root_scopes_, scope->get());
        (*scope)->terminated_ = true;
        (*scope)->drop_reference();  // the structure's own
        scope->reset();
    }
}

void Scheduler::launch(SourceLocation at) {
    globals_ = exception_globals();
    reactor_.startup(*this);
    shutting_down_ = second_phase_ = loop_ended_ = false;
    deadlock_seen_ = unwind_deadlocked_ = terminal_due_ = unwinding_rest_ = false;
    last_deadlock_size_ = 0;
    never_executed_ = 0;
    epilogue_expiries_ = 0;
    exit_ = {};
    pending_ = {};
    if (!main_scope_) {
        main_scope_ = make_scope(nullptr, true, "main");
        main_scope_->main_ = true;
    }
    scheduler_entry_point_ = Entry::after_dispatch;
    scheduler_context_ = nullptr;
    Context& context = acquire_context();
    context.fiber.destroy();
    Stack usable = context.stack;
    usable.top = reinterpret_cast<std::byte*>(&context);
    context.fiber.create(usable, &Scheduler::scheduler_entry, this);
    scheduler_context_ = &context;
    CoroutineCore& main = *main_core_;
    main.is_main_ = true;
    main.fiber_ = &main_fiber_;
    main.name_ = options_.name.data();
    main.name_size_ = static_cast<std::uint32_t>(options_.name.size());
    main.spawn_file_ = at.file_name();
    main.spawn_line_ = at.line();
    if (labels_ != nullptr) { main.label_ = labels_->root(options_.name); }
    state_ = State::active;
    exchange_ambient_scheduler(this);  // main-start handlers already speak from inside
    main_scope_->add_member(main, false);
    register_coroutine(main);
    main.started_ = true;
    current_ = &main;
    if (observed()) [[unlikely]] {
        note(EventKind::spawned, main.label_, main_scope_->label(), static_cast<std::int64_t>(main.id_.value));
        note(EventKind::step_begin, main.label_);
        note(EventKind::started, main.label_);
    }
    if (!main_start_handlers_.empty()) {
        main.extras().switch_handlers = main_start_handlers_;
        main.has_switch_handlers_ = true;
        call_handlers(main, true, false);
    }
}

void Scheduler::run(UniqueFunction<void()> entry, SourceLocation at) {
    if (state_ == State::active) { throw AsyncError("run: the runtime is running already"); }
    Scheduler* const outer = ambient_scheduler();
    if (outer != nullptr && !(options_.shares_thread && outer->options_.shares_thread)) {
        throw AsyncError("run: another runtime is running on this thread");
    }
    main_core_ = Ref<CoroutineCore>(new MainCoroutine(*this, std::move(entry)));
    launch(at);
    execute(*main_core_);
    finalize(*main_core_);
    scheduler_entry_point_ = Entry::after_dispatch;
    switch_to(main_fiber_, scheduler_context_->fiber);
    reap();
    conclude();
    exchange_ambient_scheduler(outer);
    if (exit_) { exit_.rethrow(); }
}

void Scheduler::conclude() {
    note(EventKind::run_ended, {}, {}, exit_ ? 1 : 0);
    state_ = State::ready;  // what main held, and a callback of what completes only now, find no run that they could add to
    main_core_.reset();
    current_ = nullptr;
    scheduler_context_ = nullptr;
    reactor_.shutdown();
    HEDDLE_ASSERT(registry_.empty() && ready_.empty() && microtasks_.empty() && active_count_ == 0, "INV-SHUT-05");
    HEDDLE_ASSERT(live_contexts_ == 0, "INV-SHUT-05");
}

// ── unhandled errors ──

void Scheduler::record_unhandled(ErrorValue error) {
    if (!error || error.is_cancellation()) { return; }  // CAN-16
    note(EventKind::unhandled, current_ != nullptr ? current_->label_ : Label{}, {}, 0, 0,
         observed() ? std::string_view(error.describe()) : std::string_view());
    if (state_ != State::active) {
        seen("runtime.error_after_the_run");  // ERR-9: a diagnostic, never thrown
        return;
    }
    touch(loop_label_, "unhandled", TouchMode::write);  // which is the newest shows (SCH-74)
    pending_ = error.with_previous(pending_);
}

void Scheduler::handle_pending() {
    if (!pending_) [[likely]] { return; }
    const ErrorValue error = std::exchange(pending_, {});
    exit_ = error.with_previous(exit_);
    if (loop_ended_ || second_phase_ || unwinding_rest_) { return; }  // collected into the chain
    if (!shutting_down_) {
        shutting_down_ = true;
        note(EventKind::shutdown_begun);
        sweep(ErrorValue::make<AsyncCancellation>("graceful shutdown"));
    } else {
        begin_second_phase();
    }
}

void Scheduler::shutdown(const ErrorValue& reason) {
    if (reason && !reason.is_cancellation()) { throw ValueError("shutdown: the reason must be a Cancellation, found " + reason.describe()); }
    if (state_ != State::active) { return; }
    touch(loop_label_, "unhandled", TouchMode::write);  // the first of them begins it, an error after that the second phase
    if (shutting_down_) { return; }
    shutting_down_ = true;
    note(EventKind::shutdown_begun);
    if (pending_) { exit_ = std::exchange(pending_, {}).with_previous(exit_); }
    sweep(reason ? reason : ErrorValue::make<AsyncCancellation>("graceful shutdown"));
}

/// Cancels every registered coroutine in registry order, zombies and protected ones included (SCH-67, SCH-68).
void Scheduler::sweep(const ErrorValue& reason) {
    std::vector<Ref<CoroutineCore>> targets;
    targets.reserve(registry_.size());
    for (CoroutineCore* c = registry_.front(); c != nullptr; c = registry_.next(*c)) { targets.emplace_back(c); }
    const bool outer_phase = in_phase_;
    begin_phase();
    for (const Ref<CoroutineCore>& c : targets) {
        if (c->finished_) { continue; }
        if (c->started_) { remove_protection(*c); }
        cancel(*c, CancelKind::forced, reason);
    }
    in_phase_ = outer_phase;
    flush();
}

void Scheduler::begin_second_phase() {
    second_phase_ = true;
    second_phase_budget_ = 64 * (static_cast<std::uint64_t>(registry_.size()) + 1);
    note(EventKind::second_phase);
    disarm_epilogue();
    sweep(ErrorValue::make<AsyncCancellation>("graceful shutdown"));
}

/// SCH-70, in the scheduler coroutine: dispatches what is ready, without polling, then drains once.
void Scheduler::run_second_phase() {
    while (!ready_.empty() && second_phase_budget_ > 0) {
        --second_phase_budget_;
        CoroutineCore& next = take_next();
        if (next.waker_.status_ == WakerStatus::ignored) {
            current_ = &next;
            finalize(next);
        } else {
            if (!next.started_) { attach(next, acquire_context()); }
            switch_to(scheduler_context_->fiber, fiber_of(next));
            reap();
        }
        current_ = scheduler_core_.get();
        handle_pending();
    }
    begin_phase();
    drain_microtasks();
    end_phase();
    handle_pending();
}

/// SCH-71.
void Scheduler::leave_loop() {
    current_ = scheduler_core_.get();
    loop_ended_ = true;
    disarm_epilogue();
    begin_phase();
    for (int round = 0; round < 8 && reactor_.has_closing(); ++round) { run_tick(TickMode::no_wait); }
    drain_microtasks();
    end_phase();
    handle_pending();
    unwind_rest();
    while (!microtasks_.empty()) {
        Microtask& task = microtasks_.pop();
        note(EventKind::microtask_dropped);
        ++never_executed_;
        task.drop_reference();
    }
    handle_pending();
    for (Context* context : std::exchange(pool_, {})) { destroy_context(*context); }
}

// ── terminal unwinding (SCH-72) ──

void Scheduler::throw_unwind(CoroutineCore& coroutine) {
    coroutine.waker_.in_suspend_ = false;
    coroutine.waker_.status_ = WakerStatus::none;
    if (++coroutine.extras().unwinds > UnwindToken::throws_max) {
        report_violation({"SCH-72", coroutine.title() + " swallowed the unwinding token " + std::to_string(UnwindToken::throws_max) + " times",
                          __FILE__, __LINE__});
    }
    throw UnwindToken{};
}

void Scheduler::unwind(CoroutineCore& coroutine) {
    Waker& waker = coroutine.waker_;
    if (waker.in_queue()) {
        for (std::size_t i = 0; i < ready_.size(); ++i) {
            if (ready_[i] == &coroutine) {
                ready_.take(i);
                break;
            }
        }
        waker.status_ = WakerStatus::none;
    }
    waker.clean();
    coroutine.has_pending_ = coroutine.has_deferred_ = false;
    if (coroutine.extras_) { coroutine.extras_->pending = coroutine.extras_->deferred = {}; }
    coroutine.unwinding_ = true;
    note(EventKind::unwound, coroutine.label_);
    if (!coroutine.started_) {
        ++never_executed_;
        current_ = &coroutine;
        finalize(coroutine);
    } else {
        switch_to(scheduler_context_->fiber, fiber_of(coroutine));
        reap();
    }
    current_ = scheduler_core_.get();
}

/// Newest first, so that a child, which may refer to its parent's locals, goes before it; main goes last.
void Scheduler::unwind_rest() {
    unwinding_rest_ = true;
    while (CoroutineCore* newest = registry_.back()) {
        unwind(*newest);
        handle_pending();
    }
    unwinding_rest_ = false;
    unwind_deadlocked_ = terminal_due_ = false;
    active_count_changed();
}

RuntimeStatistics Scheduler::statistics() const {
    return {active_count_,   registry_.size(), ready_.size(), microtasks_.size(), reactor_.active_events(),
            live_contexts_,  pool_.size(),     spawned_,      switches_,          never_executed_};
}

bool Scheduler::add_microtask(Microtask& task) {
    if (state_ != State::active) { throw AsyncError("add_microtask: the runtime is not running"); }
    const bool added = microtasks_.add(task);
    if (added) { note(EventKind::microtask_added); }
    return added;
}

UniqueFunction<void()> Scheduler::set_heartbeat(UniqueFunction<void()> handler) {
    // Shared with what is handed back: the previous one may be the one that is running.
    std::shared_ptr<UniqueFunction<void()>> previous = std::move(heartbeat_);
    heartbeat_ = handler ? std::make_shared<UniqueFunction<void()>>(std::move(handler)) : nullptr;
    if (!previous) { return {}; }
    return [previous = std::move(previous)] { (*previous)(); };
}

void Scheduler::report(Diagnostic diagnostic) noexcept {
    try {
        if (diagnostic.error) { diagnostic.text += ": " + diagnostic.error.describe(); }
        note(EventKind::reported, {}, {}, 0, 0, diagnostic.text);
        if (options_.on_diagnostic) {
            const NoSuspend region(*this);
            options_.on_diagnostic(diagnostic);
        } else if (observer_ == nullptr) {
            std::fprintf(stderr, "heddle: %s\n", diagnostic.text.c_str());
        }
    } catch (...) {
        // A sink that fails has nobody to tell it to (CV-10).
        seen("report.sink_failed");
    }
}

Label Scheduler::object_label(std::string_view kind) {
    if (labels_ == nullptr) { return {}; }
    const bool from_coroutine = !in_phase_ && current_ != nullptr && current_->label_;
    return labels_->child(from_coroutine ? current_->label_ : loop_label_, kind);
}

Subscription* Scheduler::new_subscription() {
    if (!free_subscriptions_.empty()) {
        Subscription* node = free_subscriptions_.back();
        free_subscriptions_.pop_back();
        return node;
    }
    all_subscriptions_.push_back(std::make_unique<Subscription>());
    return all_subscriptions_.back().get();
}

void Scheduler::free_subscription(Subscription* node) {
    node->function_.reset();
    node->held_.reset();
    node->next_ = node->next_triggered_ = nullptr;
    node->first_for_event_ = node->started_ = node->triggered_ = false;
    free_subscriptions_.push_back(node);
}

}  // namespace heddle
