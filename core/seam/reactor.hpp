// SPDX-License-Identifier: Apache-2.0
// Reactor: the door to time, readiness, requests and wake-ups from outside (docs/spec/05-reactor.md).
//
//   program ── open_… ──▶ source ── start ──▶ armed ──tick──▶ sink.deliver(Delivery) ── one at a time ──▶ core's callbacks
//                           ▲                   │ stop
//                           └───────────────────┘           close: nothing is delivered to it any more (RCT-11, RCT-55)
//
// R1  Everything is called on the runtime's thread, except TriggerPort::fire (RCT-1).
// R2  Every callback runs inside `tick`, one delivery at a time; `tick` never nests (RCT-3, RCT-8). The one exception is `start` of
//     a source whose condition already holds (RCT-53).
// R3  The active event count is the number of started non-hidden sources plus non-hidden requests in flight (RCT-13); it is kept
//     here, by both backends through `count_up` and `count_down`, and never goes negative.
// R4  A source id is never reused while the reactor lives; calls on a closed id change nothing.
// Chance enters only in the simulated backend, through its Chooser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/ids.hpp"
#include "heddle/core/base/label.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/core/base/unique_function.hpp"
#include "heddle/core/seam/footprint.hpp"
#include "heddle/core/seam/operation.hpp"
#include "heddle/core/seam/thread_port.hpp"

namespace heddle {

enum class SourceKind : std::uint8_t { none, timer, poll, proxy, trigger, signal, process, task, operation };
[[nodiscard]] std::string_view to_string(SourceKind kind);

struct Delivery;

/// What is attached to a source. The reactor only hands it back with each delivery; the sink calls it.
class SourceOwner {
public:
    /// Runs in scheduler phase, inside ReactorSink::deliver. What it throws is recorded as unhandled (RCT-9).
    virtual void on_delivery(const Delivery& delivery) = 0;

protected:
    ~SourceOwner() = default;
};

/// Mask of a descriptor's readiness (RCT-32).
enum PollBits : std::uint32_t { readable = 1, writable = 2, priority = 4, disconnect = 8 };
using PollMask = std::uint32_t;

struct Delivery {
    SourceId source;
    SourceKind kind = SourceKind::none;
    SourceOwner* owner = nullptr;
    Label label;
    /// timer: start id; poll: mask; signal: number; process: exit code or -(signal); operation: Completion::transferred
    std::int64_t value = 0;
    std::int32_t error = 0;      ///< 0 or a positive errno value
    bool cancelled = false;      ///< a request that was cancelled before it took effect
    bool closed = false;         ///< the close completion of the handle, its last delivery; owner is null by then
    const Completion* completion = nullptr;
    /// What the delivery itself touches (a trigger's flag, a timer's arming). The sink tells the Observer inside the step, before
    /// the callbacks; valid during the call only. Empty without an Observer, and on backends that do not declare it.
    std::span<const Touch> footprint{};
};

/// Core's side of the door.
class ReactorSink {
public:
    /// Tells the Observer, then runs the callbacks. Never throws: what escapes a callback is recorded (RCT-9).
    virtual void deliver(const Delivery& delivery) noexcept = 0;
    /// Looked at by the backend right before it blocks: work that became ready inside the tick must not sleep through the poll.
    [[nodiscard]] virtual bool has_ready_work() const noexcept = 0;
    /// Between two deliveries of one tick: what the first one has decided takes effect now, not at the tick's end (SCH-26). Nothing by default.
    virtual void settle() {}
    /// Who may be dispatched next, in production's order, for a backend that asks one question for all that may happen. Adds nothing by
    /// default. @returns false if something else, a microtask, goes before any of them
    [[nodiscard]] virtual bool list_ready(std::vector<Label>& into) const {
        (void)into;
        return true;
    }

protected:
    ~ReactorSink() = default;
};

enum class TickMode : std::uint8_t { no_wait, may_block };

struct SourceOptions {
    SourceOwner* owner = nullptr;
    Label label{};        ///< stable name for choice points; 0 outside simulation
    bool hidden = false;  ///< never counted (RCT-14)
};

struct HandleOptions {
    HandleKind kind = HandleKind::none;
    int descriptor = -1;  ///< taken over: closed with the handle (but for 0, 1 and 2), and put into non-blocking mode
};

struct TimerOptions {
    Duration timeout = Duration::zero();  ///< from `now()` at start; rounded up to the resolution (RCT-24)
    bool periodic = false;                ///< re-armed before its callback runs (RCT-27)
    bool multishot = false;               ///< stays open after firing, `rearm` gives a new deadline (RCT-28)
    bool refresh = false;                 ///< refresh the clock when it is armed (RCT-22)
};

class Reactor {
public:
    Reactor() = default;
    Reactor(const Reactor&) = delete;
    Reactor& operator=(const Reactor&) = delete;
    virtual ~Reactor() = default;

