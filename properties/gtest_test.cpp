// SPDX-License-Identifier: Apache-2.0
// HEDDLE_PROPERTY_TEST as its users see it: what passes, what fails and how it says so. Bodies that fail run through run_property, with
// GoogleTest's own interception around them.
#include "heddle/properties/gtest.hpp"

#include <gtest/gtest-spi.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "heddle/traces/trace_file.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// Two clients take turns at one connection; the second counts what the first left behind.
void two_clients(bool careful) {
    int in_use = 0;
    const auto serve = [&in_use, careful] {
        ++in_use;
        try {
            sleep_for(5ms);
        } catch (const Cancellation&) {
            if (careful) { --in_use; }
            throw;
        }
        --in_use;
    };
    auto client = spawn("client", serve);
    sim::anywhere([&] { client.cancel(); });
    try {
        client.await();
    } catch (const Cancellation&) {}
    HEDDLE_CHECK(in_use == 0);
}

void lose_a_connection() { two_clients(false); }

void expect_in_any_order() {
    std::string order;
    auto a = spawn("a", [&] { order += 'a'; });
    auto b = spawn("b", [&] { order += 'b'; });
    a.await();
    b.await();
    EXPECT_EQ(order, "ab");
}

/// Sets a variable of the environment for one test.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    ~Variable() { ::unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
};

class Failing : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /// What the test says when it fails; empty if it passes.
    std::string said(void (*body)(), const PropertyOptions& options) const {
        const Variable traces("HEDDLE_TRACES", folder_);
        testing::TestPartResultArray parts;
        {
            const testing::ScopedFakeTestPartResultReporter in_place(
                testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
            run_property({"Suite", "Name", options, body});
        }
        std::string text;
        for (int i = 0; i < parts.size(); ++i) { text += parts.GetTestPartResult(i).message(); }
        return text;
    }
    [[nodiscard]] std::string trace_file() const { return folder_ + "/Suite.Name.trace.json"; }
    [[nodiscard]] const std::string& folder() const { return folder_; }

private:
    std::string folder_;
};

