// SPDX-License-Identifier: Apache-2.0
// Properties of shrinking (H-SHRINK): it ends, with a smaller trace that still fails, and nothing in it can be left out.
//
//   BUG-170  a shrinker that accepts what is no smaller goes round for ever     BUG-171  one that refuses empty parts keeps useless ones
//
// Against predicates made of data, of up to 200 deviations, and against real programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/minimize.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/prng.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using Decisions = std::vector<trace::Decision>;

constexpr std::uint64_t budget = 100'000;

trace::Trace trace_of(Decisions decisions) {
    trace::Trace trace;
    trace.decisions = std::move(decisions);
    return trace;
}

/// `count` deviations, each answered with `answer` of more alternatives.
trace::Trace failing(std::size_t count, std::uint32_t answer = 1) {
    Decisions decisions;
    for (std::size_t i = 0; i < count; ++i) {
        trace::Decision decision;
        decision.at = "point#" + std::to_string(i);
        decision.choose = answer;
        decision.count = answer + 2;
        decisions.push_back(decision);
    }
    return trace_of(std::move(decisions));
}

bool has(const Decisions& decisions, const std::string& at) {
    return std::ranges::any_of(decisions, [&](const trace::Decision& one) { return one.at == at; });
}

/// A predicate that leaves the candidate as it was asked.
sim::TryDecisions if_fails(std::function<bool(const Decisions&)> fails) {
    return [fails = std::move(fails)](const Decisions& candidate) -> std::optional<trace::Trace> {
        if (!fails(candidate)) { return std::nullopt; }
        return trace_of(candidate);
    };
}

TEST(Shrinking, EndsWithNothingWhereEveryDeletionStillFails) {
    const sim::MinimizeResult result = sim::minimize(failing(200), if_fails([](const Decisions&) { return true; }), budget);
    EXPECT_TRUE(result.trace.decisions.empty());
    EXPECT_FALSE(result.budget_spent);
    EXPECT_LE(result.runs, 200U);
}

TEST(Shrinking, EndsWithEverythingWhereNoDeletionFails) {
    const trace::Trace trace = failing(200);
    const sim::MinimizeResult result =
        sim::minimize(trace, if_fails([&](const Decisions& candidate) { return candidate.size() == 200; }), budget);
    EXPECT_EQ(result.trace.decisions, trace.decisions);
    EXPECT_FALSE(result.budget_spent);
    EXPECT_LE(result.runs, 1'000U);  // halves, quarters, … single ones, once each
}

TEST(Shrinking, EndsOnASymmetricFailure) {
    // Whatever is left out, the run that fails leaves as many deviations as before, others in turn: two traces of one size alternate.
    const trace::Trace trace = failing(20, 3);
    std::uint64_t turn = 0;
    const sim::TryDecisions attempt = [&](const Decisions&) -> std::optional<trace::Trace> {
        Decisions decisions = trace.decisions;
        std::rotate(decisions.begin(), decisions.begin() + static_cast<std::ptrdiff_t>(++turn % decisions.size()), decisions.end());
        return trace_of(std::move(decisions));
    };
    const sim::MinimizeResult result = sim::minimize(trace, attempt, budget);
    EXPECT_FALSE(result.budget_spent) << "went round for " << result.runs << " runs";
    EXPECT_EQ(result.trace.decisions, trace.decisions);
    EXPECT_LE(result.runs, 1'000U);
}

TEST(Shrinking, EndsOnAFlakyFailure) {  // 200 seeds: fails with one chance in two, and leaves more, as many or fewer deviations
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        sim::Prng prng{seed};
        const trace::Trace trace = failing(30, 4);
        const sim::TryDecisions attempt = [&](const Decisions& candidate) -> std::optional<trace::Trace> {
            if (prng.chance({1, 2})) { return std::nullopt; }
            Decisions left = candidate;
            for (std::uint64_t more = prng.below(3); more > 0; --more) {
                left.push_back(trace.decisions[prng.below(trace.decisions.size())]);
            }
            return trace_of(std::move(left));
        };
        const sim::MinimizeResult result = sim::minimize(trace, attempt, budget);
        ASSERT_FALSE(result.budget_spent) << "seed " << seed;
        ASSERT_LE(sim::size_of(result.trace.decisions), sim::size_of(trace.decisions)) << "seed " << seed;
    }
}

TEST(Shrinking, AcceptsNothingThatIsNotSmaller) {  // each accepted trace is strictly smaller than the one before it
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        sim::Prng prng{seed};
        const trace::Trace trace = failing(12, 5);
        // Once it has shown a trace, it never fails for one that is as large again: a shrinker that took an equal one would be stuck
        // with it, and one that descends ends at a smallest one.
        std::vector<sim::DecisionSize> shown{sim::size_of(trace.decisions)};
        const sim::TryDecisions attempt = [&](const Decisions& candidate) -> std::optional<trace::Trace> {
            Decisions left = candidate;
            if (prng.chance({1, 3}) && !left.empty()) { left.front().choose = 5; }
            shown.push_back(sim::size_of(left));
            return trace_of(std::move(left));
        };
        const sim::MinimizeResult result = sim::minimize(trace, attempt, budget);
        ASSERT_FALSE(result.budget_spent) << "seed " << seed;
        ASSERT_EQ(sim::size_of(result.trace.decisions), std::ranges::min(shown)) << "seed " << seed;
    }
}

