// SPDX-License-Identifier: Apache-2.0
// HEDDLE_PROPERTY_TEST_FOR as its users see it: values are drawn, the simplest that fail are told, and a replay draws the same.
#include "heddle/properties/rapidcheck.hpp"

#include <gtest/gtest-spi.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <string>

#include "heddle/traces/trace_file.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// Clients add to one total, each as many as it is told, and yield while they do. What was planted: from the second amount on that is above
/// two, the total is read before and written behind the yield.
void add_up(Between<1, 4> clients, const std::vector<Between<0, 9>>& amounts) {
    int total = 0;
    int expected = 0;
    std::vector<Coroutine<>> tasks;
    for (int i = 0; i < clients; ++i) {
        for (const int amount : amounts) { expected += amount; }
        tasks.push_back(spawn("client", [&] {
            for (const int amount : amounts) {
                if (amount > 2) {
                    const int before = total;
                    yield();
                    total = before + amount;
                } else {
                    yield();
                    total += amount;
                }
            }
        }));
    }
    for (const Coroutine<>& task : tasks) { task.await(); }
    HEDDLE_CHECK(total == expected);
}

/// Fails in one schedule of many: only if the second goes first.
void order_matters(bool two) {
    std::string order;
    auto a = spawn("a", [&] { order += 'a'; });
    auto b = spawn("b", [&] { order += 'b'; });
    a.await();
    b.await();
    EXPECT_TRUE(order == "ab" || !two);
}

class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    ~Variable() { ::unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
};

class Drawing : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "drawing." + testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    /// What the test says when it fails; empty if it passes.
    template <class... Args>
    std::string said(const char* parameters, void (*body)(Args...), PropertyOptions options = {}, CaseOptions cases = {}) const {
        const Variable traces("HEDDLE_TRACES", folder_);
        testing::TestPartResultArray parts;
        {
            const testing::ScopedFakeTestPartResultReporter in_place(
                testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &parts);
            run_property_for("Suite", "Name", detail::drawn_options(std::move(options), cases), parameters, body);
        }
        std::string text;
        for (int i = 0; i < parts.size(); ++i) { text += parts.GetTestPartResult(i).message(); }
        return text;
    }
    std::string said_of_sum() const { return said("(Between<1, 4> clients, const std::vector<Between<0, 9>>& amounts)", add_up); }
    [[nodiscard]] std::string trace_file() const { return folder_ + "/Suite.Name.trace.json"; }

private:
    std::string folder_;
};

void expect_in(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) { EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text; }
}

TEST_F(Drawing, TellsTheSimplestValuesThatFailWithTheirSchedule) {
    const std::string text = said_of_sum();
    expect_in(text, {"VIOLATED CHECK: expected total == expected", "  values   clients = 2, amounts = [3]\n", "drawn as case ",
                     "at first: clients = ", "What makes it happen", "HEDDLE_REPLAY=", "--gtest_filter=Suite.Name"});
}

TEST_F(Drawing, ReplaysATraceWithItsValues) {
    said_of_sum();
    const Variable replay("HEDDLE_REPLAY", trace_file());
    const Variable seed("HEDDLE_SEED", "99");  // the trace says with which seed
    expect_in(said_of_sum(), {"values   clients = 2, amounts = [3]", "reproduced, bit for bit the recorded run"});
}

TEST_F(Drawing, TraceSaysWhatWasDrawnAndHow) {
    said_of_sum();
    const Result<trace::Trace> trace = trace::read_trace(trace_file());
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->recipe.parameters.at("values"), "clients = 2, amounts = [3]");
    EXPECT_TRUE(trace->recipe.parameters.at("drawn").starts_with("seed 1, case "));
}

TEST_F(Drawing, SaysWhenATracesValuesAreNoLongerDrawn) {
    said_of_sum();
    const Variable replay("HEDDLE_REPLAY", trace_file());
    const std::string text = said("(bool two, int)", +[](bool, int) {});
    expect_in(text, {"the values of the trace (clients = 2, amounts = [3]) are no longer drawn"});
}

TEST_F(Drawing, RefusesATraceThatDoesNotSayHowItsValuesWereDrawn) {
    said_of_sum();
    Result<trace::Trace> trace = trace::read_trace(trace_file());
    ASSERT_TRUE(trace);
    const auto replayed = [&](const char* drawn) {
        trace->recipe.parameters["drawn"] = drawn;
        EXPECT_TRUE(trace::write_trace(trace_file(), *trace, trace::Overwrite::yes));
        const Variable replay("HEDDLE_REPLAY", trace_file());
        return said_of_sum();
    };
    for (const char* drawn : {"", "seed", "seed one, case 2, size 3", "case 2, seed 1, size 3", "seed 1, case 2, size 3, smaller 1",
                              "seed 1, case 2, size 3, simpler x", "seed 1, case 2, size -3"}) {
        expect_in(replayed(drawn), {"expected 'seed N, case N, size N'", "found '"});
    }
    expect_in(replayed("seed 1, case 0, size 0, simpler 4000"), {"are no longer drawn: it has none now"});
    trace->recipe.parameters.clear();
    EXPECT_TRUE(trace::write_trace(trace_file(), *trace, trace::Overwrite::yes));
    const Variable replay("HEDDLE_REPLAY", trace_file());
    expect_in(said_of_sum(), {"a trace without 'drawn' and 'values'"});
}

