// SPDX-License-Identifier: Apache-2.0
// CoroutineCore: one coroutine as the runtime sees it, and CoroutineHandle / Coroutine<T>, what a program holds of it.
//
//   created ──spawn──▶ ready_new ──dispatch──▶ running ──suspend──▶ waiting ──wake──▶ ready ──dispatch──▶ running … ──▶ finished
//                         └──cancel──▶ doomed ──dispatch──▶ finished (its entry never runs)
//
// K1  Exactly one row of the state table SCH-6 holds at any time (INV-SCHED-01); the state is derived, not stored.
// K2  The runtime holds one reference from enqueue to the end of finalization (SCH-85); handles, queues and lists hold none of it.
// K3  Outcome and result are stored in the step that makes it finished and never change (INV-SCHED-10).
// K4  What few coroutines need (handlers, hooks, held-back cancellations) lives in Extras, allocated on first use, so that a parked
//     coroutine stays small.
// Choice points: none here.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/core/base/ids.hpp"
#include "heddle/core/base/source_location.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/core/run/event_source.hpp"
#include "heddle/core/run/frame_pool.hpp"
#include "heddle/core/run/waker.hpp"

namespace heddle {

class CoroutineHandle;
class FinallyRun;
class ScopeCore;
class Fiber;
struct Context;

enum class CoroutineState : std::uint8_t { created, ready_new, doomed, running, waiting, ready, finished };
[[nodiscard]] std::string_view to_string(CoroutineState state);

/// Why a coroutine or scope is asked to end (CAN-3).
enum class CancelKind : std::uint8_t { forced, safe_cancel, safe_dispose };

enum class Priority : std::uint8_t {
    normal,  ///< starts after everything that is ready now
    high,    ///< starts next; affects the first enqueue only (SCH-21)
};

/// Called when a coroutine gains or loses the stack (SCH-78). Identity is the object's address; must not throw or suspend.
class SwitchHandler {
public:
    /// @param entering   true on ENTER
    /// @param finishing  true on FINISH
    /// @returns false to be removed after this call
    virtual bool on_switch(CoroutineHandle coroutine, bool entering, bool finishing) = 0;

protected:
    ~SwitchHandler() = default;
};

/// A name that outlives its coroutine: a literal, or text that the runtime keeps.
class Name {
public:
    Name() = default;
    template <std::size_t size>
    consteval Name(const char (&literal)[size]) : text_(literal, size - 1) {}  // NOLINT: a literal is a name
    /// `text` is copied by the runtime that the name is given to.
    static Name of(std::string_view text) {
        Name name;
        name.text_ = text;
        name.borrowed_ = true;
        return name;
    }
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] bool is_borrowed() const { return borrowed_; }

private:
    std::string_view text_;
    bool borrowed_ = false;
};

/// Names the point where a coroutine waits. Lives on the stack of the call that waits.
struct WaitPoint {
    const char* kind = "suspend";  ///< a literal
    Label object{};
    SourceLocation place{};

    WaitPoint(const char* what, SourceLocation at, Label on = {}) : kind(what), object(on), place(at) {}
    [[nodiscard]] const char* file() const { return place.file_name(); }
    [[nodiscard]] std::uint32_t line() const { return place.line(); }
};

struct RegistryTag;
struct MemberTag;

class CoroutineCore : public EventSource, public ListHook<RegistryTag>, public ListHook<MemberTag> {
public:
    // ── identity ──

    [[nodiscard]] CoroutineId id() const { return id_; }
    [[nodiscard]] std::string_view name() const { return {name_, name_size_}; }
    [[nodiscard]] Label label() const override { return label_; }
    /// "name#id", or the label's text while a LabelBook is attached.
    [[nodiscard]] std::string title() const;
    [[nodiscard]] std::string describe() const override;

    // ── predicates (SCH-8): pure, callable at any time ──

