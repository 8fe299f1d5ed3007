// SPDX-License-Identifier: Apache-2.0
// simrun explore: a search through a scenario's schedules, with a budget, progress, and Ctrl-C.
//
//   arguments ──▶ search (search.cpp) ── a violation, shrunk ──▶ replayed once strictly, written, told
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/explore/sharing_audit.hpp"
#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/libuv_run.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/tools/simrun/detail/search.hpp"
#include "heddle/tools/simrun/detail/subject.hpp"
#include "heddle/tools/simrun/detail/trace_output.hpp"
#include "heddle/traces/failure_text.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::detail {
namespace {

/// What was run and what was not, in one sentence.
std::string extent_of(const SearchResult& result, const Arguments& arguments) {
    const sim::Report& report = result.report;
    if (result.interrupted) { return "interrupted"; }
    if (report.complete) {
        return sim::complete_text(report);
    }
    const bool violated = std::ranges::any_of(result.violations, [](const SearchResult::Violation& at) {
        return at.found.trace.outcome.kind == trace::OutcomeKind::violation;
    });
    if (violated) { return "the search ends at the first violation"; }
    if (result.gave_up) { return fmt::format("not complete: given up after {}", trace::counted(result.deaths, "crash", "crashes")); }
    if (result.budget_spent) { return fmt::format("not complete: the budget of {} is spent", arguments.budget_text); }
    if (result.deaths > 0) { return fmt::format("all but what lies behind {}: {} traces", trace::counted(result.deaths, "crash", "crashes"), report.traces); }
    if (!report.bound.empty() && result.strategy == sim::Strategy::exhaustive && arguments.bound_kind != sim::BoundKind::deviations) {
        return fmt::format("bounded by {}: {} within it, and what lies beyond was not run", report.bound,
                           trace::counted(report.runs, "schedule"));
    }
    if (!report.bound.empty() && result.strategy == sim::Strategy::exhaustive) {
        return fmt::format("complete up to {} from production: {} traces",
                           trace::counted(arguments.bound.value_or(0), "deviation"), report.traces);
    }
    return "not complete: memory for schedules that wait is used up";
}

std::string summary_of(const SearchResult& result, const Arguments& arguments) {
    const sim::Report& report = result.report;
    return fmt::format("{}: {}\n  {} in {:.1f}s, {} strategy, order {}, {}, seed {}\n", result.scenario,
                       extent_of(result, arguments), trace::counted(report.runs, "schedule"), report.seconds,
                       sim::to_string(result.strategy), result.order, trace::to_string(result.time), result.seed);
}

std::string about(double count) { return count < 1e6 ? fmt::format("{:.0f}", count) : fmt::format("{:.1e}", count); }

std::string spelled(double seconds) {
    if (seconds < 120) { return fmt::format("{:.0f}s", seconds); }
    if (seconds < 7200) { return fmt::format("{:.0f}m", seconds / 60); }
    if (seconds < 172'800) { return fmt::format("{:.0f}h", seconds / 3600); }
    return fmt::format("{} days", about(seconds / 86'400));
}

/// What may be left, as far as a search that is not complete can tell.
std::string risk_of(const sim::Report& report) {
    std::string text;
    for (const sim::TreeSize& size : report.sizes) {
        const std::string from = size.probes > 0 ? fmt::format("from {} probes", size.probes) : "by the share explored";
        text += fmt::format("  order {}: about {} schedules ({} to {}, {}), {} run, about {} left\n",
                            trace::to_string(size.order), about(size.schedules.value), about(size.schedules.low),
                            about(size.schedules.high), from, size.runs, spelled(size.seconds_left));
    }
    for (const sim::SampleRisk& risk : report.risks) {
        text += fmt::format("  order {}: {} samples, {} distinct; the next one is new with a chance of {:.3g} ({:.3g} to {:.3g})",
                            trace::to_string(risk.order), risk.samples, risk.distinct, risk.unseen.value, risk.unseen.low,
                            risk.unseen.high);
        text += fmt::format(", and violates something with at most {:.2g}\n", risk.violation_most);
    }
    return text;
}

std::string way_to(const sim::Found& found) {
    std::string text = fmt::format("by schedule {} of the search", found.runs);
    const std::size_t left = found.trace.decisions.size();
    if (left < found.decisions_found) {
        text += fmt::format("; shrunk from {} to {} in {}", trace::counted(found.decisions_found, "decision"), left,
                            trace::counted(found.shrink_runs, "run"));
    }
    return text;
}

/// The trace has to hold by itself, before anybody is told to rely on it.
void require_replay(const Subject& subject, const sim::Found& found) {
    if (found.trace.outcome.kind == trace::OutcomeKind::crashed) { return; }  // it died in a process of its own, at least twice
    if (found.invariant == sim::SharingAudit::invariant) { return; }  // it takes two runs to see it
    sim::ReplayOptions options;
    options.keep_events = false;
    const sim::ReplayResult result = sim::replay(subject.call, found.trace, options);
    if (result.reproduced) { return; }
    const std::string reason =
        result.divergence_text.empty() ? "it ended with " + result.trace.outcome.invariant : result.divergence_text;
    throw HarnessFailure{"a violation of " + found.invariant + " (" + found.message +
                         ") was found, but its trace does not replay: " + reason +
                         ". The program depends on something that is not one of its choices"};
}

/// The folder or the file that the search keeps; none for most.
std::unique_ptr<CampaignStore> store_for(const Subject& subject, const Arguments& arguments) {
    if (!arguments.resume.empty()) {
        prepare_folder(arguments.resume);
        return std::make_unique<CampaignStore>(arguments.resume, "campaign.json", search_of(subject, arguments), arguments.shard);
    }
    if (arguments.shard.count == 1) { return nullptr; }
    const std::string name = fmt::format("shard-{}-of-{}.json", arguments.shard.index, arguments.shard.count);
    return std::make_unique<CampaignStore>(arguments.out, name, search_of(subject, arguments), arguments.shard);
}

/// A trace that cannot be written is told instead: what was found is not lost.
std::string write_or_tell(const Invocation& invocation, const std::string& folder, const trace::Trace& trace, std::string& failure) {
    try {
        return write_found(invocation, folder, trace);
    } catch (const HarnessFailure& caught) {
        if (failure.empty()) { failure = caught.text; }
        fmt::print(stderr, "{}", trace::to_json(trace));
        return "";
    }
}

void keep_violations(CampaignStore& store, const SearchResult& result, std::string& failure) {
    store.file().violations.clear();
    for (const SearchResult::Violation& violation : result.violations) {
        if (violation.file.empty()) { continue; }
        const std::size_t slash = violation.file.rfind('/');
        store.file().violations.push_back({violation.found.invariant, violation.found.message, violation.found.mode,
                                           slash == std::string::npos ? violation.file : violation.file.substr(slash + 1)});
    }
    const std::string written = store.write();
    if (failure.empty() && !written.empty()) { failure = "the search's own file could not be written: " + written; }
}

}  // namespace

ExitStatus explore_command(const Invocation& invocation, const Arguments& arguments) {
    const Subject subject = subject_of(invocation, arguments.scenario, arguments.planted);
    prepare_folder(arguments.out);
    const std::unique_ptr<CampaignStore> store = store_for(subject, arguments);
    SearchResult result = search(subject, arguments, store.get());
    for (SearchResult::Violation& violation : result.violations) {
        if (violation.found.trace.recipe.scenario.empty()) { continue; }  // a crash that left no trace; the failure below says why
        if (violation.file.empty()) {
            require_replay(subject, violation.found);
            violation.file = write_or_tell(invocation, arguments.out, violation.found.trace, result.failure);
        }
        violation.command = command_to_replay(invocation, violation.found.trace.recipe.seed, violation.file);
        violation.on_libuv = confirmed_on_libuv(subject.call, violation.found.trace);
    }
    if (store) { keep_violations(*store, result, result.failure); }
    std::erase_if(result.violations, [](const SearchResult::Violation& at) { return at.file.empty(); });
    if (invocation.json && result.failure.empty()) {
        fmt::print("{}", explore_json(result));
    } else if (!invocation.json) {
        for (const SearchResult::Violation& violation : result.violations) {
            fmt::print("{}\n", trace::failure_text(violation.found.trace, way_to(violation.found), width_of(stdout)));
            if (violation.on_libuv) {
                fmt::print("{}\n\n", *violation.on_libuv ? "confirmed on libuv: the same happened there"
                                                        : "on libuv it did not happen: the oracle that saw it, or its timing, is the simulation's");
            }
        }
        fmt::print("{}", summary_of(result, arguments));
        if (!result.report.faults.is_empty()) { fmt::print("  faults: {}\n", result.report.faults.summary()); }
        if (result.violations.empty()) { fmt::print("{}", risk_of(result.report)); }
        if (result.violations.empty()) { fmt::print("  nothing violated\n"); }
        for (const SearchResult::Violation& violation : result.violations) {
            fmt::print("trace written to {}; this replays it:\n{}\n", violation.file, violation.command);
        }
    }
    if (!result.failure.empty()) { throw HarnessFailure{result.failure}; }
    return result.violations.empty() ? ExitStatus::nothing_violated : ExitStatus::violated;
}

}  // namespace heddle::detail
