// SPDX-License-Identifier: Apache-2.0
// ChannelState: the untyped half of a channel: who waits, what was promised to whom, and when it closes (docs/spec/11-channel.md).
//
//   send ──▶ slot? ──no──▶ slot-waiters ──granted──┐                     receive ──▶ value? ──no──▶ receivers ──granted──┐
//              └──yes──▶ buffer ◀──────────────────┘                                   └──yes──▶ take ◀──────────────────┘
//   rendezvous: the value stays in the sender's frame, an offer, until a receiver takes it, or is matched with it (committed: then
//   it lies in the buffer and belongs to the channel)
//
//   returned ── values that a dropped receive future gave back; they leave first and occupy no slot (CHAN-47)
//
// CH1  free values = returned + buffered + living offer - promised values; free slots = room - promised slots; neither is negative (CHAN-04).
// CH2  Open and a value free: no living receiver waits without a grant. Open and a slot free: no living sender waits for one (CHAN-05).
// CH3  Whoever has no grant uses only what is free (CHAN-06). Who leaves with a grant hands it on (CV-06).
// CH4  An offer is taken, committed, or withdrawn: a send that threw was not received (CHAN-12).
// CH5  Values are moved by hooks that cannot throw; user code never runs inside a step (CV-19).
// CH6  Plain operations, which find room or a value where nobody waits, is promised anything or watches, are two numbers in the typed
//      half: `plain_below_` and `plain_above_` bound them, and every other operation sets the bounds anew before it ends or parks.
//
// Cells. q-th send, j-th receive that still counts; i-th value that entered, k-th that left.
//   send   W sends, R closed, R skips, R credit[q-capacity] · the value enters: W tail, W slot[i]
//   receive W receives, R closed, R skips, R slot[j] · the value leaves: W head, W credit[k]
//   leaving with nothing, giving back: W skips · close: W closed, W tail · looking: R tail, R head, R skips, R closed
// Choice points: none of its own; the deadlock timer asks the reactor's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/scope.hpp"
#include "heddle/core/sync/detail/wait_entry.hpp"

namespace heddle {

/// Why a channel is closed (CHAN-24).
enum class CloseReason : std::uint8_t {
    explicit_close,  ///< somebody closed it: iterations end normally
    disposed,        ///< its last handle is gone
    no_producers,    ///< a receiver starved for longer than no_producer_timeout
    no_consumers,    ///< a sender, for longer than no_consumer_timeout
    deadlock,        ///< nothing in the run could have served its waiters any more
    scope_disposed,  ///< the scope that it was made in was cancelled or disposed
};
[[nodiscard]] std::string_view to_string(CloseReason reason);

class ChannelError : public Error {
public:
    explicit ChannelError(CloseReason reason);
    [[nodiscard]] CloseReason reason() const { return reason_; }

private:
    CloseReason reason_;
};

enum class SendResult : std::uint8_t { ok, full, closed };
enum class ReceiveResult : std::uint8_t { value, empty, closed };

struct ChannelOptions {
    std::size_t capacity = 0;                          ///< 0: rendezvous; up to 2^31-1, or unbounded_capacity
    Duration no_producer_timeout = Duration::zero();   ///< 0: a receiver may wait for ever (CHAN-38)
    Duration no_consumer_timeout = Duration::zero();
    bool hard_timeouts = false;                        ///< the timers count as pending work (CHAN-41)
    std::string_view name = "channel";
};

inline constexpr std::size_t unbounded_capacity = std::numeric_limits<std::size_t>::max();

class ChannelState;

/// A receiver in the queue: a parked coroutine, or a future that is completed in its place.
class ChannelReceiver : public ListHook<ChannelReceiver> {
public:
    explicit ChannelReceiver(detail::WaitEntry& wait) : wait_(&wait) {}
    virtual ~ChannelReceiver() = default;

    [[nodiscard]] bool is_living() const { return wait_ == nullptr || wait_->is_living(); }
    [[nodiscard]] bool is_coroutine() const { return wait_ != nullptr; }

protected:
    ChannelReceiver() = default;

private:
    friend class ChannelState;
    /// Of a future: what the channel does with it. It holds a reference while it is queued.
    virtual void hold() {}
    virtual void let_go() {}
    /// Takes the value by ChannelState::pop and completes.
    virtual void deliver() {}
    virtual void reject(const ErrorValue& error) { static_cast<void>(error); }

