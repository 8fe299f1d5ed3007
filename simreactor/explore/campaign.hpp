// SPDX-License-Identifier: Apache-2.0
// explore: a search through a program's schedules, as a function.
//
//   program ──▶ worlds, one schedule each ──violation──▶ recorded again ──▶ shrunk ──▶ Report.violation->trace
//
// CP1  What is reported was seen twice: the schedule of a violation is run again with a recorder, and has to end the same way.
// CP2  A search says what its answer rests on and what it left out; a bounded one is never called complete.
// CP3  The same options give the same report, the time aside: a budget in seconds reads the clock that the caller passes in.
// Chance enters with the seed, in the strategies that sample (strategy.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/simreactor/explore/reduced_search.hpp"
#include "heddle/simreactor/explore/residual_risk.hpp"
#include "heddle/simreactor/explore/run_guard.hpp"
#include "heddle/simreactor/explore/strategy.hpp"
#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {

struct Progress {
    std::uint64_t runs = 0;
    std::uint64_t distinct = 0;
    std::uint32_t depth = 0;  ///< deviations of the present run, for the exhaustive strategy
    double seconds = 0;       ///< 0 without a clock
    double schedules = 0;     ///< estimate of how many there are in this order; 0 where nobody knows
    trace::Order order = trace::Order::faithful;
};

struct Found {
    std::string invariant;
    std::string message;
    std::string mode;           ///< weakest assumption that reaches it: "faithful", "any+jitter", …
    trace::Trace trace;         ///< shrunk; replays to this violation
    std::uint64_t runs = 0;     ///< schedules up to and including the first that violated it
    std::size_t decisions_found = 0;  ///< deviations before shrinking
    std::uint64_t shrink_runs = 0;
};

struct ExploreOptions {
    Strategy strategy = Strategy::exhaustive;
    std::optional<trace::Order> order{};  ///< none: faithful first, then any; strategies that sample take turns
    TimeLevel time = TimeLevel::T1;
    std::optional<std::uint32_t> bound{}; ///< answers other than 0 in one schedule, or as `bound_kind` says; for `delay`: 2 if none
    BoundKind bound_kind = BoundKind::deviations;  ///< others with the strategy exhaustive alone
    std::uint32_t depth = 3;              ///< of pct: changes of priority, and one; at least 1
    /// Strategies that sample tell runs apart by their traces, with vector clocks; off: by their answers. Some need the traces anyway.
    bool count_traces = true;
    /// With the strategy exhaustive: depth first, every trace (reduced_search.hpp). None: by number of deviations, every schedule.
    std::optional<Reduction> reduction{};
    bool sharing_any = false;             ///< with a reduction: the program may share what it does not declare
    bool sharing_declared = false;        ///< what a program's hooks see is left out: declared sharing alone
    /// With a reduction and any order: every so-manieth trace is looked at for what coroutines share undeclared (sharing_audit.hpp). 0: none.
    std::uint64_t audit_sharing = 0;
    std::function<std::uint64_t()> state{};  ///< of such a trace, beside what the program shows; asked when a run is over
    std::uint64_t runs_max = 100'000;     ///< schedules, both orders together
    double seconds_max = 0;               ///< 0: no limit; needs `clock`
    std::function<double()> clock{};      ///< seconds since anything; the simulator itself has no clock
    std::uint64_t seed = 1;
    bool shrink = true;
    std::uint64_t shrink_runs_max = 2'000;
    std::size_t violations_max = 1;       ///< the search ends after as many different invariants
    std::function<OracleList()> oracles{};
    std::function<void(WorldOptions&)> world{};  ///< last word on the options of its worlds
    std::function<void(const Progress&)> progress{};
    std::uint64_t progress_every = 4096;         ///< runs between two reports
    std::function<bool()> stop{};                ///< asked now and then; true ends the search with what was found
    std::function<void(const Found&)> on_found{};  ///< told at once, before the search goes on
    RunGuard* guard = nullptr;                   ///< watches over the process; null where nobody does
    Part part{};                                 ///< of the schedules, or of the seeds; not with a reduction
    bool keep_seen = false;                      ///< fills Report::seen
    /// In place of the strategy's own; for parts of a reduced search.
    std::function<std::unique_ptr<Schedules>(trace::Order)> schedules{};
    /// Where it keeps what the program's coroutines share, with hooks; null: in a place of its own.
    SharedMemory* memory = nullptr;
    trace::Recipe recipe{};                      ///< scenario, parameters and planted bug for the traces
    bool keep_events = true;                     ///< of a violation's trace
};

