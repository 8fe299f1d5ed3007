// SPDX-License-Identifier: Apache-2.0
// Result holds a value or an error, never both, and says so when the wrong one is asked for.
#include "heddle/core/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace heddle {
namespace {

TEST(Result, HoldsAValue) {
    Result<std::string> result = std::string("text");
    ASSERT_TRUE(result);
    EXPECT_EQ(*result, "text");
    EXPECT_EQ(result->size(), 4U);
}

TEST(Result, HoldsAnErrorWithItsPlace) {
    const Result<int> result = InputError{"trace.json: /recipe/seed", "a number", "\"seven\""};
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().text(), "trace.json: /recipe/seed: expected a number, found \"seven\"");
}

TEST(Result, MovesOutWhatCannotBeCopied) {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
    const std::unique_ptr<int> taken = std::move(*result);
    EXPECT_EQ(*taken, 3);
}

TEST(ResultDeathTest, ValueIsNotReadFromAnError) {
    const Result<int> result = InputError{};
    EXPECT_DEATH((void)*result, "the result holds a value");
}

TEST(ResultDeathTest, ErrorIsNotReadFromAValue) {
    const Result<int> result = 1;
    EXPECT_DEATH((void)result.error(), "the result holds an error");
}

}  // namespace
}  // namespace heddle
