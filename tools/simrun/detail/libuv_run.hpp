// SPDX-License-Identifier: Apache-2.0
// One run of a scenario on libuv, recorded: the same program on the operating system's own loop.
//
//   caller ── switch ──▶ a stack of its own: Runtime::run(program) on UvReactor ── ended, or violated ──▶ caller
//
// LR1  A violation ends the run where it happens, as in a simulated world: nothing of the program runs after it, and
//      what it held is left as it is.
// LR2  There is no Chooser: the operating system decides. The trace has events and an outcome, and no decisions.
// LR3  Only judges that need no simulated world take part (Oracle::begin_outside).
// LR4  A schedule is acted again on libuv only where that is up to us: the answers of the program and of the loop's own questions are given as
//      the trace has them. Which source is ready first is the operating system's, and a trace that decides it is not tried.
#pragma once

#include <optional>

#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::detail {

/// @param recipe  for the trace; its reactor becomes "libuv"
/// Throws: HarnessFailure if the run cannot begin. Time: the program's own, measured by the clock on the wall.
[[nodiscard]] trace::Trace record_on_libuv(const sim::ScenarioCall& call, trace::Recipe recipe);

/// Acts the schedule of a failure again on libuv, in a process of its own, for a few seconds at most (LR4).
/// @returns true if it ended the same way: the failure is one of the program, not of the simulation. None if it was not tried: the label is
/// not `faithful`, the trace decides what is the operating system's, or it takes longer than we wait
[[nodiscard]] std::optional<bool> confirmed_on_libuv(const sim::ScenarioCall& call, const trace::Trace& trace);

}  // namespace heddle::detail
