// SPDX-License-Identifier: Apache-2.0
// Scheduler: who runs next in one runtime (docs/spec/01-scheduler.md). The innermost part of core; programs use runtime.hpp.
//
//   coroutine ──suspend──▶ in-place tick on its own stack ──▶ head of the ready queue, one switch (SCH-33, SCH-35)
//                                │ nothing ready
//                                ▼
//   scheduler coroutine: heartbeat · microtasks · reactor tick · dispatch · deadlock check · repeat (SCH-39)
//                                ▲
//   context whose coroutine ended ── goes round the same loop on its own stack (SCH-43)
//
// D1  A coroutine is in the ready queue iff its waker is queued or ignored, and once (INV-SCHED-02).
// D2  `current_` is the coroutine whose code runs, or the scheduler's own; user code never sees a finished one (INV-SCHED-04).
// D3  What wakes a coroutine only queues it: nobody runs inside a wake, a cancel or a notification (INV-CAN-04).
// D4  While user code runs the scheduler-phase flag is clear (INV-SCHED-19).
// D5  One place switches stacks: switch_to below, through Fiber.
// Choice points: dispatch (SCH-24, only with any_order), poll (SCH-36); the reactor asks the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "heddle/core/base/ring.hpp"
#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/coroutine.hpp"
#include "heddle/core/run/fiber.hpp"
#include "heddle/core/run/microtasks.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime_object.hpp"
#include "heddle/core/run/scope.hpp"
#include "heddle/core/run/stack_pool.hpp"
#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/observer.hpp"
#include "heddle/core/seam/reactor.hpp"

namespace heddle {

class FinallyRun;
class Runtime;

#if defined(HEDDLE_WITHOUT_DOORS)
inline constexpr bool has_doors = false;
#else
inline constexpr bool has_doors = true;
#endif

/// A stack and the flow of control on it; hosts coroutines one after another (SCH-46). Lives at the top of its own stack, so that a
/// parked coroutine costs no allocation for it.
struct Context {
    Fiber fiber;
    Stack stack;
    CoroutineCore* hosted = nullptr;
    Scheduler* scheduler = nullptr;
};

/// What goes to the error sink: an error that has nowhere else to go, or a remark about a misuse (CV-10, FUT-20).
struct Diagnostic {
    std::string text;
    ErrorValue error{};
};

struct RuntimeOptions {
    StackOptions stack{};
    StackPool* stack_pool = nullptr;   ///< shared by worlds that follow each other; null: the runtime has its own
    Chooser* chooser = nullptr;        ///< null in production
    Observer* observer = nullptr;      ///< null in production
    LabelBook* labels = nullptr;       ///< null: the runtime owns one while a chooser or observer is attached
    std::string_view name = "main";    ///< label of its main coroutine; a node's name in a world of several
    bool any_order = false;            ///< ask which ready coroutine runs (CP-DISPATCH)
    bool name_points = true;           ///< label dispatch questions and suspension points; off: they are nameless, for a search that counts
    bool choose_polls = true;          ///< with a chooser: ask whether to poll (CP-POLL)
    Duration zombie_timeout = std::chrono::seconds(2);  ///< ZOM-12
    bool hand_over = true;             ///< SCH-43; off for the comparison of SCH-44
    bool pool_contexts = true;         ///< SCH-45; likewise
    /// SCH-34; off: who is woken in its own tick queues as everybody does, for a world that asks which of all ready ones runs anyway.
    bool return_in_place = true;
    std::uint64_t dispatches_max = 0;    ///< dispatches after which a run counts as endless (INV-LIVE-01); 0: no bound
    bool report_deadlocks = false;     ///< dump who waits for what to standard error (SCH-55.3)
    std::function<void(CoroutineHandle, ScopeRef)> on_zombie{};  ///< a coroutine became a zombie (ZOM-21); for logging, must not suspend
    /// The error sink (CV-10); must not throw or suspend. Empty: one line on standard error, or none where an Observer sees it.
    std::function<void(const Diagnostic&)> on_diagnostic{};
    bool shares_thread = false;        ///< one of a World's nodes, which hand the ambient runtime over at each switch
};

/// Counts that stay readable after a run (SCH-4, SCH-71).
struct RuntimeStatistics {
    std::size_t active = 0;            ///< registered coroutines that are not zombies
    std::size_t registered = 0;
    std::size_t ready = 0;
    std::size_t microtasks = 0;
    std::size_t active_events = 0;
    std::size_t live_contexts = 0;
    std::size_t pooled_contexts = 0;
    std::uint64_t spawned = 0;
    std::uint64_t switches = 0;        ///< native stack switches
    std::size_t never_executed = 0;    ///< microtasks, coroutines and finally handlers left at the end of the run
};

/// A line of the register (ZOM): who, in which scope, spawned where, suspended where, since when.
struct CoroutineRecord {
    CoroutineId id;
    std::string title;
    ScopeId scope;
    CoroutineState state = CoroutineState::created;
    bool zombie = false;
    std::string spawned_at;
    std::string suspended_at;
    std::string waits_for;
    Instant since;
};

/// What SpawnOptions asks of the place where a coroutine is born (SCH-14, SCH-17).
struct SpawnOptions {
    Name name{"task"};
    ScopeRef scope{};                           ///< explicit scope; empty: provider, then the current one
    std::function<ScopeRef()> provider{};       ///< may return an empty ref: "use the default"; may throw
    Priority priority = Priority::normal;
    std::function<void(CoroutineHandle)> before{};  ///< spawn hooks (SCH-17, SCH-18); must not suspend
    std::function<void(CoroutineHandle)> after{};
};

class Scheduler final : private ReactorSink {
public:
    enum class State : std::uint8_t { off, ready, active };