    // ── life ──

    /// Creates the loop. Idempotent while it is up. Throws AsyncError if the backend cannot start.
    virtual void startup(ReactorSink& sink) = 0;
    /// Closes every source, runs ticks until closes and cancelled requests have completed, destroys the loop (RCT-2). Idempotent.
    virtual void shutdown() = 0;
    [[nodiscard]] virtual bool is_up() const = 0;

    // ── clock ──

    /// Cached monotonic time (RCT-18): changes when a tick returns from polling, right before timers run, and by refresh_clock.
    [[nodiscard]] Instant now() const { return now_; }
    virtual void refresh_clock() = 0;
    /// Deadlines round up to multiples of it; 1 ms on libuv and, by default, in simulation.
    [[nodiscard]] Duration resolution() const { return resolution_; }

    // ── loop ──

    /// One iteration. Blocks only with may_block, and only if something counted can end the wait (RCT-5).
    /// @returns alive() after the iteration (RCT-4)
    virtual bool tick(TickMode mode) = 0;
    /// True while a counted source or request exists (RCT-7). Close completions that are due do not count, and are run by a tick.
    [[nodiscard]] bool alive() const { return active_events_ > 0; }
    [[nodiscard]] std::size_t active_events() const { return active_events_; }
    /// A close completion is due that only a tick can run (RCT-55).
    [[nodiscard]] virtual bool has_closing() const { return false; }
    /// May this opportunity poll (SCH-36)? Cheap. `in_place`: the opportunity is a coroutine's own tick, else the loop's (SCH-39.4).
    [[nodiscard]] virtual bool poll_due(bool in_place) = 0;
    /// The same for a coroutine's own tick, without a call while the backend has said that it will not be due.
    [[nodiscard]] bool poll_due_in_place() {
        if (polls_not_due_ > 0) [[likely]] {
            --polls_not_due_;
            return false;
        }
        return poll_due(true);
    }
    /// Whose stack hosts the next ticks (0: the loop): simulated choice points are named after it. Told only where a Chooser is attached.
    virtual void set_anchor(Label host) { (void)host; }

    // ── sources; each opened stopped, except requests, whose work begins at once (RCT-12) ──

    virtual SourceId open_timer(const TimerOptions& timer, const SourceOptions& options) = 0;
    /// New deadline `now() + timeout`; legal for an open multishot timer only, else AsyncError (RCT-28). Starts it if stopped.
    virtual void rearm(SourceId timer, Duration timeout) = 0;
    /// The poll handle of a descriptor: at most one per descriptor, so a second call for it returns the same id (RCT-33). It is
    /// reference counted by opens and closes; waiters use proxies. @param close_fd close the descriptor after the handle (RCT-38)
    virtual SourceId open_poll(int fd, bool close_fd, Label label) = 0;
    virtual SourceId open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) = 0;
    /// A trigger is transparent: it counts only while started (RCT-16).
    virtual SourceId open_trigger(const SourceOptions& options) = 0;
    [[nodiscard]] virtual TriggerPortPtr trigger_port(SourceId trigger) = 0;
    virtual SourceId open_signal(int number, const SourceOptions& options) = 0;
    /// Watches a child process of ours. A child that already ended is reported from `start` (RCT-53).
    virtual SourceId open_process(int pid, const SourceOptions& options) = 0;
    /// Runs `body` on a worker thread, then delivers once (RCT-59). Throws AsyncError if it cannot be submitted.
    virtual SourceId submit_task(UniqueFunction<void()> body, const SourceOptions& options) = 0;
    /// Asks a request in flight to end early (CP-REQCANCEL): its delivery says `cancelled` if that won. False if it is over already.
    virtual bool cancel(SourceId request) = 0;

