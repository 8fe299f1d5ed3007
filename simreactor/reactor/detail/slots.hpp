// SPDX-License-Identifier: Apache-2.0
// Slots: a table whose places are used again, and whose keys are not: place and generation in one number.
//
//   key = generation · 2^32 + place + 1        0 is no key
//
// S1  A key names one element for ever: the key of an element that was taken out finds nothing, also when its place is
//     in use.
// S2  Keys depend on the history of adding and taking out alone, so that equal runs name equal things alike.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "heddle/core/base/assert.hpp"

namespace heddle::sim::detail {

template <class T>
class Slots {
public:
    [[nodiscard]] static constexpr std::uint32_t slot_of(std::uint64_t key) {
        return static_cast<std::uint32_t>(key) - 1;
    }

    /// @returns the place. References to other elements are invalid after it.
    std::uint32_t add(T value) {
        ++size_;
        if (free_.empty()) {
            places_.push_back({std::move(value), 0, true});
            return static_cast<std::uint32_t>(places_.size() - 1);
        }
        const std::uint32_t slot = free_.back();
        free_.pop_back();
        places_[slot].value = std::move(value);
        places_[slot].used = true;
        return slot;
    }

    void remove(std::uint32_t slot) {
        HEDDLE_ASSERT(slot < places_.size() && places_[slot].used, "S1");
        places_[slot].used = false;
        places_[slot].value = T{};
        ++places_[slot].generation;
        free_.push_back(slot);
        --size_;
    }

    [[nodiscard]] std::uint64_t key(std::uint32_t slot) const {
        return (std::uint64_t{places_[slot].generation} << 32) | (slot + 1);
    }
    [[nodiscard]] T* find(std::uint64_t key) {
        const std::uint32_t slot = slot_of(key);
        if (slot >= places_.size()) { return nullptr; }
        Place& place = places_[slot];
        return place.used && place.generation == static_cast<std::uint32_t>(key >> 32) ? &place.value : nullptr;
    }
    [[nodiscard]] T& operator[](std::uint32_t slot) {
        HEDDLE_ASSERT(slot < places_.size() && places_[slot].used, "S1");
        return places_[slot].value;
    }
    [[nodiscard]] bool is_used(std::uint32_t slot) const { return slot < places_.size() && places_[slot].used; }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    /// One past the highest place that was ever used.
    [[nodiscard]] std::uint32_t end() const { return static_cast<std::uint32_t>(places_.size()); }

    /// Forgets generations, too.
    void clear() {
        places_.clear();
        free_.clear();
        size_ = 0;
    }

private:
    struct Place {
        T value{};
        std::uint32_t generation = 0;
        bool used = false;
    };
    std::vector<Place> places_;
    std::vector<std::uint32_t> free_;
    std::size_t size_ = 0;
};

}  // namespace heddle::sim::detail