    detail::WaitEntry* wait_ = nullptr;
};

class ChannelState : public RuntimeObject, private ScopeResource {
public:
    /// Throws ValueError for impossible options (CHAN-01).
    ChannelState(Scheduler& scheduler, const ChannelOptions& options);

    // ── operations; `value` is a stored value to move from, `to` an optional one to move into ──

    void send(void* value, EventSource* token, SourceLocation at) { static_cast<void>(pass(Side::send, value, token, at)); }
    [[nodiscard]] SendResult try_send(void* value);
    /// What try_send would answer now.
    [[nodiscard]] SendResult can_send() const;
    /// @returns the value's number, for the events of who takes it
    std::uint64_t receive(void* to, EventSource* token, SourceLocation at) { return pass(Side::receive, to, token, at); }
    [[nodiscard]] ReceiveResult try_receive(void* to, std::uint64_t& number);
    /// Completes it, rejects it, or queues it in order of arrival (CHAN-19).
    void receive_async(ChannelReceiver& future);
    /// Out of the queue, with no value (CHAN-20).
    void leave(ChannelReceiver& future);
    void put_back(void* value, std::uint64_t number);
    void close(CloseReason reason);

    /// For ChannelReceiver::deliver: moves the next value out; what is owed for it is settled behind the call.
    std::uint64_t pop(void* to);

    // ── looking ──

    [[nodiscard]] bool is_closed() const { return closed_; }
    [[nodiscard]] CloseReason reason() const { return reason_; }
    [[nodiscard]] std::size_t capacity() const { return options_.capacity; }
    [[nodiscard]] bool is_rendezvous() const { return options_.capacity == 0; }
    /// In the buffer or the slot, promised ones included; those given back not.
    [[nodiscard]] std::size_t size() const { return buffered() + (offer_ != nullptr ? 1 : 0); }
    [[nodiscard]] std::size_t returned() const { return returned_; }
    [[nodiscard]] std::size_t reserved_values() const { return reserved_values_; }
    [[nodiscard]] std::size_t reserved_slots() const { return reserved_slots_; }
    [[nodiscard]] std::size_t room() const {
        const std::size_t places = is_rendezvous() ? 1 : options_.capacity;
        HEDDLE_ASSERT(size() <= places, "INV-CHAN-01");
        return places - size();
    }
    [[nodiscard]] std::size_t free_values() const {
        const std::size_t present = returned_ + buffered() + (has_living_offer() ? 1 : 0);
        HEDDLE_ASSERT(reserved_values_ <= present, "CHAN-04");
        return present - reserved_values_;
    }
    [[nodiscard]] std::size_t free_slots() const { return room() - reserved_slots_; }
    [[nodiscard]] bool has_offer() const { return offer_ != nullptr; }
    [[nodiscard]] bool has_living_offer() const { return offer_ != nullptr && offer_->wait.is_living(); }
    /// Living waiters without a grant.
    [[nodiscard]] std::size_t waiting_receivers() const;
    [[nodiscard]] std::size_t waiting_senders() const;
    /// Of the senders, those without an offer.
    [[nodiscard]] std::size_t waiting_for_slot() const { return detail::living_count(senders_); }
    [[nodiscard]] bool has_dead_waiter() const;
    [[nodiscard]] bool has_pending_future() const;
    [[nodiscard]] bool is_guarded() const { return guard_ != Guard::none; }
    /// Whether a living coroutine waits on a side with a timeout (CHAN-38).
    [[nodiscard]] bool wants_guard() const { return wanted_guard() != Guard::none; }
    [[nodiscard]] const ChannelOptions& options() const { return options_; }
    void touch_looked() const;
    /// One line for reports (CHAN-44).
    [[nodiscard]] std::string describe() const;

    // ── life (CV-16, CHAN-26) ──

    void add_handle() {
        ++handles_;
        add_reference();
    }
    void drop_handle();
    void add_reference() { ++references_; }
    void drop_reference() {
        HEDDLE_ASSERT(references_ > 0, "INV-ALL-12");
        if (--references_ == 0) { delete this; }
    }

    bool resolve_deadlock() override;

protected:
    ~ChannelState() override;

    // CH5: the typed half keeps the values.
    /// Room for `count` values in the buffer; may throw. @returns how many there is room for now
    virtual std::size_t store_reserve(std::size_t count) = 0;
    /// Into the buffer as number `in_`, out of it as number `out_`; the caller counts.
    virtual void store_push(void* value) noexcept = 0;
    virtual void store_pop(void* to) noexcept = 0;
    virtual void store_move(void* value, void* to) noexcept = 0;
    virtual void store_return(void* value, std::uint64_t number) = 0;
    virtual std::uint64_t store_pop_returned(void* to) noexcept = 0;

