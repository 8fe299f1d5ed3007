// SPDX-License-Identifier: Apache-2.0
// The primitives of core/sync under every schedule of few deviations, with all oracles. Bound: 5 or 7 answers other than production's in a
// schedule, both orders, a request that arrives at every point among them; every schedule within it is run.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "heddle/properties/scenario/sync.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {
namespace {

const std::vector<sim::Scenario>& scenarios() {
    static const std::vector<sim::Scenario> all = sync_scenarios();
    return all;
}

class SyncScenario : public testing::TestWithParam<std::size_t> {};

TEST_P(SyncScenario, PassesUnderEveryScheduleWithinItsBound) {
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

INSTANTIATE_TEST_SUITE_P(Sync, SyncScenario, testing::ValuesIn(indices()), name_of);

}  // namespace
}  // namespace heddle::prop
