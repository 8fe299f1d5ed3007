// SPDX-License-Identifier: Apache-2.0
// The HTTP service, under every schedule of one deviation and under many with several faults; and each mistake that a service of its kind
// can make is found. Bound: as each test says, in answers other than production's.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "heddle/properties/http/http_scenarios.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_recorder.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::http {
namespace {

using namespace std::chrono_literals;

std::string failure(const sim::Report& report) {
    if (!report.violation) { return ""; }
    return report.violation->invariant + " (" + report.violation->mode + "): " + report.violation->message + "\n" +
           trace::render(report.violation->trace);
}

sim::ExploreOptions within_one(Mistake mistake) {
    sim::ExploreOptions options;
    options.bound = 1;
    options.runs_max = 60'000;
    options.oracles = [] { return prop::all_oracles(); };
    options.world = world_with_services(mistake);
    return options;
}

TEST(HttpService, AnswersEachRequestOnceInEveryScheduleOfOneDeviation) {
    const sim::Report report = sim::explore(clients(1), within_one(Mistake::none));
    EXPECT_FALSE(report.violation) << failure(report);
    EXPECT_FALSE(report.stopped) << report.runs;
    EXPECT_GT(report.runs, 300U);
}

class HttpMistake : public testing::TestWithParam<Mistake> {};

TEST_P(HttpMistake, IsFoundByOneDeviation) {
    const sim::Report report = sim::explore(clients(1), within_one(GetParam()));
    ASSERT_TRUE(report.violation) << report.runs;
    EXPECT_TRUE(report.violation->invariant == "CHECK" || report.violation->invariant == "UNHANDLED") << failure(report);
    EXPECT_LE(report.violation->trace.decisions.size(), 1U) << failure(report);
}

std::string name_of(const testing::TestParamInfo<Mistake>& at) {
    switch (at.param) {
        case Mistake::forgets_read_ahead: return "ForgetsReadAhead";
        case Mistake::drains_without_bound: return "DrainsWithoutBound";
        case Mistake::retries_everything: return "RetriesEverything";
        case Mistake::reuses_after_failure: return "ReusesAfterFailure";
        case Mistake::keeps_failed_connections: return "KeepsFailedConnections";
        case Mistake::none: break;
    }
    return "None";
}

INSTANTIATE_TEST_SUITE_P(All, HttpMistake,
                         testing::Values(Mistake::forgets_read_ahead, Mistake::drains_without_bound, Mistake::retries_everything,
                                         Mistake::reuses_after_failure, Mistake::keeps_failed_connections),
                         name_of);

// ── many faults at once, by ratio ──

struct Weather {
    std::uint64_t seed = 0;
    sim::Ratio ratio{};
    std::map<sim::FaultKind, std::uint64_t>* struck = nullptr;
};

std::string ends(const Weather& weather, std::int64_t rounds) {
    sim::WorldOptions options;
    world_with_services(Mistake::none)(options);
    options.seed = options.network.seed = weather.seed;
    for (const sim::FaultKind kind : {sim::FaultKind::connect_refused, sim::FaultKind::connect_timed_out, sim::FaultKind::connection_reset,
                                      sim::FaultKind::connection_aborted, sim::FaultKind::descriptors_exhausted, sim::FaultKind::name_try_again}) {
        options.network.faults.rules.push_back({.kind = kind, .ratio = weather.ratio});
    }
    sim::World world(options);
    const sim::OracleList oracles = prop::all_oracles();
    for (const auto& oracle : oracles) { world.mutable_options().oracles.push_back(oracle.get()); }
    world.mutable_options().at_end = [&weather, &world](const sim::Outcome&) {
        if (world.is_frozen() || weather.struck == nullptr) { return; }
        for (std::size_t kind = 0; kind < static_cast<std::size_t>(sim::FaultKind::count_); ++kind) {
            (*weather.struck)[static_cast<sim::FaultKind>(kind)] += world.network().faults().struck(static_cast<sim::FaultKind>(kind));
        }
    };
    trace::TraceRecorder recorder(&world.labels(), nullptr, {.keep_events = true});
    world.mutable_options().observers.push_back(&recorder);
    std::string timeline;
    world.mutable_options().at_end = [&, count = world.options().at_end](const sim::Outcome& outcome) {
        count(outcome);
        if (outcome.kind != trace::OutcomeKind::ok) { timeline = trace::render(recorder.take({}, outcome), {.rows_max = 0}); }
    };
    const sim::Outcome outcome = world.run(clients(rounds));
    return outcome.kind == trace::OutcomeKind::ok ? "ok" : outcome.invariant + ": " + outcome.message + "\n" + timeline;
}

TEST(HttpService, HoldsWhatItPromisesInEveryWeather) {
    std::map<sim::FaultKind, std::uint64_t> struck;
    for (const sim::Ratio ratio : {sim::Ratio{1, 100}, sim::Ratio{1, 20}, sim::Ratio{1, 5}}) {
        for (std::uint64_t seed = 1; seed <= 50; ++seed) {
            EXPECT_EQ(ends({seed, ratio, &struck}, 10), "ok") << "seed " << seed << ", ratio 1/" << ratio.denominator;
        }
    }
    for (const sim::FaultKind kind : {sim::FaultKind::connect_refused, sim::FaultKind::connect_timed_out, sim::FaultKind::connection_reset,
                                      sim::FaultKind::connection_aborted, sim::FaultKind::descriptors_exhausted, sim::FaultKind::name_try_again}) {
        EXPECT_GT(struck[kind], 10U) << to_string(kind);
    }
}

}  // namespace
}  // namespace heddle::http