TEST_F(Failing, SaysWhatWhereHowAndWhichCommandReplaysIt) {
    const std::string text = said(lose_a_connection, {});
    for (const char* part : {"VIOLATED CHECK", "in_use == 0", "gtest_test.cpp:", "client", "What makes it happen", "HEDDLE_REPLAY=",
                             "--gtest_filter=Suite.Name"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
    }
    EXPECT_TRUE(trace::read_trace(trace_file()));
}

TEST_F(Failing, ReplaysItsTrace) {
    said(lose_a_connection, {});
    const Variable replay("HEDDLE_REPLAY", trace_file());
    const std::string text = said(lose_a_connection, {});
    EXPECT_NE(text.find("in_use == 0"), std::string::npos) << text;
    EXPECT_NE(text.find("reproduced, bit for bit the recorded run"), std::string::npos) << text;
}

TEST_F(Failing, KeepsEveryTraceUnderANameOfItsOwn) {
    said(lose_a_connection, {});
    said(lose_a_connection, {});
    EXPECT_TRUE(std::filesystem::exists(folder() + "/Suite.Name-2.trace.json"));
}

TEST_F(Failing, SaysWhenAReplayNoLongerFits) {
    said(expect_in_any_order, {});
    const Variable replay("HEDDLE_REPLAY", trace_file());
    const std::string text = said([] { spawn("other", [] { yield(); }).await(); }, {});
    EXPECT_NE(text.find("DIVERGED"), std::string::npos) << text;
}

TEST_F(Failing, FindsWhatOnlyAnExpectationOfGoogleTestSays) {
    const std::string text = said(expect_in_any_order, {});
    EXPECT_NE(text.find("VIOLATED EXPECT"), std::string::npos) << text;
    EXPECT_NE(text.find("\"ba\""), std::string::npos) << text;
}

TEST_F(Failing, NamesWhatIsWrongInTheEnvironment) {
    {
        const Variable seed("HEDDLE_SEED", "many");
        EXPECT_EQ(said([] {}, {}), "Failed\nHEDDLE_SEED: expected a number of 0..2^64-1, found 'many'");
    }
    {
        const Variable budget("HEDDLE_BUDGET", "2 weeks");
        EXPECT_EQ(said([] {}, {}), "Failed\nHEDDLE_BUDGET: expected a time as 2s, 500ms or 1m, found '2 weeks'");
    }
    const Variable replay("HEDDLE_REPLAY", folder() + "/nothing.json");
    EXPECT_NE(said([] {}, {}).find("nothing.json"), std::string::npos);
}

TEST_F(Failing, SearchesThatHaveToBeCompleteSayThatTheyAreNot) {
    PropertyOptions options;
    options.must_complete = true;
    options.schedules = 2;
    EXPECT_NE(said([] { two_clients(true); }, options).find("not complete"), std::string::npos);
}

/// Two coroutines add to one balance, and nobody says that they share it.
void two_deposits() {
    int balance = 0;
    const auto deposit = [&balance](int amount) {
        const int seen = balance;
        yield();
        balance = seen + amount;
    };
    auto early = spawn("early", [&] { deposit(5); });
    auto late = spawn("late", [&] {
        yield();
        yield();
        deposit(7);
    });
    early.await();
    late.await();
    sim::show_state(static_cast<std::uint64_t>(balance));
}

TEST_F(Failing, AReductionThatIsAuditedNamesWhoSharesUndeclared) {
    PropertyOptions options;
    options.order = trace::Order::any;
    options.reduction = sim::Reduction::source;
    EXPECT_EQ(said(two_deposits, options), "");
    options.audit_sharing = 1;
    const std::string text = said(two_deposits, options);
    EXPECT_NE(text.find("VIOLATED UNDECLARED-SHARING: main/"), std::string::npos) << text;
    EXPECT_NE(text.find("were taken to be independent; the other way round the program shows another state"), std::string::npos) << text;
    std::printf("%s\n", text.c_str());
}

HEDDLE_PROPERTY_TEST(Passing, CountsTracesWithAReduction, {.order = any, .must_complete = true, .reduction = optimal, .audit_sharing = 1}) {
    Shared<int> balance{0};
    auto a = spawn("a", [&] { balance += 5; });
    auto b = spawn("b", [&] { balance += 7; });
    a.await();
    b.await();
    sim::show_state(static_cast<std::uint64_t>(balance.get()));
    HEDDLE_CHECK(balance == 12);
}

HEDDLE_PROPERTY_TEST(Passing, KeepsItsCountUnderEverySchedule, {.order = any, .time = T2, .budget = 20s, .must_complete = true}) {
    two_clients(true);
}

HEDDLE_PROPERTY_TEST(Passing, NeedsNoOptions) {
    auto one = spawn("one", [] {
        sleep_for(1ms);
        return 1;
    });
    EXPECT_EQ(one.await(), 1);
}

struct Connection {
    int queries = 0;
    void query() {
        yield();
        ++queries;
    }
};

HEDDLE_PROPERTY_TEST(ConnectionPool, EveryLeaseComesBack, {.order = any, .time = T2, .budget = 2s}) {
    Pool<Connection> pool{{.max = 1, .factory = [] { return Connection{}; }}};
    auto a = spawn("a", [&] {
        try {
            auto lease = pool.acquire({.timeout = 5ms});
            lease->query();
        } catch (const TimeoutError&) {}
    });
    auto b = spawn("b", [&] {
        auto lease = pool.acquire();
        lease->query();
    });
    sim::anywhere([&] { a.cancel(); });  // a post that arrives at every point where it could; may cancel, not suspend
    try {
        await_all(a, b);  // both have ended when it returns or throws
    } catch (const Cancellation&) {}
    pool.acquire().release();          // waits for what a dropped lease gives back in the background
    HEDDLE_CHECK(pool.active_count() == 0);  // a failed check freezes this world and ends this schedule
}

}  // namespace
}  // namespace heddle::prop
