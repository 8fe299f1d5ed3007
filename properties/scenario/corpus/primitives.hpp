// SPDX-License-Identifier: Apache-2.0
// Small primitives for scenarios whose mechanism is a wake, a cancellation or a hand-over: a fair semaphore with weights, a lock, a
// condition, a notification, a channel. Built on OneShotEvent alone, the way a user of the runtime would.
//
//   wait ──▶ a Waiter on the coroutine's own stack, in the queue ──granted──▶ event completed: the unit is the waiter's
//                 └─ leaves with a cancellation: not granted: unlinked; granted: the unit goes to the next one (CAN-19)
//
// P1  A unit is granted by the one who wakes, not taken by the one who runs: no newcomer can come between (FIFO).
// P2  Whoever leaves without using what was granted hands it on (CONSERVE, NO-LOST-WAKE).
// P3  A waiter is linked exactly as long as it waits and was not granted anything.
// They keep their own books with HEDDLE_CHECK. Choice points: none.
#pragma once

#include <deque>
#include <optional>

#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {

/// Fair, with weights: the head of the queue is served first, and holds back whoever wants less behind it.
class Semaphore {
public:
    explicit Semaphore(int permits) : total_(permits), permits_(permits) {}
    ~Semaphore() { HEDDLE_CHECK(queue_.empty()); }
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;

    void acquire(const Token& token = {}, int wanted = 1) {
        if (queue_.empty() && permits_ >= wanted) {
            permits_ -= wanted;
            return;
        }
        Waiter waiter{make_event("permit"), wanted};
        queue_.push_back(&waiter);
        try {
            await_event(waiter.event, token);
        } catch (...) {
            if (waiter.granted) {
                permits_ += waiter.wanted;  // P2
            } else {
                std::erase(queue_, &waiter);
            }
            serve();
            throw;
        }
        HEDDLE_CHECK(waiter.granted);  // nobody else completes it
    }

    void release(int count = 1) {
        permits_ += count;
        HEDDLE_CHECK(permits_ <= total_);
        serve();
    }

    [[nodiscard]] int permits() const { return permits_; }
    [[nodiscard]] std::size_t waiting() const { return queue_.size(); }
    void raise_total(int by) { total_ += by; }

private:
    struct Waiter {
        Event event;
        int wanted;
        bool granted = false;
    };

    void serve() {
        while (!queue_.empty() && queue_.front()->wanted <= permits_) {
            Waiter& next = *queue_.front();
            queue_.pop_front();
            permits_ -= next.wanted;
            next.granted = true;
            next.event->complete();
        }
    }

    int total_;
    int permits_;
    std::deque<Waiter*> queue_;
};

class Lock {
public:
    void lock() {
        unit_.acquire();
        HEDDLE_CHECK(!holder_);
        holder_ = scheduler().current()->id();
    }
    void unlock() {
        HEDDLE_CHECK(is_mine());
        holder_.reset();
        unit_.release();
    }
    [[nodiscard]] bool is_mine() const { return holder_ == scheduler().current()->id(); }
    [[nodiscard]] bool is_free() const { return !holder_ && unit_.permits() == 1; }

private:
    Semaphore unit_{1};
    std::optional<CoroutineId> holder_;
};

class Condition {
public:
    /// The lock is the caller's again on every exit, a cancellation included.
    void wait(Lock& lock) {
        struct Relock {
            Lock& lock;
            ~Relock() {
                cleanup([this] { lock.lock(); });
            }
        };
        const Event event = make_event("condition");
        queue_.push_back(event);
        lock.unlock();
        const Relock relock{lock};
        try {
            await_event(event);
        } catch (...) {
            std::erase(queue_, event);
            throw;
        }
    }
    void notify_one() {
        if (queue_.empty()) { return; }
        const Event first = queue_.front();
        queue_.pop_front();
        first->complete();
    }
    void notify_all() {
        while (!queue_.empty()) { notify_one(); }
    }

private:
    std::deque<Event> queue_;
};

/// One stored permit at most; a broadcast is no permit.
class Notify {
public:
    void wait() {
        if (std::exchange(permit_, false)) { return; }
        Waiter waiter{make_event("notify")};
        queue_.push_back(&waiter);
        try {
            await_event(waiter.event);
        } catch (...) {
            if (waiter.by == By::nobody) { std::erase(queue_, &waiter); }
            if (waiter.by == By::one) { notify_one(); }  // P2
            throw;
        }
    }
    void notify_one() {
        if (queue_.empty()) {
            permit_ = true;
        } else {
            wake(By::one);
        }
    }
    void notify_all() {
        while (!queue_.empty()) { wake(By::all); }
    }
    [[nodiscard]] bool has_permit() const { return permit_; }

private:
    enum class By : std::uint8_t { nobody, one, all };
    struct Waiter {
        Event event;
        By by = By::nobody;
    };
    void wake(By by) {
        Waiter& first = *queue_.front();
        queue_.pop_front();
        first.by = by;
        first.event->complete();
    }

    std::deque<Waiter*> queue_;
    bool permit_ = false;
};

/// Integers, in order. Capacity 0: a send ends with its receive.
class Channel {
public:
    explicit Channel(std::size_t capacity) : capacity_(capacity) {}

    /// @param before_park  runs between the registration of the wait and the wait itself; may suspend
    void send(int value, UniqueFunction<void()> before_park = {}) {
        if (!receivers_.empty()) {
            give(value);
            return;
        }
        if (buffer_.size() < capacity_) {
            buffer_.push_back(value);
            return;
        }
        Waiter sender{make_event("send"), value};
        senders_.push_back(&sender);
        try {
            if (before_park) { before_park(); }
            await_event(sender.event);
        } catch (...) {
            if (!sender.done) { std::erase(senders_, &sender); }
            throw;
        }
    }

    int receive() {
        if (!buffer_.empty()) {
            const int value = buffer_.front();
            buffer_.pop_front();
            if (!senders_.empty()) { buffer_.push_back(take()); }
            return value;
        }
        if (!senders_.empty()) { return take(); }
        Waiter receiver{make_event("receive"), 0};
        receivers_.push_back(&receiver);
        try {
            await_event(receiver.event);
        } catch (...) {
            if (!receiver.done) {
                std::erase(receivers_, &receiver);
            } else if (!receivers_.empty()) {
                give(receiver.value);  // P2
            } else {
                buffer_.push_front(receiver.value);
            }
            throw;
        }
        return receiver.value;
    }

private:
    struct Waiter {
        Event event;
        int value;
        bool done = false;
    };
    void give(int value) {
        Waiter& first = *receivers_.front();
        receivers_.pop_front();
        first.value = value;
        first.done = true;
        first.event->complete();
    }
    int take() {
        Waiter& first = *senders_.front();
        senders_.pop_front();
        first.done = true;
        first.event->complete();
        return first.value;
    }

    std::size_t capacity_;
    std::deque<int> buffer_;
    std::deque<Waiter*> senders_;
    std::deque<Waiter*> receivers_;
};

}  // namespace heddle::prop::corpus
