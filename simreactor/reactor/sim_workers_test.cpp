// SPDX-License-Identifier: Apache-2.0
// Work pools in a simulated world: no thread, the same code, and every order of its actions (docs/spec/15-threads.md, 15.5).
#include "heddle/simreactor/reactor/sim_workers.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/core/bridge/thread_channel.hpp"
#include "heddle/core/bridge/work_pool.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/reactor/testing/reactor_rig.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;
using testing::EnumeratingChooser;

/// What a program says at its ends, over all answers to the questions of these kinds; `limit` runs at most.
std::set<std::string> endings(const std::function<std::string()>& program, const ChoiceMask& mask, bool faults, std::size_t limit = 200'000) {
    std::set<std::string> seen;
    EnumeratingChooser chooser;
    World world;
    std::size_t runs = 0;
    do {
        std::string said = "nothing";
        WorldOptions options;
        options.chooser = &chooser;
        options.mask = mask;
        options.faults = faults;
        world.configure(options);
        const Outcome outcome = world.run([&] { said = program(); });
        seen.insert(outcome.kind == trace::OutcomeKind::ok ? said : outcome.invariant + " " + outcome.message);
        EXPECT_LT(++runs, limit);
    } while (runs < limit && chooser.next());
    return seen;
}

ChoiceMask only(std::initializer_list<ChoiceKind> kinds) {
    ChoiceMask mask = ChoiceMask::none();
    for (const ChoiceKind kind : kinds) { mask = mask.with(kind); }
    return mask;
}

std::string ending_of(const Future<int>& future) {
    try {
        return std::to_string(future.await());
    } catch (const Cancellation&) {
        return "cancelled";
    } catch (const WorkerLost&) {
        return "lost";
    } catch (const WorkPoolError&) {
        return "refused";
    } catch (const AsyncError&) {
        return "error";
    }
}

TEST(SimWorkers, RunJobsOnTheThreadOfTheWorld) {
    World world;
    const auto here = std::this_thread::get_id();  // compared for equality alone
    int sum = 0;
    const Outcome outcome = world.run([&] {
        WorkPool pool{{.workers = 2}};
        EXPECT_EQ(pool.submit([] { return std::this_thread::get_id(); }).await(), here);
        for (const int value : pool.map(std::vector<int>{1, 2, 3, 4, 5, 6, 7}, [](int item) { return item; })) { sum += value; }
        pool.close();
        pool.join();
        EXPECT_EQ(pool.statistics().completed, 8U);
    });
    EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
    EXPECT_EQ(sum, 28);
}

TEST(SimWorkers, OfferAJobNoRuntime) {  // THR-02
    World world;
    const Outcome outcome = world.run([&] {
        WorkPool pool{{.workers = 1}};
        EXPECT_THROW(pool.submit([] { spawn([] {}); }).await(), AsyncError);
    });
    EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
}

TEST(SimWorkers, FinishWhenTheRunEnds) {  // THR-15
    World world;
    for (int round = 0; round < 3; ++round) {
        bool finished = false;
        bool stopped = false;
        const auto held = std::make_shared<int>(1);
        const Outcome outcome = world.run([&] {
            WorkPool pool{{.workers = 1, .queue = 3}};
            pool.submit([&finished, &stopped](const StopToken& stop) {
                    while (!stop.requested()) {}
                    stopped = stop.requested();
                    finished = true;
                }).ignore();
            pool.submit([held] {}).ignore();
            for (int i = 0; i < 10; ++i) { sleep_for(1ms); }
        });
        EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
        EXPECT_TRUE(finished && stopped);
        EXPECT_EQ(held.use_count(), 1);
    }
}

TEST(SimWorkers, TakeVirtualTimeForAJobAndNothingElse) {  // THR-24, THR-26
    WorldOptions options;
    options.timing = Timing::at(TimeLevel::T1);
    options.timing.task = Latency::exactly(5ms);
    World world(options);
    Instant end;
    const Outcome outcome = world.run([&] {
        WorkPool pool{{.workers = 2, .queue = 4}};
        std::vector<Future<>> futures;
        for (int i = 0; i < 4; ++i) { futures.push_back(pool.submit([] {})); }
        for (const auto& future : futures) { future.await(); }
        end = now();
    });
    EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
    EXPECT_EQ(end.ns(), Duration(10ms).count());
}

