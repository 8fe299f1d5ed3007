// SPDX-License-Identifier: Apache-2.0
// ValueSlots: places for values that are moved and destroyed, in a ring. ValueRing: a growable queue of values in them. Like
// base/ring.hpp, for types that are not trivial.
//
//   first ──▶ [ value ][ value ][ value ] ◀── last      numbers that only grow; a value's place is its number, less the ring's length
//
// VR1  Only `reserve` allocates, and it may throw; put and take never do.
// VR2  A value is moved in, moved out, and destroyed where it was moved from, at once: nothing lingers in the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "heddle/core/base/assert.hpp"

namespace heddle::detail {

/// Its owner knows which numbers are there.
template <class T>
class ValueSlots {
    static_assert(std::is_nothrow_move_constructible_v<T>, "values are moved by operations that cannot throw (CV-19)");

public:
    [[nodiscard]] std::size_t capacity() const { return capacity_; }

    /// Room for `count` values in all. @param first, last  those that are there: first ≤ number < last
    void reserve(std::size_t count, std::uint64_t first, std::uint64_t last) {
        if (count <= capacity_) [[likely]] { return; }
        std::size_t larger = capacity_ == 0 ? 4 : capacity_;
        while (larger < count) { larger *= 2; }
        std::unique_ptr<Slot[]> slots(new Slot[larger]);
        for (std::uint64_t number = first; number != last; ++number) {
            T& from = at(number);
            ::new (static_cast<void*>(slots[number & (larger - 1)].bytes)) T(std::move(from));
            from.~T();
        }
        slots_ = std::move(slots);
        capacity_ = larger;
    }
    void put(std::uint64_t number, T&& value) noexcept {
        ::new (static_cast<void*>(slots_[number & (capacity_ - 1)].bytes)) T(std::move(value));
    }
    [[nodiscard]] T take(std::uint64_t number) noexcept {
        T& from = at(number);
        T value(std::move(from));
        from.~T();
        return value;
    }
    void drop(std::uint64_t first, std::uint64_t last) noexcept {
        for (; first != last; ++first) { at(first).~T(); }
    }

private:
    struct Slot {
        alignas(T) unsigned char bytes[sizeof(T)];
    };

    [[nodiscard]] T& at(std::uint64_t number) { return *std::launder(reinterpret_cast<T*>(slots_[number & (capacity_ - 1)].bytes)); }

    std::unique_ptr<Slot[]> slots_;
    std::size_t capacity_ = 0;
};

template <class T>
class ValueRing {
public:
    ValueRing() = default;
    ValueRing(const ValueRing&) = delete;
    ValueRing& operator=(const ValueRing&) = delete;
    ~ValueRing() { slots_.drop(first_, last_); }

    [[nodiscard]] std::size_t size() const { return last_ - first_; }

    /// Room for `count` values in all.
    void reserve(std::size_t count) { slots_.reserve(count, first_, last_); }
    void push_back(T&& value) noexcept {
        HEDDLE_ASSERT(size() < slots_.capacity(), "VR1");
        slots_.put(last_++, std::move(value));
    }
    [[nodiscard]] T pop_front() noexcept {
        HEDDLE_ASSERT(size() > 0, "an empty ring has no head");
        return slots_.take(first_++);
    }

private:
    ValueSlots<T> slots_;
    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
};

}  // namespace heddle::detail
