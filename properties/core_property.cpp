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

// 300 programs of at most 4 coroutines and about 16 steps, every schedule of at most 2 answers other than production's, at most 600 each.
TEST(SmallPrograms, KeepEveryInvariantUnderEveryScheduleOfTwoDeviations) {
    const sim::Scenario scenario = program_scenario();
    std::uint64_t runs = 0;
    expect_holds(check_generated("small_programs", 300, [&] {
        const ProgramData program = *arbitrary_program({4, 16, 2});
        const Result<sim::ScenarioCall> call = sim::make_call(std::span(&scenario, 1), scenario.name, {{"program", to_text(program)}});
        RC_ASSERT(static_cast<bool>(call));
        sim::ExploreOptions options;
        options.bound = 2;
        options.runs_max = 600;
        const sim::Report report = sim::explore(*call, options);
        runs += report.runs;
        if (report.violation) { RC_FAIL(failure_report(report.violation->trace, "small_programs")); }
    }));
    EXPECT_GT(runs, 3'000U);
}

// ── the world is a function of program and answers (INV-RCT-14), and nobody who looks on changes it (O1) ──

/// Every question and its answer, in order.
class AskLog final : public Chooser {
public:
    void begin(const Schedule& schedule) {
        inner_.begin(schedule);
        asked_.clear();
    }
    std::uint32_t choose(const ChoicePoint& point) override {
        const std::uint32_t answer = inner_.choose(point);
        asked_.push_back(hash_mix(hash_mix(point.at.value, static_cast<std::uint64_t>(point.kind)), (std::uint64_t{point.count} << 32) | answer));
        return answer;
    }
    [[nodiscard]] const std::vector<std::uint64_t>& asked() const { return asked_; }

private:
    ScheduleChooser inner_;
    std::vector<std::uint64_t> asked_;
};

/// Everything that a program, a handler or a reader of counters can tell apart; not where stacks come from.
class Visible final : public Observer {
public:
    void on_event(const Event& event) override {
        switch (event.kind) {
            case EventKind::switched:
            case EventKind::context_created:
            case EventKind::context_pooled:
            case EventKind::context_reused:
            case EventKind::context_destroyed: return;
            default: break;
        }
        const bool counts_switch = event.kind == EventKind::resumed;  // its `a` says whether the stack changed
        std::uint64_t hash = hash_mix(static_cast<std::uint64_t>(event.kind), static_cast<std::uint64_t>(event.at.ns()));
        hash = hash_mix(hash_mix(hash, event.who.value), event.what.value);
        hash = hash_mix(hash, counts_switch ? 0 : static_cast<std::uint64_t>(event.a));
        seen_.push_back(hash_text(event.note, hash_mix(hash, static_cast<std::uint64_t>(event.b))));
    }
    [[nodiscard]] const std::vector<std::uint64_t>& seen() const { return seen_; }
    void clear() { seen_.clear(); }

private:
    std::vector<std::uint64_t> seen_;
};

struct Told {
    std::vector<std::uint64_t> asked;
    std::vector<std::uint64_t> seen;
    OutcomeKind kind = OutcomeKind::ok;
    std::string message;
    Instant end;
    friend bool operator==(const Told&, const Told&) = default;
};

Told told(const ProgramData& program, const Schedule& schedule, bool observed, bool judged, bool hand_over = true, bool pool = true) {
    AskLog log;
    log.begin(schedule);
    Visible visible;
    const sim::OracleList oracles = all_oracles();
    sim::WorldOptions options;
    options.order = trace::Order::any;
    options.errors_are_violations = false;
    options.chooser = &log;
    options.hand_over = hand_over;
    options.pool_contexts = pool;
    if (observed) { options.observers.push_back(&visible); }
    for (const auto& oracle : oracles) {
        if (judged) { options.oracles.push_back(oracle.get()); }
    }
    sim::World world(options);
    const Outcome outcome = world.run(interpret(program));
    return {log.asked(), visible.seen(), outcome.kind, outcome.message, outcome.end};
}

// 400 programs, one schedule each, in fresh worlds.
TEST(World, MakesTheSameDecisionsWhoeverLooksOn) {
    expect_holds(check_generated("INV-RCT-14", 400, [] {
        const ProgramData program = *arbitrary_program();
        const Schedule schedule = *arbitrary_schedule();
        Told alone = told(program, schedule, false, false);
        Told watched = told(program, schedule, true, true);
        RC_ASSERT(alone.asked == watched.asked);
        watched.seen.clear();
        RC_ASSERT(alone == watched);
    }));
}

TEST(World, GivesTheSameTraceForTheSameAnswers) {
    const JudgedRuns judged;
    expect_holds(check_generated("INV-RCT-14", 200, [&] {
        const ProgramData program = *arbitrary_program();
        const Schedule schedule = *arbitrary_schedule();
        RC_ASSERT(trace::to_json(judged.record(program, schedule)) == trace::to_json(judged.record(program, schedule)));
    }));
}

/// A world that has run something else before is as good as a new one (WD1).
TEST(World, RemembersNothingOfItsLastRun) {
    AskLog log;
    Visible visible;
    sim::WorldOptions options;
    options.order = trace::Order::any;
    options.errors_are_violations = false;
    options.chooser = &log;
    options.observers.push_back(&visible);
    sim::World used(options);
    expect_holds(check_generated("used_world", 400, [&] {
        const ProgramData program = *arbitrary_program();
        const Schedule schedule = *arbitrary_schedule();
        const Told fresh = told(program, schedule, true, false);
        log.begin(schedule);
        visible.clear();
        const Outcome outcome = used.run(interpret(program));
        const Told again{log.asked(), visible.seen(), outcome.kind, outcome.message, outcome.end};
        RC_ASSERT(fresh == again);
    }));
}

// INV-SCHED-21: hand-over and context pool are invisible. 400 programs, one schedule each, all four combinations.
TEST(Contexts, AreHandedOnInvisibly) {
    expect_holds(check_generated("INV-SCHED-21", 400, [] {
        const ProgramData program = *arbitrary_program();
        const Schedule schedule = *arbitrary_schedule();
        const Told normal = told(program, schedule, true, true);
        for (const bool hand_over : {false, true}) {
            for (const bool pool : {false, true}) { RC_ASSERT(told(program, schedule, true, true, hand_over, pool) == normal); }
        }
    }));
}

// ── shrinking ──

/// Says "violated" when anybody is cancelled: a bug that every third program has, to see what is made of it.
class NobodyIsCancelled final : public sim::Oracle {
public:
    void begin(sim::World&) override {}
    void on_event(const Event& event) override {
        if (event.kind == EventKind::cancel_delivered) { report_violation({"INV-TEST", "somebody was cancelled", __FILE__, __LINE__}); }
    }
};

TEST(Counterexample, ShrinksProgramAndScheduleTogetherAndReplaysFromItsTrace) {
    JudgedOptions options;
    options.oracles = [] {
        sim::OracleList list;
        list.push_back(std::make_unique<NobodyIsCancelled>());
        return list;
    };
    JudgedRuns judged(options);
    ProgramData last;
    Schedule last_schedule;
    const std::string said = check_generated("shrunk", 1'000, [&] {
        const ProgramData program = *arbitrary_program();
        const Schedule schedule = *arbitrary_schedule();
        if (judged.run(program, schedule).kind != OutcomeKind::violation) { return; }
        last = program;
        last_schedule = schedule;
        RC_FAIL(failure_report(judged.record(program, schedule), "shrunk"));
    });
    ASSERT_FALSE(said.empty());
    const std::string command = said.substr(said.find_last_of('\n', said.size() - 2) + 1);
    EXPECT_EQ(command.substr(0, command.find_last_not_of('\n') + 1), "simrun --replay shrunk.trace.json");
    EXPECT_LE(step_count(last), 3U) << to_text(last);
    EXPECT_TRUE(last_schedule.empty());
    const Result<trace::Trace> read = trace::read_trace("shrunk.trace.json");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->recipe.parameters.at("program"), to_text(last));
    sim::Scenario scenario = program_scenario();
    scenario.oracles = [](const sim::Parameters&) {
        sim::OracleList list;
        list.push_back(std::make_unique<NobodyIsCancelled>());
        return list;
    };
    const Result<sim::ScenarioCall> call = sim::make_call(std::span(&scenario, 1), read->recipe.scenario, read->recipe.parameters);
    ASSERT_TRUE(call);
    const sim::ReplayResult replayed = sim::replay(*call, *read);
    EXPECT_TRUE(replayed.reproduced) << replayed.divergence_text;
    EXPECT_TRUE(replayed.same_hash);
}

