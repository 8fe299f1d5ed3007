// SPDX-License-Identifier: Apache-2.0
// Work pools on real threads, rule by rule (docs/spec/15-threads.md). A test waits for what has happened, never for time.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/bridge/work_pool.hpp"
#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/realreactor/uv.hpp"
#include "heddle/realreactor/uv_workers.hpp"

namespace heddle::real {
namespace {

using namespace std::chrono_literals;

/// A job stands in it until the test opens it; the test knows how many have come.
class Gate {
public:
    void pass() {
        std::unique_lock<std::mutex> lock(mutex_);
        ++inside_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }
    void wait_for(int count) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this, count] { return inside_ >= count; });
    }
    void open() {
        const std::lock_guard<std::mutex> lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int inside_ = 0;
    bool open_ = false;
};

/// Captures that say when they have gone.
struct Witness {
    explicit Witness(std::shared_ptr<std::atomic<int>> alive) : count(std::move(alive)) { ++*count; }
    Witness(const Witness& other) : count(other.count) { ++*count; }
    Witness& operator=(const Witness&) = delete;
    ~Witness() { --*count; }
    std::shared_ptr<std::atomic<int>> count;
};

class WorkPoolTest : public ::testing::Test {
protected:
    template <class F>
    void run(F&& body) {
        UvReactor reactor;
        RuntimeOptions options;
        options.on_diagnostic = [this](const Diagnostic& said) { diagnostics.push_back(said.text); };
        Runtime runtime{reactor, options};
        runtime.run(std::forward<F>(body));
    }
    /// Until `holds`, letting the loop turn.
    template <class F>
    static void until(F&& holds) {
        while (!holds()) { sleep_for(1ms); }
    }
    std::vector<std::string> diagnostics;
};

// ── submitting and outcomes ──

TEST_F(WorkPoolTest, RunsAJobOnAnotherThreadAndHandsItsResultBack) {  // THR-02
    run([] {
        WorkPool pool{{.workers = 1}};
        const auto here = std::this_thread::get_id();
        const auto there = pool.submit([] { return std::this_thread::get_id(); }).await();
        EXPECT_NE(here, there);
        EXPECT_EQ(pool.submit([text = std::make_unique<std::string>("moved")] { return *text; }).await(), "moved");
        std::atomic<bool> ran{false};
        pool.submit([&ran] { ran = true; }).await();
        EXPECT_TRUE(ran);
    });
}

TEST_F(WorkPoolTest, RejectsWithWhatTheJobThrewAndKeepsItsWorker) {  // THR-06
    run([] {
        WorkPool pool{{.workers = 1}};
        const auto failed = pool.submit([]() -> int { throw std::runtime_error("no luck"); });
        EXPECT_THROW(failed.await(), std::runtime_error);
        EXPECT_EQ(pool.submit([] { return 5; }).await(), 5);
        EXPECT_EQ(pool.statistics().workers, 1U);
        EXPECT_EQ(pool.statistics().completed, 2U);
    });
}

TEST_F(WorkPoolTest, OffersAJobNoRuntime) {  // THR-02
    run([] {
        WorkPool pool{{.workers = 1}};
        EXPECT_THROW(pool.submit([] { spawn([] {}); }).await(), AsyncError);
        EXPECT_THROW(pool.submit([] { FutureState<int> state; }).await(), AsyncError);
    });
}

TEST_F(WorkPoolTest, TakesJobsInTheOrderOfTheirSubmission) {  // THR-05
    run([] {
        WorkPool pool{{.workers = 1, .queue = 16}};
        std::mutex mutex;
        std::vector<int> order;
        std::vector<Future<>> futures;
        for (int i = 0; i < 16; ++i) {
            futures.push_back(pool.submit([&, i] {
                const std::lock_guard<std::mutex> lock(mutex);
                order.push_back(i);
            }));
        }
        for (const auto& future : futures) { future.await(); }
        std::vector<int> expected(16);
        std::iota(expected.begin(), expected.end(), 0);
        EXPECT_EQ(order, expected);
    });
}

