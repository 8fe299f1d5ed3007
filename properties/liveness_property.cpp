// SPDX-License-Identifier: Apache-2.0
// Bounded liveness: livelocks by steps per instant and by lasso, and scopes that drain in time. Each oracle meets a
// program that breaks it.
#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/liveness.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

sim::Outcome judged(sim::Oracle& oracle, const sim::Program& program) {
    sim::WorldOptions options;
    options.oracles = {&oracle};
    sim::World world(options);
    return world.run(program);
}

TEST(Livelock, IsALassoOfThoseWhoTakeTurns) {
    const auto oracle = make_livelock_oracle({.steps_per_instant = 1'000'000, .repeats = 100});
    const sim::Outcome outcome = judged(*oracle, [] {
        auto polite = spawn("polite", [] {
            for (;;) { yield(); }
        });
        auto too = spawn("too", [] {
            for (;;) { yield(); }
        });
        polite.await();
        too.await();
    });
    EXPECT_EQ(outcome.invariant, "INV-LIVE-01");
    EXPECT_NE(outcome.message.find("lasso of 2 steps"), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("main/polite, main/too"), std::string::npos) << outcome.message;
}

TEST(Livelock, IsTooManyStepsAtOneInstantWhateverTheyDo) {
    const auto oracle = make_livelock_oracle({.steps_per_instant = 500, .repeats = 1'000'000});
    const sim::Outcome outcome = judged(*oracle, [] {
        // Always another coroutine: no state comes back.
        for (int i = 0; i < 2'000; ++i) {
            spawn([] {}).await();
        }
    });
    EXPECT_EQ(outcome.invariant, "INV-LIVE-01");
    EXPECT_NE(outcome.message.find("more than 500 steps"), std::string::npos) << outcome.message;
}

TEST(Livelock, IsNoneWhereTimeGoesOn) {
    const auto oracle = make_livelock_oracle({.steps_per_instant = 50, .repeats = 20});
    const sim::Outcome outcome = judged(*oracle, [] {
        for (int i = 0; i < 1'000; ++i) { sleep_for(1ms); }
    });
    EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
}

/// A scope that is cancelled while its member cleans up for `rounds` steps, or for so long.
sim::Program cleaning_up(int rounds, Duration pause) {
    return [rounds, pause] {
        Scope scope;
        scope.spawn("member", [rounds, pause] {
            try {
                sleep_for(1h);
            } catch (const Cancellation&) {
                protect([&] {
                    for (int i = 0; i < rounds; ++i) { yield(); }
                    if (pause > Duration::zero()) { sleep_for(pause); }
                });
                throw;
            }
        });
        yield();
        scope.cancel();
        scope.await_after_cancellation();
    };
}

TEST(Drain, HoldsWithinItsBounds) {
    const auto oracle = make_drain_oracle({.steps = 100, .time = 1s});
    const sim::Outcome outcome = judged(*oracle, cleaning_up(20, 10ms));
    EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
}

TEST(Drain, IsViolatedByTooManySteps) {
    const auto oracle = make_drain_oracle({.steps = 100, .time = 1s});
    const sim::Outcome outcome = judged(*oracle, cleaning_up(500, Duration::zero()));
    EXPECT_EQ(outcome.invariant, "INV-LIVE-08") << outcome.message;
    EXPECT_NE(outcome.message.find("steps later"), std::string::npos) << outcome.message;
}

TEST(Drain, IsViolatedByTooMuchTime) {
    const auto oracle = make_drain_oracle({.steps = 100'000, .time = 1s});
    const sim::Outcome outcome = judged(*oracle, cleaning_up(1, 3s));
    EXPECT_EQ(outcome.invariant, "INV-LIVE-08") << outcome.message;
    EXPECT_NE(outcome.message.find("ns later"), std::string::npos) << outcome.message;
}

}  // namespace
}  // namespace heddle::prop