// ── coverage ──

// H-FAULTS: 3,000 generated programs, answered at random, take every alternative of every kind of choice that concerns them.
TEST(Campaign, LeavesNoAlternativeUntried) {
    sim::RandomChooser random{1};
    sim::AuditChooser audit{&random};
    JudgedOptions options;
    options.time = sim::TimeLevel::T2;
    options.audit = &audit;
    JudgedRuns judged(options);
    std::uint64_t run = 0;
    expect_holds(check_generated("audit", 3'000, [&] {
        random.begin(++run);
        const Outcome outcome = judged.run(*arbitrary_program(), {});
        RC_ASSERT(outcome.kind != OutcomeKind::violation);
    }));
    const sim::ChoiceMask kinds{ChoiceKind::dispatch, ChoiceKind::poll,     ChoiceKind::batch, ChoiceKind::timer, ChoiceKind::timer_io,
                                ChoiceKind::time,     ChoiceKind::spurious, ChoiceKind::late,  ChoiceKind::arrival, ChoiceKind::value};
    EXPECT_TRUE(audit.empty_cells(kinds).empty()) << audit.report(kinds);
}

// ── the program that README begins with, and a search as a function ──

/// The same body runs on libuv (examples/first_program.cpp).
int first_program() {
    using namespace std::chrono_literals;
    auto answer = spawn([] {
        sleep_for(10ms);
        return 42;
    });
    return answer.await();
}

