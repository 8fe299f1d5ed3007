// SPDX-License-Identifier: Apache-2.0
// The loop's own part of docs/spec/16-libuv-order.md, asked of the libuv that is installed: phases, timers, handles of the loop, triggers,
// signals, workers. Streams and the rest: uv_guarantees_test.cpp. What differs between versions (F19) is not asked.
//
//   test ── bare libuv: a loop ──▶ log of what was called, in order
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

namespace heddle::real {
namespace {

class LibuvLoop : public ::testing::Test {
protected:
    using Body = std::function<void()>;

    /// A handle that runs a body in its callback; closed at the end, unless the test did it.
    template <class T>
    struct Handle {
        T uv{};
        Body body{};
        LibuvLoop* test = nullptr;
        std::string name{};

        [[nodiscard]] uv_handle_t* base() { return reinterpret_cast<uv_handle_t*>(&uv); }
        static void call(T* at) {
            auto& self = *static_cast<Handle*>(at->data);
            self.test->log += " " + self.name;
            if (self.body) { self.body(); }
        }
        /// Says that it is closed, as " ~name".
        void close() {
            if (uv_is_closing(base()) != 0) { return; }
            uv_close(base(), [](uv_handle_t* at) {
                auto& closed = *static_cast<Handle*>(at->data);
                closed.test->log += " ~" + closed.name;
            });
        }
    };

    LibuvLoop() { uv_loop_init(&loop); }
    ~LibuvLoop() override {
        for (const Body& close : closers_) { close(); }
        uv_run(&loop, UV_RUN_DEFAULT);
        EXPECT_EQ(uv_loop_close(&loop), 0);
    }

    template <class T>
    Handle<T>& make(const std::string& name, Body body = {}) {
        auto handle = std::make_shared<Handle<T>>();
        handle->uv.data = handle.get();
        handle->test = this;
        handle->name = name;
        handle->body = std::move(body);
        closers_.push_back([handle] { handle->close(); });
        return *handle;
    }
    Handle<uv_timer_t>& timer(const std::string& name, std::uint64_t timeout, Body body = {}, std::uint64_t repeat = 0) {
        auto& handle = make<uv_timer_t>(name, std::move(body));
        uv_timer_init(&loop, &handle.uv);
        uv_timer_start(&handle.uv, Handle<uv_timer_t>::call, timeout, repeat);
        return handle;
    }
    Handle<uv_async_t>& trigger(const std::string& name, Body body = {}) {
        auto& handle = make<uv_async_t>(name, std::move(body));
        uv_async_init(&loop, &handle.uv, Handle<uv_async_t>::call);
        return handle;
    }
    /// Of the kinds idle, prepare and check.
    template <class T, class Init, class Start>
    Handle<T>& phase(const std::string& name, Init init, Start start, Body body = {}) {
        auto& handle = make<T>(name, std::move(body));
        init(&loop, &handle.uv);
        start(&handle.uv, Handle<T>::call);
        return handle;
    }
    Handle<uv_check_t>& check(const std::string& name, Body body = {}) {
        return phase<uv_check_t>(name, uv_check_init, uv_check_start, std::move(body));
    }
    Handle<uv_prepare_t>& prepare(const std::string& name, Body body = {}) {
        return phase<uv_prepare_t>(name, uv_prepare_init, uv_prepare_start, std::move(body));
    }
    void turn() { uv_run(&loop, UV_RUN_NOWAIT); }
    void wait(unsigned milliseconds) { ::usleep(milliseconds * 1000); }

