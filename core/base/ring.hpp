// SPDX-License-Identifier: Apache-2.0
// Ring: a growable double-ended queue in one buffer whose capacity is a power of two (SCH-19). Values are small and trivially
// copyable. Index 0 is the head.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "heddle/core/base/assert.hpp"

namespace heddle {

template <class T>
class Ring {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    explicit Ring(std::size_t capacity = 16) : capacity_(capacity), slots_(new T[capacity]) {
        HEDDLE_ASSERT((capacity & (capacity - 1)) == 0 && capacity > 0, "capacity is a power of two");
    }

    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] T operator[](std::size_t index) const { return slots_[(head_ + index) & (capacity_ - 1)]; }
    [[nodiscard]] T front() const { return slots_[head_]; }

    void push_back(T value) {
        if (size_ == capacity_) [[unlikely]] { grow(); }
        slots_[(head_ + size_) & (capacity_ - 1)] = value;
        ++size_;
    }

    void push_front(T value) {
        if (size_ == capacity_) [[unlikely]] { grow(); }
        head_ = (head_ + capacity_ - 1) & (capacity_ - 1);
        slots_[head_] = value;
        ++size_;
    }

    T pop_front() {
        HEDDLE_ASSERT(size_ > 0, "an empty ring has no head");
        T value = slots_[head_];
        head_ = (head_ + 1) & (capacity_ - 1);
        --size_;
        return value;
    }

    /// pop_front and push_back in one: the order turns by one, nothing grows.
    void rotate(T back) {
        HEDDLE_ASSERT(size_ > 0, "an empty ring has no head");
        slots_[(head_ + size_) & (capacity_ - 1)] = back;
        head_ = (head_ + 1) & (capacity_ - 1);
    }

    /// Takes out one element and keeps the order of the others. O(n); for the rare moves (SCH-22, SCH-72, CP-DISPATCH).
    T take(std::size_t index) {
        HEDDLE_ASSERT(index < size_, "index of a queued element");
        T value = (*this)[index];
        for (std::size_t i = index; i > 0; --i) { slots_[(head_ + i) & (capacity_ - 1)] = (*this)[i - 1]; }
        head_ = (head_ + 1) & (capacity_ - 1);
        --size_;
        return value;
    }

    void clear() { head_ = size_ = 0; }

private:
    [[gnu::noinline]] void grow() {
        std::unique_ptr<T[]> larger(new T[capacity_ * 2]);
        for (std::size_t i = 0; i < size_; ++i) { larger[i] = (*this)[i]; }
        slots_ = std::move(larger);
        capacity_ *= 2;
        head_ = 0;
    }

    std::size_t capacity_;
    std::size_t head_ = 0;
    std::size_t size_ = 0;
    std::unique_ptr<T[]> slots_;
};

}  // namespace heddle