    Scheduler(Reactor& reactor, const RuntimeOptions& options, Runtime& runtime);
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // ── life (SCH-1 to SCH-5) ──

    void run(UniqueFunction<void()> main, SourceLocation at);
    [[nodiscard]] State state() const { return state_; }
    /// As if made anew with these options, for a world that runs one schedule after another: ids, labels and counters begin again, memory
    /// stays. Requires: not ACTIVE, and no handle, scope or event of an earlier run is left.
    void renew(const RuntimeOptions& options);
    /// The chain of the last run's exit exception, newest first; empty if it ended well (SCH-74).
    [[nodiscard]] const ErrorValue& exit_error() const { return exit_; }
    [[nodiscard]] RuntimeStatistics statistics() const;

    // ── spawning (SCH-12 to SCH-18) ──

    /// Takes a created coroutine through SCH-17. Consumes it if it throws.
    void spawn(CoroutineCore& coroutine, const SpawnOptions& options, SourceLocation at, bool internal);
    void spawn_internal(CoroutineCore& coroutine, ScopeCore& scope, Priority priority, Name name, FinallyRun* finally_run);

    // ── waiting and waking ──

    /// SCH-30. Throws what the wait ends with.
    void suspend(const WaitPoint& at);
    /// The same without an event: only `resume` by whoever knows of the wait, or a cancellation, ends it. For waits that nobody watches.
    /// @param self  the running coroutine, as require_suspendable gives it
    void suspend_until_resumed(CoroutineCore& self, const WaitPoint& at);
    /// `resume` for such a wait, with nothing to tell it. Requires: it goes on.
    void end_wait(CoroutineCore& coroutine) {
        if (observed()) [[unlikely]] {
            resume(coroutine, nullptr, {});
            return;
        }
        Waker& waker = coroutine.waker_;
        HEDDLE_ASSERT(waker.status_ == WakerStatus::waiting && !waker.has_subscriptions(), "W1");
        waker.origin_ = Waker::Origin::event;
        const bool own_tick = in_phase_ && &coroutine == current_;  // it goes on at once (SCH-34)
        waker.status_ = own_tick ? WakerStatus::result : WakerStatus::queued;
        if (!own_tick) { ready_.push_back(&coroutine); }
    }
    /// Steps 1 and 2 for calls that may turn out not to wait at all.
    void yield_now(const WaitPoint& at);
    /// The same for the ambient scheduler; nothing where none is active (SCH-1).
    static void yield_ambient(SourceLocation at);
    /// First event wins (WKR-9, WKR-10): true if this call decided the wait. Throws AsyncError "not suspended".
    bool resume(CoroutineCore& coroutine, EventSource* by, const Outcome& outcome);
    /// Waits until `target` finished and throws its error, if any (AWT-1). @param token may be null
    void await_finished(CoroutineCore& target, EventSource* token, const WaitPoint& at);
    void cancel(CoroutineCore& coroutine, CancelKind kind, const ErrorValue& reason);
    void as_hi_priority(CoroutineCore& coroutine);
    /// Throws AsyncError outside a coroutine, in a scheduler phase, in a non-suspendable region (SCH-25, SCH-28).
    CoroutineCore& require_current(const char* operation) const;
    CoroutineCore& require_suspendable(const char* operation) const;
    [[nodiscard]] CoroutineCore* current() const { return current_; }
    [[nodiscard]] bool in_scheduler_phase() const { return in_phase_; }
    [[nodiscard]] bool in_coroutine() const { return state_ == State::active && !in_phase_ && current_ != nullptr && current_ != &*scheduler_core_; }