TEST_F(WorkPoolTest, RefusesNegativeNumbersAndPlacesOutsideARun) {  // THR-01
    run([] {
        EXPECT_THROW(WorkPool({.workers = -1}), ValueError);
        EXPECT_THROW(WorkPool({.queue = -2}), ValueError);
        const WorkPool pool;
        EXPECT_EQ(pool.workers(), UvWorkers::parallelism());
        EXPECT_EQ(pool.queue_size(), 4 * pool.workers());
    });
    EXPECT_THROW(WorkPool(), AsyncError);
    UvReactor reactor;
    Runtime runtime{reactor};
    EXPECT_THROW(WorkPool(runtime, {}), AsyncError);
}

// ── the bounded queue ──

TEST_F(WorkPoolTest, ParksTheSubmitterOfAFullQueueAndServesInOrderOfArrival) {  // THR-03, example 1
    run([] {
        Gate first;
        Gate rest;
        WorkPool pool{{.workers = 1, .queue = 1}};
        const auto j1 = pool.submit([&] { first.pass(); });
        first.wait_for(1);
        const auto j2 = pool.submit([&] { rest.pass(); });
        EXPECT_FALSE(pool.try_submit([] {}).has_value());
        std::vector<std::string> accepted;
        const auto submitter = [&](const char* name) {
            pool.submit([] {}).await();
            accepted.emplace_back(name);
        };
        auto a = spawn("a", [&] { submitter("a"); });
        auto b = spawn("b", [&] { submitter("b"); });
        until([&] { return pool.waiting() == 2; });
        first.open();
        until([&] { return pool.waiting() == 1; });
        EXPECT_FALSE(pool.try_submit([] {}).has_value()) << "nobody overtakes who waits";
        rest.open();
        await_all(a, b);
        EXPECT_EQ(accepted, (std::vector<std::string>{"a", "b"}));
    });
}

TEST_F(WorkPoolTest, LeavesNothingOfASubmissionThatWasCancelledInTheQueue) {  // THR-04
    run([] {
        Gate gate;
        const auto alive = std::make_shared<std::atomic<int>>(0);
        std::atomic<int> ran{0};
        WorkPool pool{{.workers = 1, .queue = 1}};
        const auto j1 = pool.submit([&] { gate.pass(); });
        gate.wait_for(1);
        const auto j2 = pool.submit([] {});
        auto late = spawn("late", [&] { pool.submit([&ran, witness = Witness(alive)] { ++ran; }).await(); });
        until([&] { return pool.waiting() == 1; });
        late.cancel();
        EXPECT_THROW(late.await(), Cancellation);
        EXPECT_EQ(*alive, 0);
        EXPECT_EQ(pool.waiting(), 0U);
        gate.open();
        j2.await();
        EXPECT_EQ(ran, 0);
        EXPECT_EQ(pool.statistics().completed, 2U);
    });
}

TEST_F(WorkPoolTest, EndsAWaitForAPlaceByAToken) {
    run([] {
        Gate gate;
        WorkPool pool{{.workers = 1, .queue = 1}};
        const auto j1 = pool.submit([&] { gate.pass(); });
        gate.wait_for(1);
        const auto j2 = pool.submit([] {});
        EXPECT_THROW(pool.submit([] {}, Timeout(2ms)), OperationCanceled);
        gate.open();
        j1.await();
        j2.await();
    });
}

// ── counters ──

TEST_F(WorkPoolTest, CountsBeforeAnybodySeesTheOutcome) {  // THR-07
    run([] {
        Gate gate;
        WorkPool pool{{.workers = 1, .queue = 4}};
        const auto j1 = pool.submit([&] { gate.pass(); });
        gate.wait_for(1);
        const auto j2 = pool.submit([] {});
        const WorkStatistics before = pool.statistics();
        EXPECT_EQ(before.pending, 1U);
        EXPECT_EQ(before.running, 1U);
        EXPECT_EQ(before.completed, 0U);
        gate.open();
        j2.await();
        const WorkStatistics behind = pool.statistics();
        EXPECT_EQ(behind.pending, 0U);
        EXPECT_EQ(behind.running, 0U);
        EXPECT_EQ(behind.completed, 2U);
        j1.await();
    });
}

// ── cancelling one job ──

