// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/campaign.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "heddle/simreactor/chooser/answers.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/explore/examine.hpp"
#include "heddle/simreactor/explore/sharing_audit.hpp"
#include "heddle/simreactor/explore/trace_watch.hpp"
#include "heddle/simreactor/world/memory_watch.hpp"

namespace heddle::sim {
namespace {

/// A random path, and the logarithm of the product of its alternatives.
class ProbeChooser final : public Chooser {
public:
    explicit ProbeChooser(std::uint64_t seed) : random_(seed) {}
    std::uint32_t choose(const ChoicePoint& point) override {
        log_product_ += std::log(static_cast<double>(point.count));
        return random_.choose(point);
    }
    [[nodiscard]] double log_product() const { return log_product_; }

private:
    RandomChooser random_;
    double log_product_ = 0;
};

SampleRisk risk_of(trace::Order order, const SampleTally& tally) {
    return {order, tally.samples(), tally.distinct(), tally.unseen_mass(), never_seen_at_most(tally.samples()), {}};
}

class Campaign {
public:
    Campaign(const Program& program, const ExploreOptions& options)
        : program_(program),
          options_(options),
          kept_max_(options.keep_seen ? std::numeric_limits<std::size_t>::max() : SampleTally::kept_usually),
          distinct_(kept_max_) {
        if (options_.memory != nullptr) { memory_ = options_.memory; }
        if (options_.oracles) { judges_ = options_.oracles(); }
        started_ = options_.clock ? options_.clock() : 0;
    }

    Report run() {
        std::vector<trace::Order> orders{trace::Order::faithful, trace::Order::any};
        if (options_.order) { orders = {*options_.order}; }
        std::vector<std::unique_ptr<Lane>> lanes;
        if (takes_turns()) {
            for (const trace::Order order : orders) { lanes.push_back(make_lane(order)); }
            take_turns(lanes);
            look_for_it_in_faithful(*lanes.front());
        } else {
            for (std::size_t i = 0; i < orders.size() && !done(); ++i) {
                lanes.push_back(make_lane(orders[i]));
                advance(*lanes.back(), i + 1 < orders.size() ? options_.runs_max / 2 : options_.runs_max);
            }
        }
        bool complete = lanes.size() == orders.size();
        for (const auto& lane : lanes) {
            complete = complete && lane->ended && lane->schedules->complete();
            conclude(*lane);
        }
        report_.complete = complete && report_.violations.empty() && report_.cut == 0;
        if (!report_.complete) { report_.bound = bound_text(options_.bound, options_.bound_kind); }
        if (options_.reduction) {
            report_.reduction = to_string(*options_.reduction);
            if (is_instrumented(options_)) { report_.rests_on = "instrumented"; }
            if (options_.sharing_any) { report_.rests_on = "any"; }
            report_.traces -= std::min(report_.traces, baseline_repeats_);
        } else if (lanes.front()->schedules->is_systematic()) {
            report_.traces = report_.runs - baseline_repeats_ - part_repeats_;
        } else {
            report_.traces = distinct_.distinct();
        }
        report_.runs -= part_repeats_;
        if (options_.keep_seen) {
            for (const SampleTally::Drawn& drawn : distinct_.drawn()) { report_.seen.push_back(drawn.trace); }
            std::ranges::sort(report_.seen);  // what a reduction has seen has no order
        }
        report_.seconds = seconds();
        if (!report_.violations.empty()) { report_.violation = report_.violations.front(); }
        return std::move(report_);
    }

private:
    [[nodiscard]] double seconds() const { return options_.clock ? options_.clock() - started_ : 0; }
    [[nodiscard]] bool done() const { return report_.violations.size() >= options_.violations_max || report_.stopped; }

    /// One order: a world of its own, and where its search stands.
    struct Lane {
        Lane(const WorldOptions& wanted, std::size_t kept_max) : world(wanted), tally(kept_max) {}
        trace::Order order = trace::Order::faithful;
        World world;
        std::unique_ptr<Schedules> schedules{};
        bool ended = false;        // there is no other schedule
        bool began = false;
        SampleTally tally;
        TreeEstimate tree{};
        std::vector<double> projected{};  // of a reduced search, each time that its runs have doubled: how many it will be
        std::unique_ptr<World> probing{};  // without the observers of the search
        std::unique_ptr<SharingAudit> audit{};  // likewise
        std::uint64_t runs = 0;
        double seconds = 0;
    };

