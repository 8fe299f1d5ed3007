// SPDX-License-Identifier: Apache-2.0
// Sweep: a scenario in a world where nothing is free but what goes wrong.
//
//   end of a step, for each coroutine that lives ──▶ "main/b:cancelled#7", kind `arrival`: 0 no, 1 it is cancelled here
//   an operation of the world, sim::fails()      ──▶ kind `fault`: 0 it works, 1 it fails
//   end of a step, for the runtime               ──▶ "main:shutdown#3", kind `arrival`: 0 no, 1 it begins to shut down here
//
// SW1  All other choices are production's: two runs of a sweep differ by what goes wrong, and by what comes of that.
// SW2  main is not cancelled, since what it owns has to outlive its coroutines; nor is whoever has ended, or was asked to.
// SW3  A cancellation that comes back to main through a wait, and ends it, is no violation: somebody was cancelled.
// SW4  A run that shuts down may end with an error; that is an outcome.
// SW5  What is swept is part of a trace's recipe, the knob "sweep", so that the trace replays.
// A program that sets a heartbeat of its own is not cancelled while it is set. Choice points: those above.
#pragma once

#include <optional>
#include <string_view>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::sim {

enum class SweepOf : std::uint8_t { cancellations, failures, both, shutdowns };
inline constexpr std::string_view sweep_knob = "sweep";

/// "cancel", "fail", "both" (of these two), "shutdown".
[[nodiscard]] std::string_view to_string(SweepOf of);
[[nodiscard]] std::optional<SweepOf> sweep_from(std::string_view text);

[[nodiscard]] Scenario swept(Scenario scenario, SweepOf of);

}  // namespace heddle::sim
