// SPDX-License-Identifier: Apache-2.0
// Subject: a scenario with its parameters and its planted bug, checked and ready to run.
//
//   "pool/lease:clients=3" ──┐
//                            ├─▶ known? parameters? world? planted bug here? ─▶ Subject    else one line, status 2
//   found.trace.json ────────┘                                   └─ elsewhere ─▶ the program that has it takes over
//
// SJ1  Nothing of a trace reaches a world unchecked: what the simulator would refuse by an assertion or an exception is
//      refused here, with file and JSON pointer.
// SJ2  The planted bug that is named is selected before the program is built, and none is if none is named.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/simreactor/world/sweep.hpp"
#include "heddle/tools/simrun/detail/arguments.hpp"
#include "heddle/tools/simrun/detail/invocation.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::detail {

struct Subject {
    /// The caller's, with the judges that SimrunOptions adds; `call` points to it.
    std::unique_ptr<const sim::Scenario> scenario;
    sim::ScenarioCall call;
};

/// @param text     "subject/name:key=value,…"
/// @param planted  in place of the scenario's own planted bug
/// Throws: UnusableInput. May not return (SimrunOptions::planted_program).
[[nodiscard]] Subject subject_of(const Invocation& invocation, const std::string& text,
                                 const std::optional<std::string>& planted = std::nullopt);
/// @param path  of the trace, for messages. Throws and returns as above.
[[nodiscard]] Subject subject_of(const Invocation& invocation, const trace::Trace& trace, const std::string& path);

/// Puts it into a world where nothing is free but what goes wrong (simreactor/world/sweep.hpp).
void make_swept(Subject& subject, sim::SweepOf of);

/// Reads a trace and checks whatever can be checked without knowing its scenario. Throws: UnusableInput.
[[nodiscard]] trace::Trace read_input(const std::string& path);

/// What one run of the subject is: its scenario, and the world that the arguments ask for.
[[nodiscard]] trace::Recipe recipe_of(const Subject& subject, const Arguments& arguments);

}  // namespace heddle::detail
