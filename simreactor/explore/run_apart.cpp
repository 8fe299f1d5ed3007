// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/run_apart.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "heddle/core/base/assert.hpp"
#include "heddle/simreactor/chooser/answers.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::sim {
namespace {

ApartResult finished(Worker& worker) {
    ApartResult result;
    for (Death& death : worker.take_deaths()) { result.death = std::move(death); }
    if (!worker.result()) {
        result.failure = worker.failure();
        return result;
    }
    Result<trace::Trace> read = trace::from_json(*worker.result(), "a worker's trace");
    if (read) {
        result.trace = *std::move(read);
    } else {
        result.failure = read.error().text();
    }
    return result;
}

}  // namespace

void Watch::count() {
    seat_.count_event(++count_);
    // Observers are called from every place of the runtime that tells something, as judges are; they may end the run
    // there.
    if (count_ == until_) { report_violation({name_, "the process died behind this", "", 0}); }
}

ApartResult run_apart(const std::function<trace::Trace(Watch&)>& run, const ApartOptions& options) {
    WorkerLimits limits = options.limits;
    limits.deaths_max = 1;
    const auto once = [&](std::uint64_t until, const std::string& name) {
        Worker worker(
            [&](Seat& seat) {
                if (options.quiet || until > 0) {
                    if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0) {
                        ::dup2(nowhere, STDERR_FILENO);
                    }
                }
                Watch watch(seat, until, name);
                return trace::to_json(run(watch));
            },
            limits);
        worker.wait(options.clock);
        return finished(worker);
    };
    ApartResult first = once(0, "");
    if (!first.death) { return first; }
    if (first.death->events == 0) {
        first.failure = first.death->text() + " before the run had begun";
        return first;
    }
    ApartResult second = once(first.death->events, first.death->name());
    if (second.failure.empty() && second.trace.outcome.invariant != first.death->name()) {
        second.failure = "the run that died is another one when it is run again";
    }
    if (second.failure.empty()) {
        trace::Outcome& outcome = second.trace.outcome;
        outcome.kind = trace::OutcomeKind::crashed;
        outcome.message = first.death->text();
        outcome.file.clear();
        outcome.line = 0;
        outcome.mode = mode_of(second.trace);
    }
    second.death = std::move(first.death);
    return second;
}

ApartResult record_apart(const ScenarioCall& call, const trace::Recipe& recipe,
                         const std::vector<std::uint32_t>& answers, const ApartOptions& options, bool keep_events) {
    return run_apart(
        [&](Watch& watch) {
            AnswersChooser chooser(answers);
            return record(call, recipe, &chooser, keep_events, {&watch}, &watch);
        },
        options);
}

ApartResult replay_apart(const ScenarioCall& call, const trace::Trace& trace, ReplayMode mode,
                         const ApartOptions& options, bool keep_events) {
    return run_apart(
        [&](Watch& watch) {
            ReplayOptions replaying;
            replaying.mode = mode;
            replaying.keep_events = keep_events;
            replaying.observers = {&watch};
            replaying.guard = &watch;
            return replay(call, trace, replaying).trace;
        },
        options);
}

}  // namespace heddle::sim
