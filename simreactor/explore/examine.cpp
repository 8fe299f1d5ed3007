// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/examine.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/simreactor/chooser/answers.hpp"
#include "heddle/simreactor/explore/constraints.hpp"
#include "heddle/simreactor/explore/exhaustive.hpp"
#include "heddle/simreactor/explore/minimize.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace heddle::sim {
namespace {

class Examination {
public:
    Examination(const Program& program, const ExploreOptions& options, std::span<const std::uint32_t> answers)
        : program_(program), options_(options), answers_(answers) {}

    Found run(const Outcome& outcome, trace::Order order, bool shrink) {
        const trace::Recipe recipe = recipe_for(order);
        trace::Trace recorded = record_again(recipe, answers_);
        if (!recorded.outcome.same_end(outcome)) {
            report_violation({"INV-RCT-14", "a schedule ended with " + outcome.invariant + " (" + outcome.message +
                                                ") and, run again, with '" + recorded.outcome.invariant + "' (" + recorded.outcome.message + ")",
                              __FILE__, __LINE__});
        }
        Found found;
        found.invariant = outcome.invariant;
        found.message = outcome.message;
        found.decisions_found = recorded.decisions.size();
        found.trace = std::move(recorded);
        if (shrink) {
            const TryDecisions attempt = [&](const std::vector<trace::Decision>& decisions) {
                return same_end_with(found.trace, found.trace.recipe, decisions);
            };
            MinimizeResult shrunk = minimize(found.trace, attempt, options_.shrink_runs_max);
            found.trace = std::move(shrunk.trace);
            found.shrink_runs = shrunk.runs;
            if (is_sampler(options_.strategy)) { look_for_a_shallower_one(found, recipe); }
        }
        found.mode = mode_of(found.trace);
        if (shrink) {
            look_for_weaker_assumptions(found);
            lift(found);
            if (options_.keep_events) { keep_events(found); }
        }
        found.trace.outcome.mode = found.mode;
        found.message = found.trace.outcome.message;
        return found;
    }

private:
    static constexpr std::uint64_t steps_max = 4'000'000;  // some seconds

    [[nodiscard]] trace::Recipe recipe_for(trace::Order order) const {
        trace::Recipe recipe = options_.recipe;
        recipe.seed = options_.seed;
        recipe.strategy = std::string(to_string(options_.strategy));
        recipe.order = order;
        recipe.time = options_.time;
        recipe.bound = bound_text(options_.bound, options_.bound_kind);
        WorldOptions world = searched_world(options_, order);
        describe_world(world, recipe);
        return recipe;
    }

    /// The candidates were run without: the one that is left is run once more.
    void keep_events(Found& found) {
        ReplayResult whole = replay(program_, options_.oracles, options_.world, found.trace);
        if (whole.reproduced) { found.trace = std::move(whole.trace); }
    }

    /// Asked before each run: the work goes on, unless the search is to end with what it has, or it has been enough of it (XM4).
    [[nodiscard]] bool told_to_stop() const {
        if (options_.guard != nullptr) { options_.guard->alive(); }
        return steps_ > steps_max || (options_.stop && options_.stop());
    }

    /// What it needs, in words that survive an edit of the program. Without a complete set it keeps none.
    void lift(Found& found) {
        if (found.shrink_runs >= options_.shrink_runs_max) { return; }
        const std::function<bool()> go_on = [&] { return !told_to_stop(); };
        LiftResult lifted = lift_constraints({program_, options_.oracles, options_.world}, found.trace,
                                             options_.shrink_runs_max - found.shrink_runs, go_on);
        found.shrink_runs += lifted.runs;
        if (lifted.enough) { found.trace.constraints = std::move(lifted.constraints); }
    }

    /// Shrinking ends where no single decision can be left out, and a sample may be far from the nearest failure. So schedules with fewer
    /// deviations are run, fewest first, for what is left of the budget.
    void look_for_a_shallower_one(Found& found, const trace::Recipe& recipe) {
        if (found.trace.decisions.size() < 2) { return; }
        ExhaustiveSearch::Options nearer;
        nearer.deviations_max = static_cast<std::uint32_t>(found.trace.decisions.size() - 1);
        reach(found, recipe, nearer, options_.shrink_runs_max / 2);
    }

    /// What a label stands for.
    struct Trust {
        trace::Order order = trace::Order::faithful;
        TimeLevel time = TimeLevel::T0;
    };
    static Trust trust_of(std::string_view label) {
        Trust trust;
        if (label.starts_with("any")) { trust.order = trace::Order::any; }
        if (label.ends_with("+jitter")) { trust.time = TimeLevel::T3; }
        if (label.ends_with("+untimed")) { trust.time = TimeLevel::T4; }
        return trust;
    }

