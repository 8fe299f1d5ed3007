// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/channel_state.hpp"

#include <algorithm>
#include <optional>

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

[[gnu::always_inline]] inline ChannelReceiver* ChannelState::oldest_receiver() {
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

[[gnu::always_inline]] inline void ChannelState::grant_values(const bool watched) {
    while (!closed_ && free_values() > 0) {
        ChannelReceiver* const receiver = oldest_receiver();
        if (receiver == nullptr) { return; }
        receivers_.remove(*receiver);
        if (receiver->is_coroutine()) {
            ++reserved_values_;
            if (watched) { traffic_ = traffic_ || guard_ == Guard::receivers; }
            receiver->wait_->grant();
            continue;
        }
        receiver->deliver();  // it has no later run: the value is its own now
        settle_debts(watched);
        receiver->let_go();
    }
}

/// A slot came free: the oldest living sender that waits for one is promised it.
[[gnu::always_inline]] inline void ChannelState::grant_slots(const bool watched) {
    while (!closed_ && free_slots() > 0) {
        WaitEntry* const sender = oldest_living(senders_, [this](const WaitEntry&) { take_back_send(); });
        if (sender == nullptr) { return; }
        senders_.remove(*sender);
        ++reserved_slots_;
        if (watched) { traffic_ = traffic_ || guard_ == Guard::senders; }
        sender->grant();
    }
}

/// The offered value is promised to a receiver: from now on it is the channel's, and its sender is done (CHAN-09, CHAN-10).
void ChannelState::commit(const bool watched) {
    if (!has_living_offer() || reserved_values_ <= returned_ + buffered()) { return; }
    push(offer_->value);
    settle_offer(watched);
}

[[gnu::always_inline]] inline void ChannelState::settle_offer(const bool watched) {
    Offer& settled = *offer_;
    offer_ = nullptr;
    settled.done = true;
    if (watched) { traffic_ = traffic_ || guard_ == Guard::senders; }
    // A delivery can be neither undone nor handed on: it outlasts a cancellation in the window (CV-04, CHAN-12).
    settled.wait.grant(true);
}

[[gnu::always_inline]] inline std::uint64_t ChannelState::take_out(void* to, const bool watched) {
    if (watched) { scheduler().touch(object_label(), "closed", TouchMode::read); }  // a close has sent away whom this would serve
    owes_offer_ = owes_commit_ = false;
    std::uint64_t number = 0;
    if (returned_ > 0) {
        number = store_pop_returned(to);
        --returned_;
        owes_commit_ = true;
    } else {
        number = left_++;
        if (watched) { scheduler().touch(object_label(), "head", TouchMode::write); }
        if (watched) { scheduler().touch(object_label(), "credit", TouchMode::write, number); }
        if (buffered() > 0) {
            store_pop(to);
            ++out_;
            ++counted_out_;
        } else {
            HEDDLE_ASSERT(has_living_offer(), "CHAN-06");
            store_move(offer_->value, to);
            owes_offer_ = true;
        }
    }
    if (watched) {
        scheduler().note(EventKind::value_out, scheduler().in_coroutine() ? scheduler().current()->label() : Label{}, object_label(),
                         static_cast<std::int64_t>(number));
    }
    return number;
}

std::uint64_t ChannelState::pop(void* to) { return take_out(to, true); }

/// What is due in the step that took a value: the sender whose offer it was, then the slot that came free.
[[gnu::always_inline]] inline void ChannelState::settle_debts(const bool watched) {
    if (std::exchange(owes_commit_, false)) {
        commit(watched);
        return;
    }
    if (std::exchange(owes_offer_, false)) { settle_offer(watched); }
    grant_slots(watched);
}

/// A value enters the buffer, or is offered.
[[gnu::always_inline]] inline void ChannelState::enter(void* value, const bool watched) {
    if (watched) {
        scheduler().touch(object_label(), "tail", TouchMode::write);
        scheduler().touch(object_label(), "slot", TouchMode::write, entered_);
        scheduler().note(EventKind::value_in, scheduler().in_coroutine() ? scheduler().current()->label() : Label{}, object_label(),
                         static_cast<std::int64_t>(entered_));
    }
    ++entered_;
    if (value != nullptr) { push(value); }
}

[[gnu::always_inline]] inline void ChannelState::push(void* value) {
    store_push(value);
    ++in_;
    ++counted_in_;
}

// ── plain operations (CH6) ──

/// Those since the last look, before anything else is done.
[[gnu::always_inline]] inline void ChannelState::count_plain_ones() {
    if (in_ != counted_in_) {
        const std::uint64_t sent = in_ - std::exchange(counted_in_, in_);
        sends_ += sent;
        entered_ += sent;
    }
    if (out_ != counted_out_) {
        const std::uint64_t received = out_ - std::exchange(counted_out_, out_);
        receives_ += received;
        left_ += received;
    }
}

/// The end of every operation, and of its part before a wait.
[[gnu::always_inline]] inline void ChannelState::settle_up(const bool watched) {
    if (watched && is_to_be_guarded()) { update_guard(); }  // CHAN-43: else there is no timer
    if (is_rendezvous()) { return; }
    const bool plain = !detail::any(closed_, guard_ != Guard::none, returned_ > 0, !receivers_.empty(), !senders_.empty());
    plain_below_ = plain ? std::min(options_.capacity - reserved_slots_, room_made_) : 0;
    plain_above_ = plain ? reserved_values_ : std::numeric_limits<std::size_t>::max();
}

// ── sending and receiving (11.2 to 11.4) ──

/// One send or receive that may have to wait. Both wait at one place: a processor foresees the returns of flows that suspend alike.
struct ChannelState::Passage {
    Passage(ChannelState& channel, CoroutineCore& self, Step step, void* at)
        : entry(channel, self, step == Step::slot ? "send" : step == Step::delivery ? "delivery" : "receive"), value(at) {}

    WaitEntry entry;
    std::optional<ChannelReceiver> receiver;  // of a receive
    std::optional<Offer> offer;               // of a delivery
    void* value;
};

std::uint64_t ChannelState::pass(const Side side, void* const value, EventSource* const token, const SourceLocation at) {
    return detail::any(scheduler().observed(), is_to_be_guarded()) ? pass_as<true>(side, value, token, at) : pass_as<false>(side, value, token, at);
}

template <bool watched>
[[gnu::always_inline]] inline std::uint64_t ChannelState::pass_as(const Side side, void* const value, EventSource* const token, const SourceLocation at) {
    const bool may_suspend = scheduler().may_suspend();
    CoroutineCore& self = may_suspend ? *scheduler().current() : scheduler().require_suspendable(side == Side::send ? "send" : "receive");
    EventSource* const ends_it = token == nullptr ? nullptr : live_token(token);  // S1, R1
    const Ref<ChannelState> alive(this);
    count_plain_ones();
    std::uint64_t number = 0;
    Step step = side == Side::send ? begin_send(value, watched) : begin_receive(value, number, watched);
    while (step != Step::done) {
        Passage passage(*this, self, step, value);
        queue(step, passage, watched);
        settle_up(watched);
        try {
            passage.entry.park(ends_it, at);
        } catch (...) {
            count_plain_ones();
            give_up(step, passage);
            settle_up(true);
            throw;
        }
        count_plain_ones();
        step = watched || !scheduler().observed() ? go_on(step, passage, number, watched) : go_on_watched(step, passage, number);
    }
    settle_up(watched);
    return number;
}

[[gnu::always_inline]] inline ChannelState::Step ChannelState::begin_send(void* value, const bool watched) {
    if (watched) { scheduler().touch(object_label(), "closed", TouchMode::read); }
    if (closed_) { error().rethrow(); }  // S2
    if (is_rendezvous() && room_made_ == 0) { room_made_ = store_reserve(1); }
    if (watched) { touch_send(); }
    ++sends_;
    return free_slots() == 0 ? Step::slot : proceed_to_send(value, watched);  // S3
}

/// Nothing is promised to it, and a slot is free.
[[gnu::always_inline]] inline ChannelState::Step ChannelState::proceed_to_send(void* value, const bool watched) {
    if (is_rendezvous()) {  // S5
        HEDDLE_ASSERT(offer_ == nullptr && buffered() == 0, "INV-CHAN-11");
        if (oldest_receiver() == nullptr) { return Step::delivery; }
        enter(value, watched);  // matched at once: the value is the channel's, as in try_send
        if (watched) { traffic_ = traffic_ || guard_ == Guard::senders; }
    } else {
        try {
            if (buffered() == room_made_) { room_made_ = store_reserve(room_made_ + 1); }
        } catch (...) {
            take_back_send();
            grant_slots(watched);
            settle_up(watched);
            throw;
        }
        enter(value, watched);  // S4
    }
    grant_values(watched);
    return Step::done;
}

[[gnu::always_inline]] inline ChannelState::Step ChannelState::begin_receive(void* to, std::uint64_t& number, const bool watched) {
    if (watched) { touch_receive(); }
    if (free_values() == 0) {
        if (closed_) { error().rethrow(); }  // R3
        ++receives_;
        return Step::value;  // R4
    }
    ++receives_;
    number = take(to, watched);
    return Step::done;
}

[[gnu::always_inline]] inline std::uint64_t ChannelState::take(void* to, const bool watched) {
    const std::uint64_t number = take_out(to, watched);
    settle_debts(watched);
    return number;
}

[[gnu::always_inline]] inline void ChannelState::queue(Step step, Passage& passage, const bool watched) {
    switch (step) {
        case Step::slot: senders_.push_back(passage.entry); return;
        case Step::value: receivers_.push_back(passage.receiver.emplace(passage.entry)); return;
        case Step::delivery:
            offer_ = &passage.offer.emplace(Offer{passage.value, passage.entry});
            enter(nullptr, watched);
            return;
        case Step::done: return;
    }
}

/// Out of the wait by an exception: what was promised goes on (CV-06), what was not is withdrawn.
void ChannelState::give_up(Step step, Passage& passage) {
    WaitEntry& entry = passage.entry;
    if (step == Step::delivery && passage.offer->done) {  // done, and thrown out all the same: terminal unwinding
        entry.note(EventKind::grant_spent);
        return;
    }
    const bool granted = entry.is_granted();
    entry.note(granted ? EventKind::handed_on : EventKind::wait_left);
    switch (step) {
        case Step::slot:
            if (granted) {
                take_back_send();
                if (!closed_) {
                    --reserved_slots_;
                    grant_slots(true);
                }
            } else if (entry.ListHook<WaitEntry>::is_linked()) {
                senders_.remove(entry);
                take_back_send();
            }
            return;
        case Step::value:
            if (granted) {
                take_back_receive();
                --reserved_values_;
                grant_values(true);  // closed: it becomes free, and can be drained (CHAN-25)
            } else if (passage.receiver->is_linked()) {
                receivers_.remove(*passage.receiver);
                take_back_receive();
            }
            return;
        case Step::delivery:
            if (offer_ == &*passage.offer) {  // else close has withdrawn it
                offer_ = nullptr;
                --entered_;
                take_back_send();
                grant_slots(true);
            }
            return;
        case Step::done: return;
    }
}

/// The wait has ended with what it was for.
[[gnu::always_inline]] inline ChannelState::Step ChannelState::go_on(Step step, Passage& passage, std::uint64_t& number, const bool watched) {
    if (step == Step::slot) {
        if (watched) { scheduler().touch(object_label(), "closed", TouchMode::read); }
        if (closed_) {  // the grant was voided (CHAN-23)
            if (watched) { passage.entry.note(EventKind::handed_on); }
            error().rethrow();
        }
        if (watched) { passage.entry.note(EventKind::grant_spent); }
        --reserved_slots_;
        return proceed_to_send(passage.value, watched);
    }
    if (watched) { passage.entry.note(EventKind::grant_spent); }
    if (step == Step::delivery) {
        HEDDLE_ASSERT(passage.offer->done, "CHAN-12");
        return Step::done;
    }
    --reserved_values_;  // CHAN-16: nothing runs between this and the taking
    number = take(passage.value, watched);
    return Step::done;
}

/// Somebody has come to watch meanwhile.
[[gnu::noinline]] ChannelState::Step ChannelState::go_on_watched(Step step, Passage& passage, std::uint64_t& number) {
    return go_on(step, passage, number, true);
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
    count_plain_ones();
    if (buffered() == room_made_) { room_made_ = store_reserve(room_made_ + 1); }
    touch_send();
    ++sends_;
    enter(value, true);  // rendezvous: it is matched at once, and the channel's (CHAN-14)
    grant_values(true);
    settle_up(true);
    return SendResult::ok;
}

ReceiveResult ChannelState::try_receive(void* to, std::uint64_t& number) {
    const Ref<ChannelState> alive(this);
    if (free_values() == 0) {
        touch_looked();
        return closed_ ? ReceiveResult::closed : ReceiveResult::empty;
    }
    count_plain_ones();
    touch_receive();
    ++receives_;
    number = take(to, true);
    settle_up(true);
    return ReceiveResult::value;
}

void ChannelState::receive_async(ChannelReceiver& future) {
    const Ref<ChannelState> alive(this);
    count_plain_ones();
    touch_receive();
    if (free_values() > 0) {
        ++receives_;
        future.deliver();
        settle_debts(true);
    } else if (closed_) {
        future.reject(error());
    } else {
        ++receives_;
        future.hold();
        receivers_.push_back(future);
    }
    settle_up(true);
}

void ChannelState::leave(ChannelReceiver& future) {
    if (!future.is_linked()) { return; }
    const Ref<ChannelState> alive(this);
    count_plain_ones();
    receivers_.remove(future);
    take_back_receive();
    settle_up(true);
    future.let_go();
}

void ChannelState::put_back(void* value, std::uint64_t number) {
    const Ref<ChannelState> alive(this);
    count_plain_ones();
    store_return(value, number);
    ++returned_;
    scheduler().note(EventKind::value_in, {}, object_label(), static_cast<std::int64_t>(number), 1);
    take_back_receive();
    grant_values(true);
    commit(true);
    settle_up(true);
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
    settle_up(true);
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
    return detail::living_count(senders_) + (has_living_offer() ? 1 : 0);
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

[[gnu::always_inline]] inline void ChannelState::touch_send() const {
    if (scheduler().observer() == nullptr) [[likely]] { return; }
    scheduler().touch(object_label(), "sends", TouchMode::write);
    scheduler().touch(object_label(), "skips", TouchMode::read);
    const std::size_t places = is_rendezvous() ? 1 : options_.capacity;
    if (sends_ >= places) { scheduler().touch(object_label(), "credit", TouchMode::read, sends_ - places); }
}

[[gnu::always_inline]] inline void ChannelState::touch_receive() const {
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
