// SPDX-License-Identifier: Apache-2.0
// Modules: the program's files in memory, so that a variable of static storage has a name that is the same in every process.
//
//   address ──which writable segment?──▶ {module "own_pool", offset 0x4010} ──symbol table──▶ "balance+0"
//
// Chance: none. What is found depends on the program's file, not on where it was loaded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sim {

class Modules {
public:
    /// A segment that may be written.
    struct Segment {
        std::uintptr_t low = 0;
        std::uintptr_t high = 0;
        std::uintptr_t base = 0;  ///< where its file was loaded
        std::string module{};     ///< the file's name without folders
    };

    /// Those of this process, by address. Modules that are loaded later are not in it.
    [[nodiscard]] static const std::vector<Segment>& segments();
    /// The thread_local variables that the main program has on this thread; low == high if it has none.
    [[nodiscard]] static Segment thread_variables();
    /// True if it lies in what was loaded from a file, readable or writable.
    [[nodiscard]] static bool holds(const void* address);
    /// "balance" or "table+8", from the main program's symbol table; empty if it is stripped, or the address is elsewhere.
    [[nodiscard]] static std::string symbol(std::uintptr_t address);
};

}  // namespace heddle::sim