    // ── handles and their requests (RCT-40 to RCT-51); a reactor without them throws AsyncError "not supported" ──

    /// A handle that is not connected, bound or open to anything yet, or one around a descriptor of the operating system.
    /// Throws: IoError, and the descriptor stays the caller's.
    virtual HandleId open_handle(const HandleOptions& options);
    /// Idempotent. Whatever is in flight on it ends with ECANCELED in a later tick, unless it is closed first (RCT-47); what a worker
    /// still does for it is done before its descriptor goes (RCT-46). Nothing happens for a handle of a reactor that is not up.
    virtual void close_handle(HandleId handle);
    /// The operating system's descriptor; -1 if there is none, or none yet, or the handle is closed. Cheap.
    [[nodiscard]] virtual int descriptor(HandleId handle) const;
    /// Throws: AsyncError for a closed handle.
    [[nodiscard]] virtual HandleInfo inspect(HandleId handle);
    /// Begins a request, or answers it at once: then nothing is delivered. A handle has one read at a time; its writes complete in
    /// the order of their submission and whole (RCT-42, RCT-44). Never waits, and answers a program that asks again and again at
    /// once only so often before it lets a tick come in between.
    /// Throws: AsyncError for misuse: a closed handle, an operation that the handle's kind does not have, a second read (RCT-51);
    /// nothing has happened then. What the world says is in the completion.
    [[nodiscard]] virtual Submission submit(const Operation& operation, const SourceOptions& options);

    // ── short ways of a stream's most frequent requests, for a backend that has them; where nobody watches, core takes them ──

    [[nodiscard]] bool has_short_ways() const { return has_short_ways_; }
    /// The part of a write that goes without waiting, before anything is submitted for the rest.
    /// @returns bytes, or a negative errno value: -EAGAIN for "submit it"
    [[nodiscard]] virtual std::int64_t try_write(HandleId handle, std::span<const std::byte> data);
    /// Reads what is known to be there. @returns bytes, 0 at the end, or as try_write: -EAGAIN for "wait_readable, then again"
    [[nodiscard]] virtual std::int64_t try_read(HandleId handle, std::span<std::byte> buffer);
    /// The request of a read without a buffer; 0 if it is readable now. Its delivery has no completion. Throws as submit.
    [[nodiscard]] virtual SourceId wait_readable(HandleId handle, SourceOwner& owner);

    /// Arms the source. Throws IoError or AsyncError and leaves everything as before if that fails (RCT-51).
    virtual void start(SourceId source) = 0;
    /// After it returned nothing is delivered to the source, not even readiness collected in this tick (RCT-11).
    virtual void stop(SourceId source) = 0;
    /// Ends the source for good; handles of the operating system go away in a later tick (RCT-55).
    virtual void close(SourceId source) = 0;

protected:
    void count_up() { ++active_events_; }
    void count_down() {
        HEDDLE_ASSERT(active_events_ > 0, "RCT-17");
        --active_events_;
    }
    void reset_counts() { active_events_ = 0; }
    void set_now(Instant at) {
        HEDDLE_ASSERT(at >= now_, "RCT-19");
        now_ = at;
    }
    /// So many questions that follow are answered "no" by whoever asks them in place (SCH-36: the clock need not be looked at each time).
    void set_polls_not_due(std::uint32_t count) { polls_not_due_ = count; }
    [[nodiscard]] std::uint32_t polls_not_due() const { return polls_not_due_; }
    void set_resolution(Duration resolution) { resolution_ = resolution; }
    void restart_clock(Instant at) { now_ = at; }
    void set_has_short_ways() { has_short_ways_ = true; }

private:
    Instant now_;
    Duration resolution_ = std::chrono::milliseconds(1);
    std::size_t active_events_ = 0;
    std::uint32_t polls_not_due_ = 0;
    bool has_short_ways_ = false;
};

}  // namespace heddle
