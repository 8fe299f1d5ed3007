// SPDX-License-Identifier: Apache-2.0
// The reduced search on small programs of the runtime itself: as many traces as they have, and what is said about redundant runs,
// violations and reactors.
#include "heddle/simreactor/explore/reduced_search.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <stdexcept>

#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/shared.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/known_counts.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

constexpr Reduction reductions[] = {Reduction::none, Reduction::source, Reduction::optimal};

Count count(const Program& program, Reduction reduction) {
    CountOptions options;
    options.reduction = reduction;
    options.count_traces = true;
    return count_traces(program, options);
}

/// n coroutines that each run `body`.
Program each(int n, std::function<void(int, Shared<int>&)> body) {
    return [n, body = std::move(body)] {
        const auto shared = std::make_shared<Shared<int>>(0);
        for (int i = 0; i < n; ++i) {
            spawn("t", [i, shared, body] { body(i, *shared); });
        }
    };
}

TEST(ReducedSearch, IndependentCoroutinesHaveOneTrace) {
    const Program program = each(4, [](int, Shared<int>&) { yield(); });
    EXPECT_EQ(count(program, Reduction::none).traces, 1U);
    EXPECT_EQ(count(program, Reduction::none).runs, 2520U);  // 8! / 2!^4
    for (const Reduction reduction : {Reduction::source, Reduction::optimal}) {
        const Count reduced = count(program, reduction);
        EXPECT_TRUE(reduced.complete);
        EXPECT_EQ(reduced.traces, 1U);
        EXPECT_EQ(reduced.runs, 1U);
    }
}

TEST(ReducedSearch, WritersOfOneCellHaveATraceForEachOrder) {
    for (const Reduction reduction : reductions) {
        const Count found = count(each(4, [](int i, Shared<int>& shared) { shared = i; }), reduction);
        EXPECT_TRUE(found.complete);
        EXPECT_EQ(found.traces, 24U) << to_string(reduction);
        EXPECT_EQ(found.redundant, 0U) << to_string(reduction);
    }
}

TEST(ReducedSearch, ReadersCommute) {
    const Program program = each(4, [](int i, Shared<int>& shared) {
        if (i == 0) {
            shared = 1;
        } else {
            static_cast<void>(shared.get());
        }
    });
    for (const Reduction reduction : reductions) { EXPECT_EQ(count(program, reduction).traces, 8U) << to_string(reduction); }
}

TEST(ReducedSearch, EveryAnswerOfAValueQuestionIsTried) {
    const Program program = each(2, [](int, Shared<int>& shared) {
        const std::uint32_t first = choose(3);
        const std::uint32_t second = first == 1 ? choose(2, "again") : 0;
        if (first > 0) { shared += static_cast<int>(first + second); }
    });
    std::set<std::uint64_t> traces;
    for (const Reduction reduction : reductions) {
        const Count found = count(program, reduction);
        EXPECT_TRUE(found.complete);
        // Four ways through each coroutine; of the 16 pairs 9 conflict and come in two orders.
        EXPECT_EQ(found.traces, 7U + 2U * 9U) << to_string(reduction);
    }
}

TEST(ReducedSearch, AWaitAndWhatEndsItComeInBothOrders) {
    const Program program = [] {
        const auto event = std::make_shared<Ref<OneShotEvent>>(OneShotEvent::make(current_runtime("test").scheduler(), "event"));
        spawn("waits", [event] { await_event(**event); });
        spawn("ends", [event] { (*event)->complete(); });
    };
    for (const Reduction reduction : reductions) { EXPECT_EQ(count(program, reduction).traces, 2U) << to_string(reduction); }
}

TEST(ReducedSearch, ACancellationComesBeforeBetweenAndAfterTheStepsOfItsTarget) {
    const Program program = [] {
        auto target = spawn("target", [] {
            yield();
            yield();
        });
        spawn("cancels", [target] { target.cancel(); });
    };
    for (const Reduction reduction : reductions) { EXPECT_EQ(count(program, reduction).traces, 4U) << to_string(reduction); }
}

TEST(ReducedSearch, AStepThatSleepsMayBeAnotherOneElsewhere) {
    // Where `first` is cancelled it writes nothing, so that no race of its tells that `last` could come between the two.
    const Program program = [] {
        const auto shared = std::make_shared<Shared<int>>(0);
        auto first = spawn("first", [shared] { *shared = 1; });
        spawn("last", [shared] {
            yield();
            *shared = 2;
        });
        spawn("cancels", [first] { first.cancel(); });
    };
    const std::uint64_t all = count(program, Reduction::none).traces;
    for (const Reduction reduction : {Reduction::source, Reduction::optimal}) { EXPECT_EQ(count(program, reduction).traces, all); }
}

