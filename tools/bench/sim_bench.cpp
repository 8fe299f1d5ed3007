// SPDX-License-Identifier: Apache-2.0
// How many schedules a second the simulator runs: every interleaving of three coroutines of four steps, nothing recorded.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/tools/bench/bench.hpp"

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

}  // namespace

void register_simulation() { benchmark::RegisterBenchmark("sim_rate/ours", measure_schedules)->Iterations(5); }

}  // namespace heddle::bench