TEST(FirstProgram, AnswersUnderEverySchedule) {
    sim::World world;
    int answer = 0;
    EXPECT_EQ(world.run([&] { answer = first_program(); }).kind, OutcomeKind::ok);
    EXPECT_EQ(answer, 42);
    EXPECT_EQ(world.reactor().now(), Instant{10'000'000});
    sim::ExploreOptions options;
    options.strategy = sim::Strategy::exhaustive;
    options.oracles = [] { return all_oracles(); };
    const sim::Report report = sim::explore([] { HEDDLE_CHECK(first_program() == 42); }, options);
    EXPECT_TRUE(report.complete);
    EXPECT_FALSE(report.violation);
    EXPECT_EQ(report.traces, report.runs - 1);  // the baseline is run once in each order
}

TEST(Explore, FindsTheScheduleThatBreaksAProgram) {
    const sim::Program program = [] {
        int in_use = 0;
        auto client = spawn("client", [&] {
            ++in_use;
            yield();
            --in_use;
        });
        auto other = spawn("other", [&] { client.cancel(); });
        other.await();
        try {
            client.await();
        } catch (const Cancellation&) {}
        HEDDLE_CHECK(in_use == 0);
    };
    const sim::Report report = sim::explore(program, {.strategy = sim::Strategy::exhaustive});
    ASSERT_TRUE(report.violation);
    EXPECT_EQ(report.violation->invariant, "CHECK");
    EXPECT_FALSE(report.complete);
    const sim::ReplayResult replayed = sim::replay(program, {}, {}, report.violation->trace);
    EXPECT_TRUE(replayed.reproduced) << replayed.divergence_text;
}

}  // namespace
}  // namespace heddle::prop
