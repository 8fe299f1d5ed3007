// SPDX-License-Identifier: Apache-2.0
// Scenarios as cases of a parameterised test: an index and a name for each, and what is asked of all of them: every schedule within the
// depth that the scenario states, in both orders, judged by its oracles.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {

inline std::vector<std::size_t> indices_of(const std::vector<sim::Scenario>& scenarios) {
    std::vector<std::size_t> all(scenarios.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

/// "sync/pool-wait" is the case "poolwait".
inline std::string case_name(const sim::Scenario& scenario) {
    std::string name = scenario.name;
    name.erase(0, name.find('/') + 1);
    std::erase(name, '-');
    return name;
}

inline void expect_every_schedule_passes(const std::vector<sim::Scenario>& scenarios, const sim::Scenario& scenario) {
    const auto call = sim::make_call(scenarios, scenario.name, {});
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

}  // namespace heddle::prop
