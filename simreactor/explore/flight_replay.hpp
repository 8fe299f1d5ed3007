// SPDX-License-Identifier: Apache-2.0
// replay_flight: what a flight recorder wrote, once more in a simulated world.
//
//   trace with `door` ──▶ World led by a FlightGuide ──▶ the recorded end, or the first crossing that differs
//
// FP1  The run is recorded as any other: its trace has the simulator's decisions and events, and the recording's end to be
//      compared with.
// FP2  A recording that was written in the middle of a run (outcome `cut`) is reproduced when its last crossing was met.
// Chance: none.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/world/flight_follower.hpp"

namespace heddle::sim {

struct FlightReplay {
    trace::Trace trace;       ///< what this run was; outcome `diverged` if it left the recording
    bool reproduced = false;  ///< every crossing was met, and the end is the recorded one
    std::size_t met = 0;      ///< crossings
    std::size_t held = 0;     ///< completions that the simulator had sooner than the recording tells them (FF2)
    std::optional<FlightDivergence> divergence{};
};

/// Requires: why_not_followed(trace) says nothing.
[[nodiscard]] FlightReplay replay_flight(const Program& program, const std::function<OracleList()>& oracles,
                                         const std::function<void(WorldOptions&)>& world, const trace::Trace& trace,
                                         const RunRecording& how = {});
[[nodiscard]] FlightReplay replay_flight(const ScenarioCall& call, const trace::Trace& trace, const RunRecording& how = {});

}  // namespace heddle::sim
