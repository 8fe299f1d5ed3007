// SPDX-License-Identifier: Apache-2.0
// The reactor on a loop that the program has already: its ticks run the program's callbacks, and leave the loop as they
// found it.
#include <gtest/gtest.h>
#include <uv.h>

#include <atomic>
#include <thread>

#include "heddle/core/io/file.hpp"
#include "heddle/core/io/tcp.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/realreactor/uv.hpp"

namespace heddle::real {
namespace {

using namespace std::chrono_literals;

/// A program's loop with a timer that counts.
class AdoptedLoop : public ::testing::Test {
protected:
    AdoptedLoop() {
        uv_loop_init(&loop);
        loop.data = this;
        uv_timer_init(&loop, &timer);
        timer.data = this;
        uv_timer_start(
            &timer, [](uv_timer_t* at) { ++static_cast<AdoptedLoop*>(at->data)->rings; }, 1, 1);
    }
    ~AdoptedLoop() override {
        EXPECT_EQ(loop.data, this) << "the program's own";
        uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
        uv_run(&loop, UV_RUN_DEFAULT);
        EXPECT_EQ(uv_loop_close(&loop), 0) << "nothing of ours is left on it";
    }
    std::size_t handles() {
        std::size_t count = 0;
        uv_walk(
            &loop, [](uv_handle_t*, void* to) { ++*static_cast<std::size_t*>(to); }, &count);
        return count;
    }

    uv_loop_t loop{};
    uv_timer_t timer{};
    int rings = 0;
};

TEST_F(AdoptedLoop, RunsTheProgramsCallbacksBesideCoroutines) {
    UvReactor reactor({.loop = &loop});
    Runtime runtime(reactor);
    const int answer = runtime.run([this] {
        TcpListener listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
        const auto server = spawn([&] {
            TcpStream stream = listener.accept();
            char buffer[8];
            stream.write(std::string_view(buffer, stream.read(buffer, sizeof buffer)));
        });
        TcpStream client = TcpStream::connect(listener.info().local);
        const int before = rings;
        while (rings < before + 5) { sleep_for(1ms); }
        client.write("ping");
        char buffer[8];
        EXPECT_EQ(client.read(buffer, sizeof buffer), 4U);
        server.await();
        return 42;
    });
    EXPECT_EQ(answer, 42);
    reactor.shutdown();
    EXPECT_EQ(handles(), 1U);
    const int before = rings;
    while (rings == before) { uv_run(&loop, UV_RUN_ONCE); }
}

TEST_F(AdoptedLoop, ProgramsHandlesDoNotKeepARuntimeAlive) {
    UvReactor reactor({.loop = &loop});
    Runtime runtime(reactor);
    runtime.run([] {});
    runtime.run([] { sleep_for(2ms); });
}

TEST_F(AdoptedLoop, ServesReactorsOneAfterTheOther) {
    for (int round = 0; round < 3; ++round) {
        UvReactor reactor({.loop = &loop});
        Runtime runtime(reactor);
        runtime.run([] {
            TcpListener listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
            EXPECT_THROW(static_cast<void>(listener.accept({.timeout = 1ms})), TimeoutError);
            EXPECT_EQ(file_status("/").kind, FileKind::directory);
        });
    }
    EXPECT_EQ(handles(), 1U);
}

class Silent final : public ReactorSink {
public:
    void deliver(const Delivery&) noexcept override {}
    [[nodiscard]] bool has_ready_work() const noexcept override { return false; }
};

TEST_F(AdoptedLoop, ShutdownWaitsForBodiesThatHaveBegun) {
    Silent sink;
    std::atomic<bool> begun{false};
    std::atomic<bool> ended{false};
    {
        UvReactor reactor({.loop = &loop, .shutdown_wait = 1ms});
        reactor.startup(sink);
        reactor.submit_task(
            [&] {
                begun = true;
                std::this_thread::sleep_for(50ms);
                ended = true;
            },
            {});
        while (!begun) { std::this_thread::yield(); }
        reactor.shutdown();
        EXPECT_TRUE(ended);
    }
    EXPECT_EQ(handles(), 1U);
}

}  // namespace
}  // namespace heddle::real
