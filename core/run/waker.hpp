// SPDX-License-Identifier: Apache-2.0
// Waker: the bridge from events to the one coroutine that waits for them (docs/spec/02-waker-events.md, section 2).
//
//              subscribe + suspend                 resume, cancel                  dispatch
//   none ────────────────────────────▶ waiting ────────────────────▶ queued ────────────────────▶ result ──clean──▶ none
//     │ resume before suspend (WKR-13)    │ own in-place tick                        ▲
//     └───────────────────────────────────┴─────────────────────────────────────────┘
//   none ──spawn──▶ queued ──cancel before start──▶ ignored ──dispatch──▶ none (finalized)
//
// W1  Every change of status is a row of WKR-9 (INV-WAKE-01).
// W2  The first event that resumes decides the outcome; only WKR-11(a) may replace it, by a cancellation (INV-WAKE-02).
// W3  Each event that this wait started is stopped exactly once, and no other (INV-EVT-03).
// W4  A triggered event keeps its node, and by it a reference, until the next clean (WKR-14).
// Choice points: none. The scheduler decides who runs next.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "heddle/core/base/time.hpp"
#include "heddle/core/base/unique_function.hpp"
#include "heddle/core/run/event_source.hpp"

namespace heddle {

class CoroutineCore;
class Waker;

namespace detail {
/// Whether one of them holds, with one branch for all: the loads do not wait for each other.
template <class... Flags>
[[gnu::always_inline]] constexpr bool any(Flags... flags) {
    return (static_cast<unsigned>(flags) | ...) != 0;
}
}  // namespace detail

enum class WakerStatus : std::uint8_t { none, waiting, queued, ignored, result };
[[nodiscard]] std::string_view to_string(WakerStatus status);

/// What an event does to the waiting coroutine (WKR-7).
enum class WakeBy : std::uint8_t {
    resolve,  ///< value or error becomes the outcome
    token,    ///< OperationCanceled, whatever the token carries
    timeout,  ///< TimeoutError; an error passes as it is
    custom,   ///< the subscriber's own function decides
};

/// One callback of a wait on one event. Pooled by the scheduler, so that a wait allocates nothing when warm.
class Subscription final : public EventCallback {
public:
    using Function = UniqueFunction<void(EventSource&, const Outcome&)>;

    void call(EventSource& event, const Outcome& outcome) override;

private:
    friend class Waker;
    friend class Scheduler;
    void dispose() override;

    Waker* waker_ = nullptr;
    Subscription* next_ = nullptr;
    Ref<EventSource> held_;      // one reference per distinct event: on its first node
    std::unique_ptr<Function> function_;
    WakeBy by_ = WakeBy::resolve;
    bool first_for_event_ = false;
    bool started_ = false;       // this wait started the event and owes it one stop
    bool triggered_ = false;     // kept in the waker's triggered list until the next clean (W4)
    Subscription* next_triggered_ = nullptr;
};

class Waker {
public:
    explicit Waker(CoroutineCore& coroutine) : coroutine_(coroutine) {}
    Waker(const Waker&) = delete;
    Waker& operator=(const Waker&) = delete;

    [[nodiscard]] WakerStatus status() const { return status_; }
    [[nodiscard]] bool in_queue() const { return status_ == WakerStatus::queued || status_ == WakerStatus::ignored; }
    [[nodiscard]] bool has_subscriptions() const { return first_ != nullptr; }
    [[nodiscard]] std::size_t subscription_count() const;

    /// Prepares an event of the coming wait; it is started by suspend, not here (WKR-4, INV-SCHED-20).
    /// @param transfer  the waker takes over the caller's reference, also if this throws (WKR-5)
    /// Throws AsyncError if the event is closed, or the function empty. A token is marked as used (WKR-7).
    void resume_when(EventSource& event, WakeBy by, bool transfer = false);
    void resume_when(EventSource& event, Subscription::Function function, bool transfer = false);
    /// Removes this wait's callbacks on one event and stops it if this wait started it.
    void forget(EventSource& event);

    /// Drops outcome, subscriptions and owned events; each event that this wait started is stopped once. Idempotent (WKR-3).
    void clean();
    /// Begins a wait with a bound (WKR-2): cleans, then subscribes a one-shot timer that the waker owns, if `timeout` is more than zero,
    /// then the token, if there is one. The timer ends the wait like any event and is in `triggered()` then.
    /// @returns the timer, null for none; valid until the next clean. Throws OperationCanceled, nothing subscribed, if the token has fired.
    EventSource* begin_with_timeout(Duration timeout, EventSource* token = nullptr);

    /// Value, error and triggered events of the wait that ended, until the next clean.
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }
    [[nodiscard]] std::vector<EventSource*> triggered() const;
    [[nodiscard]] bool was_triggered(const EventSource& event) const;

    /// The events of this wait, in subscription order, for reports.
    [[nodiscard]] std::vector<EventSource*> events() const;
    /// The same one by one, without allocating, for those who look after every step.
    template <class F>
    void visit_events(F&& visit) const {
        for (const Subscription* at = first_; at != nullptr; at = at->next_) {
            if (at->first_for_event_) { visit(*at->held_); }
        }
    }

    /// What has just ended this wait can be neither undone nor handed on: a cancellation in the window leaves it as it is and becomes
    /// pending (CV-04). Called by a primitive in the step that wakes.
    void keep_outcome() { kept_ = true; }

    [[nodiscard]] CoroutineCore& coroutine() const { return coroutine_; }
    /// Run by the next clean (WKR-1): a combinator's context goes with its wait.
    void set_destructor_hook(UniqueFunction<void()> hook) { destructor_hook_ = std::make_unique<UniqueFunction<void()>>(std::move(hook)); }

private:
    friend class Scheduler;
    friend class Subscription;

    enum class Origin : std::uint8_t { none, event, cancel };

    /// Nothing for clean() to do.
    [[nodiscard]] bool is_clean() const {
        return !detail::any(first_ != nullptr, triggered_ != nullptr, destructor_hook_ != nullptr, static_cast<bool>(outcome_.error),
                            outcome_.has_value, origin_ != Origin::none, flush_pending_, kept_, status_ != WakerStatus::none);
    }
    Subscription& append(EventSource& event, bool transfer);
    void start_events();
    void drop_subscriptions();
    void note_triggered(Subscription& winner);
    void release(Subscription& node);

    WakerStatus status_ = WakerStatus::none;
    Origin origin_ = Origin::none;
    bool in_suspend_ = false;      // suspend was entered past its step 4 and has not returned
    bool kept_ = false;            // keep_outcome
    bool flush_pending_ = false;   // woken in a scheduler phase: subscriptions go at its flush point (SCH-26)
    Subscription* first_ = nullptr;
    Subscription* triggered_ = nullptr;       // W4, winner first
    std::unique_ptr<UniqueFunction<void()>> destructor_hook_;
    Outcome outcome_;
    Subscription* last_ = nullptr;
    Subscription* triggered_last_ = nullptr;
    CoroutineCore& coroutine_;
};

}  // namespace heddle
