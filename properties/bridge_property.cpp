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
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {
namespace {

const std::vector<sim::Scenario>& scenarios() {
    static const std::vector<sim::Scenario> all = bridge_scenarios();
    return all;
}

class BridgeScenario : public testing::TestWithParam<std::size_t> {};

TEST_P(BridgeScenario, PassesUnderEveryScheduleWithinItsBound) {
    const sim::Scenario& scenario = scenarios()[GetParam()];
    const auto call = sim::make_call(scenarios(), scenario.name, {});
    ASSERT_TRUE(call);
    sim::ExploreOptions options;
    options.strategy = sim::Strategy::exhaustive;
    options.bound = scenario.depth;
    options.runs_max = 200'000;
    const sim::Report report = sim::explore(*call, options);
    std::printf("%s: %llu schedules of at most %u deviations\n", scenario.name.c_str(), static_cast<unsigned long long>(report.runs),
                scenario.depth);
    if (report.violation) {
        ADD_FAILURE() << report.violation->invariant << ": " << report.violation->message << "\n"
                      << trace::render(report.violation->trace);
    }
    EXPECT_FALSE(report.stopped) << "not every schedule within the bound was run";
    EXPECT_GT(report.runs, 10U);
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) {
    std::string name = scenarios()[info.param].name;
    name.erase(0, name.find('/') + 1);
    std::erase(name, '-');
    return name;
}

std::vector<std::size_t> indices() {
    std::vector<std::size_t> all(scenarios().size());
    for (std::size_t i = 0; i < all.size(); ++i) { all[i] = i; }
    return all;
}

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

INSTANTIATE_TEST_SUITE_P(Bridge, BridgeScenario, testing::ValuesIn(indices()), name_of);

}  // namespace
}  // namespace heddle::prop
