// SPDX-License-Identifier: Apache-2.0
// simrun explore: a search through a scenario's schedules, with a budget, progress, and Ctrl-C.
//
//   faithful, half of the budget ── nothing violated ──▶ any, what is left of it
//        └──────── a violation ──▶ shrunk, replayed once strictly, written, told
//
// A failure is looked for under the weakest assumption first: what production can do today (order `faithful`).
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/tools/simrun/detail/commands.hpp"
#include "heddle/tools/simrun/detail/interrupt.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/results.hpp"
#include "heddle/tools/simrun/detail/subject.hpp"
#include "heddle/tools/simrun/detail/trace_output.hpp"
#include "heddle/traces/failure_text.hpp"

namespace heddle::detail {
namespace {

class Search {
public:
    Search(const Subject& subject, const Arguments& arguments)
        : subject_(subject),
          arguments_(arguments),
          progress_(stderr, arguments.budget.seconds, arguments.budget.runs),
          started_(seconds_now()) {
        result_.scenario = subject.call.text();
        result_.seed = arguments.seed.value_or(1);
        result_.strategy = arguments.strategy;
        result_.order = arguments.order ? std::string(trace::to_string(*arguments.order)) : "both";
        result_.time = arguments.time.value_or(trace::TimeLevel::T1);
    }

    SearchResult run() {
        using Orders = std::vector<std::optional<trace::Order>>;
        Orders orders{trace::Order::faithful, trace::Order::any};
        if (arguments_.order) {
            orders = {*arguments_.order};
        } else if (sim::is_sampler(arguments_.strategy)) {
            orders = {std::nullopt};  // both in turns
        }
        bool complete = true;
        for (std::size_t i = 0; i < orders.size(); ++i) {
            const std::size_t orders_left = orders.size() - i;
            if (!affords(orders_left)) {
                complete = false;
                result_.budget_spent = true;
                break;
            }
            const sim::Report report = search(orders[i], orders_left);
            add(report, i > 0);
            complete = complete && report.complete;
            if (!result_.violations.empty() || interrupt_.asked()) {
                complete = complete && orders_left == 1;
                break;
            }
        }
        progress_.done();
        result_.interrupted = interrupt_.asked();
        result_.report.complete = complete && result_.violations.empty();
        result_.report.seconds = seconds_now() - started_;
        return std::move(result_);
    }

private:
    [[nodiscard]] std::uint64_t runs_left() const {
        return arguments_.budget.runs == 0
                   ? std::numeric_limits<std::uint64_t>::max()
                   : arguments_.budget.runs - std::min(arguments_.budget.runs, result_.report.runs);
    }
    [[nodiscard]] double seconds_left() const { return arguments_.budget.seconds - (seconds_now() - started_); }
    [[nodiscard]] bool affords(std::size_t orders_left) const {
        const bool first = orders_left > 1 || arguments_.order.has_value() || sim::is_sampler(arguments_.strategy);
        return runs_left() > 0 && (first || arguments_.budget.seconds == 0 || seconds_left() > 0);
    }

    sim::Report search(std::optional<trace::Order> order, std::size_t orders_left) {
        sim::ExploreOptions options;
        options.strategy = arguments_.strategy;
        options.order = order;
        options.time = result_.time;
        options.bound = arguments_.bound;
        options.bound_kind = arguments_.bound_kind;
        options.depth = arguments_.depth;
        options.reduction = arguments_.reduction;
        options.sharing_any = arguments_.sharing_any;
        options.seed = result_.seed;
        const std::uint64_t runs = runs_left();
        options.runs_max = orders_left > 1 && arguments_.budget.runs != 0 ? runs - runs / 2 : runs;
        if (arguments_.budget.seconds > 0) {
            options.seconds_max = std::max(seconds_left() / static_cast<double>(orders_left), 0.001);
        }
        options.clock = &seconds_now;
        options.stop = [this] { return interrupt_.asked(); };
        options.progress_every = 16;
        options.progress = [this](const sim::Progress& progress) {
            progress_.show({trace::to_string(progress.order), result_.report.runs + progress.runs,
                            result_.report.traces + progress.distinct, progress.depth, progress.schedules});
        };
        return sim::explore(subject_.call, options);
    }

    /// @param again  an earlier order has run the baseline already
    void add(const sim::Report& report, bool again) {
        sim::Report& all = result_.report;
        const std::uint64_t runs_before = all.runs;
        all.rests_on = report.rests_on;
        all.reduction = report.reduction;
        all.runs += report.runs;
        all.traces += report.traces - (again && report.traces > 0 ? 1 : 0);
        all.redundant += report.redundant;
        all.cut += report.cut;
        if (!report.bound.empty()) { all.bound = report.bound; }
        all.sizes.insert(all.sizes.end(), report.sizes.begin(), report.sizes.end());
        all.risks.insert(all.risks.end(), report.risks.begin(), report.risks.end());
        result_.budget_spent = result_.budget_spent || (report.stopped && !interrupt_.asked());
        for (const sim::Found& found : report.violations) {
            result_.violations.push_back({found, {}, {}});
            result_.violations.back().found.runs += runs_before;
        }
    }

    const Subject& subject_;
    const Arguments& arguments_;
    Interrupt interrupt_;
    Progress progress_;
    double started_;
    SearchResult result_;
};

/// What was run and what was not, in one sentence.
std::string extent_of(const SearchResult& result, const Arguments& arguments) {
    const sim::Report& report = result.report;
    if (result.interrupted) { return "interrupted"; }
    if (report.complete) {
        return fmt::format("complete: {} traces, {} redundant, resting on {} sharing", report.traces, report.redundant,
                           report.rests_on);
    }
    if (!result.violations.empty()) { return "the search ends at the first violation"; }
    if (result.budget_spent) { return fmt::format("not complete: the budget of {} is spent", arguments.budget_text); }
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
        text += fmt::format("  order {}: about {} schedules ({} to {}, from {} probes), {} run, about {} left\n",
                            trace::to_string(size.order), about(size.schedules.value), about(size.schedules.low),
                            about(size.schedules.high), size.probes, size.runs, spelled(size.seconds_left));
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

}  // namespace

ExitStatus explore_command(const Invocation& invocation, const Arguments& arguments) {
    const Subject subject = subject_of(invocation, arguments.scenario, arguments.planted);
    prepare_folder(arguments.out);
    SearchResult result = Search(subject, arguments).run();
    for (SearchResult::Violation& violation : result.violations) {
        require_replay(subject, violation.found);
        violation.file = write_found(invocation, arguments.out, violation.found.trace);
        violation.command = command_to_replay(invocation, violation.found.trace.recipe.seed, violation.file);
    }
    if (invocation.json) {
        fmt::print("{}", explore_json(result));
    } else {
        for (const SearchResult::Violation& violation : result.violations) {
            fmt::print("{}\n", trace::failure_text(violation.found.trace, way_to(violation.found), width_of(stdout)));
        }
        fmt::print("{}", summary_of(result, arguments));
        if (result.violations.empty()) { fmt::print("{}", risk_of(result.report)); }
        if (result.violations.empty()) { fmt::print("  nothing violated\n"); }
        for (const SearchResult::Violation& violation : result.violations) {
            fmt::print("trace written to {}; this replays it:\n{}\n", violation.file, violation.command);
        }
    }
    return result.violations.empty() ? ExitStatus::nothing_violated : ExitStatus::violated;
}

}  // namespace heddle::detail
