// SPDX-License-Identifier: Apache-2.0
// The callbacks that `-fsanitize=thread` plants in user code: loads, stores, atomics, entries of functions. The sanitizer's own library is
// not linked; these take its place.
//
// HK1  Outside of a watched run each costs one branch.
// HK2  Atomics do what they say; in a simulated world one thread runs, so that their order of memory is the strongest anyway.
// HK3  An exchange that compares writes if it succeeds and reads otherwise; whatever else changes a value writes.
// Chance: none.
#include <cstddef>
#include <cstdint>

#include "heddle/simreactor/world/memory_watch.hpp"

namespace heddle::sim {
namespace {

inline void seen(const volatile void* address, std::size_t size, bool write) {
    if (MemoryWatch* watch = memory_watch; watch != nullptr) [[unlikely]] { watch->access(const_cast<const void*>(address), size, write); }
}

template <class T>
bool exchange_compared(volatile T* at, T* expected, T wanted) {
    const bool done = __atomic_compare_exchange_n(at, expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    seen(at, sizeof(T), done);
    return done;
}

}  // namespace

void release_hooked_block(void* block);

}  // namespace heddle::sim

using heddle::sim::seen;  // NOLINT: the callbacks have no namespace

extern "C" {

void __tsan_init() { heddle::sim::announce_memory_hooks(&heddle::sim::release_hooked_block); }

void __tsan_func_entry(void* caller) {
    static_cast<void>(caller);
    if (heddle::sim::MemoryWatch* watch = heddle::sim::memory_watch; watch != nullptr) [[unlikely]] {
        watch->entered(__builtin_frame_address(0));
    }
}
void __tsan_func_exit() {}

#define HEDDLE_HOOK_SIZE(size)                                                                        \
    void __tsan_read##size(void* at) { seen(at, size, false); }                                       \
    void __tsan_write##size(void* at) { seen(at, size, true); }                                       \
    void __tsan_read_write##size(void* at) { seen(at, size, true); }                                  \
    void __tsan_unaligned_read##size(void* at) { seen(at, size, false); }                             \
    void __tsan_unaligned_write##size(void* at) { seen(at, size, true); }                             \
    void __tsan_unaligned_read_write##size(void* at) { seen(at, size, true); }                        \
    void __tsan_volatile_read##size(void* at) { seen(at, size, false); }                              \
    void __tsan_volatile_write##size(void* at) { seen(at, size, true); }                              \
    void __tsan_unaligned_volatile_read##size(void* at) { seen(at, size, false); }                    \
    void __tsan_unaligned_volatile_write##size(void* at) { seen(at, size, true); }

HEDDLE_HOOK_SIZE(1)
HEDDLE_HOOK_SIZE(2)
HEDDLE_HOOK_SIZE(4)
HEDDLE_HOOK_SIZE(8)
HEDDLE_HOOK_SIZE(16)

void __tsan_read_range(void* at, std::size_t size) { seen(at, size, false); }
void __tsan_write_range(void* at, std::size_t size) { seen(at, size, true); }
void __tsan_vptr_read(void** at) { seen(at, sizeof *at, false); }
void __tsan_vptr_update(void** at, void* table) {
    if (*at != table) { seen(at, sizeof *at, true); }  // a destructor that stores what is there already
}

#define HEDDLE_HOOK_ATOMIC(bits, T)                                                                                                  \
    T __tsan_atomic##bits##_load(const volatile T* at, int) {                                                                        \
        seen(at, sizeof(T), false);                                                                                                  \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                                \
    }                                                                                                                                \
    void __tsan_atomic##bits##_store(volatile T* at, T value, int) {                                                                 \
        seen(at, sizeof(T), true);                                                                                                   \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                                               \
    }                                                                                                                                \
    T __tsan_atomic##bits##_exchange(volatile T* at, T value, int) {                                                                 \
        seen(at, sizeof(T), true);                                                                                                   \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                                     \
    }                                                                                                                                \
    T __tsan_atomic##bits##_fetch_add(volatile T* at, T value, int) {                                                                \
        seen(at, sizeof(T), true);                                                                                                   \
        return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                                                      \
    }                                                                                                                                \
    T __tsan_atomic##bits##_fetch_sub(volatile T* at, T value, int) {                                                                \
        seen(at, sizeof(T), true);                                                                                                   \
        return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);                                                                      \
    }                                                                                                                                \
    T __tsan_atomic##bits##_fetch_and(volatile T* at, T value, int) {                                                                \
        seen(at, sizeof(T), true);                                                                                                   \
        return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);                                                                      \
    }                                                                                                                                \
    T __tsan_atomic##bits##_fetch_or(volatile T* at, T value, int) {                                                                 \
        seen(at, sizeof(T), true);                                                                                                   \
        return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);                                                                       \
    }                                                                                                                                \
    T __tsan_atomic##bits##_fetch_xor(volatile T* at, T value, int) {                                                                \
        seen(at, sizeof(T), true);                                                                                                   \
        return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST);                                                                      \
    }                                                                                                                                \
    T __tsan_atomic##bits##_fetch_nand(volatile T* at, T value, int) {                                                               \
        seen(at, sizeof(T), true);                                                                                                   \
        return __atomic_fetch_nand(at, value, __ATOMIC_SEQ_CST);                                                                     \
    }                                                                                                                                \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T wanted, int, int) {                             \
        return heddle::sim::exchange_compared(at, expected, wanted) ? 1 : 0;                                                         \
    }                                                                                                                                \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T wanted, int, int) {                               \
        return heddle::sim::exchange_compared(at, expected, wanted) ? 1 : 0;                                                         \
    }                                                                                                                                \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected, T wanted, int, int) {                                   \
        heddle::sim::exchange_compared(at, &expected, wanted);                                                                       \
        return expected;                                                                                                             \
    }

HEDDLE_HOOK_ATOMIC(8, std::uint8_t)
HEDDLE_HOOK_ATOMIC(16, std::uint16_t)
HEDDLE_HOOK_ATOMIC(32, std::uint32_t)
HEDDLE_HOOK_ATOMIC(64, std::uint64_t)

void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
