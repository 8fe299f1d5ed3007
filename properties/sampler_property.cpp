// SPDX-License-Identifier: Apache-2.0
// Samplers, the portfolio and bounds, on programs whose bugs and counts are known.
#include <gtest/gtest.h>

#include "heddle/properties/litmus/bugs.hpp"
#include "heddle/properties/scenario/all.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/known_counts.hpp"

namespace heddle::prop {
namespace {

sim::ScenarioCall call_of(const std::string& text) {
    Result<sim::ScenarioCall> call = sim::parse_call(all_scenarios(), text);
    EXPECT_TRUE(call) << (call ? "" : call.error().text());
    return std::move(*call);
}

sim::Report explore(const std::string& text, sim::ExploreOptions options) {
    options.order = options.order ? options.order : trace::Order::any;
    return sim::explore(call_of(text), std::move(options));
}

class EverySampler : public testing::TestWithParam<sim::Strategy> {};

/// What its traces show is replayed strictly inside `explore`, and once more by whoever reads them.
TEST_P(EverySampler, FindsABugThatProductionDoesNotShow) {
    sim::ExploreOptions options{.strategy = GetParam(), .runs_max = 20'000, .shrink_runs_max = 50};
    if (GetParam() == sim::Strategy::delay) { options.bound = 5; }  // two deviations from the queue's order do not reach all of them
    for (const char* program : {"litmus/reorder:n=3", "litmus/stringbuffer", "litmus/bluetooth_driver", "litmus/deadlock01"}) {
        const sim::Report report = explore(program, options);
        ASSERT_TRUE(report.violation) << program;
        EXPECT_EQ(report.violation->invariant, std::string(program) == "litmus/deadlock01" ? "DEADLOCK" : "CHECK");
        EXPECT_FALSE(report.complete);
    }
}

TEST_P(EverySampler, FindsNothingWhereNothingIs) {
    const sim::Report report = explore("litmus/work_steal:planted=0", {.strategy = GetParam(), .runs_max = 3'000});
    EXPECT_FALSE(report.violation) << report.violation->message;
    EXPECT_EQ(report.runs, 3'000U);
    ASSERT_EQ(report.risks.size(), 1U);
    EXPECT_GT(report.risks.front().samples, 0U);
    EXPECT_LE(report.risks.front().unseen.low, report.risks.front().unseen.high);
}

TEST_P(EverySampler, IsDecidedByItsSeed) {
    sim::ExploreOptions options{.strategy = GetParam(), .runs_max = 20'000, .seed = 7, .shrink = false};
    if (GetParam() == sim::Strategy::delay) { options.bound = 5; }
    const sim::Report one = explore("litmus/reorder:n=3", options);
    const sim::Report again = explore("litmus/reorder:n=3", options);
    ASSERT_TRUE(one.violation && again.violation);
    EXPECT_EQ(one.runs, again.runs);
    EXPECT_EQ(one.violation->trace.decisions, again.violation->trace.decisions);
}

INSTANTIATE_TEST_SUITE_P(Strategies, EverySampler,
                         testing::Values(sim::Strategy::random, sim::Strategy::pct, sim::Strategy::pos, sim::Strategy::surw,
                                         sim::Strategy::delay, sim::Strategy::coverage, sim::Strategy::portfolio),
                         [](const auto& strategy) { return std::string(sim::to_string(strategy.param)); });

TEST(Portfolio, IsCompleteWhereThereIsLittle) {
    const sim::Report report = explore("litmus/writers:n=3", {.strategy = sim::Strategy::portfolio});
    EXPECT_TRUE(report.complete);
    EXPECT_EQ(report.traces, 6U);
    EXPECT_TRUE(report.risks.empty());
}

TEST(Portfolio, TakesTurnsBetweenTheOrders) {
    // Faithful shows nothing in any number of runs; a search that gives it half of its runs first would find the bug behind the 5,000th.
    sim::ExploreOptions options{.strategy = sim::Strategy::portfolio, .runs_max = 10'000};
    const sim::Report report = sim::explore(call_of("litmus/reorder:n=3"), options);
    ASSERT_TRUE(report.violation);
    EXPECT_LT(report.violation->runs, 2'000U);
    EXPECT_EQ(report.violation->trace.recipe.order, trace::Order::any);
}

/// Permutations of n with at most k inversions: what n writers of one cell show if a writer that is held up costs one.
std::uint64_t with_inversions(int n, int k) {
    std::vector<std::uint64_t> counts{1};
    for (int i = 2; i <= n; ++i) {
        std::vector<std::uint64_t> more(counts.size() + static_cast<std::size_t>(i) - 1, 0);
        for (std::size_t at = 0; at < counts.size(); ++at) {
            for (int add = 0; add < i; ++add) { more[at + static_cast<std::size_t>(add)] += counts[at]; }
        }
        counts = more;
    }
    std::uint64_t sum = 0;
    for (std::size_t at = 0; at < counts.size() && at <= static_cast<std::size_t>(k); ++at) { sum += counts[at]; }
    return sum;
}

TEST(Bounds, OfDelayCountInversions) {
    ASSERT_EQ(with_inversions(4, 2), 9U);
    for (int bound = 0; bound <= 7; ++bound) {
        sim::ExploreOptions options{.bound = static_cast<std::uint32_t>(bound), .bound_kind = sim::BoundKind::delay};
        const sim::Report report = explore("litmus/writers:n=4", options);
        EXPECT_EQ(report.traces, with_inversions(4, bound)) << bound;
        EXPECT_EQ(report.complete, bound >= 6) << "4 writers have 6 inversions at most";
        if (!report.complete) { EXPECT_EQ(report.bound, "delay:" + std::to_string(bound)); }
    }
}

TEST(Bounds, OfDeviationsCountAnswers) {
    // One writer moved to the front of any suffix: n(n-1)/2 schedules with one deviation.
    EXPECT_EQ(explore("litmus/writers:n=4", {.bound = 1}).traces, 1U + 6U);
    EXPECT_EQ(explore("litmus/writers:n=4", {.bound = 0}).traces, 1U);
}

TEST(Bounds, OfReversalReachEveryTraceInTheEnd) {
    std::uint64_t before = 0;
    for (const std::uint32_t bound : {0U, 1U, 2U, 6U}) {
        const sim::Report report = explore("litmus/writers:n=4", {.bound = bound, .bound_kind = sim::BoundKind::reversal});
        EXPECT_FALSE(report.complete) << "a bounded search is never complete";
        EXPECT_EQ(report.bound, "reversal:" + std::to_string(bound));
        EXPECT_GT(report.traces, before);
        before = report.traces;
        if (bound == 0) { EXPECT_EQ(report.traces, 1U); }
        if (bound == 1) { EXPECT_EQ(report.traces, 1U + 3U) << "neighbours that change places"; }
        if (bound == 6) { EXPECT_EQ(report.traces, 24U); }
    }
    const sim::Report readers = explore("litmus/readers:n=6", {.bound = 6, .bound_kind = sim::BoundKind::reversal});
    EXPECT_EQ(readers.traces, 64U);
}

TEST(Bounds, FindWhatLiesWithinThem) {
    const sim::ExploreOptions near{.bound = 1, .bound_kind = sim::BoundKind::reversal};
    EXPECT_FALSE(explore("litmus/reorder:n=3", {.bound = 0, .bound_kind = sim::BoundKind::delay}).violation);
    EXPECT_TRUE(explore("litmus/stringbuffer", {.bound = 6, .bound_kind = sim::BoundKind::reversal}).violation);
    EXPECT_LT(explore("litmus/reorder:n=3", near).runs, 100U);
}

TEST(Residue, OfAnExhaustiveSearchIsEstimatedFromProbes) {
    // 12! / (3!)^4 = 369,600 interleavings.
    const sim::Report report = explore("litmus/yielders:n=4,k=3", {.runs_max = 20'000});
    ASSERT_EQ(report.sizes.size(), 1U);
    const sim::TreeSize& size = report.sizes.front();
    EXPECT_LE(size.schedules.low, 369'600);
    EXPECT_GE(size.schedules.high, 369'600);
    EXPECT_EQ(report.runs, 20'000U) << "probes are not schedules of the search";
    EXPECT_TRUE(explore("litmus/yielders:n=2,k=2", {}).sizes.empty()) << "nothing is left";
}

TEST(Residue, OfASamplerFallsAsItsSamplesRepeat) {
    const auto mass = [](std::uint64_t runs) {
        return explore("litmus/readers:n=6", {.strategy = sim::Strategy::pos, .runs_max = runs}).risks.front();
    };
    EXPECT_GT(mass(50).unseen.value, 0.05);
    EXPECT_LT(mass(20'000).unseen.value, 0.001);
    EXPECT_EQ(mass(20'000).distinct, 64U) << "traces, not schedules";
    EXPECT_NEAR(mass(20'000).violation_most, 3.0 / 20'000, 1e-5);
}

/// Brute force over the definitions: all traces of the bug programs, where the locks queue and a failure does not end a run.
TEST(BugPrograms, HaveAsManyTracesAsTheirDefinitionsSay) {
    const std::pair<const char*, std::uint64_t> known[] = {
        {"litmus/reorder:n=3", 56},          {"litmus/reorder:n=4", 1'248},       {"litmus/reorder:set=2,check=2", 772},
        {"litmus/twostage:n=2", 3},          {"litmus/twostage:first=2,second=1", 40},
        {"litmus/twostage:first=2,second=2", 472},
        {"litmus/bluetooth_driver", 10},     {"litmus/stringbuffer", 6},          {"litmus/account", 6},
        {"litmus/lazy01", 6},                {"litmus/token_ring", 24},           {"litmus/wronglock:n=4", 360},
        {"litmus/stack:n=2", 6},             {"litmus/stack:n=3", 20},            {"litmus/circular_buffer:n=3", 20},
        {"litmus/cve_2009_3547", 2},         {"litmus/cve_2013_1792", 6},         {"litmus/cve_2015_7550", 3},
        {"litmus/cve_2016_1972", 160},       {"litmus/cve_2016_1973", 28},        {"litmus/cve_2016_7911", 4},
        {"litmus/cve_2016_9806", 6},         {"litmus/cve_2017_6346", 146},       {"litmus/work_steal", 3'129},
        {"litmus/work_steal:steals=1", 174}, {"litmus/work_steal:items=2,steals=1", 32},
        {"litmus/work_steal:planted=0", 1'224},
    };
    for (const auto& [text, traces] : known) {
        const std::string plain = text;
        const std::string name = plain + (plain.find(':') == std::string::npos ? ":" : ",") + "start=together,use=counting";
        const sim::Count count = sim::count_traces(call_of(name).program(), {.reduction = sim::Reduction::source});
        EXPECT_TRUE(count.complete) << name << ": " << count.violation;
        EXPECT_EQ(count.traces, traces) << name;
    }
}

}  // namespace
}  // namespace heddle::prop
