// SPDX-License-Identifier: Apache-2.0
// Results: what the subcommands found out, as values, and as JSON for --json (results_json.cpp). One value per call, on
// one line unless it is a list. Members keep their names and meanings; new ones may join them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/flight_replay.hpp"
#include "heddle/simreactor/explore/known_counts.hpp"
#include "heddle/simreactor/explore/known_means.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/tools/simrun/detail/invocation.hpp"
#include "heddle/traces/trace_diff.hpp"

namespace heddle::detail {

/// What a search over one or both orders found.
struct SearchResult {
    std::string scenario;  ///< as text: "subject/name:key=value"
    std::uint64_t seed = 1;
    sim::Strategy strategy = sim::Strategy::exhaustive;
    std::string order;  ///< "faithful", "any" or "both"
    trace::TimeLevel time = trace::TimeLevel::T1;
    sim::Report report;  ///< of all orders together
    bool interrupted = false;
    bool budget_spent = false;
    struct Violation {
        sim::Found found;
        std::string file;     ///< of its trace
        std::string command;  ///< that replays it
        std::optional<bool> on_libuv{};  ///< whether it came about there as well; none: it could not be tried
    };
    std::vector<Violation> violations;
    std::uint64_t deaths = 0;  ///< runs that ended their process
    bool gave_up = false;      ///< too many of them
    std::uint64_t audited = 0; ///< runs that were repeated in fresh processes, and were the same
    std::string failure;       ///< not empty: the harness failed, in words; what was found is still told
};

struct RunResult {
    std::string scenario;
    trace::Trace trace;
    std::string file;     ///< empty: not written
    std::string command;  ///< that replays it; empty unless violated
};

struct ReplayReport {
    std::string file;
    sim::ReplayResult result;
    std::optional<trace::TraceDiff> difference;  ///< to the trace, where the run is not bit for bit the recorded one
    bool diverged = false;                       ///< status 3
    bool adaptive = false;
    std::vector<std::string> unmet{};            ///< adaptive: constraints that did not hold
    std::uint64_t runs = 1;
    bool updated = false;
    bool is_flight = false;                      ///< led by what crossed the reactor's door on libuv
    std::size_t crossings = 0;                   ///< of the recording that were met
    std::size_t held = 0;                        ///< completions held back on the way
};

struct ShrinkResult {
    std::string from;
    std::string file;
    trace::Trace trace;
    std::uint64_t runs = 0;
    std::uint64_t decisions_before = 0;
    bool budget_spent = false;
    bool edit_proof = false;  ///< its constraints alone reach the violation
    std::string command;
};

/// What went wrong where, and what came of it.
struct SweepResult {
    std::string scenario;
    std::string of;            ///< "cancel", "fail", "both" or "shutdown"
    std::uint64_t places = 0;  ///< that the baseline run passes
    std::uint64_t singles = 0; ///< tried alone
    std::uint64_t pairs = 0;   ///< tried in twos
    std::uint64_t runs = 0;    ///< all of them, and the baseline
    bool complete = false;     ///< every place, and every two if that was asked for
    bool interrupted = false;
    bool budget_spent = false;
    double seconds = 0;
    struct Violation {
        std::vector<std::string> places;  ///< one, or two; none: the baseline run
        std::string invariant;
        std::string message;
        std::string file;     ///< of its trace; empty beyond the first fifty
        std::string command;  ///< that replays it
    };
    std::vector<Violation> violations;
};

/// One count of `selfcheck`.
struct SelfcheckLine {
    sim::KnownCount known;
    sim::Reduction reduction = sim::Reduction::source;
    sim::Count count;
    double seconds = 0;
    bool equal = false;
};

struct SelfcheckResult {
    std::vector<SelfcheckLine> lines;
    std::size_t equal = 0;
    bool interrupted = false;
};

/// One mean of `selfcheck --samplers`.
struct SamplerLine {
    std::string call;
    sim::Strategy strategy = sim::Strategy::pos;
    double known = 0;      ///< of the portfolio: of the best sampler, as measured
    double ratio_max = 0;  ///< that is allowed
    sim::MeasuredMean measured;
    double seconds = 0;
    bool within = false;
    std::string remark{};  ///< why it is not within
};

struct SamplersResult {
    std::vector<SamplerLine> lines;
    std::size_t count = 0;
    std::size_t within = 0;
    std::size_t explained = 0;  ///< not within, for a reason that is known
    std::size_t portfolio_count = 0;
    std::size_t portfolio_within = 0;
    bool interrupted = false;
};

[[nodiscard]] std::string list_json(std::span<const sim::Scenario> scenarios);
[[nodiscard]] std::string run_json(const RunResult& result);
[[nodiscard]] std::string explore_json(const SearchResult& result);
[[nodiscard]] std::string replay_json(const ReplayReport& report);
[[nodiscard]] std::string shrink_json(const ShrinkResult& result);
[[nodiscard]] std::string sweep_json(const SweepResult& result);
[[nodiscard]] std::string diff_json(const trace::TraceDiff& diff);
[[nodiscard]] std::string selfcheck_json(const SelfcheckResult& result);
[[nodiscard]] std::string samplers_json(const SamplersResult& result);
/// What ended the command with status 2 or 4.
[[nodiscard]] std::string error_json(ExitStatus status, const std::string& text);

}  // namespace heddle::detail
