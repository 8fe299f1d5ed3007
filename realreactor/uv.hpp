// SPDX-License-Identifier: Apache-2.0
// heddle/uv.hpp: programs on the operating system. Everything of realreactor that a program names.
#pragma once

#include "heddle/realreactor/uv_reactor.hpp"
