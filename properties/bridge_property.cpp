// SPDX-License-Identifier: Apache-2.0
// The bridges to other threads under every schedule of few deviations, with all oracles: each scenario says how many; every schedule
// within it is run, in both orders. Spec 15.6 by example: bridge/submit (1), bridge/cancel-job (2, 3).
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/trace_judge.hpp"
#include "heddle/properties/scenario/bridge.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/properties/testing/scenario_cases.hpp"
#include "heddle/simreactor/explore/campaign.hpp"

namespace heddle::prop {
namespace {

const std::vector<sim::Scenario>& scenarios() {
    static const std::vector<sim::Scenario> all = bridge_scenarios();
    return all;
}

class BridgeScenario : public testing::TestWithParam<std::size_t> {};

TEST_P(BridgeScenario, PassesUnderEveryScheduleWithinItsBound) {
    expect_every_schedule_passes(scenarios(), scenarios()[GetParam()]);
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) { return case_name(scenarios()[info.param]); }

// ── footprints: the reduced searches find what brute force finds ──

struct Subject {
    const char* name;
    sim::Program program;
};

void outcome_said(const Future<int>& job) {
    try {
        say(job.await() == 1 ? "one" : "two");
    } catch (const Cancellation&) { say("cancelled"); }
}

// Brute force to the end, at most 100,000 schedules each. The reactor has a say in all of them.
TEST(BridgeFootprints, SayAll) {
    const Subject subjects[] = {
        {"job", [] {
             WorkPool pool{{.workers = 1, .queue = 1}};
             outcome_said(pool.submit([] { return 1; }));
         }},
        {"job_cancelled", [] {
             WorkPool pool{{.workers = 1, .queue = 1}};
             const auto job = pool.submit([](const StopToken& stop) { return stop.requested() ? 2 : 1; });
             auto cancels = spawn("cancels", [job] { job.cancel(); });
             outcome_said(job);
             cancels.await();
         }},
        {"channel", [] {
             WorkPool pool{{.workers = 1, .queue = 1}};
             ThreadChannel<int> channel;
             pool.submit([channel]() mutable { static_cast<void>(channel.try_send(1)); }).ignore();
             say(channel.receive() == 1 ? "one" : "other");
         }},
    };
    for (const Subject& subject : subjects) {
        const std::optional<Verdict> verdict = judge_traces(subject.program, {.runs_max = 100'000});
        if (!verdict) {
            ADD_FAILURE() << subject.name << ": too many schedules";
            continue;
        }
        EXPECT_EQ(verdict->complaint, "") << subject.name;
        std::printf("%-16s %6llu schedules %5llu traces, source %5llu runs, optimal %5llu\n", subject.name,
                    static_cast<unsigned long long>(verdict->schedules), static_cast<unsigned long long>(verdict->traces),
                    static_cast<unsigned long long>(verdict->source_runs), static_cast<unsigned long long>(verdict->optimal_runs));
    }
}

INSTANTIATE_TEST_SUITE_P(Bridge, BridgeScenario, testing::ValuesIn(indices_of(scenarios())), name_of);

}  // namespace
}  // namespace heddle::prop
