// SPDX-License-Identifier: Apache-2.0
// A source location names the caller, however deep the default argument is nested.
#include "heddle/core/base/source_location.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace heddle {
namespace {

SourceLocation where(SourceLocation at = SourceLocation::current()) { return at; }

struct Holder {
    SourceLocation place;
    explicit Holder(SourceLocation at = where()) : place(at) {}
};

TEST(SourceLocation, NamesTheLineThatLeavesTheArgumentOut) {
    const SourceLocation first = where();
    const SourceLocation second = where();
    EXPECT_EQ(second.line(), first.line() + 1);
    EXPECT_EQ(first.line(), static_cast<std::uint32_t>(__LINE__ - 3));
}

TEST(SourceLocation, NamesTheFileAsTheBuildMapsIt) {
    EXPECT_EQ(std::string_view(where().file_name()), std::string_view(__FILE__));
    EXPECT_EQ(std::string_view(where().file_name()), "core/base/source_location_test.cpp");
}

TEST(SourceLocation, GoesThroughNestedDefaultArguments) {
    const Holder holder;
    EXPECT_EQ(holder.place.line(), static_cast<std::uint32_t>(__LINE__ - 1));
}

TEST(SourceLocation, IsUnknownUntilSomebodySays) {
    EXPECT_EQ(std::string_view(SourceLocation().file_name()), "unknown");
    EXPECT_EQ(SourceLocation().line(), 0U);
}

}  // namespace
}  // namespace heddle
