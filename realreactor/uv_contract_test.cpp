// SPDX-License-Identifier: Apache-2.0
// The libuv backend keeps the contract of every reactor, on the operating system's own sockets, threads, signals and
// processes.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "heddle/core/seam/reactor_contract.hpp"
#include "heddle/realreactor/uv.hpp"

extern char** environ;

namespace heddle::contract {
namespace {

/// One worker, so that a single blocker holds the whole pool. Read by libuv at the first submission of the process.
[[maybe_unused]] const int one_worker = setenv("UV_THREADPOOL_SIZE", "1", 1);

class UvHarness final : public ReactorHarness {
public:
    ~UvHarness() override {
        release_workers();
        for (std::thread& thread : threads_) { thread.join(); }
        for (const auto& [fd, ends] : ends_) {
            if (is_open(fd)) { ::close(fd); }
            if (ends.peer >= 0) { ::close(ends.peer); }
        }
        for (const auto& [pid, input] : children_) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);  // a watched one was waited for already
            ::close(input);
        }
    }

    Reactor& reactor() override { return reactor_; }
    void pass_time(Duration by) override { std::this_thread::sleep_for(by); }

    int open_descriptor(bool stream) override {
        int pair[2];
        const int type = (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
        EXPECT_EQ(::socketpair(AF_UNIX, type, 0, pair), 0);
        ends_[pair[0]] = Ends{pair[1], inode_of(pair[0])};
        return pair[0];
    }
    void make_readable(int fd) override { EXPECT_EQ(::send(ends_.at(fd).peer, "x", 1, 0), 1); }
    void drain(int fd) override { read_all(fd); }
    void fill(int fd) override {
        char block[4096] = {};
        while (::send(fd, block, sizeof block, MSG_NOSIGNAL) > 0) {}
        EXPECT_EQ(errno, EAGAIN);
    }
    void make_writable(int fd) override { read_all(ends_.at(fd).peer); }
    void hang_up(int fd) override { ::close(std::exchange(ends_.at(fd).peer, -1)); }
    bool is_open(int fd) override { return inode_of(fd) == ends_.at(fd).inode; }

    void run_elsewhere(std::function<void()> body) override { threads_.emplace_back(std::move(body)); }

    void hold_workers() override {
        hold_ = std::make_shared<Hold>();
        reactor_.submit_task(
            [hold = hold_] {
                std::unique_lock<std::mutex> lock(hold->mutex);
                hold->begun = true;
                hold->changed.notify_all();
                hold->changed.wait(lock, [&] { return hold->released; });
            },
            {.hidden = true});
        std::unique_lock<std::mutex> lock(hold_->mutex);
        hold_->changed.wait(lock, [&] { return hold_->begun; });
    }
    void release_workers() override {
        if (hold_ == nullptr) { return; }
        const std::lock_guard<std::mutex> lock(hold_->mutex);
        hold_->released = true;
        hold_->changed.notify_all();
    }

    void raise_signal(int number) override { EXPECT_EQ(::raise(number), 0); }
    [[nodiscard]] int test_signal(int which) const override { return which == 0 ? SIGUSR1 : SIGUSR2; }

    int start_child() override {
        int pipe[2];
        EXPECT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, pipe[0], 0);
        char shell[] = "/bin/sh";
        char option[] = "-c";
        char script[] = "read code; exit $code";
        char* const arguments[] = {shell, option, script, nullptr};
        pid_t pid = 0;
        EXPECT_EQ(::posix_spawn(&pid, shell, &actions, nullptr, arguments, environ), 0);
        posix_spawn_file_actions_destroy(&actions);
        ::close(pipe[0]);
        children_[pid] = pipe[1];
        return pid;
    }
    void end_child(int pid, int code) override {
        if (code < 0) {
            EXPECT_EQ(::kill(pid, -code), 0);
        } else {
            const std::string line = std::to_string(code) + "\n";
            EXPECT_EQ(::write(children_.at(pid), line.data(), line.size()), static_cast<ssize_t>(line.size()));
        }
        siginfo_t info{};
        while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
    }
    int reaped_child() override {
        const int pid = start_child();
        end_child(pid, 0);
        EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
        return pid;
    }

private:
    struct Ends {
        int peer = -1;
        ino_t inode = 0;
    };
    struct Hold {
        std::mutex mutex;
        std::condition_variable changed;
        bool begun = false;
        bool released = false;
    };

    /// Tells an open descriptor from another that was given the same number; 0 for a closed one.
    static ino_t inode_of(int fd) {
        struct stat status {};
        return ::fstat(fd, &status) == 0 ? status.st_ino : 0;
    }
    static void read_all(int fd) {
        char block[4096];
        while (::recv(fd, block, sizeof block, MSG_DONTWAIT) > 0) {}
    }

    real::UvReactor reactor_;
    std::map<int, Ends> ends_;
    std::map<pid_t, int> children_;
    std::vector<std::thread> threads_;
    std::shared_ptr<Hold> hold_;
};

INSTANTIATE_TEST_SUITE_P(Uv, ReactorContract,
                         ::testing::Values(ReactorBackend{"libuv", [] { return std::make_unique<UvHarness>(); }}),
                         backend_name);

}  // namespace
}  // namespace heddle::contract