    /// What require_suspendable would say.
    [[nodiscard]] bool may_suspend() const { return in_coroutine() && no_suspend_ == 0; }

    // ── microtasks, heartbeat, switch handlers ──

    bool add_microtask(Microtask& task);
    UniqueFunction<void()> set_heartbeat(UniqueFunction<void()> handler);
    std::size_t add_switch_handler(CoroutineCore* coroutine, SwitchHandler& handler);
    void remove_switch_handler(CoroutineCore& coroutine, SwitchHandler& handler);

    // ── errors and the end (SCH-65 to SCH-75) ──

    void record_unhandled(ErrorValue error);
    /// An error that arose without a coroutine, on behalf of a scope (ERR-11): a fresh internal coroutine of it, or of a child of it if it
    /// is not open, throws the error, which then takes the way of ERR-1. Legal in a scheduler phase. A cancellation is dropped.
    void report_for_scope(ScopeCore& scope, ErrorValue error);
    /// To the error sink. Legal at any time; never throws.
    void report(Diagnostic diagnostic) noexcept;
    void shutdown(const ErrorValue& reason);
    [[nodiscard]] bool is_shutting_down() const { return shutting_down_; }
    [[nodiscard]] bool has_second_phase_begun() const { return second_phase_; }
    [[nodiscard]] bool has_pending_error() const { return static_cast<bool>(pending_); }

    // ── finally handlers (FIN) ──

    void add_finally(CoroutineCore& coroutine, UniqueFunction<void(CoroutineHandle)> handler);

    // ── protection (PRT) ──

    void make_pending(CoroutineCore& coroutine, ErrorValue reason);
    void remove_protection(CoroutineCore& coroutine);
    void end_wait_with(CoroutineCore& coroutine, const ErrorValue& reason);

    // ── parts ──

    [[nodiscard]] Reactor& reactor() const { return reactor_; }
    [[nodiscard]] Runtime& runtime() const { return runtime_; }
    [[nodiscard]] ScopeCore* main_scope() const { return main_scope_.get(); }
    [[nodiscard]] ScopeCore* current_scope() const;
    Ref<ScopeCore> make_scope(ScopeCore* parent, bool safe, std::string_view name);
    [[nodiscard]] Chooser* chooser() const { return options_.chooser; }
    [[nodiscard]] Observer* observer() const { return observer_; }
    /// Whether somebody stands at the Observer's or the Chooser's door. A copy of core compiled with HEDDLE_WITHOUT_DOORS has none of
    /// them: the benchmark `doors` measures what the question costs production.
    [[nodiscard]] bool observed() const { return has_doors && observer_ != nullptr; }
    [[nodiscard]] bool may_choose() const { return has_doors && options_.chooser != nullptr; }
    [[nodiscard]] LabelBook* labels() const { return labels_; }
    [[nodiscard]] const RuntimeOptions& options() const { return options_; }
    [[nodiscard]] Label object_label(std::string_view kind);
    /// Detaching (nullptr) keeps the labels that exist.
    void set_observer(Observer* observer) { observer_ = observer; }

    // ── inspection, for oracles and reports; pure ──

    [[nodiscard]] const IntrusiveList<CoroutineCore, RegistryTag>& registry() const { return registry_; }
    [[nodiscard]] const Ring<CoroutineCore*>& ready_queue() const { return ready_; }
    [[nodiscard]] const IntrusiveList<RuntimeObject, RuntimeObject>& objects() const { return objects_; }
    [[nodiscard]] std::size_t active_count() const { return active_count_; }
    [[nodiscard]] bool epilogue_armed() const { return epilogue_timer_ && epilogue_timer_->loop_refs() > 0; }
    [[nodiscard]] std::uint32_t epilogue_expiries() const { return epilogue_expiries_; }
    [[nodiscard]] const std::vector<ScopeCore*>& root_scopes() const { return root_scopes_; }
    [[nodiscard]] bool has_microtasks() const { return !microtasks_.empty(); }
    [[nodiscard]] const MicrotaskQueue& microtask_queue() const { return microtasks_; }
    [[nodiscard]] const Context* pooled_context(std::size_t index) const { return index < pool_.size() ? pool_[index] : nullptr; }
    [[nodiscard]] std::vector<CoroutineRecord> coroutines(bool zombies_only) const;
    [[nodiscard]] std::string deadlock_report() const;

