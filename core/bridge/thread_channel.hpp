// SPDX-License-Identifier: Apache-2.0
// ThreadChannel: a bounded queue of values between threads: runtimes, and the jobs of work pools (docs/spec/15-threads.md, 15.3).
//
//   heddle::ThreadChannel<Block> blocks{{.capacity = 8}};             // made in one runtime, and closed when that ends
//   pool.submit([blocks]() mutable { while (auto block = read()) { if (!blocks.try_send(*block)) { … } } });
//   heddle::Block next = blocks.receive();                               // suspends this coroutine, not its thread
//
// A handle may be copied to any thread. On a thread without a runtime only the forms that do not wait are there.
// Who of several waiting threads is served is not promised; the values' order is (TCH-07).
// Choice points: those of the threads. Books: thread_channel_state.hpp.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "heddle/core/bridge/thread_channel_state.hpp"
#include "heddle/core/run/runtime.hpp"

namespace heddle {

namespace detail {

template <class T>
class ThreadChannelOf final : public ThreadChannelState {
public:
    using ThreadChannelState::ThreadChannelState;

private:
    void store_push(void* value) override { values_.push_back(std::move(*static_cast<T*>(value))); }
    void store_pop(void* to) override {
        static_cast<std::optional<T>*>(to)->emplace(std::move(values_.front()));
        values_.pop_front();
    }
    std::deque<T> values_;
};

}  // namespace detail

template <class T>
class ThreadChannel {
public:
    static_assert(!std::is_reference_v<T> && !std::is_pointer_v<T>, "what crosses threads is a value of its own");

    /// In the current runtime. Throws: ValueError for a capacity of 0; AsyncError outside a runtime, and if its reactor knows no threads.
    explicit ThreadChannel(const ThreadChannelOptions& options = {}) {
        Scheduler& owner = current_runtime("thread channel").scheduler();
        state_ = std::make_shared<detail::ThreadChannelOf<T>>(owner, options);
        state_->follow(owner);
    }

    /// Throws: ThreadChannelClosed; the token's OperationCanceled, unless there was room at the same time; a cancellation: then the value
    /// is not in the channel. Requires: in a coroutine, of whichever runtime. Suspends: while it is full.
    void send(T value, const Token& token = {}, SourceLocation at = SourceLocation::current()) { state_->send(&value, token.event(), at); }
    /// Values that entered before a close are received behind it. Throws: as send. Suspends: while it is empty.
    [[nodiscard]] T receive(const Token& token = {}, SourceLocation at = SourceLocation::current()) {
        std::optional<T> value;
        state_->receive(&value, token.event(), at);
        return std::move(*value);
    }
    /// Any thread. @returns false, and the value stays the caller's, if the channel is full. Throws ThreadChannelClosed.
    [[nodiscard]] bool try_send(T&& value) { return offer(&value); }
    [[nodiscard]] bool try_send(const T& value) {
        T copy(value);
        return offer(&copy);
    }
    /// Any thread. @returns empty if there is none. Throws ThreadChannelClosed if there will be none, either.
    [[nodiscard]] std::optional<T> try_receive() {
        std::optional<T> value;
        if (state_->pop(&value) == ThreadChannelState::Answer::closed) { throw ThreadChannelClosed("the thread channel is closed"); }
        return value;
    }
    /// Any thread; idempotent (TCH-05).
    void close() { state_->close(); }

    // Any thread; another number by the time it is read.
    [[nodiscard]] bool is_closed() const { return state_->is_closed(); }
    [[nodiscard]] std::size_t size() const { return state_->size(); }
    [[nodiscard]] std::size_t capacity() const { return state_->capacity(); }
    /// Coroutines that wait, of all runtimes.
    [[nodiscard]] std::size_t waiting() const { return state_->waiting(); }

private:
    bool offer(T* value) {
        const ThreadChannelState::Answer answer = state_->push(value);
        if (answer == ThreadChannelState::Answer::closed) { throw ThreadChannelClosed("the thread channel is closed"); }
        return answer == ThreadChannelState::Answer::done;
    }

    std::shared_ptr<detail::ThreadChannelOf<T>> state_;
};

}  // namespace heddle
