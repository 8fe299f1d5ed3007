// SPDX-License-Identifier: Apache-2.0
// Edit-proof traces: the bug programs are edited after their failures were recorded, and replayed by constraints (docs/explorer.md).
//
//   bug program ──found, shrunk, lifted──▶ trace ──▶ the program with a coroutine more, a suspension more, a coroutine less, both
//
// Bounds: one failure per program, 2,000 schedules each. At least 90 % of the failures have to survive each class of edits; how many the
// decisions alone survive is printed beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "heddle/properties/litmus/bugs.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/constraints.hpp"

namespace heddle::prop {
namespace {

/// Where a failure was found, and what the program was then made into.
struct EditClass {
    const char* name;
    const char* before;
    const char* after;
};
constexpr EditClass classes[] = {
    {"none", "none", "none"},
    {"coroutine added", "none", "coroutine"},
    {"suspension point added", "none", "suspension"},
    {"coroutine removed", "coroutine", "none"},
    {"coroutine and suspension point added", "none", "both"},
    {"coroutine and suspension points removed", "both", "none"},
};

struct Survival {
    int failures = 0;
    int by_constraints = 0;
    int by_decisions = 0;
    std::vector<std::size_t> constraints;
    std::string lost;
};

sim::ScenarioCall edited(const sim::Scenario& scenario, const char* edit) {
    Result<sim::ScenarioCall> call = sim::make_call({&scenario, 1}, scenario.name, {{"edit", edit}, {"start", "together"}});
    EXPECT_TRUE(call) << call.error().text();
    return *call;
}

void survive(const sim::Scenario& scenario, const EditClass& at, Survival& survival) {
    const sim::ScenarioCall before = edited(scenario, at.before);
    sim::ExploreOptions options;
    options.order = trace::Order::any;
    options.strategy = sim::Strategy::portfolio;
    options.runs_max = 2'000;
    const sim::Report report = sim::explore(before, options);
    if (!report.violation) { return; }
    const trace::Trace& trace = report.violation->trace;
    ++survival.failures;
    survival.constraints.push_back(trace.constraints.order.size() + trace.constraints.values.size());
    const sim::ScenarioCall after = edited(scenario, at.after);
    const sim::Program program = after.program();
    const Result<sim::AdaptiveResult> result = sim::replay_adaptively({program, [&] { return after.oracles(); }, after.scenario->world}, trace);
    ASSERT_TRUE(result) << result.error().text();
    const bool survived = result->replay.reproduced;
    survival.by_constraints += survived ? 1 : 0;
    if (!survived) { survival.lost += " " + scenario.name; }
    survival.by_decisions += sim::replay(after, trace).reproduced ? 1 : 0;
}

TEST(Edits, LeaveFailuresTheirConstraints) {
    std::vector<sim::Scenario> programs;
    for (const auto& more : {litmus_bugs(), litmus_queue_bugs(), litmus_pointer_bugs()}) { programs.insert(programs.end(), more.begin(), more.end()); }
    // Two of them spin: a schedule that favours the one that waits has a million steps.
    std::erase_if(programs, [](const sim::Scenario& at) { return at.name == "litmus/safe_stack" || at.name == "litmus/work_steal"; });
    for (const EditClass& at : classes) {
        Survival survival;
        for (const sim::Scenario& program : programs) { survive(program, at, survival); }
        ASSERT_GE(survival.failures, 15) << at.name;
        std::ranges::sort(survival.constraints);
        const std::size_t median = survival.constraints[survival.constraints.size() / 2];
        std::printf("%-40s %2d failures, %2d survive by constraints, %2d by decisions; constraints: median %zu, most %zu;%s\n", at.name,
                    survival.failures, survival.by_constraints, survival.by_decisions, median, survival.constraints.back(),
                    survival.lost.empty() ? " none lost" : (" lost:" + survival.lost).c_str());
        EXPECT_GE(survival.by_constraints * 10, survival.failures * 9) << at.name;
        EXPECT_LE(median, 3U) << at.name;
    }
}

}  // namespace
}  // namespace heddle::prop
