// SPDX-License-Identifier: Apache-2.0
// One run of a scenario on libuv, recorded: the same program on the operating system's own loop.
//
//   caller ── switch ──▶ a stack of its own: Runtime::run(program) on UvReactor ── ended, or violated ──▶ caller
//
// LR1  A violation ends the run where it happens, as in a simulated world: nothing of the program runs after it, and
//      what it held is left as it is.
// LR2  There is no Chooser: the operating system decides. The trace has events and an outcome, and no decisions.
// LR3  Only judges that need no simulated world take part (Oracle::begin_outside).
#pragma once

#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::detail {

/// @param recipe  for the trace; its reactor becomes "libuv"
/// Throws: HarnessFailure if the run cannot begin. Time: the program's own, measured by the clock on the wall.
[[nodiscard]] trace::Trace record_on_libuv(const sim::ScenarioCall& call, trace::Recipe recipe);

}  // namespace heddle::detail