    /// With chance, both orders go on side by side: neither ends by itself. A systematic search is shallowest first, and faithful first.
    [[nodiscard]] bool takes_turns() const { return !options_.order && is_sampler(options_.strategy); }

    [[nodiscard]] std::unique_ptr<Lane> make_lane(trace::Order order) {
        WorldOptions wanted = searched_world(options_, order);
        for (const auto& judge : judges_) { wanted.oracles.push_back(judge.get()); }
        // A search by position needs no names; what it finds is recorded in a world of its own. Judges may speak of them.
        wanted.name_points = !judges_.empty();
        if (is_instrumented(options_)) { wanted.memory = memory_; }
        auto lane = std::make_unique<Lane>(wanted, kept_max_);
        lane->order = order;
        lane->schedules = schedules_of(order);
        WorldOptions& world = lane->world.mutable_options();
        if (lane->schedules->observer() != nullptr) { world.observers.push_back(lane->schedules->observer()); }
        if (watches(*lane->schedules)) { world.observers.push_back(&watch_); }
        world.foresight = lane->schedules->foresight();
        return lane;
    }

    /// Runs are told apart by their traces where that is asked for, or where the strategy learns from them.
    [[nodiscard]] bool watches(const Schedules& schedules) const {
        return !schedules.is_systematic() && (options_.count_traces || schedules.wants_watch());
    }

