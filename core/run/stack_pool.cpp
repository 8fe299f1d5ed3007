// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/run/detail/overflow_handler.hpp"
#include "heddle/core/run/detail/sanitizer.hpp"

namespace heddle {
namespace {

constexpr int advice_guard_install = 102;  // MADV_GUARD_INSTALL, younger than the C library's headers
constexpr std::size_t shared_gap_pages = 16;
constexpr std::uint32_t slab_stacks_first = 8;  // small, for worlds of three coroutines; doubled up to slab_stacks_max
constexpr std::uint32_t slab_stacks_max = 256;
static_assert(slab_stacks_first % StackPool::shared_group == 0, "a slab holds whole groups");
static_assert(StackPool::colour_count * StackPool::colour_step <= 2048, "K4: less than half a page");

// Stacks with a PROT_NONE page of their own, in the whole process: the limit on mappings is the process's, too.
std::atomic<std::size_t> mapped_guard_stacks{0};

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

StackPool::StackPool(const StackOptions& options)
    : options_(options), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    HEDDLE_ASSERT(options.size > 0, "K1");
    usable_size_ = round_up(options.size, page_) * (detail::instrumented ? 4 : 1);
    region_ = round_up(usable_size_ + (options.colour ? colour_count * colour_step : 0), page_);
    detail::register_pool(*this);
}

StackPool::~StackPool() {
    detail::unregister_pool(*this);
    for (const Slab& slab : slabs_) {
        if (slab.guard == GuardKind::mapping) { mapped_guard_stacks -= slab.capacity; }
        detail::unpoison(slab.base, slab.bytes);
        munmap(slab.base, slab.bytes);
    }
}

std::size_t StackPool::gap_of(GuardKind guard) const {
    return guard == GuardKind::shared ? shared_gap_pages * page_ : page_;
}

Stack StackPool::stack_at(std::uint32_t slab, std::uint32_t index) const noexcept {
    const std::size_t gap = gap_of(slabs_[slab].guard);
    std::byte* const low = slabs_[slab].base + index * (gap + region_) + gap;
    const std::size_t colour = options_.colour ? (index % colour_count) * colour_step : 0;
    return {low, region_, low + region_ - colour, slab, index};
}

GuardKind StackPool::guard(const Stack& stack) const { return slabs_.at(stack.slab).guard; }

void StackPool::carve() {
    if (slabs_.empty() || slabs_.back().carved == slabs_.back().capacity) { add_slab(); }
    const auto number = static_cast<std::uint32_t>(slabs_.size() - 1);
    Slab& slab = slabs_.back();
    const std::size_t gap = gap_of(slab.guard);
    std::byte* const guard = slab.base + slab.carved * (gap + region_);
    ++system_calls_;
    if (slab.guard == GuardKind::marker && madvise(guard, gap, advice_guard_install) != 0) {
        // An older kernel, or its tables are full. Stacks already cut keep their markers; the next slab has guard
        // mappings.
        options_.guard_markers = false;
        if (slab.carved > 0) {
            slab.capacity = slab.carved;
        } else {
            detail::PoolListLock lock;
            munmap(slab.base, slab.bytes);
            slabs_.pop_back();
            --mappings_;
        }
        carve();
        return;
    }
    const bool own_page =
        slab.guard == GuardKind::mapping || (slab.guard == GuardKind::shared && slab.carved % shared_group == 0);
    if (own_page) {
        if (mprotect(guard, gap, PROT_NONE) != 0) { throw std::bad_alloc(); }
        mappings_ += 2;
    }
    cached_.push_back(stack_at(number, slab.carved));
    ++slab.carved;
}

void StackPool::add_slab() {
    Slab slab;
    slab.capacity = slabs_.empty() ? slab_stacks_first : std::min(slabs_.back().capacity * 2, slab_stacks_max);
    slab.capacity = static_cast<std::uint32_t>(round_up(slab.capacity, slab_stacks_first));
    if (options_.guard_markers) {
        slab.guard = GuardKind::marker;
    } else if (mapped_guard_stacks.fetch_add(slab.capacity) + slab.capacity <= options_.mapped_guards_max) {
        slab.guard = GuardKind::mapping;
    } else {
        mapped_guard_stacks -= slab.capacity;
        slab.guard = GuardKind::shared;
    }
    slab.bytes = slab.capacity * (gap_of(slab.guard) + region_);
    prepare_thread();
    cached_.reserve(stack_count_ + slab.capacity);  // K2: release never allocates
    if (slabs_.size() == slabs_.capacity()) {
        detail::PoolListLock lock;  // the fault handler of another thread may walk the slabs
        slabs_.reserve(std::max<std::size_t>(8, slabs_.size() * 2));
    }
    void* const base = mmap(nullptr, slab.bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    system_calls_ += 2;
    if (base == MAP_FAILED) {
        if (slab.guard == GuardKind::mapping) { mapped_guard_stacks -= slab.capacity; }
        throw std::bad_alloc();
    }
    madvise(base, slab.bytes,
            MADV_NOHUGEPAGE);  // one huge page per touched stack top would cost 2 MiB; a failure costs memory only
    slab.base = static_cast<std::byte*>(base);
    ++mappings_;
    stack_count_ += slab.capacity;
    detail::PoolListLock lock;
    slabs_.push_back(slab);
}

void StackPool::trim(std::size_t keep) noexcept {
    const std::size_t trimmed = cached_.size() - std::min(keep, cached_.size());
    for (std::size_t at = 0; at < trimmed; ++at) {  // the front of the free list is what would be reused last
        const Stack& stack = cached_[at];
        const bool gap_is_plain = slabs_[stack.slab].guard == GuardKind::shared && stack.index % shared_group != 0;
        const std::size_t below = gap_is_plain ? gap_of(GuardKind::shared) : 0;
        detail::unpoison(stack.low, stack.size);
        madvise(stack.low - below, stack.size + below, MADV_DONTNEED);
        ++system_calls_;
    }
}

HEDDLE_NO_ADDRESS_CHECKS std::size_t StackPool::high_water(const Stack& stack) const {
    const Slab& slab = slabs_.at(stack.slab);
    const bool gap_is_plain = slab.guard == GuardKind::shared && stack.index % shared_group != 0;
    const std::size_t below = gap_is_plain ? gap_of(GuardKind::shared) : 0;
    std::byte* const begin = stack.low - below;
    const std::size_t page_count = (stack.size + below) / page_;
    std::vector<unsigned char> resident(page_count);
    if (mincore(begin, page_count * page_, resident.data()) != 0) { return 0; }
    for (std::size_t page = 0; page < page_count; ++page) {
        if ((resident[page] & 1U) == 0) { continue; }
        const std::byte* const page_begin = begin + page * page_;
        for (const std::byte* at = page_begin; at < page_begin + page_ && at < stack.top; ++at) {
            if (*static_cast<const volatile std::byte*>(at) != std::byte{0}) {
                return static_cast<std::size_t>(stack.top - at);
            }
        }
    }
    return 0;
}

bool StackPool::find(const void* address, Stack& found, bool& in_guard) const noexcept {
    const auto* const at = static_cast<const std::byte*>(address);
    for (std::size_t number = 0; number < slabs_.size(); ++number) {
        const Slab& slab = slabs_[number];
        if (at < slab.base || at >= slab.base + slab.bytes) { continue; }
        const std::size_t gap = gap_of(slab.guard);
        const auto offset = static_cast<std::size_t>(at - slab.base);
        const auto index = static_cast<std::uint32_t>(offset / (gap + region_));
        if (index >= slab.carved) { return false; }
        found = stack_at(static_cast<std::uint32_t>(number), index);
        in_guard = offset % (gap + region_) < gap;
        return true;
    }
    return false;
}

}  // namespace heddle
