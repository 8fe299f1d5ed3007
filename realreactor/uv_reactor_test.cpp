// SPDX-License-Identifier: Apache-2.0
// What the libuv backend does beyond the contract of every reactor: libuv's own guarantees that it stands on
// (docs/spec/16-libuv-order.md, G and F numbers), and the operating system's corners.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <thread>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/detail/uv_source.hpp"
#include "heddle/realreactor/testing/uv_rig.hpp"

namespace heddle::real {
namespace {

using contract::Probe;
using contract::Seen;
using testing::Pipe;
using testing::UvReactorTest;
using namespace std::chrono_literals;

// ── order ──

TEST_F(UvReactorTest, ReadinessOfATickPrecedesItsTimersOnEveryVersionOfLibuv) {  // RCT-60, F19
    Probe trigger;
    Probe descriptor;
    Probe timer;
    ASSERT_EQ(::write(pipe.write, "x", 1), 1);
    start(reactor.open_timer({}, {.owner = &timer}));
    reactor.trigger_port(started_trigger(trigger))->fire();
    started_proxy(descriptor, pipe.read, PollBits::readable);
    tick();
    ASSERT_EQ(sink.log.size(), 3U);
    EXPECT_EQ(sink.log[2].kind, SourceKind::timer);
}

TEST_F(UvReactorTest, SignalsComeLastInABatch) {  // G9
    Probe signal;
    Probe descriptor;
    start(reactor.open_signal(SIGUSR1, {.owner = &signal}));
    ::raise(SIGUSR1);
    ASSERT_EQ(::write(pipe.write, "x", 1), 1);
    started_proxy(descriptor, pipe.read, PollBits::readable);
    tick();
    ASSERT_EQ(sink.log.size(), 2U);
    EXPECT_EQ(sink.log[0].kind, SourceKind::proxy);
    EXPECT_EQ(sink.log[1].kind, SourceKind::signal);
}

TEST_F(UvReactorTest, TriggersOfOneWakeUpComeInTheOrderOfOpening) {  // G21
    Probe probe;
    std::vector<SourceId> ids;
    for (int at = 0; at < 5; ++at) { ids.push_back(started_trigger(probe)); }
    for (const std::size_t at : {3U, 1U, 4U, 0U, 2U}) { reactor.trigger_port(ids[at])->fire(); }
    tick();
    ASSERT_EQ(sink.log.size(), ids.size());
    for (std::size_t at = 0; at < ids.size(); ++at) { EXPECT_EQ(sink.log[at].source, ids[at]); }
}

TEST_F(UvReactorTest, CallbackMayOpenAndCloseTriggersWhileTheyAreWalked) {  // RCT-10
    Probe probes[3];
    std::vector<Probe> added(20);
    std::vector<SourceId> ids;
    for (Probe& probe : probes) { ids.push_back(started_trigger(probe)); }
    probes[0].then = [&](const Seen&) {
        reactor.close(ids[0]);
        reactor.close(ids[1]);
        for (Probe& probe : added) { reactor.trigger_port(started_trigger(probe))->fire(); }
    };
    for (const SourceId id : ids) { reactor.trigger_port(id)->fire(); }
    tick();
    EXPECT_EQ(probes[1].count(), 0U);
    EXPECT_EQ(probes[2].count(), 1U);
    for (const Probe& probe : added) { run_until_count(probe, 1); }
}

TEST_F(UvReactorTest, ChildrenThatEndedTogetherComeInTheOrderOfOpening) {  // G24
    Probe probe;
    std::vector<SourceId> ids;
    std::vector<std::unique_ptr<Pipe>> inputs;
    std::vector<pid_t> pids;
    for (int at = 0; at < 3; ++at) {
        inputs.push_back(std::make_unique<Pipe>());
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, inputs.back()->read, 0);
        char shell[] = "/bin/sh";
        char option[] = "-c";
        char script[] = "read line";
        char* const arguments[] = {shell, option, script, nullptr};
        pids.push_back(0);
        ASSERT_EQ(::posix_spawn(&pids.back(), shell, &actions, nullptr, arguments, environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        ids.push_back(start(reactor.open_process(pids.back(), {.owner = &probe})));
    }
    for (const int at : {2, 0, 1}) {
        ASSERT_EQ(::write(inputs[static_cast<std::size_t>(at)]->write, "\n", 1), 1);
        siginfo_t info{};
        const auto pid = static_cast<id_t>(pids[static_cast<std::size_t>(at)]);
        while (::waitid(P_PID, pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    }
    run_until_count(probe, 3);
    for (std::size_t at = 0; at < ids.size(); ++at) { EXPECT_EQ(probe.seen[at].source, ids[at]); }
}

TEST_F(UvReactorTest, BlockedTickIsNotWokenBeforeItsDeadline) {  // G3, G8: it waits in the poll instead of spinning
    Probe probe;
    start(reactor.open_timer({.timeout = 30ms}, {.owner = &probe}));
    run_until_count(probe, 1);
    EXPECT_LE(sink.ticks, 5U);
}

TEST_F(UvReactorTest, WorkThatBecomesReadyInsideTheIterationKeepsThePollFromWaiting) {  // SCH-41, G25
    Probe far;
    start(reactor.open_timer({.timeout = 1h}, {.owner = &far}));
    // The sink is asked before the iteration and again right before the poll: this work appears between the two.
    sink.before_wait = [this] { sink.before_wait = [this] { sink.ready_work = true; }; };
    EXPECT_TRUE(tick());
    EXPECT_TRUE(sink.ready_work);
    EXPECT_EQ(far.count(), 0U);
}

// ── descriptors ──

TEST_F(UvReactorTest, RefusesWhatCannotBePolled) {  // RCT-51
    const int closed = ::dup(pipe.read);
    ::close(closed);
    try {
        reactor.open_poll(closed, false, {});
        FAIL();
    } catch (const IoError& error) { EXPECT_EQ(error.code(), EBADF); }
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(file, 0);
    try {
        reactor.open_poll(file, false, {});
        FAIL();
    } catch (const IoError& error) { EXPECT_EQ(error.code(), EPERM); }
    ::close(file);
    EXPECT_EQ(reactor.active_events(), 0U);
}

TEST_F(UvReactorTest, StartOnADescriptorThatItsOwnerClosedThrowsInsteadOfAborting) {  // RCT-36, RCT-38
    Probe probe;
    const SourceId proxy =
        reactor.open_proxy(reactor.open_poll(pipe.read, false, {}), PollBits::readable, {.owner = &probe});
    pipe.close_read();
    EXPECT_THROW(reactor.start(proxy), IoError);
    EXPECT_EQ(reactor.active_events(), 0U);
    reactor.close(proxy);
    tick();
}

TEST_F(UvReactorTest, PipeWithoutReaderIsADisconnectWithoutError) {  // RCT-36, RCT-32, RCT-35
    Probe writer;
    Probe other;
    started_proxy(writer, pipe.write, PollBits::writable);
    started_proxy(other, pipe.write, PollBits::readable);
    pipe.close_read();
    run_until_count(other, 3);  // in every tick, although libuv ends a watch that failed
    for (const Seen& seen : other.seen) {
        EXPECT_EQ(seen.value, PollBits::disconnect);
        EXPECT_EQ(seen.error, 0);
    }
    EXPECT_EQ(writer.seen.back().value, PollBits::disconnect);
}

TEST_F(UvReactorTest,
       ConnectionThatWaitsIsReadable) {  // RCT-37: the peek fails on a listening socket, which is not "no data"
    Probe probe;
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(::listen(listener, 8), 0);
    ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
    started_proxy(probe, listener, PollBits::readable);
    const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].value, PollBits::readable);

    // Out-of-band data of an accepted connection is PRIORITY (RCT-32).
    Probe urgent;
    const int server = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    ASSERT_GE(server, 0);
    started_proxy(urgent, server, PollBits::priority);
    ASSERT_EQ(::send(client, "!", 1, MSG_OOB), 1);
    run_until_count(urgent, 1);
    EXPECT_EQ(urgent.seen[0].value, PollBits::priority);
    shut_down();
    for (const int fd : {listener, client, server}) { ::close(fd); }
}

// ── poll policy ──

TEST_F(UvReactorTest, PollIsDueInPlaceOncePer100Milliseconds) {  // SCH-36
    tick(TickMode::no_wait);
    int due = 0;
    for (int call = 0; call < 100; ++call) { due += static_cast<int>(reactor.poll_due(true)); }
    // Only a machine that stood still for 100 ms in between would say otherwise.
    EXPECT_EQ(due, 0);
    std::this_thread::sleep_for(130ms);
    bool now_due = false;
    for (int call = 0; call < 16 && !now_due; ++call) { now_due = reactor.poll_due(true); }
    EXPECT_TRUE(now_due) << "at most 16 calls late";
    tick(TickMode::no_wait);
    EXPECT_FALSE(reactor.poll_due(true));
}

TEST_F(UvReactorTest, PollIsDueInPlaceWithoutDelayWhereCallsComeSlowly) {  // SCH-36, INV-LIVE-03
    tick(TickMode::no_wait);
    for (int call = 0; call < 64; ++call) { static_cast<void>(reactor.poll_due(true)); }
    int calls = 0;
    while (!reactor.poll_due(true)) {  // each of them after a computation of 20 ms
        std::this_thread::sleep_for(20ms);
        ++calls;
    }
    EXPECT_LE(calls, 16 + 6);
    tick(TickMode::no_wait);
    calls = 0;
    while (!reactor.poll_due(true)) {
        std::this_thread::sleep_for(20ms);
        ++calls;
    }
    EXPECT_LE(calls, 8) << "by now every call looks at the clock";
}

TEST_F(UvReactorTest, PollIsDueInTheLoopWhenTheCoarseClockMoved) {  // SCH-39
    tick(TickMode::no_wait);
    std::this_thread::sleep_for(20ms);
    EXPECT_TRUE(reactor.poll_due(false));
}

// ── the table of sources ──

TEST(SourceTable, OldIdNeverMeansANewerSource) {  // R4
    detail::SourceTable table;
    const SourceId first = table.open(SourceKind::timer, {});
    table.close(detail::SourceTable::slot_of(first));
    const SourceId second = table.open(SourceKind::trigger, {});
    EXPECT_EQ(detail::SourceTable::slot_of(first), detail::SourceTable::slot_of(second)) << "the slot is used again";
    EXPECT_NE(first, second);
    EXPECT_EQ(table.find(first), nullptr);
    ASSERT_NE(table.find(second), nullptr);
    EXPECT_EQ(table.find(second, SourceKind::timer), nullptr);
    EXPECT_EQ(table.find(SourceId{}), nullptr);
    EXPECT_EQ(table.open_count(), 1U);
}

TEST(SourceTable, SlotWithoutGenerationsLeftIsNotUsedAgain) {  // ST1
    detail::SourceTable table;
    const std::uint32_t slot = detail::SourceTable::slot_of(table.open(SourceKind::timer, {}));
    table.at(slot).generation = detail::SourceTable::generation_max;
    table.close(slot);
    EXPECT_NE(detail::SourceTable::slot_of(table.open(SourceKind::timer, {})), slot);
}

}  // namespace
}  // namespace heddle::real
