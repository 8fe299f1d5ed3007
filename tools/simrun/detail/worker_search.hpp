// SPDX-License-Identifier: Apache-2.0
// A search in worker processes: what the program does to its process does not end the search, and leaves a trace.
//
//   explore ─┬▶ worker: sim::explore, whole or one part of N ── found, progress, answers of the present run ──▶ Findings
//            └▶ worker: a slice of a reduced search ◀── lease ── LeaseBook
//                 │ died
//                 └▶ run_apart: the run that died, up to there ──▶ a trace
//
// WS1  A search in N workers runs what a search in one runs: reduced ones by leases, with the same traces; schedules by
//      number of deviations in parts that have nothing in common; samplers with a seed of its own for each part.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/lease_book.hpp"
#include "heddle/simreactor/explore/run_apart.hpp"
#include "heddle/tools/simrun/detail/audit.hpp"
#include "heddle/tools/simrun/detail/subject.hpp"

namespace heddle::detail {

/// A run that ended its process.
struct Crash {
    sim::Death death;
    sim::Found found;       ///< with the trace of it, shrunk as far as it goes
    std::string failure{};  ///< not empty: there is no trace that replays, and why
};

struct WorkerSearchResult {
    sim::Report report;            ///< of all workers; without crashes
    std::vector<Crash> crashes{};  ///< one for each way to die
    std::uint64_t deaths = 0;
    bool gave_up = false;                            ///< a worker died more often than it may
    std::uint64_t audited = 0;                       ///< runs that were repeated elsewhere
    std::optional<sim::LeaseBook::Snapshot> book{};  ///< a reduced search by leases: what is left of it
    std::string failure{};                           ///< not empty: a worker ended without a result, and why
};

/// How a search is divided, and what goes on around it.
struct WorkerOptions {
    unsigned jobs = 1;
    sim::Part shard{};
    sim::WorkerLimits limits{};
    bool audits = true;
    std::function<bool()> asked{};  ///< true once it should end with what it has
    std::function<void(const sim::Progress&)> progress{};
    bool keep_seen = false;        ///< Report::seen is asked for, also of an undivided sampler
    std::uint64_t first_part = 0;  ///< of a sampler: seeds that earlier calls have used
    /// A reduced search: where it begins; none: at its root, or with the leases of the shard.
    std::optional<sim::LeaseBook::Snapshot> book{};
    /// A reduced search has come to a state that can be gone on from. Called every few seconds, and at the end.
    std::function<void(const sim::LeaseBook::Snapshot&, const sim::Report&)> save{};
};

/// Limits that hold for every worker: a share of the machine's memory, and how long a run may do nothing.
[[nodiscard]] sim::WorkerLimits worker_limits(unsigned workers, double hang_seconds);

/// Requires: options.order, unless the strategy samples.
[[nodiscard]] WorkerSearchResult explore_in_workers(const Subject& subject, const sim::ExploreOptions& options,
                                                    const WorkerOptions& workers);

/// The run that died as a trace, as small as `runs_max` further runs make it.
[[nodiscard]] Crash crash_of(const Subject& subject, const trace::Recipe& recipe, sim::Death death,
                             const sim::WorkerLimits& limits, std::uint64_t runs_max);

/// Of the runs of a search in one order.
[[nodiscard]] trace::Recipe recipe_of_search(const Subject& subject, const sim::ExploreOptions& options,
                                             std::uint32_t tag);

/// What the workers of one search have found so far, each thing once.
class Findings {
public:
    Findings(const Subject& subject, const sim::ExploreOptions& options, const WorkerOptions& workers)
        : subject_(subject), options_(options), workers_(workers) {}

    /// Takes what a worker has told. Runs what died once more. @returns true if it has told a violation
    bool take(sim::Worker& worker);
    [[nodiscard]] bool violated() const { return !told_.empty(); }
    /// The program was seen to be no function of its choices: there is nothing to be searched.
    [[nodiscard]] bool failed() const;
    /// Into a result; what a worker told and could not report itself is not lost.
    void move_to(WorkerSearchResult& result);

private:
    const Subject& subject_;
    const sim::ExploreOptions& options_;
    const WorkerOptions& workers_;
    std::vector<sim::Found> told_;
    std::vector<Crash> crashes_;
    std::uint64_t deaths_ = 0;
    std::set<std::string> known_;
    std::array<std::unique_ptr<Audit>, sim::RunGuard::tags> audits_;  // by tag
};

/// One run in so many is audited.
inline constexpr std::uint64_t audit_every = 20;

/// Adds up the reports of parts that have nothing in common.
void add_report(sim::Report& all, sim::Report part);

}  // namespace heddle::detail
