// SPDX-License-Identifier: Apache-2.0
// StackPool: native stacks for coroutines, cut from large mappings, each above a guard, reused last in first out.
//
//   slab (one mmap)      low            top   end
//   ┌───────┬────────────┬───────────────┬────┬───────┬──────── …
//   │ guard │  never touched … frames ◀──│col.│ guard │ next stack
//   └───────┴────────────────────────────┴────┴───────┴──────── …
//
// K1  The memory right below every stack is a guard of one of three kinds (GuardKind), the strongest that the kernel
//     and the limit on mappings allow:
//       marker   a guard region inside the mapping (Linux 6.13 and later): it costs no mapping, so every stack has one
//       mapping  a PROT_NONE page: two mappings per stack, for the first `mapped_guards_max` stacks of the process
//       shared   beyond them one PROT_NONE guard per `shared_group` stacks; the others of a group have 16 untouched
//                pages below them instead. A coroutine that suspends outside its stack is caught there
//                (Fiber::switch_to); one that runs away dies on the guard of its group, after it overwrote the stacks
//                below it in the group.
//     100,000 stacks stay below 45,000 mappings in the worst case and below 1,000 with markers.
// K2  A warm acquire or release is a pop or a push on a vector whose capacity was reserved: no system call, no
//     allocation.
// K3  Released stacks keep their pages, so a coroutine that follows another one takes no page fault. `trim` gives them
//     back.
// K4  Stack tops are spread over the cache sets ("colours"): the stacks of equally deep coroutines would otherwise all
//     compete for the same few sets of every cache. The spread is 1.5 KiB, so that a coroutine that awaits something still
//     costs one page.
// K5  An overflow is reported by a signal handler on an alternate stack, which names the coroutine, and ends the
//     process with SIGSEGV. The handler lives as long as any pool does and hands every other fault to the handler that
//     was there before it. In builds with AddressSanitizer it is absent: the sanitizer's own report is better.
// Choice points: none. Nothing here depends on addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::detail {
struct PoolList;
}

namespace heddle {

enum class GuardKind : std::uint8_t { none, marker, mapping, shared };

struct StackOptions {
    /// Usable bytes, rounded up to pages; four times as many in sanitizer builds.
    std::size_t size = std::size_t{64} * 1024;
    bool colour = true;         ///< K4
    bool guard_markers = true;  ///< use them where the kernel has them
    /// Stacks with a guard page of their own in the whole process, not per pool: so is the kernel's limit on mappings.
    std::size_t mapped_guards_max = 8192;
};

/// One stack: a value that names memory of its pool. Frames grow from `top` down to `low`.
struct Stack {
    std::byte* low = nullptr;
    std::size_t size = 0;      ///< bytes from low to the end, the colour included
    std::byte* top = nullptr;  ///< where the first frame begins; 16-aligned
    std::uint32_t slab = 0;
    std::uint32_t index = 0;

    [[nodiscard]] std::size_t usable() const { return static_cast<std::size_t>(top - low); }
};

/// Writes the name of a coroutine into `buffer` as a terminated string, or leaves an empty one. It is called inside a
/// signal handler, on the thread that faulted: no allocation, no lock. @param stack_low  the coroutine's Stack::low, or
/// null where only "the one that runs on this thread" is known (a shared guard, K1)
using StackOwnerName = void (*)(const void* stack_low, char* buffer, std::size_t size);

class StackPool {
public:
    static constexpr std::size_t colour_count = 24;
    static constexpr std::size_t colour_step = 64;  // a cache line
    static constexpr std::size_t shared_group = 8;

    /// Maps nothing yet. Installs the overflow handler if this is the process's first pool, and an alternate signal
    /// stack if this thread has none. Cost: a few system calls.
    explicit StackPool(const StackOptions& options = {});
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;
    /// Unmaps every stack, also those in use: a frozen world is dropped with its stacks as they are.
    ~StackPool();

    /// The stack that was released last, or a fresh one. Throws: std::bad_alloc when the system gives no memory or no
    /// mapping.
    /// Cost: O(1), see K2; a fresh stack costs one system call for its guard.
    [[nodiscard]] Stack acquire() {
        if (cached_.empty()) [[unlikely]] { carve(); }
        const Stack stack = cached_.back();
        cached_.pop_back();
        ++in_use_;
        return stack;
    }
    /// Requires: no flow of control runs on it any more.
    void release(const Stack& stack) noexcept {
        --in_use_;
        cached_.push_back(stack);  // K2: the capacity is there
    }
    /// Gives the pages of released stacks back to the system, except those of the `keep` that would be reused first.
    void trim(std::size_t keep = 0) noexcept;

    [[nodiscard]] std::size_t in_use() const { return in_use_; }
    [[nodiscard]] std::size_t cached() const { return cached_.size(); }
    /// Bytes that every stack of this pool has at least: what the options asked for, four times that in sanitizer
    /// builds.
    [[nodiscard]] std::size_t usable_size() const { return usable_size_; }
    /// Upper bound of the process's mappings that this pool accounts for; the kernel may merge neighbours.
    [[nodiscard]] std::size_t mappings() const { return mappings_; }
    /// System calls made so far: a warm pool makes none.
    [[nodiscard]] std::uint64_t system_calls() const { return system_calls_; }
    [[nodiscard]] GuardKind guard(const Stack& stack) const;

    /// Bytes below `top` that were ever written since the stack was mapped or trimmed: by any coroutine that had it, as
    /// pages are kept (K3). Exact to the byte if the deepest frame wrote something other than zero; pages that were
    /// swapped out are not seen. Greater than usable() if the untouched pages above a shared guard were written (K1).
    /// Cost: one system call and a page scan.
    [[nodiscard]] std::size_t high_water(const Stack& stack) const;
    /// The stack whose memory or guard holds `address`. Async-signal-safe. @param in_guard  true if it is the guard
    [[nodiscard]] bool find(const void* address, Stack& found, bool& in_guard) const noexcept;

    /// Process-wide; the runtime sets it once. Null restores messages without names.
    static void name_owners_by(StackOwnerName name) noexcept;
    /// Gives this thread an alternate signal stack if it has none: for a pool that is used on another thread than it
    /// was made on.
    static void prepare_thread();

    /// Reports the overflow of a stack like the handler does, then aborts. For Fiber, which sees it at a switch.
    [[noreturn]] static void report_overflow(const Stack& stack) noexcept;

private:
    struct Slab {
        std::byte* base = nullptr;
        std::size_t bytes = 0;
        std::uint32_t capacity = 0;
        std::uint32_t carved = 0;
        GuardKind guard = GuardKind::none;
    };

    void carve();
    void add_slab();
    [[nodiscard]] std::size_t gap_of(GuardKind guard) const;
    [[nodiscard]] Stack stack_at(std::uint32_t slab, std::uint32_t index) const noexcept;

    StackOptions options_;
    std::size_t page_ = 0;
    std::size_t usable_size_ = 0;
    std::size_t region_ = 0;  // bytes of one stack, colours included
    std::vector<Stack> cached_;
    std::vector<Slab> slabs_;
    std::size_t in_use_ = 0;
    std::size_t stack_count_ = 0;
    std::size_t mappings_ = 0;
    std::uint64_t system_calls_ = 0;

    friend struct detail::PoolList;
    StackPool* next_in_process_ = nullptr;  // what the fault handler walks
};

}  // namespace heddle
