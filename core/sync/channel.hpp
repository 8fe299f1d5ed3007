// SPDX-License-Identifier: Apache-2.0
// Channel: values from coroutine to coroutine (docs/spec/11-channel.md).
//
//   heddle::Channel<int> jobs{{.capacity = 4}};             // 0: rendezvous; Channel<int>::unbounded: never full
//   heddle::spawn([jobs] { for (int job : jobs) { work(job); } });
//   jobs.send(1);
//   jobs.close();                                            // what is inside can still be received; then iterations end
//
// H1  Values are taken in the order in which they entered, senders and receivers served in order of arrival (INV-CHAN-07, INV-CHAN-08).
// H2  A send that returned was, or will be, received by one receiver, or its value dies with the channel; one that threw was not
//     received (INV-CHAN-05, INV-CHAN-06).
// H3  It closes by itself when its last handle goes, when the scope it was made in is cancelled or disposed, or when it starves.
// Choice points: none of its own; who runs next is the scheduler's. Books and cells: channel_state.hpp.
#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/channel_state.hpp"
#include "heddle/core/sync/detail/value_ring.hpp"
#include "heddle/core/sync/future.hpp"

namespace heddle {

namespace detail {

/// The typed half: where the values lie. One that cannot be moved without throwing lies in a box (CV-19).
template <class T>
class ChannelOf final : public ChannelState {
public:
    static constexpr bool boxed = !std::is_nothrow_move_constructible_v<T>;
    using Stored = std::conditional_t<boxed, std::unique_ptr<T>, T>;

    using ChannelState::ChannelState;

    template <class U>
    static Stored store(U&& value) {
        if constexpr (boxed) {
            return std::make_unique<T>(std::forward<U>(value));
        } else {
            return T(std::forward<U>(value));
        }
    }
    static T take(Stored&& stored) {
        if constexpr (boxed) {
            return std::move(*stored);
        } else {
            return std::move(stored);
        }
    }

    // The books of an operation that concerns nobody else, inlined (CH6).
    [[nodiscard]] bool push_plainly(T& value) {
        if constexpr (boxed) {
            return false;
        } else {
            if (in_ - out_ >= plain_below_ || !is_unwatched()) [[unlikely]] { return false; }
            buffer_.put(in_++, std::move(value));
            return true;
        }
    }
    [[nodiscard]] bool pops_plainly() const { return in_ - out_ > plain_above_ && is_unwatched(); }
    [[nodiscard]] T pop_plainly() { return take(buffer_.take(out_++)); }

private:
    ~ChannelOf() override { buffer_.drop(out_, in_); }

    std::size_t store_reserve(std::size_t count) override {
        buffer_.reserve(count, out_, in_);
        return buffer_.capacity();
    }
    void store_push(void* value) noexcept override {
        HEDDLE_ASSERT(buffered() < buffer_.capacity(), "VR1");
        buffer_.put(in_, std::move(*static_cast<Stored*>(value)));
    }
    void store_pop(void* to) noexcept override { static_cast<std::optional<Stored>*>(to)->emplace(buffer_.take(out_)); }
    void store_move(void* value, void* to) noexcept override {
        static_cast<std::optional<Stored>*>(to)->emplace(std::move(*static_cast<Stored*>(value)));
    }
    void store_return(void* value, std::uint64_t number) override {
        returned_.reserve(returned_.size() + 1);
        returned_.push_back(Returned{std::move(*static_cast<Stored*>(value)), number});
    }
    std::uint64_t store_pop_returned(void* to) noexcept override {
        Returned first = returned_.pop_front();
        static_cast<std::optional<Stored>*>(to)->emplace(std::move(first.value));
        return first.number;
    }

    struct Returned {
        Stored value;
        std::uint64_t number;
    };
    ValueSlots<Stored> buffer_;  // numbers from out_ to in_
    ValueRing<Returned> returned_;
};

/// The future of a receive_async (CHAN-19 to CHAN-21, CHAN-47).
template <class T>
class ReceiveFuture final : public FutureCoreOf<T>, public ChannelReceiver {
public:
    ReceiveFuture(ChannelOf<T>& channel, SourceLocation at)
        : FutureCoreOf<T>(channel.scheduler(), "receive_async", at), channel_(&channel), at_(at) {}

    [[nodiscard]] bool has_source() const override { return is_linked(); }

private:
    using Stored = typename ChannelOf<T>::Stored;

    void release_source() override { channel_->leave(*this); }
    void give_back() override {
        if (this->error()) { return; }
        Stored value = ChannelOf<T>::store(std::move(this->value()));
        channel_->put_back(&value, number_);
    }
    void hold() override { this->add_reference(); }
    void let_go() override { this->drop_reference(); }
    void deliver() override {
        std::optional<Stored> value;
        number_ = channel_->pop(&value);
        this->complete(at_, ChannelOf<T>::take(std::move(*value)));
    }
    void reject(const ErrorValue& error) override {
        this->never_report();  // CHAN-21
        this->finish(error, at_);
    }

    Ref<ChannelOf<T>> channel_;
    SourceLocation at_;
    std::uint64_t number_ = 0;
};

}  // namespace detail

/// What try_receive found.
template <class T>
struct TryReceived {
    ReceiveResult result = ReceiveResult::empty;
    std::optional<T> value{};
    [[nodiscard]] explicit operator bool() const { return value.has_value(); }
    [[nodiscard]] T& operator*() { return *value; }
};

/// A handle; copies share one channel. Dropping the last one closes it (CHAN-26).
template <class T>
class Channel {
    static_assert(std::is_move_constructible_v<T> && !std::is_reference_v<T>, "a channel carries values");
    using State = detail::ChannelOf<T>;
    using Stored = typename State::Stored;

public:
    static constexpr std::size_t unbounded = unbounded_capacity;
    using Options = ChannelOptions;

