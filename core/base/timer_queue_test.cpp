// SPDX-License-Identifier: Apache-2.0
// TimerQueue fires by (deadline, start id), whatever the history of its heap (RCT-31, TQ1, TQ2).
#include "heddle/core/base/timer_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace heddle {
namespace {

std::uint32_t fire(TimerQueue& queue) {
    const std::uint32_t slot = queue.first().slot;
    EXPECT_TRUE(queue.disarm(slot));
    return slot;
}

std::vector<std::uint32_t> fire_all(TimerQueue& queue) {
    std::vector<std::uint32_t> order;
    while (!queue.empty()) { order.push_back(fire(queue)); }
    return order;
}

TEST(TimerQueue, FiresByDeadline) {
    TimerQueue queue;
    queue.arm(0, Instant{30});
    queue.arm(1, Instant{10});
    queue.arm(2, Instant{20});
    EXPECT_EQ(fire_all(queue), (std::vector<std::uint32_t>{1, 2, 0}));
}

TEST(TimerQueue, FiresEqualDeadlinesInTheOrderOfArming) {
    TimerQueue queue;
    for (std::uint32_t slot = 20; slot-- > 0;) { queue.arm(slot, Instant{5}); }
    std::vector<std::uint32_t> expected(20);
    for (std::uint32_t i = 0; i < 20; ++i) { expected[i] = 19 - i; }
    EXPECT_EQ(fire_all(queue), expected);
}

TEST(TimerQueue, StartIdsGrowWithEachArming) {
    TimerQueue queue;
    EXPECT_EQ(queue.arm(0, Instant{1}), 1U);
    EXPECT_EQ(queue.arm(1, Instant{1}), 2U);
    EXPECT_EQ(queue.arm(0, Instant{1}), 3U);
    EXPECT_EQ(queue.entry(0).start_id, 3U);
    EXPECT_EQ(queue.size(), 2U);
}

TEST(TimerQueue, RearmedTimerGoesBehindItsEquals) {
    TimerQueue queue;
    queue.arm(0, Instant{5});
    queue.arm(1, Instant{5});
    queue.arm(0, Instant{5});
    EXPECT_EQ(fire_all(queue), (std::vector<std::uint32_t>{1, 0}));
}

// BUG-133: the index of a timer that had fired was stale, and removing it once more damaged the heap.
TEST(TimerQueue, DisarmingAFiredTimerTouchesNobodyElse) {
    TimerQueue queue;
    queue.arm(1, Instant{5});
    EXPECT_EQ(fire(queue), 1U);
    queue.arm(2, Instant{10});
    queue.arm(3, Instant{7});
    EXPECT_FALSE(queue.disarm(1));
    queue.arm(4, Instant{8});
    EXPECT_EQ(fire_all(queue), (std::vector<std::uint32_t>{3, 4, 2}));
}

/// What the queue must agree with: a list kept in order of (deadline, start id) by a stable sort.
class Model {
public:
    void arm(std::uint32_t slot, std::int64_t deadline) {
        disarm(slot);
        entries_.push_back({Instant{deadline}, ++start_id_, slot});
        std::stable_sort(entries_.begin(), entries_.end(),
                         [](const auto& a, const auto& b) { return a.deadline < b.deadline; });
    }
    void disarm(std::uint32_t slot) {
        std::erase_if(entries_, [slot](const TimerQueue::Entry& entry) { return entry.slot == slot; });
    }
    [[nodiscard]] const std::vector<TimerQueue::Entry>& entries() const { return entries_; }

private:
    std::vector<TimerQueue::Entry> entries_;
    std::uint64_t start_id_ = 0;
};

void expect_equal(TimerQueue queue, const Model& model, std::uint32_t code) {
    for (const TimerQueue::Entry& entry : model.entries()) {
        ASSERT_FALSE(queue.empty()) << "sequence " << code;
        ASSERT_EQ(queue.first().slot, entry.slot) << "sequence " << code;
        ASSERT_EQ(queue.first().start_id, entry.start_id) << "sequence " << code;
        queue.disarm(entry.slot);
    }
    ASSERT_TRUE(queue.empty()) << "sequence " << code;
}

// BUG-133, all sequences: four timers, each step arms one early or late, cancels one or fires the first; five steps deep, so 13^5
// sequences. The queue agrees with a sorted list at the end of each.
TEST(TimerQueue, AgreesWithASortedListOverAllShortSequences) {
    constexpr std::uint32_t steps = 5;
    constexpr std::uint32_t moves = 13;
    std::uint32_t sequences = 1;
    for (std::uint32_t i = 0; i < steps; ++i) { sequences *= moves; }
    for (std::uint32_t code = 0; code < sequences; ++code) {
        TimerQueue queue;
        Model model;
        std::uint32_t rest = code;
        for (std::uint32_t step = 0; step < steps; ++step, rest /= moves) {
            const std::uint32_t move = rest % moves;
            const std::uint32_t slot = move % 4;
            if (move == 12) {
                if (!queue.empty()) { model.disarm(fire(queue)); }
            } else if (move < 8) {
                const std::int64_t deadline = move < 4 ? 5 : 7;
                queue.arm(slot, Instant{deadline});
                model.arm(slot, deadline);
            } else {
                queue.disarm(slot);
                model.disarm(slot);
            }
        }
        ASSERT_NO_FATAL_FAILURE(expect_equal(queue, model, code));
    }
}

// BUG-167, MUT-H4: equal deadlines came out by the history of the heap, so that an unrelated timer changed their order.
TEST(TimerQueue, UnrelatedTimerChangesNoOrderAmongEquals) {
    const auto order = [](std::uint32_t unrelated_count) {
        TimerQueue queue;
        constexpr std::uint32_t unrelated = 1000;
        for (std::uint32_t i = 0; i < unrelated_count; ++i) { queue.arm(unrelated + i, Instant{1 + i % 3}); }
        queue.arm(1, Instant{5});
        queue.arm(2, Instant{5});
        queue.arm(3, Instant{5});
        queue.disarm(2);
        queue.arm(4, Instant{5});
        for (std::uint32_t slot = 5; slot < 12; ++slot) { queue.arm(slot, Instant{5}); }
        for (std::uint32_t i = 0; i < unrelated_count; i += 2) { queue.disarm(unrelated + i); }
        std::vector<std::uint32_t> fired = fire_all(queue);
        std::erase_if(fired, [](std::uint32_t slot) { return slot >= unrelated; });
        return fired;
    };
    const std::vector<std::uint32_t> expected{1, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    for (std::uint32_t unrelated_count = 0; unrelated_count < 30; ++unrelated_count) {
        EXPECT_EQ(order(unrelated_count), expected) << unrelated_count << " unrelated timers";
    }
}

TEST(TimerQueue, VisitsExactlyTheTimersThatAreDueByAnInstant) {
    TimerQueue queue;
    for (std::uint32_t slot = 0; slot < 100; ++slot) { queue.arm(slot, Instant{(slot * 37) % 50}); }
    for (std::int64_t limit = -1; limit <= 50; limit += 3) {
        std::vector<std::uint32_t> visited;
        queue.for_each_until(Instant{limit}, [&](const TimerQueue::Entry& entry) { visited.push_back(entry.slot); });
        std::sort(visited.begin(), visited.end());
        std::vector<std::uint32_t> expected;
        for (std::uint32_t slot = 0; slot < 100; ++slot) {
            if (queue.entry(slot).deadline <= Instant{limit}) { expected.push_back(slot); }
        }
        EXPECT_EQ(visited, expected) << "until " << limit;
    }
}

TEST(TimerQueue, ClearBeginsAgainWithTheFirstStartId) {
    TimerQueue queue;
    queue.arm(3, Instant{9});
    queue.clear();
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.is_armed(3));
    EXPECT_EQ(queue.arm(3, Instant{9}), 1U);
}

TEST(TimerQueueDeathTest, EmptyOneHasNoFirst) {
    EXPECT_DEATH((void)TimerQueue{}.first(), "an empty queue has no first timer");
}

TEST(TimerQueueDeathTest, EntryBelongsToAnArmedSlot) { EXPECT_DEATH((void)TimerQueue{}.entry(2), "TQ2"); }

}  // namespace
}  // namespace heddle