TEST(SimWorkers, CompleteInEveryOrder) {
    const auto seen = endings(
        [] {
            std::string order;
            WorkPool pool{{.workers = 2}};
            auto a = pool.submit([] { return 1; });
            auto b = pool.submit([] { return 2; });
            auto wait_a = spawn("a", [&] { order += std::to_string(a.await()); });
            auto wait_b = spawn("b", [&] { order += std::to_string(b.await()); });
            await_all(wait_a, wait_b);
            return order;
        },
        only({ChoiceKind::ready}), false);
    EXPECT_EQ(seen, (std::set<std::string>{"12", "21"}));
}

TEST(SimWorkers, MeetACancellationAtEveryMoment) {  // the table of 15.1; example 3
    const auto seen = endings(
        [] {
            int polls = 0;
            bool stopped = false;
            std::string said;
            {
                WorkPool pool{{.workers = 1}};
                const auto job = pool.submit([&](const StopToken& stop) {
                    while (polls < 2 && !stop.requested()) { ++polls; }
                    stopped = polls < 2;
                    return 1;
                });
                auto other = pool.submit([] { return 2; });
                auto canceller = spawn("canceller", [&] { static_cast<void>(other.await() == 2 && job.cancel()); });
                auto now = spawn("now", [&] {
                    for (int i = 0; i < 2; ++i) { sleep_for(1ms); }
                    job.cancel();
                });
                said = ending_of(job);
                await_all(canceller, now);
                pool.close();
                pool.join();
                EXPECT_EQ(pool.statistics().completed, 2U);
            }
            return said + (stopped ? " stopped" : "") + " " + std::to_string(polls);
        },
        only({ChoiceKind::ready, ChoiceKind::batch, ChoiceKind::time}), false);
    EXPECT_TRUE(seen.contains("1 2")) << "it ended first";
    for (const std::string& ending : seen) { EXPECT_TRUE(ending == "1 2" || ending.starts_with("cancelled")) << ending; }
}

TEST(SimWorkers, ServeTheOldestSubmitterWithAFreedPlace) {  // example 1
    const auto seen = endings(
        [] {
            WorkPool pool{{.workers = 1, .queue = 1}};
            std::string accepted;
            const auto j1 = pool.submit([] {});
            const auto submitter = [&](const char* name) {
                pool.submit([] {}).ignore();
                accepted += name;
            };
            auto a = spawn("a", [&] { submitter("a"); });
            auto b = spawn("b", [&] { submitter("b"); });
            auto c = spawn("c", [&] { submitter("c"); });
            await_all(a, b, c);
            j1.await();
            pool.close();
            pool.join();
            EXPECT_EQ(pool.statistics().completed, 4U);
            return accepted;
        },
        only({ChoiceKind::ready}), false);
    EXPECT_EQ(seen, std::set<std::string>{"abc"});
}

TEST(SimWorkers, SettleEveryJobWhateverFails) {  // THR-06, THR-08, THR-28
    const auto seen = endings(
        [] {
            WorkPool pool{{.workers = 1, .queue = 2, .init = [] {}}};
            std::string said;
            std::vector<Future<int>> futures;
            if (choose(2) == 1) { sleep_for(1ms); }
            for (int i = 0; i < 2; ++i) {
                try {
                    futures.push_back(pool.submit([i](const StopToken& stop) { return stop.requested() ? -1 : i; }));
                } catch (const Error&) {
                    said += "raised ";
                }
            }
            for (const auto& future : futures) { said += ending_of(future) + " "; }
            pool.close();
            pool.join();
            EXPECT_EQ(pool.statistics().completed, futures.size());
            EXPECT_EQ(pool.statistics().workers, 0U);
            EXPECT_EQ(pool.statistics().running + pool.statistics().pending, 0U);
            return said;
        },
        only({ChoiceKind::ready, ChoiceKind::fault, ChoiceKind::value}), true);
    for (const char* expected : {"0 1 ", "lost refused ", "0 lost ", "error error ", "raised raised "}) {
        EXPECT_TRUE(seen.contains(expected)) << expected;
    }
    for (const std::string& ending : seen) {
        EXPECT_EQ(ending.find("RCT-69"), std::string::npos) << ending;
        EXPECT_EQ(ending.find("DEADLOCK"), std::string::npos) << ending;
    }
}

