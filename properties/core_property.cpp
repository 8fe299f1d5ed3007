// SPDX-License-Identifier: Apache-2.0
// The runtime core under generated programs and schedules: every oracle holds, whoever observes, however contexts are handed on.
//
// Bounds: stated at each test, in programs and schedules, never in seconds. The seed is fixed (HEDDLE_SEED sets another).
#include <gtest/gtest.h>

#include <rapidcheck.h>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/program/any.hpp"
#include "heddle/properties/program/generator.hpp"
#include "heddle/properties/program/interpreter.hpp"
#include "heddle/properties/program/judged_run.hpp"
#include "heddle/simreactor/chooser/audit.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::prop {
namespace {

using sim::Outcome;
using trace::OutcomeKind;

void expect_holds(const std::string& failure) {
    if (!failure.empty()) { FAIL() << failure; }
}

/// All oracles, `runs` cases of program and schedule.
std::string every_oracle_holds(const char* name, int runs, const JudgedOptions& options, const ProgramLimits& limits = {}) {
    JudgedRuns judged(options);
    return check_generated(name, runs, [&] {
        const ProgramData program = *arbitrary_program(limits);
        const Schedule schedule = *arbitrary_schedule();
        const Outcome outcome = judged.run(program, schedule);
        if (outcome.kind != OutcomeKind::violation) { return; }
        RC_FAIL(failure_report(judged.record(program, schedule), name));
    });
}

// 4,000 programs of at most 5 coroutines and about 24 steps, one schedule each.
TEST(GeneratedPrograms, KeepEveryInvariantInAnyOrder) {
    expect_holds(every_oracle_holds("any_order", 4'000, {trace::Order::any, sim::TimeLevel::T1}));
}

TEST(GeneratedPrograms, KeepEveryInvariantInProductionsOrder) {
    expect_holds(every_oracle_holds("faithful_order", 4'000, {trace::Order::faithful, sim::TimeLevel::T1}));
}

TEST(GeneratedPrograms, KeepEveryInvariantWithLateTimers) {
    expect_holds(every_oracle_holds("late_timers", 2'000, {trace::Order::any, sim::TimeLevel::T2}));
}

}  // namespace
}  // namespace heddle::prop