TEST_F(WorkPoolTest, SkipsAJobWhoseFutureWasCancelledWhileItWasQueued) {  // example 2
    run([] {
        Gate gate;
        const auto alive = std::make_shared<std::atomic<int>>(0);
        std::atomic<int> ran{0};
        WorkPool pool{{.workers = 1, .queue = 4}};
        const auto j1 = pool.submit([&] { gate.pass(); });
        gate.wait_for(1);
        const auto j2 = pool.submit([&ran, witness = Witness(alive)] { ++ran; });
        j2.cancel();
        EXPECT_TRUE(j2.is_cancelled());
        EXPECT_THROW(j2.await(), Cancellation);
        gate.open();
        j1.await();
        until([&] { return pool.statistics().completed == 2 && *alive == 0; });
        EXPECT_EQ(ran, 0);
    });
}

TEST_F(WorkPoolTest, AsksARunningJobToStopAndDropsItsResult) {
    run([] {
        Gate gate;
        std::atomic<bool> saw{false};
        WorkPool pool{{.workers = 1}};
        const auto job = pool.submit([&](const StopToken& stop) {
            gate.pass();
            while (!stop.requested()) { std::this_thread::yield(); }
            saw = true;
            return 7;
        });
        gate.wait_for(1);
        gate.open();
        job.cancel();
        EXPECT_THROW(job.await(), Cancellation);
        until([&] { return pool.statistics().completed == 1; });
        EXPECT_TRUE(saw);
    });
}

TEST_F(WorkPoolTest, TakesADroppedFutureThatWasAwaitedForACancellation) {  // INV-THR-08
    run([] {
        Gate gate;
        std::atomic<bool> stopped{false};
        WorkPool pool{{.workers = 1}};
        auto waiter = spawn("waiter", [&] {
            pool.submit([&](const StopToken& stop) {
                    gate.pass();
                    while (!stop.requested()) { std::this_thread::yield(); }
                    stopped = true;
                }).await();
        });
        yield();
        gate.wait_for(1);
        gate.open();
        waiter.cancel();
        EXPECT_THROW(waiter.await(), Cancellation);
        until([&] { return stopped.load(); });
    });
}

TEST_F(WorkPoolTest, LetsAJobRunOnThatNobodyEverAwaited) {  // INV-THR-08
    run([] {
        Gate gate;
        std::atomic<int> polls{0};
        WorkPool pool{{.workers = 1}};
        pool.submit([&](const StopToken& stop) {
                gate.pass();
                polls = stop.requested() ? 100 : 1;
            }).ignore();
        gate.wait_for(1);
        gate.open();
        until([&] { return pool.statistics().completed == 1; });
        EXPECT_EQ(polls, 1);
    });
    EXPECT_TRUE(diagnostics.empty());
}

TEST_F(WorkPoolTest, LeavesAnOutcomeAsItIsOnceItHasCome) {
    run([] {
        WorkPool pool{{.workers = 1}};
        const auto job = pool.submit([] { return 3; });
        EXPECT_EQ(job.await(), 3);
        EXPECT_FALSE(job.cancel());
        EXPECT_EQ(job.await(), 3);
    });
}

// ── init, and threads that die ──

TEST_F(WorkPoolTest, InitialisesEachWorkerOnceBeforeItsFirstJob) {  // THR-08
    run([] {
        static thread_local int prepared = 0;
        std::atomic<int> inits{0};
        WorkPool pool{{.workers = 2, .init = [&inits] {
                           ++prepared;
                           ++inits;
                       }}};
        for (int i = 0; i < 6; ++i) {
            EXPECT_EQ(pool.submit([] { return prepared; }).await(), 1);
        }
        pool.close();
        pool.join();
        EXPECT_EQ(inits, 2);
    });
}

TEST_F(WorkPoolTest, FailsWhatItHasAndWhatComesWithTheErrorOfInit) {  // THR-08
    run([] {
        Gate gate;
        WorkPool pool{{.workers = 1, .init = [&] {
                           gate.pass();
                           throw std::domain_error("init");
                       }}};
        gate.wait_for(1);
        const auto queued = pool.submit([] { return 1; });
        gate.open();
        EXPECT_THROW(queued.await(), std::domain_error);
        EXPECT_THROW(pool.submit([] {}), std::domain_error);
        EXPECT_TRUE(pool.is_closed());
        pool.join();
        EXPECT_EQ(pool.statistics().workers, 0U);
        EXPECT_EQ(pool.statistics().completed, 1U);
    });
    ASSERT_EQ(diagnostics.size(), 1U);
    EXPECT_NE(diagnostics.front().find("init"), std::string::npos);
}

