// SPDX-License-Identifier: Apache-2.0
// What the tests of the libuv backend have at hand: a reactor with its sink, a pipe, a gate for workers, children.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "heddle/core/seam/contract/harness.hpp"
#include "heddle/realreactor/uv.hpp"

extern char** environ;

namespace heddle::real::testing {

using contract::ContractSink;
using contract::Probe;

/// A new folder where tests may write; the caller removes it.
inline std::string new_folder() {
    std::string name = ::testing::TempDir() + "heddle.XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr) << name;
    return name;
}

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
inline pid_t ended_child(int code) {
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

/// Descriptors of this process, as the system lists them; the one that the list itself needs is not counted.
inline std::size_t open_descriptors() {
    std::size_t count = 0;
    DIR* const list = ::opendir("/proc/self/fd");
    while (const dirent* const entry = ::readdir(list)) { count += entry->d_name[0] != '.' ? 1 : 0; }
    ::closedir(list);
    return count - 1;
}

inline bool is_caught(int number) {
    struct sigaction action {};
    EXPECT_EQ(::sigaction(number, nullptr, &action), 0);
    return action.sa_handler != SIG_DFL;
}

}  // namespace heddle::real::testing
