// SPDX-License-Identifier: Apache-2.0
// What the reactor takes from libuv without looking (docs/spec/16-libuv-order.md), asked of the libuv that is
// installed: where a version keeps one of these no longer, this fails, and not a program in production.
//
//   test ── bare libuv: a loop, a pair of connected pipes ──▶ log of what was called, in order
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace heddle::real {
namespace {

class LibuvGuarantee : public ::testing::Test {
protected:
    LibuvGuarantee() {
        uv_loop_init(&loop);
        loop.data = this;
        int pair[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
        peer = pair[1];
        uv_pipe_init(&loop, &pipe, 0);
        uv_pipe_open(&pipe, pair[0]);
    }
    ~LibuvGuarantee() override {
        close_pipe();
        if (peer >= 0) { ::close(peer); }
        uv_run(&loop, UV_RUN_DEFAULT);
        EXPECT_EQ(uv_loop_close(&loop), 0);
    }

    static LibuvGuarantee& of(const uv_loop_t* at) { return *static_cast<LibuvGuarantee*>(at->data); }
    static void say(const uv_loop_t* at, const std::string& what) { of(at).log += what; }
    uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&pipe); }
    void close_pipe() {
        auto* const handle = reinterpret_cast<uv_handle_t*>(&pipe);
        if (uv_is_closing(handle) == 0) {
            uv_close(handle, [](uv_handle_t* at) { say(at->loop, " closed"); });
        }
    }
    /// @param size  of the buffer that reads are given
    void start_reading(std::size_t size) {
        read_size = size;
        uv_read_start(
            stream(),
            [](uv_handle_t* at, std::size_t, uv_buf_t* buffer) {
                LibuvGuarantee& self = of(at->loop);
                *buffer = uv_buf_init(self.read_size > 0 ? self.room : nullptr, static_cast<unsigned>(self.read_size));
            },
            [](uv_stream_t* at, ssize_t count, const uv_buf_t*) {
                say(at->loop, count == UV_EOF       ? " end"
                              : count == UV_ENOBUFS ? " nobufs"
                                                    : " read" + std::to_string(count));
            });
    }
    void write(uv_write_t& request, const std::string& text) {
        const uv_buf_t from = uv_buf_init(const_cast<char*>(text.data()), static_cast<unsigned>(text.size()));
        EXPECT_EQ(uv_write(&request, stream(), &from, 1,
                           [](uv_write_t* at, int status) {
                               say(at->handle->loop, status == 0              ? " written"
                                                     : status == UV_ECANCELED ? " canceled"
                                                                              : " failed");
                           }),
                  0);
    }
    void run(int rounds = 1) {
        for (int round = 0; round < rounds; ++round) { uv_run(&loop, UV_RUN_NOWAIT); }
    }

    uv_loop_t loop{};
    uv_pipe_t pipe{};
    int peer = -1;
    std::string log;
    std::size_t read_size = 0;
    char room[64] = {};
};

TEST_F(LibuvGuarantee, NoBufferLeavesTheDataAndTheWatchAlone) {  // what UvStream's S1 stands on
    start_reading(0);
    ASSERT_EQ(::send(peer, "abc", 3, 0), 3);
    run(2);
    EXPECT_EQ(log, " nobufs nobufs") << "level-triggered, and once per event";
    read_size = 2;
    run();
    EXPECT_EQ(log, " nobufs nobufs read2 read1");
}

TEST_F(LibuvGuarantee, EndIsToldOnce) {  // G17
    start_reading(8);
    ::shutdown(peer, SHUT_WR);
    run(3);
    EXPECT_EQ(log, " end");
}

TEST_F(LibuvGuarantee, WriteCallbackNeverComesFromInsideTheWrite) {  // G13
    uv_write_t requests[3];
    for (uv_write_t& request : requests) { write(request, "x"); }
    EXPECT_EQ(log, "");
    run(2);
    EXPECT_EQ(log, " written written written");
}

TEST_F(LibuvGuarantee, TryWriteTakesNothingWhileAWriteWaits) {  // what S3 stands on
    const std::string large(4 * 1024 * 1024, 'l');
    uv_write_t request;
    write(request, large);
    const uv_buf_t more = uv_buf_init(room, 1);
    EXPECT_EQ(uv_try_write(stream(), &more, 1), UV_EAGAIN);
    close_pipe();
    run(2);
    EXPECT_EQ(log, " canceled closed") << "G20: unfinished writes before the close";
}

TEST_F(LibuvGuarantee, ShutdownComesAfterTheWrites) {  // G16
    uv_write_t request;
    write(request, "x");
    uv_shutdown_t ending;
    EXPECT_EQ(uv_shutdown(&ending, stream(), [](uv_shutdown_t* at, int) { say(at->handle->loop, " shutdown"); }), 0);
    run(3);
    EXPECT_EQ(log, " written shutdown");
}

TEST_F(LibuvGuarantee, CloseEndsTheDescriptorAtOnceAndTellsLater) {  // G18
    close_pipe();
    char byte = 0;
    EXPECT_EQ(::recv(peer, &byte, 1, MSG_DONTWAIT), 0) << "the peer sees it before the callback";
    EXPECT_EQ(log, "");
    run();
    EXPECT_EQ(log, " closed");
}

TEST_F(LibuvGuarantee, ClosedStreamHearsNothingOfTheSameBatch) {  // G10
    start_reading(8);
    ASSERT_EQ(::send(peer, "abc", 3, 0), 3);
    close_pipe();
    run(2);
    EXPECT_EQ(log, " closed");
}

TEST_F(LibuvGuarantee, ConnectNeverAnswersAtOnce) {  // G15
    uv_pipe_t other;
    uv_pipe_init(&loop, &other, 0);
    uv_connect_t request;
    uv_pipe_connect(&request, &other, "/no/such/socket", [](uv_connect_t* at, int status) {
        say(at->handle->loop, status == UV_ENOENT ? " refused" : " connected");
    });
    EXPECT_EQ(log, "");
    run();
    EXPECT_EQ(log, " refused");
    uv_close(reinterpret_cast<uv_handle_t*>(&other), nullptr);
    run();
}

TEST_F(LibuvGuarantee, ConnectOfAClosedHandleEndsBeforeTheClose) {  // G20
    uv_tcp_t tcp;
    uv_tcp_init(&loop, &tcp);
    sockaddr_in address{};
    uv_ip4_addr("127.0.0.1", 1, &address);
    uv_connect_t request;
    ASSERT_EQ(uv_tcp_connect(&request, &tcp, reinterpret_cast<const sockaddr*>(&address),
                             [](uv_connect_t* at, int status) {
                                 say(at->handle->loop, status == UV_ECANCELED ? " canceled" : " other");
                             }),
              0);
    uv_close(reinterpret_cast<uv_handle_t*>(&tcp), [](uv_handle_t* at) { say(at->loop, " closed"); });
    run(2);
    EXPECT_EQ(log, " canceled closed");
}

TEST_F(LibuvGuarantee, LoopIsNotClosedBeforeItsHandles) {  // G27
    EXPECT_EQ(uv_loop_close(&loop), UV_EBUSY);
}

TEST_F(LibuvGuarantee, StoppedLoopPollsWithoutWaiting) {  // G8, G25
    uv_timer_t far;
    uv_timer_init(&loop, &far);
    uv_timer_start(
        &far, [](uv_timer_t*) {}, 3'600'000, 0);
    uv_stop(&loop);
    uv_run(&loop, UV_RUN_ONCE);  // would wait for an hour
    uv_close(reinterpret_cast<uv_handle_t*>(&far), nullptr);
    run();
}

TEST_F(LibuvGuarantee, ClockStandsStillOutsideItsUpdates) {  // G2
    const std::uint64_t before = uv_now(&loop);
    ::usleep(3'000);
    EXPECT_EQ(uv_now(&loop), before);
    uv_update_time(&loop);
    EXPECT_GE(uv_now(&loop), before + 3);
}

TEST_F(LibuvGuarantee, CancelTakesBackOnlyWhatNoWorkerHasBegun) {  // G23
    struct Gate {
        std::mutex mutex;
        std::condition_variable changed;
        int begun = 0;
        bool open = false;
    } gate;
    std::vector<uv_work_t> blockers(16);
    for (uv_work_t& blocker : blockers) {
        blocker.data = &gate;
        uv_queue_work(
            &loop, &blocker,
            [](uv_work_t* at) {
                auto& door = *static_cast<Gate*>(at->data);
                std::unique_lock<std::mutex> lock(door.mutex);
                ++door.begun;
                door.changed.notify_all();
                door.changed.wait(lock, [&] { return door.open; });
            },
            [](uv_work_t*, int) {});
    }
    {
        std::unique_lock<std::mutex> lock(gate.mutex);
        gate.changed.wait(lock, [&] { return gate.begun > 0; });
    }
    uv_fs_t request;
    uv_fs_stat(&loop, &request, "/",
               [](uv_fs_t* at) { say(at->loop, at->result == UV_ECANCELED ? " canceled" : " done"); });
    EXPECT_EQ(uv_cancel(reinterpret_cast<uv_req_t*>(&request)), 0) << "16 are before it, and the pool has 4 threads";
    EXPECT_EQ(log, "") << "the callback still comes";
    EXPECT_EQ(uv_cancel(reinterpret_cast<uv_req_t*>(&blockers[0])), UV_EBUSY);
    {
        const std::lock_guard<std::mutex> lock(gate.mutex);
        gate.open = true;
        gate.changed.notify_all();
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_EQ(log, " canceled");
    uv_fs_req_cleanup(&request);
}

}  // namespace
}  // namespace heddle::real