    /// A failure carries the weakest of the labels that it can be reached under: those below its own are tried from `faithful` upwards,
    /// schedules with few deviations first. The trace is then that of the weaker world.
    void look_for_weaker_assumptions(Found& found) {
        constexpr std::uint64_t runs_per_label = 500;
        // T2 lets timers overtake their elders, which no loop does: such a run is only late if T3 has it, too.
        const bool beyond_a_loop = found.trace.recipe.time == TimeLevel::T2 && found.mode.ends_with("+jitter");
        if (beyond_a_loop) { found.mode.replace(found.mode.find('+'), std::string::npos, "+untimed"); }
        for (const std::string_view label : trace::mode_labels()) {
            if (label == found.mode) { return; }
            trace::Recipe recipe = found.trace.recipe;
            recipe.order = trust_of(label).order;
            recipe.time = trust_of(label).time;
            describe_world(world_of(recipe), recipe);
            ExhaustiveSearch::Options near;
            near.deviations_max = static_cast<std::uint32_t>(found.trace.decisions.size() + 1);
            const std::uint64_t runs_left = options_.shrink_runs_max / 4 * 3 - std::min(found.shrink_runs, options_.shrink_runs_max / 4 * 3);
            if (same_decisions_reach(found, recipe) || reach(found, recipe, near, std::min(runs_per_label, runs_left))) {
                found.mode = std::string(label);
                return;
            }
        }
    }

    bool same_decisions_reach(Found& found, const trace::Recipe& recipe) {
        if (found.shrink_runs >= options_.shrink_runs_max) { return false; }
        ++found.shrink_runs;
        std::optional<trace::Trace> reached = same_end_with(found.trace, recipe, found.trace.decisions);
        if (reached) { found.trace = *std::move(reached); }
        return reached.has_value();
    }

    /// The run that these decisions are under that recipe, if it ends as `like` did.
    std::optional<trace::Trace> same_end_with(const trace::Trace& like, const trace::Recipe& recipe, const std::vector<trace::Decision>& decisions) {
        if (told_to_stop()) { return std::nullopt; }
        trace::Trace candidate = like;
        candidate.recipe = recipe;
        candidate.decisions = decisions;
        ReplayOptions loose;
        loose.mode = ReplayMode::carry_on;
        loose.keep_events = false;
        ReplayResult result = replay(program_, options_.oracles, options_.world, candidate, loose);
        steps_ += result.trace.outcome.steps;
        if (!result.trace.outcome.same_end(like.outcome)) { return std::nullopt; }
        return std::move(result.trace);
    }

    /// Runs schedules under a recipe, fewest deviations first, until one has the same end. @returns true if the trace is now that one's
    bool reach(Found& found, const trace::Recipe& recipe, const ExhaustiveSearch::Options& near, std::uint64_t runs_max) {
        ExhaustiveSearch search(near);
        WorldOptions wanted = world_of(recipe);
        const OracleList judges = options_.oracles ? options_.oracles() : OracleList{};
        for (const auto& judge : judges) { wanted.oracles.push_back(judge.get()); }
        wanted.name_points = !judges.empty();
        World world(wanted);
        AnswerKeeper keeper;
        for (std::uint64_t runs = 0; runs < runs_max && found.shrink_runs < options_.shrink_runs_max && search.next(); ++runs) {
            ++found.shrink_runs;
            if (told_to_stop()) { break; }
            keeper.begin(search);
            world.mutable_options().chooser = &keeper;
            const Outcome outcome = world.run(program_);
            steps_ += outcome.steps;
            const bool violated = outcome.kind == trace::OutcomeKind::violation;
            if (violated && outcome.same_end(found.trace.outcome)) {
                found.trace = record_again(recipe, keeper.answers());
                return true;
            }
            search.finish(!violated);
        }
        return false;
    }

    /// A world with the order and the time level of a recipe; everything else as the scenario has it.
    [[nodiscard]] WorldOptions world_of(const trace::Recipe& recipe) const {
        WorldOptions world = searched_world(options_, recipe.order);
        if (world.timing.level == recipe.time) { return world; }
        const Timing usual = Timing::at(recipe.time);
        world.timing.level = recipe.time;
        world.timing.jitter = usual.jitter;
        world.timing.task.max = std::max(world.timing.task.max, usual.task.max);
        world.timing.post.max = std::max(world.timing.post.max, usual.post.max);
        return world;
    }

    /// The same schedule once more, with a recorder.
    trace::Trace record_again(const trace::Recipe& recipe, std::span<const std::uint32_t> answers) {
        World world(world_of(recipe));
        trace::RecorderOptions recording;
        recording.keep_events = options_.keep_events;
        AnswersChooser again(answers);
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
    std::span<const std::uint32_t> answers_;
    std::uint64_t steps_ = 0;  // of all runs so far
};

}  // namespace

WorldOptions searched_world(const ExploreOptions& options, trace::Order order) {
    WorldOptions world;
    world.seed = options.seed;
    world.order = order;
    world.timing = Timing::at(options.time);
    if (options.world) { options.world(world); }
    return world;
}

Found examined(const Program& program, const ExploreOptions& options, std::span<const std::uint32_t> answers, const Outcome& outcome,
               trace::Order order, bool shrink) {
    return Examination(program, options, answers).run(outcome, order, shrink);
}

}  // namespace heddle::sim
