// SPDX-License-Identifier: Apache-2.0
// The recorder: what ends up in a trace, what the hash sees, and that the run never notices.
#include "heddle/traces/trace_recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <string>
#include <vector>

#include "heddle/traces/testing/recorded_run.hpp"
#include "heddle/traces/testing/sample_trace.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::trace {
namespace {

using testing::AlwaysChooser;
using testing::RecordedRun;

const Recipe recipe{.scenario = "job/taken_once"};
const Outcome violated{.kind = OutcomeKind::violation, .invariant = "CHECK"};

Trace recorded(std::uint32_t answer, RecorderOptions options, int workers = 2) {
    LabelBook book;
    AlwaysChooser chooser(answer);
    TraceRecorder recorder(&book, &chooser, options);
    RecordedRun(book).play(recorder, recorder, workers);
    return recorder.take(recipe, answer == 0 ? Outcome{} : violated);
}

TEST(TraceRecorder, HandsOnWhatTheInnerChooserAnswers) {
    const std::array<Label, 3> candidates{Label{1}, Label{2}, Label{3}};
    const ChoicePoint point{.kind = ChoiceKind::dispatch, .at = Label{9}, .count = 3, .candidates = candidates};
    for (std::uint32_t answer = 0; answer < 3; ++answer) {
        AlwaysChooser inner(answer);
        TraceRecorder recorder(nullptr, &inner);
        EXPECT_EQ(recorder.choose(point), answer);
    }
    TraceRecorder alone(nullptr);
    EXPECT_EQ(alone.choose(point), 0U);
}

TEST(TraceRecorder, RecordsDeviationsFromTheBaselineAlone) {
    EXPECT_TRUE(recorded(0, {}).decisions.empty());
    const Trace trace = recorded(1, {});
    ASSERT_EQ(trace.decisions.size(), 1U);
    const Decision& decision = trace.decisions[0];
    EXPECT_EQ(decision.at, "loop:timer");
    EXPECT_EQ(decision.kind, ChoiceKind::timer);
    EXPECT_EQ(decision.choose, 1U);
    EXPECT_EQ(decision.count, 2U);
    EXPECT_EQ(decision.candidate, "main/worker#2:sleep");
    const std::array<Label, 2> swapped{LabelBook::of("main/worker#2:sleep"), LabelBook::of("main/worker:sleep")};
    EXPECT_EQ(decision.set, candidate_digest(swapped)) << "a set has no order";
    EXPECT_NE(decision.footprint, 0U);
    EXPECT_EQ(trace.outcome.choices, 1U);
}

TEST(TraceRecorder, KeepsEventsAndChoicesWithTheirTexts) {
    const Trace trace = recorded(1, {.keep_events = true});
    ASSERT_EQ(trace.events.size(), trace.hash.events);
    EXPECT_EQ(trace.events[2], (TraceEvent{.kind = EventKind::spawned, .who = "main/worker", .a = 2}));
    const auto is_choice = [](const TraceEvent& event) { return event.kind.is_choice(); };
    const auto choice = std::find_if(trace.events.begin(), trace.events.end(), is_choice);
    ASSERT_NE(choice, trace.events.end());
    EXPECT_EQ(*choice, (TraceEvent{.at = Instant{5'000'000},
                                   .kind = ChoiceKind::timer,
                                   .who = "loop:timer",
                                   .what = "main/worker#2:sleep",
                                   .a = 1,
                                   .b = 2,
                                   .note = "main/worker:sleep"}));
    EXPECT_EQ(from_json(to_json(trace), "t.json")->events, trace.events);
}

TEST(TraceRecorder, PutsTheFootprintOfAStepOnItsEnd) {
    const Trace trace = recorded(1, {.keep_events = true});
    std::vector<std::uint32_t> footprints;
    for (const TraceEvent& event : trace.events) {
        if (event.kind.is(EventKind::step_end)) {
            footprints.push_back(event.footprint);
        } else {
            EXPECT_EQ(event.footprint, 0U);
        }
    }
    ASSERT_EQ(footprints.size(), 6U);
    EXPECT_EQ(footprints[0], 0U) << "main touches nothing";
    EXPECT_NE(footprints[1], 0U);
    EXPECT_NE(footprints[1], footprints[2]) << "each worker arms a timer of its own";
}

TEST(TraceRecorder, GivesTheSameHashWhetherOrNotEventsAreKept) {
    const Trace kept = recorded(1, {.keep_events = true});
    const Trace bare = recorded(1, {});
    const Trace few = recorded(1, {.keep_events = true, .events_max = 5});
    EXPECT_EQ(kept.hash, bare.hash);
    EXPECT_EQ(kept.hash, few.hash);
    EXPECT_TRUE(bare.events.empty());
    EXPECT_EQ(few.events.size(), 5U);
    EXPECT_EQ(few.events_omitted, few.hash.events - 5);
    EXPECT_EQ(to_json(recorded(1, {.keep_events = true})), to_json(kept)) << "equal runs, equal text";
}

TEST(TraceRecorder, HashesEveryPartOfAnEvent) {
    const auto hash_of = [](const Event& event) {
        TraceRecorder recorder(nullptr);
        recorder.on_event(event);
        return recorder.hash();
    };
    const Event event{
        .kind = EventKind::parked, .at = Instant{1}, .who = Label{2}, .what = Label{3}, .a = 4, .b = 5, .note = "n"};
    std::vector<Event> others(7, event);
    others[0].kind = EventKind::woken;
    others[1].at = Instant{2};
    others[2].who = Label{3};
    others[3].what = Label{2};
    others[4].a = 5;
    others[5].b = 4;
    others[6].note = "m";
    std::set<std::uint64_t> hashes{hash_of(event)};
    for (const Event& other : others) { hashes.insert(hash_of(other)); }
    EXPECT_EQ(hashes.size(), 8U);
}

TEST(TraceRecorder, HashesAnswersAndDomainsOfChoices) {
    const auto hash_of = [](std::uint32_t answer, std::uint32_t count, std::uint64_t at, ChoiceKind kind) {
        AlwaysChooser chooser(answer);
        TraceRecorder recorder(nullptr, &chooser);
        recorder.choose({.kind = kind, .at = Label{at}, .count = count});
        return recorder.hash();
    };
    const std::set<std::uint64_t> hashes{hash_of(0, 3, 1, ChoiceKind::value), hash_of(1, 3, 1, ChoiceKind::value),
                                         hash_of(0, 4, 1, ChoiceKind::value), hash_of(0, 3, 2, ChoiceKind::value),
                                         hash_of(0, 3, 1, ChoiceKind::fault)};
    EXPECT_EQ(hashes.size(), 5U);
}

TEST(TraceRecorder, SetsCheckPointsAtPowersOfTwo) {
    const Trace trace = recorded(1, {}, 50);
    std::uint64_t next = 1;
    for (const CheckPoint& point : trace.hash.check_points) {
        EXPECT_EQ(point.events, next);
        next *= 2;
    }
    EXPECT_GT(next, trace.hash.events);
    EXPECT_EQ(trace.hash.check_points.size(), static_cast<std::size_t>(std::bit_width(trace.hash.events)));
}

TEST(TraceRecorder, SaysAtWhichStepAndInWhomItWasViolated) {
    const Trace trace = recorded(1, {});
    EXPECT_EQ(trace.outcome.step, 7U);
    EXPECT_EQ(trace.outcome.steps, 7U);
    EXPECT_EQ(trace.outcome.who, "main/worker");
    EXPECT_EQ(trace.outcome.end, Instant{5'000'000});
    EXPECT_EQ(recorded(0, {}).outcome.step, 0U);
}

TEST(TraceRecorder, ForgetsARunOnReset) {
    LabelBook book;
    AlwaysChooser chooser(1);
    TraceRecorder recorder(&book, &chooser, {.keep_events = true});
    RecordedRun(book).play(recorder, recorder, 5);
    recorder.reset();
    book.reset();
    RecordedRun(book).play(recorder, recorder);
    EXPECT_EQ(recorder.take(recipe, violated), recorded(1, {.keep_events = true}));
}

TEST(TraceRecorder, LooksLabelsUpInEveryBook) {
    LabelBook first;
    LabelBook second;
    const Label there = second.root("there");
    TraceRecorder recorder(&first);
    EXPECT_EQ(recorder.text(there).front(), '?');
    recorder.add_book(second);
    EXPECT_EQ(recorder.text(there), "there");
    EXPECT_EQ(recorder.text(Label{}), "");
}

}  // namespace
}  // namespace heddle::trace
