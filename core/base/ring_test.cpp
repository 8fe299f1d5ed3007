// SPDX-License-Identifier: Apache-2.0
// Ring behaves as a plain double-ended queue, whatever its capacity and wherever its head stands (SCH-19).
#include "heddle/core/base/ring.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>

namespace heddle {
namespace {

TEST(Ring, TakesAtBothEndsAndGivesAtTheHead) {
    Ring<int> ring(4);
    ring.push_back(2);
    ring.push_back(3);
    ring.push_front(1);
    EXPECT_EQ(ring.front(), 1);
    EXPECT_EQ(ring[2], 3);
    EXPECT_EQ(ring.pop_front(), 1);
    EXPECT_EQ(ring.pop_front(), 2);
    EXPECT_EQ(ring.pop_front(), 3);
    EXPECT_TRUE(ring.empty());
}

TEST(Ring, KeepsOrderWhenItGrowsAroundTheEndOfItsBuffer) {
    Ring<int> ring(4);
    for (int i = 0; i < 3; ++i) { ring.push_back(-1); }
    for (int i = 0; i < 3; ++i) { ring.pop_front(); }
    for (int i = 0; i < 100; ++i) { ring.push_back(i); }
    EXPECT_EQ(ring.size(), 100U);
    for (int i = 0; i < 100; ++i) { ASSERT_EQ(ring.pop_front(), i); }
}

TEST(Ring, TakingOneOutKeepsTheOrderOfTheOthers) {
    Ring<int> ring(4);
    for (int i = 0; i < 4; ++i) { ring.push_back(i); }
    EXPECT_EQ(ring.take(2), 2);
    EXPECT_EQ(ring.take(0), 0);
    EXPECT_EQ(ring.pop_front(), 1);
    EXPECT_EQ(ring.pop_front(), 3);
}

// Method: 20,000 operations from a fixed linear congruential sequence, compared with std::deque after each.
TEST(Ring, AgreesWithAPlainQueueOverManyOperations) {
    Ring<int> ring(1);
    std::deque<int> model;
    std::uint64_t state = 1234;
    for (int step = 0; step < 20'000; ++step) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const std::uint64_t draw = state >> 33;
        switch (model.empty() ? draw % 2 : draw % 5) {
            case 0:
                ring.push_back(step);
                model.push_back(step);
                break;
            case 1:
                ring.push_front(step);
                model.push_front(step);
                break;
            case 2:
            case 3:
                ASSERT_EQ(ring.pop_front(), model.front());
                model.pop_front();
                break;
            default: {
                const std::size_t index = (draw / 8) % model.size();
                ASSERT_EQ(ring.take(index), model[index]);
                model.erase(model.begin() + static_cast<std::ptrdiff_t>(index));
                break;
            }
        }
        ASSERT_EQ(ring.size(), model.size());
        for (std::size_t i = 0; i < model.size(); ++i) { ASSERT_EQ(ring[i], model[i]); }
    }
}

TEST(Ring, ClearEmptiesIt) {
    Ring<int> ring(2);
    ring.push_back(1);
    ring.clear();
    EXPECT_TRUE(ring.empty());
    ring.push_back(2);
    EXPECT_EQ(ring.front(), 2);
}

TEST(RingDeathTest, EmptyOneHasNoHead) {
    EXPECT_DEATH(
        {
            Ring<int> ring(2);
            ring.pop_front();
        },
        "an empty ring has no head");
}

TEST(RingDeathTest, CapacityIsAPowerOfTwo) { EXPECT_DEATH(Ring<int>{6}, "capacity is a power of two"); }

}  // namespace
}  // namespace heddle
