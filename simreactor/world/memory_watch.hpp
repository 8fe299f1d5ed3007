// SPDX-License-Identifier: Apache-2.0
// MemoryWatch: turns the loads and stores of instrumented code into touches of the running step (docs/explorer.md).
//
//   user code ──load, store──▶ hooks ──▶ access(address, size) ──which object?──▶ granule ──shared?──▶ observer.on_touch(cell, R or W)
//                                            ▲ birth, death: blocks of the heap · spawned: captures · started: a stack
//
//   object     named by                                            cell, at byte o
//   heap       who allocated it, its how-manieth there             main/a.heap[2+o]
//   captures   the coroutine that they belong to                   main/a.captures[o]
//   stack      the coroutine whose stack it is                     main.stack[o]; below 0 lie the frames of what its first function calls
//   host       what ran the world: variables of a test             host.stack[o]
//   globals    the module's name                                   own_pool.global[o: symbol+…]
//   thread     likewise, variables of this thread                  own_pool.thread[o]
//
// MW1  Memory that one coroutine alone uses, or that nobody writes, is no cell: what is shared stands in SharedMemory, and a run that finds
//      more says so by growing it. Until then its footprints lack what it found; who relies on them begins again (ReducedSearch RS8).
// MW2  Whoever gets at a block was given its address behind the step that made it, in a way that is itself seen. So the accesses of the
//      maker in that step are ordered before all others anyway, and are left out.
// MW3  Other memory is nobody's: the runtime's own objects, what precompiled libraries allocate. The operations on the former speak for
//      them (footprint.hpp).
// MW4  Freed blocks keep their addresses to the end of the run, up to `quarantine_max` bytes: a late access names the block it meant.
// MW5  Nothing here allocates through the hooks, and the order of addresses never shows.
// Chance: none. Cost of an access: one branch outside of a watched run; in one about 5 ns if this step has made it before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/base/label.hpp"
#include "heddle/core/run/stack_pool.hpp"
#include "heddle/core/seam/observer.hpp"
#include "heddle/simreactor/world/shared_memory.hpp"

namespace heddle {
class Scheduler;
}

namespace heddle::sim {

class MemoryWatch final : public Observer {
public:
    static constexpr std::size_t quarantine_max = std::size_t{64} << 20;

    MemoryWatch();
    ~MemoryWatch() override;
    MemoryWatch(const MemoryWatch&) = delete;
    MemoryWatch& operator=(const MemoryWatch&) = delete;

    // ── a run ──

    /// A new run. @param host  an address in the frame of whoever runs the world: what lies above it is the host's
    void begin(SharedMemory& memory, Observer& target, const void* host);
    /// The main coroutine of `scheduler` runs on `stack`.
    void main_stack(const Scheduler& scheduler, const Stack& stack) { main_stacks_.emplace_back(&scheduler, stack); }
    void end();

    // ── from the hooks ──

    void access(const void* address, std::size_t size, bool write) {
        const auto at = reinterpret_cast<std::uintptr_t>(address);
        if (who_ == 0 || size == 0) { return; }
        const std::uintptr_t first = at / 8;
        if ((at + size - 1) / 8 == first) [[likely]] {
            granule(first, static_cast<std::uint8_t>(((1U << size) - 1U) << (at % 8)), write);
        } else {
            range(at, size, write);
        }
    }
    void born(void* block, std::size_t size);
    /// @returns false if it is no block that it knows, or if it is to be freed at once; true: it frees it later
    bool died(void* block);
    /// How large a block is that was born here; 0: it is none.
    [[nodiscard]] std::size_t size_of(const void* block) const;
    /// Each function of instrumented code, on its way in: the first one of a coroutine marks where its frames begin.
    void entered(const void* frame) {
        if (base_wanted_) [[unlikely]] { set_base(frame); }
    }

    void on_event(const Event& event) override;

private:
    enum class Kind : std::uint8_t { heap, captures, stack, host, global, thread, runtime };
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};
    static constexpr std::uint16_t many = 0xffff;

    /// An object, or a stack; [low, high) of the address space.
    struct Region {
        Kind kind = Kind::heap;
        std::uint16_t maker = 0;        // MW2
        std::uint32_t born_in = 0;      // step; 0: none
        std::uint32_t granules = nobody;  // list
        std::uintptr_t low = 0;
        std::uintptr_t high = 0;
        std::uintptr_t base = 0;        // what offsets are counted from
        Label object{};
        std::uint64_t number = 0;
    };
    struct Granule {
        std::uint64_t at = 0;
        std::uint32_t region = nobody;
        std::uint32_t next = nobody;    // of the same region
        std::uint32_t epoch = 0;        // nobody's: as long as no region has come since
        std::uint32_t told_step = 0;
        std::uint16_t first[8] = {};    // who used a byte first; 0: nobody yet
        std::uint16_t last = 0;         // who came last, and what it has done
        std::uint8_t last_read = 0;
        std::uint8_t last_written = 0;
        std::uint8_t used_by_more = 0;
        std::uint8_t written = 0;
        std::uint8_t shared = 0;
        std::uint8_t cuts = 0;
        std::uint8_t told_read = 0;
        std::uint8_t told_written = 0;
    };

    void range(std::uintptr_t at, std::size_t size, bool write);
    void granule(std::uintptr_t at, std::uint8_t bytes, bool write);
    void first_use(Granule& granule, std::uint8_t bytes, bool write);
    void tell(Granule& granule, std::uint8_t bytes, bool write);
    void meet(Granule& granule);
    void share(Granule& granule);
    std::uint32_t find_region(std::uintptr_t address);
    std::uint32_t add_region(const Region& region);
    void forget(std::uint32_t region);
    void begin_step(Label who);
    void set_base(const void* frame);
    void coroutine_began(Label who);
    void coroutine_spawned(Label who);
    void free_quarantine();
    [[nodiscard]] std::uint64_t key_of(const Region& region, std::uintptr_t at) const;
    [[nodiscard]] std::int64_t offset_of(const Region& region, std::uintptr_t address) const;
    [[nodiscard]] Cell cell_of(const Region& region, std::uintptr_t address) const;
    [[nodiscard]] std::string text_of(const Region& region, std::uintptr_t address) const;

    SharedMemory* memory_ = nullptr;
    Observer* target_ = nullptr;
    std::uint16_t who_ = 0;  // runs; 0: nobody does, and nothing is seen
    std::uint32_t step_ = 0;
    std::uint32_t epoch_ = 0;
    bool base_wanted_ = false;
    std::uint32_t base_region_ = nobody;
    Label label_;            // of who_

    GenerationMap index_;          // address / 8 → granules_
    std::vector<Granule> granules_;
    std::vector<Region> regions_;
    std::map<std::uintptr_t, std::uint32_t> by_address_;
    std::map<std::uint64_t, std::uint16_t> numbers_;       // of labels
    std::map<std::uint64_t, std::uint64_t> allocated_;     // blocks so far, by label
    std::vector<Label> doomed_;    // cancelled before they began
    bool at_rest_ = false;
    std::vector<std::pair<const Scheduler*, Stack>> main_stacks_;
    std::vector<void*> quarantine_;
    std::size_t quarantined_ = 0;
    std::uint32_t host_ = nobody;
};

/// True if code of this process was compiled with the hooks (heddle_add_simulation(… INSTRUMENT …)).
[[nodiscard]] bool has_memory_hooks() noexcept;
/// Called by what such code brings along.
void announce_memory_hooks(void (*release)(void*)) noexcept;

/// Who is told on this thread; null: nobody.
extern thread_local constinit MemoryWatch* memory_watch;

}  // namespace heddle::sim
