// SPDX-License-Identifier: Apache-2.0
// Channels and futures between threads that have runtimes of their own, and jobs that have none (docs/spec/15-threads.md, 15.3 and 15.4).
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/bridge/remote_future.hpp"
#include "heddle/core/bridge/thread_channel.hpp"
#include "heddle/core/bridge/work_pool.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/realreactor/uv.hpp"

namespace heddle::real {
namespace {

using namespace std::chrono_literals;

template <class F>
void in_runtime(F&& body) {
    UvReactor reactor;
    Runtime runtime{reactor};
    runtime.run(std::forward<F>(body));
}

/// A thread with a runtime of its own.
template <class F>
std::thread runtime_thread(F body) {
    return std::thread([body = std::move(body)]() mutable { in_runtime([&] { body(); }); });
}

// ── channels ──

TEST(ThreadChannel, CarriesValuesInOrderBetweenRuntimes) {  // INV-THR-09
    in_runtime([] {
        ThreadChannel<std::string> there{{.capacity = 2}};
        ThreadChannel<std::string> back{{.capacity = 1}};
        std::thread peer = runtime_thread([there, back]() mutable {
            try {
                for (;;) { back.send(there.receive() + "!"); }
            } catch (const ThreadChannelClosed&) {
                back.close();
            }
        });
        auto sender = spawn("sender", [&] {
            for (int i = 0; i < 200; ++i) { there.send(std::to_string(i)); }
            there.close();
        });
        for (int i = 0; i < 200; ++i) { EXPECT_EQ(back.receive(), std::to_string(i) + "!"); }
        EXPECT_THROW(static_cast<void>(back.receive()), ThreadChannelClosed);
        sender.await();
        peer.join();
    });
}

TEST(ThreadChannel, DeliversEachValueOnceToManyReceivers) {  // TCH-03, TCH-07
    in_runtime([] {
        constexpr int threads = 3;
        constexpr int each = 150;
        ThreadChannel<int> numbers{{.capacity = 3}};
        std::atomic<int> sum{0};
        std::atomic<int> count{0};
        std::vector<std::thread> peers;
        for (int t = 0; t < threads; ++t) {
            peers.push_back(runtime_thread([numbers, &sum, &count]() mutable {
                const auto consume = [&] {
                    try {
                        for (;;) {
                            sum += numbers.receive();
                            ++count;
                        }
                    } catch (const ThreadChannelClosed&) {
                        return;
                    }
                };
                auto a = spawn("a", consume);
                auto b = spawn("b", consume);
                await_all(a, b);
            }));
        }
        for (int i = 1; i <= threads * each; ++i) { numbers.send(i); }
        numbers.close();
        for (std::thread& peer : peers) { peer.join(); }
        EXPECT_EQ(count, threads * each);
        EXPECT_EQ(sum, threads * each * (threads * each + 1) / 2);
        EXPECT_EQ(numbers.waiting(), 0U);
    });
}

TEST(ThreadChannel, ServesJobsThatHaveNoRuntime) {
    in_runtime([] {
        ThreadChannel<int> results{{.capacity = 4}};
        WorkPool pool{{.workers = 2}};
        const auto job = pool.submit([results]() mutable {
            for (int i = 0; i < 50; ++i) {
                while (!results.try_send(i)) { std::this_thread::yield(); }
            }
            results.close();
            EXPECT_THROW(results.send(1), AsyncError) << "there is no coroutine to park";
        });
        int sum = 0;
        try {
            for (;;) { sum += results.receive(); }
        } catch (const ThreadChannelClosed&) {
            EXPECT_EQ(sum, 49 * 50 / 2);
        }
        job.await();
    });
}

TEST(ThreadChannel, EndsAWaitByATokenAndLeavesNothingBehind) {
    in_runtime([] {
        ThreadChannel<int> channel;
        EXPECT_THROW(static_cast<void>(channel.receive(Timeout(2ms))), OperationCanceled);
        EXPECT_EQ(channel.waiting(), 0U);
        channel.send(1);
        EXPECT_THROW(channel.send(2, Timeout(2ms)), OperationCanceled);
        EXPECT_EQ(channel.size(), 1U);
        auto cancelled = spawn("cancelled", [&] { channel.send(3); });
        yield();
        EXPECT_EQ(channel.waiting(), 1U);
        cancelled.cancel();
        EXPECT_THROW(cancelled.await(), Cancellation);
        EXPECT_EQ(channel.waiting(), 0U);
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_EQ(channel.try_receive(), std::nullopt);
    });
}

TEST(ThreadChannel, DrainsBehindACloseAndThenFails) {  // TCH-05
    in_runtime([] {
        ThreadChannel<int> channel{{.capacity = 2}};
        EXPECT_TRUE(channel.try_send(1));
        EXPECT_TRUE(channel.try_send(2));
        const int third = 3;
        EXPECT_FALSE(channel.try_send(third));
        channel.close();
        channel.close();
        EXPECT_THROW(static_cast<void>(channel.try_send(third)), ThreadChannelClosed);
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_EQ(channel.try_receive(), 2);
        EXPECT_THROW(static_cast<void>(channel.try_receive()), ThreadChannelClosed);
        EXPECT_THROW(static_cast<void>(channel.receive()), ThreadChannelClosed);
        EXPECT_THROW(ThreadChannel<int>({.capacity = 0}), ValueError);
    });
    EXPECT_THROW(ThreadChannel<int>(), AsyncError);
}

TEST(ThreadChannel, LeavesTheBufferAsItWasWhenAValueCannotBeMoved) {  // TCH-01
    struct Fragile {
        Fragile() = default;
        Fragile(const Fragile&) = delete;
        Fragile(Fragile&& other) : breaks(other.breaks) {
            if (breaks) { throw std::runtime_error("it does not cross"); }
        }
        bool breaks = false;
    };
    in_runtime([] {
        ThreadChannel<Fragile> channel{{.capacity = 2}};
        Fragile value;
        value.breaks = true;
        EXPECT_THROW(static_cast<void>(channel.try_send(std::move(value))), std::runtime_error);
        EXPECT_EQ(channel.size(), 0U);
        EXPECT_TRUE(channel.try_send(Fragile{}));
        EXPECT_FALSE(channel.receive().breaks);
    });
}

TEST(ThreadChannel, ClosesWithTheRuntimeThatMadeIt) {  // TCH-06
    std::promise<ThreadChannel<int>> made;
    std::atomic<bool> waits{false};
    std::thread owner = runtime_thread([&] {
        ThreadChannel<int> channel;
        made.set_value(channel);
        while (channel.waiting() == 0) { sleep_for(1ms); }
    });
    in_runtime([&] {
        ThreadChannel<int> channel = made.get_future().get();
        EXPECT_THROW(static_cast<void>(channel.receive()), ThreadChannelClosed);
    });
    owner.join();
    EXPECT_FALSE(waits);
}

// ── remote futures ──

TEST(RemoteFuture, IsSettledFromAnotherThread) {  // RFU-02, RFU-03
    in_runtime([] {
        FutureState<std::string> state;
        const auto future = state.future();
        const auto shouted = future.map([](const std::string& text) { return text + "!"; });
        std::thread peer([remote = move_to_thread(state)]() mutable {
            remote.complete("done");
            EXPECT_THROW(remote.complete("again"), AsyncError);
            EXPECT_THROW(remote.error(ErrorValue::make<AsyncError>("again")), AsyncError);
        });
        EXPECT_EQ(shouted.await(), "done!");
        EXPECT_EQ(future.await(), "done");
        peer.join();
        FutureState<> empty;
        const auto failed = empty.future();
        std::thread other([remote = move_to_thread(empty)]() mutable { remote.error(ErrorValue::make<IoError>("disk", 5)); });
        EXPECT_THROW(failed.await(), IoError);
        other.join();
    });
}

TEST(RemoteFuture, IsMovedOnceAndSettledThereAlone) {  // RFU-01, INV-THR-10
    in_runtime([] {
        FutureState<int> state;
        const auto copy = state;
        const auto future = state.future();
        {
            RemoteState<int> remote = move_to_thread(state);
            EXPECT_THROW(state.complete(1), AsyncError);
            EXPECT_THROW(static_cast<void>(copy.try_error(ErrorValue::make<AsyncError>("no"))), AsyncError);
            EXPECT_THROW(static_cast<void>(move_to_thread(copy)), AsyncError);
            EXPECT_FALSE(future.is_completed());
            remote.complete(5);
        }
        EXPECT_EQ(future.await(), 5);
        FutureState<int> settled;
        settled.complete(1);
        EXPECT_THROW(static_cast<void>(move_to_thread(settled)), AsyncError);
        EXPECT_EQ(settled.future().await(), 1);
    });
}

TEST(RemoteFuture, BreaksThePromiseOfAnEndThatGoes) {  // RFU-04
    in_runtime([] {
        FutureState<int> state;
        const auto future = state.future();
        std::thread([remote = move_to_thread(state)] {}).join();
        EXPECT_THROW(future.await(), BrokenPromise);
    });
}

TEST(RemoteFuture, TellsNobodyWhenTheSourceHasGone) {  // RFU-05
    std::optional<RemoteState<int>> beyond;
    in_runtime([&] {
        std::optional<RemoteState<int>> remote;
        {
            FutureState<int> state;
            state.future().ignore();
            remote = move_to_thread(state);
        }
        remote->complete(1);
        FutureState<int> kept;
        beyond = move_to_thread(kept);
    });
    beyond->complete(2);
}

TEST(RemoteFuture, AsksTheOtherEndToStopWhenItIsCancelled) {  // RFU-06
    in_runtime([] {
        FutureState<int> state;
        const auto future = state.future();
        std::atomic<bool> stopped{false};
        std::thread peer([remote = move_to_thread(state), &stopped]() mutable {
            while (!remote.stop().requested()) { std::this_thread::yield(); }
            stopped = true;
            remote.complete(1);
        });
        EXPECT_TRUE(future.cancel());
        EXPECT_THROW(future.await(), Cancellation);
        peer.join();
        EXPECT_TRUE(stopped);
        sleep_for(1ms);
        EXPECT_TRUE(future.is_cancelled());
    });
}

TEST(RemoteFuture, SettlesManyInTheOrderOfTheirPosts) {  // THR-18, THR-19
    in_runtime([] {
        std::vector<Future<int>> futures;
        std::vector<RemoteState<int>> remotes;
        for (int i = 0; i < 100; ++i) {
            FutureState<int> state;
            futures.push_back(state.future());
            remotes.push_back(move_to_thread(state));
        }
        std::thread peer([remotes = std::move(remotes)]() mutable {
            for (int i = 0; i < 100; ++i) { remotes[static_cast<std::size_t>(i)].complete(i); }
        });
        for (int i = 0; i < 100; ++i) { EXPECT_EQ(futures[static_cast<std::size_t>(i)].await(), i); }
        peer.join();
    });
}

}  // namespace
}  // namespace heddle::real
