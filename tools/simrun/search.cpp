// SPDX-License-Identifier: Apache-2.0
// A search through the schedules of a scenario.
//
//   systematic   faithful, half of the budget ── nothing violated ──▶ any, what is left of it
//   samplers     both in turns, in one search; one after the other where a file keeps what is known of each
//
// A failure is looked for under the weakest assumption first: what production can do today (order `faithful`). A run
// that ends its process does not end the search.
#include "heddle/tools/simrun/detail/search.hpp"

#include <algorithm>
#include <limits>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/world/memory_watch.hpp"
#include "heddle/tools/simrun/detail/interrupt.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"
#include "heddle/tools/simrun/detail/worker_search.hpp"
#include "heddle/traces/trace_file.hpp"

namespace heddle::detail {
namespace {

class Search {
public:
    Search(const Subject& subject, const Arguments& arguments, CampaignStore* store)
        : subject_(subject),
          arguments_(arguments),
          store_(store),
          progress_(stderr, arguments.budget.seconds, arguments.budget.runs),
          started_(seconds_now()) {
        result_.scenario = subject.call.text();
        result_.seed = arguments.seed.value_or(1);
        result_.strategy = arguments.strategy;
        result_.order = arguments.order ? std::string(trace::to_string(*arguments.order)) : "both";
        result_.time = arguments.time.value_or(trace::TimeLevel::T1);
    }

    SearchResult run() {
        recall_violations();
        std::vector<std::optional<trace::Order>> orders{trace::Order::faithful, trace::Order::any};
        if (arguments_.order) {
            orders = {*arguments_.order};
        } else if (takes_turns()) {
            orders = {std::nullopt};
        }
        bool complete = true;
        for (std::size_t i = 0; i < orders.size(); ++i) {
            const std::size_t orders_left = orders.size() - i;
            CampaignFile::Order* const known =
                store_ != nullptr ? store_->file().order(std::string(trace::to_string(*orders[i]))) : nullptr;
            if (known != nullptr && known->over) {
                result_.deaths += known->deaths;
                add(known->report, i > 0);
                complete = complete && known->report.complete;
                continue;
            }
            if (!affords(orders_left)) {
                complete = false;
                result_.budget_spent = true;
                break;
            }
            const sim::Report report = search(orders[i], orders_left, known);
            add(report, i > 0);
            complete = complete && report.complete;
            if (violated_ || interrupt_.asked() || !result_.failure.empty()) {
                complete = complete && orders_left == 1;
                break;
            }
        }
        progress_.done();
        result_.interrupted = interrupt_.asked();
        result_.report.complete = complete && result_.violations.empty();
        result_.report.seconds = seconds_now() - started_;
        if (result_.failure.empty()) { result_.failure = std::move(store_failure_); }
        return std::move(result_);
    }

private:
    [[nodiscard]] std::uint64_t runs_left() const {
        return arguments_.budget.runs == 0 ? std::numeric_limits<std::uint64_t>::max()
                                           : arguments_.budget.runs - std::min(arguments_.budget.runs, runs_done_);
    }
    [[nodiscard]] double seconds_left() const { return arguments_.budget.seconds - (seconds_now() - started_); }
    [[nodiscard]] bool affords(std::size_t orders_left) const {
        const bool first = orders_left > 1 || arguments_.order.has_value() || takes_turns();
        return runs_left() > 0 && (first || arguments_.budget.seconds == 0 || seconds_left() > 0);
    }

    /// Both orders in one search.
    [[nodiscard]] bool takes_turns() const { return sim::is_sampler(arguments_.strategy) && store_ == nullptr; }

