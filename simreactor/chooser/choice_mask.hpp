// SPDX-License-Identifier: Apache-2.0
// ChoiceMask: a set of kinds of choice, "only timers", "all but faults". What is left out is answered with 0 and not
// asked.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "heddle/core/seam/chooser.hpp"

namespace heddle::sim {

class ChoiceMask {
public:
    static_assert(static_cast<unsigned>(ChoiceKind::count_) <= 32, "a kind is a bit");

    constexpr ChoiceMask() = default;
    constexpr ChoiceMask(std::initializer_list<ChoiceKind> kinds) {
        for (const ChoiceKind kind : kinds) { bits_ |= bit(kind); }
    }

    [[nodiscard]] static constexpr ChoiceMask all() {
        ChoiceMask mask;
        mask.bits_ = (std::uint32_t{1} << static_cast<unsigned>(ChoiceKind::count_)) - 1;
        return mask;
    }
    [[nodiscard]] static constexpr ChoiceMask none() { return {}; }

    [[nodiscard]] constexpr bool has(ChoiceKind kind) const { return (bits_ & bit(kind)) != 0; }
    [[nodiscard]] constexpr ChoiceMask with(ChoiceKind kind) const { return from(bits_ | bit(kind)); }
    [[nodiscard]] constexpr ChoiceMask without(ChoiceKind kind) const { return from(bits_ & ~bit(kind)); }
    friend constexpr bool operator==(ChoiceMask, ChoiceMask) = default;

private:
    [[nodiscard]] static constexpr std::uint32_t bit(ChoiceKind kind) {
        return std::uint32_t{1} << static_cast<unsigned>(kind);
    }
    [[nodiscard]] static constexpr ChoiceMask from(std::uint32_t bits) {
        ChoiceMask mask;
        mask.bits_ = bits;
        return mask;
    }

    std::uint32_t bits_ = 0;
};

}  // namespace heddle::sim
