// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/replay_run.hpp"

#include <map>
#include <optional>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace heddle::sim {
namespace {

OracleList made(const std::function<OracleList()>& oracles) { return oracles ? oracles() : OracleList{}; }

std::vector<Oracle*> borrowed(const OracleList& oracles) {
    std::vector<Oracle*> list;
    for (const auto& oracle : oracles) { list.push_back(oracle.get()); }
    return list;
}

/// Texts of what a plan speaks of, by hash.
std::map<std::uint64_t, std::string> texts_of(const std::vector<trace::Decision>& decisions) {
    std::map<std::uint64_t, std::string> texts;
    for (const trace::Decision& decision : decisions) {
        texts.emplace(LabelBook::of(decision.at).value, decision.at);
        if (!decision.candidate.empty()) { texts.emplace(LabelBook::of(decision.candidate).value, decision.candidate); }
    }
    return texts;
}

}  // namespace

std::vector<PlannedAnswer> plan_of(const std::vector<trace::Decision>& decisions) {
    std::vector<PlannedAnswer> plan;
    for (const trace::Decision& decision : decisions) {
        PlannedAnswer answer;
        answer.at = LabelBook::of(decision.at).value;
        answer.kind = decision.kind;
        answer.chosen = decision.choose;
        answer.candidate = decision.candidate.empty() ? 0 : LabelBook::of(decision.candidate).value;
        answer.count = decision.count;
        answer.set_digest = decision.set;
        answer.footprint = decision.footprint;
        plan.push_back(answer);
    }
    return plan;
}

ReplayResult replay(const Program& program, const std::function<OracleList()>& oracles,
                    const std::function<void(WorldOptions&)>& world_last_word, const trace::Trace& trace,
                    const ReplayOptions& options) {
    WorldOptions world_of_trace = world_options(trace.recipe);
    if (world_last_word) { world_last_word(world_of_trace); }
    World world(world_of_trace);
    const OracleList judges = made(oracles);
    trace::RecorderOptions recording;
    recording.keep_events = options.keep_events;
    trace::TraceRecorder recorder(&world.labels(), nullptr, recording);
    std::optional<Divergence> divergence;
    std::string text;
    ReplayChooser::Options replaying;
    replaying.mode = options.mode;
    replaying.rest = options.rest;
    replaying.points_expected = trace.outcome.choices;
    replaying.footprint = [&recorder] { return trace::digest_of(recorder.footprint()); };
    bool running = true;
    replaying.on_divergence = [&](const Divergence& found) {
        divergence = found;
        text = found.describe(&world.labels(), texts_of(trace.decisions));
        // A strict replay stops where the run stops being the recorded one.
        if (running && options.mode == ReplayMode::strict) { report_violation({"REPLAY", text, "", 0}); }
    };
    ReplayChooser chooser(plan_of(trace.decisions), std::move(replaying));
    recorder.set_inner(&chooser);
    WorldOptions& in_use = world.mutable_options();
    const std::uint32_t tag = RunGuard::tag_of(trace.recipe.order, asks_one_question(trace.recipe));
    in_use.chooser = options.guard != nullptr ? &options.guard->begin(recorder, tag) : &recorder;
    in_use.oracles = borrowed(judges);
    in_use.observers = {&recorder};
    in_use.observers.insert(in_use.observers.end(), options.observers.begin(), options.observers.end());
    in_use.on_violation = [&] {
        if (!divergence && options.on_violation) { options.on_violation(); }
    };
    trace::Trace taken;
    in_use.at_end = [&](const Outcome& outcome) {
        running = false;
        Outcome end = outcome;
        if (divergence && options.mode == ReplayMode::strict) {
            end.kind = trace::OutcomeKind::diverged;
            end.invariant.clear();
            end.message = text;
        }
        taken = recorder.take(trace.recipe, end);
        if (outcome.kind == trace::OutcomeKind::ok && !divergence) { chooser.finish(); }
    };
    world.run(program);
    ReplayResult result;
    result.trace = std::move(taken);
    if (divergence && result.trace.outcome.kind == trace::OutcomeKind::ok && options.mode == ReplayMode::strict) {
        result.trace.outcome.kind = trace::OutcomeKind::diverged;
        result.trace.outcome.message = text;
    }
    result.trace.outcome.mode = trace.outcome.mode;
    result.trace.constraints = trace.constraints;
    const bool diverged = divergence && options.mode == ReplayMode::strict;
    result.reproduced = !diverged && result.trace.outcome.same_end(trace.outcome);
    result.same_hash = result.reproduced && result.trace.hash.value == trace.hash.value;
    result.divergence = std::move(divergence);
    result.divergence_text = std::move(text);
    return result;
}

ReplayResult replay(const ScenarioCall& call, const trace::Trace& trace, const ReplayOptions& options) {
    return replay(call.program(), [&call] { return call.oracles(); }, call.scenario->world, trace, options);
}

trace::Trace record(const Program& program, const std::function<OracleList()>& oracles,
                    const std::function<void(WorldOptions&)>& world_last_word, const trace::Recipe& recipe, Chooser* chooser,
                    const RunRecording& how) {
    WorldOptions wanted = world_options(recipe);
    if (world_last_word) { world_last_word(wanted); }
    std::optional<World> fresh;
    if (how.world == nullptr) { fresh.emplace(wanted); }
    World& world = fresh ? *fresh : *how.world;
    world.configure(wanted);
    const OracleList judges = made(oracles);
    trace::RecorderOptions recording;
    recording.keep_events = how.keep_events;
    trace::TraceRecorder recorder(&world.labels(), chooser, recording);
    WorldOptions& in_use = world.mutable_options();
    in_use.chooser = how.guard != nullptr ? &how.guard->begin(recorder, RunGuard::tag_of(recipe.order, asks_one_question(recipe))) : &recorder;
    in_use.oracles = borrowed(judges);
    in_use.observers = {&recorder};
    in_use.observers.insert(in_use.observers.end(), how.observers.begin(), how.observers.end());
    in_use.on_violation = how.on_violation;
    trace::Trace taken;
    in_use.at_end = [&](const Outcome& outcome) {
        taken = recorder.take(recipe, outcome);
        if (how.at_end) { how.at_end(world); }
    };
    world.run(program);
    world.configure(wanted);  // without what ends here
    taken.outcome.mode = taken.outcome.kind == trace::OutcomeKind::violation ? mode_of(taken) : "";
    return taken;
}

trace::Trace record(const ScenarioCall& call, const trace::Recipe& recipe, Chooser* chooser, bool keep_events,
                    const std::vector<Observer*>& observers, RunGuard* guard) {
    return record(call.program(), [&call] { return call.oracles(); }, call.scenario->world, recipe, chooser,
                  {.keep_events = keep_events, .observers = observers, .guard = guard});
}

std::string mode_of(const trace::Trace& trace) {
    bool any = false;
    bool jitter = false;
    for (const trace::Decision& decision : trace.decisions) {
        any = any || decision.kind == ChoiceKind::dispatch;
        jitter = jitter || decision.kind == ChoiceKind::timer || decision.kind == ChoiceKind::late;
    }
    const char* const time = !jitter ? "" : trace.recipe.time == TimeLevel::T4 ? "+untimed" : "+jitter";
    return std::string(any ? "any" : "faithful") + time;
}

}  // namespace heddle::sim
