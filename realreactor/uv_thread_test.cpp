// SPDX-License-Identifier: Apache-2.0
// The libuv backend and other threads: ports, reactors beside each other, tasks, and how a reactor begins and ends.
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/detail/uv_abandoned.hpp"
#include "heddle/realreactor/testing/uv_rig.hpp"

namespace heddle::real {
namespace {

using contract::ContractSink;
using contract::Probe;
using contract::Seen;
using testing::Gate;
using testing::Pipe;
using testing::UvReactorTest;
using testing::is_caught;
using namespace std::chrono_literals;

// ── triggers and threads ──

TEST_F(UvReactorTest, PortMayBeFiredInASignalHandler) {  // RCT-1
    Probe probe;
    static TriggerPort* port = nullptr;
    const TriggerPortPtr kept = reactor.trigger_port(started_trigger(probe));
    port = kept.get();
    struct sigaction before {};
    struct sigaction action {};
    action.sa_handler = [](int) { port->fire(); };
    ASSERT_EQ(::sigaction(SIGUSR2, &action, &before), 0);
    errno = 1234;
    ::raise(SIGUSR2);
    EXPECT_EQ(errno, 1234) << "whoever was interrupted keeps its errno";
    ASSERT_EQ(::sigaction(SIGUSR2, &before, nullptr), 0);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.count(), 1U);
}

TEST(UvReactorThreads, PortsMayBeFiredWhileTriggersCloseAndReactorsGo) {  // RCT-1, RCT-58
    constexpr int rounds = 50;
    constexpr std::size_t thread_count = 3;
    std::mutex mutex;
    std::vector<TriggerPortPtr> ports;
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (std::size_t at = 0; at < thread_count; ++at) {
        threads.emplace_back([&] {
            while (!done.load()) {
                std::vector<TriggerPortPtr> mine;
                {
                    const std::lock_guard<std::mutex> lock(mutex);
                    mine = ports;
                }
                for (const TriggerPortPtr& port : mine) { port->fire(); }
                std::this_thread::yield();
            }
        });
    }
    for (int round = 0; round < rounds; ++round) {
        UvReactor reactor;
        ContractSink sink{reactor};
        Probe probes[3];
        reactor.startup(sink);
        std::vector<SourceId> ids;
        for (Probe& probe : probes) {
            ids.push_back(reactor.open_trigger({.owner = &probe}));
            reactor.start(ids.back());
            const std::lock_guard<std::mutex> lock(mutex);
            ports.push_back(reactor.trigger_port(ids.back()));
        }
        sink.in_tick = true;
        while (probes[0].count() < 3) { reactor.tick(TickMode::may_block); }
        reactor.close(ids[1]);
        const std::size_t heard = probes[1].count();
        while (probes[2].count() < 6) { reactor.tick(TickMode::may_block); }
        EXPECT_EQ(probes[1].count(), heard);
        if (round % 2 == 0) { reactor.shutdown(); }
    }
    done = true;
    for (std::thread& thread : threads) { thread.join(); }
}

TEST(UvReactorThreads, ReactorsOnSeveralThreadsDoNotMeet) {  // nothing of a reactor is global
    std::vector<std::thread> threads;
    std::atomic<int> finished{0};
    for (int at = 0; at < 3; ++at) {
        threads.emplace_back([&finished] {
            UvReactor reactor;
            ContractSink sink{reactor};
            Probe timer;
            Probe task;
            reactor.startup(sink);
            reactor.start(reactor.open_timer({.timeout = 1ms, .periodic = true}, {.owner = &timer, .hidden = true}));
            for (int round = 0; round < 20; ++round) {
                reactor.submit_task([] {}, {.owner = &task});
            }
            sink.in_tick = true;
            while (reactor.tick(TickMode::may_block)) {}
            if (task.count() == 20) { ++finished; }
            reactor.shutdown();
        });
    }
    for (std::thread& thread : threads) { thread.join(); }
    EXPECT_EQ(finished.load(), 3);
}

TEST(UvReactorThreads, TwoReactorsOnOneThreadTakeTurns) {
    UvReactor reactors[2];
    Probe timers[2];
    Probe signals[2];
    std::optional<ContractSink> sinks[2];
    for (std::size_t at = 0; at < 2; ++at) {
        sinks[at].emplace(reactors[at]);
        sinks[at]->in_tick = true;
        reactors[at].startup(*sinks[at]);
        reactors[at].start(reactors[at].open_timer({.timeout = 1ms}, {.owner = &timers[at]}));
        reactors[at].start(reactors[at].open_signal(SIGUSR1, {.owner = &signals[at]}));
    }
    ::raise(SIGUSR1);
    for (std::size_t at = 0; at < 2; ++at) {
        while (timers[at].count() == 0 || signals[at].count() == 0) { reactors[at].tick(TickMode::may_block); }
    }
    reactors[0].shutdown();
    EXPECT_TRUE(is_caught(SIGUSR1)) << "the other one still listens";
    reactors[1].shutdown();
    EXPECT_FALSE(is_caught(SIGUSR1));
}

// ── tasks ──

TEST_F(UvReactorTest, BodyThatThrowsEndsItsRequestWithAnError) {
    Probe probe;
    reactor.submit_task([] { throw IoError("from a worker"); }, {.owner = &probe});
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].error, EIO);
    EXPECT_FALSE(probe.seen[0].cancelled);
}

