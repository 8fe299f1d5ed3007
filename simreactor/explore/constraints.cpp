// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/constraints.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "heddle/simreactor/chooser/answers.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/cell_names.hpp"
#include "heddle/simreactor/explore/trace_watch.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace heddle::sim {
namespace {

constexpr std::uint64_t runs_per_replay = 200;  // each but the last one teaches a step (CO3)

std::string text_of(std::string_view who, std::string_view cell, std::uint32_t nth) {
    return std::string(who) + " @ " + std::string(cell) + " #" + std::to_string(nth);
}

std::string in_words(const trace::OrderConstraint& order) { return order.before + " before " + order.after; }
std::string in_words(const trace::ValueConstraint& value) {
    return std::string(to_string(value.kind)) + " at " + value.at + " answers " + std::to_string(value.choose);
}

Result<OrderGate::Plan> gate_plan(const trace::Constraints& constraints) {
    OrderGate::Plan plan;
    for (std::size_t i = 0; i < constraints.order.size(); ++i) {
        const trace::OrderConstraint& order = constraints.order[i];
        const std::optional<Anchor> before = anchor_of(order.before);
        const std::optional<Anchor> after = anchor_of(order.after);
        if (!before || !after) {
            return InputError{"/constraints/order/" + std::to_string(i) + (before ? "/after" : "/before"), "\"<coroutine> @ <cell> #<which>\"",
                              "\"" + (before ? order.after : order.before) + "\""};
        }
        plan.orders.push_back({*before, *after});
    }
    for (const trace::ValueConstraint& value : constraints.values) {
        plan.values.push_back({LabelBook::of(value.at), value.kind, value.choose});
    }
    return plan;
}

/// One recorded run under the gate.
ReplayResult run_once(const Judged& judged, const trace::Recipe& recipe, OrderGate& gate, const ReplayOptions& options) {
    gate.begin();
    RunRecording recording;
    recording.keep_events = options.keep_events;
    recording.observers = {&gate};
    recording.observers.insert(recording.observers.end(), options.observers.begin(), options.observers.end());
    recording.guard = options.guard;
    recording.on_violation = options.on_violation;
    ReplayResult result;
    result.trace = record(judged.program, judged.oracles, judged.world, recipe, &gate, recording);
    return result;
}

AdaptiveResult replay_plan(const Judged& judged, const trace::Trace& trace, const OrderGate::Plan& plan, const ReplayOptions& options,
                           std::uint64_t runs_max) {
    OrderGate gate(plan);
    AdaptiveResult result;
    do {
        ++result.runs;
        result.replay = run_once(judged, trace.recipe, gate, options);
        result.replay.reproduced = result.replay.trace.outcome.same_end(trace.outcome);
    } while (!result.replay.reproduced && gate.learned() && result.runs < runs_max);
    for (const std::size_t index : gate.unmet_orders()) { result.unmet.push_back(in_words(trace.constraints.order[index])); }
    for (const std::size_t index : gate.unmet_values()) { result.unmet.push_back(in_words(trace.constraints.values[index])); }
    result.replay.trace.constraints = trace.constraints;
    result.replay.trace.outcome.mode = trace.outcome.mode;
    result.replay.same_hash = result.replay.reproduced && result.replay.trace.hash.value == trace.hash.value;
    return result;
}

// ── lifting ──

/// A step on a cell.
struct Access {
    Pid pid = 0;
    std::string who{};
    std::string cell{};
    std::uint32_t nth = 0;
    TouchMode mode = TouchMode::read;

    [[nodiscard]] std::string text() const { return text_of(who, cell, nth); }
};

/// One run: who touched what, and the races, by name.
struct Races {
    std::vector<Access> accesses{};
    std::map<std::string, std::size_t> place{};  // of an access
    std::vector<trace::OrderConstraint> orders{};