TEST_F(WorkPoolTest, SettlesTheJobWhoseThreadEnded) {  // THR-06, THR-09
    run([] {
        const auto alive = std::make_shared<std::atomic<int>>(0);
        WorkPool pool{{.workers = 1, .queue = 2}};
        Gate gate;
        const auto lost = pool.submit([&gate, witness = Witness(alive)] {
            gate.pass();
            pthread_exit(nullptr);
        });
        gate.wait_for(1);
        const auto behind = pool.submit([] { return 1; });
        gate.open();
        EXPECT_THROW(lost.await(), WorkerLost);
        EXPECT_EQ(*alive, 0);
        EXPECT_THROW(behind.await(), WorkPoolError);
        EXPECT_THROW(pool.submit([] {}), WorkPoolError);
        EXPECT_EQ(pool.statistics().completed, 2U);
    });
}

// ── map ──

TEST_F(WorkPoolTest, MapsInTheOrderOfTheItems) {  // THR-10
    run([] {
        WorkPool pool{{.workers = 2, .queue = 1}};
        const std::vector<int> items{5, 3, 8, 1, 9, 2};
        EXPECT_EQ(pool.map(items, [](int item) { return item * item; }), (std::vector<int>{25, 9, 64, 1, 81, 4}));
        std::vector<std::unique_ptr<int>> owned;
        owned.push_back(std::make_unique<int>(4));
        EXPECT_EQ(pool.map(std::move(owned), [](std::unique_ptr<int> item) { return *item; }), std::vector<int>{4});
        std::atomic<int> sum{0};
        pool.map(items, [&](int item) { sum += item; });
        EXPECT_EQ(sum, 28);
        EXPECT_TRUE(pool.map(std::vector<int>{}, [](int item) { return item; }).empty());
    });
}

TEST_F(WorkPoolTest, CancelsTheRestOfABatchThatFails) {  // THR-10
    run([] {
        std::atomic<int> stopped{0};
        WorkPool pool{{.workers = 2, .queue = 8}};
        const auto each = [&](int item) {
            if (item == 1) { throw std::out_of_range("first"); }
            return item;
        };
        EXPECT_THROW(pool.map(std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}, each), std::out_of_range);
        until([&] { return pool.statistics().completed == 8; });
    });
    EXPECT_TRUE(diagnostics.empty());
}

TEST_F(WorkPoolTest, CancelsTheBatchOfACallerThatIsCancelled) {  // THR-10
    run([] {
        Gate gate;
        std::atomic<int> ran{0};
        WorkPool pool{{.workers = 1, .queue = 8}};
        auto caller = spawn("caller", [&] {
            pool.map(std::vector<int>{1, 2, 3}, [&](int) {
                ++ran;
                gate.pass();
            });
        });
        yield();
        gate.wait_for(1);
        caller.cancel();
        EXPECT_THROW(caller.await(), Cancellation);
        gate.open();
        until([&] { return pool.statistics().completed == 3; });
        EXPECT_EQ(ran, 1);
    });
}

// ── ending ──

TEST_F(WorkPoolTest, RunsWhatWasAcceptedBehindAClose) {  // THR-12, INV-THR-07
    run([] {
        Gate gate;
        std::atomic<int> ran{0};
        WorkPool pool{{.workers = 1, .queue = 2}};
        const auto j1 = pool.submit([&] { gate.pass(); });
        gate.wait_for(1);
        const auto j2 = pool.submit([&] { ++ran; });
        const auto j3 = pool.submit([&] { ++ran; });
        auto parked = spawn("parked", [&] { EXPECT_THROW(pool.submit([] {}), WorkPoolError); });
        until([&] { return pool.waiting() == 1; });
        pool.close();
        pool.close();
        parked.await();
        EXPECT_THROW(pool.submit([] {}), WorkPoolError);
        EXPECT_THROW(static_cast<void>(pool.try_submit([] {})), WorkPoolError);
        gate.open();
        pool.join();
        EXPECT_EQ(ran, 2);
        EXPECT_EQ(pool.statistics().workers, 0U);
        j1.await();
        j2.await();
        j3.await();
    });
}