    // ── telling Observers ──

    void note(EventKind kind, Label who = {}, Label what = {}, std::int64_t a = 0, std::int64_t b = 0, std::string_view text = {}) const {
        if (observed()) [[unlikely]] { observer_->on_event({kind, reactor_.now(), who, what, a, b, text}); }
    }
    void seen(std::string_view mark) const { note(EventKind::seen, {}, {}, 0, 0, mark); }
    /// The cell is computed only where somebody looks: its hash would cost more than a switch.
    void touch(Label object, std::string_view field, TouchMode mode, std::uint64_t index = 0) const {
        if (observed()) [[unlikely]] { observer_->on_touch(cell(object, field, index), mode); }
    }

    /// The running step touches nothing else that others see, whatever they did before it. Said before it touches anything.
    void state_footprint(Cell where, TouchMode mode) const {
        if (observed()) [[unlikely]] { observer_->on_statement(where, mode); }
    }

    /// Events whose callbacks run form a non-suspendable region.
    class NoSuspend {
    public:
        explicit NoSuspend(Scheduler& scheduler) : scheduler_(scheduler) { ++scheduler_.no_suspend_; }
        ~NoSuspend() { --scheduler_.no_suspend_; }
        NoSuspend(const NoSuspend&) = delete;
        NoSuspend& operator=(const NoSuspend&) = delete;

    private:
        Scheduler& scheduler_;
    };

    Subscription* new_subscription();
    void free_subscription(Subscription* node);
    std::string_view keep_name(const Name& name);

private:
    friend class CoroutineCore;
    friend class ScopeCore;
    friend class Waker;
    friend class FinallyRun;
    friend class CoroutineHandle;
    friend class RuntimeObject;

    /// Where the scheduler coroutine goes on when it gains control (SCH-37, SCH-43).
    enum class Entry : std::uint8_t { after_dispatch, poll };

    class ErrorCoroutine;
    class MainCoroutine;
    class SchedulerCoroutine;

    // scheduler.cpp: queues, ticks, dispatch, the loop
    void enqueue(CoroutineCore& coroutine, bool at_head);
    CoroutineCore& take_next();
    void after_wake(CoroutineCore& coroutine);
    void flush();
    void begin_phase() { in_phase_ = true; }
    void end_phase() { in_phase_ = false; }
    void run_heartbeat();
    void drain_microtasks();
    void run_tick(TickMode mode);
    bool poll_allowed(bool in_place);
    bool in_place_tick(CoroutineCore& self);
    void dispatch_from(CoroutineCore& self, CoroutineCore& next);
    void park(CoroutineCore& self, const WaitPoint& at);
    [[nodiscard]] CoroutineCore* direct_successor() const;
    bool yield_directly(CoroutineCore& self, CoroutineCore& next, const WaitPoint& at);
    bool park_directly(CoroutineCore& self, CoroutineCore& next, const WaitPoint& at);
    void prefetch_ready() const;
    void finish_yield(CoroutineCore& self);
    void yield_either_way(const WaitPoint& at);
    void yield_the_long_way(const WaitPoint& at);
    void note_wait(CoroutineCore& self, const WaitPoint& at);
    void deliver_pending(CoroutineCore& self);
    void finish_wait(CoroutineCore& self);
    CoroutineCore* next_to_run(Context* host, Entry entry);
    bool loop_continues() const;
    void scheduler_main();
    static void scheduler_entry(void* argument);
    static void context_entry(void* argument);
    void context_main(Context& context);
    void run_hosted(CoroutineCore& coroutine);
    void execute(CoroutineCore& coroutine);

    // contexts (SCH-43 to SCH-46)
    Context& acquire_context();
    bool pool_accepts() const;
    void destroy_context(Context& context);
    void attach(CoroutineCore& coroutine, Context& context);
    void switch_to(Fiber& from, Fiber& to);
    [[noreturn]] void report_endless();
    void leave_for_good(Context& context, Fiber& to);
    void retire(Context& context, Fiber& to);
    void to_scheduler(Fiber& from, Entry entry);
    void reap();
    Fiber& fiber_of(CoroutineCore& coroutine);

    // finalize.cpp: F1..F12, switch handlers, finally handlers
    void finalize(CoroutineCore& coroutine);
    ErrorValue outcome_of(CoroutineCore& coroutine, ErrorValue thrown);
    void call_handlers(CoroutineCore& coroutine, bool entering, bool finishing);
    void remove_from_registry(CoroutineCore& coroutine);
    void register_coroutine(CoroutineCore& coroutine);
    void make_zombie(CoroutineCore& coroutine);

