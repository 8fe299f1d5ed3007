// SPDX-License-Identifier: Apache-2.0
// Estimates against what is known exactly: distributions and trees small enough to be written down.
#include "heddle/simreactor/explore/residual_risk.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "heddle/core/base/label.hpp"
#include "heddle/simreactor/prng.hpp"

namespace heddle::sim {
namespace {

TEST(SampleTally, CountsWhatCameOnceAndTwice) {
    SampleTally tally;
    for (const std::uint64_t trace : {1, 2, 2, 3, 3, 3, 4}) { tally.add(trace); }
    EXPECT_EQ(tally.samples(), 7U);
    EXPECT_EQ(tally.distinct(), 4U);
    EXPECT_EQ(tally.once(), 2U);
    EXPECT_EQ(tally.twice(), 1U);
    EXPECT_DOUBLE_EQ(tally.unseen_mass().value, 2.0 / 7);
    EXPECT_DOUBLE_EQ(tally.distinct_at_least(), 4 + 2 * 1 / 4.0);
}

TEST(SampleTally, OfPartsAddedUpIsThatOfTheWhole) {
    SampleTally whole;
    SampleTally parts[2];
    Prng prng(3);
    for (int i = 0; i < 500; ++i) {
        const std::uint64_t trace = prng.below(200);
        whole.add(trace);
        parts[i % 2].add(trace);
    }
    SampleTally sum;
    for (const SampleTally& part : parts) {
        for (const SampleTally::Drawn& drawn : part.drawn()) { sum.add(drawn.trace, drawn.count); }
    }
    EXPECT_EQ(sum.samples(), 500U);
    EXPECT_EQ(sum.distinct(), whole.distinct());
    EXPECT_EQ(sum.once(), whole.once());
    EXPECT_EQ(sum.twice(), whole.twice());
    EXPECT_EQ(sum.unseen_mass().high, whole.unseen_mass().high);
}

TEST(SampleTally, KnowsNothingWithoutSamples) {
    const Estimate nothing = SampleTally{}.unseen_mass();
    EXPECT_EQ(nothing.low, 0);
    EXPECT_EQ(nothing.high, 1);
}

/// How often the interval holds the true mass of what was not drawn, over so many trials.
int covered(const std::vector<double>& chances, int samples, int trials, double shift) {
    Prng prng(17);
    int inside = 0;
    for (int trial = 0; trial < trials; ++trial) {
        SampleTally tally;
        std::set<std::size_t> seen;
        for (int i = 0; i < samples; ++i) {
            double at = static_cast<double>(prng.next() >> 11) / 9007199254740992.0;
            std::size_t trace = 0;
            while (trace + 1 < chances.size() && at >= chances[trace]) { at -= chances[trace++]; }
            tally.add(hash_mix(trace, 5));
            seen.insert(trace);
        }
        double unseen = 0;
        for (std::size_t trace = 0; trace < chances.size(); ++trace) { unseen += seen.count(trace) == 0 ? chances[trace] : 0; }
        const Estimate mass = tally.unseen_mass();
        inside += mass.low + shift <= unseen && unseen <= mass.high + shift ? 1 : 0;
    }
    return inside;
}

TEST(SampleTally, IntervalHoldsTheUnseenMassOfAUniformDistribution) {
    const std::vector<double> uniform(400, 1.0 / 400);
    EXPECT_GE(covered(uniform, 300, 400, 0), 360);
    EXPECT_LE(covered(uniform, 300, 400, 0.2), 20) << "an interval that is off would be noticed";
}

TEST(SampleTally, IntervalHoldsTheUnseenMassOfASkewedDistribution) {
    std::vector<double> skewed;
    double total = 0;
    for (int i = 1; i <= 1000; ++i) { total += 1.0 / i; }
    for (int i = 1; i <= 1000; ++i) { skewed.push_back(1.0 / i / total); }
    EXPECT_GE(covered(skewed, 500, 400, 0), 360);
}

TEST(SampleTally, WhatWasSeenOftenLeavesTheRuleOfThree) {
    SampleTally tally;
    for (int i = 0; i < 3'000; ++i) { tally.add(static_cast<std::uint64_t>(i % 3)); }
    const Estimate mass = tally.unseen_mass();
    EXPECT_EQ(mass.value, 0);
    EXPECT_NEAR(mass.high, 3.0 / 3'000, 1e-5);
    EXPECT_EQ(never_seen_at_most(0), 1);
}

TEST(SampleTally, ThinsWhatItKeepsAndKeepsTheRatios) {
    SampleTally small(64);
    SampleTally all;
    Prng prng(23);
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t trace = hash_mix(prng.below(10'000), 9);
        small.add(trace);
        all.add(trace);
    }
    EXPECT_FALSE(small.is_exact());
    EXPECT_TRUE(all.is_exact());
    EXPECT_NEAR(static_cast<double>(small.distinct()) / static_cast<double>(all.distinct()), 1, 0.5);
    EXPECT_LE(small.unseen_mass().low, all.unseen_mass().value);
    EXPECT_GE(small.unseen_mass().high, all.unseen_mass().value);
}

/// Leaves below a node: children of a node at `depth` number 1 + hash(path) % 3.
std::uint64_t children_of(std::uint64_t path) { return 1 + hash_mix(path, 77) % 3; }
std::uint64_t leaves_below(std::uint64_t path, int depth) {
    if (depth == 0) { return 1; }
    std::uint64_t leaves = 0;
    for (std::uint64_t child = 0; child < children_of(path); ++child) { leaves += leaves_below(hash_mix(path, child), depth - 1); }
    return leaves;
}
TreeEstimate probed(int probes, std::uint64_t seed, int depth) {
    TreeEstimate tree;
    Prng prng(seed);
    for (int probe = 0; probe < probes; ++probe) {
        std::uint64_t path = 1;
        double log_product = 0;
        for (int level = 0; level < depth; ++level) {
            const std::uint64_t children = children_of(path);
            log_product += std::log(static_cast<double>(children));
            path = hash_mix(path, prng.below(children));
        }
        tree.add(log_product);
    }
    return tree;
}

TEST(TreeEstimate, IsRightOnAverage) {
    const auto leaves = static_cast<double>(leaves_below(1, 12));
    EXPECT_NEAR(probed(20'000, 3, 12).leaves().value / leaves, 1, 0.05);
}

TEST(TreeEstimate, IntervalHoldsTheSizeOfAnUnevenTree) {
    const auto leaves = static_cast<double>(leaves_below(1, 12));
    int inside = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Estimate size = probed(64, seed, 12).leaves();
        inside += size.low <= leaves && leaves <= size.high ? 1 : 0;
    }
    EXPECT_GE(inside, 170);
}

TEST(TreeEstimate, IsExactWhereEveryPathIsAlike) {
    TreeEstimate tree;
    for (int i = 0; i < 8; ++i) { tree.add(std::log(1024.0)); }
    EXPECT_NEAR(tree.leaves().value, 1024, 1e-6);
    EXPECT_NEAR(tree.leaves().high, 1024, 1e-3);
}

TEST(TreeEstimate, SurvivesTreesThatNoNumberHolds) {
    TreeEstimate tree;
    for (int i = 0; i < 8; ++i) { tree.add(5000.0 + i); }
    EXPECT_TRUE(std::isinf(tree.leaves().value));
}

}  // namespace
}  // namespace heddle::sim