    /// Slices that grow: a fast search is not held up by turns, a slow one comes to its second order soon.
    void take_turns(std::vector<std::unique_ptr<Lane>>& lanes) {
        for (std::uint64_t slice = 256; !done(); slice = std::min<std::uint64_t>(slice * 2, 65'536)) {
            bool moved = false;
            for (const auto& lane : lanes) {
                if (lane->ended || done()) { continue; }
                advance(*lane, std::min(options_.runs_max, report_.runs + slice));
                moved = true;
            }
            if (!moved) { return; }
            if (report_.runs >= options_.runs_max) { report_.stopped = report_.stopped || !all_ended(lanes); }
        }
    }
    /// What `any` was the first to show may be something that production can do: the faithful order gets as many runs again.
    void look_for_it_in_faithful(Lane& faithful) {
        if (faithful.ended || report_.stopped || report_.violations.empty()) { return; }
        if (report_.violations.back().trace.recipe.order == trace::Order::faithful) { return; }
        Found shown = std::move(report_.violations.back());
        report_.violations.pop_back();
        known_.erase(shown.invariant);
        advance(faithful, std::min(options_.runs_max, report_.runs + std::max<std::uint64_t>(report_.runs, 1024)));
        report_.stopped = false;
        const bool again = std::ranges::any_of(report_.violations, [&](const Found& at) { return at.invariant == shown.invariant; });
        if (!again) { report_.violations.push_back(std::move(shown)); }
    }
    [[nodiscard]] static bool all_ended(const std::vector<std::unique_ptr<Lane>>& lanes) {
        return std::ranges::all_of(lanes, [](const auto& lane) { return lane->ended; });
    }

    /// Runs schedules of one order until the campaign has made `runs_max`, or its end.
    void advance(Lane& lane, std::uint64_t runs_max) {
        const double before = seconds();
        run_schedules(lane, runs_max);
        lane.seconds += seconds() - before;
    }

    void run_schedules(Lane& lane, std::uint64_t runs_max) {
        Schedules& schedules = *lane.schedules;
        const bool watched = watches(schedules);
        while (!done()) {
            if (report_.runs >= runs_max) {
                report_.stopped = report_.runs >= options_.runs_max;
                return;
            }
            if ((options_.seconds_max > 0 && (report_.runs & 63U) == 0 && seconds() >= options_.seconds_max) ||
                ((report_.runs & 255U) == 0 && options_.stop && options_.stop())) {
                report_.stopped = true;
                return;
            }
            if (is_probed(schedules) && lane.runs >= probes_from && std::has_single_bit(lane.runs)) {
                probe(lane);
                if (done()) { return; }
            }
            Chooser* chooser = schedules.next();
            if (chooser == nullptr) {
                lane.ended = true;
                return;
            }
            if (watched) {
                watch_.begin(*chooser);
                chooser = &watch_;
            }
            lane.world.mutable_options().one_question = puts_one_question(lane);
            const Outcome outcome = run_guarded(lane.world, *chooser, lane.order);
            ++report_.runs;
            ++lane.runs;
            if (schedules.is_repeat()) { ++part_repeats_; }
            if (watched) { watch_.finish(); }
            if (!schedules.is_systematic()) { count(lane, watched ? watch_.key() : answers_.hash()); }
            if (!lane.began && lane.order == trace::Order::any && !options_.order) { ++baseline_repeats_; }
            lane.began = true;
            const bool violated = outcome.kind == trace::OutcomeKind::violation;
            if (violated) {
                ++report_.cut;
                if (outcome.invariant != RunGuard::crashed) { found(outcome, lane.order, lane.world.options().one_question); }
            }
            project(lane);
            if (options_.guard != nullptr && !violated) { options_.guard->ran(answers_.answers(), answers_.hash()); }
            schedules.finish({!violated, watched ? &watch_ : nullptr});
            if (!violated && options_.audit_sharing > 0) { audit(lane); }
            if (options_.progress && report_.runs % options_.progress_every == 0) { tell(lane); }
            if (options_.guard != nullptr && !options_.guard->end()) { report_.stopped = true; }
        }
    }

    Outcome run_once(World& world, Chooser& chooser) {
        answers_.begin(chooser);
        world.mutable_options().chooser = &answers_;
        return world.run(program_);
    }

    /// The same, where the run may end the process.
    Outcome run_guarded(World& world, Chooser& chooser, trace::Order order) {
        if (options_.guard == nullptr) { return run_once(world, chooser); }
        answers_.begin(chooser);
        world.mutable_options().chooser = &options_.guard->begin(answers_, RunGuard::tag_of(order, world.options().one_question));
        return options_.guard->refuses() ? known_to_crash() : world.run(program_);
    }

    [[nodiscard]] static bool puts_one_question(const Lane& lane) {
        const ReducedSearch* const search = lane.schedules->reduced();
        return search != nullptr && search->puts_one_question();
    }

    static constexpr std::uint64_t probes_from = 512;  // a search that is over sooner needs no estimate
    static constexpr int probes_at_once = 32;

    /// The tree that it goes through is that of all answers.
    [[nodiscard]] bool is_probed(const Schedules& schedules) const {
        const bool whole = options_.part.count == 1 && !options_.schedules;
        return whole && schedules.is_systematic() && !options_.bound &&
               options_.reduction.value_or(Reduction::none) == Reduction::none;
    }

    /// Some random paths, which tell how large the tree is. They are no schedules of the search; what they violate is found all the same.
    void probe(Lane& lane) {
        if (!lane.probing) {
            WorldOptions wanted = lane.world.options();
            wanted.observers.clear();
            lane.probing = std::make_unique<World>(wanted);
        }
        for (int i = 0; i < probes_at_once && !done(); ++i) {
            lane.probing->mutable_options().one_question = puts_one_question(lane);
            ProbeChooser chooser(hash_mix(hash_mix(options_.seed, 0x70726f6265), lane.tree.probes()));
            const Outcome outcome = run_guarded(*lane.probing, chooser, lane.order);
            lane.tree.add(chooser.log_product());
            const bool violated = outcome.kind == trace::OutcomeKind::violation && outcome.invariant != RunGuard::crashed;
            if (violated) { found(outcome, lane.order, puts_one_question(lane)); }
        }
    }

    /// Every so-manieth trace: do its steps share what nobody declared?
    void audit(Lane& lane) {
        const ReducedSearch* search = lane.schedules->reduced();
        if (search == nullptr || lane.order != trace::Order::any || search->was_redundant() || search->graph().size() == 0) { return; }
        if (traces_seen_++ % options_.audit_sharing != 0 || known_.contains(std::string(SharingAudit::invariant))) { return; }
        if (!lane.audit) {
            WorldOptions wanted = lane.world.options();
            lane.audit = std::make_unique<SharingAudit>(program_, wanted, options_.state);
        }
        ++report_.audited;
        const std::optional<std::string> shared = lane.audit->look(*search);
        if (!shared) { return; }
        known_.insert(std::string(SharingAudit::invariant));
        Found found = examined(program_, options_for(puts_one_question(lane)), answers_.answers(), Outcome{}, lane.order, false);
        found.invariant = found.trace.outcome.invariant = SharingAudit::invariant;
        found.message = found.trace.outcome.message = *shared;
        found.trace.outcome.kind = trace::OutcomeKind::violation;
        found.runs = report_.runs;
        if (options_.on_found) { options_.on_found(found); }
        report_.violations.push_back(std::move(found));
    }

    void count(Lane& lane, std::uint64_t trace) {
        distinct_.add(trace);
        if (lane.schedules->is_sample()) { lane.tally.add(trace); }
    }

    [[nodiscard]] std::unique_ptr<Schedules> schedules_of(trace::Order order) const {
        if (options_.schedules) { return options_.schedules(order); }
        StrategyOptions strategy;
        strategy.strategy = options_.strategy;
        strategy.seed = hash_mix(options_.seed, static_cast<std::uint64_t>(order));
        strategy.part = options_.part;
        if (options_.part.index > 0 && options_.strategy != Strategy::exhaustive) {
            strategy.seed = hash_mix(strategy.seed, options_.part.index);
        }
        strategy.order = order;
        strategy.bound = options_.bound;
        strategy.bound_kind = options_.bound_kind;
        strategy.depth = options_.depth;
        strategy.reduction = options_.reduction;
        strategy.sharing_any = options_.sharing_any;
        strategy.memory = is_instrumented(options_) ? memory_ : nullptr;
        return make_schedules(strategy);
    }

    /// What one order leaves behind.
    void conclude(const Lane& lane) {
        const Schedules& schedules = *lane.schedules;
        report_.faults.add(lane.world.fault_totals());
        if (schedules.reduced() != nullptr) {
            report_.traces += schedules.reduced()->traces();
            report_.redundant += schedules.reduced()->redundant();
            if (options_.keep_seen && options_.reduction == Reduction::none) {
                std::ranges::copy(schedules.reduced()->digests(), std::back_inserter(report_.seen));  // sorted at the end
            }
        }
        if (has_size(lane) && !lane.ended) {
            const Estimate size = size_of(lane);
            const double left = lane.seconds / static_cast<double>(lane.runs) * (size.value - static_cast<double>(lane.runs));
            report_.sizes.push_back({lane.order, lane.tree.probes(), size, lane.runs, left});
        }
        if (lane.tally.samples() > 0 && !(lane.ended && schedules.complete())) {
            report_.risks.push_back(risk_of(lane.order, lane.tally));
            if (options_.keep_seen && options_.part.count > 1) { report_.risks.back().drawn = lane.tally.drawn(); }
        }
    }

    /// Each time its runs have doubled: how many they will be, by the share that was explored.
    void project(Lane& lane) const {
        const ReducedSearch* const search = lane.schedules->reduced();
        if (search == nullptr || options_.schedules) { return; }
        if (search->runs() == 0) { lane.projected.clear(); }  // it begins anew
        if (search->runs() < probes_from || !std::has_single_bit(search->runs())) { return; }
        const double share = search->explored_share();
        if (share > 0) { lane.projected.push_back(static_cast<double>(search->runs()) / share); }
    }
    [[nodiscard]] static bool has_size(const Lane& lane) { return lane.tree.probes() > 0 || !lane.projected.empty(); }

    /// What the probes say, or the last of the projections with the range of the latest ones, together with what was run.
    [[nodiscard]] static Estimate size_of(const Lane& lane) {
        Estimate size = lane.tree.leaves();
        if (lane.tree.probes() == 0) {
            const std::size_t latest = std::min<std::size_t>(lane.projected.size(), 4);
            const auto [low, high] = std::ranges::minmax(std::span(lane.projected).last(latest));
            size = {lane.projected.back(), low, high};
        }
        const auto run = static_cast<double>(lane.runs);
        size.value = std::max(size.value, run);
        size.low = std::max(size.low, run);
        size.high = std::max(size.high, size.value);
        return size;
    }

    void tell(const Lane& lane) const {
        const Schedules& schedules = *lane.schedules;
        Progress progress;
        progress.runs = report_.runs;
        progress.distinct = schedules.reduced() != nullptr ? report_.traces + schedules.reduced()->traces()
                            : schedules.is_systematic()    ? report_.runs
                                                           : distinct_.distinct();
        progress.depth = schedules.depth();
        progress.seconds = seconds();
        progress.schedules = has_size(lane) ? size_of(lane).value : 0;
        progress.order = lane.order;
        options_.progress(progress);
    }

    /// A run that nobody may see again: it counts as cut.
    static Outcome known_to_crash() {
        Outcome outcome;
        outcome.kind = trace::OutcomeKind::violation;
        outcome.invariant = RunGuard::crashed;
        return outcome;
    }

    /// Records the violating schedule (CP1), then shrinks it. Where that killed the process before, it does less.
    void found(const Outcome& outcome, trace::Order order, bool one_question) {
        if (!known_.insert(outcome.invariant).second) { return; }
        const int may = options_.guard != nullptr ? options_.guard->may_record() : 2;
        if (may > 0) { examine(outcome, order, one_question, may > 1 && options_.shrink); }
        if (options_.guard != nullptr) { options_.guard->recorded(); }
    }

    /// A schedule is an answer to its world's questions: what is made of it asks the same.
    [[nodiscard]] ExploreOptions options_for(bool one_question) const {
        ExploreOptions own = options_;
        if (!one_question) { return own; }
        ask_one_question(own.recipe);
        own.world = [given = options_.world](WorldOptions& world) {
            if (given) { given(world); }
            world.one_question = true;
        };
        return own;
    }

    void examine(const Outcome& outcome, trace::Order order, bool one_question, bool shrink) {
        Found found = examined(program_, options_for(one_question), answers_.answers(), outcome, order, shrink);
        found.runs = report_.runs;
        if (options_.on_found) { options_.on_found(found); }
        report_.violations.push_back(std::move(found));
    }

    const Program& program_;
    const ExploreOptions& options_;
    OracleList judges_;
    Report report_;
    AnswerKeeper answers_;  // of the present run
    TraceWatch watch_;      // of the present run, where somebody wants to know its steps
    std::size_t kept_max_;  // of tallies
    SampleTally distinct_;  // of both orders together; all of them where they are kept
    SharedMemory own_memory_;
    SharedMemory* memory_ = &own_memory_;
    std::uint64_t traces_seen_ = 0;  // where one in so many is audited
    std::set<std::string> known_;
    std::uint64_t baseline_repeats_ = 0;
    std::uint64_t part_repeats_ = 0;
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
    if (options.sharing_any && options.sharing_declared) { throw ValueError("explore: sharing is either declared or any"); }
    if (options.audit_sharing > 0 && !options.reduction) { throw ValueError("explore: only a reduction relies on what is declared"); }
    if (options.sharing_any && !options.reduction) { throw ValueError("explore: what is shared matters to a reduction only"); }
    if (options.bound_kind != BoundKind::deviations && !options.bound) { throw ValueError("explore: a kind of bound without a bound"); }
    if (options.bound && options.bound_kind != BoundKind::deviations && options.strategy != Strategy::exhaustive) {
        throw ValueError("explore: bounds on delays and reversals belong to the strategy exhaustive");
    }
    if (options.depth == 0) { throw ValueError("explore: a depth of at least 1"); }
    if (options.reduction && options.bound) { throw ValueError("explore: a reduced search has no bound on deviations"); }
    static_cast<void>(Timing::at(options.time));  // refuses levels that are not built
}

}  // namespace

bool is_instrumented(const ExploreOptions& options) {
    return has_memory_hooks() && !options.sharing_any && !options.sharing_declared && (options.reduction || is_sampler(options.strategy));
}

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

std::string complete_text(const Report& report) {
    std::string text = "complete: " + std::to_string(report.traces) + " traces, " + std::to_string(report.redundant) + " redundant, resting on ";
    return text + report.rests_on + (report.rests_on == "instrumented" ? " sources" : " sharing");
}

void add_risk(SampleRisk& risk, const SampleRisk& part) {
    SampleTally both(std::numeric_limits<std::size_t>::max());
    for (const SampleTally::Drawn& drawn : risk.drawn) { both.add(drawn.trace, drawn.count); }
    for (const SampleTally::Drawn& drawn : part.drawn) { both.add(drawn.trace, drawn.count); }
    risk = risk_of(risk.order, both);
    risk.drawn = both.drawn();
}

std::string bound_text(std::optional<std::uint32_t> bound, BoundKind kind) {
    if (!bound) { return ""; }
    const std::string number = std::to_string(*bound);
    return kind == BoundKind::deviations ? number : std::string(to_string(kind)) + ":" + number;
}

void ask_one_question(trace::Recipe& recipe) { recipe.knobs[std::string(questions_knob)] = "one"; }

bool asks_one_question(const trace::Recipe& recipe) { return recipe.knobs.contains(std::string(questions_knob)); }

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
    world.one_question = asks_one_question(recipe);
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
