// SPDX-License-Identifier: Apache-2.0
// replay: runs the schedule of a trace again, and says whether it is still the same run with the same end.
//
// RR1  Strict: the run stops at the first point that is not as recorded, and says which of the five kinds it is (RP3).
// RR2  Carry on: what no longer fits is noted and answered as well as it can be; the run goes to its end.
// RR3  Every replay is recorded again: two equal runs give equal traces.
// Chance enters only with Options::rest.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heddle/simreactor/chooser/replay.hpp"
#include "heddle/simreactor/explore/run_guard.hpp"
#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

struct ReplayOptions {
    ReplayMode mode = ReplayMode::strict;
    Chooser* rest = nullptr;                 ///< answers what the trace leaves open; null is the baseline
    bool keep_events = true;
    std::function<void()> on_violation{};    ///< for debuggers: called at the violating step
    std::vector<Observer*> observers{};     ///< told after the recorder
    RunGuard* guard = nullptr;              ///< its chooser is asked first of all
};

struct ReplayResult {
    trace::Trace trace;       ///< what this run was
    bool reproduced = false;  ///< not diverged (strict), and the same end: kind of outcome and invariant
    bool same_hash = false;   ///< and bit for bit the same run
    std::optional<Divergence> divergence{};
    std::string divergence_text{};  ///< one line, with neighbours
};

/// The answers that a trace's decisions stand for.
[[nodiscard]] std::vector<PlannedAnswer> plan_of(const std::vector<trace::Decision>& decisions);

/// Runs `call` with the options of the trace's recipe.
[[nodiscard]] ReplayResult replay(const ScenarioCall& call, const trace::Trace& trace, const ReplayOptions& options = {});
/// The same for a program without a scenario.
[[nodiscard]] ReplayResult replay(const Program& program, const std::function<OracleList()>& oracles,
                                  const std::function<void(WorldOptions&)>& world, const trace::Trace& trace,
                                  const ReplayOptions& options = {});

/// How one run is recorded.
struct RunRecording {
    bool keep_events = true;
    std::vector<Observer*> observers{};  ///< told after the recorder
    RunGuard* guard = nullptr;           ///< its chooser is asked first of all
    std::function<void()> on_violation{};
    std::function<void(World&)> at_end{};  ///< the run is over, its labels are still known
    World* world = nullptr;  ///< runs in it, and keeps its memory for the next one; null: in a new one
};
/// One run of a program in the world of `recipe`, with `chooser` (null: baseline), recorded.
[[nodiscard]] trace::Trace record(const Program& program, const std::function<OracleList()>& oracles,
                                  const std::function<void(WorldOptions&)>& world, const trace::Recipe& recipe, Chooser* chooser,
                                  const RunRecording& recording);
/// One run of `call` with `chooser` (null: baseline), recorded.
[[nodiscard]] trace::Trace record(const ScenarioCall& call, const trace::Recipe& recipe, Chooser* chooser, bool keep_events = true,
                                  const std::vector<Observer*>& observers = {}, RunGuard* guard = nullptr);

/// Weakest label for the answers that a run needed: dispatch deviations need `any`, lateness and ties need jitter.
[[nodiscard]] std::string mode_of(const trace::Trace& trace);

}  // namespace heddle::sim
