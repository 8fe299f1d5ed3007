// SPDX-License-Identifier: Apache-2.0
// Prng: the only generator of the simulator. Integers alone: they are the same with every library and on every machine.
//
//   seed ──splitmix64──▶ xoshiro256** ──next()──▶ 64 bits ──below(n), between(a, b), chance(Ratio)──▶ answers
//     └────stream("timing")──▶ another generator, whatever has been drawn from this one
//
// PR1  Every draw takes whole 64-bit words and keeps no rest, so the state is five words and saving it loses nothing.
// PR2  `below` has no bias: words that would favour small answers are drawn again.
// PR3  A stream depends on the seed and on its name alone, so that a new use of chance disturbs only its own stream.
// Chance enters here, with the seed that the owner passes; there is no other source.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/label.hpp"
#include "heddle/core/base/time.hpp"

namespace heddle::sim {

/// A probability as two integers: `Ratio{1, 100}`. Requires: numerator ≤ denominator, denominator > 0.
struct Ratio {
    std::uint32_t numerator = 0;
    std::uint32_t denominator = 1;
    friend bool operator==(const Ratio&, const Ratio&) = default;
};

class Prng {
public:
    /// The whole state, in order; any value that `save` returned can be loaded.
    struct State {
        std::uint64_t seed = 0;
        std::array<std::uint64_t, 4> words{};
        friend bool operator==(const State&, const State&) = default;
    };

    explicit Prng(std::uint64_t seed = 0) { reseed(seed); }

    /// As if made anew.
    void reseed(std::uint64_t seed);

    /// 64 random bits. Cost: one nanosecond, no branch.
    std::uint64_t next() {
        const std::uint64_t result = rotate(state_.words[1] * 5, 7) * 9;
        const std::uint64_t carried = state_.words[1] << 17;
        state_.words[2] ^= state_.words[0];
        state_.words[3] ^= state_.words[1];
        state_.words[1] ^= state_.words[2];
        state_.words[0] ^= state_.words[3];
        state_.words[2] ^= carried;
        state_.words[3] = rotate(state_.words[3], 45);
        return result;
    }

    /// Uniform in 0 … n-1. Requires: n > 0.
    std::uint64_t below(std::uint64_t n) {
        HEDDLE_ASSERT(n > 0, "PR2: a draw has at least one answer");
        Wide product = Wide{next()} * n;
        if (static_cast<std::uint64_t>(product) < n) [[unlikely]] {
            const std::uint64_t biased = (0 - n) % n;  // 2^64 mod n: so many words at the low end would be one too many
            while (static_cast<std::uint64_t>(product) < biased) { product = Wide{next()} * n; }
        }
        return static_cast<std::uint64_t>(product >> 64);
    }

    /// Uniform in first … last, both included. Requires: first ≤ last.
    std::uint64_t between(std::uint64_t first, std::uint64_t last) {
        HEDDLE_ASSERT(first <= last, "PR2: an interval is not empty");
        const std::uint64_t width = last - first;
        return width == ~std::uint64_t{0} ? next() : first + below(width + 1);
    }

    /// Uniform in nanoseconds, both ends included. Requires: 0 ≤ first ≤ last.
    Duration between(Duration first, Duration last) {
        HEDDLE_ASSERT(first.count() >= 0, "PR2: durations are not negative");
        HEDDLE_ASSERT(first <= last, "PR2: an interval is not empty");
        return Duration{static_cast<std::int64_t>(
            between(static_cast<std::uint64_t>(first.count()), static_cast<std::uint64_t>(last.count())))};
    }

    /// True with this probability; draws also for 0 and 1, so that changing a ratio moves no later draw.
    bool chance(Ratio ratio) {
        HEDDLE_ASSERT(ratio.numerator <= ratio.denominator, "a probability is at most one");
        return below(ratio.denominator) < ratio.numerator;
    }

    /// A generator of its own for one purpose (PR3). The same name gives the same stream.
    [[nodiscard]] Prng stream(std::string_view name) const { return Prng{hash_mix(state_.seed, hash_text(name))}; }

    [[nodiscard]] const State& save() const { return state_; }
    void load(const State& state) { state_ = state; }

private:
    __extension__ using Wide = unsigned __int128;

    static constexpr std::uint64_t rotate(std::uint64_t word, int by) { return (word << by) | (word >> (64 - by)); }

    State state_;
};

}  // namespace heddle::sim
