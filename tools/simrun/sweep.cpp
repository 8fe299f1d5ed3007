// SPDX-License-Identifier: Apache-2.0
// simrun sweep: one thing goes wrong at every place where it could, then two, in a world that is production's otherwise.
//
//   baseline ──▶ the places that it passes ── each alone ──▶ violated ──▶ a line, a trace
//                                                 └─ went well: the places behind it ── each beside it ──▶ …
//
// SP1  A place is the end of a step with a coroutine that lives, or whatever asks whether it fails (simreactor/world/sweep.hpp).
// SP2  A pair is tried in the run in which its first half went well alone, so that its second half is a place that this run passes.
// SP3  What is told as complete was run: a budget or Ctrl-C that ends it earlier says so.
// Chance: none.
#include "heddle/simreactor/world/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
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

/// Where something goes wrong in a run, by number of the question, and how.
struct Fault {
    std::size_t question = 0;
    std::uint32_t answer = 0;
};

/// Answers some questions as planned and the others as production does, and counts what there was to ask.
class PlannedFaults final : public Chooser {
public:
    explicit PlannedFaults(const std::vector<Fault>& plan) : plan_(plan) {}

    std::uint32_t choose(const ChoicePoint& point) override {
        const std::size_t question = counts_.size();
        counts_.push_back(point.count);
        const auto planned = std::ranges::find(plan_, question, &Fault::question);
        return planned == plan_.end() ? 0 : std::min(planned->answer, point.count - 1);
    }

    /// Alternatives of each question.
    [[nodiscard]] const std::vector<std::uint32_t>& counts() const { return counts_; }

private:
    const std::vector<Fault>& plan_;
    std::vector<std::uint32_t> counts_;
};

/// "main/b:cancelled#7", or with an answer that is not the only one: "main/b:read=2".
std::string spelled(const trace::Decision& decision) {
    return decision.count > 2 ? fmt::format("{}={}", decision.at, decision.choose) : decision.at;
}

class Sweep {
public:
    Sweep(const Invocation& invocation, const Arguments& arguments, const Subject& subject)
        : invocation_(invocation), arguments_(arguments), subject_(subject), progress_(stderr, arguments.budget.seconds, arguments.budget.runs) {
        sim::WorldOptions world;
        if (subject.scenario->world) { subject.scenario->world(world); }
        sim::describe_world(world, recipe_);
        recipe_.scenario = subject.scenario->name;
        recipe_.parameters = subject.call.parameters.values();
        recipe_.planted = subject.scenario->planted;
        recipe_.strategy = "sweep";
        recipe_.knobs[std::string(sim::sweep_knob)] = sim::to_string(arguments.sweep);
        result_.scenario = subject.call.text();
        result_.of = sim::to_string(arguments.sweep);
    }

    SweepResult run() {
        if (const std::optional<std::vector<std::uint32_t>> places = attempt({})) {
            for (const std::uint32_t count : *places) { result_.places += count - 1; }
            singles(*places);
            if (arguments_.faults > 1) { pairs(); }
        }
        progress_.done();
        result_.complete = !result_.interrupted && !result_.budget_spent;
        result_.seconds = seconds_now() - started_;
        return std::move(result_);
    }

private:
    struct Single {
        Fault fault;
        std::vector<std::uint32_t> places;  // of its run
    };

    void singles(const std::vector<std::uint32_t>& places) {
        for (std::size_t question = 0; question < places.size(); ++question) {
            for (std::uint32_t answer = 1; answer < places[question]; ++answer) {
                if (over()) { return; }
                ++result_.singles;
                if (auto passed = attempt({{question, answer}})) { singles_.push_back({{question, answer}, *std::move(passed)}); }
            }
        }
    }

    void pairs() {
        for (const Single& first : singles_) {
            for (std::size_t question = first.fault.question + 1; question < first.places.size(); ++question) {
                for (std::uint32_t answer = 1; answer < first.places[question]; ++answer) {
                    if (over()) { return; }
                    ++result_.pairs;
                    static_cast<void>(attempt({first.fault, {question, answer}}));
                }
            }
        }
    }

