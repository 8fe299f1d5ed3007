// SPDX-License-Identifier: Apache-2.0
// Programs that talk over the simulated network, under every schedule of few deviations: delivery orders, parts of reads and
// writes, resets and refusals. Each check is tried on a program that it must find wrong.
// Bound: as each test says, in answers other than production's; both orders.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "heddle/core/io/io_error.hpp"
#include "heddle/core/io/tcp.hpp"
#include "heddle/core/io/udp.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/scenario/io.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;
using sim::FaultKind;

const Address nowhere_yet = Address::ip("127.0.0.1", 0);

std::string failure(const sim::Report& report) {
    if (!report.violation) { return ""; }
    return report.violation->invariant + " (" + report.violation->mode + "): " + report.violation->message + "\n" +
           trace::render(report.violation->trace);
}

sim::ExploreOptions within(std::uint32_t deviations, bool faults) {
    sim::ExploreOptions options;
    options.bound = deviations;
    options.runs_max = 60'000;
    options.oracles = [] { return all_oracles(); };
    options.world = [faults](sim::WorldOptions& world) {
        world.faults = faults;
        world.network.splits = 4;
    };
    return options;
}

TEST(EchoPair, GivesBackWhatWasSentInEveryScheduleOfThreeDeviations) {
    const sim::Report report = sim::explore(echo_pair(2, EchoServer::careful, false), within(3, false));
    EXPECT_FALSE(report.violation) << failure(report);
    EXPECT_GT(report.runs, 500U);
    EXPECT_FALSE(report.stopped);
}

TEST(EchoPair, LosesNothingSilentlyUnderFaults) {
    const sim::Report report = sim::explore(echo_pair(2, EchoServer::careful, true), within(2, true));
    EXPECT_FALSE(report.violation) << failure(report);
    EXPECT_GT(report.runs, 500U);
    EXPECT_FALSE(report.stopped);
}

TEST(EchoPair, ThatTakesAReadForAMessageIsFoundByOnePart) {
    const sim::Report report = sim::explore(echo_pair(2, EchoServer::one_read_is_one_message, false), within(2, false));
    ASSERT_TRUE(report.violation) << "the search looks at parts of reads";
    EXPECT_EQ(report.violation->invariant, "CHECK");
    EXPECT_EQ(report.violation->mode, "faithful");
    EXPECT_EQ(report.violation->trace.decisions.size(), 1U) << trace::render(report.violation->trace);
}

// ── orders ──

/// Two clients, each with one word; the order in which a server that accepts both hears them.
sim::Program two_talkers(const std::shared_ptr<std::set<std::string>>& orders) {
    return [orders] {
        auto listener = TcpListener::bind(nowhere_yet);
        const Address at = listener.info().local;
        std::string order;
        const auto talk = [&at](char word) {
            TcpStream stream = TcpStream::connect(at);
            stream.write(std::string_view(&word, 1));
        };
        const auto a = spawn("a", [&] { talk('a'); });
        const auto b = spawn("b", [&] { talk('b'); });
        const auto hear = [&order](TcpStream stream) {
            char word = 0;
            if (stream.read(&word, 1) == 1) { order += word; }
        };
        const auto first = spawn("first", [&, stream = listener.accept()]() mutable { hear(std::move(stream)); });
        const auto second = spawn("second", [&, stream = listener.accept()]() mutable { hear(std::move(stream)); });
        for (const auto* talker : {&a, &b}) { talker->await(); }
        first.await();
        second.await();
        orders->insert(order);
    };
}

TEST(Delivery, ComesInEveryOrder) {  // CP-READY
    const auto orders = std::make_shared<std::set<std::string>>();
    sim::World world;
    ASSERT_EQ(world.run(two_talkers(orders)).kind, trace::OutcomeKind::ok);
    EXPECT_EQ(*orders, std::set<std::string>{"ab"}) << "production's";
    const sim::Report report = sim::explore(two_talkers(orders), within(2, false));
    EXPECT_FALSE(report.violation) << failure(report);
    EXPECT_EQ(*orders, (std::set<std::string>{"ab", "ba"}));
}

// ── what a reset leaves behind ──

TEST(Reset, IsFoundByTheSearchWhereAServerForgetsIt) {
    const sim::Report careless = sim::explore(echo_pair(1, EchoServer::forgets_resets, true), within(2, true));
    ASSERT_TRUE(careless.violation);
    EXPECT_EQ(careless.violation->invariant, "CHECK");
}

