// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/frame_pool.hpp"

#include <new>

#include "heddle/core/run/detail/sanitizer.hpp"

namespace heddle::detail {
namespace {

struct Block {
    Block* next;
};

struct Lists {
    Block* first[FramePool::size_max / FramePool::step + 1] = {};
    std::size_t count[FramePool::size_max / FramePool::step + 1] = {};
    bool closed = true;  // until the first release, and again when the thread ends
};

thread_local constinit Lists lists;

/// Gives the blocks back when the thread ends; apart from the lists, so that their look-up is one load.
struct AtThreadEnd {
    AtThreadEnd() { lists.closed = false; }
    ~AtThreadEnd() {
        lists.closed = true;
        for (Block*& first : lists.first) {
            while (Block* block = first) {
                first = block->next;
                ::operator delete(block);
            }
        }
    }
};

constexpr std::size_t class_of(std::size_t size) { return (size + FramePool::step - 1) / FramePool::step; }

#if defined(HEDDLE_ADDRESS_SANITIZER) || defined(HEDDLE_THREAD_SANITIZER)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif

[[gnu::noinline]] bool open_lists() {
    thread_local AtThreadEnd at_thread_end;
    return !lists.closed;
}

}  // namespace

void* FramePool::acquire(std::size_t size) {
    if (!pooled || size > size_max) { return ::operator new(size); }
    const std::size_t index = class_of(size);
    if (Block* block = lists.first[index]; block != nullptr) [[likely]] {
        lists.first[index] = block->next;
        --lists.count[index];
        return block;
    }
    return ::operator new(index * step);
}

void FramePool::release(void* block, std::size_t size) noexcept {
    if (!pooled || size > size_max) {
        ::operator delete(block);
        return;
    }
    const std::size_t index = class_of(size);
    if (lists.count[index] == kept_max || (lists.closed && !open_lists())) [[unlikely]] {
        ::operator delete(block);
        return;
    }
    lists.first[index] = ::new (block) Block{lists.first[index]};
    ++lists.count[index];
}

}  // namespace heddle::detail
