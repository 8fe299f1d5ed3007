// SPDX-License-Identifier: Apache-2.0
// The search in a worker, and what becomes of a run that kills it.
#include "heddle/tools/simrun/detail/worker_search.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/explore/minimize.hpp"
#include "heddle/simreactor/explore/report_wire.hpp"
#include "heddle/simreactor/explore/wire.hpp"
#include "heddle/tools/simrun/detail/lease_search.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"

namespace heddle::detail {
namespace {

enum Word : std::uint64_t { told_report = 0, told_failure = 1 };

/// What the worker's part of the search returns, whatever happens in it short of death.
std::string searched(const Subject& subject, const sim::ExploreOptions& options) {
    sim::WireWriter out;
    try {
        const sim::Report report = sim::explore(subject.call, options);
        out.number(told_report).text(sim::to_bytes(report));
    } catch (const HarnessFailure& failure) {
        out.number(told_failure).text(failure.text);
    } catch (const std::exception& error) { out.number(told_failure).text(error.what()); }
    return std::move(out).bytes();
}

std::uint64_t machine_memory() {
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long size = ::sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

}  // namespace

sim::WorkerLimits worker_limits(unsigned workers, double hang_seconds) {
    sim::WorkerLimits limits;
    limits.hang_seconds = hang_seconds;
    limits.memory_bytes = machine_memory() / 10 * 6 / std::max(workers, 1U);
    return limits;
}

trace::Recipe recipe_of_search(const Subject& subject, const sim::ExploreOptions& options, std::uint32_t tag) {
    trace::Recipe recipe;
    recipe.scenario = subject.scenario->name;
    recipe.parameters = subject.call.parameters.values();
    recipe.planted = subject.scenario->planted;
    recipe.strategy = std::string(sim::to_string(options.strategy));
    recipe.bound = sim::bound_text(options.bound, options.bound_kind);
    sim::WorldOptions world;
    world.seed = options.seed;
    world.order = sim::RunGuard::order_of(tag);
    world.timing = sim::Timing::at(options.time);
    if (subject.scenario->world) { subject.scenario->world(world); }
    sim::describe_world(world, recipe);
    if (sim::RunGuard::asks_one_question(tag)) { sim::ask_one_question(recipe); }
    return recipe;
}

Crash crash_of(const Subject& subject, const trace::Recipe& recipe, sim::Death death, const sim::WorkerLimits& limits,
               std::uint64_t runs_max) {
    Crash crash;
    sim::ApartOptions apart{limits, &seconds_now};
    // One that hung is known to hang: it need not take its full time again and again.
    if (death.kind == sim::Death::Kind::hang) { apart.limits.hang_seconds = std::min(limits.hang_seconds, 2.0); }
    sim::ApartResult again = sim::record_apart(subject.call, recipe, death.answers, apart);
    crash.death = std::move(death);
    crash.found.invariant = crash.death.name();
    crash.found.message = crash.death.text();
    crash.found.runs = crash.death.run;
    if (!again.failure.empty()) {
        crash.failure = again.failure;
        return crash;
    }
    if (!again.death) {
        crash.failure = "the same schedule in a fresh process ends with " +
                        std::string(to_string(again.trace.outcome.kind)) +
                        ": the program depends on what earlier runs left behind";
        again.trace.outcome.kind = trace::OutcomeKind::crashed;
        again.trace.outcome.invariant = crash.death.name();
        again.trace.outcome.message = crash.death.text();
        again.trace.outcome.mode = sim::mode_of(again.trace);
    }
    crash.found.decisions_found = again.trace.decisions.size();
    crash.found.trace = std::move(again.trace);
    if (crash.failure.empty() && runs_max > 0) {
        const sim::TryDecisions attempt =
            [&](const std::vector<trace::Decision>& decisions) -> std::optional<trace::Trace> {
            trace::Trace candidate = crash.found.trace;
            candidate.decisions = decisions;
            sim::ApartResult tried = sim::replay_apart(subject.call, candidate, sim::ReplayMode::carry_on, apart);
            if (!tried.failure.empty() || !tried.trace.outcome.same_end(crash.found.trace.outcome)) {
                return std::nullopt;
            }
            return std::move(tried.trace);
        };
        sim::MinimizeResult shrunk = sim::minimize(crash.found.trace, attempt, runs_max);
        crash.found.trace = std::move(shrunk.trace);
        crash.found.shrink_runs = shrunk.runs;
    }
    crash.found.mode = crash.found.trace.outcome.mode;
    return crash;
}

// ── what was found ──

namespace {

/// Of two traces of one violation: under the weaker assumption, then the smaller one.
bool is_better(const trace::Trace& trace, const trace::Trace& than) {
    if (trace.recipe.order != than.recipe.order) { return trace.recipe.order == trace::Order::faithful; }
    return trace.decisions.size() < than.decisions.size();
}

}  // namespace

bool Findings::take(sim::Worker& worker) {
    bool told = false;
    for (const std::string& message : worker.take_messages()) {
        told = true;
        sim::Found found = sim::found_from(message);
        // What was told before a death is found and told again, and workers may find the same.
        const auto same = [&found](const sim::Found& other) { return other.invariant == found.invariant; };
        const auto known = std::ranges::find_if(told_, same);
        if (known == told_.end()) {
            told_.push_back(std::move(found));
        } else if (is_better(found.trace, known->trace)) {
            *known = std::move(found);
        }
    }
    for (sim::Sample& sample : worker.take_samples()) {
        std::unique_ptr<Audit>& audit = audits_.at(sample.tag);
        if (!audit) {
            const trace::Recipe recipe = recipe_of_search(subject_, options_, sample.tag);
            audit = std::make_unique<Audit>(subject_.call.text(), recipe);
        }
        audit->offer(std::move(sample), seconds_now());
    }
    bool wanted = true;
    for (const auto& audit : audits_) { wanted = (!audit || audit->pump(seconds_now())) && wanted; }
    worker.want_samples(wanted);
    for (sim::Death& death : worker.take_deaths()) {
        ++deaths_;
        if (death.recording || !known_.insert(death.name()).second) { continue; }
        const bool hung = death.kind == sim::Death::Kind::hang;
        const trace::Recipe recipe = recipe_of_search(subject_, options_, death.tag);
        crashes_.push_back(crash_of(subject_, recipe, std::move(death), workers_.limits,
                                    workers_.asked() ? 0
                                    : hung           ? 20
                                                     : 300));
    }
    return told;
}

bool Findings::failed() const {
    return std::ranges::any_of(audits_, [](const auto& audit) { return audit && !audit->failure().empty(); });
}

void Findings::move_to(WorkerSearchResult& result) {
    for (const auto& audit : audits_) {
        if (!audit) { continue; }
        audit->finish();
        result.audited += audit->audited();
        if (!audit->failure().empty() && result.failure.empty()) { result.failure = audit->failure(); }
    }
    result.deaths = deaths_;
    // A worker that died too often has left traces of it: that is a finding, and no fault of the harness.
    if (result.gave_up && !crashes_.empty()) { result.failure.clear(); }
    result.crashes = std::move(crashes_);
    result.report.violations = std::move(told_);
    if (!result.report.violations.empty()) { result.report.violation = result.report.violations.front(); }
    if (deaths_ > 0 || !result.report.violations.empty()) { result.report.complete = false; }
}

void add_report(sim::Report& all, sim::Report part) {
    all.complete = all.complete && part.complete;
    all.rests_on = part.rests_on;
    all.reduction = part.reduction;
    if (!part.bound.empty()) { all.bound = part.bound; }
    all.runs += part.runs;
    all.traces += part.traces;
    all.redundant += part.redundant;
    all.cut += part.cut;
    all.faults.add(part.faults);
    all.audited += part.audited;
    all.stopped = all.stopped || part.stopped;
    all.seen.insert(all.seen.end(), part.seen.begin(), part.seen.end());
    all.sizes.insert(all.sizes.end(), part.sizes.begin(), part.sizes.end());
    for (sim::SampleRisk& risk : part.risks) {
        const auto known = std::ranges::find(all.risks, risk.order, &sim::SampleRisk::order);
        if (known == all.risks.end()) {
            all.risks.push_back(std::move(risk));
        } else {
            sim::add_risk(*known, risk);
        }
    }
}

// ── whole searches, and parts of them ──

namespace {

/// One report by one worker: the search itself, or a part of it.
class Part {
public:
    Part(const Subject& subject, const sim::ExploreOptions& options, const WorkerOptions& workers)
        : worker_(
              [&subject, options, audits = workers.audits](sim::Seat& seat) {
                  sim::ExploreOptions inside = options;
                  inside.guard = &seat;
                  inside.clock = &seconds_now;
                  inside.stop = [&seat] { return seat.is_stopped(); };
                  inside.on_found = [&seat](const sim::Found& found) { seat.tell(sim::to_bytes(found)); };
                  inside.progress = [&seat](const sim::Progress& now) {
                      seat.show(now.runs, now.distinct, now.depth, static_cast<std::uint32_t>(now.order), now.schedules);
                  };
                  inside.progress_every = 64;
                  seat.clock = &seconds_now;
                  seat.sample_every = audits ? audit_every : 0;
                  return searched(subject, inside);
              },
              workers.limits) {}

