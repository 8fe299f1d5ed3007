// SPDX-License-Identifier: Apache-2.0
// ErrorValue keeps an exception with its history; histories have no cycles and values never change (SCH-89, CAN-2).
#include "heddle/core/base/error.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <type_traits>

namespace heddle {
namespace {

ErrorValue error(const char* message) { return ErrorValue::make<std::runtime_error>(message); }

std::string history(ErrorValue value) {
    std::string text;
    for (; value; value = value.previous()) { text += (text.empty() ? "" : " <- ") + value.describe(); }
    return text;
}

TEST(ErrorValue, EmptyOneIsNoError) {
    const ErrorValue none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none.depth(), 0U);
    EXPECT_EQ(none.describe(), "no error");
    EXPECT_EQ(none.exception(), nullptr);
    EXPECT_FALSE(none.is_cancellation());
    EXPECT_FALSE(none.previous());
    EXPECT_FALSE(none.same_error(none));
}

TEST(ErrorValue, RethrowsTheIdenticalObjectEachTime) {
    const ErrorValue value = error("broken");
    const std::exception* first = nullptr;
    const std::exception* second = nullptr;
    try {
        value.rethrow();
    } catch (const std::runtime_error& thrown) { first = &thrown; }
    try {
        value.rethrow();
    } catch (const std::runtime_error& thrown) { second = &thrown; }
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(first, second);
}

TEST(ErrorValue, DescribesTypeAndMessage) {
    EXPECT_EQ(error("broken").describe(), "std::runtime_error: broken");
    EXPECT_EQ(ErrorValue::make<OperationCanceled>("token").describe(), "heddle::OperationCanceled: token");
    EXPECT_EQ(ErrorValue::make<int>(7).describe(), "int");
}

TEST(ErrorValue, AttachingAnOlderErrorAppendsItAtTheEnd) {
    const ErrorValue newest = error("c").with_previous(error("b")).with_previous(error("a"));
    EXPECT_EQ(history(newest), "std::runtime_error: c <- std::runtime_error: b <- std::runtime_error: a");
    EXPECT_EQ(newest.depth(), 3U);
}

TEST(ErrorValue, AttachingLeavesTheOriginalUntouched) {
    const ErrorValue plain = error("plain");
    const ErrorValue longer = plain.with_previous(error("older"));
    EXPECT_EQ(plain.depth(), 1U);
    EXPECT_EQ(longer.depth(), 2U);
    EXPECT_TRUE(plain.same_error(longer));
}

TEST(ErrorValue, AttachingNothingOrItselfIsANoOp) {
    const ErrorValue value = error("one");
    EXPECT_EQ(value.with_previous({}).depth(), 1U);
    EXPECT_EQ(value.with_previous(value).depth(), 1U);
    EXPECT_EQ(history(ErrorValue{}.with_previous(value)), "std::runtime_error: one");
}

TEST(ErrorValue, ErrorThatIsInTheHistoryIsNotAttachedAgain) {
    const ErrorValue a = error("a");
    const ErrorValue b = error("b").with_previous(a);
    EXPECT_EQ(b.with_previous(a).depth(), 2U);
    // The other way round: a's history gets b, which carries a. It stays finite.
    EXPECT_LE(a.with_previous(b).depth(), 3U);
}

TEST(ErrorValue, ThatFailsTwiceKeepsWhatCameBefore) {  // one exception that two coroutines end with, behind a third error
    const ErrorValue shared = error("shared");
    const ErrorValue first = shared.with_previous(error("deadlock"));
    EXPECT_EQ(history(shared.with_previous(first)), "std::runtime_error: shared <- std::runtime_error: deadlock");
    EXPECT_EQ(history(error("new").with_previous(shared).with_previous(first)),
              "std::runtime_error: new <- std::runtime_error: shared <- std::runtime_error: deadlock");
}

TEST(ErrorValue, KnowsTheCancellationFamily) {
    EXPECT_TRUE(ErrorValue::make<Cancellation>().is_cancellation());
    EXPECT_TRUE(ErrorValue::make<AsyncCancellation>().is_cancellation());
    EXPECT_TRUE(ErrorValue::make<OperationCanceled>().is_cancellation());
    EXPECT_FALSE(ErrorValue::make<TimeoutError>().is_cancellation());
    EXPECT_FALSE(ErrorValue::make<int>(1).is_cancellation());
}

TEST(ErrorValue, CancellationBringsTheErrorThatCausedIt) {
    const ErrorValue cause = ErrorValue::make<TimeoutError>();
    const ErrorValue value(std::make_exception_ptr(OperationCanceled("token fired", cause)));
    EXPECT_TRUE(value.previous().same_error(cause));
    EXPECT_EQ(value.depth(), 2U);
}

TEST(ErrorValueDeathTest, EmptyOneIsNotThrown) { EXPECT_DEATH(ErrorValue{}.rethrow(), "an empty error is not thrown"); }

TEST(Cancellation, PassesHandlersOfStandardExceptions) {
    static_assert(!std::is_base_of_v<std::exception, Cancellation>);
    bool passed = false;
    try {
        try {
            throw AsyncCancellation("stop");
        } catch (const std::exception&) { FAIL() << "a cancellation is not a std::exception"; }
    } catch (const Cancellation& cancellation) {
        passed = true;
        EXPECT_STREQ(cancellation.what(), "stop");
    }
    EXPECT_TRUE(passed);
}

TEST(Errors, DeadlockSaysHowManyWait) {
    const DeadlockError deadlock(3);
    EXPECT_EQ(deadlock.waiting_count(), 3U);
    EXPECT_NE(std::string(deadlock.what()).find('3'), std::string::npos);
}

TEST(Errors, CompositeKeepsTheOrderOfOccurrence) {
    CompositeError composite;
    composite.append(error("first"));
    composite.append(error("second"));
    ASSERT_EQ(composite.errors().size(), 2U);
    EXPECT_EQ(composite.errors()[0].describe(), "std::runtime_error: first");
    EXPECT_EQ(composite.errors()[1].describe(), "std::runtime_error: second");
}

}  // namespace
}  // namespace heddle
