// SPDX-License-Identifier: Apache-2.0
// EventSource: everything that can be waited for (docs/spec/02-waker-events.md, section 1).
//
//   created ──start──▶ active ──notify──▶ active        multi-shot: timers that repeat, polls, triggers, scopes
//                        │ └──notify_and_close──▶ closed  one-shot: coroutines, one-shot timers, requests
//                        └──last stop──▶ stopped
//
//   event ── ordered list of EventCallback ◀── subscriptions of wakers, combinators, the runtime itself
//
// V1  One pass calls each callback that was subscribed when it began and is still subscribed when its turn comes, once, in subscription
//     order; later additions are not called (EVT-5, EVT-6, INV-EVT-04). Removal during a pass moves the pass's cursor.
// V2  loop_refs counts starts minus effective stops; the backend watches the event iff it is positive and the event is open
//     (EVT-13, INV-EVT-02).
// V3  A callback's storage outlives every call of it: event and subscriber each hold a reference (EVT-4, INV-EVT-05).
// V4  An exception that leaves a callback does not stop the pass (EVT-8); it is recorded with the runtime afterwards.
// V5  Closing an event tells everybody who is still subscribed, also when a callback of its own pass closes it (EVT-16).
// Choice points: none. Suspends: never; callbacks run in a non-suspendable region (SCH-28).
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "heddle/core/base/error.hpp"
#include "heddle/core/base/intrusive_list.hpp"
#include "heddle/core/base/label.hpp"

namespace heddle {

class EventSource;
class Scheduler;

/// What a notification or a finished wait carries: a small value (bits, a code, a count), or an error, or neither.
struct Outcome {
    std::int64_t value = 0;
    bool has_value = false;
    ErrorValue error{};
};

class EventCallback : public ListHook<EventCallback> {
public:
    /// Called in a non-suspendable region. May subscribe, unsubscribe, start, stop, close, resume and cancel anything.
    virtual void call(EventSource& event, const Outcome& outcome) = 0;

    [[nodiscard]] EventSource* event() const { return event_; }
    [[nodiscard]] bool is_subscribed() const { return is_linked(); }

    void add_reference() { ++references_; }
    void drop_reference() {
        HEDDLE_ASSERT(references_ > 0, "V3");
        if (--references_ == 0) { dispose(); }
    }

protected:
    EventCallback() = default;
    virtual ~EventCallback() = default;
    /// The last reference is gone. An object that is somebody's member does nothing here.
    virtual void dispose() {}

private:
    friend class EventSource;
    EventSource* event_ = nullptr;
    std::uint32_t references_ = 0;
    std::uint32_t sequence_ = 0;
};

/// Intrusive strong pointer to anything with add_reference and drop_reference.
template <class T>
class Ref {
public:
    Ref() = default;
    explicit Ref(T* object) : object_(object) {
        if (object_ != nullptr) { object_->add_reference(); }
    }
    /// Takes over a reference that the caller already holds.
    static Ref adopt(T* object) {
        Ref ref;
        ref.object_ = object;
        return ref;
    }
    Ref(const Ref& other) : Ref(other.object_) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    template <class U>
        requires std::is_convertible_v<U*, T*>
    Ref(const Ref<U>& other) : Ref(other.get()) {}  // NOLINT: as pointers convert
    Ref& operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { reset(); }

    void reset() {
        if (T* object = std::exchange(object_, nullptr); object != nullptr) { object->drop_reference(); }
    }
    [[nodiscard]] T* get() const { return object_; }
    [[nodiscard]] T* operator->() const { return object_; }
    [[nodiscard]] T& operator*() const { return *object_; }
    [[nodiscard]] explicit operator bool() const { return object_ != nullptr; }
    friend bool operator==(const Ref&, const Ref&) = default;

private:
    T* object_ = nullptr;
};

class EventSource {
public:
    EventSource(const EventSource&) = delete;
    EventSource& operator=(const EventSource&) = delete;

    // ── subscriptions ──

    /// Appends a callback and takes a reference to it. Throws AsyncError if the event is closed (EVT-9).
    void subscribe(EventCallback& callback);
    /// Removes it and gives the reference back; legal at any time, also from inside a pass (EVT-7). A no-op if it is not subscribed here.
    void unsubscribe(EventCallback& callback);
    [[nodiscard]] std::size_t subscriber_count() const { return callbacks_.size(); }

    // ── start, stop, close (EVT-12, EVT-13) ──

    /// Throws what the backend throws, with everything as before (RCT-51). A no-op on a closed event.
    void start();
    /// Surplus stops are no-ops.
    void stop() noexcept;
    [[nodiscard]] bool is_closed() const { return closed_; }
    [[nodiscard]] std::uint32_t loop_refs() const { return loop_refs_; }

