// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/waker.hpp"

#include <algorithm>

#include "heddle/core/run/scheduler.hpp"

namespace heddle {

std::string_view to_string(WakerStatus status) {
    switch (status) {
        case WakerStatus::none: return "none";
        case WakerStatus::waiting: return "waiting";
        case WakerStatus::queued: return "queued";
        case WakerStatus::ignored: return "ignored";
        case WakerStatus::result: return "result";
    }
    return "?";
}

void Subscription::call(EventSource& event, const Outcome& outcome) {
    Waker& waker = *waker_;
    Scheduler& scheduler = event.scheduler();
    if (by_ == WakeBy::custom) {
        (*function_)(event, outcome);
        return;
    }
    if (by_ != WakeBy::resolve && event.is_disarmed()) { return; }  // AWT-10: it ends nobody's wait any more
    Outcome given = outcome;
    if (by_ == WakeBy::token) {
        given = {0, false, ErrorValue::make<OperationCanceled>("the token fired", outcome.error)};
    } else if (by_ == WakeBy::timeout && !outcome.error) {
        given = {0, false, ErrorValue::make<TimeoutError>()};
    }
    waker.note_triggered(*this);
    const bool won = scheduler.resume(waker.coroutine(), &event, given);
    // WKR-12: an error that did not become this wait's outcome stays observable at its source. A token's error is not the waiter's.
    if (won && by_ == WakeBy::resolve && outcome.error) { event.mark_error_handled(); }
}

void Subscription::dispose() {
    Scheduler& scheduler = waker_->coroutine().scheduler();
    scheduler.free_subscription(this);
}

std::size_t Waker::subscription_count() const {
    std::size_t count = 0;
    for (const Subscription* node = first_; node != nullptr; node = node->next_) { ++count; }
    return count;
}

Subscription& Waker::append(EventSource& event, bool transfer) {
    Ref<EventSource> reference = transfer ? Ref<EventSource>::adopt(&event) : Ref<EventSource>(&event);
    if (event.is_closed()) { throw AsyncError("cannot wait for a closed event: " + event.describe()); }
    Subscription& node = *coroutine_.scheduler().new_subscription();
    node.waker_ = this;
    node.add_reference();  // the waker's own
    bool known = false;
    if (event.subscriber_count() > 0) {  // else nobody waits for it, this wait included: a wait for many events stays linear
        for (const Subscription* at = first_; at != nullptr && !known; at = at->next_) { known = at->event() == &event; }
    }
    node.first_for_event_ = !known;
    if (!known) { node.held_ = std::move(reference); }
    event.subscribe(node);
    if (last_ == nullptr) {
        first_ = &node;
    } else {
        last_->next_ = &node;
    }
    last_ = &node;
    return node;
}

void Waker::resume_when(EventSource& event, WakeBy by, bool transfer) {
    HEDDLE_ASSERT(by != WakeBy::custom, "a custom callback comes with its function");
    append(event, transfer).by_ = by;
    if (by == WakeBy::token) { event.mark_used(); }
}

void Waker::resume_when(EventSource& event, Subscription::Function function, bool transfer) {
    if (!function) {
        if (transfer) { event.drop_reference(); }
        throw AsyncError("resume_when: a custom callback is missing");
    }
    Subscription& node = append(event, transfer);
    node.by_ = WakeBy::custom;
    node.function_ = std::make_unique<Subscription::Function>(std::move(function));
}

void Waker::forget(EventSource& event) {
    Subscription* previous = nullptr;
    for (Subscription* node = first_; node != nullptr;) {
        Subscription* next = node->next_;
        if (node->held_.get() == &event || node->event() == &event) {
            (previous == nullptr ? first_ : previous->next_) = next;
            if (last_ == node) { last_ = previous; }
            if (node->started_) {
                node->started_ = false;
                event.stop();
            }
            release(*node);
        } else {
            previous = node;
        }
        node = next;
    }
}

void Waker::start_events() {
    for (Subscription* node = first_; node != nullptr && status_ == WakerStatus::waiting; node = node->next_) {
        if (!node->first_for_event_) { continue; }
        EventSource& event = *node->held_;
        if (!event.waits_unseen()) { coroutine_.scheduler().touch(event.label(), "state", TouchMode::read); }
        if (!event.is_closed()) {
            event.start();
            node->started_ = !event.is_closed();
            continue;
        }
        Outcome outcome;
        if (!event.replay(outcome)) { continue; }
        for (Subscription* same = node; same != nullptr; same = same->next_) {
            if (same->event() == &event) { same->call(event, outcome); }
        }
    }
}

void Waker::drop_subscriptions() {
    flush_pending_ = false;
    Subscription* node = std::exchange(first_, nullptr);
    last_ = nullptr;
    // Stops come first and in order, so that a sibling's event is never detached by the release of one before it.
    for (Subscription* at = node; at != nullptr; at = at->next_) {
        if (std::exchange(at->started_, false)) { at->held_->stop(); }
    }
    // All unsubscribe before any reference goes: the first node of an event keeps it alive for the others.
    for (Subscription* at = node; at != nullptr; at = at->next_) {
        if (EventSource* event = at->event(); event != nullptr) { event->unsubscribe(*at); }
    }
    while (node != nullptr) {
        Subscription* next = std::exchange(node->next_, nullptr);
        release(*node);
        node = next;
    }
}

void Waker::release(Subscription& node) {
    if (EventSource* event = node.event(); event != nullptr) {
        const Ref<EventSource> alive(event);
        event->unsubscribe(node);
        if (!node.triggered_) { node.held_.reset(); }
    } else if (!node.triggered_) {
        node.held_.reset();
    }
    if (!node.triggered_) { node.drop_reference(); }
}

void Waker::note_triggered(Subscription& winner) {
    EventSource* event = winner.event() != nullptr ? winner.event() : winner.held_.get();
    if (status_ != WakerStatus::waiting && status_ != WakerStatus::queued && status_ != WakerStatus::result &&
        !(status_ == WakerStatus::none && has_subscriptions())) {
        return;
    }
    for (const Subscription* at = triggered_; at != nullptr; at = at->next_triggered_) {
        if (at->held_.get() == event) { return; }  // INV-WAKE-10: once per event
    }
    if (winner.triggered_) { return; }
    winner.triggered_ = true;
    if (!winner.held_) { winner.held_ = Ref<EventSource>(event); }
    if (triggered_last_ == nullptr) {
        triggered_ = &winner;
    } else {
        triggered_last_->next_triggered_ = &winner;
    }
    triggered_last_ = &winner;
}

void Waker::clean() {
    HEDDLE_ASSERT(!in_queue(), "WKR-3: a queued waker is not cleaned");
    if (destructor_hook_) {
        const std::unique_ptr<UniqueFunction<void()>> hook = std::move(destructor_hook_);
        (*hook)();
    }
    drop_subscriptions();
    Subscription* node = std::exchange(triggered_, nullptr);
    triggered_last_ = nullptr;
    while (node != nullptr) {
        Subscription* next = std::exchange(node->next_triggered_, nullptr);
        node->triggered_ = false;
        node->held_.reset();
        node->drop_reference();
        node = next;
    }
    outcome_ = {};
    origin_ = Origin::none;
    status_ = WakerStatus::none;
    kept_ = false;
}

EventSource* Waker::begin_with_timeout(Duration timeout, EventSource* token) {
    clean();
    EventSource* const live = live_token(token);
    EventSource* timer = nullptr;
    if (timeout > Duration::zero()) {
        TimerOptions options;
        options.timeout = timeout;
        options.refresh = true;  // time spent before the wait does not shorten it (RCT-22)
        const Ref<ReactorEvent> owned = ReactorEvent::timer(coroutine_.scheduler(), options, false, "wait_timeout");
        resume_when(*owned, WakeBy::resolve);
        timer = owned.get();
    }
    if (live != nullptr) { resume_when(*live, WakeBy::token); }
    return timer;
}

std::vector<EventSource*> Waker::triggered() const {
    std::vector<EventSource*> events;
    for (const Subscription* at = triggered_; at != nullptr; at = at->next_triggered_) { events.push_back(at->held_.get()); }
    return events;
}

bool Waker::was_triggered(const EventSource& event) const {
    for (const Subscription* at = triggered_; at != nullptr; at = at->next_triggered_) {
        if (at->held_.get() == &event) { return true; }
    }
    return false;
}

std::vector<EventSource*> Waker::events() const {
    std::vector<EventSource*> events;
    for (const Subscription* at = first_; at != nullptr; at = at->next_) {
        if (at->first_for_event_) { events.push_back(at->held_.get()); }
    }
    return events;
}

}  // namespace heddle