TEST(Shrinking, KeepsToItsBudget) {
    std::uint64_t runs = 0;
    const sim::TryDecisions never = [&](const Decisions&) -> std::optional<trace::Trace> {
        ++runs;
        return std::nullopt;
    };
    const sim::MinimizeResult result = sim::minimize(failing(200), never, 10);
    EXPECT_TRUE(result.budget_spent);
    EXPECT_EQ(result.runs, 10U);
    EXPECT_EQ(runs, 10U);
    EXPECT_EQ(result.trace.decisions.size(), 200U);
}

TEST(Shrinking, KeepsExactlyWhatTheFailureNeeds) {  // 500 random sets of needed deviations and answers
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        sim::Prng prng{seed};
        const trace::Trace trace = failing(prng.between(1, 60), 4);
        Decisions needed;
        for (const trace::Decision& decision : trace.decisions) {
            if (!prng.chance({1, 8})) { continue; }
            needed.push_back(decision);
            needed.back().choose = static_cast<std::uint32_t>(prng.between(1, 4));
        }
        const auto fails = [&](const Decisions& candidate) {
            return std::ranges::all_of(needed, [&](const trace::Decision& one) {
                return std::ranges::any_of(candidate, [&](const trace::Decision& at) { return at.at == one.at && at.choose >= one.choose; });
            });
        };
        const sim::MinimizeResult result = sim::minimize(trace, if_fails(fails), budget);
        ASSERT_EQ(sim::size_of(result.trace.decisions), sim::size_of(needed)) << "seed " << seed;
        for (const trace::Decision& one : needed) { ASSERT_TRUE(has(result.trace.decisions, one.at)) << "seed " << seed; }
    }
}

/// Fails only if `a` is cancelled at one of its waits; what `b` and `c` do, and how often, has nothing to do with it.
void needs_one_coroutine_and_a_cancellation() {
    bool in_use = false;
    auto a = spawn("a", [&] {
        yield();
        in_use = true;
        yield();
        in_use = false;
    });
    const auto busy = [] {
        for (int i = 0; i < 4; ++i) {
            for (std::uint32_t rounds = sim::choose(3, "rounds"); rounds > 0; --rounds) { yield(); }
        }
    };
    auto b = spawn("b", busy);
    auto c = spawn("c", busy);
    sim::anywhere([&] { a.cancel(); }, "cancel a");
    EventSource* const inputs[] = {&a.core(), &b.core(), &c.core()};
    static_cast<void>(await_collect(inputs, {}));
    HEDDLE_CHECK(!in_use);
}

TEST(Shrinking, LeavesOutCoroutinesThatTheFailureDoesNotNeed) {  // BUG-171: 20 seeds, with what a random walk found
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        sim::ExploreOptions options;
        options.strategy = sim::Strategy::random;
        options.order = trace::Order::any;
        options.seed = seed;
        options.runs_max = 10'000;
        options.shrink_runs_max = budget;
        const sim::Report report = sim::explore(needs_one_coroutine_and_a_cancellation, options);
        ASSERT_TRUE(report.violation) << "seed " << seed;
        const trace::Trace& shrunk = report.violation->trace;
        EXPECT_LT(shrunk.decisions.size(), report.violation->decisions_found);
        const sim::Program program = needs_one_coroutine_and_a_cancellation;
        const sim::ReplayResult same = sim::replay(program, {}, {}, shrunk);
        EXPECT_TRUE(same.reproduced && same.same_hash) << same.divergence_text;
        for (std::size_t i = 0; i < shrunk.decisions.size(); ++i) {
            EXPECT_EQ(shrunk.decisions[i].at.find("rounds"), std::string::npos) << "seed " << seed << ": " << shrunk.decisions[i].at;
            trace::Trace without = shrunk;
            without.decisions.erase(without.decisions.begin() + static_cast<std::ptrdiff_t>(i));
            sim::ReplayOptions loose;
            loose.mode = sim::ReplayMode::carry_on;
            const sim::ReplayResult result = sim::replay(program, {}, {}, without, loose);
            EXPECT_FALSE(result.trace.outcome.same_end(shrunk.outcome) &&
                         sim::size_of(result.trace.decisions) < sim::size_of(shrunk.decisions))
                << "seed " << seed << ": " << shrunk.decisions[i].at << " could be left out";
        }
    }
}

}  // namespace
}  // namespace heddle::prop