TEST(SimWorkers, LoseNoWakeUp) {  // THR-17, THR-27: it would be a hang, RCT-69
    const auto seen = endings(
        [] {
            WorkPool pool{{.workers = 2, .queue = 2}};
            const auto a = pool.submit([] { return 1; });
            const auto b = pool.submit([] { return 2; });
            return std::to_string(a.await() + b.await());
        },
        only({ChoiceKind::ready}), false);
    EXPECT_EQ(seen, std::set<std::string>{"3"});
}

TEST(SimWorkers, RunAlikeWithTheSameAnswers) {  // THR-29
    const auto said_of = [](std::uint64_t seed) {
        std::string said;
        RandomChooser chooser{seed};
        WorldOptions options;
        options.chooser = &chooser;
        World world(options);
        const Outcome outcome = world.run([&] {
            WorkPool pool{{.workers = 3, .queue = 2}};
            const auto tell = [&](const char* what) {
                const WorkStatistics at = pool.statistics();
                said += std::string(what) + std::to_string(at.pending) + std::to_string(at.running) + std::to_string(at.completed) + " ";
            };
            std::vector<Coroutine<void>> all;
            for (int i = 0; i < 4; ++i) {
                all.push_back(spawn("user", [&, i] {
                    tell("s");
                    const auto job = pool.submit([i] { return i; });
                    tell("w");
                    said += std::to_string(job.await());
                    tell("a");
                }));
            }
            for (const auto& one : all) { one.await(); }
        });
        EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
        return said;
    };
    std::set<std::string> different;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const std::string once = said_of(seed);
        EXPECT_EQ(once, said_of(seed));
        different.insert(once);
    }
    EXPECT_GT(different.size(), 5U);
}

TEST(SimWorkers, AreNotNeededByNodesThatTalkThroughAThreadChannel) {  // TCH-02, TCH-06
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        std::optional<ThreadChannel<int>> channel;
        int sum = 0;
        bool closed = false;
        RandomChooser chooser{seed};
        WorldOptions options;
        options.chooser = &chooser;
        World world(options);
        world.add_node("peer", [&] {
            while (!channel) { sleep_for(1ms); }
            ThreadChannel<int> mine = *channel;
            try {
                for (;;) { sum += mine.receive(); }
            } catch (const ThreadChannelClosed&) { closed = true; }
        });
        const Outcome outcome = world.run([&] {
            channel.emplace(ThreadChannelOptions{.capacity = 2});
            for (int i = 1; i <= 10; ++i) { channel->send(i); }
        });
        EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
        EXPECT_EQ(sum, 55);
        EXPECT_TRUE(closed) << "its owner has ended";
    }
}

TEST(SimWorkers, GoWithAFrozenWorld) {  // SW4
    World world;
    for (int round = 0; round < 5; ++round) {
        const Outcome outcome = world.run([&] {
            WorkPool pool{{.workers = 2}};
            const auto job = pool.submit([](const StopToken& stop) {
                static_cast<void>(stop.requested());
                HEDDLE_ASSERT(false, "a job goes wrong");
            });
            job.await();
        });
        EXPECT_EQ(outcome.kind, trace::OutcomeKind::violation);
        EXPECT_NE((outcome.invariant + outcome.message).find("a job goes wrong"), std::string::npos) << outcome.message;
    }
}

}  // namespace
}  // namespace heddle::sim
