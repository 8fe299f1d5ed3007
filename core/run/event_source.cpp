// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/event_source.hpp"

#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle {

void EventSource::subscribe(EventCallback& callback) {
    if (closed_) { throw AsyncError("cannot subscribe to a closed event: " + describe()); }
    HEDDLE_ASSERT(!callback.is_subscribed(), "a callback is subscribed to one event at a time");
    callback.event_ = this;
    callback.sequence_ = next_sequence_++;
    callback.add_reference();
    callbacks_.push_back(callback);
}

void EventSource::unsubscribe(EventCallback& callback) {
    if (callback.event_ != this || !callback.is_subscribed()) { return; }
    if (cursor_ == &callback) { cursor_ = callbacks_.next(callback); }  // V1: the pass goes on behind the removed one
    callbacks_.remove(callback);
    callback.event_ = nullptr;
    callback.drop_reference();
}

void EventSource::start() {
    if (closed_) { return; }
    if (loop_refs_ == 0) {
        on_first_start();
        if (closed_) { return; }  // its condition held already, and it was reported on the way (RCT-53)
    }
    ++loop_refs_;
    scheduler_.note(EventKind::event_started, {}, label(), loop_refs_);
}

void EventSource::stop() noexcept {
    if (closed_ || loop_refs_ == 0) { return; }
    if (--loop_refs_ == 0) { on_last_stop(); }
    scheduler_.note(EventKind::event_stopped, {}, label(), loop_refs_);
}

void EventSource::stop_all() noexcept {
    if (loop_refs_ == 0) { return; }
    loop_refs_ = 0;
    on_last_stop();
    scheduler_.note(EventKind::event_stopped, {}, label(), 0);
}

bool EventSource::notify(const Outcome& outcome) {
    if (in_pass_) {
        // EVT-7: a nested notification of the same event is a programming error; the pass in progress is not disturbed.
        scheduler_.seen("event.nested_notification");
        return false;
    }
    const Ref<EventSource> alive(this);  // EVT-7: a callback may release the event
    error_handled_ = false;
    scheduler_.note(EventKind::notified, {}, label(), static_cast<std::int64_t>(callbacks_.size()), outcome.error ? 1 : 0);
    in_pass_ = true;
    notify_hook(outcome);
    const bool handled = error_handled_;
    if (closed_in_pass_) [[unlikely]] {  // V5
        closed_in_pass_ = false;
        Outcome last;
        if (!replay(last)) { last = {0, false, ErrorValue::make<AsyncError>(describe() + " was closed")}; }
        run_pass(last);
    }
    in_pass_ = false;
    return handled;
}

bool EventSource::notify_and_close(const Outcome& outcome) {
    const Ref<EventSource> alive(this);
    stop_all();
    closed_ = true;
    if (in_pass_) {
        closed_in_pass_ = true;
        return false;
    }
    return notify(outcome);
}

void EventSource::run_pass(const Outcome& outcome) {
    const std::uint32_t limit = next_sequence_;
    const Scheduler::NoSuspend region(scheduler_);
    ErrorValue thrown;
    cursor_ = callbacks_.front();
    while (cursor_ != nullptr && cursor_->sequence_ - limit > 0x7fffffffU) {  // subscribed before the pass began
        const Ref<EventCallback> callback(cursor_);
        cursor_ = callbacks_.next(*callback);
        try {
            callback->call(*this, outcome);
        } catch (const Cancellation&) {
            // No error (CAN-16), and no reason to lose one that another callback threw.
        } catch (...) {
            thrown = ErrorValue(std::current_exception()).with_previous(thrown);
        }
    }
    cursor_ = nullptr;
    if (thrown) { scheduler_.record_unhandled(thrown); }  // EVT-8
}

void EventSource::look() const {
    if (scheduler_.observed() && !waits_unseen_) [[unlikely]] { scheduler_.touch(label(), "state", TouchMode::read); }
}

void EventSource::drop_callbacks() {
    while (EventCallback* callback = callbacks_.front()) { unsubscribe(*callback); }
}

EventSource* live_token(EventSource* token) {
    if (token == nullptr) { return nullptr; }
    token->mark_used();
    token->on_awaited();  // whoever waits gets its error, as a cause (FUT-21)
    token->settle();
    token->look();
    if (!token->is_closed()) { return token; }
    if (token->is_disarmed()) { return nullptr; }
    Outcome fired;
    static_cast<void>(token->replay(fired));
    throw OperationCanceled("the token fired", fired.error);
}

OneShotEvent::OneShotEvent(Scheduler& scheduler, const char* name)
    : EventSource(scheduler), name_(name), label_(scheduler.object_label(name)) {}

Ref<OneShotEvent> OneShotEvent::make(Scheduler& scheduler, const char* name) {
    return Ref<OneShotEvent>(new OneShotEvent(scheduler, name));
}

bool OneShotEvent::complete(std::int64_t value) {
    if (is_closed()) {
        look();
        return false;
    }
    if (!waits_unseen()) { scheduler().touch(label_, "state", TouchMode::write); }
    outcome_ = {value, true, {}};
    notify_and_close(outcome_);
    return true;
}

bool OneShotEvent::fail(ErrorValue error) {
    if (is_closed()) {
        look();
        return false;
    }
    if (!waits_unseen()) { scheduler().touch(label_, "state", TouchMode::write); }
    outcome_ = {0, false, std::move(error)};
    notify_and_close(outcome_);
    return true;
}

bool OneShotEvent::replay(Outcome& outcome) const {
    if (!is_closed()) { return false; }
    outcome = outcome_;
    return true;
}

}  // namespace heddle