    /// In the running coroutine's runtime and scope. Throws ValueError for impossible options (CHAN-01), AsyncError outside a run.
    explicit Channel(const Options& options = {}) : state_(new State(current_runtime("channel").scheduler(), options)) { state_->add_handle(); }
    Channel(Runtime& runtime, const Options& options) : state_(new State(runtime.scheduler(), options)) { state_->add_handle(); }
    Channel(const Channel& other) : state_(other.state_) {
        if (state_ != nullptr) { state_->add_handle(); }
    }
    Channel(Channel&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Channel& operator=(Channel other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~Channel() {
        if (State* state = std::exchange(state_, nullptr); state != nullptr) { state->drop_handle(); }
    }

    /// Puts a value in, waiting for a slot; on a rendezvous channel for a receiver that takes it or is matched with it (CHAN-09).
    /// Throws, and then the value was not and will not be received: ChannelError once it is closed; OperationCanceled, also if the token
    /// has fired already; a cancellation. One that comes when the value is delivered already does not undo it: send returns, and the
    /// cancellation is thrown by the next suspension (CHAN-12).
    /// Suspends: unless there is room. Cost: O(1), no allocation once the buffer has grown. Source: docs/spec/11-channel.md.
    void send(T value, const Token& token = {}, SourceLocation at = SourceLocation::current()) const {
        if (token.event() == nullptr && state().push_plainly(value)) [[likely]] { return; }
        Stored stored = State::store(std::move(value));
        state().send(&stored, token.event(), at);
    }
    /// Never suspends. Anything but `ok` leaves an rvalue as it was. Rendezvous: ok only if a receiver waits (CHAN-14).
    template <class U>
    SendResult try_send(U&& value) const {
        if (const SendResult answer = state().can_send(); answer != SendResult::ok) { return answer; }
        Stored stored = State::store(std::forward<U>(value));
        return state().try_send(&stored);
    }

    /// Takes the oldest value, waiting for one while the channel is open. Values left inside a closed one are received first (CHAN-15).
    /// Throws: ChannelError when it is closed and drained, or all that is left is promised (CHAN-48); OperationCanceled, also if a value
    /// is there and the token has fired already; a cancellation, and then took nothing. Suspends: unless a value is free. Cost: O(1).
    [[nodiscard]] T receive(const Token& token = {}, SourceLocation at = SourceLocation::current()) const {
        if (token.event() == nullptr && state().pops_plainly()) [[likely]] { return state().pop_plainly(); }
        std::optional<Stored> stored;
        state().receive(&stored, token.event(), at);
        return State::take(std::move(*stored));
    }
    /// Never suspends. A value that was promised to a waiting receiver is not there for anybody else.
    [[nodiscard]] TryReceived<T> try_receive() const {
        std::optional<Stored> stored;
        std::uint64_t number = 0;
        TryReceived<T> received{state().try_receive(&stored, number)};
        if (stored) { received.value.emplace(State::take(std::move(*stored))); }
        return received;
    }
    /// A future of the next value, in order of arrival among the receivers. Never suspends. Dropped while pending it takes nothing;
    /// dropped with a value that nobody obtained it puts it back, to be received before anything else (CHAN-47).
    [[nodiscard]] Future<T> receive_async(SourceLocation at = SourceLocation::current()) const {
        auto* future = new detail::ReceiveFuture<T>(state(), at);
        Future<T> handle(future);
        state().receive_async(*future);
        return handle;
    }

    /// Nobody sends any more; waiters get ChannelError, but for receivers that were promised a value. Idempotent: the first reason stays.
    void close() const { state().close(CloseReason::explicit_close); }

    [[nodiscard]] bool is_closed() const {
        state().touch_looked();
        return state().is_closed();
    }
    /// Values inside, promised ones included. Not empty does not mean that receive will not wait (CHAN-45).
    [[nodiscard]] std::size_t count() const {
        state().touch_looked();
        return state().size() + state().returned();
    }
    [[nodiscard]] bool is_empty() const { return count() == 0; }
    /// No room in the buffer; for a rendezvous channel, a value sits in its slot (CHAN-46).
    [[nodiscard]] bool is_full() const {
        state().touch_looked();
        return state().room() == 0;
    }
    [[nodiscard]] std::size_t capacity() const { return state().capacity(); }
    [[nodiscard]] std::string describe() const { return state().describe(); }

    /// One pass of `for (T& value : channel)`. Each step behaves as receive; it ends when the channel was closed by close() and is
    /// drained, and throws ChannelError for any other reason (CHAN-34 to CHAN-37).
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T*;
        using reference = T&;

        Iterator() = default;
        explicit Iterator(const Channel& channel) : channel_(&channel) { ++*this; }
        [[nodiscard]] T& operator*() const { return *value_; }
        [[nodiscard]] T* operator->() const { return &*value_; }
        Iterator& operator++() {
            value_.reset();
            try {
                value_.emplace(channel_->receive());
            } catch (const ChannelError& error) {
                if (error.reason() != CloseReason::explicit_close) { throw; }
                channel_ = nullptr;
            }
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.channel_ == b.channel_; }

    private:
        const Channel* channel_ = nullptr;
        mutable std::optional<T> value_{};
    };
    [[nodiscard]] Iterator begin() const { return Iterator(*this); }
    [[nodiscard]] Iterator end() const { return Iterator(); }

    [[nodiscard]] State& state() const {
        HEDDLE_ASSERT(state_ != nullptr, "a handle that was moved from names no channel");
        return *state_;
    }

private:
    State* state_ = nullptr;
};

}  // namespace heddle
