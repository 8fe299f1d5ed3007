// SPDX-License-Identifier: Apache-2.0
// Semaphore: a number of permits, handed out in order of arrival. Permit: some of them, for the length of a block.
//
//   heddle::Semaphore slots{3};
//   heddle::Permit permit{slots};             // suspends until its turn comes; given back at the end of the block
//
// S1  A permit is promised to the oldest waiter in the step that releases it; no newcomer can take it in between (CV-05).
// S2  A waiter that leaves after the promise passes it on (CV-06): no permit is lost, none made.
// S3  Whoever asks for several is served when all of them are free, and holds back those behind it until then (CV-07).
// Choice points: none; who runs next is the scheduler's. Books and cells: semaphore_state.hpp.
#pragma once

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/semaphore_state.hpp"

namespace heddle {

class Semaphore {
public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max() / 2;

    struct Options {
        std::size_t permits = 1;
        std::size_t permits_max = unlimited;  ///< more than this are never free at once
        std::string_view name = "semaphore";
    };

    /// In the current runtime. Throws ValueError if permits > permits_max or permits_max is out of its range, 1 to `unlimited`.
    explicit Semaphore(const Options& options);
    explicit Semaphore(std::size_t permits) : Semaphore(Options{.permits = permits}) {}
    Semaphore(Runtime& runtime, const Options& options);
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;
    /// Whoever still waits gets AsyncError.
    ~Semaphore() { state_->abandon(); }

    /// Takes `count` permits, in order of arrival. A token that fires ends this wait only.
    /// Throws: ValueError if count is 0 or above permits_max; OperationCanceled, also if the token has fired already; a cancellation, and
    /// then holds nothing; AsyncError outside a coroutine. Suspends: unless they are free and nobody waits. Cost: O(1), no allocation.
    void acquire(std::size_t count = 1, const Token& token = {}, SourceLocation at = SourceLocation::current());
    /// True if it took them: they are free, and nobody waits. Never suspends.
    [[nodiscard]] bool try_acquire(std::size_t count = 1);
    /// Gives permits back, and serves whom they satisfy, oldest first; nobody runs inside this call. Legal in callbacks.
    /// Throws: AsyncError if more than permits_max would be free, with nothing changed.
    void release(std::size_t count = 1);

    /// Permits that nobody holds or was promised.
    [[nodiscard]] std::size_t available() const;
    /// Coroutines that wait and were promised nothing.
    [[nodiscard]] std::size_t waiting() const;

private:
    friend class Permit;
    void check(std::size_t count) const;
    Ref<SemaphoreState> state_;
};

/// Holds permits and gives them back, wherever it is destroyed; may outlive the semaphore. Movable.
class Permit {
public:
    explicit Permit(Semaphore& semaphore, std::size_t count = 1, const Token& token = {},
                    SourceLocation at = SourceLocation::current())
        : count_(count) {
        semaphore.acquire(count, token, at);
        state_ = semaphore.state_;
    }
    Permit(Permit&& other) noexcept : state_(std::move(other.state_)), count_(other.count_) {}
    Permit& operator=(Permit&& other) noexcept {
        if (this != &other) {
            release();
            state_ = std::move(other.state_);
            count_ = other.count_;
        }
        return *this;
    }
    ~Permit() { release(); }

    /// Before the end of the block; idempotent.
    void release() {
        if (const Ref<SemaphoreState> state = std::move(state_); state) { state->release(count_); }
    }
    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(state_); }

private:
    Ref<SemaphoreState> state_;
    std::size_t count_ = 1;
};

}  // namespace heddle