    /// Both happened, in this order.
    [[nodiscard]] bool has(const std::string& before, const std::string& after) const {
        const auto first = place.find(before);
        const auto second = place.find(after);
        return first != place.end() && second != place.end() && first->second < second->second;
    }
};

/// A cell that both touch in conflicting modes. Requires: there is one.
std::uint32_t meeting_point(const StepGraph& graph, const Race& race) {
    for (const Foot& a : graph.feet(race.first).feet) {
        for (const Foot& b : graph.feet(race.second).feet) {
            if (a.cell == b.cell && conflicts(a.mode, b.mode)) { return a.cell; }
        }
    }
    return ~std::uint32_t{0};
}

Races races_of(const Judged& judged, const trace::Recipe& recipe, Chooser& chooser) {
    TraceWatch watch;
    watch.begin(chooser);
    CellNames names;
    std::map<std::uint64_t, std::string> labels;
    RunRecording recording;
    recording.keep_events = false;
    recording.observers = {&watch};
    recording.at_end = [&](World& world) {
        names.learn(world.labels());
        for (const std::string& object : world.labels().objects()) { labels.emplace(LabelBook::of(object).value, object); }
    };
    static_cast<void>(record(judged.program, judged.oracles, judged.world, recipe, &watch, recording));
    watch.finish();
    const StepGraph& graph = watch.graph();
    Races races;
    std::map<std::pair<Pid, std::uint32_t>, std::uint32_t> counts;
    std::map<std::pair<StepIndex, std::uint32_t>, std::size_t> access_of;  // step and cell: its place in races.accesses
    for (StepIndex step = 0; step < graph.size(); ++step) {
        const auto who = labels.find(graph.label_of(graph.pid(step)).value);
        if (who == labels.end()) { continue; }  // not a coroutine
        for (const Foot& foot : graph.feet(step).feet) {
            if (is_order(foot.mode)) { continue; }
            const auto [known, fresh] = access_of.try_emplace({step, foot.cell}, races.accesses.size());
            if (!fresh) {  // the same step once more, in another mode
                races.accesses[known->second].mode = TouchMode::write;
                continue;
            }
            const std::uint32_t nth = ++counts[{graph.pid(step), foot.cell}];
            races.accesses.push_back({graph.pid(step), who->second, names.text(graph.cell_of(foot.cell)), nth, foot.mode});
            races.place.emplace(races.accesses.back().text(), known->second);
        }
    }
    std::set<std::pair<std::size_t, std::size_t>> said;
    for (const Race& race : graph.races_from(0)) {
        const std::uint32_t cell = meeting_point(graph, race);
        const auto first = access_of.find({race.first, cell});
        const auto second = access_of.find({race.second, cell});
        // They may meet in more than cells: then the order of all steps counts, and no two of them say it.
        if (first == access_of.end() || second == access_of.end() || !said.emplace(first->second, second->second).second) { continue; }
        races.orders.push_back({races.accesses[first->second].text(), races.accesses[second->second].text()});
    }
    return races;
}

/// A violation cuts its run: what others were about to do comes after all that they would have met. They are known from another run.
std::vector<trace::OrderConstraint> cut_off(const Races& failing, const Races& other) {
    std::vector<trace::OrderConstraint> orders;
    for (const Access& later : other.accesses) {
        if (failing.place.contains(later.text())) { continue; }
        std::map<std::string, const Access*> newest;  // by coroutine
        for (const Access& met : failing.accesses) {
            if (met.cell == later.cell && met.who != later.who && conflicts(met.mode, later.mode)) { newest[met.who] = &met; }
        }
        for (const auto& [who, met] : newest) { orders.push_back({met->text(), later.text()}); }
    }
    return orders;
}

class Lifter {
public:
    Lifter(const Judged& judged, const trace::Trace& failing, std::uint64_t runs_max, const std::function<bool()>& go_on)
        : judged_{judged.program, judged.oracles, bounded(judged.world, failing)}, trace_(failing), runs_max_(runs_max), go_on_(go_on) {}

    LiftResult run() {
        trace::Constraints all;
        for (const trace::Decision& decision : trace_.decisions) {
            if (decision.kind != ChoiceKind::dispatch) { all.values.push_back({decision.at, decision.kind, decision.choose}); }
        }
        if (reaches({})) { return result({}); }
        if (reaches(all)) { return result(minimal(all)); }
        ReplayChooser::Options loose;
        loose.mode = ReplayMode::carry_on;
        ReplayChooser failing(plan_of(trace_.decisions), std::move(loose));
        Races as_it_came = races_of(judged_, trace_.recipe, failing);
        AnswersChooser baseline({});
        const Races usual = races_of(judged_, trace_.recipe, baseline);
        runs_ += 2;
        std::ranges::move(cut_off(as_it_came, usual), std::back_inserter(as_it_came.orders));
        // What the baseline has the other way round comes first: it is what the failure is about. What it does not have at all, and then
        // the rest, is asked for where that is not enough.
        const auto turned = [&](const trace::OrderConstraint& order) { return usual.has(order.after, order.before); };
        const auto kept = [&](const trace::OrderConstraint& order) { return usual.has(order.before, order.after); };
        std::ranges::copy_if(as_it_came.orders, std::back_inserter(all.order), turned);
        if (reaches(all)) { return result(minimal(all)); }
        std::ranges::copy_if(as_it_came.orders, std::back_inserter(all.order), [&](const auto& order) { return !turned(order) && !kept(order); });
        if (reaches(all)) { return result(minimal(all)); }
        all.order = as_it_came.orders;
        if (reaches(all)) { return result(minimal(all)); }
        return {.constraints = {}, .enough = false, .runs = runs_};
    }

private:
    LiftResult result(trace::Constraints constraints) const { return {std::move(constraints), true, runs_}; }

