// SPDX-License-Identifier: Apache-2.0
// Programs that talk over the simulated network, under every schedule of few deviations: delivery orders, parts of reads and
// writes, resets and refusals. Each check is tried on a program that it must find wrong.
// Bound: as each test says, in answers other than production's; both orders.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>

#include "heddle/core/io/io_error.hpp"
#include "heddle/core/io/tcp.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/traces/trace_render.hpp"

namespace heddle::prop {
namespace {

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

std::size_t open_descriptors() { return sim::World::current()->reactor().machine().open_count(); }

// ── an echo pair ──

/// What the server does with one connection.
using Serve = void (*)(TcpStream&);

void echo(TcpStream& stream) {
    char buffer[16];
    while (const std::size_t size = stream.read(buffer, sizeof buffer)) { stream.write(std::string_view(buffer, size)); }
}

/// One message is one read: true on one machine, as long as nobody looks closely.
void echo_messages(TcpStream& stream) {
    char buffer[3];
    while (const std::size_t size = stream.read(buffer, sizeof buffer)) {
        stream.write(std::string(buffer, size) + (size < sizeof buffer ? "." : ""));
    }
}

/// Sends two words and expects them back. Whatever goes wrong, what came is a beginning of what was sent, and nothing stays open.
sim::Program echo_pair(Serve serve, bool faults) {
    return [serve, faults] {
        {
            auto listener = TcpListener::bind(nowhere_yet);
            const Address at = listener.info().local;
            const auto server = spawn("server", [&] {
                if (!listener.is_open()) { return; }  // the client has given up already
                try {
                    TcpStream stream = listener.accept();
                    serve(stream);
                } catch (const OperationError& error) {
                    const int code = error.code();
                    HEDDLE_CHECK(code == ECONNRESET || code == EPIPE || code == ECONNABORTED || code == EMFILE || error.is_closed());
                    listener.close();  // who waits to be accepted hears of it
                }
            });
            const std::string sent = "onetwo";
            std::string got;
            bool failed = false;
            try {
                TcpStream client = TcpStream::connect(at);
                client.write(sent.substr(0, 3));
                client.write(sent.substr(3));
                client.shutdown();
                char buffer[16];
                while (const std::size_t size = client.read(buffer, sizeof buffer)) { got.append(buffer, size); }
            } catch (const OperationError&) {
                failed = true;
            }
            HEDDLE_CHECK(sent.starts_with(got));
            HEDDLE_CHECK(faults || (!failed && got == sent));
            listener.close();
            server.await();
        }
        HEDDLE_CHECK(open_descriptors() == 0);
    };
}

TEST(EchoPair, GivesBackWhatWasSentInEveryScheduleOfThreeDeviations) {
    const sim::Report report = sim::explore(echo_pair(echo, false), within(3, false));
    EXPECT_FALSE(report.violation) << failure(report);
    EXPECT_GT(report.runs, 500U);
    EXPECT_FALSE(report.stopped);
}

TEST(EchoPair, LosesNothingSilentlyUnderFaults) {
    const sim::Report report = sim::explore(echo_pair(echo, true), within(2, true));
    EXPECT_FALSE(report.violation) << failure(report);
    EXPECT_GT(report.runs, 500U);
    EXPECT_FALSE(report.stopped);
}

TEST(EchoPair, ThatTakesAReadForAMessageIsFoundByOnePart) {
    const sim::Report report = sim::explore(echo_pair(echo_messages, false), within(2, false));
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

/// A server that counts its connections, with care or without.
sim::Program counted(bool careful) {
    return [careful] {
        int connections = 0;
        auto listener = TcpListener::bind(nowhere_yet);
        const Address at = listener.info().local;
        const auto server = spawn("server", [&] {
            if (!listener.is_open()) { return; }
            try {
                TcpStream stream = listener.accept();
                ++connections;
                try {
                    echo(stream);
                } catch (const OperationError&) {
                    if (careful) { --connections; }
                    throw;
                }
                --connections;
            } catch (const OperationError&) { listener.close(); }
        });
        try {
            TcpStream client = TcpStream::connect(at);
            client.write("x");
        } catch (const OperationError&) {}
        listener.close();
        try {
            server.await();
        } catch (const OperationError&) {}
        HEDDLE_CHECK(connections == 0);
    };
}

TEST(Reset, IsFoundByTheSearchWhereAServerForgetsIt) {
    const sim::Report careless = sim::explore(counted(false), within(2, true));
    ASSERT_TRUE(careless.violation);
    EXPECT_EQ(careless.violation->invariant, "CHECK");
    const sim::Report careful = sim::explore(counted(true), within(2, true));
    EXPECT_FALSE(careful.violation) << failure(careful);
}

}  // namespace
}  // namespace heddle::prop
