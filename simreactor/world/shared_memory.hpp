// SPDX-License-Identifier: Apache-2.0
// SharedMemory: which bytes of a program's own memory several coroutines use, as far as a search has seen, and what they are called.
//
//   granule = 8 aligned bytes of one object     bytes 0 1 2 3 4 5 6 7        shared   those that two coroutines used, one of them writing
//                                                    ▲       ▲                cuts     where some access began or ended
//   one cell per piece between two cuts:        [0,2) [2,6) [6,8)
//
// SM1  An object is named by who made it and by its number there, never by an address (docs/explorer.md): what one run finds out holds in
//      the next one, in another process and under another address layout.
// SM2  It only grows. Whoever relied on what was known before compares `version` and begins again.
// SM3  Two accesses have a cell in common iff they have a byte in common: every access to a shared granule begins and ends at a cut.
// Chance: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "heddle/core/seam/footprint.hpp"

namespace heddle::sim {

class SharedMemory {
public:
    struct Granule {
        std::uint8_t shared = 0;  ///< a bit per byte
        std::uint8_t cuts = 0;    ///< bit i: between byte i-1 and byte i
        friend constexpr bool operator==(const Granule&, const Granule&) = default;
    };
    /// A granule with its name, as a value that goes to another process.
    struct Entry {
        std::uint64_t key = 0;
        Granule granule{};
        friend constexpr bool operator==(const Entry&, const Entry&) = default;
    };

    /// What is known of the granule that `key` names; nothing: nobody shares it.
    [[nodiscard]] Granule find(std::uint64_t key) const {
        const auto at = granules_.find(key);
        return at == granules_.end() ? Granule{} : at->second;
    }
    /// Adds to what is known. @returns true if that was news
    bool grow(std::uint64_t key, Granule granule);
    /// Changes whenever anything becomes known.
    [[nodiscard]] std::uint64_t version() const { return version_; }
    [[nodiscard]] bool empty() const { return granules_.empty(); }

    /// Ascending, to be handed on; `load` adds them to what is known.
    [[nodiscard]] std::vector<Entry> entries() const;
    void load(const std::vector<Entry>& entries);

    [[nodiscard]] bool has_name(Cell cell) const { return names_.contains(cell.value); }
    void name(Cell cell, std::string text) { names_.try_emplace(cell.value, std::move(text)); }
    /// What a cell is called, if it is one of a program's memory: "main.stack[32]", "main/a.heap[2+8]". Empty: it is not.
    [[nodiscard]] std::string text(Cell cell) const;

private:
    std::map<std::uint64_t, Granule> granules_;
    std::map<std::uint64_t, std::string> names_;
    std::uint64_t version_ = 0;
};

}  // namespace heddle::sim
