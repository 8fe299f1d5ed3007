// SPDX-License-Identifier: Apache-2.0
// fifo, random, delay and audit. (Replay has a test of its own.)
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "heddle/simreactor/chooser/audit.hpp"
#include "heddle/simreactor/chooser/bytes.hpp"
#include "heddle/simreactor/chooser/delay.hpp"
#include "heddle/simreactor/chooser/fifo.hpp"
#include "heddle/simreactor/chooser/random.hpp"

namespace heddle::sim {
namespace {

/// Asks `points` times for one of `count`.
std::vector<std::uint32_t> walk(Chooser& chooser, std::size_t points, std::uint32_t count,
                                ChoiceKind kind = ChoiceKind::ready) {
    std::vector<std::uint32_t> answers;
    for (std::size_t i = 0; i < points; ++i) {
        answers.push_back(chooser.choose({.kind = kind, .at = Label{i + 1}, .count = count, .candidates = {}}));
    }
    return answers;
}

std::size_t deviations(const std::vector<std::uint32_t>& answers) {
    return static_cast<std::size_t>(std::ranges::count_if(answers, [](std::uint32_t a) { return a != 0; }));
}

TEST(ChoiceMask, IsASetOfKinds) {
    constexpr ChoiceMask timers{ChoiceKind::timer, ChoiceKind::late};
    EXPECT_TRUE(timers.has(ChoiceKind::late));
    EXPECT_FALSE(timers.has(ChoiceKind::ready));
    EXPECT_TRUE(timers.with(ChoiceKind::ready).has(ChoiceKind::ready));
    EXPECT_FALSE(ChoiceMask::all().without(ChoiceKind::poll).has(ChoiceKind::poll));
    EXPECT_TRUE(ChoiceMask::all().has(ChoiceKind::node));
    EXPECT_EQ(ChoiceMask::none(), ChoiceMask{});
}

TEST(FifoChooser, IsTheBaseline) {
    FifoChooser chooser;
    EXPECT_EQ(deviations(walk(chooser, 20, 5)), 0U);
}

TEST(RandomChooser, TakesEveryAlternativeAboutEquallyOften) {
    RandomChooser chooser{1};
    std::vector<int> counts(3);
    for (const std::uint32_t answer : walk(chooser, 30'000, 3)) { ++counts.at(answer); }
    for (const int count : counts) {
        EXPECT_GT(count, 9'500);
        EXPECT_LT(count, 10'500);
    }
}

TEST(RandomChooser, AnswersAlikeForOneSeed) {
    RandomChooser chooser{17};
    const std::vector<std::uint32_t> first = walk(chooser, 50, 4);
    chooser.begin(17);
    EXPECT_EQ(walk(chooser, 50, 4), first);
    chooser.begin(18);
    EXPECT_NE(walk(chooser, 50, 4), first);
}

TEST(DelayChooser, DeviatesAtMostKTimes) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        DelayChooser chooser{{.seed = seed, .deviations_max = 3, .length_estimate = 10}};
        EXPECT_EQ(deviations(walk(chooser, 40, 3)), 3U);
        EXPECT_EQ(chooser.deviations(), 3U);
        EXPECT_EQ(chooser.points(), 40U);
    }
}

TEST(DelayChooser, DeviatesLessInARunThatIsShorterThanItsEstimate) {
    std::set<std::size_t> seen;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        DelayChooser chooser{{.seed = seed, .deviations_max = 2, .length_estimate = 8}};
        seen.insert(deviations(walk(chooser, 4, 3)));
    }
    EXPECT_EQ(seen, (std::set<std::size_t>{0, 1, 2}));
}

TEST(DelayChooser, ReachesEverySetOfPositionsAndEveryAlternative) {
    std::set<std::vector<std::uint32_t>> runs;
    for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
        DelayChooser chooser{{.seed = seed, .deviations_max = 2, .length_estimate = 4}};
        runs.insert(walk(chooser, 4, 3));
    }
    EXPECT_EQ(runs.size(), 6U * 2 * 2);  // C(4, 2) positions, two alternatives besides 0 at each
}

TEST(DelayChooser, WorksOnProgramsOfNoAndOfOnePoint) {
    // BUG-173: a strategy that draws its change points from an empty range.
    DelayChooser nothing{{.seed = 1, .deviations_max = 2, .length_estimate = 0}};
    EXPECT_EQ(deviations(walk(nothing, 0, 2)), 0U);
    DelayChooser one{{.seed = 1, .deviations_max = 2, .length_estimate = 1}};
    EXPECT_EQ(walk(one, 1, 2), (std::vector<std::uint32_t>{1}));
    DelayChooser none{{.seed = 1, .deviations_max = 0, .length_estimate = 5}};
    EXPECT_EQ(deviations(walk(none, 5, 2)), 0U);
}

TEST(AuditChooser, CountsWhatWasOfferedAndTaken) {
    RandomChooser random{3};
    AuditChooser audit{&random};
    const std::vector<std::uint32_t> answers = walk(audit, 100, 3);
    EXPECT_EQ(audit.asked(ChoiceKind::ready), 100U);
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(audit.count(ChoiceKind::ready, i).taken, static_cast<std::uint64_t>(std::ranges::count(answers, i)));
        EXPECT_EQ(audit.count(ChoiceKind::ready, i).offered, 100U);
    }
    EXPECT_EQ(audit.count(ChoiceKind::ready, 3).offered, 0U);
}

TEST(AuditChooser, NamesTheCellsThatWereNeverTaken) {
    // MUT-H8: a weight of zero leaves a cell empty that was offered.
    FifoChooser fifo;
    AuditChooser audit{&fifo};
    static_cast<void>(walk(audit, 5, 2, ChoiceKind::req_cancel));
    const ChoiceMask kinds{ChoiceKind::req_cancel, ChoiceKind::close};
    const std::vector<AuditChooser::EmptyCell> expected{{ChoiceKind::close, 0, 0}, {ChoiceKind::req_cancel, 1, 5}};
    EXPECT_EQ(audit.empty_cells(kinds), expected);
    EXPECT_NE(audit.report(kinds).find("never taken: close (never asked) req_cancel=1 (offered 5)"), std::string::npos)
        << audit.report(kinds);
}

TEST(AuditChooser, AddsUpTheAuditsOfPartsOfACampaign) {
    FifoChooser fifo;
    AuditChooser one{&fifo};
    RandomChooser random{5};
    AuditChooser two{&random};
    static_cast<void>(walk(one, 10, 2));
    static_cast<void>(walk(two, 50, 2));
    one.merge(two);
    EXPECT_EQ(one.asked(ChoiceKind::ready), 60U);
    EXPECT_TRUE(one.empty_cells({ChoiceKind::ready}).empty());
}

TEST(AuditChooser, PutsLateAlternativesIntoOneColumn) {
    RandomChooser random{5};
    AuditChooser audit{&random};
    static_cast<void>(walk(audit, 1'000, 50));
    EXPECT_GT(audit.count(ChoiceKind::ready, AuditChooser::alternatives_max - 1).taken, 500U);
}

TEST(BytesChooser, MakesAScheduleOfAnyBytesAndTheBaselineOfNone) {
    const std::vector<std::uint8_t> bytes{7, 0, 255, 1, 2, 3, 4, 5, 6};
    BytesChooser chooser(bytes);
    EXPECT_EQ(chooser.choose({ChoiceKind::value, Label{1}, 4, {}}), 3U);
    EXPECT_EQ(chooser.choose({ChoiceKind::value, Label{1}, 2, {}}), 0U);
    EXPECT_EQ(chooser.choose({ChoiceKind::value, Label{1}, 256, {}}), 255U);
    EXPECT_EQ(chooser.choose({ChoiceKind::value, Label{1}, 1000, {}}), 0x201U % 1000);
    EXPECT_EQ(chooser.used(), 5U);
    EXPECT_EQ(chooser.choose({ChoiceKind::value, Label{1}, 100'000, {}}), 0x06050403U % 100'000);
    for (int i = 0; i < 10; ++i) { EXPECT_EQ(chooser.choose({ChoiceKind::value, Label{1}, 3, {}}), 0U); }
    EXPECT_EQ(chooser.used(), bytes.size());
}

}  // namespace
}  // namespace heddle::sim