/// What a strategy that samples may have missed in one order (residual_risk.hpp).
struct SampleRisk {
    trace::Order order = trace::Order::faithful;
    std::uint64_t samples = 0;
    std::uint64_t distinct = 0;
    Estimate unseen{};          ///< chance that the next sample is a trace that was never seen
    double violation_most = 1;  ///< chance per sample of a violation, if none was seen: 95 % upper bound
    /// What was drawn, and how often, ascending, so that parts can be added up. Of parts that keep what they have seen; else empty.
    std::vector<SampleTally::Drawn> drawn{};
};

/// How large the tree of schedules is that a systematic search goes through: by probes of it (a 95 % interval), or, with a reduction, by the
/// share that was explored (the range since an eighth of the runs; races that are still to be found make it grow).
struct TreeSize {
    trace::Order order = trace::Order::faithful;
    std::uint64_t probes = 0;  ///< 0: by the share that was explored
    Estimate schedules{};    ///< in all; at least as many as were run
    std::uint64_t runs = 0;  ///< of this order
    double seconds_left = 0; ///< at the rate so far, for the middle of the estimate; 0 without a clock
};

struct Report {
    bool complete = false;        ///< every schedule was run
    /// "declared": what coroutines share is what was declared; "instrumented": and what the hooks in the program's sources saw; "any":
    /// whatever they share.
    std::string rests_on = "declared";
    std::string reduction;        ///< empty: schedules were told apart by their answers
    std::string bound;            ///< what was left out on purpose, as text: "2"; empty if nothing
    std::uint64_t runs = 0;
    std::uint64_t traces = 0;     ///< distinct traces with a reduction and of samples, else distinct schedules (sequences of answers)
    std::uint64_t redundant = 0;  ///< runs that a reduction began and found covered by others
    std::uint64_t cut = 0;        ///< runs that a limit or a violation ended
    std::uint64_t audited = 0;    ///< traces that were looked at for undeclared sharing
    double seconds = 0;
    FaultTotals faults{};         ///< of the kernel, in the runs of the search alone
    std::vector<Found> violations;
    std::optional<Found> violation{};  ///< the first of them
    bool stopped = false;         ///< a budget or the caller ended it
    std::vector<TreeSize> sizes{};    ///< one per order that was searched systematically, is not complete, and was probed; parts are not
    std::vector<SampleRisk> risks{};  ///< one per order that was sampled and is not complete
    /// What `traces` counts where parts of a search may meet the same ones (samplers, `none`), by hash, in no order.
    std::vector<std::uint64_t> seen{};
};
// A member that joins Report or Found crosses process borders, too: report_wire.cpp.

/// Searches the schedules of `program`. Attaches no oracle by itself: assertions, checks, deadlock, unhandled errors and hangs are
/// what it looks for; more through `options.oracles`. Throws ValueError for impossible options.
[[nodiscard]] Report explore(const Program& program, const ExploreOptions& options = {});
/// The same for a scenario, with its oracles and its world.
[[nodiscard]] Report explore(const ScenarioCall& call, ExploreOptions options = {});

/// What coroutines share is seen by hooks in the program, not only said. That matters to whoever tells traces apart.
[[nodiscard]] bool is_instrumented(const ExploreOptions& options);

/// "complete: 6 traces, 0 redundant, resting on declared sharing". Requires: it is complete, and had a reduction.
[[nodiscard]] std::string complete_text(const Report& report);

/// Adds what another part of a search drew in the same order. Requires: both have `drawn`.
void add_risk(SampleRisk& risk, const SampleRisk& part);

/// Its bound as text: "2", "delay:2", "reversal:2"; empty if there is none.
[[nodiscard]] std::string bound_text(std::optional<std::uint32_t> bound, BoundKind kind);

/// World options that a recipe stands for, without chooser, observers and oracles.
[[nodiscard]] WorldOptions world_options(const trace::Recipe& recipe);
/// The knob of recipes whose world puts one question for all that can happen next (WorldOptions::one_question); its value is "one".
inline constexpr std::string_view questions_knob = "questions";
void ask_one_question(trace::Recipe& recipe);
[[nodiscard]] bool asks_one_question(const trace::Recipe& recipe);
/// A recipe for a world's options: everything a replay needs to build it again.
void describe_world(const WorldOptions& options, trace::Recipe& recipe);

}  // namespace heddle::sim
