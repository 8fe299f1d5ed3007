// SPDX-License-Identifier: Apache-2.0
// What the libuv backend does beyond the contract of every reactor: libuv's own guarantees that it stands on
// (docs/spec/16-libuv-order.md, G and F numbers), the operating system's corners, and threads.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "heddle/core/base/error.hpp"
#include "heddle/core/seam/contract/harness.hpp"
#include "heddle/realreactor/detail/uv_abandoned.hpp"
#include "heddle/realreactor/detail/uv_source.hpp"
#include "heddle/realreactor/uv.hpp"

extern char** environ;

namespace heddle::real {
namespace {

using contract::ContractSink;
using contract::Probe;
using contract::Seen;
using namespace std::chrono_literals;

/// A gate between a test and a worker: the worker says that it has begun, and goes on when it may.
class Gate {
public:
    void pass() {
        std::unique_lock<std::mutex> lock(mutex_);
        begun_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
        passed_ = true;
        changed_.notify_all();
    }
    void wait_until_begun() {
        wait([this] { return begun_; });
    }
    void wait_until_passed() {
        wait([this] { return passed_; });
    }
    void open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    template <class Holds>
    void wait(Holds holds) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, holds);
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool begun_ = false;
    bool open_ = false;
    bool passed_ = false;
};

struct Pipe {
    Pipe() {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        read = ends[0];
        write = ends[1];
    }
    ~Pipe() {
        close_read();
        if (write >= 0) { ::close(write); }
    }
    void close_read() {
        if (read >= 0) { ::close(std::exchange(read, -1)); }
    }
    int read = -1;
    int write = -1;
};

/// A reactor, its sink, and the tick that both agree about.
class UvReactorTest : public ::testing::Test {
protected:
    UvReactorTest() { reactor.startup(sink); }
    ~UvReactorTest() override { shut_down(); }

    void shut_down() {
        sink.in_tick = true;  // close completions come while it shuts down
        reactor.shutdown();
        sink.in_tick = false;
    }

    bool tick(TickMode mode = TickMode::may_block) {
        ++sink.ticks;
        sink.in_tick = true;
        const bool alive = reactor.tick(mode);
        sink.in_tick = false;
        return alive;
    }
    void run_until_count(const Probe& probe, std::size_t count) {
        for (int round = 0; round < 100'000 && probe.count() < count; ++round) { tick(); }
        ASSERT_GE(probe.count(), count);
    }
    SourceId start(SourceId id) {
        sink.in_start = true;
        reactor.start(id);
        sink.in_start = false;
        return id;
    }
    SourceId started_proxy(Probe& probe, int fd, PollMask mask) {
        return start(reactor.open_proxy(reactor.open_poll(fd, false, {}), mask, {.owner = &probe}));
    }
    SourceId started_trigger(Probe& probe) { return start(reactor.open_trigger({.owner = &probe})); }

    Pipe pipe;  // outlives the reactor that polls it (RCT-38)
    UvReactor reactor;
    ContractSink sink{reactor};
};

/// A child that ends with this code at once; it has ended when this returns.
pid_t ended_child(int code) {
    char shell[] = "/bin/sh";
    char option[] = "-c";
    char script[32];
    std::snprintf(script, sizeof script, "exit %d", code);
    char* const arguments[] = {shell, option, script, nullptr};
    pid_t pid = 0;
    EXPECT_EQ(::posix_spawn(&pid, shell, nullptr, nullptr, arguments, environ), 0);
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    return pid;
}

bool is_caught(int number) {
    struct sigaction action {};
    EXPECT_EQ(::sigaction(number, nullptr, &action), 0);
    return action.sa_handler != SIG_DFL;
}

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

// ── signals and processes ──

TEST_F(UvReactorTest, SignalHandlerIsThereWhileSomebodyListens) {  // RCT-52
    Probe probe;
    EXPECT_FALSE(is_caught(SIGUSR1));
    const SourceId one = reactor.open_signal(SIGUSR1, {.owner = &probe});
    const SourceId two = reactor.open_signal(SIGUSR1, {.owner = &probe});
    EXPECT_FALSE(is_caught(SIGUSR1));
    start(one);
    start(two);
    EXPECT_TRUE(is_caught(SIGUSR1));
    reactor.stop(one);
    EXPECT_TRUE(is_caught(SIGUSR1));
    reactor.close(two);
    EXPECT_FALSE(is_caught(SIGUSR1));
    start(one);
    EXPECT_TRUE(is_caught(SIGUSR1));
}

TEST_F(UvReactorTest, RefusesSignalsThatCannotBeCaught) {  // RCT-51
    Probe probe;
    const SourceId id = reactor.open_signal(SIGKILL, {.owner = &probe});
    EXPECT_THROW(reactor.start(id), AsyncError);
    EXPECT_EQ(reactor.active_events(), 0U);
    reactor.stop(id);
    reactor.close(id);
    EXPECT_EQ(reactor.active_events(), 0U);
}

TEST_F(UvReactorTest, ListensForChildrenOnlyWhileOneIsWatched) {  // RCT-53
    Probe probe;
    EXPECT_FALSE(is_caught(SIGCHLD));
    start(reactor.open_process(ended_child(4), {.owner = &probe}));
    ASSERT_EQ(probe.count(), 1U);
    EXPECT_EQ(probe.seen[0].value, 4);
    EXPECT_FALSE(is_caught(SIGCHLD));
    const SourceId self = start(reactor.open_process(::getpid(), {.owner = &probe}));
    EXPECT_EQ(probe.count(), 2U) << "not a child of ours";
    EXPECT_EQ(probe.seen[1].value, -1);
    EXPECT_EQ(probe.seen[1].source, self);
    EXPECT_FALSE(is_caught(SIGCHLD));
}

TEST_F(UvReactorTest, LeavesTheProgramsOtherChildrenAlone) {  // RCT-53
    Probe probe;
    Probe chld;
    const Pipe input;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.read, 0);
    char shell[] = "/bin/sh";
    char option[] = "-c";
    char script[] = "read line; exit 9";
    char* const arguments[] = {shell, option, script, nullptr};
    pid_t watched = 0;
    ASSERT_EQ(::posix_spawn(&watched, shell, &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    start(reactor.open_process(watched, {.owner = &probe}));
    start(reactor.open_signal(SIGCHLD, {.owner = &chld, .hidden = true}));

    const pid_t other = ended_child(8);
    run_until_count(chld, 1);  // the program may listen to the same signal
    EXPECT_EQ(probe.count(), 0U);
    int status = 0;
    EXPECT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(WEXITSTATUS(status), 8);

    ASSERT_EQ(::write(input.write, "\n", 1), 1);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].value, 9);
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
    table.at(slot).generation = std::numeric_limits<std::uint32_t>::max();
    table.close(slot);
    EXPECT_NE(detail::SourceTable::slot_of(table.open(SourceKind::timer, {})), slot);
}

}  // namespace
}  // namespace heddle::real