    /// What a folder knows already is part of the result.
    void recall_violations() {
        if (store_ == nullptr) { return; }
        for (const CampaignFile::Violation& known : store_->file().violations) {
            const std::string& own = store_->path();
            const std::size_t slash = own.rfind('/');
            const std::string path = (slash == std::string::npos ? "" : own.substr(0, slash + 1)) + known.trace;
            Result<trace::Trace> trace = trace::read_trace(path);
            if (!trace) { throw UnusableInput{trace.error()}; }
            SearchResult::Violation violation;
            violation.file = path;
            violation.found.invariant = known.invariant;
            violation.found.message = known.message;
            violation.found.mode = known.mode;
            violation.found.trace = *std::move(trace);
            violation.found.decisions_found = violation.found.trace.decisions.size();
            result_.violations.push_back(std::move(violation));
        }
    }

    /// @param order  none: both in turns, without a store
    /// @param known  what an earlier call has done of it; may be null
    sim::Report search(std::optional<trace::Order> order, std::size_t orders_left, const CampaignFile::Order* known) {
        sim::ExploreOptions options;
        options.strategy = arguments_.strategy;
        options.order = order;
        options.time = result_.time;
        options.bound = arguments_.bound;
        options.bound_kind = arguments_.bound_kind;
        options.depth = arguments_.depth;
        options.reduction = arguments_.reduction;
        options.sharing_any = arguments_.sharing_any;
        options.sharing_declared = arguments_.sharing_declared;
        options.audit_sharing = arguments_.audit_sharing;
        options.seed = result_.seed;
        const std::uint64_t runs = runs_left();
        options.runs_max = orders_left > 1 && arguments_.budget.runs != 0 ? runs - runs / 2 : runs;
        if (arguments_.budget.seconds > 0) {
            options.seconds_max = std::max(seconds_left() / static_cast<double>(orders_left), 0.001);
        }
        options.clock = &seconds_now;
        options.stop = [this] { return interrupt_.asked(); };
        options.progress_every = 16;
        options.progress = [this, order](const sim::Progress& progress) {
            progress_.show({trace::to_string(order.value_or(progress.order)), result_.report.runs + progress.runs,
                            result_.report.traces + progress.distinct, progress.depth, progress.schedules});
        };
        if (arguments_.jobs == 0) {
            sim::Report report = sim::explore(subject_.call, options);
            runs_done_ += report.runs;
            return report;
        }
        WorkerOptions workers;
        workers.jobs = arguments_.jobs;
        workers.shard = arguments_.shard;
        workers.limits = worker_limits(arguments_.jobs, arguments_.hang_seconds);
        workers.audits = arguments_.audits;
        workers.asked = options.stop;
        workers.progress = options.progress;
        CampaignFile::Order before;
        before.name = order ? trace::to_string(*order) : "";
        before.report.complete = true;
        if (known != nullptr) { before = *known; }
        if (store_ != nullptr) {
            workers.keep_seen = true;
            workers.first_part = before.parts;
            workers.book = before.book;
            workers.save = [&](const sim::LeaseBook::Snapshot& book, const sim::Report& report) {
                keep(before, report, 0, book);
            };
        }
        WorkerSearchResult searched = explore_in_workers(subject_, options, workers);
        runs_done_ += searched.report.runs;
        result_.deaths += before.deaths + searched.deaths;
        result_.audited += searched.audited;
        result_.gave_up = result_.gave_up || searched.gave_up;
        if (result_.failure.empty()) { result_.failure = std::move(searched.failure); }
        for (Crash& crash : searched.crashes) {
            if (!crash.failure.empty() && result_.failure.empty()) {
                result_.failure = "a run ended its process (" + crash.death.text() +
                                  "), and that run by itself does not: " + crash.failure;
            }
            crash.found.runs += result_.report.runs;
            result_.violations.push_back({std::move(crash.found), {}, {}});
        }
        if (store_ == nullptr) { return std::move(searched.report); }
        sim::Report all = keep(before, searched.report, searched.deaths, std::move(searched.book));
        all.violations = std::move(searched.report.violations);
        return all;
    }

