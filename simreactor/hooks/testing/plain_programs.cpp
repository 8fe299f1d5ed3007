// SPDX-License-Identifier: Apache-2.0
// The programs as they are, compiled with the hooks.
#include "heddle/simreactor/hooks/testing/programs.hpp"

namespace programs {
const std::map<std::string, Body> plain{HEDDLE_PROGRAMS(Plain)};

void generated_plain(std::uint64_t seed) { generated<Plain>(seed); }

void many_accesses(int rounds) {
    std::vector<int> numbers(64);
    for (int round = 0; round < rounds; ++round) {
        for (int& number : numbers) { ++number; }
        asm volatile("" : : "r"(numbers.data()) : "memory");
    }
}

}  // namespace programs
