// SPDX-License-Identifier: Apache-2.0
// Priorities: a random priority per process, drawn when it first competes and again whenever a sampler says so.
//
// PY1  After `streak_max` steps of one process in a row all are drawn anew, so that a loop that waits for another process ends.
// Chance enters with the generator.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/simreactor/prng.hpp"

namespace heddle::sim {

class Priorities {
public:
    static constexpr std::uint32_t streak_max = 1000;

    void begin(const Prng& prng) {
        prng_ = prng;
        ++run_;
        streak_ = 0;
        last_ = ~std::uint32_t{0};
    }
    [[nodiscard]] std::uint64_t of(std::uint32_t process) {
        if (process >= drawn_.size()) { drawn_.resize(process + 1); }
        Drawn& drawn = drawn_[process];
        if (drawn.run != run_) { drawn = {prng_.next() | high, run_}; }
        return drawn.priority;
    }
    /// The candidate, of `count`, whose process stands highest; the first of equals.
    template <class ProcessOf>
    [[nodiscard]] std::uint32_t highest(std::uint32_t count, ProcessOf&& process_of) {
        std::uint32_t best = 0;
        std::uint64_t most = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint64_t priority = of(process_of(i));
            if (priority > most) {
                most = priority;
                best = i;
            }
        }
        return best;
    }
    void redraw(std::uint32_t process) {
        if (process < drawn_.size()) { drawn_[process].run = 0; }
    }
    /// Below every drawn one; the larger `priority`, the higher.
    void lower(std::uint32_t process, std::uint64_t priority) {
        static_cast<void>(of(process));
        drawn_[process].priority = priority & ~high;
    }
    /// Counts a step. @returns true if all were drawn anew (PY1)
    bool stepped(std::uint32_t process) {
        streak_ = process == last_ ? streak_ + 1 : 1;
        last_ = process;
        if (streak_ < streak_max) { return false; }
        streak_ = 0;
        for (Drawn& drawn : drawn_) { drawn.run = 0; }
        return true;
    }
    [[nodiscard]] Prng& prng() { return prng_; }

private:
    static constexpr std::uint64_t high = std::uint64_t{1} << 63;
    struct Drawn {
        std::uint64_t priority = 0;
        std::uint64_t run = 0;
    };

    Prng prng_;
    std::vector<Drawn> drawn_;  // by process
    std::uint64_t run_ = 0;
    std::uint32_t last_ = 0;
    std::uint32_t streak_ = 0;
};

}  // namespace heddle::sim
