// SPDX-License-Identifier: Apache-2.0
// The programs as they are, compiled with the hooks.
#include "heddle/simreactor/hooks/testing/programs.hpp"

namespace programs {
const std::map<std::string, Body> plain{HEDDLE_PROGRAMS(Plain)};
}  // namespace programs
