// SPDX-License-Identifier: Apache-2.0
// Arguments: the command line as values, checked. All about its syntax, its help and its refusals is in arguments.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/simreactor/chooser/replay.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/world/sweep.hpp"

namespace heddle::detail {

enum class Command : std::uint8_t { about, list, run, explore, replay, shrink, diff, selfcheck, merge, audit, sweep };

/// Whichever is spent first; at least one of them is given.
struct Budget {
    double seconds = 30;     ///< 0: no limit
    std::uint64_t runs = 0;  ///< schedules; 0: no limit
};

struct Arguments {
    Command command = Command::about;
    bool json = false;
    bool force = false;
    std::string scenario;             ///< run, explore: "subject/name:key=value,…"
    std::vector<std::string> traces;  ///< replay, shrink: one; diff: two; merge: folders and files
    std::optional<std::uint64_t> seed;
    std::optional<trace::Order> order;
    std::optional<trace::TimeLevel> time;
    bool on_libuv = false;                               ///< run
    std::string record;                                  ///< run; empty: none
    sim::Strategy strategy = sim::Strategy::portfolio;   ///< explore
    std::optional<std::uint32_t> bound;                  ///< explore
    sim::BoundKind bound_kind = sim::BoundKind::deviations;  ///< explore
    std::uint32_t depth = 3;                             ///< explore: of pct
    Budget budget;                                       ///< explore
    std::string budget_text = "30s";                     ///< explore: as it was given
    unsigned jobs = 1;                                   ///< explore: worker processes; 0: none
    sim::Part shard{};                                   ///< explore
    std::string resume;                                  ///< explore: a folder; empty: none
    bool audits = true;                                  ///< explore: some runs are repeated elsewhere
    bool restless = false;                               ///< audit
    bool one_question = false;  ///< of audit: the runs are answers to one question (sim::WorldOptions)
    double hang_seconds = 10;                            ///< explore: of a run that does nothing
    std::string out = ".";               ///< explore: a folder; shrink: a file, empty for a name beside the trace
    std::optional<std::string> planted;  ///< run, explore
    sim::ReplayMode level = sim::ReplayMode::strict;  ///< replay
    bool adaptive = false;                            ///< replay: by constraints, whatever `level` says
    std::optional<sim::Reduction> reduction;          ///< explore
    bool sharing_any = false;                         ///< explore
    sim::SweepOf sweep = sim::SweepOf::both;          ///< sweep: what goes wrong
    std::uint32_t faults = 2;                         ///< sweep: so many at most in one run, 1 or 2
    bool sharing_declared = false;                    ///< explore: whatever hooks the program has
    std::uint64_t audit_sharing = 0;                  ///< explore: one in so many traces
    bool all = false;                                 ///< selfcheck
    bool samplers = false;                            ///< selfcheck
    std::string only;                                 ///< selfcheck: a part of the names; empty: all
    bool trap = false;                                ///< replay
    bool update = false;                              ///< replay
};

/// Throws: UnusableInput (what was expected, what was found), TextWanted for --help and --version.
[[nodiscard]] Arguments parse_arguments(int argc, const char* const* argv, std::string_view about);

/// True if --json is among the arguments, wherever: errors of the parser itself honour it.
[[nodiscard]] bool asks_for_json(int argc, const char* const* argv);

}  // namespace heddle::detail
