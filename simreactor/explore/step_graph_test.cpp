// SPDX-License-Identifier: Apache-2.0
// Steps, clocks and races on streams made by hand.
#include "heddle/simreactor/explore/step_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/simreactor/explore/wakeup_tree.hpp"

namespace heddle::sim {
namespace {

constexpr Cell x{101};
constexpr Cell y{102};

class Graph : public ::testing::Test {
protected:
    StepGraph graph;
    Pid a = graph.pid_of(Label{11});
    Pid b = graph.pid_of(Label{12});
    Pid c = graph.pid_of(Label{13});

    StepIndex step(Pid pid, std::vector<Touch> touches, std::vector<Pid> enables = {}) {
        graph.begin(pid);
        for (const Touch& at : touches) { graph.touch(at.cell, at.mode); }
        for (const Pid target : enables) { graph.enable(target); }
        graph.end();
        return graph.size() - 1;
    }
    [[nodiscard]] std::vector<Race> races(StepIndex from = 0) const {
        const std::span<const Race> all = graph.races_from(from);
        return {all.begin(), all.end()};
    }
};

using StepGraphOf = Graph;

TEST_F(StepGraphOf, ProgramOrderIsNoRace) {
    const StepIndex first = step(a, {{x, TouchMode::write}});
    const StepIndex second = step(a, {{x, TouchMode::write}});
    EXPECT_TRUE(graph.happens_before(first, second));
    EXPECT_FALSE(graph.happens_before(second, first));
    EXPECT_EQ(graph.ordinal(second), 2U);
    EXPECT_TRUE(races().empty());
}

TEST_F(StepGraphOf, ConflictingModesRaceAndTheOthersDoNot) {
    using enum TouchMode;
    struct Case {
        TouchMode one, other;
        bool race;
    };
    for (const Case& at : {Case{read, read, false}, Case{read, write, true}, Case{write, read, true}, Case{write, write, true},
                           Case{add, add, false}, Case{set, set, false}, Case{max, max, false}, Case{add, read, true},
                           Case{add, set, true}, Case{add, write, true}, Case{max, read, true}, Case{give, give, false},
                           Case{give, take, false}, Case{take, take, false}, Case{give, write, false}}) {
        graph.truncate(0);
        step(a, {{x, at.one}});
        step(b, {{x, at.other}});
        EXPECT_EQ(races().size(), at.race ? 1U : 0U) << to_string(at.one) << ' ' << to_string(at.other);
    }
}

TEST_F(StepGraphOf, AThirdStepInBetweenOrdersTheTwo) {
    step(a, {{x, TouchMode::write}});
    step(b, {{x, TouchMode::write}});
    step(c, {{x, TouchMode::write}});
    // a and c are ordered by b: only neighbours race.
    EXPECT_EQ(races(), (std::vector<Race>{{0, 1}, {1, 2}}));
    EXPECT_TRUE(graph.happens_before(0, 2));
}

TEST_F(StepGraphOf, AWriterRacesWithAllReadersSinceTheLastWrite) {
    step(a, {{x, TouchMode::write}});
    step(b, {{x, TouchMode::read}});
    step(c, {{x, TouchMode::read}});
    const Pid d = graph.pid_of(Label{14});
    step(d, {{x, TouchMode::write}});
    EXPECT_EQ(races(3), (std::vector<Race>{{2, 3}, {1, 3}}));
}

TEST_F(StepGraphOf, WhatMadeAStepPossibleIsNoRaceWithIt) {
    step(a, {{x, TouchMode::write}}, {b});
    step(b, {{x, TouchMode::write}});
    EXPECT_TRUE(graph.happens_before(0, 1));
    EXPECT_TRUE(races().empty());
    // The edge is for the next step of b alone; what follows from it stays.
    step(a, {{y, TouchMode::write}});
    step(b, {{y, TouchMode::write}});
    EXPECT_EQ(races(), (std::vector<Race>{{2, 3}}));
}

TEST_F(StepGraphOf, WhoTakesFollowsAllWhoGave) {
    step(a, {{x, TouchMode::give}, {y, TouchMode::write}});
    step(b, {{x, TouchMode::give}});
    step(c, {{x, TouchMode::take}, {y, TouchMode::write}});
    EXPECT_TRUE(graph.happens_before(0, 2));
    EXPECT_TRUE(graph.happens_before(1, 2));
    EXPECT_FALSE(graph.happens_before(0, 1));
    EXPECT_TRUE(races().empty());
}

TEST_F(StepGraphOf, TwoModesOnOneCellConflictWithEverything) {
    step(a, {{x, TouchMode::add}, {x, TouchMode::set}});
    step(b, {{x, TouchMode::add}});
    EXPECT_EQ(races().size(), 1U);
    EXPECT_EQ(graph.feet(0).feet.size(), 1U);
}

TEST_F(StepGraphOf, TakingBackLeavesWhatTheOlderStepsMeant) {
    step(a, {{x, TouchMode::write}}, {c});
    step(b, {{y, TouchMode::write}});
    const std::uint64_t digest = graph.digest();
    for (int i = 0; i < 3; ++i) {
        step(c, {{x, TouchMode::write}, {y, TouchMode::read}}, {b});
        EXPECT_EQ(races(2), (std::vector<Race>{{1, 2}}));
        step(b, {{x, TouchMode::read}});
        EXPECT_TRUE(races(3).empty());
        graph.truncate(2);
        EXPECT_EQ(graph.digest(), digest);
        EXPECT_EQ(graph.last_of(c), no_step);
    }
}

TEST_F(StepGraphOf, TwoLinearisationsOfOneTraceHaveOneDigest) {
    step(a, {{x, TouchMode::write}});
    step(b, {{y, TouchMode::write}});
    const std::uint64_t one = graph.digest();
    graph.truncate(0);
    step(b, {{y, TouchMode::write}});
    step(a, {{x, TouchMode::write}});
    EXPECT_EQ(graph.digest(), one);
    graph.truncate(0);
    step(a, {{x, TouchMode::write}});
    step(b, {{x, TouchMode::write}});
    const std::uint64_t first = graph.digest();
    graph.truncate(0);
    step(b, {{x, TouchMode::write}});
    step(a, {{x, TouchMode::write}});
    EXPECT_NE(graph.digest(), first);
    EXPECT_NE(graph.digest(), one);
}

TEST_F(StepGraphOf, ClocksGrowWithTheProcesses) {
    for (std::uint64_t i = 0; i < 40; ++i) { step(graph.pid_of(Label{100 + i}), {{x, TouchMode::write}}); }
    EXPECT_EQ(races().size(), 39U);
    EXPECT_TRUE(graph.happens_before(0, 39));
}

TEST_F(StepGraphOf, AReversalIsWhatDoesNotFollowAndThenTheSecondStep) {
    step(a, {{x, TouchMode::write}});           // e
    step(b, {{y, TouchMode::write}});           // independent of e
    step(a, {{Cell{103}, TouchMode::write}});   // follows e
    step(c, {{x, TouchMode::write}});           // k
    step(b, {{y, TouchMode::write}});           // independent of both
    ASSERT_EQ(races(3), (std::vector<Race>{{0, 3}}));
    Reversal reversal;
    reversal.build(graph, {0, 3}, graph.size());
    ASSERT_EQ(reversal.end(), 3U);
    EXPECT_EQ(reversal.step(0), 1U);
    EXPECT_EQ(reversal.step(1), 4U);
    EXPECT_EQ(reversal.step(2), 3U);
    EXPECT_TRUE(reversal.is_initial(0));
    EXPECT_FALSE(reversal.is_initial(2));  // ⊤ until it has run
    EXPECT_FALSE(reversal.is_independent({}));
    reversal.build(graph, {0, 3}, 4);
    EXPECT_EQ(reversal.end(), 2U);
}

TEST_F(StepGraphOf, AStatementKeepsTheReversedStepKnown) {
    step(a, {{x, TouchMode::write}});
    step(b, {{y, TouchMode::write}});
    graph.begin(c);
    graph.state(x, TouchMode::write);
    graph.touch(x, TouchMode::read);
    graph.end();
    Reversal reversal;
    reversal.build(graph, {0, 2}, graph.size());
    ASSERT_EQ(reversal.end(), 2U);
    EXPECT_TRUE(reversal.is_initial(1));
    EXPECT_TRUE(reversal.is_independent({}));
    const Foot reads{graph.cell_number(x), TouchMode::read};
    EXPECT_FALSE(reversal.is_independent({std::span(&reads, 1), Footprint::bit(reads.cell)}));
}

TEST_F(StepGraphOf, AStepThatFollowsAllIsNoRaceWithAny) {
    step(a, {{x, TouchMode::write}});
    step(b, {{y, TouchMode::write}});
    graph.begin(c);
    graph.follow_all();
    graph.touch(x, TouchMode::write);
    graph.end();
    EXPECT_EQ(races().size(), 0U);
    EXPECT_TRUE(graph.happens_before(0, 2));
    EXPECT_TRUE(graph.happens_before(1, 2));
}

TEST_F(StepGraphOf, AForestGivesOutWhatStandsBelowABranch) {
    step(a, {{x, TouchMode::write}});
    step(b, {{y, TouchMode::write}});
    step(c, {{x, TouchMode::write}});
    Reversal reversal;
    reversal.build(graph, {0, 2}, graph.size());  // b, c
    WakeupForest forest;
    WakeupTree tree;
    const auto no_answers = [](StepIndex) { return Answers{}; };
    EXPECT_EQ(forest.insert(tree, reversal, no_answers), std::optional<std::size_t>(0));
    reversal.build(graph, {0, 2}, graph.size());
    EXPECT_EQ(forest.insert(tree, reversal, no_answers), std::nullopt);
    forest.add(tree, a);
    forest.add(tree, b);  // known
    const auto pids = [&](const WakeupTree& of) {
        std::vector<Pid> found;
        forest.for_each(of, [&](const WakeupForest::Branch& branch) {
            found.push_back(branch.pid);
            return true;
        });
        return found;
    };
    EXPECT_EQ(pids(tree), (std::vector<Pid>{b, a}));
    WakeupTree below = forest.take(tree, b, {});
    EXPECT_EQ(pids(below), (std::vector<Pid>{c}));
    EXPECT_TRUE(forest.take(tree, b, {}).empty());
    forest.remove(tree, b);
    EXPECT_EQ(pids(tree), (std::vector<Pid>{a}));
    forest.clear(tree);
    forest.clear(below);
    EXPECT_TRUE(tree.empty() && below.empty());
}

TEST_F(StepGraphOf, AnotherCellThanTheStatedOneIsRefused) {
    graph.begin(a);
    graph.state(x, TouchMode::write);
    graph.touch(y, TouchMode::read);
    EXPECT_DEATH(graph.end(), "SG5");
}

}  // namespace
}  // namespace heddle::sim