TEST(ReducedSearch, AViolationIsFoundRecordedAndShrunk) {
    const Program program = [] {
        const auto shared = std::make_shared<Shared<int>>(0);
        const auto add = [shared] {
            const int read = *shared;
            yield();
            *shared = read + 1;
        };
        auto one = spawn("one", add);
        auto two = spawn("two", add);
        one.await();
        two.await();
        HEDDLE_CHECK(shared->get() == 2);
    };
    for (const Reduction reduction : reductions) {
        ExploreOptions options;
        options.order = trace::Order::any;
        options.reduction = reduction;
        const Report report = explore(program, options);
        ASSERT_TRUE(report.violation) << to_string(reduction);
        EXPECT_EQ(report.violation->invariant, "CHECK");
        EXPECT_FALSE(report.complete);
    }
}

TEST(ReducedSearch, WhereTheReactorIsAskedAsUsualAllStepsAreDependentAndTheAnswerStaysComplete) {
    const Program program = [] {
        for (int i = 0; i < 2; ++i) {
            spawn("sleeper", [] { sleep_for(1ms); });
        }
    };
    std::optional<std::uint64_t> traces;
    for (const Reduction reduction : reductions) {
        CountOptions options;
        options.reduction = reduction;
        options.count_traces = true;
        options.one_question = false;
        const Count found = count_traces(program, options);
        EXPECT_TRUE(found.complete) << to_string(reduction);
        EXPECT_FALSE(found.reduced);
        EXPECT_EQ(found.traces, traces.value_or(found.traces)) << to_string(reduction);
        traces = found.traces;
    }
    EXPECT_GT(*traces, 1U);
    EXPECT_EQ(count(program, Reduction::source).traces, 1U);  // as one question
}

TEST(ReducedSearch, ASearchThatIsNotDoneSaysHowLargeItIs) {
    for (const Reduction reduction : {Reduction::source, Reduction::optimal}) {
        ExploreOptions options;
        options.order = trace::Order::any;
        options.reduction = reduction;
        options.runs_max = 2500;  // of 5040
        const Report report = explore(each(7, [](int i, Shared<int>& shared) { shared = i; }), options);
        ASSERT_EQ(report.sizes.size(), 1U) << to_string(reduction);
        EXPECT_EQ(report.sizes[0].probes, 0U);
        EXPECT_GT(report.sizes[0].schedules.value, 2500);
        EXPECT_LT(report.sizes[0].schedules.value, 10'000) << to_string(reduction);
        EXPECT_LE(report.sizes[0].schedules.low, report.sizes[0].schedules.value);
        EXPECT_LE(report.sizes[0].schedules.value, report.sizes[0].schedules.high);
        options.runs_max = 10'000;
        EXPECT_TRUE(explore(each(7, [](int i, Shared<int>& shared) { shared = i; }), options).sizes.empty());
    }
}

TEST(ReducedSearch, TheSameSearchTwiceIsTheSame) {
    const Program program = each(3, [](int i, Shared<int>& shared) {
        const int read = shared;
        yield();
        if (read == i) { shared += 1; }
    });
    for (const Reduction reduction : reductions) {
        const Count one = count(program, reduction);
        const Count two = count(program, reduction);
        EXPECT_EQ(one.runs, two.runs);
        EXPECT_EQ(one.traces, two.traces);
        EXPECT_EQ(one.traces, count(program, Reduction::none).traces) << to_string(reduction);
    }
}

/// Two coroutines share a number that nobody declared; it shows who came first.
Program undeclared() {
    return [] {
        const auto number = std::make_shared<int>(0);
        spawn("writes", [number] { *number = 1; });
        spawn("reads", [number] {
            if (*number == 0) { throw std::runtime_error("too early"); }
        });
    };
}

TEST(ReducedSearch, FindsABugInPlainVariablesIfAllMemoryIsOneCell) {
    for (const Reduction reduction : {Reduction::source, Reduction::optimal}) {
        ExploreOptions options;
        options.order = trace::Order::any;
        options.reduction = reduction;
        options.shrink = false;
        const Report declared = explore(undeclared(), options);
        EXPECT_TRUE(declared.complete);
        EXPECT_EQ(declared.rests_on, "declared");
        EXPECT_EQ(declared.traces, 1U);
        options.sharing_any = true;
        const Report any = explore(undeclared(), options);
        EXPECT_EQ(any.rests_on, "any");
        ASSERT_TRUE(any.violation);
        EXPECT_EQ(any.violation->invariant, "UNHANDLED");
    }
}

}  // namespace
}  // namespace heddle::sim
