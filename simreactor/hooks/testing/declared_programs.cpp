// SPDX-License-Identifier: Apache-2.0
// The programs with what they share declared, compiled as everything else.
#include "heddle/simreactor/hooks/testing/programs.hpp"

namespace programs {
const std::map<std::string, Body> declared{HEDDLE_PROGRAMS(Declared)};

void generated_declared(std::uint64_t seed) { generated<Declared>(seed); }

}  // namespace programs
