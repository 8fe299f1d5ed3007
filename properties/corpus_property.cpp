// SPDX-License-Identifier: Apache-2.0
// The corpus of public reports: each scenario passes under every combination of its choices, in both orders, with all oracles.
// Bound: the scenario's depth, that is the entry's own estimate plus one; every schedule within it is run.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {
namespace {

constexpr std::uint64_t schedules_max = 20'000;

const std::vector<sim::Scenario>& scenarios() {
    static const std::vector<sim::Scenario> all = corpus_scenarios();
    return all;
}

class CorpusEntry : public testing::TestWithParam<std::size_t> {
protected:
    [[nodiscard]] const sim::Scenario& scenario() const { return scenarios()[GetParam()]; }
};

TEST_P(CorpusEntry, PassesUnderEveryCombinationOfItsChoices) {
    const auto call = sim::make_call(scenarios(), scenario().name, {});
    ASSERT_TRUE(call);
    sim::ExploreOptions options;
    options.strategy = sim::Strategy::exhaustive;
    options.bound = scenario().depth;
    options.runs_max = 2 * schedules_max;
    const sim::Report report = sim::explore(*call, options);
    std::printf("%s: %llu schedules of at most %u deviations\n", scenario().name.c_str(), static_cast<unsigned long long>(report.runs),
                scenario().depth);
    RecordProperty("schedules", std::to_string(report.runs));
    RecordProperty("depth", std::to_string(scenario().depth));
    if (report.violation) {
        ADD_FAILURE() << report.violation->invariant << ": " << report.violation->message << "\n"
                      << trace::render(report.violation->trace);
    }
    EXPECT_FALSE(report.stopped) << "not every schedule within the bound was run";
    EXPECT_LE(report.runs, schedules_max);
    EXPECT_GT(report.runs, 2U) << "nothing was left to choose: both orders ran the baseline alone";
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

INSTANTIATE_TEST_SUITE_P(Corpus, CorpusEntry, testing::ValuesIn(indices()), name_of);

TEST(CorpusList, NamesEachReportOnceAndInOneLine) {
    std::set<std::string> names;
    for (const sim::Scenario& scenario : scenarios()) {
        EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
        EXPECT_TRUE(scenario.name.starts_with("corpus/BUG-")) << scenario.name;
        EXPECT_NE(scenario.source.find_first_of("#@"), std::string::npos) << scenario.name;
        EXPECT_FALSE(scenario.about.empty()) << scenario.name;
        EXPECT_EQ(scenario.about.find('\n'), std::string::npos) << scenario.name;
        EXPECT_GE(scenario.depth, 1U) << scenario.name;
    }
}

}  // namespace
}  // namespace heddle::prop
