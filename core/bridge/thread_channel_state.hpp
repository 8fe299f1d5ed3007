// SPDX-License-Identifier: Apache-2.0
// ThreadChannelState: the untyped half of a channel between threads: the buffer's bounds, who waits, and the end (15.3).
//
//   any thread ── push ──▶ room? ──yes──▶ buffer ──▶ every waiting receiver is woken, looks again, parks again if others were faster
//                            └──no: listed as waiting, in the same action (TCH-04)──▶ parks its coroutine, never its thread (TCH-02)
//
// TC1  Looking and listing oneself as waiting are one action under the lock: no push, pop or close falls between them (TCH-04).
// TC2  Whoever changes the buffer takes the whole list of the other side and wakes it: nobody has to hand anything on (TCH-03).
// TC3  Values leave in the order in which they entered (TCH-07). Closed: nothing enters, what is there leaves (TCH-05).
// TC4  The channel ends with the runtime that made it (TCH-06).
// Cells: `channel` (every action: W). Choice points: on a worker, before each action and before each wake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/core/base/source_location.hpp"
#include "heddle/core/bridge/end_listener.hpp"
#include "heddle/core/seam/reactor.hpp"
#include "heddle/core/sync/token.hpp"

namespace heddle {

/// The channel takes no values any more, or has none left and will get none.
class ThreadChannelClosed : public Error {
public:
    using Error::Error;
};

struct ThreadChannelOptions {
    std::size_t capacity = 1;  ///< at least 1: there is no rendezvous between threads (TCH-01)
    std::string_view name = "thread_channel";  ///< a literal
};

class ThreadChannelState : public std::enable_shared_from_this<ThreadChannelState> {
public:
    /// Throws ValueError for a capacity of 0.
    ThreadChannelState(Scheduler& owner, const ThreadChannelOptions& options);
    ThreadChannelState(const ThreadChannelState&) = delete;
    ThreadChannelState& operator=(const ThreadChannelState&) = delete;
    virtual ~ThreadChannelState() = default;
    /// Behind the construction: closes with its runtime. Throws AsyncError if that has no threads.
    void follow(Scheduler& owner);

    enum class Answer : std::uint8_t { done, wait, closed };
    /// @param waiter  woken when it is worth looking again, if the answer is `wait`; null: not listed
    /// Throws what moving the value throws; the buffer is as before then.
    Answer push(void* value, const TriggerPortPtr& waiter = nullptr);
    Answer pop(void* to, const TriggerPortPtr& waiter = nullptr);
    /// In a coroutine. Throws ThreadChannelClosed; the token's OperationCanceled; a cancellation. Suspends: while it must.
    void send(void* value, EventSource* token, SourceLocation at) { wait(value, true, token, at); }
    void receive(void* to, EventSource* token, SourceLocation at) { wait(to, false, token, at); }
    void close();

    [[nodiscard]] bool is_closed() const;
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::size_t capacity() const { return capacity_; }
    [[nodiscard]] std::size_t waiting() const;

protected:
    // Under the lock.
    virtual void store_push(void* value) = 0;
    virtual void store_pop(void* to) = 0;

private:
    using Waiters = std::vector<TriggerPortPtr>;

    void wait(void* value, bool sends, EventSource* token, SourceLocation at);
    void leave(const TriggerPortPtr& waiter);
    static void wake(const Waiters& waiters);

    const Label label_;
    const std::size_t capacity_;
    std::shared_ptr<EndListener> listener_;

    mutable std::mutex mutex_;  // everything below, and the store
    std::size_t size_ = 0;
    Waiters senders_;
    Waiters receivers_;
    bool closed_ = false;
};

}  // namespace heddle
