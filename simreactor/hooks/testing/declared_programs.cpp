// SPDX-License-Identifier: Apache-2.0
// The programs with what they share declared, compiled as everything else.
#include "heddle/simreactor/hooks/testing/programs.hpp"

namespace programs {
const std::map<std::string, Body> declared{HEDDLE_PROGRAMS(Declared)};
}  // namespace programs
