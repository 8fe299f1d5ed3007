// SPDX-License-Identifier: Apache-2.0
// Generated programs on the primitives: every oracle holds, and what channels, pools, mutexes and permits give is what the reference
// model allows.
//
// Bounds: stated at each test, in programs and schedules, never in seconds. The seed is fixed (HEDDLE_SEED sets another).
#include <gtest/gtest.h>

#include <rapidcheck.h>

#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "heddle/properties/model/model.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/program/any.hpp"
#include "heddle/properties/program/generator.hpp"
#include "heddle/properties/program/interpreter.hpp"
#include "heddle/properties/program/judged_run.hpp"
#include "heddle/simreactor/explore/campaign.hpp"

namespace heddle::prop {
namespace {

void expect_holds(const std::string& failure) {
    if (!failure.empty()) { FAIL() << failure; }
}

std::string every_oracle_holds(const char* name, int runs, const JudgedOptions& options) {
    ProgramLimits limits;
    limits.alphabet = Alphabet::primitives;
    JudgedRuns judged(options);
    return check_generated(name, runs, [&] {
        const ProgramData program = *arbitrary_program(limits);
        const Schedule schedule = *arbitrary_schedule();
        const sim::Outcome outcome = judged.run(program, schedule);
        if (outcome.kind != trace::OutcomeKind::violation) { return; }
        RC_FAIL(failure_report(judged.record(program, schedule), name));
    });
}

// 6,000 programs of at most 5 coroutines and about 24 steps, one schedule each.
TEST(ProgramsOnPrimitives, KeepEveryInvariantInAnyOrder) {
    expect_holds(every_oracle_holds("primitives_any_order", 6'000, {trace::Order::any, sim::TimeLevel::T1}));
}

TEST(ProgramsOnPrimitives, KeepEveryInvariantInProductionsOrder) {
    expect_holds(every_oracle_holds("primitives_faithful_order", 4'000, {trace::Order::faithful, sim::TimeLevel::T1}));
}

TEST(ProgramsOnPrimitives, KeepEveryInvariantWithLateTimers) {
    expect_holds(every_oracle_holds("primitives_late_timers", 3'000, {trace::Order::any, sim::TimeLevel::T2}));
}

// 150 programs of at most 4 coroutines and about 14 steps, every schedule of at most 2 answers other than production's, at most 500 each.
TEST(SmallProgramsOnPrimitives, KeepEveryInvariantUnderEveryScheduleOfTwoDeviations) {
    const sim::Scenario scenario = program_scenario();
    std::uint64_t runs = 0;
    expect_holds(check_generated("small_primitives", 150, [&] {
        const ProgramData program = *arbitrary_program({4, 14, 2, Alphabet::primitives});
        const Result<sim::ScenarioCall> call = sim::make_call(std::span(&scenario, 1), scenario.name, {{"program", to_text(program)}});
        RC_ASSERT(static_cast<bool>(call));
        sim::ExploreOptions options;
        options.bound = 2;
        options.runs_max = 500;
        const sim::Report report = sim::explore(*call, options);
        runs += report.runs;
        if (report.violation) { RC_FAIL(failure_report(report.violation->trace, "small_primitives")); }
    }));
    EXPECT_GT(runs, 2'000U);
}

// ── refinement ──

/// The outcomes of a program under every order of its coroutines.
struct Seen {
    std::set<std::string> outcomes;
    sim::Report report;
};

Seen outcomes_on_heddle(const ProgramData& program, std::uint64_t runs_max) {
    Seen seen;
    const auto journal = std::make_shared<Journal>();
    sim::ExploreOptions options;
    options.order = trace::Order::any;
    options.runs_max = runs_max;
    options.oracles = [] { return all_oracles(); };
    options.world = [&](sim::WorldOptions& world) {
        world.mask = {ChoiceKind::dispatch};
        world.errors_are_violations = false;
        world.at_end = [&, inner = std::move(world.at_end)](const sim::Outcome& outcome) {
            if (outcome.kind != trace::OutcomeKind::violation) { seen.outcomes.insert(journal->text()); }
            if (inner) { inner(outcome); }
        };
    };
    seen.report = sim::explore(interpret(with_models_main(program), Holds::last, journal), options);
    return seen;
}

std::string told(const ProgramData& program, const std::string& outcome, const std::set<std::string>& allowed) {
    std::string text = to_text(with_models_main(program)) + "\nended with     " + outcome;
    for (const std::string& one : allowed) { text += "\nallowed        " + one; }
    return text;
}

/// How much was compared.
struct Compared {
    std::uint64_t programs = 0;
    std::uint64_t complete = 0;
    std::uint64_t outcomes = 0;
};

/// Each outcome on Heddle is one that the model allows. Where all orders of a program were run, nothing that the model allows is out of reach
/// either.
void compare(const ProgramData& program, std::uint64_t runs_max, Compared& compared) {
    const std::optional<std::set<std::string>> allowed = possible_outcomes(program, 20'000);
    if (!allowed) { return; }
    const Seen seen = outcomes_on_heddle(program, runs_max);
    if (seen.report.violation) { RC_FAIL(seen.report.violation->invariant + ": " + seen.report.violation->message + "\n" + to_text(program)); }
    for (const std::string& outcome : seen.outcomes) {
        if (!allowed->contains(outcome)) { RC_FAIL(told(program, outcome, *allowed)); }
    }
    ++compared.programs;
    compared.outcomes += seen.outcomes.size();
    if (!seen.report.complete) { return; }
    ++compared.complete;
    for (const std::string& outcome : *allowed) {
        if (!seen.outcomes.contains(outcome)) { RC_FAIL(told(program, "(nothing reaches) " + outcome, seen.outcomes)); }
    }
}

Compared compare_generated(const char* name, int programs, const ProgramLimits& limits, std::uint64_t runs_max) {
    Compared compared;
    expect_holds(check_generated(name, programs, [&] { compare(*arbitrary_program(limits), runs_max, compared); }));
    std::printf("%llu programs, %llu of them in every order, %llu outcomes\n", static_cast<unsigned long long>(compared.programs),
                static_cast<unsigned long long>(compared.complete), static_cast<unsigned long long>(compared.outcomes));
    return compared;
}

// 600 programs of at most 5 coroutines and about 24 steps, main's among them, at most 3,000 orders of each.
TEST(Refinement, WhatChannelsPoolsAndLocksGiveIsWhatTheModelAllows) {
    const Compared compared = compare_generated("refinement", 600, {5, 24, 2, Alphabet::model}, 3'000);
    EXPECT_GT(compared.complete, 100U);
    EXPECT_GT(compared.outcomes, compared.programs + compared.programs / 3);
}

// 300 programs of at most 6 coroutines and about 20 steps, main's among them, at most 2,000 orders of each.
TEST(Refinement, WhatAPoolOfTwoPlacesGivesIsWhatTheModelAllows) {
    const Compared compared = compare_generated("refinement_pools", 300, {6, 20, 2, Alphabet::model_pools}, 2'000);
    EXPECT_GT(compared.complete, 200U);
    EXPECT_GT(compared.outcomes, compared.programs * 2);
}

// 300 programs of at most 6 coroutines and about 20 steps, main's among them, at most 2,000 orders of each.
TEST(Refinement, WhatMutexesAndPermitsGiveIsWhatTheModelAllows) {
    const Compared compared = compare_generated("refinement_locks", 300, {6, 20, 2, Alphabet::model_locks}, 2'000);
    EXPECT_GT(compared.complete, 200U);
    EXPECT_GT(compared.outcomes, compared.programs * 2);
}

/// A hand-made pair of programs that a wrong model, or none, would pass.
TEST(Refinement, TheModelKnowsWhoIsServedFirst) {
    const auto outcomes_of = [](const char* text) {
        const Result<ProgramData> program = program_from_text(text, "program");
        EXPECT_TRUE(program) << (program ? "" : program.error().text());
        const std::optional<std::set<std::string>> allowed = possible_outcomes(*program);
        EXPECT_TRUE(allowed);
        const Seen seen = outcomes_on_heddle(*program, 100'000);
        EXPECT_TRUE(seen.report.complete);
        EXPECT_EQ(seen.outcomes, *allowed);
        return seen.outcomes;
    };
    // What was sent is there for whoever asks next.
    EXPECT_EQ(outcomes_of(R"([[],[["send",1,0],["try_receive",1]]])"), (std::set<std::string>{"1: sent 101"}));
    // A rendezvous ends with both sides, or with neither.
    EXPECT_EQ(outcomes_of(R"([[],[["send",0,0]],[["receive",0,0]]])"), (std::set<std::string>{"1: sent | 2: 101"}));
    // A cancellation meets the sender before its start, at its offer, or behind the delivery.
    EXPECT_EQ(outcomes_of(R"([[],[["send",0,0]],[["cancel",1],["receive",0,0]]])"),
              (std::set<std::string>{"1: cancelled | 2: closed", "2: closed"}));
    // One place: the second user waits for the first, and gets the same resource.
    EXPECT_EQ(outcomes_of(R"([[],[["use",0,0,"release",[["yield"]]]],[["use",0,0,"release",[["yield"]]]]])"),
              (std::set<std::string>{"1: has 1 | 2: has 1"}));
    // Whoever comes first enters first: any of them may be that.
    EXPECT_EQ(outcomes_of(R"([[],[["permit",0,[["yield"]]]],[["permit",1,[]]],[["permit",0,[]]]])"),
              (std::set<std::string>{"1: in p#1 | 2: in p#2 | 3: in p#3", "1: in p#1 | 2: in p#3 | 3: in p#2",
                                     "1: in p#2 | 2: in p#1 | 3: in p#3", "1: in p#2 | 2: in p#3 | 3: in p#1",
                                     "1: in p#3 | 2: in p#1 | 3: in p#2", "1: in p#3 | 2: in p#2 | 3: in p#1"}));
    // Whoever asked for two and is cancelled lets a single one through that fits (MTX-04): the first one waits inside for the third.
    EXPECT_TRUE(outcomes_of(R"([[],[["permit",0,[["receive",1,0]]]],[["permit",1,[]]],[["permit",0,[["send",1,0]]]],[["cancel",2]]])")
                    .contains("1: in p#1 301 | 2: cancelled | 3: in p#2 sent"));
    // A maker that is cancelled leaves its place to whoever waits; 10.12, example 4.
    EXPECT_EQ(outcomes_of(R"([[],[["use",0,0,"release",[["use",1,0,"release",[["yield"]]]]]],[["cancel",1]]])"),
              (std::set<std::string>{"1: has 1 cancelled", "1: has 1 has 1/1", "1: has 1 has 1/1 cancelled", ""}));
}

}  // namespace
}  // namespace heddle::prop
