// SPDX-License-Identifier: Apache-2.0
// The parts of a reduced search go out to workers, slice by slice, and come back.
//
//   LeaseBook ── take ──▶ a worker: run_slice ── done, or what is left and what was given away ──▶ give_back
//       ▲                                                                                            │
//       └──────────────────────────────────── somebody is idle: running slices are asked to give ◀───┘
//
// A slice is a process: it takes what this one knows with it, and its end is a checkpoint.
#include "heddle/tools/simrun/detail/lease_search.hpp"

#include <unistd.h>

#include <algorithm>
#include <unordered_set>

#include "heddle/core/base/assert.hpp"
#include "heddle/simreactor/explore/lease_json.hpp"
#include "heddle/simreactor/explore/report_wire.hpp"
#include "heddle/simreactor/explore/slice.hpp"
#include "heddle/simreactor/explore/wire.hpp"
#include "heddle/tools/simrun/detail/progress.hpp"

namespace heddle::detail {
namespace {

constexpr double save_seconds = 5;

class LeaseSearch {
public:
    LeaseSearch(const Subject& subject, const sim::ExploreOptions& options, const WorkerOptions& workers)
        : subject_(subject),
          options_(options),
          workers_(workers),
          findings_(subject, options, workers),
          begun_(seconds_now()) {
        result_.report.complete = true;
        result_.report.reduction = sim::to_string(*options.reduction);
        saved_ = begun_;
    }

    WorkerSearchResult run() {
        if (workers_.book) {
            book_ = sim::LeaseBook(*workers_.book);
        } else if (!plan()) {
            return finish();
        }
        while (step()) { ::usleep(500); }
        return finish();
    }

private:
    struct Running {
        std::uint64_t part = 0;
        std::unique_ptr<sim::Worker> worker;
    };

    [[nodiscard]] bool is_over() const {
        return stopped_ || !result_.failure.empty() || findings_.violated() || findings_.failed() || workers_.asked() ||
               (options_.seconds_max > 0 && seconds_now() - begun_ >= options_.seconds_max) ||
               runs() >= options_.runs_max;
    }
    [[nodiscard]] std::uint64_t runs() const { return result_.report.runs; }

    /// The leases to begin with. A shard's are planned in a worker: the program runs for it.
    bool plan() {
        if (workers_.shard.count == 1) {
            book_ = sim::LeaseBook({sim::Lease{}});
            return true;
        }
        sim::Worker planner(
            [this](sim::Seat&) {
                sim::WireWriter out;
                const std::vector<sim::Lease> leases =
                    sim::plan_leases(subject_.call, options_, 8 * workers_.shard.count);
                out.number(leases.size());
                for (const sim::Lease& lease : leases) { out.text(sim::to_json(lease)); }
                return std::move(out).bytes();
            },
            [this] {
                sim::WorkerLimits once = workers_.limits;
                once.deaths_max = 1;
                once.hang_seconds = 0;
                return once;
            }());
        planner.wait(&seconds_now);
        findings_.take(planner);
        if (!planner.result()) {
            result_.failure = "the search could not be divided: " + planner.failure();
            return false;
        }
        sim::WireReader in(*planner.result());
        std::vector<sim::Lease> own;
        const std::uint64_t count = in.number();
        for (std::uint64_t i = 0; i < count; ++i) {
            Result<sim::Lease> lease = sim::lease_from_json(in.text(), "a planned lease");
            if (!lease) { throw HarnessFailure{lease.error().text()}; }
            if (i % workers_.shard.count == workers_.shard.index) { own.push_back(*std::move(lease)); }
        }
        book_ = sim::LeaseBook(own);
        return true;
    }

    /// @returns false when nothing is left to do
    bool step() {
        const bool over = is_over();
        while (!over && running_.size() < workers_.jobs) {
            const std::optional<std::uint64_t> part = book_.take();
            if (!part) { break; }
            running_.push_back({*part, start(book_.input(*part))});
        }
        const std::size_t idle = workers_.jobs - running_.size();
        // One part more than workers, so that nobody waits for the next one.
        const bool hungry = workers_.jobs > 1 && book_.ready() < idle + 1;
        std::uint64_t now_running = 0;
        for (std::size_t i = 0; i < running_.size();) {
            sim::Worker& worker = *running_[i].worker;
            worker.set_wish(hungry ? sim::wish_for_work : 0);
            if (over) { worker.stop(); }
            const bool works = worker.poll(seconds_now());
            findings_.take(worker);
            now_running += worker.progress().runs;
            if (works) {
                ++i;
                continue;
            }
            const Running ended = std::move(running_[i]);
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            take_back(ended);
        }
        sim::Progress progress;
        progress.runs = runs() + now_running;
        progress.distinct = traces() + now_running;
        progress.order = *options_.order;
        workers_.progress(progress);
        save_now_and_then();
        if (running_.empty() && (over || book_.is_done())) { return false; }
        HEDDLE_ASSERT(!running_.empty() || book_.ready() > 0, "LB1: a part that waits has somebody to wait for");
        return true;
    }