    // shutdown.cpp
    void handle_pending();
    void begin_second_phase();
    void sweep(const ErrorValue& reason);
    void run_second_phase();
    void leave_loop();
    void unwind(CoroutineCore& coroutine);
    void unwind_rest();
    [[noreturn]] void throw_unwind(CoroutineCore& coroutine);

    // deadlock.cpp
    void resolve_deadlock();
    bool objects_resolve();

    // zombie.cpp
    void active_count_changed();
    void epilogue_expired();
    void disarm_epilogue();

    // launch and end
    void adopt_options();
    void drop_own_scopes();
    void launch(SourceLocation at);
    void conclude();

    // ReactorSink
    void deliver(const Delivery& delivery) noexcept override;
    [[nodiscard]] bool has_ready_work() const noexcept override {
        return !ready_.empty() || !microtasks_.empty() || static_cast<bool>(pending_);
    }
    [[nodiscard]] bool list_ready(std::vector<Label>& into) const override;
    void settle() override { flush(); }

    Reactor& reactor_;
    Runtime& runtime_;
    RuntimeOptions options_;
    Observer* observer_ = nullptr;
    LabelBook* labels_ = nullptr;
    std::unique_ptr<LabelBook> own_labels_;
    std::unique_ptr<StackPool> own_stacks_;
    StackPool* stacks_ = nullptr;
    ExceptionGlobals globals_;

    // hot
    CoroutineCore* current_ = nullptr;
    Ring<CoroutineCore*> ready_;
    MicrotaskQueue microtasks_;
    ErrorValue pending_;
    std::shared_ptr<UniqueFunction<void()>> heartbeat_;
    bool poll_found_due_ = false;
    bool in_phase_ = false;
    bool second_phase_ = false;
    bool shutting_down_ = false;
    State state_ = State::off;
    std::uint32_t no_suspend_ = 0;
    Context* dead_context_ = nullptr;  // left for good; its stack is given back after the switch (SCH-43)
    std::vector<CoroutineCore*> woken_;  // woken in this phase, subscriptions still in place (SCH-26)

    IntrusiveList<CoroutineCore, RegistryTag> registry_;
    IntrusiveList<RuntimeObject, RuntimeObject> objects_;
    IntrusiveList<CoroutineCore, RegistryTag> kept_errors_;  // finished ones whose error waits on a handle (ERR-9)
    std::size_t active_count_ = 0;
    std::uint64_t last_coroutine_id_ = 0;
    std::uint64_t last_scope_id_ = 0;
    std::uint64_t switches_ = 0;
    std::uint64_t dispatches_ = 0;
    std::uint64_t spawned_ = 0;

    Ref<CoroutineCore> main_core_;
    Ref<CoroutineCore> scheduler_core_;
    Fiber main_fiber_;
    Context* scheduler_context_ = nullptr;
    Entry scheduler_entry_point_ = Entry::after_dispatch;
    std::vector<Context*> pool_;
    std::size_t live_contexts_ = 0;

    Ref<ScopeCore> main_scope_;
    Ref<ScopeCore> private_scope_;
    std::vector<ScopeCore*> root_scopes_;

    ErrorValue exit_;
    std::size_t last_deadlock_size_ = 0;  // registry at the previous detection of this run (SCH-58)
    bool deadlock_seen_ = false;
    bool unwind_deadlocked_ = false;
    bool terminal_due_ = false;           // the epilogue's second expiry (ZOM-12e)
    bool unwinding_rest_ = false;
    bool loop_ended_ = false;
    std::uint64_t second_phase_budget_ = 0;
    std::size_t never_executed_ = 0;

    Ref<ReactorEvent> epilogue_timer_;
    EventCallback* epilogue_callback_ = nullptr;
    std::uint32_t epilogue_expiries_ = 0;

    std::vector<SwitchHandler*> main_start_handlers_;
    std::vector<Subscription*> free_subscriptions_;
    std::vector<std::unique_ptr<Subscription>> all_subscriptions_;
    std::set<std::string, std::less<>> names_;
    Label loop_label_;
    std::vector<Label> candidates_;  // of the dispatch question, kept for its memory
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern thread_local constinit Scheduler* ambient;  // one load, no call
}

/// The scheduler whose coroutine runs on this thread, or null. Set by the scheduler; nodes of one World hand it over.
[[nodiscard]] inline Scheduler* ambient_scheduler() noexcept { return detail::ambient; }
Scheduler* exchange_ambient_scheduler(Scheduler* scheduler) noexcept;

}  // namespace heddle
