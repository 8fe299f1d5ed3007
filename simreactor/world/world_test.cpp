// SPDX-License-Identifier: Apache-2.0
// A world runs again and again: what one run left behind is no part of the next one.
#include "heddle/simreactor/world/world.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

/// Kinds and subjects of all events, in order.
class Heard final : public Observer {
public:
    void on_event(const Event& event) override {
        events.push_back(std::string(to_string(event.kind)) + " " + std::to_string(event.who.value) + " " + std::to_string(event.what.value));
    }
    std::vector<std::string> events;
};

/// What an observer of this run hears, and of no other.
std::vector<std::string> heard_of(World& world, const Program& program) {
    Heard heard;
    WorldOptions options;
    options.observers = {&heard};
    world.configure(options);
    EXPECT_EQ(world.run(program).kind, trace::OutcomeKind::ok);
    world.configure({});
    return heard.events;
}

std::vector<std::string> heard_of_a_yield(World& world) {
    return heard_of(world, [] { yield(); });
}

std::vector<std::string> heard_in_a_new_world() {
    World world;
    return heard_of_a_yield(world);
}

TEST(World, HearsNothingOfAPostThatDidNotCome) {
    World world;
    heard_of(world, [] {
        // The closure of the post owns a scope, which ends with it.
        auto scope = std::make_shared<Scope>();
        PostOptions later;
        later.after = Latency::exactly(1h);
        World::current()->reactor().post("late", [scope] {}, later);
    });
    EXPECT_EQ(heard_of_a_yield(world), heard_in_a_new_world());
}

TEST(World, HearsNothingOfAScopeWhoseHandleOutlivedItsRun) {
    World world;
    std::unique_ptr<Scope> kept;
    heard_of(world, [&] { kept = std::make_unique<Scope>(); });
    EXPECT_EQ(heard_of_a_yield(world), heard_in_a_new_world());
    EXPECT_TRUE(kept->core().is_terminated());
}

TEST(World, TellsNobodyWhatHappensAfterTheRun) {
    World world;
    std::unique_ptr<Scope> kept;
    Heard heard;
    WorldOptions options;
    options.observers = {&heard};
    world.configure(options);
    ASSERT_EQ(world.run([&] { kept = std::make_unique<Scope>(); }).kind, trace::OutcomeKind::ok);
    const std::size_t before = heard.events.size();
    EXPECT_GT(before, 0U);
    kept.reset();  // the observers of that run may be gone by now
    EXPECT_EQ(heard.events.size(), before);
}

TEST(World, CallsARunEndlessByTheTicksOfALoopThatWakesNobody) {
    WorldOptions options;
    options.dispatches_max = 500;
    World world(options);
    const Outcome endless = world.run([&world] {
        Scheduler& scheduler = world.runtime().scheduler();
        TimerOptions every;
        every.timeout = 1ms;
        every.periodic = true;
        const Ref<ReactorEvent> ticking = ReactorEvent::timer(scheduler, every);
        ticking->start();
        const Ref<OneShotEvent> never = OneShotEvent::make(scheduler, "never");
        Waker& waker = scheduler.require_suspendable("test").waker();
        waker.clean();
        waker.resume_when(*never, WakeBy::resolve);
        scheduler.suspend({"wait", SourceLocation::current(), never->label()});
    });
    EXPECT_EQ(endless.kind, trace::OutcomeKind::violation);
    EXPECT_EQ(endless.invariant, "INV-LIVE-01") << endless.message;
    EXPECT_NE(endless.message.find("ticks"), std::string::npos) << endless.message;
}

}  // namespace
}  // namespace heddle::sim
