// SPDX-License-Identifier: Apache-2.0
// Assertions reach this thread's sink, or end the process with a report; they never become exceptions of their own.
#include "heddle/core/base/assert.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace heddle {
namespace {

/// Leaves by an exception of the test's own, where a simulated world would switch its stack for good.
struct Left {};

class LeavingSink final : public ViolationSink {
public:
    void violated(const Violation& violation) override {
        violations.push_back(violation);
        throw Left{};
    }
    std::vector<Violation> violations;
};

class ReturningSink final : public ViolationSink {
public:
    void violated(const Violation&) override {}
};

class InstalledSink {
public:
    explicit InstalledSink(ViolationSink* sink) : previous_(exchange_violation_sink(sink)) {}
    InstalledSink(const InstalledSink&) = delete;
    InstalledSink& operator=(const InstalledSink&) = delete;
    ~InstalledSink() { exchange_violation_sink(previous_); }

private:
    ViolationSink* previous_;
};

TEST(Assert, HoldingConditionCostsNothingElse) {
    int evaluated = 0;
    HEDDLE_ASSERT(++evaluated == 1, "A1");
    EXPECT_EQ(evaluated, 1);
}

TEST(Assert, FailureReachesTheSinkWithInvariantConditionAndPlace) {
    LeavingSink sink;
    InstalledSink installed(&sink);
    const int units = 3;
    EXPECT_THROW(HEDDLE_ASSERT(units == 4, "INV-WAKE-03"), Left);
    ASSERT_EQ(sink.violations.size(), 1U);
    EXPECT_EQ(sink.violations[0].invariant, "INV-WAKE-03");
    EXPECT_EQ(sink.violations[0].message, "expected units == 4");
    EXPECT_NE(sink.violations[0].file.find("assert_test.cpp"), std::string::npos);
    EXPECT_GT(sink.violations[0].line, 0);
}

TEST(Assert, CheckOfAProgramIsReportedAsCheck) {
    LeavingSink sink;
    InstalledSink installed(&sink);
    EXPECT_THROW(HEDDLE_CHECK(1 + 1 == 3), Left);
    ASSERT_EQ(sink.violations.size(), 1U);
    EXPECT_EQ(sink.violations[0].invariant, "CHECK");
}

TEST(Assert, ExchangeGivesBackThePreviousSink) {
    LeavingSink outer;
    LeavingSink inner;
    InstalledSink installed(&outer);
    {
        InstalledSink nested(&inner);
        EXPECT_EQ(violation_sink(), &inner);
    }
    EXPECT_EQ(violation_sink(), &outer);
}

TEST(Assert, SinkBelongsToOneThread) {
    LeavingSink sink;
    InstalledSink installed(&sink);
    ViolationSink* seen = &sink;
    std::thread([&] { seen = violation_sink(); }).join();
    EXPECT_EQ(seen, nullptr);
}

TEST(AssertDeathTest, WithoutSinkReportsAndAborts) {
    EXPECT_DEATH(HEDDLE_ASSERT(1 == 2, "INV-SCHED-02"), "INV-SCHED-02 violated: expected 1 == 2 \\(.*assert_test.cpp");
}

TEST(AssertDeathTest, SinkThatReturnsDoesNotLetTheProgramGoOn) {
    ReturningSink sink;
    InstalledSink installed(&sink);
    EXPECT_DEATH(HEDDLE_ASSERT(false, "A1"), "A1 violated");
}

}  // namespace
}  // namespace heddle
