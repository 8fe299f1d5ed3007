// SPDX-License-Identifier: Apache-2.0
// simrun as a library: a binary with scenarios of its own is a simrun, too.
//
//   int main(int argc, char** argv) { return heddle::simrun_main(argc, argv, my_scenarios()); }
//
//   simrun ─▶ list · run S · explore S · replay T · shrink T · diff T T · selfcheck ─▶ exit status
//
//   0  nothing was violated
//   1  a violation was found or reproduced; the last line printed is the command that replays it
//   2  unusable input, said in one line
//   3  a replay diverged, or two traces are not one run
//   4  the harness itself failed
//
// SM1  What was asked for is done or refused; an option that does not exist yet is never ignored.
// SM2  A trace is written whole or not at all, and never over another file without --force.
// SM3  Results go to standard output, progress and what is wrong with the input to standard error. With --json standard
//      output is one JSON value.
// SM4  Replaying the same trace twice prints the same bytes: nothing in a replay's output is measured.
// Chance enters with --seed alone.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "heddle/simreactor/explore/known_counts.hpp"
#include "heddle/simreactor/explore/known_means.hpp"
#include "heddle/simreactor/world/scenario.hpp"

namespace heddle {

struct SimrunOptions {
    /// What can be run. Outlives the call; names are unique.
    std::span<const sim::Scenario> scenarios{};
    /// Programs whose number of traces is known, for `selfcheck`; may be empty.
    std::vector<sim::KnownCount> known_counts{};
    /// Buggy programs whose mean number of schedules to the bug is known, for `selfcheck --samplers`; may be empty.
    std::vector<sim::KnownMean> known_means{};
    /// First line of what the program says about itself when it is called without arguments; empty: what simrun is.
    std::string_view about{};
    /// Judges of every simulated run, besides a scenario's own; may be empty.
    std::function<sim::OracleList()> oracles{};
    /// Called before anything runs, with the planted bug that the scenario or the trace names, "" for none: makes it
    /// the one that is switched on. @returns false if this program does not have it. Empty: this program has none.
    std::function<bool(std::string_view id)> select_planted{};
    /// Name of the program beside this one (same folder) that has the planted bugs: what names one of them, or a
    /// scenario "planted/…" that is not known here, is handed on to it with the same arguments. Empty: there is none.
    std::string_view planted_program{};
};

/// The whole command.
/// @param argv  as main gets it; argv[0] is the name that printed commands begin with
/// @returns the exit status, 0 to 4. Throws nothing. Does not return if the call is handed on to `planted_program`.
/// Signals: during searches SIGINT and SIGTERM end the search with what was found; a second one ends the process.
[[nodiscard]] int simrun_main(int argc, char** argv, const SimrunOptions& options);
[[nodiscard]] int simrun_main(int argc, char** argv, std::span<const sim::Scenario> scenarios);

}  // namespace heddle
