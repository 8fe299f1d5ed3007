// SPDX-License-Identifier: Apache-2.0
// How many schedules a second the simulator runs: every interleaving of small programs with nothing recorded, samples of a larger one with
// vector clocks, and what recording adds to those; how fast time goes by in a world of several machines.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/litmus/litmus.hpp"
#include "heddle/properties/scenario/registers.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/trace_watch.hpp"
#include "heddle/tools/bench/bench.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace heddle::bench {
namespace {

void three_of_four_steps() {
    for (int number = 0; number < 3; ++number) {
        heddle::spawn("worker", [] {
            for (int step = 0; step < 3; ++step) { heddle::yield(); }
        });
    }
}

void measure_schedules(benchmark::State& state) {
    sim::ExploreOptions options;
    options.clock = cpu_seconds;
    options.order = trace::Order::any;
    options.world = [](sim::WorldOptions& world) { world.mask = sim::ChoiceMask{ChoiceKind::dispatch}; };
    std::vector<double> rates;
    for (auto lap : state) {
        const sim::Report report = sim::explore(three_of_four_steps, options);
        // 12! / (4!)^3 interleavings: a search that leaves some out is no measurement of it.
        if (!report.complete || report.runs < 34'650) { state.SkipWithError("the search is not complete"); }
        rates.push_back(static_cast<double>(report.runs) / report.seconds);
    }
    std::sort(rates.begin(), rates.end());
    state.counters["per_op"] = rates.empty() ? 0 : rates[rates.size() / 2];
}

sim::Program litmus(const std::string& call) {
    static const std::vector<sim::Scenario> scenarios = prop::litmus_scenarios();
    return sim::parse_call(scenarios, call)->program();
}

void report_median(benchmark::State& state, std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    state.counters["per_op"] = values.empty() ? 0 : values[values.size() / 2];
}

void measure_lock(benchmark::State& state) {
    const sim::Program program = litmus("litmus/lock:n=4");
    sim::ExploreOptions options;
    options.order = trace::Order::any;
    std::vector<double> rates;
    for (auto lap : state) {
        const double began = cpu_seconds();
        std::uint64_t runs = 0;
        while (runs < 100'000) {
            const sim::Report report = sim::explore(program, options);
            if (!report.complete) { state.SkipWithError("the search is not complete"); }
            runs += report.runs;
        }
        rates.push_back(static_cast<double>(runs) / (cpu_seconds() - began));
    }
    report_median(state, rates);
}

void measure_samples(benchmark::State& state) {
    const sim::Program program = litmus("litmus/yielders:n=10,k=10");
    sim::ExploreOptions options;
    options.strategy = sim::Strategy::random;
    options.order = trace::Order::any;
    options.runs_max = 50'000;
    options.clock = cpu_seconds;
    std::vector<double> rates;
    for (auto lap : state) {
        const sim::Report report = sim::explore(program, options);
        if (report.traces != options.runs_max) { state.SkipWithError("a trace came twice, which is next to impossible"); }
        rates.push_back(static_cast<double>(report.runs) / report.seconds);
    }
    report_median(state, rates);
}

/// CPU seconds for so many samples with vector clocks. @param records  keeps every event, too
double seconds_of_samples(const sim::Program& program, int samples, bool records) {
    sim::WorldOptions options;
    options.order = trace::Order::any;
    options.name_points = records;
    sim::World world(options);
    sim::RandomChooser random(1);
    sim::TraceWatch watch;
    trace::RecorderOptions recording;
    recording.keep_events = true;
    trace::TraceRecorder recorder(&world.labels(), &watch, recording);
    sim::WorldOptions& in_use = world.mutable_options();
    in_use.observers.push_back(&watch);
    if (records) { in_use.observers.push_back(&recorder); }
    in_use.chooser = &watch;
    if (records) { in_use.chooser = &recorder; }
    const double began = cpu_seconds();
    for (int i = 0; i < samples; ++i) {
        random.begin(static_cast<std::uint64_t>(i));
        watch.begin(random);
        recorder.reset();
        world.run(program);
        watch.finish();
    }
    return cpu_seconds() - began;
}

void measure_recording(benchmark::State& state) {
    const sim::Program program = litmus("litmus/yielders:n=10,k=10");
    constexpr int samples = 10'000;
    std::vector<double> ratios;
    for (auto lap : state) { ratios.push_back(seconds_of_samples(program, samples, true) / seconds_of_samples(program, samples, false)); }
    report_median(state, ratios);
}

/// A key-value store on five machines, each client with an operation a second, through partitions and crashes.
void measure_world(benchmark::State& state) {
    constexpr int virtual_seconds = 2000;
    const sim::Program program = prop::register_clients({.span = std::chrono::seconds(virtual_seconds)});
    std::vector<double> rates;
    for (auto lap : state) {
        sim::WorldOptions options;
        prop::world_with_registers(prop::RegisterMistake::none)(options);
        sim::World world(options);
        const double began = cpu_seconds();
        if (world.run(program).kind != trace::OutcomeKind::ok) { state.SkipWithError("the store did not keep its word"); }
        rates.push_back(virtual_seconds / (cpu_seconds() - began));
    }
    report_median(state, rates);
}

}  // namespace

void register_simulation() {
    benchmark::RegisterBenchmark("sim_rate/ours", measure_schedules)->Iterations(5);
    benchmark::RegisterBenchmark("world_rate/ours", measure_world)->Iterations(5);
    benchmark::RegisterBenchmark("sim_lock/ours", measure_lock)->Iterations(5);
    benchmark::RegisterBenchmark("sim_sampled/ours", measure_samples)->Iterations(5);
    benchmark::RegisterBenchmark("sim_recorded/ours", measure_recording)->Iterations(5);
}

}  // namespace heddle::bench
