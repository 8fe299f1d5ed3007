// SPDX-License-Identifier: Apache-2.0
// The primitives of core/sync under every schedule of few deviations, with all oracles. Bound: 5 or 7 answers other than production's in a
// schedule, both orders, a request that arrives at every point among them; every schedule within it is run.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "heddle/properties/scenario/sync.hpp"
#include "heddle/properties/testing/scenario_cases.hpp"
#include "heddle/simreactor/explore/campaign.hpp"

namespace heddle::prop {
namespace {

const std::vector<sim::Scenario>& scenarios() {
    static const std::vector<sim::Scenario> all = sync_scenarios();
    return all;
}

class SyncScenario : public testing::TestWithParam<std::size_t> {};

TEST_P(SyncScenario, PassesUnderEveryScheduleWithinItsBound) {
    expect_every_schedule_passes(scenarios(), scenarios()[GetParam()]);
}

std::string name_of(const testing::TestParamInfo<std::size_t>& info) { return case_name(scenarios()[info.param]); }

INSTANTIATE_TEST_SUITE_P(Sync, SyncScenario, testing::ValuesIn(indices_of(scenarios())), name_of);

}  // namespace
}  // namespace heddle::prop
