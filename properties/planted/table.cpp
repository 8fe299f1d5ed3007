// SPDX-License-Identifier: Apache-2.0
// planted_table: how many schedules each strategy needs to each planted bug. Prints the table of README.md beside this file.
//
//   planted_table [--seeds N] [--budget N] [ID …]       20 seeds, 1000 schedules of each; every bug
//
//   bug ── exhaustive, once ──▶ schedules, deviations after shrinking, mode, invariant
//       └─ each sampler and the portfolio, a seed each ──▶ median and worst of the schedules to the first failure
// Chance: the seeds 1 to N, in the strategies.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/properties/planted/planted.hpp"
#include "heddle/properties/planted/scenarios.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/minimize.hpp"

namespace {

using namespace heddle;

constexpr sim::Strategy samplers[] = {sim::Strategy::portfolio, sim::Strategy::random, sim::Strategy::pct, sim::Strategy::pos,
                                      sim::Strategy::surw,      sim::Strategy::delay,  sim::Strategy::coverage};

struct Options {
    std::uint64_t seeds = 20;
    std::uint64_t budget = 1000;
    std::vector<std::string_view> only{};
};

sim::Report explored(const sim::ScenarioCall& call, sim::Strategy strategy, std::uint64_t seed, std::uint64_t budget) {
    sim::ExploreOptions options;
    options.strategy = strategy;
    options.seed = seed;
    options.runs_max = budget;
    options.shrink = strategy == sim::Strategy::exhaustive;
    options.keep_events = false;
    options.count_traces = false;
    return sim::explore(call, options);
}

/// "3 / 17": median and worst; behind them how many seeds found it, where not all did.
std::string measured(const sim::ScenarioCall& call, sim::Strategy strategy, const Options& options) {
    std::vector<std::uint64_t> runs;
    for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
        const sim::Report report = explored(call, strategy, seed, options.budget);
        if (report.violation) { runs.push_back(report.violation->runs); }
    }
    if (runs.empty()) { return "–"; }
    std::ranges::sort(runs);
    std::string text = std::to_string(runs[(runs.size() - 1) / 2]) + " / " + std::to_string(runs.back());
    if (runs.size() < options.seeds) { text += " (" + std::to_string(runs.size()) + ")"; }
    return text;
}

bool row(const sim::Scenario& scenario, const std::vector<sim::Scenario>& scenarios, const Options& options) {
    const auto call = sim::make_call(scenarios, scenario.name, {});
    if (!call) { return false; }
    planted::select(scenario.planted);
    const sim::Report report = explored(*call, sim::Strategy::exhaustive, 1, 20'000);
    if (!report.violation) { return false; }
    const sim::Found& found = *report.violation;
    std::string line = "| " + scenario.planted + " | " + found.invariant + " | " + found.mode + " | " + std::to_string(scenario.depth) + " | " +
                       std::to_string(sim::size_of(found.trace.decisions).count) + " | " + std::to_string(found.runs);
    for (const sim::Strategy strategy : samplers) { line += " | " + measured(*call, strategy, options); }
    planted::select("");
    std::printf("%s |\n", line.c_str());
    std::fflush(stdout);
    return true;
}

bool read(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        std::uint64_t* const number = word == "--seeds" ? &options.seeds : word == "--budget" ? &options.budget : nullptr;
        if (number == nullptr) {
            if (word.starts_with("-")) { return false; }
            options.only.push_back(word);
            continue;
        }
        if (++i == argc) { return false; }
        const std::string_view text = argv[i];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
        if (error != std::errc{} || end != text.data() + text.size() || *number == 0) { return false; }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!read(argc, argv, options)) {
        std::fputs("usage: planted_table [--seeds N] [--budget N] [ID ...]\n", stderr);
        return 2;
    }
    const std::vector<sim::Scenario> scenarios = prop::planted_scenarios();
    std::printf("| bug | violates | mode | expected depth | deviations, shrunk | exhaustive");
    for (const sim::Strategy strategy : samplers) { std::printf(" | %s", std::string(sim::to_string(strategy)).c_str()); }
    std::printf(" |\n|---|---|---|---:|---:|---:");
    for (std::size_t i = 0; i < std::size(samplers); ++i) { std::printf("|---:"); }
    std::printf("|\n");
    bool all = true;
    for (const sim::Scenario& scenario : scenarios) {
        if (!options.only.empty() && std::ranges::find(options.only, scenario.planted) == options.only.end()) { continue; }
        if (row(scenario, scenarios, options)) { continue; }
        std::fprintf(stderr, "planted_table: %s was not found\n", scenario.planted.c_str());
        all = false;
    }
    return all ? 0 : 1;
}