TEST_F(WorkPoolTest, RejectsTheQueueOnCancelAndAsksWhatRunsToStop) {  // THR-13, INV-THR-07
    run([] {
        Gate gate;
        std::atomic<int> ran{0};
        WorkPool pool{{.workers = 1, .queue = 2}};
        const auto running = pool.submit([&](const StopToken& stop) {
            gate.pass();
            return stop.requested() ? 1 : 0;
        });
        gate.wait_for(1);
        const auto queued = pool.submit([&] { ++ran; });
        pool.cancel();
        EXPECT_TRUE(queued.is_cancelled());
        gate.open();
        EXPECT_EQ(running.await(), 1);
        pool.join();
        EXPECT_EQ(ran, 0);
    });
}

TEST_F(WorkPoolTest, WaitsAtTheEndOfTheRuntimeForAJobThatDoesNotStop) {  // THR-15
    std::atomic<bool> left{false};
    Gate gate;
    std::optional<Future<int>> kept;
    run([&] {
        {
            WorkPool pool{{.workers = 1}};
            kept = pool.submit([&](const StopToken& stop) {
                gate.pass();
                while (!stop.requested()) { std::this_thread::yield(); }
                left = true;
                return 4;
            });
            kept->ignore();
            gate.wait_for(1);
        }
        gate.open();
    });
    EXPECT_TRUE(left);
    EXPECT_TRUE(kept->is_completed());
}

TEST_F(WorkPoolTest, KeepsTheLoopAliveForWhoWaitsAndForNobodyElse) {  // THR-16
    Gate gate;
    int derived = 0;
    std::optional<WorkPool> kept;  // outlives its runtime
    run([&] {
        kept.emplace(WorkPool::Options{.workers = 1});
        kept->submit([] { return 20; }).map([&](int value) { derived = value; }).ignore();
    });
    EXPECT_EQ(derived, 20) << "derived from: the loop turns for it";
    kept->cancel();
    kept.reset();
    std::atomic<bool> finished{false};
    run([&] {
        auto pool = std::make_unique<WorkPool>(WorkPool::Options{.workers = 1});
        pool->submit([&] {
                gate.pass();
                finished = true;
            }).ignore();
        gate.wait_for(1);
        // Opened by a thread that knows nothing of the runtime, once main has returned: the loop does not wait for the job.
        pool.reset();
        gate.open();
    });
    EXPECT_TRUE(finished) << "and yet nothing of it is left behind the run";
}

TEST_F(WorkPoolTest, IsCreatedAndDroppedOverAndOver) {
    run([] {
        for (int i = 0; i < 20; ++i) {
            WorkPool pool{{.workers = 3}};
            std::vector<Future<int>> futures;
            for (int j = 0; j < 5; ++j) { futures.push_back(pool.submit([j] { return j; })); }
            if (i % 2 == 0) {
                for (const auto& future : futures) { static_cast<void>(future.await()); }
            } else {
                for (const auto& future : futures) { future.ignore(); }
            }
        }
    });
}

TEST_F(WorkPoolTest, DeliversEveryOutcomeUnderLoad) {  // INV-THR-01, INV-THR-05
    run([] {
        constexpr int submitters = 8;
        constexpr int each = 200;
        WorkPool pool{{.workers = 4, .queue = 3}};
        std::vector<Coroutine<int>> all;
        for (int s = 0; s < submitters; ++s) {
            all.push_back(spawn("submitter", [&pool, s] {
                int sum = 0;
                for (int i = 0; i < each; ++i) { sum += pool.submit([s, i] { return s + i; }).await(); }
                return sum;
            }));
        }
        int sum = 0;
        for (const auto& one : all) { sum += one.await(); }
        EXPECT_EQ(sum, each * (submitters * (submitters - 1) / 2) + submitters * (each * (each - 1) / 2));
        EXPECT_EQ(pool.statistics().completed, static_cast<std::uint64_t>(submitters * each));
    });
}

}  // namespace
}  // namespace heddle::real
