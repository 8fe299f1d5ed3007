// SPDX-License-Identifier: Apache-2.0
// The simulated kernel by itself: streams, datagrams, links, names, descriptors, faults.
#include "heddle/simreactor/net/network.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/net/testing/kernel_rig.hpp"

namespace heddle::sim::testing {
namespace {

using namespace std::chrono_literals;

std::string refused(int error) { return "<" + std::to_string(error) + ">"; }

// ── streams ──

TEST(StreamSocket, CarriesBytesAndTheEnd) {
    KernelRig rig;
    Machine& a = rig.machine("a");
    auto [client, server] = connected(rig, a, a);
    ASSERT_NE(server, nullptr);
    EXPECT_EQ(client->peer(), server->local());
    EXPECT_EQ(put(*client, "question"), 8);
    EXPECT_EQ(get(*server, 3), "que");
    EXPECT_EQ(get(*server), "stion");
    EXPECT_EQ(get(*server), refused(EAGAIN));
    client->shut_down();
    EXPECT_EQ(get(*server), "<end>");
    EXPECT_EQ(put(*server, "answer"), 6);  // the other way goes on
    EXPECT_EQ(get(*client), "answer");
    EXPECT_EQ(put(*client, "more"), -EPIPE);
}

TEST(StreamSocket, TakesNoMoreThanThereIsRoomFor) {
    KernelRig rig({.stream_buffer = 10});
    Machine& a = rig.machine("a");
    auto [client, server] = connected(rig, a, a);
    EXPECT_EQ(put(*client, "0123456789abc"), 10);
    EXPECT_EQ(put(*client, "abc"), -EAGAIN);
    EXPECT_EQ(client->readiness() & ready_write, 0U);
    EXPECT_EQ(get(*server, 4), "0123");
    EXPECT_NE(client->readiness() & ready_write, 0U);
    EXPECT_EQ(put(*client, "abcdef"), 4);
    EXPECT_EQ(get(*server), "456789abcd");
}

TEST(StreamSocket, ResetsWhenSomethingIsLeftUnread) {  // SS3
    KernelRig rig;
    Machine& a = rig.machine("a");
    auto [client, server] = connected(rig, a, a);
    put(*client, "unread");
    put(*server, "last words");
    server->close();
    EXPECT_EQ(get(*client), "last words") << "what has arrived is read first (SS2)";
    EXPECT_EQ(get(*client), refused(ECONNRESET));
    EXPECT_EQ(get(*client), "<end>");
    EXPECT_EQ(put(*client, "x"), -EPIPE);
}

TEST(StreamSocket, WriterToAClosedPeerHearsOfItWithTheNextWrite) {
    KernelRig rig;
    Machine& a = rig.machine("a");
    auto [client, server] = connected(rig, a, a);
    server->close();
    EXPECT_EQ(get(*client), "<end>");
    EXPECT_EQ(put(*client, "into nothing"), 12);
    EXPECT_EQ(put(*client, "x"), -EPIPE);
}

TEST(StreamSocket, IsCutWhereTheChoiceSays) {  // CP-PARTIAL
    KernelRig rig;
    Machine& a = rig.machine("a");
    auto [client, server] = connected(rig, a, a);
    rig.answer("write-part", {3});
    EXPECT_EQ(put(*client, "12345"), 3);
    EXPECT_EQ(put(*client, "45"), 2);
    rig.counts.clear();
    rig.answer("read-part", {2, 0});
    EXPECT_EQ(get(*server), "12");
    EXPECT_EQ(get(*server), "345");
    EXPECT_EQ(rig.counts, (std::vector<std::uint32_t>{5, 3})) << "every split of what is there";
}

TEST(StreamSocket, ListenerThatIsFullLetsTheClientTryAgain) {
    KernelRig rig;
    Machine& a = rig.machine("a");
    const auto listener = listener_at(a, 1);  // two, as on Linux
    std::vector<std::shared_ptr<StreamSocket>> clients;
    for (int number = 0; number < 3; ++number) {
        clients.push_back(std::make_shared<StreamSocket>(a, StreamKind::tcp));
        EXPECT_EQ(clients.back()->connect(Address::ip("127.0.0.1", 80)), -EINPROGRESS);
    }
    EXPECT_TRUE(clients[1]->is_connected());
    EXPECT_TRUE(clients[2]->is_connecting());
    int error = 0;
    EXPECT_NE(listener->accept(error), nullptr);
    rig.pass(999ms);
    EXPECT_TRUE(clients[2]->is_connecting());
    rig.pass(1ms);
    EXPECT_TRUE(clients[2]->is_connected());
}

TEST(StreamSocket, GivesUpAnAddressThatNothingComesBackFrom) {
    KernelRig rig;
    Machine& a = rig.machine("a");
    Machine& b = rig.machine("b");
    listener_at(b);
    rig.network.cut(a, b);
    StreamSocket* client = nullptr;
    const auto socket = std::make_shared<StreamSocket>(a, StreamKind::tcp);
    client = socket.get();
    Address at = b.addresses().front();
    at.port = 80;
    client->connect(at);
    rig.pass(62s);
    EXPECT_TRUE(client->is_connecting());
    rig.pass(1s);  // 1 + 2 + 4 + 8 + 16 + 32
    EXPECT_FALSE(client->is_connecting());
    EXPECT_EQ(client->take_error(), ETIMEDOUT);
    client->connect(Address::ip("10.9.9.9", 80));
    EXPECT_EQ(client->take_error(), EHOSTUNREACH);
    client->connect(Address::ip("127.0.0.1", 81));
    EXPECT_EQ(client->take_error(), ECONNREFUSED);
}

// ── links ──

TEST(Network, DeliversInOrderAndInTime) {  // N1
    KernelRig rig({.link = Latency::exactly(5ms)});
    Machine& a = rig.machine("a");
    Machine& b = rig.machine("b");
    auto [client, server] = connected(rig, a, b, 10ms);
    ASSERT_NE(server, nullptr);
    EXPECT_TRUE(client->is_connected());
    put(*client, "one ");
    rig.network.set_link(a, b, Latency::exactly(1ms));
    put(*client, "two");
    rig.pass(4ms);
    EXPECT_EQ(get(*server), refused(EAGAIN));
    rig.pass(1ms);
    EXPECT_EQ(get(*server), "one two");
}

TEST(Network, KeepsWhatACutLinkWouldHaveCarried) {  // N2
    KernelRig rig({.link = Latency::exactly(1ms)});
    Machine& a = rig.machine("a");
    Machine& b = rig.machine("b");
    auto [client, server] = connected(rig, a, b, 2ms);
    put(*client, "under way ");
    rig.network.cut(a, b);
    put(*client, "held ");
    put(*server, "the other way");
    rig.pass(1h);
    EXPECT_EQ(get(*server), refused(EAGAIN));
    EXPECT_EQ(get(*client), "the other way") << "one way only";
    rig.network.heal(a, b);
    put(*client, "and after");
    rig.pass(1ms);
    EXPECT_EQ(get(*server), "under way held and after");
}

TEST(Network, TellsNobodyOfACrash) {  // N3
    KernelRig rig;
    Machine& a = rig.machine("a");
    Machine& b = rig.machine("b");
    auto [client, server] = connected(rig, a, b);
    b.open(server);
    b.crash();
    EXPECT_EQ(get(*client), refused(EAGAIN)) << "as it was";
    EXPECT_EQ(put(*client, "lost"), 4);
    b.set_host(&rig);
    EXPECT_EQ(put(*client, "nobody knows it"), 15);
    EXPECT_EQ(get(*client), refused(ECONNRESET)) << "the machine that is up again does not know the connection";
}

TEST(Network, KnowsNames) {
    KernelRig rig;
    const Machine& a = rig.machine("a");
    EXPECT_EQ(rig.network.resolve("a"), a.addresses());
    EXPECT_EQ(rig.network.resolve("localhost").front().text(), "127.0.0.1:0");
    EXPECT_EQ(rig.network.resolve("::1").front().text(), "[::1]:0");
    EXPECT_TRUE(rig.network.resolve("b").empty());
    rig.network.add_name("b", Address::ip("10.0.0.7", 0));
    EXPECT_EQ(rig.network.name_of(Address::ip("10.0.0.7", 80)), "b");
    rig.network.remove_name("b");
    EXPECT_EQ(rig.network.name_of(Address::ip("10.0.0.7", 80)), "10.0.0.7");
}

// ── datagrams ──

struct Sockets {
    explicit Sockets(Machine& machine) : a(machine), b(machine) {
        a.bind(Address::ip("127.0.0.1", 0));
        b.bind(Address::ip("127.0.0.1", 0));
    }
    std::int64_t send(std::string_view text) { return a.send(std::as_bytes(std::span(text)), &b.local()); }
    std::string receive() {
        std::string text(10, '\0');
        DatagramSocket::Received what;
        const std::int64_t got = b.receive(std::as_writable_bytes(std::span(text)), what);
        return got < 0 ? "-" : text.substr(0, static_cast<std::size_t>(got));
    }
    DatagramSocket a;
    DatagramSocket b;
};

TEST(DatagramSocket, LosesDoublesAndDelaysAsThePlanSays) {
    KernelRig rig({.faults = {{{.kind = FaultKind::datagram_lost, .nth = 1},
                               {.kind = FaultKind::datagram_doubled, .nth = 2},
                               {.kind = FaultKind::datagram_late, .nth = 3}}}});
    Sockets sockets(rig.machine("a"));
    for (const char* text : {"lost", "twice", "late", "whole"}) { sockets.send(text); }
    EXPECT_EQ(sockets.receive(), "twice");
    EXPECT_EQ(sockets.receive(), "twice");
    EXPECT_EQ(sockets.receive(), "whole");
    EXPECT_EQ(sockets.receive(), "-");
    rig.pass(1ms);
    EXPECT_EQ(sockets.receive(), "late");
    EXPECT_EQ(rig.network.faults().summary(), "datagram_lost 1 of 4, datagram_doubled 1 of 4, datagram_late 1 of 4");
}

TEST(DatagramSocket, DropsWhatItsQueueHasNoRoomFor) {  // DG2
    KernelRig rig({.datagram_buffer = 200});
    Sockets sockets(rig.machine("a"));
    for (int number = 0; number < 5; ++number) { EXPECT_EQ(sockets.send("0123456789"), 10); }
    EXPECT_EQ(sockets.receive(), "0123456789");
    EXPECT_EQ(sockets.receive(), "0123456789");
    EXPECT_EQ(sockets.receive(), "-");
}

TEST(DatagramSocket, ThatIsConnectedHearsThatNobodyIsThere) {
    KernelRig rig;
    DatagramSocket socket(rig.machine("a"));
    socket.connect(Address::ip("127.0.0.1", 9));
    EXPECT_EQ(socket.send({}, nullptr), 0);
    EXPECT_EQ(socket.send({}, nullptr), -ECONNREFUSED);
    EXPECT_EQ(socket.send({}, nullptr), 0);
}

// ── descriptors, faults ──

TEST(Machine, GivesOutTheLowestFreeDescriptor) {
    KernelRig rig({.descriptors_max = 4});
    Machine& a = rig.machine("a");
    int pipe[2];
    int other[2];
    EXPECT_EQ(a.pipe(pipe), 0);
    EXPECT_EQ(a.socket_pair(other), 0);
    EXPECT_EQ(pipe[1], pipe[0] + 1);
    EXPECT_EQ(other[1], pipe[0] + 3);
    EXPECT_EQ(a.open(std::make_shared<StreamSocket>(a, StreamKind::tcp)), -EMFILE);
    EXPECT_EQ(a.close(pipe[1]), 0);
    EXPECT_EQ(a.close(pipe[1]), -EBADF);
    EXPECT_EQ(a.open(std::make_shared<StreamSocket>(a, StreamKind::tcp)), pipe[1]);
    const auto reader = std::static_pointer_cast<StreamSocket>(a.object(pipe[0]));
    EXPECT_EQ(get(*reader), "<end>") << "its writer was closed";
}

TEST(FaultPlan, StrikesByRatioByNumberOnceAndForEver) {
    Faults faults({{{.kind = FaultKind::disk_error, .ratio = {1, 4}},
                    {.kind = FaultKind::disk_full, .machine = "b", .nth = 3, .for_ever = true, .times = 2}}},
                  7);
    std::uint64_t hits = 0;
    for (int number = 0; number < 4000; ++number) { hits += faults.strikes(FaultKind::disk_error, "a") ? 1 : 0; }
    EXPECT_GT(hits, 850U);
    EXPECT_LT(hits, 1150U);
    EXPECT_EQ(faults.struck(FaultKind::disk_error), hits);
    EXPECT_FALSE(faults.strikes(FaultKind::disk_full, "a"));
    std::string seen;
    for (int number = 0; number < 6; ++number) { seen += faults.strikes(FaultKind::disk_full, "b") ? 'x' : '.'; }
    EXPECT_EQ(seen, "..xx..");
    EXPECT_EQ(faults.opportunities(FaultKind::disk_full), 7U);
    EXPECT_THROW(Faults({{{.kind = FaultKind::disk_error, .ratio = {2, 1}}}}, 1), ValueError);
    EXPECT_THROW(Faults({{{.ratio = {1, 2}}}}, 1), ValueError);
}

}  // namespace
}  // namespace heddle::sim::testing
