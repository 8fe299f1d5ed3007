// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/campaign.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "heddle/simreactor/chooser/answers.hpp"
#include "heddle/simreactor/explore/minimize.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace heddle::sim {
namespace {

class Campaign {
public:
    Campaign(const Program& program, const ExploreOptions& options) : program_(program), options_(options) {
        if (options_.oracles) { judges_ = options_.oracles(); }
        started_ = options_.clock ? options_.clock() : 0;
    }

    Report run() {
        const bool both = !options_.order;
        const trace::Order first = options_.order.value_or(trace::Order::faithful);
        bool complete = search(first, both ? options_.runs_max / 2 : options_.runs_max);
        if (both && !done()) { complete = search(trace::Order::any, options_.runs_max) && complete; }
        report_.complete = complete && report_.violations.empty() && report_.cut == 0;
        if (options_.bound && !report_.complete) { report_.bound = std::to_string(*options_.bound); }
        if (options_.strategy != Strategy::exhaustive) {
            report_.complete = false;
            report_.traces = distinct_.size();
        } else if (options_.reduction) {
            report_.reduction = to_string(*options_.reduction);
            if (options_.sharing_any) { report_.rests_on = "any"; }
            report_.traces -= std::min(report_.traces, baseline_repeats_);
        } else {
            report_.traces = report_.runs - baseline_repeats_;
        }
        report_.seconds = seconds();
        if (!report_.violations.empty()) { report_.violation = report_.violations.front(); }
        return std::move(report_);
    }

private:
    [[nodiscard]] double seconds() const { return options_.clock ? options_.clock() - started_ : 0; }
    [[nodiscard]] bool done() const { return report_.violations.size() >= options_.violations_max || report_.stopped; }

    [[nodiscard]] trace::Recipe recipe_for(trace::Order order) const {
        trace::Recipe recipe = options_.recipe;
        recipe.seed = options_.seed;
        recipe.strategy = std::string(to_string(options_.strategy));
        recipe.order = order;
        recipe.time = options_.time;
        recipe.bound = options_.bound ? std::to_string(*options_.bound) : "";
        WorldOptions world = base_world(order);
        describe_world(world, recipe);
        return recipe;
    }

    [[nodiscard]] WorldOptions base_world(trace::Order order) const {
        WorldOptions world;
        world.seed = options_.seed;
        world.order = order;
        world.timing = Timing::at(options_.time);
        if (options_.world) { options_.world(world); }
        return world;
    }

    /// True if every schedule of this order was run.
    bool search(trace::Order order, std::uint64_t runs_max) {
        WorldOptions wanted = base_world(order);
        for (const auto& judge : judges_) { wanted.oracles.push_back(judge.get()); }
        // A search by position needs no names; what it finds is recorded in a world of its own. Judges may speak of them.
        wanted.name_points = !judges_.empty() || options_.strategy != Strategy::exhaustive;
        World world(wanted);
        const std::unique_ptr<Schedules> schedules = schedules_of(order);
        if (schedules->observer() != nullptr) { world.mutable_options().observers.push_back(schedules->observer()); }
        world.mutable_options().foresight = schedules->foresight();
        bool first_run = true;
        while (!done()) {
            if (report_.runs >= runs_max || (options_.seconds_max > 0 && (report_.runs & 63U) == 0 && seconds() >= options_.seconds_max)) {
                report_.stopped = report_.runs >= options_.runs_max || report_.runs < runs_max;
                add_reduced(*schedules);
                return false;
            }
            if ((report_.runs & 255U) == 0 && options_.stop && options_.stop()) {
                report_.stopped = true;
                add_reduced(*schedules);
                return false;
            }
            Chooser* chooser = schedules->next();
            if (chooser == nullptr) {
                add_reduced(*schedules);
                return schedules->complete();
            }
            answers_.begin(*chooser);
            world.mutable_options().chooser = &answers_;
            const Outcome outcome = world.run(program_);
            ++report_.runs;
            if (!schedules->is_systematic()) { distinct_.insert(answers_.hash()); }
            if (first_run && order == trace::Order::any && !options_.order) { ++baseline_repeats_; }
            first_run = false;
            const bool violated = outcome.kind == trace::OutcomeKind::violation;
            if (violated) {
                ++report_.cut;
                found(outcome, order);
            }
            schedules->finish(!violated);
            if (options_.progress && report_.runs % options_.progress_every == 0) { tell(order, *schedules); }
        }
        add_reduced(*schedules);
        return false;
    }

    [[nodiscard]] std::unique_ptr<Schedules> schedules_of(trace::Order order) const {
        StrategyOptions strategy;
        strategy.strategy = options_.strategy;
        strategy.seed = hash_mix(options_.seed, static_cast<std::uint64_t>(order));
        strategy.order = order;
        strategy.bound = options_.bound;
        strategy.reduction = options_.reduction;
        strategy.sharing_any = options_.sharing_any;
        return make_schedules(strategy);
    }

    /// What a reduction says about one order.
    void add_reduced(const Schedules& schedules) {
        if (schedules.reduced() == nullptr) { return; }
        report_.traces += schedules.reduced()->traces();
        report_.redundant += schedules.reduced()->redundant();
    }

    void tell(trace::Order order, const Schedules& schedules) const {
        Progress progress;
        progress.runs = report_.runs;
        progress.distinct = schedules.reduced() != nullptr ? report_.traces + schedules.reduced()->traces()
                            : schedules.is_systematic()    ? report_.runs
                                                           : distinct_.size();
        progress.depth = schedules.depth();
        progress.seconds = seconds();
        progress.order = order;
        options_.progress(progress);
    }

