// SPDX-License-Identifier: Apache-2.0
// What instrumented code calls in place of the C library's memory functions and of the allocator: its calls were renamed in its object
// files (tools/cmake/InstrumentObjects.cmake), nobody else's.
//
//   user code ── memcpy ──▶ heddle_hook_memcpy ── R range, W range ──▶ memcpy
//             ── new ─────▶ heddle_hook_new ───── birth of a block ──▶ malloc
//
// HM1  Blocks come from malloc and go back to free, so that what user code allocated may be freed by a library, and the other way round.
// HM2  operator delete is replaced for the whole program: also a library may end a block that user code began.
// HM3  In a watched run a block that ends stays mapped to the end of the run (MW4).
// Chance: none.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "heddle/simreactor/world/memory_watch.hpp"

namespace heddle::sim {
namespace {

inline void seen(const void* address, std::size_t size, bool write) {
    if (MemoryWatch* watch = memory_watch; watch != nullptr) [[unlikely]] { watch->access(address, size, write); }
}

void* announced(void* block, std::size_t size) {
    if (MemoryWatch* watch = memory_watch; watch != nullptr) [[unlikely]] { watch->born(block, size); }
    return block;
}

void* allocate(std::size_t size) {
    for (;;) {
        if (void* block = std::malloc(size == 0 ? 1 : size); block != nullptr) { return announced(block, size); }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) { throw std::bad_alloc(); }
        handler();
    }
}

void* allocate_aligned(std::size_t size, std::size_t alignment) {
    for (;;) {
        void* block = nullptr;
        if (posix_memalign(&block, alignment < sizeof(void*) ? sizeof(void*) : alignment, size == 0 ? 1 : size) == 0) {
            return announced(block, size);
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) { throw std::bad_alloc(); }
        handler();
    }
}

void release(void* block) {
    if (block == nullptr) { return; }
    if (MemoryWatch* watch = memory_watch; watch != nullptr && watch->died(block)) [[unlikely]] { return; }
    std::free(block);
}

}  // namespace

void release_hooked_block(void* block) { std::free(block); }

}  // namespace heddle::sim

using heddle::sim::seen;  // NOLINT: these have no namespace

extern "C" {

void* heddle_hook_memcpy(void* to, const void* from, std::size_t size) noexcept {
    seen(from, size, false);
    seen(to, size, true);
    return std::memcpy(to, from, size);
}
void* heddle_hook_memmove(void* to, const void* from, std::size_t size) noexcept {
    seen(from, size, false);
    seen(to, size, true);
    return std::memmove(to, from, size);
}
void* heddle_hook_memset(void* to, int value, std::size_t size) noexcept {
    seen(to, size, true);
    return std::memset(to, value, size);
}
void* __tsan_memcpy(void* to, const void* from, std::size_t size) noexcept { return heddle_hook_memcpy(to, from, size); }
void* __tsan_memmove(void* to, const void* from, std::size_t size) noexcept { return heddle_hook_memmove(to, from, size); }
void* __tsan_memset(void* to, int value, std::size_t size) noexcept { return heddle_hook_memset(to, value, size); }

int heddle_hook_memcmp(const void* a, const void* b, std::size_t size) noexcept {
    seen(a, size, false);
    seen(b, size, false);
    return std::memcmp(a, b, size);
}
void* heddle_hook_memchr(const void* in, int value, std::size_t size) noexcept {
    seen(in, size, false);
    return const_cast<void*>(std::memchr(in, value, size));
}
std::size_t heddle_hook_strlen(const char* text) noexcept {
    const std::size_t size = std::strlen(text);
    seen(text, size + 1, false);
    return size;
}
int heddle_hook_strcmp(const char* a, const char* b) noexcept {
    seen(a, std::strlen(a) + 1, false);
    seen(b, std::strlen(b) + 1, false);
    return std::strcmp(a, b);
}
int heddle_hook_strncmp(const char* a, const char* b, std::size_t size) noexcept {
    seen(a, strnlen(a, size), false);
    seen(b, strnlen(b, size), false);
    return std::strncmp(a, b, size);
}
char* heddle_hook_strcpy(char* to, const char* from) noexcept {
    heddle_hook_memcpy(to, from, std::strlen(from) + 1);
    return to;
}
char* heddle_hook_strncpy(char* to, const char* from, std::size_t size) noexcept {
    const std::size_t length = strnlen(from, size);
    heddle_hook_memcpy(to, from, length);
    if (length < size) { heddle_hook_memset(to + length, 0, size - length); }
    return to;
}

void* heddle_hook_malloc(std::size_t size) noexcept { return heddle::sim::announced(std::malloc(size), size); }
void* heddle_hook_calloc(std::size_t count, std::size_t size) noexcept {
    return heddle::sim::announced(std::calloc(count, size), count * size);  // it returns null if the product is none
}
void heddle_hook_free(void* block) noexcept { heddle::sim::release(block); }
void* heddle_hook_realloc(void* block, std::size_t size) noexcept {
    heddle::sim::MemoryWatch* watch = heddle::sim::memory_watch;
    const std::size_t had = watch == nullptr || block == nullptr ? 0 : watch->size_of(block);
    if (had == 0) {
        void* other = std::realloc(block, size);
        return size == 0 ? other : heddle::sim::announced(other, size);
    }
    void* other = size == 0 ? nullptr : heddle_hook_malloc(size);
    if (other == nullptr && size != 0) { return nullptr; }
    if (other != nullptr) { heddle_hook_memcpy(other, block, had < size ? had : size); }
    heddle::sim::release(block);
    return other;
}

void* heddle_hook_new(std::size_t size) { return heddle::sim::allocate(size); }
void* heddle_hook_new_nothrow(std::size_t size, const std::nothrow_t&) noexcept { return heddle_hook_malloc(size == 0 ? 1 : size); }
void* heddle_hook_new_aligned(std::size_t size, std::align_val_t alignment) {
    return heddle::sim::allocate_aligned(size, static_cast<std::size_t>(alignment));
}
void* heddle_hook_new_aligned_nothrow(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    void* block = nullptr;
    const auto wanted = static_cast<std::size_t>(alignment);
    if (posix_memalign(&block, wanted < sizeof(void*) ? sizeof(void*) : wanted, size == 0 ? 1 : size) != 0) { return nullptr; }
    return heddle::sim::announced(block, size);
}
// Arrays, under names of their own: a symbol takes the place of one other.
void* heddle_hook_new_array(std::size_t size) { return heddle_hook_new(size); }
void* heddle_hook_new_array_nothrow(std::size_t size, const std::nothrow_t& no) noexcept { return heddle_hook_new_nothrow(size, no); }
void* heddle_hook_new_array_aligned(std::size_t size, std::align_val_t alignment) { return heddle_hook_new_aligned(size, alignment); }
void* heddle_hook_new_array_aligned_nothrow(std::size_t size, std::align_val_t alignment, const std::nothrow_t& no) noexcept {
    return heddle_hook_new_aligned_nothrow(size, alignment, no);
}

}  // extern "C"

// HM2
void operator delete(void* block) noexcept { heddle::sim::release(block); }
void operator delete[](void* block) noexcept { heddle::sim::release(block); }
void operator delete(void* block, std::size_t) noexcept { heddle::sim::release(block); }
void operator delete[](void* block, std::size_t) noexcept { heddle::sim::release(block); }
void operator delete(void* block, std::align_val_t) noexcept { heddle::sim::release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { heddle::sim::release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { heddle::sim::release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { heddle::sim::release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { heddle::sim::release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { heddle::sim::release(block); }
