// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/flight_replay.hpp"

#include <memory>
#include <utility>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace heddle::sim {

FlightReplay replay_flight(const Program& program, const std::function<OracleList()>& oracles,
                           const std::function<void(WorldOptions&)>& world_last_word, const trace::Trace& trace,
                           const RunRecording& how) {
    WorldOptions wanted = world_options(trace.recipe);
    if (world_last_word) { world_last_word(wanted); }
    World world(wanted);
    FlightGuide guide(trace, world.labels());
    guide.prepare(world.mutable_options());
    const OracleList judges = oracles ? oracles() : OracleList{};
    trace::RecorderOptions recording;
    recording.keep_events = how.keep_events;
    trace::TraceRecorder recorder(&world.labels(), &guide, recording);
    WorldOptions& in_use = world.mutable_options();
    in_use.chooser = &recorder;
    for (const auto& judge : judges) { in_use.oracles.push_back(judge.get()); }
    in_use.observers = {&recorder};
    in_use.observers.insert(in_use.observers.end(), how.observers.begin(), how.observers.end());
    in_use.door = [&guide](SimReactor& reactor) -> std::unique_ptr<Reactor> {
        return std::make_unique<FlightFollower>(reactor, guide);
    };
    in_use.on_violation = [&] {
        if (!guide.divergence() && how.on_violation) { how.on_violation(); }
    };
    FlightReplay result;
    in_use.at_end = [&](const Outcome& outcome) {
        Outcome end = outcome;
        if (outcome.kind == trace::OutcomeKind::violation && outcome.invariant == "CUT" && guide.at_end()) {
            end.kind = trace::OutcomeKind::cut;
            end.invariant.clear();
        } else if (!trace::is_failure(outcome.kind)) {
            guide.finish();
        }
        if (guide.divergence()) {
            end = {.kind = trace::OutcomeKind::diverged, .message = guide.divergence()->text(), .end = outcome.end};
        }
        result.trace = recorder.take(trace.recipe, end);
    };
    world.run(program);
    result.divergence = guide.divergence();
    result.met = guide.met();
    result.held = guide.held();
    result.trace.outcome.mode = trace::is_failure(result.trace.outcome.kind) ? trace.outcome.mode : "";
    result.reproduced = !result.divergence && result.trace.outcome.same_end(trace.outcome);
    return result;
}

FlightReplay replay_flight(const ScenarioCall& call, const trace::Trace& trace, const RunRecording& how) {
    return replay_flight(call.program(), [&call] { return call.oracles(); }, call.scenario->world, trace, how);
}

}  // namespace heddle::sim
