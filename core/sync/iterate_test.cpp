// SPDX-License-Identifier: Apache-2.0
// iterate: limits, order, endings (docs/spec/13-task-group.md, 13.7).
#include <gtest/gtest.h>

#include <string>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/iterate.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class IterateTest : public ::testing::Test, protected World {};

TEST(Iterate, CallsEachElementOnceAndNoMoreAtATimeThanAllowed) {  // ITR-02, ITR-03, INV-ITR-01, INV-ITR-02
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            for (const std::int64_t limit : {0, 1, 2, 3}) {
                program.clear();
                std::int64_t in_flight = 0;
                std::int64_t most = 0;
                iterate(
                    std::vector<int>{1, 2, 3, 4, 5},
                    [&](int value) {
                        program.log(std::to_string(value));
                        most = std::max(most, ++in_flight);
                        yield();
                        --in_flight;
                    },
                    {.concurrency = limit});
                EXPECT_EQ(program.text(), "1 2 3 4 5");
                EXPECT_EQ(in_flight, 0);
                EXPECT_TRUE(limit == 0 ? most > 1 : most == limit) << most << " of " << limit;
            }
        });
    });
}

TEST_F(IterateTest, RunsBackToBackWhatNeverSuspends) {  // ITR-03
    run([&] {
        iterate(std::vector<int>{1, 2, 3}, [&](int value, std::size_t index) { log(std::to_string(value) + "@" + std::to_string(index)); });
        EXPECT_EQ(scheduler().registry().size(), 1U);
        iterate(std::vector<int>{}, [&](int) { log("never"); });  // ITR-11
        EXPECT_THROW(iterate(std::vector<int>{1}, [&](int) { log("never"); }, {.concurrency = -1}), ValueError);
    });
    EXPECT_EQ(text(), "1@0 2@1 3@2");
}

TEST_F(IterateTest, StopsWhenACallbackSaysSo) {  // ITR-06, `003`
    run([&] {
        iterate(
            std::vector<int>{1, 2, 3, 4},
            [&](int value) {
                log(std::to_string(value));
                yield();
                log("end" + std::to_string(value));
                return value == 1 ? Iteration::stop : Iteration::go_on;
            },
            {.concurrency = 2});
    });
    EXPECT_EQ(text(), "1 2 end1 end2");
}

TEST_F(IterateTest, AnErrorCancelsTheOthersAndLeavesWhenTheyEnded) {  // ITR-07, `006`, `011`
    run([&] {
        log_caught([&] {
            iterate(std::vector<int>{1, 2, 3}, [&](int value) {
                if (value == 2) {
                    yield();
                    yield();
                    throw Failure("E");
                }
                try {
                    sleep_for(1s);
                } catch (const Cancellation&) {
                    cleanup([] { yield(); });
                    log("cleaned");
                    throw;
                }
            });
        });
        EXPECT_EQ(scheduler().registry().size(), 1U);
    });
    EXPECT_EQ(text(), "cleaned cleaned E");
}

TEST_F(IterateTest, ASourceIsAdvancedByOneWorkerAtATime) {  // ITR-04, `014`, `019`
    run([&] {
        int next = 0;
        bool inside = false;
        iterate(
            [&]() -> std::optional<int> {
                EXPECT_FALSE(inside);
                inside = true;
                yield();
                inside = false;
                return next < 4 ? std::optional(next++) : std::nullopt;
            },
            [&](int& value) {
                log(std::to_string(value));
                yield();
            });
        log_caught([&] {
            iterate([]() -> std::optional<int> { throw Failure("source"); }, [](int) {});
        });
    });
    EXPECT_EQ(text(), "0 1 2 3 source");
}

TEST_F(IterateTest, WhatCallbacksSpawnedIsCancelledOrWaitedFor) {  // ITR-09, `012`, `013`
    run([&] {
        for (const bool cancel_pending : {true, false}) {
            iterate(
                std::vector<int>{1},
                [&](int) {
                    spawn([&] {
                        log_caught([&] {
                            sleep_for(5ms);
                            log("slept");
                        });
                    });
                    yield();
                },
                {.cancel_pending = cancel_pending});
            EXPECT_EQ(scheduler().registry().size(), 1U);
        }
    });
    EXPECT_EQ(text(), "the scope was cancelled slept none");
}

TEST_F(IterateTest, ACancelledCallerLeavesWhenEverythingHasEnded) {  // ITR-10, INV-ITR-03
    run([&] {
        auto caller = spawn([&] {
            log_caught([&] {
                iterate(std::vector<int>{1, 2}, [&](int value) {
                    log_caught([] { sleep_for(1s); });
                    log("end" + std::to_string(value));
                });
            });
            log("left");
        });
        for (int i = 0; i < 4; ++i) { yield(); }
        caller.cancel("stop");
        caller.await();
    });
    EXPECT_EQ(text(), "the scope was cancelled end1 the scope was cancelled end2 stop left");
}

TEST_F(IterateTest, AContainerIsReadAsItWasAtTheCall) {  // ITR-05
    run([&] {
        std::vector<int> numbers{1, 2, 3};
        iterate(numbers, [&](int value) {
            log(std::to_string(value));
            numbers.assign({7, 8, 9, 10});
            yield();
        });
        EXPECT_EQ(numbers.size(), 4U);
    });
    EXPECT_EQ(text(), "1 2 3");
}

TEST_F(IterateTest, TheSourceIsPastAnElementBeforeItsCallbackRuns) {  // ITR-05
    run([&] {
        int next = 0;
        iterate(
            [&]() -> std::optional<int> { return next < 3 ? std::optional(next++) : std::nullopt; },
            [&](int value) {
                log(std::to_string(value) + "<" + std::to_string(next));
                EXPECT_LT(value, next);
            },
            {.concurrency = 1});
    });
    EXPECT_EQ(text(), "0<1 1<2 2<3");
}

TEST_F(IterateTest, ASlowLastCallbackIsWaitedFor) {  // ITR-08, `017`
    run([&] {
        for (const bool cancel_pending : {true, false}) {
            for (const std::int64_t limit : {0, 1, 2}) {
                int ended = 0;
                iterate(
                    std::vector<int>{1, 2, 3},
                    [&](int value) {
                        sleep_for(value == 3 ? 20ms : 1ms);
                        ++ended;
                    },
                    {.concurrency = limit, .cancel_pending = cancel_pending});
                EXPECT_EQ(ended, 3);
                EXPECT_EQ(scheduler().registry().size(), 1U);
            }
        }
    });
}

}  // namespace
}  // namespace heddle