    [[nodiscard]] std::size_t buffered() const { return in_ - out_; }
    [[nodiscard]] bool is_unwatched() const { return !scheduler().observed() && scheduler().may_suspend(); }

    // CH6, side by side.
    std::uint64_t in_ = 0;                                                            // values that were put into the buffer
    std::uint64_t out_ = 0;                                                           // those of them that were taken out
    std::size_t plain_below_ = 0;                                                     // a send is plain while so many are not buffered
    std::size_t plain_above_ = std::numeric_limits<std::size_t>::max();               // a receive, while more are

private:
    /// A sender of a rendezvous channel between its offer and its end.
    struct Offer {
        void* value;
        detail::WaitEntry& wait;
        bool done = false;
    };
    enum class Side : std::uint8_t { send, receive };
    /// What an operation has to wait for next.
    enum class Step : std::uint8_t { done, slot, delivery, value };
    struct Passage;
    enum class Guard : std::uint8_t { none, receivers, senders };
    class Fire;

    void scope_requested(ScopeCore& scope) override;

    // `watched`: somebody may see or time what happens; a constant in all that is inlined into pass_as.
    std::uint64_t pass(Side side, void* value, EventSource* token, SourceLocation at);
    template <bool watched>
    std::uint64_t pass_as(Side side, void* value, EventSource* token, SourceLocation at);
    Step begin_send(void* value, bool watched);
    Step proceed_to_send(void* value, bool watched);
    Step begin_receive(void* to, std::uint64_t& number, bool watched);
    std::uint64_t take_out(void* to, bool watched);
    std::uint64_t take(void* to, bool watched);
    void queue(Step step, Passage& passage, bool watched);
    void give_up(Step step, Passage& passage);
    Step go_on(Step step, Passage& passage, std::uint64_t& number, bool watched);
    Step go_on_watched(Step step, Passage& passage, std::uint64_t& number);
    void enter(void* value, bool watched);
    void push(void* value);
    void settle_debts(bool watched);
    void settle_offer(bool watched);
    void grant_values(bool watched);
    void grant_slots(bool watched);
    void commit(bool watched);
    void take_back_send();
    void take_back_receive();
    ChannelReceiver* oldest_receiver();
    [[nodiscard]] ErrorValue error() const;
    void touch_send() const;
    void touch_receive() const;
    void touch_skip() const;

    [[nodiscard]] bool is_to_be_guarded() const {
        return options_.no_producer_timeout != Duration::zero() || options_.no_consumer_timeout != Duration::zero();
    }
    [[nodiscard]] Guard wanted_guard() const;
    void update_guard();
    void count_plain_ones();
    void settle_up(bool watched);
    void disarm();
    void starved();

    ChannelOptions options_;
    IntrusiveList<ChannelReceiver, ChannelReceiver> receivers_;  // without a grant
    detail::WaitList senders_;                                   // waiting for a slot, without a grant
    Offer* offer_ = nullptr;                                     // queued exactly while neither committed nor taken (INV-CHAN-11)
    std::size_t room_made_ = 0;                                  // places of the buffer that exist
    std::uint64_t counted_in_ = 0;                               // plain sends and receives are counted by whoever comes next
    std::uint64_t counted_out_ = 0;
    std::size_t returned_ = 0;
    std::size_t reserved_values_ = 0;
    std::size_t reserved_slots_ = 0;
    std::uint64_t sends_ = 0;      // that still count
    std::uint64_t receives_ = 0;   // likewise
    std::uint64_t entered_ = 0;
    std::uint64_t left_ = 0;       // of the buffer or slot, in its order
    Ref<ScopeCore> scope_;
    Ref<ReactorEvent> timer_;
    EventCallback* fire_ = nullptr;
    std::uint32_t handles_ = 0;
    std::uint32_t references_ = 0;
    CloseReason reason_ = CloseReason::explicit_close;
    Guard guard_ = Guard::none;
    bool traffic_ = false;         // on the guarded side, since the guard was looked at
    bool owes_offer_ = false;      // the value popped last came out of the offer
    bool owes_commit_ = false;
    bool closed_ = false;
};

}  // namespace heddle
