// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/channel_state.hpp"

#include "heddle/core/run/reactor_event.hpp"

namespace heddle {

using detail::WaitEntry;

std::string_view to_string(CloseReason reason) {
    switch (reason) {
        case CloseReason::explicit_close: return "it was closed";
        case CloseReason::disposed: return "its last handle is gone";
        case CloseReason::no_producers: return "nobody sent in time";
        case CloseReason::no_consumers: return "nobody received in time";
        case CloseReason::deadlock: return "nobody can send or receive any more";
        case CloseReason::scope_disposed: return "its scope has ended";
    }
    return "?";
}

ChannelError::ChannelError(CloseReason reason) : Error("the channel is closed: " + std::string(to_string(reason))), reason_(reason) {}

/// The deadlock timer's callback. It lives by itself, because the timer's pass may outlive the channel (EVT-4).
class ChannelState::Fire final : public EventCallback {
public:
    explicit Fire(ChannelState& channel) : channel_(channel) {}
    void call(EventSource&, const Outcome&) override { channel_.starved(); }

private:
    void dispose() override { delete this; }
    ChannelState& channel_;
};

ChannelState::ChannelState(Scheduler& scheduler, const ChannelOptions& options) : RuntimeObject(scheduler, options.name), options_(options) {
    constexpr std::size_t capacity_max = (std::size_t{1} << 31U) - 1;
    if (options.capacity > capacity_max && options.capacity != unbounded_capacity) { throw ValueError("channel: the capacity is out of its range"); }
    if (options.no_producer_timeout < Duration::zero() || options.no_consumer_timeout < Duration::zero()) {
        throw ValueError("channel: a negative timeout");
    }
    scope_ = Ref<ScopeCore>(scheduler.current_scope());
    if (scope_ && scope_->is_open()) {
        scope_->bind(*this);  // CHAN-30
    } else {
        scope_.reset();       // CHAN-31
    }
}

ChannelState::~ChannelState() {
    HEDDLE_ASSERT(receivers_.empty() && senders_.empty() && offer_ == nullptr, "INV-ALL-08");
    disarm();
    if (scope_) { scope_->unbind(*this); }
}

// ── what is free (CH1) ──

bool ChannelState::has_living_offer() const { return offer_ != nullptr && (!offer_->parked || offer_->wait.is_living()); }

std::size_t ChannelState::room() const {
    const std::size_t places = is_rendezvous() ? 1 : options_.capacity;
    HEDDLE_ASSERT(size() <= places, "INV-CHAN-01");
    return places - size();
}

std::size_t ChannelState::free_values() const {
    const std::size_t present = returned_ + buffered_ + (has_living_offer() ? 1 : 0);
    HEDDLE_ASSERT(reserved_values_ <= present, "CHAN-04");
    return present - reserved_values_;
}

ChannelReceiver* ChannelState::oldest_receiver() {
    while (ChannelReceiver* receiver = receivers_.front()) {
        if (receiver->is_living()) { return receiver; }
        receivers_.remove(*receiver);
        receiver->wait_->touch_dead();
        take_back_receive();
    }
    return nullptr;
}

ErrorValue ChannelState::error() const { return ErrorValue::make<ChannelError>(reason_); }

// ── grants (CHAN-07, CHAN-08) ──

void ChannelState::grant_values() {
    while (!closed_ && free_values() > 0) {
        ChannelReceiver* const receiver = oldest_receiver();
        if (receiver == nullptr) { return; }
        receivers_.remove(*receiver);
        if (receiver->is_coroutine()) {
            ++reserved_values_;
            traffic_ = traffic_ || guard_ == Guard::receivers;
            receiver->wait_->grant();
            continue;
        }
        receiver->deliver();  // it has no later run: the value is its own now
        settle_debts();
        receiver->let_go();
    }
}

/// A slot came free: the oldest living sender that waits for one is promised it.
void ChannelState::grant_slots() {
    while (!closed_ && free_slots() > 0) {
        WaitEntry* const sender = oldest_living(senders_, [this](const WaitEntry&) { take_back_send(); });
        if (sender == nullptr) { return; }
        senders_.remove(*sender);
        ++reserved_slots_;
        traffic_ = traffic_ || guard_ == Guard::senders;
        sender->grant();
    }
}

/// The offered value is promised to a receiver: from now on it is the channel's, and its sender is done (CHAN-09, CHAN-10).
void ChannelState::commit() {
    if (!has_living_offer() || reserved_values_ <= returned_ + buffered_) { return; }
    store_push(offer_->value);
    ++buffered_;
    settle_offer();
}

void ChannelState::settle_offer() {
    Offer& settled = *offer_;
    offer_ = nullptr;
    settled.done = true;
    traffic_ = traffic_ || guard_ == Guard::senders;
    // A delivery can be neither undone nor handed on: it outlasts a cancellation in the window (CV-04, CHAN-12).
    if (settled.parked) { settled.wait.grant(true); }
}

std::uint64_t ChannelState::pop(void* to) {
    scheduler().touch(object_label(), "closed", TouchMode::read);  // a close has sent away whom this would serve
    owes_offer_ = owes_commit_ = false;
    std::uint64_t number = 0;
    if (returned_ > 0) {
        number = store_pop_returned(to);
        --returned_;
        owes_commit_ = true;
    } else {
        number = left_++;
        scheduler().touch(object_label(), "head", TouchMode::write);
        scheduler().touch(object_label(), "credit", TouchMode::write, number);
        if (buffered_ > 0) {
            store_pop(to);
            --buffered_;
        } else {
            HEDDLE_ASSERT(has_living_offer(), "CHAN-06");
            store_move(offer_->value, to);
            owes_offer_ = true;
        }
    }
    scheduler().note(EventKind::value_out, scheduler().in_coroutine() ? scheduler().current()->label() : Label{}, object_label(),
                     static_cast<std::int64_t>(number));
    return number;
}

/// What is due in the step that took a value: the sender whose offer it was, then the slot that came free.
void ChannelState::settle_debts() {
    if (std::exchange(owes_commit_, false)) {
        commit();
        return;
    }
    if (std::exchange(owes_offer_, false)) { settle_offer(); }
    grant_slots();
}

/// A value enters the buffer, or is offered.
void ChannelState::enter(void* value) {
    if (scheduler().observer() != nullptr) [[unlikely]] {
        scheduler().touch(object_label(), "tail", TouchMode::write);
        scheduler().touch(object_label(), "slot", TouchMode::write, entered_);
        scheduler().note(EventKind::value_in, scheduler().in_coroutine() ? scheduler().current()->label() : Label{}, object_label(),
                         static_cast<std::int64_t>(entered_));
    }
    ++entered_;
    if (value == nullptr) { return; }
    store_push(value);
    ++buffered_;
}

// ── sending (11.2, 11.3) ──

void ChannelState::send(void* value, EventSource* token, SourceLocation at) {
    CoroutineCore& self = scheduler().require_suspendable("send");
    EventSource* const ends_it = live_token(token);  // S1
    const Ref<ChannelState> alive(this);
    scheduler().touch(object_label(), "closed", TouchMode::read);
    if (closed_) { error().rethrow(); }  // S2
    if (is_rendezvous()) { store_reserve(1); }
    touch_send();
    ++sends_;
    if (free_slots() == 0) { wait_for_slot(self, ends_it, at); }  // S3; from here on nothing is promised, and a slot is free
    if (is_rendezvous()) {
        offer(value, self, ends_it, at);
        return;
    }
    try {
        store_reserve(buffered_ + 1);
    } catch (...) {
        take_back_send();
        grant_slots();
        update_guard();
        throw;
    }
    enter(value);  // S4
    grant_values();
    update_guard();
}

void ChannelState::wait_for_slot(CoroutineCore& self, EventSource* token, SourceLocation at) {
    WaitEntry entry(*this, self, "send");
    senders_.push_back(entry);
    try {
        update_guard();
        entry.park(token, at);
    } catch (...) {
        if (entry.is_granted()) {
            entry.note(EventKind::handed_on);
            take_back_send();
            if (!closed_) {
                --reserved_slots_;
                grant_slots();
            }
        } else {
            entry.note(EventKind::wait_left);
            if (entry.ListHook<WaitEntry>::is_linked()) {
                senders_.remove(entry);
                take_back_send();
            }
        }
        update_guard();
        throw;
    }
    scheduler().touch(object_label(), "closed", TouchMode::read);
    if (closed_) {  // the grant was voided (CHAN-23)
        entry.note(EventKind::handed_on);
        error().rethrow();
    }
    entry.note(EventKind::grant_spent);
    --reserved_slots_;
}

/// S5.
void ChannelState::offer(void* value, CoroutineCore& self, EventSource* token, SourceLocation at) {
    WaitEntry entry(*this, self, "delivery");
    Offer mine{value, entry};
    HEDDLE_ASSERT(offer_ == nullptr && buffered_ == 0, "INV-CHAN-11");
    offer_ = &mine;
    enter(nullptr);
    grant_values();
    commit();
    update_guard();
    if (mine.done) { return; }
    mine.parked = true;
    try {
        update_guard();
        entry.park(token, at);
    } catch (...) {
        if (!mine.done) {
            entry.note(EventKind::wait_left);
            if (offer_ == &mine) {  // else close has withdrawn it
                offer_ = nullptr;
                --entered_;
                take_back_send();
                grant_slots();
            }
            update_guard();
        } else {
            entry.note(EventKind::grant_spent);
        }
        throw;  // done, and thrown out all the same: terminal unwinding
    }
    HEDDLE_ASSERT(mine.done, "CHAN-12");
    entry.note(EventKind::grant_spent);
}

SendResult ChannelState::can_send() const {
    touch_looked();
    if (closed_) { return SendResult::closed; }
    if (free_slots() == 0 || (is_rendezvous() && waiting_receivers() == 0 && !has_pending_future())) { return SendResult::full; }
    return SendResult::ok;
}

SendResult ChannelState::try_send(void* value) {
    const Ref<ChannelState> alive(this);
    const SendResult answer = can_send();
    if (answer != SendResult::ok) { return answer; }
    store_reserve(buffered_ + 1);
    touch_send();
    ++sends_;
    enter(value);  // rendezvous: it is matched at once, and the channel's (CHAN-14)
    grant_values();
    update_guard();
    return SendResult::ok;
}

// ── receiving (11.4) ──

std::uint64_t ChannelState::receive(void* to, EventSource* token, SourceLocation at) {
    CoroutineCore& self = scheduler().require_suspendable("receive");
    EventSource* const ends_it = live_token(token);  // R1
    const Ref<ChannelState> alive(this);
    touch_receive();
    if (free_values() == 0) {
        if (closed_) { error().rethrow(); }  // R3
        ++receives_;
        WaitEntry entry(*this, self, "receive");
        ChannelReceiver waiting(entry);
        receivers_.push_back(waiting);
        try {
            update_guard();
            entry.park(ends_it, at);  // R4
        } catch (...) {
            if (entry.is_granted()) {
                entry.note(EventKind::handed_on);
                take_back_receive();
                --reserved_values_;
                grant_values();  // closed: it becomes free, and can be drained (CHAN-25)
            } else {
                entry.note(EventKind::wait_left);
                if (waiting.is_linked()) {
                    receivers_.remove(waiting);
                    take_back_receive();
                }
            }
            update_guard();
            throw;
        }
        entry.note(EventKind::grant_spent);
        --reserved_values_;  // CHAN-16: nothing runs between this and the taking
    } else {
        ++receives_;
    }
    const std::uint64_t number = pop(to);
    settle_debts();
    update_guard();
    return number;
}

ReceiveResult ChannelState::try_receive(void* to, std::uint64_t& number) {
    const Ref<ChannelState> alive(this);
    if (free_values() == 0) {
        touch_looked();
        return closed_ ? ReceiveResult::closed : ReceiveResult::empty;
    }
    touch_receive();
    ++receives_;
    number = pop(to);
    settle_debts();
    update_guard();
    return ReceiveResult::value;
}

void ChannelState::receive_async(ChannelReceiver& future) {
    const Ref<ChannelState> alive(this);
    touch_receive();
    if (free_values() > 0) {
        ++receives_;
        future.deliver();
        settle_debts();
        update_guard();
    } else if (closed_) {
        future.reject(error());
    } else {
        ++receives_;
        future.hold();
        receivers_.push_back(future);
    }
}

void ChannelState::leave(ChannelReceiver& future) {
    if (!future.is_linked()) { return; }
    receivers_.remove(future);
    take_back_receive();
    future.let_go();
}

void ChannelState::put_back(void* value, std::uint64_t number) {
    const Ref<ChannelState> alive(this);
    store_return(value, number);
    ++returned_;
    scheduler().note(EventKind::value_in, {}, object_label(), static_cast<std::int64_t>(number), 1);
    take_back_receive();
    grant_values();
    commit();
    update_guard();
}

// ── close (11.5) ──

void ChannelState::close(CloseReason reason) {
    if (closed_) {
        scheduler().touch(object_label(), "closed", TouchMode::read);
        return;
    }
    const Ref<ChannelState> alive(this);
    scheduler().touch(object_label(), "closed", TouchMode::write);
    scheduler().touch(object_label(), "tail", TouchMode::write);
    closed_ = true;
    reason_ = reason;
    reserved_slots_ = 0;  // voided: their owners find the channel closed
    scheduler().note(EventKind::object_closed, {}, object_label(), static_cast<std::int64_t>(reason));
    disarm();
    const ErrorValue why = error();
    while (ChannelReceiver* receiver = receivers_.front()) {
        receivers_.remove(*receiver);
        if (receiver->is_coroutine()) {
            receiver->wait_->fail(why);
        } else {
            receiver->reject(why);
            receiver->let_go();
        }
    }
    if (Offer* const withdrawn = std::exchange(offer_, nullptr); withdrawn != nullptr) {
        --entered_;
        withdrawn->wait.fail(why);
    }
    while (WaitEntry* sender = senders_.front()) {
        senders_.remove(*sender);
        sender->fail(why);
    }
}

void ChannelState::drop_handle() {
    HEDDLE_ASSERT(handles_ > 0, "CV-16");
    if (--handles_ == 0) { close(CloseReason::disposed); }  // CHAN-26
    drop_reference();
}

void ChannelState::scope_requested(ScopeCore&) { close(CloseReason::scope_disposed); }

// ── deadlock protection (11.9) ──

ChannelState::Guard ChannelState::wanted_guard() const {
    if (closed_) { return Guard::none; }
    if (options_.no_producer_timeout > Duration::zero() && waiting_receivers() > 0) { return Guard::receivers; }
    if (options_.no_consumer_timeout > Duration::zero() && waiting_senders() > 0) { return Guard::senders; }
    return Guard::none;
}

void ChannelState::update_guard() {
    if (options_.no_producer_timeout == Duration::zero() && options_.no_consumer_timeout == Duration::zero()) { return; }  // CHAN-43
    const Guard wanted = wanted_guard();
    const bool restarts = std::exchange(traffic_, false);  // CHAN-40
    if (wanted == guard_ && !restarts) { return; }
    disarm();
    if (wanted == Guard::none) { return; }
    TimerOptions timer;
    timer.timeout = wanted == Guard::receivers ? options_.no_producer_timeout : options_.no_consumer_timeout;
    timer.refresh = true;
    timer_ = ReactorEvent::timer(scheduler(), timer, !options_.hard_timeouts, "starvation");
    fire_ = new Fire(*this);
    timer_->subscribe(*fire_);
    guard_ = wanted;
    try {
        timer_->start();
    } catch (...) {
        disarm();  // a channel that cannot be guarded works all the same
        scheduler().report({"channel: the deadlock timer could not be armed", ErrorValue(std::current_exception())});
    }
}

void ChannelState::disarm() {
    guard_ = Guard::none;
    const Ref<ReactorEvent> timer = std::exchange(timer_, {});
    if (!timer) { return; }
    timer->unsubscribe(*std::exchange(fire_, nullptr));
    timer->stop();
}

void ChannelState::starved() {
    const Ref<ChannelState> alive(this);
    const Guard fired = guard_;
    if (wanted_guard() != fired) {
        update_guard();  // who starved was cancelled in this very instant
        return;
    }
    close(fired == Guard::receivers ? CloseReason::no_producers : CloseReason::no_consumers);
}

bool ChannelState::resolve_deadlock() {
    if (guard_ == Guard::none || options_.hard_timeouts) { return false; }
    close(CloseReason::deadlock);  // CHAN-42
    return true;
}

// ── looking ──

std::size_t ChannelState::waiting_receivers() const {
    std::size_t count = 0;
    for (const ChannelReceiver* at = receivers_.front(); at != nullptr; at = receivers_.next(*at)) {
        count += at->is_coroutine() && at->is_living() ? 1 : 0;
    }
    return count;
}

std::size_t ChannelState::waiting_senders() const {
    return detail::living_count(senders_) + (offer_ != nullptr && offer_->parked && offer_->wait.is_living() ? 1 : 0);
}

bool ChannelState::has_pending_future() const {
    for (const ChannelReceiver* at = receivers_.front(); at != nullptr; at = receivers_.next(*at)) {
        if (!at->is_coroutine()) { return true; }
    }
    return false;
}

bool ChannelState::has_dead_waiter() const {
    for (const ChannelReceiver* at = receivers_.front(); at != nullptr; at = receivers_.next(*at)) {
        if (!at->is_living()) { return true; }
    }
    return detail::living_count(senders_) < senders_.size() || (offer_ != nullptr && !has_living_offer());
}

std::string ChannelState::describe() const {
    return "channel of capacity " + (options_.capacity == unbounded_capacity ? std::string("unbounded") : std::to_string(options_.capacity)) + ", " +
           std::to_string(size()) + " inside, " + std::to_string(returned_) + " returned, " + std::to_string(receivers_.size()) + " receivers, " +
           std::to_string(senders_.size() + (offer_ != nullptr ? 1 : 0)) + " senders, " + std::to_string(reserved_values_) + " values and " +
           std::to_string(reserved_slots_) + " slots promised" + (closed_ ? ", closed: " + std::string(to_string(reason_)) : "");
}

// ── cells ──

void ChannelState::take_back_send() {
    --sends_;
    touch_skip();
}

void ChannelState::take_back_receive() {
    --receives_;
    touch_skip();
}

void ChannelState::touch_skip() const {
    scheduler().touch(object_label(), "closed", TouchMode::read);
    scheduler().touch(object_label(), "skips", TouchMode::write);
}

void ChannelState::touch_send() const {
    if (scheduler().observer() == nullptr) [[likely]] { return; }
    scheduler().touch(object_label(), "sends", TouchMode::write);
    scheduler().touch(object_label(), "skips", TouchMode::read);
    const std::size_t places = is_rendezvous() ? 1 : options_.capacity;
    if (sends_ >= places) { scheduler().touch(object_label(), "credit", TouchMode::read, sends_ - places); }
}

void ChannelState::touch_receive() const {
    if (scheduler().observer() == nullptr) [[likely]] { return; }
    scheduler().touch(object_label(), "receives", TouchMode::write);
    scheduler().touch(object_label(), "closed", TouchMode::read);
    scheduler().touch(object_label(), "skips", TouchMode::read);
    scheduler().touch(object_label(), "slot", TouchMode::read, receives_);
}

void ChannelState::touch_looked() const {
    if (scheduler().observer() == nullptr) [[likely]] { return; }
    for (const char* field : {"sends", "receives", "tail", "head", "skips", "closed"}) {
        scheduler().touch(object_label(), field, TouchMode::read);
    }
}

}  // namespace heddle
