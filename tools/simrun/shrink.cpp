// SPDX-License-Identifier: Apache-2.0
// simrun shrink: fewer and smaller decisions that still reach the violation of a trace.
#include <fmt/format.h>

#include "heddle/simreactor/explore/constraints.hpp"
#include "heddle/simreactor/explore/minimize.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/interrupt.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/tools/simrun/detail/subject.hpp"
#include "heddle/tools/simrun/detail/trace_output.hpp"
#include "heddle/tools/simrun/detail/worker_search.hpp"
#include "heddle/traces/failure_text.hpp"
#include "heddle/traces/trace_text.hpp"

namespace heddle::detail {
namespace {

constexpr std::uint64_t runs_max = 20'000;

/// "found.trace.json" gives "found.shrunk": the shrunk trace stands beside it.
std::string stem_beside(const std::string& path) {
    for (const std::string_view end : {".trace.json", ".json"}) {
        if (path.size() > end.size() && path.ends_with(end)) {
            return path.substr(0, path.size() - end.size()) + ".shrunk";
        }
    }
    return path + ".shrunk";
}

sim::MinimizeResult minimized(const Subject& subject, const trace::Trace& failing) {
    const Interrupt interrupt;
    Progress progress(stderr, 0, 0);
    std::uint64_t runs = 0;
    const sim::TryDecisions attempt =
        [&](const std::vector<trace::Decision>& decisions) -> std::optional<trace::Trace> {
        progress.show({"shrinking", ++runs, runs, static_cast<std::uint32_t>(decisions.size())});
        if (interrupt.asked()) { return std::nullopt; }  // what is left of the budget fails fast
        trace::Trace candidate = failing;
        candidate.decisions = decisions;
        if (failing.outcome.kind == trace::OutcomeKind::crashed) {
            sim::ApartResult dead = sim::replay_apart(subject.call, candidate, sim::ReplayMode::carry_on, {worker_limits(1, 2), &seconds_now});
            if (!dead.failure.empty() || !dead.trace.outcome.same_end(failing.outcome)) { return std::nullopt; }
            return std::move(dead.trace);
        }
        sim::ReplayOptions loose;
        loose.mode = sim::ReplayMode::carry_on;
        sim::ReplayResult result = sim::replay(subject.call, candidate, loose);
        if (!result.trace.outcome.same_end(failing.outcome)) { return std::nullopt; }
        result.trace.outcome.mode = sim::mode_of(result.trace);
        return std::move(result.trace);
    };
    sim::MinimizeResult result = sim::minimize(failing, attempt, runs_max);
    result.budget_spent = result.budget_spent || interrupt.asked();
    return result;
}

/// What the failure needs, for replays after an edit. A crash would end this process, too: it keeps its decisions alone.
sim::LiftResult lifted(const Subject& subject, const trace::Trace& shrunk) {
    if (shrunk.outcome.kind == trace::OutcomeKind::crashed) { return {}; }
    const Interrupt interrupt;
    const sim::Program program = subject.call.program();
    return sim::lift_constraints({program, [&] { return subject.call.oracles(); }, subject.call.scenario->world}, shrunk, runs_max,
                                 [&] { return !interrupt.asked(); });
}

/// A crash is run again where it ends nothing but its own process.
sim::ReplayResult first_run(const Subject& subject, const trace::Trace& given) {
    if (given.outcome.kind != trace::OutcomeKind::crashed) { return sim::replay(subject.call, given); }
    sim::ApartResult dead = sim::replay_apart(subject.call, given, sim::ReplayMode::strict, {worker_limits(1, 10), &seconds_now});
    if (!dead.failure.empty()) { throw HarnessFailure{dead.failure}; }
    sim::ReplayResult first;
    first.trace = std::move(dead.trace);
    first.reproduced = first.trace.outcome.same_end(given.outcome);
    return first;
}

}  // namespace

ExitStatus shrink_command(const Invocation& invocation, const Arguments& arguments) {
    ShrinkResult result;
    result.from = arguments.traces.front();
    trace::Trace given = read_input(result.from);
    if (!trace::is_failure(given.outcome.kind)) {
        refuse(result.from + ": /outcome/kind", "a violation, as only that can be shrunk",
               std::string(trace::to_string(given.outcome.kind)));
    }
    if (!arguments.out.empty()) { require_free(invocation, arguments.out); }
    const Subject subject = subject_of(invocation, given, result.from);
    sim::ReplayResult first = first_run(subject, given);
    if (!first.reproduced) {
        const std::string reason = first.divergence_text.empty() ? "expected " + trace::describe(given.outcome) +
                                                                       ", found " + trace::describe(first.trace.outcome)
                                                                 : first.divergence_text;
        if (invocation.json) {
            fmt::print("{}", error_json(ExitStatus::diverged, reason));
        } else {
            fmt::print("DIVERGED: {} no longer replays: {}\n", result.from, reason);
        }
        return ExitStatus::diverged;
    }
    result.decisions_before = given.decisions.size();
    sim::MinimizeResult shrunk = minimized(subject, first.trace);
    result.trace = std::move(shrunk.trace);
    result.runs = shrunk.runs;
    result.budget_spent = shrunk.budget_spent;
    sim::LiftResult needed = lifted(subject, result.trace);
    result.edit_proof = needed.enough;
    result.trace.constraints = std::move(needed.constraints);
    result.file = arguments.out;
    if (arguments.out.empty()) {
        result.file = write_free(invocation, stem_beside(result.from), result.trace);
    } else {
        write_named(invocation, arguments.out, result.trace);
    }
    result.command = command_to_replay(invocation, result.trace.recipe.seed, result.file);
    if (invocation.json) {
        fmt::print("{}", shrink_json(result));
        return ExitStatus::violated;
    }
    const std::size_t left = result.trace.decisions.size();
    fmt::print("{}\n", trace::failure_text(result.trace, "", width_of(stdout)));
    fmt::print("shrunk from {} to {} in {}{}\n", trace::counted(result.decisions_before, "decision"), left,
               trace::counted(result.runs, "run"),
               result.budget_spent ? ", and may not be the smallest" : "; none of them can be left out");
    if (result.edit_proof) {
        fmt::print("{} alone bring it about: --level adaptive replays it after an edit\n",
                   trace::counted(result.trace.constraints.order.size() + result.trace.constraints.values.size(), "constraint"));
    }
    fmt::print("trace written to {}; this replays it:\n{}\n", result.file, result.command);
    return ExitStatus::violated;
}

}  // namespace heddle::detail
