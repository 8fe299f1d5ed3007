// SPDX-License-Identifier: Apache-2.0
// EventQueue: what will happen to a simulated world by itself, in the order of time: completions, exits, posts, steps
// of threads.
//
//   add(window, what, index) ──▶ ordered by (earliest, sequence) ──take_due(now)──▶ ready
//                                     └─ remove(ticket): it will not happen
//
// EQ1  Equal instants come out in the order in which they were added, whatever the shape of the heap (MUT-H4, BUG-167).
// EQ2  A ticket is used once; removing needs the ticket of something that is still queued.
// Choice points: none; who takes what is due asks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/timer_queue.hpp"
#include "heddle/simreactor/reactor/timing.hpp"

namespace heddle::sim {

/// What becomes ready in a simulated world, besides timers.
enum class Happening : std::uint8_t { descriptor, trigger, task, thread, post, signal, exit, operation, arrival };

class EventQueue {
public:
    struct Entry {
        Window window;
        Happening what = Happening::post;
        std::uint32_t index = 0;  ///< which one of its kind
    };
    using Ticket = std::uint32_t;

    /// Cost: O(log n), no allocation once the queue has had this size.
    Ticket add(const Window& window, Happening what, std::uint32_t index) {
        HEDDLE_ASSERT(window.earliest <= window.latest, "TM1: a window is not empty");
        Ticket ticket = static_cast<Ticket>(entries_.size());
        if (free_.empty()) {
            entries_.push_back({window, what, index});
        } else {
            ticket = free_.back();
            free_.pop_back();
            entries_[ticket] = {window, what, index};
        }
        order_.arm(ticket, window.earliest);
        return ticket;
    }

    void remove(Ticket ticket) {
        const bool queued = order_.disarm(ticket);
        HEDDLE_ASSERT(queued, "EQ2");
        free_.push_back(ticket);
    }

    [[nodiscard]] bool empty() const { return order_.empty(); }
    [[nodiscard]] std::size_t size() const { return order_.size(); }
    [[nodiscard]] const Entry& entry(Ticket ticket) const {
        HEDDLE_ASSERT(order_.is_armed(ticket), "EQ2");
        return entries_[ticket];
    }
    /// The earliest instant at which something may happen; never if nothing is queued.
    [[nodiscard]] Instant next() const { return order_.empty() ? Instant::never() : order_.first().deadline; }

    /// Takes out what may happen at `now`, in order.
    template <class Take>
    void take_due(Instant now, Take take) {
        while (!order_.empty() && order_.first().deadline <= now) {
            const Ticket ticket = order_.first().slot;
            const Entry entry = entries_[ticket];
            remove(ticket);
            take(entry);
        }
    }

    /// The latest instant that every queued window allows (TM1). Cost: O(n).
    [[nodiscard]] Instant min_latest() const {
        Instant least = Instant::never();
        for (const TimerQueue::Entry& queued : order_.unordered()) {
            least = std::min(least, entries_[queued.slot].window.latest);
        }
        return least;
    }
    /// Calls `visit(earliest)` for what may happen until `limit`, in no order.
    template <class Visit>
    void for_each_until(Instant limit, Visit visit) const {
        order_.for_each_until(limit, [&](const TimerQueue::Entry& queued) { visit(queued.deadline); });
    }

    void clear() {
        order_.clear();
        entries_.clear();
        free_.clear();
    }

private:
    TimerQueue order_;
    std::vector<Entry> entries_;  // by ticket
    std::vector<Ticket> free_;
};

}  // namespace heddle::sim