    /// Records the violating schedule (CP1), then shrinks it.
    void found(const Outcome& outcome, trace::Order order) {
        if (!known_.insert(outcome.invariant).second) { return; }
        const trace::Recipe recipe = recipe_for(order);
        trace::Trace recorded = record_again(recipe);
        if (!recorded.outcome.same_end(outcome)) {
            report_violation({"INV-RCT-14", "a schedule ended with " + outcome.invariant + " (" + outcome.message +
                                                ") and, run again, with '" + recorded.outcome.invariant + "' (" + recorded.outcome.message + ")",
                              __FILE__, __LINE__});
        }
        Found found;
        found.invariant = outcome.invariant;
        found.message = outcome.message;
        found.runs = report_.runs;
        found.decisions_found = recorded.decisions.size();
        found.trace = std::move(recorded);
        if (options_.shrink) {
            const TryDecisions attempt = [&](const std::vector<trace::Decision>& decisions) -> std::optional<trace::Trace> {
                trace::Trace candidate = found.trace;
                candidate.decisions = decisions;
                ReplayOptions loose;
                loose.mode = ReplayMode::carry_on;
                loose.keep_events = options_.keep_events;
                ReplayResult result = replay(program_, options_.oracles, options_.world, candidate, loose);
                if (!result.trace.outcome.same_end(found.trace.outcome)) { return std::nullopt; }
                return std::move(result.trace);
            };
            MinimizeResult shrunk = minimize(found.trace, attempt, options_.shrink_runs_max);
            found.trace = std::move(shrunk.trace);
            found.shrink_runs = shrunk.runs;
        }
        found.mode = mode_of(found.trace);
        found.trace.outcome.mode = found.mode;
        found.message = found.trace.outcome.message;
        report_.violations.push_back(std::move(found));
    }

    /// The same schedule once more, with a recorder.
    trace::Trace record_again(const trace::Recipe& recipe) {
        World world(base_world(recipe.order));
        trace::RecorderOptions recording;
        recording.keep_events = options_.keep_events;
        AnswersChooser again(answers_.answers());
        trace::TraceRecorder recorder(&world.labels(), &again, recording);
        const OracleList judges = options_.oracles ? options_.oracles() : OracleList{};
        WorldOptions& in_use = world.mutable_options();
        in_use.chooser = &recorder;
        for (const auto& judge : judges) { in_use.oracles.push_back(judge.get()); }
        in_use.observers.push_back(&recorder);
        trace::Trace taken;
        in_use.at_end = [&](const Outcome& end) { taken = recorder.take(recipe, end); };
        world.run(program_);
        return taken;
    }

    const Program& program_;
    const ExploreOptions& options_;
    OracleList judges_;
    Report report_;
    AnswerKeeper answers_;  // of the present run
    std::unordered_set<std::uint64_t> distinct_;  // counted, never walked
    std::set<std::string> known_;
    std::uint64_t baseline_repeats_ = 0;
    double started_ = 0;
};

void validate(const ExploreOptions& options) {
    if (options.runs_max == 0) { throw ValueError("explore: a budget of at least one schedule"); }
    if (options.seconds_max < 0) { throw ValueError("explore: a budget of seconds must not be negative"); }
    if (options.seconds_max > 0 && !options.clock) { throw ValueError("explore: a budget in seconds needs a clock"); }
    if (options.violations_max == 0) { throw ValueError("explore: at least one violation is looked for"); }
    if (options.reduction && options.strategy != Strategy::exhaustive) {
        throw ValueError("explore: a reduction belongs to the strategy exhaustive");
    }
    if (options.sharing_any && !options.reduction) { throw ValueError("explore: what is shared matters to a reduction only"); }
    if (options.reduction && options.bound) { throw ValueError("explore: a reduced search has no bound on deviations"); }
    static_cast<void>(Timing::at(options.time));  // refuses levels that are not built
}

}  // namespace

Report explore(const Program& program, const ExploreOptions& options) {
    validate(options);
    return Campaign(program, options).run();
}

Report explore(const ScenarioCall& call, ExploreOptions options) {
    options.recipe.scenario = call.scenario->name;
    options.recipe.parameters = call.parameters.values();
    options.recipe.planted = call.scenario->planted;
    options.oracles = [&call] { return call.oracles(); };
    const auto last_word = std::exchange(options.world, {});
    options.world = [&call, last_word](WorldOptions& world) {
        if (call.scenario->world) { call.scenario->world(world); }
        if (last_word) { last_word(world); }
    };
    return explore(call.program(), options);
}

WorldOptions world_options(const trace::Recipe& recipe) {
    WorldOptions world;
    world.seed = recipe.seed;
    world.order = recipe.order;
    world.timing.level = recipe.time;
    world.timing.jitter = recipe.jitter;
    world.timing.task = {recipe.latency_min, recipe.latency_max};
    world.timing.post = world.timing.task;
    world.resolution = recipe.resolution;
    if (recipe.steps_max != 0) { world.dispatches_max = recipe.steps_max; }
    return world;
}

void describe_world(const WorldOptions& options, trace::Recipe& recipe) {
    recipe.seed = options.seed;
    recipe.order = options.order;
    recipe.time = options.timing.level;
    recipe.jitter = options.timing.jitter;
    recipe.latency_min = options.timing.task.min;
    recipe.latency_max = options.timing.task.max;
    recipe.resolution = options.resolution;
    recipe.steps_max = options.dispatches_max;
}

}  // namespace heddle::sim
