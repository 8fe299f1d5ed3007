// SPDX-License-Identifier: Apache-2.0
// UniqueFunction owns what it captured, inline or on the heap, and destroys it once.
#include "heddle/core/base/unique_function.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace heddle {
namespace {

/// Counts the live copies of a captured object.
struct Counted {
    explicit Counted(int& live_) : live(&live_) { ++*live; }
    Counted(Counted&& other) noexcept : live(other.live) { ++*live; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    Counted& operator=(Counted&&) = delete;
    ~Counted() { --*live; }
    int* live;
};

TEST(UniqueFunction, CallsWithArgumentsAndReturns) {
    UniqueFunction<int(int, int)> add = [](int a, int b) { return a + b; };
    EXPECT_EQ(add(2, 3), 5);
}

TEST(UniqueFunction, OwnsMoveOnlyCaptures) {
    auto number = std::make_unique<int>(7);
    UniqueFunction<int()> read = [number = std::move(number)] { return *number; };
    UniqueFunction<int()> moved = std::move(read);
    EXPECT_FALSE(read);  // NOLINT(bugprone-use-after-move): a moved-from function is empty
    EXPECT_EQ(moved(), 7);
}

TEST(UniqueFunction, PassesMoveOnlyArgumentsOn) {
    UniqueFunction<int(std::unique_ptr<int>)> take = [](std::unique_ptr<int> number) { return *number; };
    EXPECT_EQ(take(std::make_unique<int>(4)), 4);
}

TEST(UniqueFunction, LargeCapturesLiveOnTheHeapAndMoveWithIt) {
    std::array<int, 64> numbers{};
    numbers[63] = 9;
    UniqueFunction<int()> read = [numbers] { return numbers[63]; };
    UniqueFunction<int()> moved;
    moved = std::move(read);
    EXPECT_EQ(moved(), 9);
}

TEST(UniqueFunction, DestroysWhatItOwnsExactlyOnce) {
    int live = 0;
    {
        UniqueFunction<void()> small = [counted = Counted(live)] {};
        UniqueFunction<void()> large = [counted = Counted(live), padding = std::array<char, 100>{}] { (void)padding; };
        EXPECT_EQ(live, 2);
        UniqueFunction<void()> moved = std::move(small);
        EXPECT_EQ(live, 2);
        moved = std::move(large);  // what `moved` held before is gone
        EXPECT_EQ(live, 1);
        moved.reset();
        EXPECT_EQ(live, 0);
        EXPECT_FALSE(moved);
        moved.reset();
    }
    EXPECT_EQ(live, 0);
}

TEST(UniqueFunction, KeepsStateBetweenCalls) {
    UniqueFunction<int()> next = [count = 0]() mutable { return ++count; };
    next();
    EXPECT_EQ(next(), 2);
}

TEST(UniqueFunction, NullIsEmpty) {
    const UniqueFunction<void()> none = nullptr;
    EXPECT_FALSE(none);
    static_assert(!std::is_copy_constructible_v<UniqueFunction<void()>>);
    static_assert(std::is_nothrow_move_constructible_v<UniqueFunction<void()>>);
}

TEST(UniqueFunctionDeathTest, EmptyOneIsNotCalled) {
    EXPECT_DEATH(
        {
            UniqueFunction<void()> none;
            none();
        },
        "an empty function is not called");
}

}  // namespace
}  // namespace heddle