    /// @returns the questions that the run asked; none if it was violated
    std::optional<std::vector<std::uint32_t>> attempt(const std::vector<Fault>& plan) {
        PlannedFaults chooser(plan);
        const trace::Trace trace = sim::record(subject_.call, recipe_, &chooser, false);
        ++result_.runs;
        progress_.show({plan.size() < 2 ? "one at a time" : "two at a time", result_.runs, result_.runs, 0});
        if (trace.outcome.kind != trace::OutcomeKind::violation) { return chooser.counts(); }
        violated(plan, trace);
        return std::nullopt;
    }

    void violated(const std::vector<Fault>& plan, const trace::Trace& trace) {
        SweepResult::Violation violation;
        for (const trace::Decision& decision : trace.decisions) { violation.places.push_back(spelled(decision)); }
        violation.invariant = trace.outcome.invariant;
        violation.message = trace.outcome.message;
        constexpr std::size_t traces_max = 50;  // a scenario that is not made for it fails everywhere
        if (result_.violations.size() < traces_max) {
            PlannedFaults chooser(plan);
            const trace::Trace whole = sim::record(subject_.call, recipe_, &chooser);
            if (!whole.outcome.same_end(trace.outcome)) {
                throw HarnessFailure{"the same faults ended in " + trace.outcome.invariant + " and in " + whole.outcome.invariant +
                                     ": the program depends on something that is not one of its choices"};
            }
            violation.file = write_found(invocation_, arguments_.out, whole);
            violation.command = command_to_replay(invocation_, recipe_.seed, violation.file);
        }
        if (!invocation_.json) {
            progress_.done();
            std::string places;
            for (const std::string& place : violation.places) { places += (places.empty() ? "" : " and ") + place; }
            fmt::print("{}: {}: {}{}\n", places.empty() ? "nothing went wrong" : places, violation.invariant, violation.message,
                       violation.file.empty() ? "" : " (" + violation.file + ")");
            std::fflush(stdout);
        }
        result_.violations.push_back(std::move(violation));
    }

    [[nodiscard]] bool over() {
        result_.interrupted = result_.interrupted || interrupt_.asked();
        const Budget& budget = arguments_.budget;
        const bool spent = (budget.runs > 0 && result_.runs >= budget.runs) ||
                           (budget.seconds > 0 && seconds_now() - started_ >= budget.seconds);
        result_.budget_spent = result_.budget_spent || spent;
        return result_.interrupted || result_.budget_spent;
    }

    const Invocation& invocation_;
    const Arguments& arguments_;
    const Subject& subject_;
    const Interrupt interrupt_;
    Progress progress_;
    trace::Recipe recipe_;
    SweepResult result_;
    std::vector<Single> singles_;  // that went well
    double started_ = seconds_now();
};

std::string extent_of(const SweepResult& result, const Arguments& arguments) {
    if (result.interrupted) { return "interrupted"; }
    if (result.budget_spent) { return fmt::format("not complete: the budget of {} is spent", arguments.budget_text); }
    return arguments.faults > 1 ? "complete: each alone, and every two of them" : "complete: each alone";
}

}  // namespace

ExitStatus sweep_command(const Invocation& invocation, const Arguments& arguments) {
    Subject subject = subject_of(invocation, arguments.scenario, arguments.planted);
    make_swept(subject, arguments.sweep);
    prepare_folder(arguments.out);
    const SweepResult result = Sweep(invocation, arguments, subject).run();
    if (invocation.json) {
        fmt::print("{}", sweep_json(result));
    } else {
        fmt::print("{}: {}\n  {} ({}), {} alone, {} in twos, {} in {:.1f}s\n", result.scenario, extent_of(result, arguments),
                   trace::counted(result.places, "place"), result.of, result.singles, result.pairs, trace::counted(result.runs, "run"),
                   result.seconds);
        if (result.violations.empty()) {
            fmt::print("  nothing violated\n");
        } else {
            const SweepResult::Violation& first = result.violations.front();
            fmt::print("  violated: {}\ntrace written to {}; this replays it:\n{}\n", result.violations.size(), first.file, first.command);
        }
    }
    return result.violations.empty() ? ExitStatus::nothing_violated : ExitStatus::violated;
}

}  // namespace heddle::detail