    /// Runs one pass. Returns true if a callback took responsibility for the error (EVT-11). Never throws (V4).
    bool notify(const Outcome& outcome);
    /// Stops the event for all waiters, closes it, then runs the pass, so that callbacks see it closed (EVT-12). From inside a pass of
    /// the same event: whoever is still subscribed at its end is told then (V5), and the answer is false.
    bool notify_and_close(const Outcome& outcome);
    /// Set by a callback that really delivered or recorded the error (WKR-12).
    void mark_error_handled() { error_handled_ = true; }

    /// The stored outcome of a closed event; false if there is none (EVT-18).
    [[nodiscard]] virtual bool replay(Outcome& outcome) const {
        (void)outcome;
        return false;
    }

    // ── interest (EVT-2) ──

    void mark_used() { used_ = true; }
    [[nodiscard]] bool is_used() const { return used_; }

    // ── what becomes of its outcome (FUT-21, FUT-25) ──

    /// Somebody waits for it or collects it: its error has somewhere to go.
    virtual void on_awaited() {}
    /// Its value was returned to somebody.
    virtual void on_obtained() {}

    // ── as an object of a search ──

    /// Waits for it leave no footprint: whether somebody came before or after it happened shows nowhere. Only for events that neither a
    /// timeout, a token, a cancellation, a close nor a look at them can meet, and whose waiters take what completes them
    /// (TouchMode::take); set before anybody waits.
    void leave_waits_unseen() { waits_unseen_ = true; }
    [[nodiscard]] bool waits_unseen() const { return waits_unseen_; }
    /// It ends by the last of several things that may happen in any order, each of which says so to who waits (TouchMode::add, give).
    void let_ends_commute() { ends_commute_ = true; }
    [[nodiscard]] bool ends_commute() const { return ends_commute_; }
    /// Somebody finds out whether it is over: part of the footprint of the running step.
    virtual void look() const;

    // ── as a token (AWT-10, TMO-02) ──

    /// Disarmed for good: it is closed, and yet it ends nobody's wait.
    [[nodiscard]] virtual bool is_disarmed() const { return false; }
    /// Closes an event whose time has passed while nobody waited for it. Called where a wait begins.
    virtual void settle() {}

    // ── ownership (EVT-17) ──

    void add_reference() { ++references_; }
    void drop_reference() {
        HEDDLE_ASSERT(references_ > 0, "INV-EVT-09");
        if (--references_ == 0) { dispose(); }
    }
    [[nodiscard]] std::uint32_t references() const { return references_; }

    /// One line for the deadlock report (EVT-19).
    [[nodiscard]] virtual std::string describe() const = 0;
    [[nodiscard]] virtual Label label() const { return {}; }
    [[nodiscard]] Scheduler& scheduler() const { return scheduler_; }

protected:
    explicit EventSource(Scheduler& scheduler) : scheduler_(scheduler) {}
    virtual ~EventSource() { HEDDLE_ASSERT(callbacks_.empty(), "INV-EVT-09"); }

    /// First effective start and last effective stop. Events without loop presence leave them empty (EVT-15).
    virtual void on_first_start() {}
    virtual void on_last_stop() noexcept {}
    /// Replaces the pass; may transform the outcome and then call run_pass (EVT-10).
    virtual void notify_hook(const Outcome& outcome) { run_pass(outcome); }
    /// The last owner released it: stop, drop callbacks, free.
    virtual void dispose() = 0;

    void run_pass(const Outcome& outcome);
    void set_closed() { closed_ = true; }
    /// Stops for all waiters at once, whatever loop_refs says.
    void stop_all() noexcept;
    /// For a destructor: unsubscribes whoever is left, so that nobody is called later.
    void drop_callbacks();

private:
    Scheduler& scheduler_;
    IntrusiveList<EventCallback, EventCallback> callbacks_;
    EventCallback* cursor_ = nullptr;  // next callback of the pass in progress
    std::uint32_t references_ = 0;
    std::uint32_t loop_refs_ = 0;
    std::uint32_t next_sequence_ = 0;
    bool closed_ = false;
    bool in_pass_ = false;
    bool closed_in_pass_ = false;
    bool error_handled_ = false;
    bool used_ = false;
    bool waits_unseen_ = false;
    bool ends_commute_ = false;
};

/// The token of a wait that is about to begin, marked as used. @param token may be null
/// @returns the token to subscribe; null if there is none, or if it was disarmed for good
/// Throws: OperationCanceled, because of the token's error, if it fired already (AWT-1).
[[nodiscard]] EventSource* live_token(EventSource* token);

}  // namespace heddle
