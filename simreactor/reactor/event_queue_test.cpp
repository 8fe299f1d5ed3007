// SPDX-License-Identifier: Apache-2.0
// What the simulated reactor is made of: windows of time, the queue of happenings, and slots that never mistake an old key.
#include "heddle/simreactor/reactor/event_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/simreactor/reactor/detail/slots.hpp"
#include "heddle/simreactor/reactor/timing.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

TEST(Timing, HasValuesForEachLevelThatExists) {
    EXPECT_EQ(Timing::at(TimeLevel::T1).jitter, 0ms);
    EXPECT_GT(Timing::at(TimeLevel::T2).jitter, 0ms);
    EXPECT_EQ(Timing::at(TimeLevel::T3).jitter, Timing::at(TimeLevel::T2).jitter);
    EXPECT_TRUE(Timing::at(TimeLevel::T4).latest(Instant{1}).is_never());
    EXPECT_TRUE(Timing::at(TimeLevel::T4).window(Instant{}, {1ms, 5ms}, 1ms).latest.is_never());
    const Timing exact = Timing::at(TimeLevel::T1);
    EXPECT_EQ(exact.window(Instant{}, {1ms, 5ms}, 1ms).latest, Instant{} + 1ms);
    EXPECT_EQ(Timing::at(TimeLevel::T2).window(Instant{}, {1ns, 5ms}, 1ms).earliest, Instant{} + 1ms);
}

TEST(EventQueue, TakesEqualInstantsInTheOrderOfAdding) {  // MUT-H4, BUG-167
    const auto order = [](std::uint32_t unrelated) {
        EventQueue queue;
        std::vector<EventQueue::Ticket> others;
        for (std::uint32_t i = 0; i < unrelated; ++i) {
            others.push_back(queue.add({Instant{1 + i % 3}, Instant{9}}, Happening::post, 1000 + i));
        }
        for (std::uint32_t i = 0; i < 20; ++i) { queue.add({Instant{5}, Instant{5}}, Happening::post, i); }
        for (const EventQueue::Ticket ticket : others) { queue.remove(ticket); }
        std::vector<std::uint32_t> taken;
        queue.take_due(Instant{5}, [&](const EventQueue::Entry& entry) { taken.push_back(entry.index); });
        return taken;
    };
    const std::vector<std::uint32_t> alone = order(0);
    for (std::uint32_t i = 0; i < 20; ++i) { EXPECT_EQ(alone[i], i); }
    for (std::uint32_t unrelated = 1; unrelated < 30; ++unrelated) { EXPECT_EQ(order(unrelated), alone); }
}

TEST(EventQueue, KnowsTheEndOfTheFirstWindow) {
    EventQueue queue;
    EXPECT_TRUE(queue.next().is_never());
    EXPECT_TRUE(queue.min_latest().is_never());
    const EventQueue::Ticket short_one = queue.add({Instant{3}, Instant{4}}, Happening::task, 0);
    queue.add({Instant{1}, Instant{9}}, Happening::task, 1);
    EXPECT_EQ(queue.next(), Instant{1});
    EXPECT_EQ(queue.min_latest(), Instant{4});
    queue.remove(short_one);
    EXPECT_EQ(queue.min_latest(), Instant{9});
}

TEST(Slots, NeverFindsWhatWasTakenOut) {
    detail::Slots<int> slots;
    const std::uint32_t first = slots.add(1);
    const std::uint64_t old_key = slots.key(first);
    EXPECT_EQ(*slots.find(old_key), 1);
    slots.remove(first);
    EXPECT_EQ(slots.find(old_key), nullptr);
    EXPECT_EQ(slots.add(2), first) << "the place is used again";
    EXPECT_EQ(slots.find(old_key), nullptr);
    EXPECT_EQ(slots.find(0), nullptr);
    EXPECT_NE(slots.key(first), old_key);
}

}  // namespace
}  // namespace heddle::sim