    bool reaches(const trace::Constraints& constraints) {
        if (runs_ >= runs_max_ || (go_on_ && !go_on_())) { return false; }
        trace::Trace candidate = trace_;
        candidate.constraints = constraints;
        ReplayOptions options;
        options.keep_events = false;
        const Result<OrderGate::Plan> plan = gate_plan(constraints);
        const AdaptiveResult run = replay_plan(judged_, candidate, *plan, options, std::min(runs_per_replay, runs_max_ - runs_));
        runs_ += run.runs;
        return run.replay.reproduced;
    }

    /// ddmin, orders and values as one list.
    trace::Constraints minimal(trace::Constraints all) {
        const auto without = [](const trace::Constraints& from, std::size_t first, std::size_t count) {
            trace::Constraints left;
            for (std::size_t i = 0; i < from.order.size() + from.values.size(); ++i) {
                if (i >= first && i < first + count) { continue; }
                if (i < from.order.size()) {
                    left.order.push_back(from.order[i]);
                } else {
                    left.values.push_back(from.values[i - from.order.size()]);
                }
            }
            return left;
        };
        const auto size = [&] { return all.order.size() + all.values.size(); };
        for (std::size_t length = std::max<std::size_t>(size() / 2, 1); length >= 1;) {
            bool smaller = false;
            for (std::size_t first = 0; first < size();) {
                trace::Constraints candidate = without(all, first, length);
                if (reaches(candidate)) {
                    all = std::move(candidate);
                    smaller = true;
                } else {
                    first += length;
                }
            }
            if (!smaller || length > size()) { length /= 2; }
        }
        return all;
    }

    /// A run that is far longer than the failing one does not lead there; whoever is held back may be waited for in a loop.
    static std::function<void(WorldOptions&)> bounded(const std::function<void(WorldOptions&)>& world, const trace::Trace& failing) {
        if (failing.outcome.invariant == "INV-LIVE-01") { return world; }
        return [world, most = failing.outcome.steps * 20 + 10'000](WorldOptions& options) {
            if (world) { world(options); }
            if (options.dispatches_max == 0 || options.dispatches_max > most) { options.dispatches_max = most; }
        };
    }

    const Judged judged_;
    const trace::Trace& trace_;
    std::uint64_t runs_max_;
    const std::function<bool()>& go_on_;
    std::uint64_t runs_ = 0;
};

}  // namespace

std::optional<Anchor> anchor_of(std::string_view text) {
    const std::size_t at = text.rfind(" @ ");
    const std::size_t mark = text.rfind(" #");
    if (at == std::string_view::npos || at == 0 || mark == std::string_view::npos || mark < at + 3) { return std::nullopt; }
    const std::optional<Cell> cell = CellNames::cell_of(text.substr(at + 3, mark - at - 3));
    const std::string_view number = text.substr(mark + 2);
    std::uint32_t nth = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), nth);
    if (!cell || error != std::errc{} || end != number.data() + number.size() || nth == 0) { return std::nullopt; }
    return Anchor{LabelBook::of(text.substr(0, at)), *cell, nth};
}

Result<AdaptiveResult> replay_adaptively(const Judged& judged, const trace::Trace& trace, const ReplayOptions& options) {
    const Result<OrderGate::Plan> plan = gate_plan(trace.constraints);
    if (!plan) { return plan.error(); }
    return replay_plan(judged, trace, *plan, options, runs_per_replay);
}

LiftResult lift_constraints(const Judged& judged, const trace::Trace& failing, std::uint64_t runs_max, const std::function<bool()>& go_on) {
    return Lifter(judged, failing, runs_max, go_on).run();
}

}  // namespace heddle::sim
