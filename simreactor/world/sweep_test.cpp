// SPDX-License-Identifier: Apache-2.0
// Sweeps: what is asked, who is spared, and that nothing else is free. Every schedule of small programs.
#include "heddle/simreactor/world/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

/// Answers as production does, and keeps the names of the points.
class Points final : public Chooser {
public:
    explicit Points(const LabelBook& labels) : labels_(labels) {}
    std::uint32_t choose(const ChoicePoint& point) override {
        names.insert(labels_.text(point.at));
        return 0;
    }
    std::set<std::string> names;

private:
    const LabelBook& labels_;
};

Scenario scenario_of(Program program) {
    Scenario scenario;
    scenario.name = "test/sweep";
    scenario.program = [program = std::move(program)](const Parameters&) { return program; };
    return scenario;
}

std::set<std::string> points_of(const Program& program, SweepOf of) {
    const Scenario scenario = swept(scenario_of(program), of);
    WorldOptions options;
    scenario.world(options);
    World world(options);
    Points points(world.labels());
    world.mutable_options().chooser = &points;
    EXPECT_EQ(world.run(scenario.program({})).kind, trace::OutcomeKind::ok);
    return points.names;
}

Report explored(const Program& program, SweepOf of) {
    const Scenario scenario = swept(scenario_of(program), of);
    const auto call = make_call(std::span(&scenario, 1), scenario.name, {});
    ExploreOptions options;
    options.order = trace::Order::faithful;
    return explore(*call, options);
}

/// Waits for it however it ends.
void join(const Coroutine<>& one) {
    EventSource* const inputs[] = {&one.core()};
    static_cast<void>(await_collect(inputs, {}));
}

void one_that_yields() { join(spawn("a", [] { yield(); })); }

TEST(Sweep, OffersEachLivingCoroutineAtTheEndOfEachStepAndSparesMain) {
    const std::set<std::string> points = points_of(one_that_yields, SweepOf::cancellations);
    EXPECT_TRUE(points.contains("main/a:cancelled"));
    EXPECT_TRUE(points.contains("main/a:cancelled#2"));
    for (const std::string& name : points) { EXPECT_TRUE(name.starts_with("main/a:cancelled")) << name; }
}

TEST(Sweep, CancelsWhereItIsTold) {
    const Report report = explored([] {
        auto a = spawn("a", [] { sleep_for(1ms); });
        join(a);
        HEDDLE_CHECK(!a.is_cancelled());
    }, SweepOf::cancellations);
    ASSERT_TRUE(report.violation);
    EXPECT_EQ(report.violation->trace.decisions.size(), 1U);
    EXPECT_TRUE(report.violation->trace.decisions.front().at.starts_with("main/a:cancelled"));
}

TEST(Sweep, TakesNoCancellationThatComesBackToMainForAnError) {
    const Report report = explored([] { spawn("a", [] { yield(); }).await(); }, SweepOf::cancellations);
    EXPECT_TRUE(report.complete);
    EXPECT_FALSE(report.violation);
}

TEST(Sweep, LeavesEveryOtherChoiceToProduction) {
    for (const SweepOf of : {SweepOf::cancellations, SweepOf::failures, SweepOf::both, SweepOf::shutdowns}) {
        const Report report = explored([of] {
            bool arrived = false;
            anywhere([&] { arrived = true; });
            HEDDLE_CHECK(choose(2) == 0);
            sleep_for(1ms);
            HEDDLE_CHECK(arrived || of == SweepOf::shutdowns);
        }, of);
        EXPECT_TRUE(report.complete) << to_string(of);
        if (report.violation) { ADD_FAILURE() << to_string(of) << ": " << report.violation->message; }
    }
}

TEST(Sweep, ShutsTheRuntimeDownAtTheEndOfEachStep) {
    const std::set<std::string> points = points_of(one_that_yields, SweepOf::shutdowns);
    EXPECT_TRUE(points.contains("main:shutdown"));
    EXPECT_GE(points.size(), 2U);
    const Report report = explored([] {
        auto a = spawn("a", [] { sleep_for(1ms); });
        join(a);
        HEDDLE_CHECK(!a.is_cancelled());
    }, SweepOf::shutdowns);
    EXPECT_TRUE(report.complete) << "main is cancelled, too, and does not come to its check";
}

TEST(Fails, IsAskedWhereFaultsAreOnAlone) {
    const Program program = [] { HEDDLE_CHECK(!fails("step")); };
    EXPECT_TRUE(explore(program, {}).complete);
    EXPECT_TRUE(explored(program, SweepOf::cancellations).complete);
    const Report report = explored(program, SweepOf::failures);
    ASSERT_TRUE(report.violation);
    EXPECT_EQ(report.violation->trace.decisions.front().at, "main:step");
    EXPECT_EQ(report.violation->trace.decisions.front().kind, ChoiceKind::fault);
}

TEST(SweepOf, ReadsBackWhatItIsCalled) {
    for (const SweepOf of : {SweepOf::cancellations, SweepOf::failures, SweepOf::both, SweepOf::shutdowns}) {
        EXPECT_EQ(sweep_from(to_string(of)), of);
    }
    EXPECT_FALSE(sweep_from("nothing"));
}

}  // namespace
}  // namespace heddle::sim
