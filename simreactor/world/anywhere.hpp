// SPDX-License-Identifier: Apache-2.0
// sim::choose, sim::fails and sim::anywhere: a program's own free decisions. All have an answer where no simulated world runs, so that
// one scenario runs on libuv, too.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/base/unique_function.hpp"

namespace heddle::sim {

/// One of 0 … n-1: a data choice (`value`) of the running world, or of whoever answers for a runtime without one; 0 where nobody does.
/// Requires: n ≥ 1. Suspends: no.
/// @param name  tells this decision from others of the same coroutine; a literal
[[nodiscard]] std::uint32_t choose(std::uint32_t n, std::string_view name = "choose");

/// Whether what the caller is about to do fails: for factories, hooks and other user code that the world knows nothing of. A choice of the
/// kind `fault`, as those of the world's own operations; false where faults are off, and where no simulated world runs. Suspends: no.
/// @param name  what may fail; a literal
[[nodiscard]] bool fails(std::string_view name);

/// A post that arrives at every point where one could (CP-CANCEL): `run` executes once, in scheduler phase; it may cancel, wake and
/// spawn internally, and must not suspend. Once the coroutine that called this has ended it no longer executes, so that it may refer to
/// that coroutine's variables. Where no simulated world runs it is posted at once. Requires: inside a coroutine.
void anywhere(UniqueFunction<void()> run, std::string_view name = "anywhere");

}  // namespace heddle::sim
