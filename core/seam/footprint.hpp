// SPDX-License-Identifier: Apache-2.0
// Footprints: which cell a step touched, and how. They are declared next to the code of each runtime object and read by the search
// (docs/explorer.md): two steps of different processes race iff they touch one cell in conflicting modes.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/base/label.hpp"

namespace heddle {

/// Commuting classes (add, set, max) conflict with everything but themselves. `give` and `take` conflict with nothing: they say that
/// what takes the cell was impossible until everything that gave it so far had happened (a join, a hand-over).
enum class TouchMode : std::uint8_t { read, write, add, set, max, give, take };

/// True for the modes that order steps without being a conflict.
[[nodiscard]] constexpr bool is_order(TouchMode mode) { return mode >= TouchMode::give; }
[[nodiscard]] constexpr bool conflicts(TouchMode a, TouchMode b) {
    if (is_order(a) || is_order(b)) { return false; }
    return a != b || a == TouchMode::write;
}
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
