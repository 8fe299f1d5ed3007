// SPDX-License-Identifier: Apache-2.0
// Mutex: one coroutine at a time. Lock: for the length of a block. Condition: waits for news with the mutex given up meanwhile.
//
//   heddle::Mutex mutex;                         unlock ──hand-over──▶ the oldest waiter holds it from this step on
//   heddle::Lock lock{mutex};
//   while (queue.empty()) { changed.wait(lock); }        // a Condition; holds the mutex again on every exit
//
// M1  The mutex is never free while a living coroutine waits for it: unlock gives it to the oldest (CV-05, CV-07).
// M2  A waiter that is thrown out after it was given the mutex passes it on (CV-06).
// M3  What code between two suspensions does needs no mutex: nobody else runs. A mutex is for what spans a suspension.
// C1  wait joins the queue and gives the mutex up in one step, so that no notification falls between.
// C2  A notification of one goes to the oldest waiter; one that leaves by an exception passes it on. A notification of all does not
//     outlive its call.
// Choice points: none; who runs next is the scheduler's. Books and cells: semaphore_state.hpp; a condition has one cell, `queue`.
#pragma once

#include <string_view>
#include <utility>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/semaphore_state.hpp"

namespace heddle {

class Lock;

class Mutex {
public:
    explicit Mutex(std::string_view name = "mutex");
    explicit Mutex(Runtime& runtime, std::string_view name = "mutex");
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;
    /// Whoever still waits gets AsyncError.
    ~Mutex() { state_->abandon(); }

    /// Throws: AsyncError if the caller holds it, and outside a coroutine; OperationCanceled, also if the token has fired already; a
    /// cancellation, and then does not hold it. Suspends: unless it is free. Cost: O(1), no allocation.
    void lock(const Token& token = {}, SourceLocation at = SourceLocation::current());
    /// True if it was free and is the caller's now. Never suspends.
    [[nodiscard]] bool try_lock();
    /// Gives it to the oldest waiter, which runs later. Throws AsyncError, with nothing changed, if the caller does not hold it.
    void unlock();

    [[nodiscard]] bool is_locked() const;
    /// Whether the running coroutine holds it.
    [[nodiscard]] bool is_mine() const;
    /// Coroutines that wait for it.
    [[nodiscard]] std::size_t waiting() const;

private:
    friend class Lock;
    Ref<SemaphoreState> state_;
};

/// Holds a mutex and gives it up, wherever it is destroyed. Movable; suspends in its constructor only.
class Lock {
public:
    explicit Lock(Mutex& mutex, const Token& token = {}, SourceLocation at = SourceLocation::current()) {
        mutex.lock(token, at);
        state_ = mutex.state_;
        held_ = true;
    }
    Lock(Lock&& other) noexcept : state_(std::move(other.state_)), held_(std::exchange(other.held_, false)) {}
    Lock& operator=(Lock&& other) noexcept {
        if (this != &other) {
            unlock();
            state_ = std::move(other.state_);
            held_ = std::exchange(other.held_, false);
        }
        return *this;
    }
    ~Lock() { unlock(); }

    /// Before the end of the block; idempotent.
    void unlock() {
        if (std::exchange(held_, false)) { state_->release(1); }
    }
    [[nodiscard]] bool is_held() const { return held_; }

private:
    friend class Condition;
    Ref<SemaphoreState> state_;
    bool held_ = false;
};

class ConditionState;

class Condition {
public:
    explicit Condition(std::string_view name = "condition");
    explicit Condition(Runtime& runtime, std::string_view name = "condition");
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;
    /// Whoever still waits gets AsyncError.
    ~Condition();

    /// Gives the mutex up, waits for a notification and takes the mutex again, whatever the wait ended with; a cancellation that comes
    /// while it is taken again is thrown when it is held. Only the end of the run (shutdown, a deadlock) leaves with it given up (PRT-7).
    /// Throws: AsyncError if the lock is not held; OperationCanceled; a cancellation. Suspends: yes, without spurious wake-ups.
    void wait(Lock& lock, const Token& token = {}, SourceLocation at = SourceLocation::current());
    /// Waits until `holds()` is true; asked with the mutex held. What it throws comes out of this call.
    template <class Predicate>
    void wait_until(Lock& lock, Predicate&& holds, const Token& token = {}, SourceLocation at = SourceLocation::current()) {
        while (!holds()) { wait(lock, token, at); }
    }

    /// Wakes the oldest waiter. @returns false if nobody waits, and then nothing is remembered. Legal in callbacks.
    bool notify_one();
    /// Wakes all that wait now, oldest first. @returns their number
    std::size_t notify_all();
    [[nodiscard]] std::size_t waiting() const;

private:
    Ref<ConditionState> state_;
};

}  // namespace heddle
