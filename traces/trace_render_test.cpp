// SPDX-License-Identifier: Apache-2.0
// The timeline, compared as text: what people read is the contract.
#include "heddle/traces/trace_render.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/traces/testing/recorded_run.hpp"
#include "heddle/traces/testing/sample_trace.hpp"
#include "heddle/traces/trace_recorder.hpp"
#include "heddle/traces/trace_text.hpp"

namespace heddle::trace {
namespace {

Trace recorded(std::uint32_t answer, int workers = 2, bool keep_events = true) {
    LabelBook book;
    testing::AlwaysChooser chooser(answer);
    TraceRecorder recorder(&book, &chooser, {.keep_events = keep_events});
    testing::RecordedRun(book).play(recorder, recorder, workers);
    const Recipe recipe{.scenario = "job/taken_once", .parameters = {{"workers", std::to_string(workers)}}, .seed = 7};
    if (answer == 0) { return recorder.take(recipe, {}); }
    return recorder.take(recipe, {.kind = OutcomeKind::violation,
                                  .invariant = "CHECK",
                                  .message = "every worker finds a job",
                                  .file = "job.cpp",
                                  .line = 12,
                                  .mode = "faithful+jitter"});
}

std::size_t widest_line(const std::string& text) {
    std::size_t widest = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        widest = std::max(widest, columns_of(std::string_view(text).substr(at, end - at)));
        at = end + 1;
    }
    return widest;
}

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(TraceRender, TellsAViolationAsOneColumnPerCoroutine) {
    EXPECT_EQ(render(recorded(1), {.width = 100}), R"(job/taken_once:workers=2  seed 7  fifo  faithful  T1
violation of CHECK at step 7 in main/worker (faithful+jitter): every worker finds a job
  job.cpp:12

    step  time  loop                 main                 worker               worker#2
       1  0                          starts
                                     spawns worker
                                     spawns worker#2      |
                                     parks: await_all     |                    |
       2                             :                    starts               |
                                     :                    parks: sleep         |
       3                             :                    :                    starts
                                     :                    :                    parks: sleep
  == timer takes worker#2:sleep instead of worker:sleep   (1 of 0..1 at loop:timer)
       4  5ms   delivers worker#2:sleep                   :                    :
                                     :                    :                    <- woken: sleep
       5        delivers worker:sleep                     :                    |
                                     :                    <- woken: sleep      |
       6                             :                    |                    resumes
                                     :                    |                    takes the job
                                     :                    |                    finishes
       7                             :                    resumes
                                     :                    finds no job
  >>> VIOLATED CHECK: every worker finds a job

  | ready   : parked   <- done to it by another   == not the baseline's choice

7 steps, 1 choices, 1 not the baseline's, ended at 5ms
)");
}

TEST(TraceRender, ShowsOnlyStepsAndChoicesWhenAskedTo) {
    EXPECT_EQ(render(recorded(1), {.width = 100, .detail = Detail::steps}),
              R"(job/taken_once:workers=2  seed 7  fifo  faithful  T1
violation of CHECK at step 7 in main/worker (faithful+jitter): every worker finds a job
  job.cpp:12

    step  time  loop                 main                 worker               worker#2
       1  0                          runs
       2                             :                    runs                 |
       3                             :                    :                    runs
  == timer takes worker#2:sleep instead of worker:sleep   (1 of 0..1 at loop:timer)
       4  5ms   runs worker#2:sleep  :                    :                    :
       5        runs worker:sleep    :                    :                    |
       6                             :                    |                    runs
       7                             :                    runs
  >>> VIOLATED CHECK: every worker finds a job

  | ready   : parked   <- done to it by another   == not the baseline's choice

7 steps, 1 choices, 1 not the baseline's, ended at 5ms
)");
}

TEST(TraceRender, TellsEverythingWhenAskedTo) {
    const std::string text = render(recorded(1), {.width = 100, .detail = Detail::everything});
    EXPECT_NE(text.find("clock a=5000000"), std::string::npos) << text;
    EXPECT_NE(text.find("step_end"), std::string::npos) << text;
}

TEST(TraceRender, ListsDecisionsWhereNoEventsWereKept) {
    const std::string text = render(recorded(1, 2, false), {});
    EXPECT_NE(text.find("no events were recorded; where it left the baseline:\n"
                        "  == timer at loop:timer takes main/worker#2:sleep (1 of 0..1)\n"),
              std::string::npos)
        << text;
}

TEST(TraceRender, LetsManyCoroutinesShareAColumnAndStaysInItsWidth) {
    for (const std::size_t width : {std::size_t{60}, std::size_t{80}, std::size_t{120}}) {
        const std::string text = render(recorded(1, 40), {.width = width, .rows_max = 0});
        EXPECT_LE(widest_line(text), width) << text;
        EXPECT_NE(text.find("others"), std::string::npos);
        EXPECT_NE(text.find("spawns worker#40"), std::string::npos) << text;
        // The two that the choice and the violation speak of keep columns of their own wherever three fit.
        if (width > 60) { EXPECT_NE(text.find("worker#2  "), std::string::npos) << text; }
    }
}

TEST(TraceRender, ShortensLongRunsAroundWhatMatters) {
    const Trace trace = recorded(1, 2'000);
    const std::string text = render(trace, {});
    EXPECT_LE(lines_of(text), 120U + 12U) << text;
    EXPECT_NE(text.find("lines not shown"), std::string::npos);
    EXPECT_NE(text.find("== timer takes worker#2:sleep instead of worker:sleep"), std::string::npos) << text;
    EXPECT_NE(text.find(">>> VIOLATED CHECK"), std::string::npos);
    EXPECT_EQ(render(trace, {.rows_max = 0}).find("lines not shown"), std::string::npos);
}

TEST(TraceRender, NamesTheConstraintsThatMakeItHappen) {
    const std::string text = render(testing::full_trace(), {});
    EXPECT_NE(
        text.find("it happens whenever\n  main/b:acquire  before  main/a:release\n  fault at main/a:fault answers 3\n"),
        std::string::npos)
        << text;
    EXPECT_NE(text.find("... 2 later events were not recorded ..."), std::string::npos) << text;
}

TEST(TraceRender, KeepsTerminalsSafe) {
    Trace trace = recorded(1);
    trace.outcome.message = "\x1b[2J\nnext\x7f";
    trace.events[0].who = trace.events[1].who = "\x1b]0;x\x07";
    const std::string text = render(trace, {.detail = Detail::everything});
    EXPECT_EQ(text.find_first_of("\x1b\x07\x7f"), std::string::npos);
}

TEST(TraceText, SpellsTimesExactly) {
    const auto text = [](std::int64_t ns) { return spelled(Instant{ns}); };
    EXPECT_EQ(text(0), "0");
    EXPECT_EQ(text(1), "1ns");
    EXPECT_EQ(text(999), "999ns");
    EXPECT_EQ(text(1'000), "1us");
    EXPECT_EQ(text(1'001), "1.001us");
    EXPECT_EQ(text(1'250'000), "1.25ms");
    EXPECT_EQ(text(1'000'001), "1000.001us");
    EXPECT_EQ(text(90'000'000'000), "90s");
    EXPECT_EQ(text(90'000'000'001), "90000000.001us");
    EXPECT_EQ(spelled(Instant::never()), "never");
}

TEST(TraceText, CutsAtCodePoints) {
    EXPECT_EQ(cut_to("h\xc3\xa9llo", 5), "h\xc3\xa9llo");
    EXPECT_EQ(cut_to("h\xc3\xa9llo", 3), "h\xc3\xa9~");
    EXPECT_EQ(columns_of("h\xc3\xa9llo"), 5U);
    EXPECT_EQ(relative("main/a:sleep#2", "main/a"), "sleep#2");
    EXPECT_EQ(relative("main/ab:sleep", "main/a"), "main/ab:sleep");
}

}  // namespace
}  // namespace heddle::trace
