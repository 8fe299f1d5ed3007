// SPDX-License-Identifier: Apache-2.0
// Time is integer nanoseconds, and arithmetic saturates at "never" (RCT-24).
#include "heddle/core/base/time.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace heddle {
namespace {

using namespace std::chrono_literals;
constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

TEST(Instant, BeginsAtZeroAndOrdersByNanoseconds) {
    EXPECT_EQ(Instant{}.ns(), 0);
    EXPECT_LT(Instant{1}, Instant{2});
    EXPECT_LT(Instant{2}, Instant::never());
    EXPECT_FALSE(Instant{largest - 1}.is_never());
}

TEST(Instant, AddsAndSubtractsDurations) {
    EXPECT_EQ(Instant{5} + 3ns, Instant{8});
    EXPECT_EQ(Instant{5} + -3ns, Instant{2});
    EXPECT_EQ(Instant{5'000'000} - Instant{2'000'000}, 3ms);
}

TEST(Instant, NeverPlusAnythingIsNever) {
    EXPECT_TRUE((Instant::never() + 1ns).is_never());
    EXPECT_TRUE((Instant::never() + Duration{largest}).is_never());
    EXPECT_TRUE((Instant::never() + -5ns).is_never());
}

TEST(Instant, DeadlineTooFarAwayIsNever) {
    EXPECT_TRUE((Instant{10} + Duration{largest}).is_never());
    EXPECT_EQ(Instant{0} + Duration{largest - 1}, Instant{largest - 1});
}

TEST(RoundUp, GoesToTheNextMultipleAndLeavesMultiplesAlone) {
    EXPECT_EQ(round_up(1ns, 1ms), 1ms);
    EXPECT_EQ(round_up(1ms, 1ms), 1ms);
    EXPECT_EQ(round_up(1ms + 1ns, 1ms), 2ms);
    EXPECT_EQ(round_up(7ns, 1ns), 7ns);
}

TEST(RoundUp, ZeroStaysZeroAndNegativeBecomesZero) {
    EXPECT_EQ(round_up(0ns, 1ms), 0ns);
    EXPECT_EQ(round_up(-3ns, 1ms), 0ns);
}

TEST(RoundUp, SaturatesInsteadOfOverflowing) { EXPECT_EQ(round_up(Duration{largest - 1}, 1ms), Duration{largest}); }

}  // namespace
}  // namespace heddle
