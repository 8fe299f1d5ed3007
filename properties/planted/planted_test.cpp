// SPDX-License-Identifier: Apache-2.0
// Each planted bug is found within its budget, shrunk, and replayed from its trace; without it the same scenario passes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "heddle/core/run/runtime.hpp"
#include "heddle/properties/planted/planted.hpp"
#include "heddle/properties/planted/scenarios.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/constraints.hpp"
#include "heddle/simreactor/explore/minimize.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace_file.hpp"

namespace heddle::prop {
namespace {

constexpr std::uint64_t schedules_max = 20'000;

const std::vector<sim::Scenario>& scenarios() {
    static const std::vector<sim::Scenario> all = planted_scenarios();
    return all;
}

std::string corpus_path(const sim::Scenario& scenario) {
    return std::string(HEDDLE_SOURCE_DIR) + "/traces/corpus/planted/" + scenario.planted + ".trace.json";
}

class Planted : public testing::TestWithParam<std::size_t> {
protected:
    [[nodiscard]] sim::ScenarioCall call() const {
        auto made = sim::make_call(scenarios(), scenarios()[GetParam()].name, {});
        EXPECT_TRUE(made);
        return *made;
    }
    void TearDown() override { planted::select(""); }
};

TEST_P(Planted, IsFoundShrunkAndReplayed) {
    const sim::ScenarioCall scenario = call();
    planted::select(scenario.scenario->planted);
    sim::ExploreOptions options;
    options.runs_max = schedules_max;
    const sim::Report report = sim::explore(scenario, options);
    ASSERT_TRUE(report.violation) << scenario.scenario->name << " was not found in " << report.runs << " schedules";
    const sim::Found& found = *report.violation;
    const sim::DecisionSize size = sim::size_of(found.trace.decisions);
    EXPECT_LE(size.count, found.decisions_found);
    RecordProperty("schedules", std::to_string(found.runs));
    RecordProperty("deviations", std::to_string(size.count));
    RecordProperty("invariant", found.invariant);
    RecordProperty("mode", found.mode);
    const sim::ReplayResult again = sim::replay(scenario, found.trace);
    EXPECT_TRUE(again.reproduced) << again.divergence_text;
    EXPECT_TRUE(again.same_hash);
    if (std::getenv("HEDDLE_UPDATE_TRACES") != nullptr) {  // whoever changes behaviour renews the corpus in the same commit
        trace::Trace kept = found.trace;
        kept.events.clear();
        EXPECT_TRUE(trace::write_trace(corpus_path(*scenario.scenario), kept, trace::Overwrite::yes));
    }
}

TEST_P(Planted, IsQuietWithoutItsBug) {
    const sim::ScenarioCall scenario = call();
    planted::select("");
    sim::ExploreOptions options;
    options.runs_max = schedules_max;
    options.bound = scenario.scenario->depth + 1;
    const sim::Report report = sim::explore(scenario, options);
    if (report.violation) {
        ADD_FAILURE() << scenario.scenario->name << ": " << report.violation->invariant << " " << report.violation->message;
    }
    EXPECT_FALSE(report.stopped) << report.runs << " schedules do not suffice for depth " << *options.bound;
}

/// A trace of the corpus ends as it says, bit for bit.
TEST_P(Planted, ItsTraceInTheCorpusReplays) {
    const sim::ScenarioCall scenario = call();
    Result<trace::Trace> trace = trace::read_trace(corpus_path(*scenario.scenario));
    ASSERT_TRUE(trace) << trace.error().text();
    planted::select(scenario.scenario->planted);
    const sim::ReplayResult again = sim::replay(scenario, *trace);
    EXPECT_TRUE(again.reproduced) << again.divergence_text;
    EXPECT_TRUE(again.same_hash);
    EXPECT_EQ(again.trace.outcome.kind, trace::OutcomeKind::violation);
}

// ── edits ──

sim::Program with_another_coroutine(const sim::Program& program) {
    return [program] {
        spawn("bystander", [] {
            for (int i = 0; i < 3; ++i) { yield(); }
        });
        program();
    };
}

sim::Program with_another_suspension(const sim::Program& program) {
    return [program] {
        yield();
        program();
    };
}

/// A failure is found in one form of the program, and replayed by its constraints in another.
bool survives(const sim::ScenarioCall& scenario, const sim::Program& before, const sim::Program& after) {
    sim::ExploreOptions options;
    options.runs_max = schedules_max;
    options.oracles = [&] { return scenario.oracles(); };
    options.world = scenario.scenario->world;
    const sim::Report report = sim::explore(before, options);
    if (!report.violation) { return false; }
    const Result<sim::AdaptiveResult> again = sim::replay_adaptively({after, options.oracles, options.world}, report.violation->trace);
    return again && again->replay.reproduced;
}

TEST(PlantedEdits, LeaveNineInTenFailuresTheirConstraints) {
    struct Class {
        const char* name;
        std::function<sim::Program(const sim::Program&)> before;
        std::function<sim::Program(const sim::Program&)> after;
    };
    const auto as_it_is = [](const sim::Program& program) { return program; };
    const auto with_both = [](const sim::Program& program) { return with_another_suspension(with_another_coroutine(program)); };
    const Class classes[] = {{"coroutine added", as_it_is, with_another_coroutine},
                             {"suspension point added", as_it_is, with_another_suspension},
                             {"coroutine removed", with_another_coroutine, as_it_is},
                             {"both added", as_it_is, with_both}};
    for (const Class& at : classes) {
        std::size_t survived = 0;
        std::string lost;
        for (const sim::Scenario& scenario : scenarios()) {
            planted::select(scenario.planted);
            const auto call = sim::make_call(scenarios(), scenario.name, {});
            ASSERT_TRUE(call);
            const sim::Program program = call->program();
            if (survives(*call, at.before(program), at.after(program))) {
                ++survived;
            } else {
                lost += " " + scenario.planted;
            }
        }
        planted::select("");
        std::printf("%-24s %zu of %zu survive;%s\n", at.name, survived, scenarios().size(), lost.empty() ? " none lost" : (" lost:" + lost).c_str());
        EXPECT_GE(survived * 10, scenarios().size() * 9) << at.name << ", lost:" << lost;
    }
}

/// README.md beside this file has a row for each, as planted_table prints it, and for no other.
TEST(PlantedTable, HasARowForEachBug) {
    std::ifstream file(std::string(HEDDLE_SOURCE_DIR) + "/properties/planted/README.md");
    std::set<std::string> rows;
    for (std::string line; std::getline(file, line);) {
        const std::size_t end = line.find(" |", 2);
        if ((line.starts_with("| MUT-") || line.starts_with("| FLT-")) && end != std::string::npos) { rows.insert(line.substr(2, end - 2)); }
    }
    std::set<std::string> bugs;
    for (const sim::Scenario& scenario : scenarios()) { bugs.insert(scenario.planted); }
    EXPECT_EQ(rows, bugs);
}

INSTANTIATE_TEST_SUITE_P(Bugs, Planted, testing::Range<std::size_t>(0, scenarios().size()),
                         [](const testing::TestParamInfo<std::size_t>& at) {
                             std::string name = scenarios()[at.param].planted;
                             std::erase(name, '-');
                             return name;
                         });

}  // namespace
}  // namespace heddle::prop