// ── two machines ──

TEST(Retry, ThatCountsTwiceIsFound) {
    sim::ExploreOptions options = within(1, true);
    options.world = world_with_counter(false);
    const sim::Report report = sim::explore(adding_client(), options);
    ASSERT_TRUE(report.violation);
    EXPECT_EQ(report.violation->invariant, "CHECK");
    ASSERT_EQ(report.violation->trace.decisions.size(), 1U) << trace::render(report.violation->trace);
    EXPECT_EQ(report.violation->trace.decisions.front().candidate, "connection_reset");
}

TEST(Links, ThatTakeAnIntervalDeliverInBothOrders) {
    const auto orders = std::make_shared<std::set<std::string>>();
    const sim::Program hear = [orders] {
        UdpSocket socket = UdpSocket::bind(Address::ip("0.0.0.0", 7));
        std::string order;
        for (int count = 0; count < 2; ++count) {
            std::byte word{};
            static_cast<void>(socket.receive({&word, 1}));
            order += static_cast<char>(word);
        }
        orders->insert(order);
    };
    const auto say = [](char word, Duration after) -> sim::Program {
        return [word, after] {
            sleep_for(after);
            UdpSocket socket = UdpSocket::bind(Address::ip("0.0.0.0", 0));
            socket.send(std::string_view(&word, 1), Address::ip("10.0.0.1", 7));
        };
    };
    sim::ExploreOptions options;
    options.bound = 2;
    options.world = [&say](sim::WorldOptions& world) {
        world.nodes = {{"a", say('a', 1ms)}, {"b", say('b', 2ms)}};
        world.network.link = {1ms, 5ms};
        world.mask = {ChoiceKind::late, ChoiceKind::ready, ChoiceKind::batch};  // no time moves but by waiting
    };
    for (const auto& [level, expected] : {std::pair(sim::TimeLevel::T1, std::set<std::string>{"ab"}),
                                          std::pair(sim::TimeLevel::T2, std::set<std::string>{"ab", "ba"})}) {
        orders->clear();
        options.time = level;
        const sim::Report report = sim::explore(hear, options);
        EXPECT_FALSE(report.violation) << failure(report);
        EXPECT_EQ(*orders, expected);
    }
}

// ── all of them ──

class IoScenario : public testing::TestWithParam<std::size_t> {};

TEST_P(IoScenario, PassesWithinItsDepth) {
    const std::vector<sim::Scenario> scenarios = io_scenarios();
    const auto call = sim::make_call(scenarios, scenarios[GetParam()].name, {});
    ASSERT_TRUE(call);
    sim::ExploreOptions options;
    options.bound = scenarios[GetParam()].depth;
    options.runs_max = 60'000;
    const sim::Report report = sim::explore(*call, options);
    EXPECT_FALSE(report.violation) << failure(report);
    EXPECT_FALSE(report.stopped) << report.runs;
    EXPECT_GT(report.runs, 100U);
}

INSTANTIATE_TEST_SUITE_P(All, IoScenario, testing::Range<std::size_t>(0, io_scenarios().size()));

TEST(Faults, OfStreamsAreAllTakenByTheSearch) {
    std::map<FaultKind, std::uint64_t> struck;
    sim::ExploreOptions options = within(1, true);
    options.world = [&struck](sim::WorldOptions& world) {
        world.faults = true;
        world.at_end = [&struck](const sim::Outcome&) {
            const sim::World* const here = sim::World::current();
            if (here == nullptr || here->is_frozen()) { return; }
            for (const FaultKind kind : {FaultKind::connect_refused, FaultKind::connect_timed_out, FaultKind::connect_unreachable,
                                         FaultKind::connection_reset, FaultKind::connection_aborted, FaultKind::descriptors_exhausted}) {
                struck[kind] += sim::World::current()->network().faults().struck(kind);
            }
        };
    };
    const sim::Report report = sim::explore(echo_pair(1, EchoServer::careful, true), options);
    EXPECT_FALSE(report.violation) << failure(report);
    EXPECT_EQ(struck.size(), 6U);
    for (const auto& [kind, count] : struck) { EXPECT_GT(count, 0U) << to_string(kind); }
}

}  // namespace
}  // namespace heddle::prop
