// SPDX-License-Identifier: Apache-2.0
// The worked examples of docs/spec 01 to 04 and 10 to 13: word by word in the baseline run, and under every schedule of few deviations with all
// oracles. Bound: 3 answers other than production's in a schedule, both orders, `runs_max` schedules each.
#include <gtest/gtest.h>

#include <vector>

#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/scenario/all.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/properties/scenario/worked.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {
namespace {

std::vector<Worked> all_worked() {
    std::vector<Worked> all;
    for (const std::span<const Worked> chapter : {worked_scheduler(), worked_waker(), worked_scopes(), worked_zombies(), worked_sync()}) {
        all.insert(all.end(), chapter.begin(), chapter.end());
    }
    return all;
}

/// what() of an error and of those before it, newest first.
std::string history(const ErrorValue& error) {
    std::string text;
    for (ErrorValue at = error; at; at = at.previous()) {
        try {
            at.rethrow();
        } catch (const Cancellation& cancellation) {
            text += (text.empty() ? "" : " < ") + std::string(cancellation.what());
        } catch (const std::exception& thrown) {
            text += (text.empty() ? "" : " < ") + std::string(thrown.what());
        }
    }
    return text;
}



class WorkedExample : public testing::TestWithParam<Worked> {};

TEST_P(WorkedExample, SaysWhatTheSpecificationSays) {
    const Worked& worked = GetParam();
    Transcript transcript;
    std::string ends;
    const sim::OracleList oracles = all_oracles();
    sim::WorldOptions options;
    options.errors_are_violations = false;
    options.observers = {&transcript};
    for (const auto& oracle : oracles) { options.oracles.push_back(oracle.get()); }
    sim::World world(options);
    const sim::Outcome outcome = world.run(worked.program);
    EXPECT_NE(outcome.kind, trace::OutcomeKind::violation) << outcome.invariant << ": " << outcome.message;
    if (outcome.kind == trace::OutcomeKind::violation) { return; }
    EXPECT_EQ(transcript.text(), worked.says);
    EXPECT_EQ(history(world.runtime().exit_error()), worked.ends);
}

TEST_P(WorkedExample, KeepsEveryInvariantUnderEverySchedule) {
    const Worked& worked = GetParam();
    sim::ExploreOptions options;
    options.bound = 3;
    options.runs_max = 8'000;
    options.oracles = [] { return all_oracles(); };
    options.world = [](sim::WorldOptions& world) { world.errors_are_violations = false; };
    const sim::Report report = sim::explore(worked.program, options);
    if (report.violation) {
        FAIL() << report.violation->invariant << " (" << report.violation->mode << "): " << report.violation->message << "\n"
               << trace::render(report.violation->trace);
    }
    EXPECT_GT(report.runs, 0U);
}

INSTANTIATE_TEST_SUITE_P(Spec, WorkedExample, testing::ValuesIn(all_worked()), [](const auto& example) {
    std::string name(example.param.name);
    std::erase(name, '-');
    return name;
});

}  // namespace
}  // namespace heddle::prop
