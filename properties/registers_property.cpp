// SPDX-License-Identifier: Apache-2.0
// The key-value store on five machines: it keeps its word through many lives of trouble, mistakes of its kind are found, and a life is the
// same each time. Bound: seeds and virtual seconds as each test says; production's schedule, faults by ratio, troubles by seed.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/scenario/registers.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

struct Life {
    std::string end;
    std::uint64_t digest = 0;  ///< of what the clients saw
    sim::FaultTotals faults{};
    std::uint64_t hash = 0;    ///< of everything that happened; 0 where nothing was recorded
};

Life live(std::uint64_t seed, const RegistersOptions& how, RegisterMistake mistake, bool is_recorded = false) {
    sim::WorldOptions options;
    world_with_registers(mistake)(options);
    options.seed = options.network.seed = seed;
    sim::World world(options);
    trace::TraceRecorder recorder(&world.labels());
    if (is_recorded) { world.mutable_options().observers.push_back(&recorder); }
    const sim::Outcome outcome = world.run(register_clients(how));
    return {outcome.kind == trace::OutcomeKind::ok ? "ok" : outcome.invariant + ": " + outcome.message, world.state_digest(), world.fault_totals(),
            is_recorded ? recorder.hash() : 0};
}

TEST(KeyValueStore, KeepsItsWordThroughManyLives) {
    sim::FaultTotals faults;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const Life life = live(seed, {.span = 1000s}, RegisterMistake::none);
        EXPECT_EQ(life.end, "ok") << "seed " << seed;
        faults.add(life.faults);
    }
    for (const sim::FaultKind kind : {sim::FaultKind::datagram_lost, sim::FaultKind::datagram_doubled, sim::FaultKind::datagram_late,
                                      sim::FaultKind::disk_error, sim::FaultKind::disk_full, sim::FaultKind::flush_failed, sim::FaultKind::short_read}) {
        EXPECT_GT(faults.of(kind).struck, 0U) << to_string(kind);
    }
}

TEST(KeyValueStore, IsTheSameEachTime) {
    const Life first = live(7, {.span = 2000s}, RegisterMistake::none, true);
    const Life second = live(7, {.span = 2000s}, RegisterMistake::none, true);
    EXPECT_EQ(first.end, "ok");
    EXPECT_EQ(first.hash, second.hash);
    EXPECT_EQ(first.digest, second.digest);
    EXPECT_NE(live(8, {.span = 2000s}, RegisterMistake::none, true).digest, first.digest);
}

TEST(KeyValueStore, ThatMakesAMistakeIsFound) {
    for (const RegisterMistake mistake :
         {RegisterMistake::answers_before_it_flushes, RegisterMistake::reads_without_storing, RegisterMistake::counts_itself_twice}) {
        std::string end = "ok";
        for (std::uint64_t seed = 1; seed <= 40 && end == "ok"; ++seed) { end = live(seed, {.span = 1000s, .pause = 200ms, .calm = 2s}, mistake).end; }
        EXPECT_TRUE(end.starts_with("CHECK")) << static_cast<int>(mistake) << ": " << end;
    }
}

TEST(KeyValueStore, HoldsWithOneChosenFaultAnywhere) {
    sim::ExploreOptions options;
    options.bound = 1;
    options.runs_max = 400;
    options.oracles = [] { return all_oracles(); };
    options.world = world_with_registers(RegisterMistake::none);
    const sim::Report report = sim::explore(register_clients({.span = 2s, .pause = 500ms, .calm = 1s}), options);
    EXPECT_FALSE(report.violation) << report.violation->invariant << ": " << report.violation->message;
    EXPECT_GE(report.runs, 400U);
}

/// HEDDLE_LIFE_SECONDS says how long: a million in the test labelled `long`.
TEST(LongLife, IsFastAndTheSameEachTime) {
    const char* const wanted = std::getenv("HEDDLE_LIFE_SECONDS");
    const Duration span = std::chrono::seconds(wanted != nullptr ? std::atoll(wanted) : 20'000);
    const Life first = live(1, {.span = span, .calm = 30s}, RegisterMistake::none);
    const Life second = live(1, {.span = span, .calm = 30s}, RegisterMistake::none);
    EXPECT_EQ(first.end, "ok");
    EXPECT_EQ(second.end, "ok");
    EXPECT_EQ(first.digest, second.digest);
    std::printf("%lld virtual seconds, seen: %016llx\n", static_cast<long long>(span / 1s), static_cast<unsigned long long>(first.digest));
}

}  // namespace
}  // namespace heddle::prop
