// SPDX-License-Identifier: Apache-2.0
// FramePool: memory of coroutine objects. Coroutines come and go in batches of a few sizes; what one leaves the next one takes.
//
//   release(8 blocks of 352) ──▶ [ list of 352 ] ──▶ acquire(340)      one list per size class of 32 bytes, per thread
//
// P1  A block goes back to the thread that releases it, and to a list only while that holds fewer than `kept_max`.
// P2  In sanitizer builds every block comes from the allocator and returns to it, so that a use after the end is seen.
// Choice points: none; nobody reads an address.
#pragma once

#include <cstddef>

namespace heddle::detail {

class FramePool {
public:
    static constexpr std::size_t step = 32;          ///< bytes between two size classes
    static constexpr std::size_t size_max = 1024;    ///< larger blocks go straight to the allocator
    static constexpr std::size_t kept_max = 1024;    ///< blocks of one class that wait for reuse

    /// At least `size` bytes, aligned for every fundamental type. Throws std::bad_alloc. Cost: about 1 ns if one is left.
    [[nodiscard]] static void* acquire(std::size_t size);
    /// @param size  what was asked for
    static void release(void* block, std::size_t size) noexcept;
};

}  // namespace heddle::detail
