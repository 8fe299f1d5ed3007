// SPDX-License-Identifier: Apache-2.0
// What goes wrong, everywhere: one cancellation or failure at each place of a program, two at every two of them, a shutdown at each step.
//
// Bounds: stated at each test; the programs run in production's order, and nothing else of them is free (simreactor/world/sweep.hpp).
// The seed is fixed (HEDDLE_SEED sets another).
#include <gtest/gtest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "heddle/properties/program/any.hpp"
#include "heddle/properties/program/generator.hpp"
#include "heddle/properties/program/judged_run.hpp"
#include "heddle/properties/scenario/sync.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/world/sweep.hpp"

namespace heddle::prop {
namespace {

/// Every run with at most `faults` things that go wrong.
sim::Report sweep(const sim::Scenario& scenario, const std::map<std::string, std::string>& values, sim::SweepOf of, std::uint32_t faults,
                  std::uint64_t runs_max) {
    const sim::Scenario swept = sim::swept(scenario, of);
    const auto call = sim::make_call(std::span(&swept, 1), swept.name, values);
    EXPECT_TRUE(call);
    sim::ExploreOptions options;
    options.order = trace::Order::faithful;
    options.bound = faults;
    options.runs_max = runs_max;
    options.shrink = false;  // it is small as it is
    options.recipe.knobs[std::string(sim::sweep_knob)] = sim::to_string(of);
    return sim::explore(*call, options);
}

TEST(Sweep, APoolStandsWhateverGoesWrongOnceAndTwice) {
    const std::vector<sim::Scenario> scenarios = sync_scenarios();
    const auto pool = std::ranges::find(scenarios, "sync/pool", &sim::Scenario::name);
    ASSERT_NE(pool, scenarios.end());
    const sim::Report report = sweep(*pool, {}, sim::SweepOf::both, 2, 100'000);
    std::printf("%llu runs\n", static_cast<unsigned long long>(report.runs));
    if (report.violation) { ADD_FAILURE() << failure_report(report.violation->trace, "sweep_pool"); }
    EXPECT_FALSE(report.stopped);
    EXPECT_GT(report.runs, 200U);
}

std::string generated_programs_stand(const char* name, sim::SweepOf of, std::uint64_t& runs) {
    const sim::Scenario scenario = program_scenario();
    return check_generated(name, 200, [&, name] {
        const ProgramData program = *arbitrary_program({5, 30, 2, Alphabet::primitives});
        const sim::Report report = sweep(scenario, {{"program", to_text(program)}}, of, 1, 2'000);
        runs += report.runs;
        if (report.violation) { RC_FAIL(failure_report(report.violation->trace, name)); }
    });
}

// 200 programs of at most 5 coroutines and about 30 steps: a cancellation of each coroutine at the end of each step.
TEST(Sweep, GeneratedProgramsKeepEveryInvariantWhoeverIsCancelledWherever) {
    std::uint64_t runs = 0;
    const std::string failure = generated_programs_stand("sweep_cancel", sim::SweepOf::cancellations, runs);
    if (!failure.empty()) { FAIL() << failure; }
    EXPECT_GT(runs, 500U);
}

// The same, and the runtime begins to shut down at the end of each step.
TEST(Sweep, GeneratedProgramsKeepEveryInvariantWhereverTheyShutDown) {
    std::uint64_t runs = 0;
    const std::string failure = generated_programs_stand("sweep_shutdown", sim::SweepOf::shutdowns, runs);
    if (!failure.empty()) { FAIL() << failure; }
    EXPECT_GT(runs, 500U);
}

}  // namespace
}  // namespace heddle::prop