    uv_loop_t loop{};

public:
    std::string log;  // callbacks are no members

private:
    std::list<Body> closers_;
};

TEST_F(LibuvLoop, GoesFromPrepareToPollToCheckToClose) {  // G1
    auto& bell = trigger("poll");
    auto& gone = timer("never", 1'000'000);
    prepare("prepare", [&] { gone.close(); });
    check("check");
    uv_async_send(&bell.uv);
    EXPECT_EQ(log, "") << "nothing is called outside of uv_run";
    turn();
    EXPECT_EQ(log, " prepare poll check ~never");
}

TEST_F(LibuvLoop, TimerNeverRunsBeforeItsTime) {  // G3
    std::uint64_t ran = 0;
    timer("timer", 20, [&] { ran = uv_now(&loop); });
    const std::uint64_t due = uv_now(&loop) + 20;
    uv_run(&loop, UV_RUN_DEFAULT);
    EXPECT_GE(ran, due);
}

TEST_F(LibuvLoop, TimersDueTogetherRunByDeadlineAndThenInTheOrderInWhichTheyWereStarted) {  // G4
    timer("c", 3);
    timer("a1", 1);
    auto& again = timer("a2", 1);
    timer("a3", 1);
    uv_timer_start(&again.uv, Handle<uv_timer_t>::call, 1, 0);
    wait(10);
    turn();
    EXPECT_EQ(log, " a1 a3 a2 c");
}

TEST_F(LibuvLoop, RepeatingTimerIsArmedAgainBeforeItsCallback) {  // G5
    std::uint64_t due_in = 0;
    auto& beat = timer("beat", 1, [] {}, 50);
    beat.body = [&] { due_in = uv_timer_get_due_in(&beat.uv); };
    wait(10);
    turn();
    EXPECT_EQ(log, " beat") << "what it missed is not made up for";
    EXPECT_EQ(due_in, 50U) << "from now on";
}

TEST_F(LibuvLoop, TimerThatAnEarlierOneStopsDoesNotRun) {  // G6
    Handle<uv_timer_t>* stopped = nullptr;
    Handle<uv_timer_t>* closed = nullptr;
    timer("first", 1, [&] {
        uv_timer_stop(&stopped->uv);
        closed->close();
    });
    stopped = &timer("stopped", 1);
    closed = &timer("closed", 1);
    wait(10);
    turn();
    EXPECT_EQ(log, " first ~closed");
}

TEST_F(LibuvLoop, HandlesOfAPhaseRunOnceTheLastStartedFirst) {  // G7
    check("c1");
    check("c2", [&] {
        if (log.find("late") == std::string::npos) { check("late"); }
    });
    auto& stopped = check("stopped");
    check("c4", [&] { uv_check_stop(&stopped.uv); });
    turn();
    EXPECT_EQ(log, " c4 c2 c1") << "what was stopped before its turn does not run, what began in the phase waits";
    log.clear();
    turn();
    EXPECT_EQ(log.substr(0, 5), " late");
}

TEST_F(LibuvLoop, SignalsComeBehindTheOtherEventsOfTheirPoll) {  // G9
    auto& bell = trigger("bell");
    auto& signal = make<uv_signal_t>("signal");
    uv_signal_init(&loop, &signal.uv);
    uv_signal_start(&signal.uv, [](uv_signal_t* at, int) { Handle<uv_signal_t>::call(at); }, SIGUSR1);
    ::raise(SIGUSR1);
    uv_async_send(&bell.uv);
    turn();
    EXPECT_EQ(log, " bell signal");
}

TEST_F(LibuvLoop, SignalIsToldOncePerHandleAndOneShotsLast) {  // G24
    auto& once = make<uv_signal_t>("once");
    auto& always = make<uv_signal_t>("always");
    for (auto* handle : {&once, &always}) { uv_signal_init(&loop, &handle->uv); }
    uv_signal_start_oneshot(&once.uv, [](uv_signal_t* at, int) { Handle<uv_signal_t>::call(at); }, SIGUSR1);
    uv_signal_start(&always.uv, [](uv_signal_t* at, int) { Handle<uv_signal_t>::call(at); }, SIGUSR1);
    ::raise(SIGUSR1);
    turn();
    EXPECT_EQ(log, " always once");
    ::raise(SIGUSR1);
    turn();
    EXPECT_EQ(log, " always once always");
}

TEST_F(LibuvLoop, ClosesAreToldInReverseAndThoseOfACloseInTheNextTurn) {  // G19
    auto& a = timer("a", 1'000'000);
    auto& b = timer("b", 1'000'000);
    auto& later = timer("later", 1'000'000);
    struct Chain {
        Handle<uv_timer_t>* a;
        Handle<uv_timer_t>* later;
    } chain{&a, &later};
    a.uv.data = &chain;
    uv_close(a.base(), [](uv_handle_t* at) {
        auto& all = *static_cast<Chain*>(at->data);
        all.a->test->log += " ~a";
        all.later->close();
    });
    b.close();
    EXPECT_EQ(log, "");
    turn();
    EXPECT_EQ(log, " ~b ~a");
    turn();
    EXPECT_EQ(log, " ~b ~a ~later");
}

TEST_F(LibuvLoop, TriggersRunInTheOrderOfTheirMakingAtMostOncePerSend) {  // G21
    auto& first = trigger("first");
    auto& second = trigger("second");
    uv_async_send(&second.uv);
    uv_async_send(&second.uv);
    uv_async_send(&first.uv);
    turn();
    EXPECT_EQ(log, " first second");
    turn();
    EXPECT_EQ(log, " first second") << "no callback without a send";
    first.body = [&] {
        if (log.size() < 40) { uv_async_send(&first.uv); }
    };
    uv_async_send(&first.uv);
    while (log.size() < 40) { turn(); }
    EXPECT_EQ(log.substr(0, 26), " first second first first ") << "a send from inside gives another one";
}

TEST_F(LibuvLoop, CompletionsOfWorkersComeBeforeTriggersOfTheSameWakeUp) {  // G21, G22
    auto& bell = trigger("bell");
    std::atomic<int> done{0};
    struct Work {
        uv_work_t request{};
        LibuvLoop* test = nullptr;
        std::atomic<int>* done = nullptr;
    } work;
    work.test = this;
    work.done = &done;
    work.request.data = &work;
    uv_queue_work(
        &loop, &work.request, [](uv_work_t* at) { ++*static_cast<Work*>(at->data)->done; },
        [](uv_work_t* at, int status) {
            auto& own = *static_cast<Work*>(at->data);
            own.test->log += status == 0 ? " work" : " failed";
        });
    while (done.load() == 0) { wait(1); }
    wait(5);  // the worker tells the loop behind its work
    uv_async_send(&bell.uv);
    EXPECT_EQ(log, "") << "callbacks come on the loop's thread, in a turn of it";
    turn();
    EXPECT_EQ(log, " work bell");
}

TEST_F(LibuvLoop, RunsOnWhileSomethingCountsAndSaysSo) {  // G26
    EXPECT_EQ(uv_run(&loop, UV_RUN_NOWAIT), 0);
    auto& pending = timer("pending", 1'000'000);
    EXPECT_NE(uv_run(&loop, UV_RUN_NOWAIT), 0);
    uv_unref(pending.base());
    EXPECT_EQ(uv_run(&loop, UV_RUN_NOWAIT), 0) << "what is not referenced does not count";
    uv_ref(pending.base());
    pending.close();
    EXPECT_NE(uv_loop_alive(&loop), 0) << "a handle that closes counts";
    EXPECT_EQ(uv_run(&loop, UV_RUN_DEFAULT), 0);
    EXPECT_EQ(log, " ~pending");
}

// ── streams that need a loop of their own ──

TEST_F(LibuvLoop, WritesThatWereQueuedBeforeTheConnectGoBehindItInOrder) {  // G14
    uv_tcp_t server;
    uv_tcp_init(&loop, &server);
    sockaddr_in address{};
    uv_ip4_addr("127.0.0.1", 0, &address);
    ASSERT_EQ(uv_tcp_bind(&server, reinterpret_cast<const sockaddr*>(&address), 0), 0);
    ASSERT_EQ(uv_listen(reinterpret_cast<uv_stream_t*>(&server), 1, [](uv_stream_t*, int) {}), 0);
    int size = sizeof address;
    uv_tcp_getsockname(&server, reinterpret_cast<sockaddr*>(&address), &size);
    uv_tcp_t client;
    uv_tcp_init(&loop, &client);
    client.data = this;
    uv_connect_t connect;
    ASSERT_EQ(uv_tcp_connect(&connect, &client, reinterpret_cast<const sockaddr*>(&address),
                             [](uv_connect_t* at, int) { static_cast<LibuvLoop*>(at->handle->data)->log += " connected"; }),
              0);
    uv_write_t writes[2];
    char text[] = "x";
    const uv_buf_t buffer = uv_buf_init(text, 1);
    for (uv_write_t& request : writes) {
        ASSERT_EQ(uv_write(&request, reinterpret_cast<uv_stream_t*>(&client), &buffer, 1,
                           [](uv_write_t* at, int status) {
                               static_cast<LibuvLoop*>(at->handle->data)->log += status == 0 ? " written" : " failed";
                           }),
                  0);
    }
    EXPECT_EQ(log, "");
    for (int round = 0; round < 50 && log.size() < 26; ++round) {
        wait(1);
        turn();
    }
    EXPECT_EQ(log, " connected written written");
    uv_close(reinterpret_cast<uv_handle_t*>(&client), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&server), nullptr);
    uv_run(&loop, UV_RUN_DEFAULT);
}

TEST_F(LibuvLoop, StreamGivesWayToOthersAfterSomeReads) {  // G12
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    struct Reader {
        uv_pipe_t pipe{};
        int reads = 0;
        char byte = 0;
    } reader;
    uv_pipe_init(&loop, &reader.pipe, 0);
    uv_pipe_open(&reader.pipe, pair[0]);
    reader.pipe.data = &reader;
    const std::string many(1000, 'x');
    ASSERT_EQ(::write(pair[1], many.data(), many.size()), 1000);
    uv_read_start(
        reinterpret_cast<uv_stream_t*>(&reader.pipe),
        [](uv_handle_t* at, std::size_t, uv_buf_t* buffer) { *buffer = uv_buf_init(&static_cast<Reader*>(at->data)->byte, 1); },
        [](uv_stream_t* at, ssize_t, const uv_buf_t*) { ++static_cast<Reader*>(at->data)->reads; });
    turn();
    EXPECT_GE(reader.reads, 1);
    EXPECT_LE(reader.reads, 64) << "the rest waits for the next poll";
    while (reader.reads < 1000) { turn(); }
    uv_close(reinterpret_cast<uv_handle_t*>(&reader.pipe), nullptr);
    uv_run(&loop, UV_RUN_DEFAULT);
    ::close(pair[1]);
}

}  // namespace
}  // namespace heddle::real
