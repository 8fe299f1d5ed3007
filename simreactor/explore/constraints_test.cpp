// SPDX-License-Identifier: Apache-2.0
// Constraints: what a failure needs is found, is little, and brings it about again in a program that was edited.
#include "heddle/simreactor/explore/constraints.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/shared.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/cell_names.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

/// One that uses a thing, and one that closes it: the bug is that nothing keeps the second from coming first.
struct Edits {
    bool bystander = false;   ///< a coroutine was added, in front of the others
    int user_yields = 0;      ///< suspension points were added
    int closer_yields = 0;
    bool logger = false;      ///< another coroutine of the first version that has nothing to do with it
    bool closer = true;
};

Program use_after_close(const Edits& edits) {
    return [edits] {
        const auto open = std::make_shared<Shared<bool>>(true, "open");
        const auto lines = std::make_shared<Shared<int>>(0, "lines");
        if (edits.bystander) {
            spawn("bystander", [lines] {
                yield();
                *lines = 1;
                yield();
            });
        }
        if (edits.logger) {
            spawn("logger", [lines] { *lines = lines->get() + 1; });
        }
        spawn("user", [open, edits] {
            for (int i = 0; i <= edits.user_yields; ++i) { yield(); }
            HEDDLE_CHECK(open->get());
        });
        if (edits.closer) {
            spawn("closer", [open, edits] {
                for (int i = 0; i <= edits.closer_yields + 1; ++i) { yield(); }
                *open = false;
            });
        }
    };
}

trace::Trace found_in(const Program& program) {
    ExploreOptions options;
    options.order = trace::Order::any;
    const Report report = explore(program, options);
    EXPECT_EQ(report.violations.size(), 1U);
    return report.violations.empty() ? trace::Trace{} : report.violations.front().trace;
}

AdaptiveResult adaptively(const Program& program, const trace::Trace& trace) {
    Result<AdaptiveResult> result = replay_adaptively({program}, trace);
    EXPECT_TRUE(result);
    return *std::move(result);
}

std::string text_of(const trace::Constraints& constraints) {
    std::string text;
    for (const trace::OrderConstraint& order : constraints.order) { text += order.before + " before " + order.after + "\n"; }
    for (const trace::ValueConstraint& value : constraints.values) { text += value.at + " answers " + std::to_string(value.choose) + "\n"; }
    return text;
}

constexpr const char* the_race = "main/closer @ main/open.value #1 before main/user @ main/open.value #1\n";

TEST(Constraints, SayWhichStepHasToComeFirst) {
    EXPECT_EQ(text_of(found_in(use_after_close({.logger = true})).constraints), the_race);
}

TEST(Constraints, SurviveEditsThatTheDecisionsDoNot) {
    const trace::Trace trace = found_in(use_after_close({.logger = true}));
    const Edits edits[] = {
        {.logger = true},
        {.bystander = true, .logger = true},
        {.closer_yields = 3, .logger = true},
        {.user_yields = 2, .logger = true},
        {.user_yields = 5, .closer_yields = 5, .logger = true},
        {.logger = false},
        {.bystander = true, .user_yields = 1, .logger = false},
    };
    std::size_t by_decisions = 0;
    for (const Edits& edit : edits) {
        const Program edited = use_after_close(edit);
        const AdaptiveResult adaptive = adaptively(edited, trace);
        EXPECT_TRUE(adaptive.replay.reproduced) << "bystander " << edit.bystander << ", yields " << edit.user_yields << " " << edit.closer_yields;
        EXPECT_TRUE(adaptive.unmet.empty());
        by_decisions += replay(edited, {}, {}, trace).reproduced ? 1 : 0;
    }
    EXPECT_LT(by_decisions, std::size(edits));
}

TEST(Constraints, ThatCannotBeMetAreNamedAndHoldNobodyForEver) {
    const trace::Trace trace = found_in(use_after_close({}));
    const AdaptiveResult without = adaptively(use_after_close({.closer = false}), trace);
    EXPECT_FALSE(without.replay.reproduced);
    EXPECT_EQ(without.replay.trace.outcome.kind, trace::OutcomeKind::ok);
    ASSERT_EQ(without.unmet.size(), 1U);
    EXPECT_EQ(without.unmet.front() + "\n", the_race);
}

TEST(Constraints, AgainstEachOtherLetTheFirstInBaselineOrderGo) {
    trace::Trace trace = found_in(use_after_close({}));
    std::swap(trace.constraints.order.front().before, trace.constraints.order.front().after);
    trace.constraints.order.push_back({trace.constraints.order.front().after, trace.constraints.order.front().before});
    const AdaptiveResult both = adaptively(use_after_close({}), trace);
    EXPECT_EQ(both.unmet.size(), 1U);
}

TEST(Constraints, KeepTheAnswersThatTheFailureNeeds) {
    const Program program = [] {
        const std::uint32_t which = choose(4, "which");
        static_cast<void>(choose(2, "unimportant"));
        HEDDLE_CHECK(which != 2);
    };
    const trace::Trace trace = found_in(program);
    EXPECT_EQ(text_of(trace.constraints), "main:which answers 2\n");
    EXPECT_TRUE(adaptively(program, trace).replay.reproduced);
}

TEST(Constraints, OfABaselineFailureAreNone) {
    const Program program = [] { HEDDLE_CHECK(false); };
    const trace::Trace trace = found_in(program);
    EXPECT_TRUE(trace.constraints.empty());
    EXPECT_TRUE(adaptively(program, trace).replay.reproduced);
}

TEST(Constraints, ThatCannotBeReadAreRefusedByTheirPlace) {
    trace::Trace trace = found_in(use_after_close({}));
    for (const std::string wrong : {"main/user", "main/user @ open #1", "main/user @ main/open.value", "main/user @ main/open.value #0",
                                    "main/user @ main/open.value #x", " @ main/open.value #1", "main/user @ cell.xyz #1",
                                    "main/user @ main/open.slot[ #1", "main/user @ main/open.slot[] #1"}) {
        trace.constraints.order.front().after = wrong;
        const Result<AdaptiveResult> result = replay_adaptively({use_after_close({})}, trace);
        ASSERT_FALSE(result) << wrong;
        EXPECT_EQ(result.error().text(),
                  "/constraints/order/0/after: expected \"<coroutine> @ <cell> #<which>\", found \"" + wrong + "\"");
    }
}

TEST(CellNames, AreReadBackAsTheCellsTheyName) {
    LabelBook book;
    const Label channel = book.child(book.root("main"), "channel");
    CellNames names;
    names.learn(book);
    EXPECT_EQ(names.text(cell(channel, "tail")), "main/channel.tail");
    EXPECT_EQ(names.text(cell(channel, "slot", 3)), "main/channel.slot[3]");
    const Cell nobodys = cell(channel, "no such field");
    for (const Cell one : {cell(channel, "tail"), cell(channel, "slot", 3), nobodys}) {
        EXPECT_EQ(CellNames::cell_of(names.text(one)), one) << names.text(one);
    }
    EXPECT_EQ(names.text(nobodys).substr(0, 5), "cell.");
}

}  // namespace
}  // namespace heddle::sim
