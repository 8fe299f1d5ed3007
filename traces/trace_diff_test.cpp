// SPDX-License-Identifier: Apache-2.0
// The first divergence: that it is the first, that it is told with its neighbours, and that each kind is told from the
// others.
#include "heddle/traces/trace_diff.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "heddle/traces/testing/recorded_run.hpp"
#include "heddle/traces/testing/sample_trace.hpp"
#include "heddle/traces/trace_recorder.hpp"

namespace heddle::trace {
namespace {

using testing::full_trace;

Trace recorded(std::uint32_t answer, bool keep_events = true, int workers = 2) {
    LabelBook book;
    testing::AlwaysChooser chooser(answer);
    TraceRecorder recorder(&book, &chooser, {.keep_events = keep_events});
    testing::RecordedRun(book).play(recorder, recorder, workers);
    Outcome outcome;
    if (answer != 0) { outcome = {.kind = OutcomeKind::violation, .invariant = "CHECK", .message = "a job each"}; }
    return recorder.take({.scenario = "job/taken_once"}, outcome);
}

/// The divergence between the full sample and a changed copy of it.
std::optional<Divergence> after(const std::function<void(Trace&)>& change) {
    Trace changed = full_trace();
    change(changed);
    return diff(full_trace(), changed).divergence;
}

TEST(TraceDiff, FindsNoneBetweenEqualRuns) {
    const TraceDiff same = diff(recorded(1), recorded(1));
    EXPECT_TRUE(same.same_run());
    EXPECT_EQ(same.text(), "the same run\n");
    EXPECT_TRUE(diff(recorded(1), recorded(1, false)).same_run()) << "kept events are no difference";
}

TEST(TraceDiff, StopsAtTheFirstEventThatDiffersAndShowsItsNeighbours) {
    EXPECT_EQ(diff(recorded(0), recorded(1)).text(), R"(first divergence: choice-differs at /events/15
  the same until
    [12] 0  main/worker#2 parked sleep a=1
    [13] 0  main/worker#2 step_end footprint 9e2823be
    [14] 5ms  clock a=5000000
  expected  [15] 5ms  timer at loop:timer takes main/worker:sleep (0 of 0..1)
  found     [15] 5ms  timer at loop:timer takes main/worker#2:sleep (1 of 0..1) instead of main/worker:sleep
  then expected
    [16] 5ms  main/worker:sleep step_begin
    [17] 5ms  delivered main/worker:sleep a=1
    [18] 5ms  main/worker woken sleep
  then found
    [16] 5ms  main/worker#2:sleep step_begin
    [17] 5ms  delivered main/worker#2:sleep a=1
    [18] 5ms  main/worker#2 woken sleep
)");
}

TEST(TraceDiff, FallsBackToDecisionsWithoutEvents) {
    const auto divergence = diff(recorded(0, false), recorded(1, false)).divergence;
    ASSERT_TRUE(divergence);
    EXPECT_EQ(divergence->kind, DivergenceKind::choice);
    EXPECT_EQ(divergence->where, "/decisions/0");
    EXPECT_EQ(divergence->expected, "the end");
    EXPECT_EQ(divergence->found, "[0] timer at loop:timer takes main/worker#2:sleep (1 of 0..1)");
}

TEST(TraceDiff, FallsBackToCheckPointsWithoutDecisions) {
    const auto divergence = diff(recorded(0, false), recorded(0, false, 3)).divergence;
    ASSERT_TRUE(divergence);
    EXPECT_EQ(divergence->kind, DivergenceKind::hash);
    EXPECT_EQ(divergence->where, "/hash/check_points/3");
    EXPECT_EQ(divergence->expected, "the same events after event 4 and up to event 8");
}

TEST(TraceDiff, SaysEarlyEndWhereTheSecondRunIsAPrefix) {
    Trace shorter = recorded(0);
    shorter.events.pop_back();
    const auto divergence = diff(recorded(0), shorter).divergence;
    ASSERT_TRUE(divergence);
    EXPECT_EQ(divergence->kind, DivergenceKind::early_end);
    EXPECT_EQ(divergence->found, "the end");
    shorter.events_omitted = 1;
    EXPECT_TRUE(diff(recorded(0), shorter).same_run()) << "a limit of the recorder is not an end of the run";
}

TEST(TraceDiff, TellsTheKindsApart) {
    const auto kind = [](const std::function<void(Trace&)>& change) {
        const auto divergence = after(change);
        return divergence ? std::string(to_string(divergence->kind)) + " " + divergence->where : "none";
    };
    EXPECT_EQ(kind([](Trace& t) { t.events[3].b = 3; }), "set-differs /events/3");
    EXPECT_EQ(kind([](Trace& t) { t.events[2].footprint = 1; }), "footprint-differs /events/2");
    EXPECT_EQ(kind([](Trace& t) { t.events[1].who = "x"; }), "event-differs /events/1");
    EXPECT_EQ(kind([](Trace& t) { t.decisions[1].count = 9; }), "value-domain-changed /decisions/1");
    EXPECT_EQ(kind([](Trace& t) { t.decisions[0].set = 9; }), "set-differs /decisions/0");
    EXPECT_EQ(kind([](Trace& t) { t.decisions[0].footprint = 9; }), "footprint-differs /decisions/0");
    EXPECT_EQ(kind([](Trace& t) { t.decisions[1].choose = 1; }), "choice-differs /decisions/1");
    EXPECT_EQ(kind([](Trace& t) { t.decisions.pop_back(); }), "choice-differs /decisions/1");
    EXPECT_EQ(kind([](Trace& t) { t.hash.check_points[2].footprint = 9; }), "footprint-differs /hash/check_points/2");
    EXPECT_EQ(kind([](Trace& t) { t.hash.value = 9; }), "hash-differs /hash/value");
    EXPECT_EQ(kind([](Trace& t) { t.hash.events = 9; }), "event-differs /hash/events");
    EXPECT_EQ(kind([](Trace& t) { t.hash.events = 7; }), "early-end /hash/events");
    EXPECT_EQ(kind([](Trace& t) { t.outcome.invariant = "INV-X"; }), "outcome-differs /outcome");
    EXPECT_EQ(kind([](Trace& t) { t.outcome.end = Instant{1}; }), "outcome-differs /outcome");
    EXPECT_EQ(kind([](Trace& t) { t.constraints.values.clear(); }), "constraints-differ /constraints");
    EXPECT_EQ(kind([](Trace& t) { t.recipe.parameters.clear(); }), "recipe-differs /recipe/parameters");
    EXPECT_EQ(kind([](Trace& t) { t.outcome.line = 7, t.outcome.file = "moved.cpp"; }), "none");
    EXPECT_EQ(kind([](Trace& t) { t.recipe.seed = 7, t.recipe.strategy = "pct"; }), "none");
}

TEST(TraceDiff, NotesHowTheRunsWereFound) {
    Trace other = full_trace();
    other.recipe.seed = 7;
    other.recipe.order = Order::faithful;
    other.recipe.jitter = {};
    EXPECT_EQ(
        diff(full_trace(), other).text(),
        "note: seed: 18446744073709551615 / 7\nnote: order: any / faithful\nnote: jitter: 250us / 0\nthe same run\n");
}

}  // namespace
}  // namespace heddle::trace