    std::unique_ptr<sim::Worker> start(const sim::SliceInput& input) {
        sim::ExploreOptions options = options_;
        options.seconds_max = 0;
        options.runs_max = options_.runs_max - runs();
        options.clock = &seconds_now;
        return std::make_unique<sim::Worker>(
            [this, &input, options](sim::Seat& seat) {
                sim::ExploreOptions inside = options;
                inside.stop = [&seat] { return seat.is_stopped(); };
                inside.on_found = [&seat](const sim::Found& found) { seat.tell(sim::to_bytes(found)); };
                inside.progress = [&seat](const sim::Progress& now) {
                    seat.show(now.runs, now.distinct, now.depth, 0);
                };
                inside.progress_every = 64;
                seat.sample_every = workers_.audits ? audit_every : 0;
                sim::WireWriter out;
                try {
                    auto [report, result] = sim::run_slice(subject_.call, std::move(inside), input, {}, seat);
                    out.number(0).text(sim::to_bytes(report)).text(sim::to_json(result));
                } catch (const HarnessFailure& failure) {
                    out.number(1).text(failure.text);
                } catch (const std::exception& error) { out.number(1).text(error.what()); }
                return std::move(out).bytes();
            },
            workers_.limits);
    }

    void take_back(const Running& ended) {
        if (!ended.worker->result()) {
            if (result_.failure.empty()) { result_.failure = ended.worker->failure(); }
            result_.gave_up = true;
            book_.put_back(ended.part);
            return;
        }
        sim::WireReader in(*ended.worker->result());
        if (in.number() != 0) {
            if (result_.failure.empty()) { result_.failure = in.text(); }
            book_.put_back(ended.part);
            return;
        }
        sim::Report report = sim::report_from(in.text());
        Result<sim::SliceResult> back = sim::slice_from_json(in.text(), "a slice");
        if (!back) { throw HarnessFailure{back.error().text()}; }
        if (back->state == sim::SliceResult::State::restart) {
            begin_anew(*back, report);
            return;
        }
        for (const std::uint64_t hash : report.seen) { seen_.insert(hash); }
        report.seen.clear();
        report.stopped = false;
        report.complete = report.cut == 0;  // of the schedules that it ran; what is left is in the book
        add_report(result_.report, std::move(report));
        book_.give_back(ended.part, *std::move(back));
    }

    /// What all parts relied on does not hold: they count for nothing (ReducedSearch RS4, RS6).
    void begin_anew(const sim::SliceResult& back, const sim::Report& report) {
        running_.clear();
        if (workers_.shard.count > 1) {
            result_.failure =
                "a schedule behind the division into shards changed what steps depend on; search without --shard";
            return;
        }
        const std::uint64_t runs = result_.report.runs + report.runs;
        result_.report = {};
        result_.report.complete = true;
        result_.report.reduction = sim::to_string(*options_.reduction);
        result_.report.runs = runs;
        seen_.clear();
        sim::Lease root;
        root.whole_loop = back.lease.whole_loop;
        root.orders_shown = back.lease.orders_shown;
        root.zombies_shown = back.lease.zombies_shown;
        root.memory = back.lease.memory;
        book_ = sim::LeaseBook({root});
    }

    [[nodiscard]] std::uint64_t traces() const {
        return options_.reduction == sim::Reduction::none ? seen_.size() : result_.report.traces;
    }

    [[nodiscard]] sim::Report report() const {
        sim::Report report = result_.report;
        report.traces = traces();
        report.seen.assign(seen_.begin(), seen_.end());
        std::ranges::sort(report.seen);
        return report;
    }

    void save_now_and_then() {
        const double now = seconds_now();
        if (!workers_.save || now - saved_ < save_seconds) { return; }
        sim::Report report = this->report();
        report.stopped = true;
        report.complete = false;
        report.seconds = now - begun_;
        workers_.save(book_.snapshot(), report);
        saved_ = seconds_now();
    }

    WorkerSearchResult finish() {
        result_.report = report();
        const bool done = book_.is_done() && result_.failure.empty();
        result_.report.stopped = !done;
        result_.report.complete = result_.report.complete && done;
        result_.report.seconds = seconds_now() - begun_;
        result_.book = book_.snapshot();
        findings_.move_to(result_);
        return std::move(result_);
    }

    const Subject& subject_;
    const sim::ExploreOptions& options_;
    const WorkerOptions& workers_;
    Findings findings_;
    sim::LeaseBook book_;
    std::vector<Running> running_;
    WorkerSearchResult result_;
    std::unordered_set<std::uint64_t> seen_;  // sorted before anybody walks it
    double begun_;
    double saved_ = 0;
    bool stopped_ = false;
};

}  // namespace

WorkerSearchResult explore_by_leases(const Subject& subject, const sim::ExploreOptions& options,
                                     const WorkerOptions& workers) {
    return LeaseSearch(subject, options, workers).run();
}

}  // namespace heddle::detail
