// SPDX-License-Identifier: Apache-2.0
// Properties whose sources are compiled with hooks (heddle_add_simulation(… INSTRUMENT …)): plain variables, no annotation, and a reduced
// search that says it is complete.
#include <gtest/gtest-spi.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "heddle/properties/gtest.hpp"

namespace {

using heddle::prop::PropertyOptions;

struct Account {
    int balance = 0;
    std::vector<std::string> journal{};

    void deposit(int amount) {
        const int seen = balance;
        heddle::yield();  // writes the journal somewhere else, say
        balance = seen + amount;
        journal.push_back("deposit of " + std::to_string(amount));
    }
};

void two_deposits_without_a_lock() {
    const auto account = std::make_unique<Account>();
    auto early = heddle::spawn("early", [&] { account->deposit(5); });
    auto late = heddle::spawn("late", [&] {
        heddle::yield();
        heddle::yield();
        account->deposit(7);
    });
    early.await();
    late.await();
    HEDDLE_CHECK(account->balance == 12);
}

HEDDLE_PROPERTY_TEST(Account, KeepsEveryDeposit, {.order = any, .must_complete = true, .reduction = source}) {
    Account account;
    heddle::Mutex mutex;
    const auto deposit = [&](int amount) {
        const heddle::Lock lock{mutex};
        account.deposit(amount);
    };
    auto early = heddle::spawn("early", [&] { deposit(5); });
    auto late = heddle::spawn("late", [&] { deposit(7); });
    early.await();
    late.await();
    HEDDLE_CHECK(account.balance == 12);
    EXPECT_EQ(account.journal.size(), 2U);
}

/// What a property says when it fails; empty if it passes.
std::string said(void (*body)(), const PropertyOptions& options) {
    const std::string folder = testing::TempDir() + "instrumented_test";
    std::filesystem::create_directories(folder);
    ::setenv("HEDDLE_TRACES", folder.c_str(), 1);
    testing::TestPartResultArray parts;
    {
        const testing::ScopedFakeTestPartResultReporter in_place(
            testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
        heddle::prop::run_property({"Account", "LosesADeposit", options, body});
    }
    ::unsetenv("HEDDLE_TRACES");
    std::filesystem::remove_all(folder);
    std::string text;
    for (int i = 0; i < parts.size(); ++i) { text += parts.GetTestPartResult(i).message(); }
    return text;
}

TEST(Instrumented, AReducedSearchFindsALostUpdateOfAPlainMember) {
    PropertyOptions options;
    options.order = heddle::trace::Order::any;
    options.reduction = heddle::sim::Reduction::optimal;
    const std::string text = said(two_deposits_without_a_lock, options);
    EXPECT_NE(text.find("account->balance == 12"), std::string::npos) << text;
    EXPECT_NE(text.find("HEDDLE_REPLAY="), std::string::npos) << text;
}

}  // namespace