    [[nodiscard]] CoroutineState state() const;
    [[nodiscard]] bool is_started() const { return started_; }
    [[nodiscard]] bool is_queued() const { return waker_.status() == WakerStatus::queued; }
    [[nodiscard]] bool is_running() const;
    [[nodiscard]] bool is_suspended() const;
    [[nodiscard]] bool is_completed() const { return finished_; }
    [[nodiscard]] bool is_cancelled() const { return finished_ && cancel_accepted_; }
    [[nodiscard]] bool is_cancellation_requested() const { return !finished_ && cancel_accepted_; }
    [[nodiscard]] bool is_zombie() const { return zombie_; }
    [[nodiscard]] bool is_internal() const { return internal_; }
    [[nodiscard]] bool has_switch_handlers() const { return has_switch_handlers_; }
    [[nodiscard]] bool is_in_finally_run() const { return finally_run_ != nullptr; }
    [[nodiscard]] bool is_main() const { return is_main_; }
    [[nodiscard]] Priority priority() const { return priority_; }

    [[nodiscard]] const ErrorValue& error() const { return error_; }
    /// Somebody was given its outcome: a kept error is no longer unobserved (ERR-9).
    void mark_observed() {
        if (error_kept_) [[unlikely]] { forget_kept_error(); }
    }
    [[nodiscard]] bool replay(Outcome& outcome) const override;
    void look() const override;
    /// Something is added that its end ("state") or its switches ("wait") will meet.
    void touch_set_up(std::string_view field) const;

    // ── where it is (SCH-10) ──

    [[nodiscard]] const char* spawn_file() const { return spawn_file_; }
    [[nodiscard]] std::uint32_t spawn_line() const { return spawn_line_; }
    [[nodiscard]] const char* suspend_file() const { return wait_ != nullptr ? wait_->file() : nullptr; }
    [[nodiscard]] std::uint32_t suspend_line() const { return wait_ != nullptr ? wait_->line() : 0; }
    /// What it waits for ("sleep", "await", …) and since when; meaningful while it is suspended.
    [[nodiscard]] const char* wait_kind() const { return wait_ != nullptr ? wait_->kind : ""; }
    [[nodiscard]] Instant suspended_since() const { return suspended_since_; }

    [[nodiscard]] Waker& waker() { return waker_; }
    [[nodiscard]] const Waker& waker() const { return waker_; }
    [[nodiscard]] ScopeCore* scope() const { return scope_; }
    [[nodiscard]] std::uint32_t protection_depth() const { return protection_depth_; }
    [[nodiscard]] bool has_pending_cancellation() const { return has_pending_; }
    [[nodiscard]] bool has_deferred_cancellation() const { return has_deferred_; }
    [[nodiscard]] const Context* context() const { return context_; }
    [[nodiscard]] std::uint32_t handle_count() const { return handles_; }

    /// Where core/sync keeps the coroutine's own context values (CTX-2).
    [[nodiscard]] std::shared_ptr<void>& context_slot() { return extras().context_slot; }

    /// Run once at F7; replaces an earlier one.
    void set_dispose_hook(UniqueFunction<void(CoroutineCore&)> hook) { extras().dispose_hook = std::move(hook); }

    // ── user handles (ERR-9) ──

    void add_handle() {
        ++handles_;
        add_reference();
    }
    void drop_handle();

protected:
    explicit CoroutineCore(Scheduler& scheduler);
    ~CoroutineCore() override;

    /// Runs the program's entry and keeps its result. On the coroutine's own stack.
    virtual void run_entry() = 0;
    /// Destroys the entry callable, if that did not happen yet (SCH-93).
    virtual void drop_entry() noexcept = 0;
    /// Forgets a result that the outcome rules discard (SCH-48 F4).
    virtual void drop_result() noexcept = 0;

    void dispose() override {
        drop_callbacks();
        delete this;
    }

private:
    void forget_kept_error();

    friend class Scheduler;
    friend class ScopeCore;
    friend class FinallyRun;
    friend class Waker;
    friend class Shutdown;
    friend class Epilogue;
    friend class Protection;

    struct Extras {
        ErrorValue pending;         // CAN-12
        ErrorValue deferred;        // PRT-3
        ErrorValue last_delivered;  // CAN-13
        std::vector<UniqueFunction<void(CoroutineHandle)>> finally_handlers;
        std::vector<SwitchHandler*> switch_handlers;
        UniqueFunction<void(CoroutineCore&)> dispose_hook;
        std::shared_ptr<void> context_slot;
        std::uint32_t unwinds = 0;  // how often the unwinding token was thrown into it (SCH-72)
    };
    Extras& extras() {
        if (!extras_) { extras_ = std::make_unique<Extras>(); }
        return *extras_;
    }

