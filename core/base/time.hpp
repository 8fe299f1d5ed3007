// SPDX-License-Identifier: Apache-2.0
// Time: integer nanoseconds everywhere. An Instant is counted from the begin of its world (or from the machine's start on
// libuv); a Duration is std::chrono::nanoseconds. Arithmetic saturates: "never" plus anything is never (RCT-24).
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace heddle {

using Duration = std::chrono::nanoseconds;

class Instant {
public:
    constexpr Instant() = default;
    constexpr explicit Instant(std::int64_t ns) : ns_(ns) {}

    /// Later than every deadline; a wait with it has no limit.
    [[nodiscard]] static constexpr Instant never() { return Instant{std::numeric_limits<std::int64_t>::max()}; }

    [[nodiscard]] constexpr std::int64_t ns() const { return ns_; }
    [[nodiscard]] constexpr bool is_never() const { return ns_ == std::numeric_limits<std::int64_t>::max(); }

    friend constexpr auto operator<=>(Instant, Instant) = default;

    /// Saturating: a deadline too far away to be counted is `never`.
    friend constexpr Instant operator+(Instant at, Duration by) {
        std::int64_t sum = 0;
        if (__builtin_add_overflow(at.ns_, by.count(), &sum)) { return by.count() > 0 ? never() : Instant{}; }
        return at.is_never() ? never() : Instant{sum};
    }
    friend constexpr Duration operator-(Instant a, Instant b) { return Duration{a.ns_ - b.ns_}; }

private:
    std::int64_t ns_ = 0;
};

/// Rounds a duration up to a multiple of `resolution`; zero stays zero, overflow saturates (RCT-24).
[[nodiscard]] constexpr Duration round_up(Duration value, Duration resolution) {
    const std::int64_t step = resolution.count();
    if (value.count() <= 0 || step <= 1) { return value.count() < 0 ? Duration{0} : value; }
    const std::int64_t rest = value.count() % step;
    if (rest == 0) { return value; }
    std::int64_t up = 0;
    if (__builtin_add_overflow(value.count(), step - rest, &up)) {
        return Duration{std::numeric_limits<std::int64_t>::max()};
    }
    return Duration{up};
}

}  // namespace heddle
