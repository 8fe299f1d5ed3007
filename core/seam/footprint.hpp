// SPDX-License-Identifier: Apache-2.0
// Footprints: which cell a step touched, and how. They are declared next to the code of each runtime object and read by the search
// (docs/explorer.md): two steps of different processes race iff they touch one cell in conflicting modes.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/base/label.hpp"

namespace heddle {

/// Commuting classes conflict with everything but themselves.
enum class TouchMode : std::uint8_t { read, write, add, set, max };

[[nodiscard]] constexpr bool conflicts(TouchMode a, TouchMode b) { return a != b || a == TouchMode::write; }
[[nodiscard]] std::string_view to_string(TouchMode mode);

/// hash(object label, field, index): no counter, no address.
struct Cell {
    std::uint64_t value = 0;
    friend constexpr auto operator<=>(Cell, Cell) = default;
};

/// One access, as it is kept or handed on.
struct Touch {
    Cell cell;
    TouchMode mode = TouchMode::read;
    friend constexpr bool operator==(const Touch&, const Touch&) = default;
};

[[nodiscard]] constexpr Cell cell(Label object, std::string_view field, std::uint64_t index = 0) {
    return Cell{hash_mix(hash_text(field, object.value), index)};
}

}  // namespace heddle