    CoroutineId id_;
    Label label_;
    const char* name_ = "task";
    const char* spawn_file_ = "unknown";
    std::uint32_t spawn_line_ = 0;
    std::uint32_t name_size_ = 4;
    std::uint32_t handles_ = 0;
    ScopeCore* scope_ = nullptr;
    Context* context_ = nullptr;
    ErrorValue error_;
    std::unique_ptr<Extras> extras_;
    FinallyRun* finally_run_ = nullptr;  // set in internal finally coroutines (FIN-2)
    std::uint32_t protection_depth_ = 0;
    std::uint32_t protection_epoch_ = 0;  // raised by PRT-7: regions of an older epoch change nothing at their exit (PRT-9)
    Priority priority_ = Priority::normal;
    // From here to the middle of the waker: what a switch looks at, side by side in two cache lines.
    bool has_pending_ : 1 = false;
    bool unwinding_ : 1 = false;
    bool has_switch_handlers_ : 1 = false;
    bool started_ : 1 = false;
    bool finished_ : 1 = false;
    bool zombie_ : 1 = false;
    bool internal_ : 1 = false;
    bool registered_ : 1 = false;
    bool cancel_accepted_ : 1 = false;
    bool has_deferred_ : 1 = false;
    bool error_kept_ : 1 = false;  // on a live handle, not yet observed (ERR-9)
    bool is_main_ : 1 = false;
    bool in_switch_pass_ : 1 = false;
    bool ended_by_token_ : 1 = false;
    Fiber* fiber_ = nullptr;           // where it is suspended; null before its start and after its end
    const WaitPoint* wait_ = nullptr;  // why it is suspended: on its own stack, null while it runs
    Instant suspended_since_;
    Waker waker_;
};

/// A program's hold on a coroutine. Dropping it never cancels (SCH-86). Copies are cheap; the last one of a failed coroutine that
/// nobody awaited reports its error (ERR-9).
class CoroutineHandle {
public:
    CoroutineHandle() = default;
    explicit CoroutineHandle(CoroutineCore* core) : core_(core) {
        if (core_ != nullptr) { core_->add_handle(); }
    }
    CoroutineHandle(const CoroutineHandle& other) : CoroutineHandle(other.core_) {}
    CoroutineHandle(CoroutineHandle&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
    CoroutineHandle& operator=(CoroutineHandle other) noexcept {
        std::swap(core_, other.core_);
        return *this;
    }
    ~CoroutineHandle() { release(); }

    /// Lets go of the coroutine.
    void release() {
        if (CoroutineCore* core = std::exchange(core_, nullptr); core != nullptr) { core->drop_handle(); }
    }

    [[nodiscard]] explicit operator bool() const { return core_ != nullptr; }
    [[nodiscard]] CoroutineCore& core() const {
        HEDDLE_ASSERT(core_ != nullptr, "a handle that was released names no coroutine");
        return *core_;
    }
    friend bool operator==(const CoroutineHandle& a, const CoroutineHandle& b) { return a.core_ == b.core_; }

    [[nodiscard]] CoroutineId id() const { return core().id(); }
    [[nodiscard]] std::string_view name() const { return core().name(); }
    [[nodiscard]] Label label() const { return core().label(); }
    [[nodiscard]] CoroutineState state() const { return watched().state(); }
    [[nodiscard]] bool is_started() const { return watched().is_started(); }
    [[nodiscard]] bool is_queued() const { return watched().is_queued(); }
    [[nodiscard]] bool is_running() const { return watched().is_running(); }
    [[nodiscard]] bool is_suspended() const { return watched().is_suspended(); }
    [[nodiscard]] bool is_completed() const { return looked().is_completed(); }
    [[nodiscard]] bool is_cancelled() const { return watched().is_cancelled(); }
    [[nodiscard]] bool is_cancellation_requested() const { return watched().is_cancellation_requested(); }
    [[nodiscard]] bool is_zombie() const { return watched().is_zombie(); }
    /// The error it ended with; empty until it finished, and after a normal end (SCH-9). Never suspends.
    [[nodiscard]] ErrorValue error() const { return looked().error(); }

    /// Requests a forced cancellation (CAN-4). Returns at once, never switches; the first undelivered reason is kept.
    /// @param reason  must be of the Cancellation family, else ValueError and nothing happens (CAN-5); empty: AsyncCancellation
    void cancel(const ErrorValue& reason = {}) const;
    void cancel(std::string_view reason) const;

    /// Runs `handler` once after the coroutine finished, on every path (FIN-1). On a finished one it runs now, and what it throws
    /// comes out of this call (FIN-3).
    void finally(UniqueFunction<void(CoroutineHandle)> handler) const;
    /// @returns the handler's index; registering it again returns the same one (SCH-81). Throws AsyncError during a pass.
    std::size_t add_switch_handler(SwitchHandler& handler) const;
    void remove_switch_handler(SwitchHandler& handler) const;
    /// Makes an unstarted one start next (SCH-22). Returns itself.
    const CoroutineHandle& as_hi_priority() const;
    /// Source lines of where it was spawned and where it is suspended; empty unless it is WAITING or READY (SCH-11).
    [[nodiscard]] std::vector<std::string> stack_trace() const;
    /// Run once at F7 of its finalization; must not suspend (SCH-28).
    void set_dispose_hook(UniqueFunction<void(CoroutineCore&)> hook) const;

protected:
    /// core(), and a search hears that somebody finds out how it ended, or that it did not.
    [[nodiscard]] CoroutineCore& looked() const;

private:
    /// Likewise, what it is doing at the moment.
    [[nodiscard]] CoroutineCore& watched() const;

    CoroutineCore* core_ = nullptr;
};

namespace detail {

struct Nothing {};

/// A coroutine with a place for its result.
template <class T>
class CoroutineOf : public CoroutineCore {
public:
    using Stored = std::conditional_t<std::is_void_v<T>, Nothing, T>;
    [[nodiscard]] const std::optional<Stored>& result() const { return result_; }

protected:
    using CoroutineCore::CoroutineCore;
    void drop_result() noexcept override { result_.reset(); }
    std::optional<Stored> result_;
};

/// The coroutine, its result and its entry callable in one allocation.
template <class F, class T>
class CoroutineFrame final : public CoroutineOf<T> {
public:
    CoroutineFrame(Scheduler& scheduler, F&& entry) : CoroutineOf<T>(scheduler), entry_(std::move(entry)) {}
    CoroutineFrame(Scheduler& scheduler, const F& entry) : CoroutineOf<T>(scheduler), entry_(entry) {}

