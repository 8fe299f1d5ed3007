// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: bytes are the answers of one run of a scenario, and what the run covers guides the next bytes.
//
//   HEDDLE_FUZZ=subject/name:key=value [HEDDLE_FUZZ_ORDER=any] schedule_fuzzer [corpus folder] [libFuzzer's options]
//
// A violation is written as a trace, beside the input that libFuzzer keeps, and ends the process as libFuzzer expects.
// What the trace holds no longer depends on bytes: simrun replays and shrinks it like any other.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "heddle/properties/scenario/all.hpp"
#include "heddle/simreactor/chooser/bytes.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_text.hpp"

namespace {

using namespace heddle;

std::string setting(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

/// What is fuzzed: read once, checked, and kept for the life of the process.
struct Target {
    sim::ScenarioCall call;
    trace::Recipe recipe;

    Target() {
        Result<sim::ScenarioCall> parsed = sim::parse_call(prop::all_scenarios(), setting("HEDDLE_FUZZ", ""));
        if (!parsed) {
            std::fprintf(stderr, "schedule_fuzzer: HEDDLE_FUZZ: %s\n", parsed.error().text().c_str());
            std::exit(2);
        }
        call = *std::move(parsed);
        sim::WorldOptions world;
        world.order = setting("HEDDLE_FUZZ_ORDER", "faithful") == "any" ? trace::Order::any : trace::Order::faithful;
        if (call.scenario->world) { call.scenario->world(world); }
        sim::describe_world(world, recipe);
        recipe.scenario = call.scenario->name;
        recipe.parameters = call.parameters.values();
        recipe.planted = call.scenario->planted;
        recipe.strategy = "bytes";
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Target target;
    sim::BytesChooser chooser({data, size});
    const trace::Trace trace = sim::record(target.call, target.recipe, &chooser, false);
    if (trace.outcome.kind != trace::OutcomeKind::violation) { return 0; }
    sim::BytesChooser again({data, size});
    const trace::Trace whole = sim::record(target.call, target.recipe, &again, true);
    const Result<std::uint64_t> written = trace::write_trace("fuzzed.trace.json", whole, trace::Overwrite::yes);
    std::fprintf(stderr, "VIOLATED %s\n%s\n", trace::describe(whole.outcome).c_str(),
                 written ? "simrun --replay fuzzed.trace.json" : written.error().text().c_str());
    std::abort();
}
