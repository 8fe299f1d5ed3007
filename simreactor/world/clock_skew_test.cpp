// SPDX-License-Identifier: Apache-2.0
// Nodes with clocks of their own: what a skew makes of the time, what a program sees of it, and a search that decides who has one.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/io/udp.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

TEST(ClockSkew, IsUndoneByItsInverseAtTheFirstInstantThatShowsAsMuch) {  // VC3
    for (const std::int32_t drift : {0, 1, -1, 37, -250'000, 500'000, -500'000}) {
        for (const Duration ahead : {Duration::zero(), Duration(1), Duration(5s)}) {
            const ClockSkew skew{ahead, drift};
            for (const std::int64_t own : {0LL, 1LL, 2LL, 999'999LL, 1'000'001LL, 5'000'000'000LL, 1'000'000'000'000'000LL}) {
                const Instant shown = Instant{} + Duration(own);
                const Instant found = skew.true_of(shown);
                EXPECT_GE(skew.own_of(found), shown) << drift << ' ' << ahead.count() << ' ' << own;
                if (found > Instant{}) { EXPECT_LT(skew.own_of(found + Duration(-1)), shown) << drift << ' ' << ahead.count() << ' ' << own; }
            }
        }
    }
}

/// What a node's clock shows at its begin, and at the end of a wait of 100 ms by its own clock.
struct Shown {
    Duration begin{};
    Duration end{};
};

std::string run(World& world, const Program& program) {
    const Outcome outcome = world.run(program);
    return outcome.kind == trace::OutcomeKind::ok ? "ok" : outcome.invariant + ": " + outcome.message;
}

TEST(ClockSkew, OfANodeIsWhatItsProgramSeesAndWaitsBy) {  // WD6
    const auto of = [](Shown& shown) {
        return [&shown] {
            shown.begin = now() - Instant{};
            sleep_for(100ms);
            shown.end = now() - Instant{};
        };
    };
    const auto said = std::make_shared<std::vector<std::pair<char, Duration>>>();  // who, and when by the first node's clock
    WorldOptions options;
    options.network.link = Latency::exactly(1ms);
    World world(options);
    Shown first;
    Shown ahead;
    Shown fast;
    Shown slow;
    const auto run_and_say = [&of](char name, Shown& shown) {
        return [name, program = of(shown)] {
            program();
            UdpSocket::bind(Address::ip("0.0.0.0", 0)).send(std::string_view(&name, 1), Address::ip("10.0.0.1", 7));
        };
    };
    world.add_node("ahead", run_and_say('a', ahead), {.clock = {.skew = {.ahead = 1h}}});
    world.add_node("fast", run_and_say('f', fast), {.clock = {.skew = {.drift = 250'000}}});
    world.add_node("slow", run_and_say('s', slow), {.clock = {.skew = {.drift = -500'000}}});
    EXPECT_EQ(run(world,
                  [&] {
                      UdpSocket socket = UdpSocket::bind(Address::ip("0.0.0.0", 7));
                      of(first)();
                      for (int count = 0; count < 3; ++count) {
                          std::byte name{};
                          static_cast<void>(socket.receive({&name, 1}));
                          said->emplace_back(static_cast<char>(name), now() - Instant{});
                      }
                  }),
              "ok");
    EXPECT_EQ(first.begin, 0ms);
    EXPECT_EQ(first.end, 100ms);
    EXPECT_EQ(ahead.begin, Duration(1h));
    EXPECT_EQ(ahead.end, Duration(1h) + 100ms);
    EXPECT_EQ(fast.end, 100ms) << "by its own clock";
    EXPECT_EQ(slow.end, 100ms);
    // 100 ms of the fast clock are 80 of true time, of the slow one 200; a link takes true time.
    EXPECT_EQ(*said, (std::vector<std::pair<char, Duration>>{{'f', 100ms}, {'a', 101ms}, {'s', 201ms}}));
    EXPECT_EQ(world.skew(2).drift, 250'000);
}

TEST(ClockSkew, OutOfRangeIsRefused) {
    for (const ClockSkew skew : {ClockSkew{.ahead = -1ms}, ClockSkew{.drift = 500'001}, ClockSkew{.drift = -500'001}}) {
        WorldOptions options;
        options.clock.skew = skew;
        World world(options);
        EXPECT_THROW(world.run([] {}), ValueError);
    }
}

/// A server lends something for 100 ms by its clock. The client uses it once more after 90 ms by its own.
void lend() {
    UdpSocket socket = UdpSocket::bind(Address::ip("0.0.0.0", 7));
    std::byte word{};
    const Datagram asked = socket.receive({&word, 1});
    const Instant over = now() + 100ms;
    socket.send(std::string_view("y"), asked.from);
    static_cast<void>(socket.receive({&word, 1}));
    HEDDLE_CHECK(now() <= over);
}

void borrow() {
    sleep_for(1ms);  // the server begins
    UdpSocket socket = UdpSocket::bind(Address::ip("0.0.0.0", 0));
    const Address server = Address::ip("10.0.0.1", 7);
    socket.send(std::string_view("a"), server);
    std::byte word{};
    static_cast<void>(socket.receive({&word, 1}));
    sleep_for(90ms);
    socket.send(std::string_view("u"), server);
}

TEST(ClockSkew, IsAChoiceWithTheNameOfItsNode) {
    for (const Reduction reduction : {Reduction::none, Reduction::source}) {
        ExploreOptions options;
        if (reduction == Reduction::none) {
            options.bound = 1;
        } else {
            options.reduction = reduction;
        }
        options.world = [](WorldOptions& world) {
            world.mask = {ChoiceKind::value};
            world.network.link = Latency::exactly(1ms);
            world.nodes = {{"client", borrow, {.clock = {.skew = {.drift = -100'000}, .is_chosen = true}}}};
        };
        const Report report = explore(lend, options);
        ASSERT_TRUE(report.violation) << "slower by a tenth, and 90 ms are 100; runs: " << report.runs;
        EXPECT_EQ(report.violation->invariant, "CHECK");
        EXPECT_EQ(report.violation->mode, "faithful");
        ASSERT_EQ(report.violation->trace.decisions.size(), 1U);
        EXPECT_EQ(report.violation->trace.decisions.front().at, "client:clock");
        const auto no_oracles = [] { return OracleList{}; };
        const ReplayResult again = replay(lend, no_oracles, options.world, report.violation->trace, {});
        EXPECT_TRUE(again.reproduced) << again.divergence_text;
        EXPECT_TRUE(again.same_hash);
    }
}

}  // namespace
}  // namespace heddle::sim