    sim::Worker& worker() { return worker_; }
    /// It has found what it looks for, and ends by itself: one that takes turns looks for it in the faithful order first.
    bool has_told = false;
    /// Requires: it has ended.
    void add_to(WorkerSearchResult& result) const {
        if (worker_.result()) {
            sim::WireReader in(*worker_.result());
            if (in.number() == told_report) {
                add_report(result.report, sim::report_from(in.text()));
                return;
            }
            result.failure = in.text();
        } else {
            result.gave_up = true;
            result.failure = worker_.failure();
        }
        // What it had done by then.
        const sim::Worker::Progress last = worker_.progress();
        sim::Report report;
        report.runs = last.runs;
        report.traces = last.distinct;
        report.stopped = true;
        add_report(result.report, std::move(report));
    }

private:
    sim::Worker worker_;
};

WorkerSearchResult explore_in_parts(const Subject& subject, const sim::ExploreOptions& options,
                                    const WorkerOptions& workers) {
    WorkerSearchResult result;
    result.report.complete = true;
    Findings findings(subject, options, workers);
    const std::uint64_t count = workers.shard.count * workers.jobs;
    const bool samples = options.strategy != sim::Strategy::exhaustive;
    std::vector<std::unique_ptr<Part>> parts;
    for (std::uint64_t i = 0; i < workers.jobs; ++i) {
        sim::ExploreOptions own = options;
        own.part = {workers.shard.index * workers.jobs + i, count};
        if (samples) { own.part.index = (workers.first_part + i) * workers.shard.count + workers.shard.index; }
        own.keep_seen = samples && (count > 1 || workers.keep_seen);
        own.runs_max = options.runs_max / workers.jobs + (i < options.runs_max % workers.jobs ? 1 : 0);
        if (own.runs_max > 0) { parts.push_back(std::make_unique<Part>(subject, own, workers)); }
    }
    for (std::size_t working = parts.size(); working > 0;) {
        working = 0;
        sim::Progress all;
        for (const auto& part : parts) {
            working += part->worker().poll(seconds_now()) ? 1U : 0U;
            part->has_told = findings.take(part->worker()) || part->has_told;
            const sim::Worker::Progress now = part->worker().progress();
            all.runs += now.runs;
            all.distinct += now.distinct;
            all.depth = std::max(all.depth, now.depth);
            all.schedules = std::max(all.schedules, now.schedules);
            all.order = static_cast<trace::Order>(now.phase);
        }
        const bool asked = workers.asked() || findings.failed();
        for (const auto& part : parts) {
            if (asked || (findings.violated() && !part->has_told)) { part->worker().stop(); }
        }
        workers.progress(all);
        if (working > 0) { ::usleep(2000); }
    }
    for (const auto& part : parts) { part->add_to(result); }
    if (samples && (count > 1 || workers.keep_seen)) {
        auto& seen = result.report.seen;
        std::ranges::sort(seen);
        seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
        result.report.traces = seen.size();
    }
    findings.move_to(result);
    return result;
}

}  // namespace

WorkerSearchResult explore_in_workers(const Subject& subject, const sim::ExploreOptions& options,
                                      const WorkerOptions& workers) {
    const bool divisible = options.reduction && options.reduction != sim::Reduction::optimal;
    const bool divided = workers.jobs > 1 || workers.shard.count > 1 || workers.save || workers.book;
    if (divisible && divided) { return explore_by_leases(subject, options, workers); }
    return explore_in_parts(subject, options, workers);
}

}  // namespace heddle::detail
