// SPDX-License-Identifier: Apache-2.0
// TimerQueue: armed timers in the order in which they fire, the same on every reactor (RCT-31).
//
//   4-ary heap of (deadline, start id, slot); a timer knows its place in the heap, so that disarming is O(log n).
//
// TQ1  The key is (deadline, start id) and start ids are given out by `arm`, one each: the order never depends on the heap's shape.
// TQ2  A slot is armed at most once; arming an armed one moves it and takes a new start id.
// Choice points: none; a reactor that offers ties in any order asks before it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/time.hpp"

namespace heddle {

class TimerQueue {
public:
    struct Entry {
        Instant deadline;
        std::uint64_t start_id = 0;
        std::uint32_t slot = 0;

        [[nodiscard]] bool before(const Entry& other) const {
            return deadline != other.deadline ? deadline < other.deadline : start_id < other.start_id;
        }
    };

    /// Arms `slot` for `deadline`. Cost: O(log n), no allocation once the queue has had this size. Returns the start id.
    std::uint64_t arm(std::uint32_t slot, Instant deadline) {
        if (slot >= places_.size()) { places_.resize(slot + 1, nowhere); }
        if (places_[slot] != nowhere) { disarm(slot); }
        heap_.push_back({deadline, ++last_start_id_, slot});
        sift_up(heap_.size() - 1);
        return last_start_id_;
    }

    /// True if it was armed.
    bool disarm(std::uint32_t slot) {
        if (!is_armed(slot)) { return false; }
        const std::size_t place = places_[slot];
        places_[slot] = nowhere;
        const Entry last = heap_.back();
        heap_.pop_back();
        if (place < heap_.size()) {
            heap_[place] = last;
            if (place > 0 && last.before(heap_[(place - 1) / arity])) {
                sift_up(place);
            } else {
                sift_down(place);
            }
        }
        return true;
    }

    [[nodiscard]] bool is_armed(std::uint32_t slot) const { return slot < places_.size() && places_[slot] != nowhere; }
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] std::size_t size() const { return heap_.size(); }
    [[nodiscard]] const Entry& first() const {
        HEDDLE_ASSERT(!heap_.empty(), "an empty queue has no first timer");
        return heap_.front();
    }
    [[nodiscard]] const Entry& entry(std::uint32_t slot) const {
        HEDDLE_ASSERT(is_armed(slot), "TQ2");
        return heap_[places_[slot]];
    }
    /// The start id given out last, 0 before the first: what is armed from now on has a greater one.
    [[nodiscard]] std::uint64_t last_start_id() const { return last_start_id_; }
    /// Armed timers in no order; for those who sort or count.
    [[nodiscard]] const std::vector<Entry>& unordered() const { return heap_; }

    /// Calls `visit(entry)` for the armed timers whose deadline is not after `limit`, in no order. Cost: O(number of them).
    template <class Visit>
    void for_each_until(Instant limit, Visit visit) const {
        visit_until(0, limit, visit);
    }

    void clear() {
        heap_.clear();
        places_.clear();
        last_start_id_ = 0;
    }

private:
    static constexpr std::size_t arity = 4;
    static constexpr std::uint32_t nowhere = 0xffffffffU;

    /// A child is never due before its parent, so a subtree that begins too late is left out as a whole.
    template <class Visit>
    void visit_until(std::size_t place, Instant limit, Visit& visit) const {
        if (place >= heap_.size() || heap_[place].deadline > limit) { return; }
        visit(heap_[place]);
        for (std::size_t child = place * arity + 1; child <= place * arity + arity; ++child) { visit_until(child, limit, visit); }
    }

    void put(std::size_t place, const Entry& entry) {
        heap_[place] = entry;
        places_[entry.slot] = static_cast<std::uint32_t>(place);
    }

    void sift_up(std::size_t place) {
        const Entry moving = heap_[place];
        while (place > 0) {
            const std::size_t parent = (place - 1) / arity;
            if (!moving.before(heap_[parent])) { break; }
            put(place, heap_[parent]);
            place = parent;
        }
        put(place, moving);
    }

    void sift_down(std::size_t place) {
        const Entry moving = heap_[place];
        for (;;) {
            const std::size_t first_child = place * arity + 1;
            if (first_child >= heap_.size()) { break; }
            std::size_t least = first_child;
            for (std::size_t child = first_child + 1; child < first_child + arity && child < heap_.size(); ++child) {
                if (heap_[child].before(heap_[least])) { least = child; }
            }
            if (!heap_[least].before(moving)) { break; }
            put(place, heap_[least]);
            place = least;
        }
        put(place, moving);
    }

    std::vector<Entry> heap_;
    std::vector<std::uint32_t> places_;
    std::uint64_t last_start_id_ = 0;
};

}  // namespace heddle