    static void* operator new(std::size_t size) { return FramePool::acquire(size); }
    static void* operator new(std::size_t size, std::align_val_t alignment) { return ::operator new(size, alignment); }
    static void operator delete(void* block, std::size_t size) noexcept { FramePool::release(block, size); }
    static void operator delete(void* block, std::align_val_t alignment) noexcept { ::operator delete(block, alignment); }

private:
    void run_entry() override {
        // Destroyed on the way out, normal or not, while this is still ordinary code of the coroutine (SCH-93).
        struct Drop {
            std::optional<F>& entry;
            ~Drop() { entry.reset(); }
        } drop{entry_};
        if constexpr (std::is_void_v<T>) {
            (*entry_)();
            this->result_.emplace();
        } else {
            this->result_.emplace((*entry_)());
        }
    }
    void drop_entry() noexcept override { entry_.reset(); }

    std::optional<F> entry_;
};

}  // namespace detail

/// Handle of a coroutine whose entry returns T. A value; await it as often as you like (AWT-3).
template <class T = void>
class Coroutine : public CoroutineHandle {
public:
    Coroutine() = default;
    explicit Coroutine(detail::CoroutineOf<T>* core) : CoroutineHandle(core) {}

    /// Waits for its end and returns its result, or throws its error; a finished one answers without suspending (AWT-1).
    /// Throws AsyncError when a coroutine awaits itself (AWT-7). Suspends: unless finished. Choice points: `dispatch`.
    T await(SourceLocation at = SourceLocation::current()) const;

    /// The result, or none until it has finished normally (SCH-9). Never suspends.
    [[nodiscard]] const std::optional<typename detail::CoroutineOf<T>::Stored>& result() const {
        // While its captures are still being destroyed the value is there already, but the coroutine is not finished.
        static const std::optional<typename detail::CoroutineOf<T>::Stored> none;
        return looked().is_completed() ? static_cast<detail::CoroutineOf<T>&>(core()).result() : none;
    }
};

}  // namespace heddle