TEST_F(UvReactorTest, TaskThatHasBegunRunsToItsEndAlthoughItIsCancelled) {  // G23, CP-REQCANCEL
    Probe probe;
    Gate gate;
    const SourceId id = reactor.submit_task([&gate] { gate.pass(); }, {.owner = &probe});
    gate.wait_until_begun();
    EXPECT_TRUE(reactor.cancel(id));
    gate.open();
    run_until_count(probe, 1);
    EXPECT_FALSE(probe.seen[0].cancelled);
    EXPECT_EQ(probe.seen[0].error, 0);
}

TEST_F(UvReactorTest, ClosedTaskCountsUntilItsWorkerIsDone) {  // RCT-15, RCT-45
    Probe probe;
    Gate gate;
    const SourceId id = reactor.submit_task([&gate] { gate.pass(); }, {.owner = &probe});
    gate.wait_until_begun();
    reactor.close(id);
    EXPECT_TRUE(tick(TickMode::no_wait));
    EXPECT_EQ(reactor.active_events(), 1U);
    gate.open();
    while (tick()) {}
    EXPECT_EQ(probe.count(), 0U);
}

TEST(UvReactorShutdown, WaitsForATaskThatHasBegun) {  // RCT-2
    const std::size_t abandoned = detail::abandoned_count();
    Gate gate;
    const auto held = std::make_shared<int>(0);
    UvReactor reactor({.shutdown_wait = 1min});
    ContractSink sink{reactor};
    reactor.startup(sink);
    reactor.submit_task([&gate, held] { gate.pass(); }, {});
    gate.wait_until_begun();
    std::thread opener([&gate] { gate.open(); });
    reactor.shutdown();
    opener.join();
    EXPECT_EQ(held.use_count(), 1) << "it completed, and its body is gone";
    EXPECT_EQ(detail::abandoned_count(), abandoned) << "the loop was closed and freed (G27)";
}

TEST(UvReactorShutdown, LeavesTheLoopToAWorkerThatDoesNotComeBack) {  // RCT-2, INV-RCT-13
    const std::size_t abandoned = detail::abandoned_count();
    Gate gate;
    {
        UvReactor reactor({.shutdown_wait = 5ms});
        ContractSink sink{reactor};
        reactor.startup(sink);
        reactor.submit_task([&gate] { gate.pass(); }, {});
        gate.wait_until_begun();
        reactor.shutdown();
        EXPECT_GT(detail::abandoned_count(), abandoned);
        EXPECT_EQ(reactor.active_events(), 0U);

        Probe probe;  // the same reactor begins again with a loop of its own
        reactor.startup(sink);
        reactor.start(reactor.open_timer({}, {.owner = &probe}));
        sink.in_tick = true;
        reactor.tick(TickMode::may_block);
        EXPECT_EQ(probe.count(), 1U);
    }
    gate.open();  // the worker goes on in memory that is still there
    gate.wait_until_passed();
}

TEST(UvReactorShutdown, DestructorDoesNotTouchTheSink) {
    const std::size_t abandoned = detail::abandoned_count();
    const Pipe pipe;
    UvReactor reactor;
    {
        ContractSink sink{reactor};
        reactor.startup(sink);
        reactor.open_poll(pipe.read, false, {});
        reactor.start(reactor.open_timer({.timeout = 1h}, {}));
        reactor.submit_task([] {}, {});
    }
    EXPECT_TRUE(reactor.is_up());
    EXPECT_EQ(detail::abandoned_count(), abandoned);
}

TEST(UvReactorShutdown, IsRefusedInsideATick) {
    UvReactor reactor;
    ContractSink sink{reactor};
    Probe probe;
    bool refused = false;
    probe.then = [&](const Seen&) {
        try {
            reactor.shutdown();
        } catch (const AsyncError&) { refused = true; }
    };
    reactor.startup(sink);
    reactor.start(reactor.open_timer({}, {.owner = &probe}));
    sink.in_tick = true;
    reactor.tick(TickMode::may_block);
    EXPECT_TRUE(refused);
    EXPECT_TRUE(reactor.is_up());
}

TEST(UvReactorStartup, SaysWhenTheSystemRefusesALoop) {
    UvReactor reactor;
    ContractSink sink{reactor};
    // The first error of a type makes the sanitizer look at its table through a pipe, which must still be possible then.
    EXPECT_THROW(reactor.open_timer({}, {}), AsyncError);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_THROW(reactor.startup(sink), AsyncError);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(reactor.is_up());
    EXPECT_THROW(reactor.open_timer({}, {}), AsyncError);
    EXPECT_THROW(reactor.tick(TickMode::no_wait), AsyncError);
    reactor.startup(sink);
    EXPECT_TRUE(reactor.is_up());
}

}  // namespace
}  // namespace heddle::real