    /// Writes what is known of one order now. @returns it
    sim::Report keep(const CampaignFile::Order& before, const sim::Report& report, std::uint64_t deaths,
                     std::optional<sim::LeaseBook::Snapshot> book) {
        CampaignFile::Order now = before;
        const std::vector<std::uint64_t> seen = report.seen;
        sim::Report part = report;
        part.seen.clear();
        for (sim::SampleRisk& risk : part.risks) { risk.drawn.clear(); }  // it speaks of this call alone
        part.violations.clear();
        part.violation.reset();
        const bool first = before.report.runs == 0;
        const double seconds = before.report.seconds + report.seconds;
        add_report(now.report, part);
        now.report.seconds = seconds;
        now.report.stopped = report.stopped;
        now.deaths += deaths;
        now.over = !report.stopped;
        if (arguments_.strategy != sim::Strategy::exhaustive) { now.parts += arguments_.jobs; }
        now.report.complete = report.complete && before.report.cut == 0;
        now.book = now.over ? std::nullopt : std::move(book);
        if (!seen.empty() || !first) {
            // One set for both orders: the last bit says which.
            const std::uint64_t bit = before.name == "any" ? 1 : 0;
            std::vector<std::uint64_t>& all = store_->seen();
            for (const std::uint64_t hash : seen) { all.push_back((hash & ~std::uint64_t{1}) | bit); }
            std::ranges::sort(all);
            all.erase(std::unique(all.begin(), all.end()), all.end());
            const auto own = static_cast<std::uint64_t>(
                std::ranges::count_if(all, [bit](std::uint64_t hash) { return (hash & 1) == bit; }));
            if (own > 0) { now.report.traces = own; }
            store_->file().has_seen = store_->file().has_seen || !all.empty();
        }
        CampaignFile& file = store_->file();
        if (CampaignFile::Order* const place = file.order(now.name); place != nullptr) {
            *place = now;
        } else {
            file.orders.push_back(now);
        }
        store_failure_ = store_->write();
        if (!store_failure_.empty()) {
            store_failure_ = "the search's own file could not be written: " + store_failure_;
        }
        return now.report;
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
        all.faults.add(report.faults);
        if (!report.bound.empty()) { all.bound = report.bound; }
        all.sizes.insert(all.sizes.end(), report.sizes.begin(), report.sizes.end());
        all.risks.insert(all.risks.end(), report.risks.begin(), report.risks.end());
        result_.budget_spent = result_.budget_spent || (report.stopped && !interrupt_.asked());
        for (const sim::Found& found : report.violations) {
            violated_ = true;
            result_.violations.push_back({found, {}, {}});
            result_.violations.back().found.runs += runs_before;
        }
    }

    const Subject& subject_;
    const Arguments& arguments_;
    CampaignStore* store_;
    Interrupt interrupt_;
    Progress progress_;
    double started_;
    std::uint64_t runs_done_ = 0;
    bool violated_ = false;  // which ends a search; a crash does not
    std::string store_failure_;
    SearchResult result_;
};

}  // namespace

std::map<std::string, std::string> search_of(const Subject& subject, const Arguments& arguments) {
    return {{"scenario", subject.call.text()},
            {"planted", subject.scenario->planted},
            {"seed", std::to_string(arguments.seed.value_or(1))},
            {"strategy", std::string(sim::to_string(arguments.strategy))},
            {"reduction", arguments.reduction ? std::string(sim::to_string(*arguments.reduction)) : ""},
            {"sharing", arguments.sharing_any ? "any" : sim::has_memory_hooks() && !arguments.sharing_declared ? "instrumented" : "declared"},
            {"bound", sim::bound_text(arguments.bound, arguments.bound_kind)},
            {"depth", arguments.strategy == sim::Strategy::pct ? std::to_string(arguments.depth) : ""},
            {"order", arguments.order ? std::string(trace::to_string(*arguments.order)) : "both"},
            {"time", std::string(trace::to_string(arguments.time.value_or(trace::TimeLevel::T1)))}};
}

SearchResult search(const Subject& subject, const Arguments& arguments, CampaignStore* store) {
    return Search(subject, arguments, store).run();
}

}  // namespace heddle::detail
