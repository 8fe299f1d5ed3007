// SPDX-License-Identifier: Apache-2.0
// simrun replay: the schedule of a trace once more, and whether it is still the same run with the same end.
//
//   strict    ── divergence, or another end ──▶ status 3, the first difference with its neighbours
//   continue  ── whatever no longer fits is answered as well as it can be ──▶ the status of what happened
//
// A trace of a flight recorder leads the simulated world the way that libuv went, strictly (simreactor/world/flight_follower.hpp).
// --update runs the trace as `continue` and writes what happened in its place, with events if it had some.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <string_view>

#include "heddle/core/base/label.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/explore/constraints.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/tools/simrun/detail/subject.hpp"
#include "heddle/tools/simrun/detail/trace_output.hpp"
#include "heddle/tools/simrun/detail/worker_search.hpp"
#include "heddle/traces/failure_text.hpp"
#include "heddle/traces/trace_diff.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_json.hpp"
#include "heddle/traces/trace_render.hpp"
#include "heddle/traces/trace_text.hpp"

namespace heddle::detail {
namespace {

/// Answers what a trace leaves open: choices beyond the end of the recorded run. Before it, what a trace does not list
/// is 0.
class Tail final : public Chooser {
public:
    /// @param points  that the recorded run came to without deviating
    Tail(std::uint64_t points, std::uint64_t seed) : points_(points), random_(seed) {}
    std::uint32_t choose(const ChoicePoint& point) override { return asked_++ < points_ ? 0 : random_.choose(point); }

private:
    std::uint64_t points_;
    std::uint64_t asked_ = 0;
    sim::RandomChooser random_;
};

/// A replayed world knows the labels that it met, and says the others as hashes: the trace knows what they mean.
void spell_labels(std::string& text, const trace::Trace& trace) {
    const LabelBook unknown;
    const auto spell = [&](const std::string& label) {
        if (label.empty()) { return; }
        const std::string hash = unknown.text(LabelBook::of(label));
        for (std::size_t at = text.find(hash); at != std::string::npos; at = text.find(hash, at + label.size())) {
            text.replace(at, hash.size(), label);
        }
    };
    for (const trace::Decision& decision : trace.decisions) {
        spell(decision.at);
        spell(decision.candidate);
    }
}

/// None if the run ends by itself.
std::optional<sim::ReplayResult> replayed_apart(const Subject& subject, const trace::Trace& trace, sim::ReplayMode mode) {
    sim::ApartOptions apart{worker_limits(1, 10), &seconds_now, false};
    if (trace.outcome.invariant == "HANG") { apart.limits.hang_seconds = 2; }
    sim::ApartResult dead = sim::replay_apart(subject.call, trace, mode, apart);
    if (!dead.death) { return std::nullopt; }
    if (!dead.failure.empty()) { throw HarnessFailure{dead.failure}; }
    sim::ReplayResult result;
    result.trace = std::move(dead.trace);
    result.trace.constraints = trace.constraints;
    result.reproduced = result.trace.outcome.same_end(trace.outcome);
    result.same_hash = result.reproduced && result.trace.hash.value == trace.hash.value;
    return result;
}

sim::ReplayResult replayed(const Subject& subject, const trace::Trace& trace, const Arguments& arguments,
                           sim::ReplayMode mode) {
    sim::ReplayOptions options;
    options.mode = mode;
    // A run that ends its process is watched from another one; what died is told like any other end.
    if (trace.outcome.kind == trace::OutcomeKind::crashed && !arguments.trap) {
        if (std::optional<sim::ReplayResult> dead = replayed_apart(subject, trace, mode); dead) { return *std::move(dead); }
    }
    if (arguments.trap) {
        options.on_violation = [] { static_cast<void>(std::raise(SIGTRAP)); };
    }
    const std::uint64_t deviations = trace.decisions.size();
    Tail tail(trace.outcome.choices > deviations ? trace.outcome.choices - deviations : 0, arguments.seed.value_or(0));
    // A trace without a count of choices, written by hand, does not say where it ends: nothing of it is left open.
    const bool open = mode == sim::ReplayMode::carry_on && arguments.seed && trace.outcome.choices != 0;
    if (open) { options.rest = &tail; }
    sim::ReplayResult result = sim::replay(subject.call, trace, options);
    // A strict replay stops itself where it diverges; that is no violation of anything.
    spell_labels(result.divergence_text, trace);
    if (result.trace.outcome.kind == trace::OutcomeKind::diverged) {
        result.trace.outcome.message = result.divergence_text;
        std::erase_if(result.trace.events,
                      [](const trace::TraceEvent& event) { return event.kind.is(EventKind::violated); });
    }
    return result;
}

/// By the constraints of the trace alone. A crash would end this process before it could be told from another.
void replay_adaptively(const Subject& subject, const trace::Trace& trace, const Arguments& arguments, ReplayReport& report) {
    if (trace.outcome.kind == trace::OutcomeKind::crashed) {
        refuse("--level adaptive", "a trace of a violation", "one of a crash, which strict and continue replay");
    }
    sim::ReplayOptions options;
    if (arguments.trap) {
        options.on_violation = [] { static_cast<void>(std::raise(SIGTRAP)); };
    }
    const sim::Program program = subject.call.program();
    Result<sim::AdaptiveResult> result = sim::replay_adaptively(
        {program, [&] { return subject.call.oracles(); }, subject.call.scenario->world}, trace, options);
    if (!result) { throw UnusableInput{{report.file + ": " + result.error().where, result.error().expected, result.error().found}}; }
    report.adaptive = true;
    report.result = std::move(result->replay);
    report.unmet = std::move(result->unmet);
    report.runs = result->runs;
}

/// What crossed the door on libuv, crossing by crossing.
void replay_the_flight(const Subject& subject, const trace::Trace& trace, const Arguments& arguments, ReplayReport& report) {
    if (const std::optional<std::string> why = sim::why_not_followed(trace); why) {
        throw UnusableInput{{report.file + ": /door", "a recording from its beginning, to be replayed", *why}};
    }
    sim::RunRecording how;
    if (arguments.trap) {
        how.on_violation = [] { static_cast<void>(std::raise(SIGTRAP)); };
    }
    sim::FlightReplay flight = sim::replay_flight(subject.call, trace, how);
    report.is_flight = true;
    report.crossings = flight.met;
    report.held = flight.held;
    report.result.trace = std::move(flight.trace);
    report.result.reproduced = flight.reproduced;
    if (flight.divergence) { report.result.divergence_text = flight.divergence->text(); }
}

/// "…, found …; before it …, after it …" on lines of their own.
std::string on_lines(std::string text) {
    for (const std::string_view mark : {": expected ", ", found ", "; before it ", ", after it "}) {
        const std::size_t at = text.find(mark);
        if (at == std::string::npos) { continue; }
        std::string words(mark.substr(mark.front() == ' ' ? 1 : 2));
        words.resize(std::max<std::size_t>(words.size(), 11), ' ');
        text.replace(at, mark.size(), "\n  " + words);
    }
    return text;
}

void write_update(const trace::Trace& before, ReplayReport& report) {
    trace::Trace after = report.result.trace;
    if (before.events.empty()) {
        after.events.clear();
        after.events_omitted = 0;
    }
    const Result<std::uint64_t> written = trace::write_trace(report.file, after, trace::Overwrite::yes);
    if (!written) { throw UnusableInput{written.error()}; }
    report.updated = true;
}

void tell_divergence(const trace::Trace& trace, const ReplayReport& report) {
    const sim::ReplayResult& result = report.result;
    if (report.adaptive) {
        fmt::print("DIVERGED: the constraints do not bring it about any more\n  expected   {}\n  found      {}\n", trace::describe(trace.outcome),
                   trace::describe(result.trace.outcome));
        for (const std::string& constraint : report.unmet) { fmt::print("  not met    {}\n", constraint); }
        if (trace.constraints.empty() && !trace.decisions.empty()) { fmt::print("  the trace has no constraints; simrun shrink finds them\n"); }
        return;
    }
    if (report.is_flight && !result.divergence_text.empty()) {
        fmt::print("DIVERGED from the recording at {}", result.divergence_text);
        return;
    }
    if (result.divergence) {
        fmt::print("DIVERGED {}\n\n", on_lines(result.divergence_text));
        trace::RenderOptions options;
        options.width = width_of(stdout);
        options.rows_max = 60;
        fmt::print("until then:\n\n{}", trace::render(result.trace, options));
        return;
    }
    fmt::print("DIVERGED: every decision was met, and the end is another one\n  expected   {}\n  found      {}\n",
               trace::describe(trace.outcome), trace::describe(result.trace.outcome));
    if (report.difference) { fmt::print("\n{}", report.difference->text()); }
}

void tell(const Invocation& invocation, const Arguments& arguments, const trace::Trace& trace,
          const ReplayReport& report) {
    const sim::ReplayResult& result = report.result;
    if (trace.recipe.reactor == "libuv") { fmt::print("recorded on libuv; replayed in a simulated world\n\n"); }
    if (report.diverged) { return tell_divergence(trace, report); }
    if (report.is_flight) {
        fmt::print("met all {} crossings of the reactor's door in their order; {} completions were held back for it\n\n", report.crossings,
                   report.held);
    }
    const std::string_view same = report.is_flight     ? ""
                                  : result.same_hash    ? ", bit for bit the recorded run"
                                  : result.reproduced ? ", by another run than the recorded one"
                                                      : "";
    const bool violated = trace::is_failure(result.trace.outcome.kind);
    const std::string_view verdict = result.reproduced ? "reproduced" : "not reproduced";
    if (violated) {
        fmt::print("{}\n", trace::failure_text(result.trace, "", width_of(stdout)));
    } else {
        trace::RenderOptions options;
        options.width = width_of(stdout);
        fmt::print("{}\n", trace::render(result.trace, options));
    }
    if (result.divergence) {
        fmt::print("went on after the first divergence:\n{}\n", on_lines(result.divergence_text));
    }
    if (!report.adaptive && report.difference && report.difference->divergence) { fmt::print("{}", report.difference->text()); }
    fmt::print("{}{}\n", verdict, same);
    for (const std::string& constraint : report.unmet) { fmt::print("  warning: constraint not met: {}\n", constraint); }
    if (!result.reproduced) { fmt::print("  the trace says {}\n", trace::describe(trace.outcome)); }
    if (report.updated) { fmt::print("trace written anew: {}\n", report.file); }
    if (!violated) { return; }
    std::string more = report.adaptive                                                        ? " --level adaptive"
                       : arguments.level == sim::ReplayMode::carry_on && !arguments.update ? " --level continue"
                                                                                             : "";
    fmt::print("this replays it:\n{}\n",
               command_to_replay(invocation, arguments.seed.value_or(trace.recipe.seed), report.file, more));
}

}  // namespace

ExitStatus replay_command(const Invocation& invocation, const Arguments& arguments) {
    ReplayReport report;
    report.file = arguments.traces.front();
    const trace::Trace trace = read_input(report.file);
    const Subject subject = subject_of(invocation, trace, report.file);
    const sim::ReplayMode mode = arguments.update ? sim::ReplayMode::carry_on : arguments.level;
    const bool is_flight = trace.version == trace::door_format_version && mode == sim::ReplayMode::strict && !arguments.adaptive;
    if (is_flight) {
        replay_the_flight(subject, trace, arguments, report);
    } else if (arguments.adaptive) {
        replay_adaptively(subject, trace, arguments, report);
    } else {
        report.result = replayed(subject, trace, arguments, mode);
    }
    sim::ReplayResult& result = report.result;
    if (!is_flight && !result.same_hash && !(result.divergence && mode == sim::ReplayMode::strict)) {
        report.difference = trace::diff(trace, result.trace);
    }
    report.diverged = mode == sim::ReplayMode::strict && !result.reproduced;
    const bool violated = trace::is_failure(result.trace.outcome.kind);
    if (arguments.update) {
        result.trace.outcome.mode = violated ? sim::mode_of(result.trace) : "";
        write_update(trace, report);
    }
    if (invocation.json) {
        fmt::print("{}", replay_json(report));
    } else {
        tell(invocation, arguments, trace, report);
    }
    if (report.diverged) { return ExitStatus::diverged; }
    return violated ? ExitStatus::violated : ExitStatus::nothing_violated;
}

}  // namespace heddle::detail