TEST_F(Drawing, ShrinksTheScheduleOfTheSimplestValues) {
    PropertyOptions options;
    options.order = trace::Order::any;
    options.strategy = sim::Strategy::random;
    const std::string text = said("(bool two)", order_matters, options);
    expect_in(text, {"VIOLATED EXPECT", "values   two = true", " to 1\n"});
    const Result<trace::Trace> trace = trace::read_trace(trace_file());
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->decisions.size(), 1U);
}

/// Two things are wrong: the larger values deadlock, the smaller ones break a check.
void deadlocks_or_breaks(Between<0, 20> number) {
    HEDDLE_CHECK(number < 5 || number >= 10);
    if (number >= 10) { FutureState<>().future().await(); }
}

TEST_F(Drawing, KeepsToWhatWasViolatedWhenItMakesValuesSimpler) {
    const std::string text = said("(Between<0, 20> number)", deadlocks_or_breaks);
    const bool check = text.find("VIOLATED CHECK") != std::string::npos;
    expect_in(text, {check ? "values   number = 5\n" : "values   number = 10\n"});
}

TEST_F(Drawing, DrawsTheSameFromTheSameSeed) {
    const auto drawn = [this](const char* seed) {
        const Variable variable("HEDDLE_SEED", seed);
        static std::string all;
        all.clear();
        EXPECT_EQ(said("(std::vector<int> numbers)", +[](std::vector<int> numbers) { all += rc::toString(numbers); }), "");
        return all;
    };
    EXPECT_EQ(drawn("3"), drawn("3"));
    EXPECT_NE(drawn("3"), drawn("4"));
}

TEST_F(Drawing, DrawsEveryNumberBetween) {
    static std::set<int> seen;
    EXPECT_EQ(said("(Between<-1, 3> number)", +[](Between<-1, 3> number) { seen.insert(number); }), "");
    EXPECT_EQ(seen, (std::set<int>{-1, 0, 1, 2, 3}));
}

TEST_F(Drawing, GrowsWithTheCases) {
    static std::vector<std::size_t> lengths;
    PropertyOptions options;
    options.order = trace::Order::faithful;
    const auto body = +[](std::vector<bool> flags) { lengths.push_back(flags.size()); };
    EXPECT_EQ(said("(std::vector<bool> flags)", body, options, {.cases = 40, .size_max = 7}), "");
    ASSERT_GE(lengths.size(), 40U);
    EXPECT_EQ(lengths.front(), 0U);
    EXPECT_LE(*std::ranges::max_element(lengths), 7U);
    EXPECT_GE(*std::ranges::max_element(lengths), 3U);
}

struct Impossible {};
}  // namespace
}  // namespace heddle::prop

template <>
struct rc::Arbitrary<heddle::prop::Impossible> {
    static rc::Gen<heddle::prop::Impossible> arbitrary() {
        return rc::gen::suchThat(rc::gen::construct<heddle::prop::Impossible>(), [](const auto&) { return false; });
    }
};

namespace heddle::prop {
namespace {

TEST_F(Drawing, FailsWithoutAnyCase) {
    expect_in(said("(Impossible thing)", +[](Impossible) {}), {"Suite.Name: no values could be drawn"});
    expect_in(said("(int one)", +[](int) {}, {}, {.cases = 0}), {"cases: expected at least 1, found none"});
}

TEST_F(Drawing, SaysThatASearchWasNotComplete) {
    PropertyOptions options;
    options.schedules = 3;
    options.must_complete = true;
    expect_in(said("(Between<2, 3> n)", +[](Between<2, 3> n) {
        std::vector<Coroutine<>> tasks;
        for (int i = 0; i < n; ++i) { tasks.push_back(spawn("task", [] { yield(); })); }
        for (const Coroutine<>& task : tasks) { task.await(); }
    }, options, {.cases = 4}), {"the search is complete for 0 of 4 cases"});
}

TEST(ArgumentNames, AreTheLastWordsOfParameters) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(detail::argument_names("(int clients, std::vector<int> sizes)", 2), (Names{"clients", "sizes"}));
    EXPECT_EQ(detail::argument_names("(const std::map<int, std::pair<int, int>>& by_number, Between<1, 3> n )", 2),
              (Names{"by_number", "n"}));
    EXPECT_EQ(detail::argument_names("(int, std::string, const char* text)", 3), (Names{"argument 1", "argument 2", "text"}));
}

HEDDLE_PROPERTY_TEST_FOR(ForAll, TakesNoOptions, (int a, int b)) { HEDDLE_CHECK(a + b == b + a); }

HEDDLE_PROPERTY_TEST_FOR(ForAll, KeepsASum, (Between<1, 3> clients, const std::vector<Between<0, 2>>& amounts),
                         {.order = any, .budget = 2s, .bound = 2}, {.cases = 20, .size_max = 4}) {
    std::vector<Between<0, 9>> small;
    for (const int amount : amounts) { small.push_back({amount}); }
    add_up({clients}, small);
}

}  // namespace
}  // namespace heddle::prop
