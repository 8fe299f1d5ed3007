// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/prng.hpp"

namespace heddle::sim {

void Prng::reseed(std::uint64_t seed) {
    state_.seed = seed;
    // splitmix64, as the authors of xoshiro recommend: no seed gives the all-zero state, which would stay zero for
    // ever.
    std::uint64_t counter = seed;
    for (std::uint64_t& word : state_.words) {
        counter += 0x9e3779b97f4a7c15ULL;
        std::uint64_t mixed = counter;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
        word = mixed ^ (mixed >> 31);
    }
}

}  // namespace heddle::sim
