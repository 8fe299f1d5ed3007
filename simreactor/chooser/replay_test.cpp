// SPDX-License-Identifier: Apache-2.0
// A replay meets its planned answers by label, and says in which of five ways a run is no longer the recorded one.
#include "heddle/simreactor/chooser/replay.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {
namespace {

struct Point {
    std::uint64_t at = 0;
    std::vector<Label> candidates;
    std::uint32_t count = 0;  // 0: as many as candidates
    ChoiceKind kind = ChoiceKind::ready;

    [[nodiscard]] ChoicePoint point() const {
        return {kind, Label{at}, count == 0 ? static_cast<std::uint32_t>(candidates.size()) : count, candidates};
    }
};

PlannedAnswer planned(const Point& point, std::uint32_t chosen) {
    const ChoicePoint asked = point.point();
    return {.at = point.at,
            .kind = point.kind,
            .chosen = chosen,
            .candidate = asked.candidates.empty() ? 0 : asked.candidates[chosen].value,
            .count = asked.count,
            .set_digest = trace::candidate_digest(asked.candidates)};
}

const Point a{.at = 1, .candidates = {Label{11}, Label{12}}};
const Point b{.at = 2, .candidates = {Label{21}, Label{22}, Label{23}}};
const Point c{.at = 3, .candidates = {}, .count = 4, .kind = ChoiceKind::value};
const Point other{.at = 9, .candidates = {Label{91}, Label{92}}};

TEST(ReplayChooser, GivesThePlannedAnswersAndZeroElsewhere) {
    ReplayChooser replay{{planned(a, 1), planned(c, 3)}};
    EXPECT_EQ(replay.choose(a.point()), 1U);
    EXPECT_EQ(replay.choose(b.point()), 0U);
    EXPECT_EQ(replay.choose(other.point()),
              0U);  // a point that the recorded run answered with 0, or an unrelated new one
    EXPECT_EQ(replay.choose(c.point()), 3U);
    replay.finish();
    EXPECT_FALSE(replay.diverged());
    EXPECT_EQ(replay.met(), 2U);
}

TEST(ReplayChooser, TellsAPointByItsKindToo) {
    ReplayChooser replay{{planned(a, 1)}};
    Point same_label = a;
    same_label.kind = ChoiceKind::timer;
    EXPECT_EQ(replay.choose(same_label.point()), 0U);
    EXPECT_EQ(replay.choose(a.point()), 1U);
}

TEST(ReplayChooser, FollowsTheCandidateNotTheIndex) {
    Point reordered = b;
    reordered.candidates = {Label{23}, Label{21}, Label{22}};
    ReplayChooser replay{{planned(b, 1)}};
    EXPECT_EQ(replay.choose(reordered.point()), 2U);  // candidate 22
    EXPECT_FALSE(replay.diverged());
}

TEST(ReplayChooser, ReportsAPointThatTheRunPassedBy) {
    std::vector<DivergenceKind> told;
    ReplayChooser replay{{planned(a, 1), planned(b, 2), planned(c, 1)},
                         {.on_divergence = [&](const Divergence& divergence) { told.push_back(divergence.kind); }}};
    EXPECT_EQ(replay.choose(a.point()), 1U);
    EXPECT_EQ(replay.choose(c.point()), 0U);  // strict: nothing is answered any more
    ASSERT_TRUE(replay.diverged());
    const Divergence& divergence = *replay.divergence();
    EXPECT_EQ(divergence.kind, DivergenceKind::label_missing);
    EXPECT_EQ(divergence.planned.at, b.at);
    EXPECT_EQ(divergence.before->at, a.at);
    EXPECT_EQ(divergence.after->at, c.at);
    EXPECT_EQ(divergence.found_at, c.at);
    EXPECT_EQ(told, std::vector{DivergenceKind::label_missing});
}

TEST(ReplayChooser, ReportsOtherCandidates) {
    // MUT-H6: an index taken without comparing the set "replays" a changed program silently to another end.
    Point changed = b;
    changed.candidates[0] = Label{77};
    ReplayChooser replay{{planned(b, 1)}};
    EXPECT_EQ(replay.choose(changed.point()), 0U);
    ASSERT_TRUE(replay.diverged());
    EXPECT_EQ(replay.divergence()->kind, DivergenceKind::set_differs);
    EXPECT_EQ(replay.divergence()->found_digest, trace::candidate_digest(changed.candidates));
}

TEST(ReplayChooser, ReportsAnotherNumberOfAlternatives) {
    Point wider = c;
    wider.count = 5;
    ReplayChooser replay{{planned(c, 1)}};
    EXPECT_EQ(replay.choose(wider.point()), 0U);
    ASSERT_TRUE(replay.diverged());
    EXPECT_EQ(replay.divergence()->kind, DivergenceKind::value_domain_changed);
    EXPECT_EQ(replay.divergence()->found_count, 5U);
}

TEST(ReplayChooser, ReportsOtherFootprints) {
    PlannedAnswer answer = planned(a, 1);
    answer.footprint = 5;
    std::uint32_t touched = 5;
    ReplayChooser same{{answer}, {.footprint = [&] { return touched; }}};
    EXPECT_EQ(same.choose(a.point()), 1U);
    EXPECT_FALSE(same.diverged());
    touched = 6;
    ReplayChooser different{{answer}, {.footprint = [&] { return touched; }}};
    EXPECT_EQ(different.choose(a.point()), 0U);
    ASSERT_TRUE(different.diverged());
    EXPECT_EQ(different.divergence()->kind, DivergenceKind::footprint_differs);
    EXPECT_EQ(different.divergence()->found_digest, 6U);
}

TEST(ReplayChooser, ReportsAnEndBeforeThePlanIsDone) {
    ReplayChooser replay{{planned(a, 1), planned(b, 1)}, {.points_expected = 10}};
    EXPECT_EQ(replay.choose(a.point()), 1U);
    replay.finish();
    replay.finish();
    ASSERT_EQ(replay.divergences().size(), 1U);
    EXPECT_EQ(replay.divergence()->kind, DivergenceKind::early_end);
    EXPECT_EQ(replay.divergence()->planned.at, b.at);
    EXPECT_EQ(replay.divergence()->before->at, a.at);
    EXPECT_FALSE(replay.divergence()->after);
}

TEST(ReplayChooser, CallsALabelMissingWhenTheRunWasAsLongAsBefore) {
    ReplayChooser replay{{planned(b, 1)}, {.points_expected = 1}};
    EXPECT_EQ(replay.choose(a.point()), 0U);
    replay.finish();
    EXPECT_EQ(replay.divergence()->kind, DivergenceKind::label_missing);
}

TEST(ReplayChooser, CarriesOnWithWhatStillFits) {
    Point wider = c;
    wider.count = 2;  // 3 is out of its range now
    Point grown = b;
    grown.candidates.insert(grown.candidates.begin(), Label{77});
    ReplayChooser replay{{planned(a, 1), planned(b, 1), planned(c, 3)}, {.mode = ReplayMode::carry_on}};
    EXPECT_EQ(replay.choose(grown.point()), 2U);  // candidate 22 has moved
    EXPECT_EQ(replay.choose(wider.point()), 0U);
    EXPECT_EQ(replay.choose(a.point()), 1U);  // late, but here
    replay.finish();
    std::vector<DivergenceKind> kinds;
    for (const Divergence& divergence : replay.divergences()) { kinds.push_back(divergence.kind); }
    EXPECT_EQ(kinds, (std::vector{DivergenceKind::label_missing, DivergenceKind::set_differs,
                                  DivergenceKind::value_domain_changed}));
}

TEST(ReplayChooser, LeavesOtherPointsToTheRest) {
    RandomChooser rest{4};
    RandomChooser alone{4};
    ReplayChooser replay{{planned(a, 1)}, {.mode = ReplayMode::carry_on, .rest = &rest}};
    for (std::uint64_t i = 100; i < 120; ++i) {
        const Point unplanned{.at = i, .candidates = {}, .count = 10, .kind = ChoiceKind::value};
        EXPECT_EQ(replay.choose(unplanned.point()), alone.choose(unplanned.point()));
    }
    EXPECT_EQ(replay.choose(a.point()), 1U);
}

TEST(Divergence, DescribesItselfWithNamesAndNeighbours) {
    LabelBook book;
    const Label main = book.root("main");
    const Point named{.at = book.point(main, "ready").value, .candidates = {Label{11}, Label{12}}};
    ReplayChooser replay{{planned(named, 1)}};
    replay.finish();
    const std::string text = replay.divergence()->describe(&book);
    EXPECT_EQ(text.rfind("early-end: expected ready at main:ready (answer 1 of 2", 0), 0U) << text;
    EXPECT_NE(text.find("before it the begin of the run, after it the end of the plan"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::sim
