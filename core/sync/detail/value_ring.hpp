// SPDX-License-Identifier: Apache-2.0
// ValueRing: a growable queue of values in one buffer. Like base/ring.hpp, for types that are moved and destroyed.
//
// VR1  Only `reserve` allocates, and it may throw; push and pop never do.
// VR2  A value is moved in, moved out, and destroyed where it was moved from, at once: nothing lingers in the buffer.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "heddle/core/base/assert.hpp"

namespace heddle::detail {

template <class T>
class ValueRing {
    static_assert(std::is_nothrow_move_constructible_v<T>, "values are moved by operations that cannot throw (CV-19)");

public:
    ValueRing() = default;
    ValueRing(const ValueRing&) = delete;
    ValueRing& operator=(const ValueRing&) = delete;
    ~ValueRing() {
        while (size_ > 0) { drop_front(); }
    }

    [[nodiscard]] std::size_t size() const { return size_; }

    /// Room for `count` values in all.
    void reserve(std::size_t count) {
        if (count <= capacity_) [[likely]] { return; }
        std::size_t larger = capacity_ == 0 ? 4 : capacity_;
        while (larger < count) { larger *= 2; }
        std::unique_ptr<Slot[]> slots(new Slot[larger]);
        for (std::size_t i = 0; i < size_; ++i) {
            T& from = at(i);
            ::new (static_cast<void*>(slots[i].bytes)) T(std::move(from));
            from.~T();
        }
        slots_ = std::move(slots);
        capacity_ = larger;
        head_ = 0;
    }

    void push_back(T&& value) noexcept {
        HEDDLE_ASSERT(size_ < capacity_, "VR1");
        ::new (static_cast<void*>(slots_[(head_ + size_) & (capacity_ - 1)].bytes)) T(std::move(value));
        ++size_;
    }

    [[nodiscard]] T pop_front() noexcept {
        HEDDLE_ASSERT(size_ > 0, "an empty ring has no head");
        T value(std::move(at(0)));
        drop_front();
        return value;
    }

private:
    struct Slot {
        alignas(T) unsigned char bytes[sizeof(T)];
    };

    [[nodiscard]] T& at(std::size_t index) {
        return *std::launder(reinterpret_cast<T*>(slots_[(head_ + index) & (capacity_ - 1)].bytes));
    }
    void drop_front() noexcept {
        at(0).~T();
        head_ = (head_ + 1) & (capacity_ - 1);
        --size_;
    }

    std::unique_ptr<Slot[]> slots_;
    std::size_t capacity_ = 0;
    std::size_t head_ = 0;
    std::size_t size_ = 0;
};

}  // namespace heddle::detail
