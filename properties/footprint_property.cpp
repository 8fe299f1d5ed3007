// SPDX-License-Identifier: Apache-2.0
// Brute force as judge of the reduced searches, and of the footprints that they rest on (oracle/trace_judge.hpp).
//
//   generated programs · one program per runtime object ──▶ none, source, optimal: same traces, same histories, same ends
//   the same with touches of one kind of cell hidden     ──▶ the judge says so
//
// Bounds: stated at each test, in programs and schedules, never in seconds. The seed is fixed (HEDDLE_SEED sets another).
#include <gtest/gtest.h>

#include <rapidcheck.h>

#include <array>
#include <cstdio>
#include <string>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/footprint_subjects.hpp"
#include "heddle/properties/model/model.hpp"
#include "heddle/properties/oracle/trace_judge.hpp"
#include "heddle/properties/program/generator.hpp"
#include "heddle/properties/program/interpreter.hpp"

namespace heddle::prop {
namespace {

// ── generated programs ──

/// Without time: sleeps become yields, waits have no bound.
void stop_the_clock(Block& block) {
    for (Step& step : block) {
        for (Block& inner : step.blocks) { stop_the_clock(inner); }
        switch (step.what) {
            case Do::sleep: step = {Do::yield}; break;
            case Do::await:
            case Do::wait:
            case Do::send:
            case Do::receive:
            case Do::obtain:
            case Do::use: step.numbers[1] = 0; break;
            case Do::news:
            case Do::future: step.numbers[0] = 0; break;
            case Do::both: step.numbers[2] = 0; break;
            case Do::anywhere: step.what = Do::microtask; break;
            case Do::request:
                if (step.numbers[1] + 1 == 4) { step.numbers[1] = 0; }
                break;
            case Do::scope:
                if (step.numbers[4] == 4) { step.numbers[4] = 1; }
                step.numbers[6] = 0;
                break;
            default: break;
        }
    }
}

// 1,500 programs of at most 4 coroutines and about 16 steps, brute force up to 3,000 schedules each.
TEST(Footprints, OfGeneratedProgramsSayAll) {
    std::uint64_t judged = 0;
    std::uint64_t reduced = 0;
    std::uint64_t traces = 0;
    const std::string failure = check_generated("footprints", 1'500, [&] {
        ProgramData program = *arbitrary_program({.coroutines = 4, .steps = 16, .depth = 2});
        for (Block& block : program.coroutines) { stop_the_clock(block); }
        const std::optional<Verdict> verdict = judge_traces(interpret(program, Holds::main), {.runs_max = 3'000});
        if (!verdict) { return; }
        ++judged;
        reduced += verdict->reduced ? 1 : 0;
        traces += verdict->traces;
        if (!verdict->complaint.empty()) { RC_FAIL(to_text(program) + "\n" + verdict->complaint); }
    });
    std::printf("%llu programs judged, %llu with reduction, %llu traces\n", static_cast<unsigned long long>(judged),
                static_cast<unsigned long long>(reduced), static_cast<unsigned long long>(traces));
    if (!failure.empty()) { FAIL() << failure; }
    EXPECT_GE(judged, 300U);
    EXPECT_GE(reduced, 200U);
}

/// Programs of one alphabet: at most 4 coroutines and about `steps` steps, brute force up to `runs_max` schedules each.
std::uint64_t judge_generated(const char* name, int programs, Alphabet alphabet, std::size_t steps, std::uint64_t runs_max) {
    std::uint64_t judged = 0;
    std::uint64_t traces = 0;
    const std::string failure = check_generated(name, programs, [&] {
        ProgramData program = *arbitrary_program({.coroutines = 4, .steps = steps, .depth = 2, .alphabet = alphabet});
        for (Block& block : program.coroutines) { stop_the_clock(block); }
        if (alphabet == Alphabet::model) { program = with_models_main(program); }
        const std::optional<Verdict> verdict = judge_traces(interpret(program, Holds::main), {.runs_max = runs_max});
        if (!verdict) { return; }
        ++judged;
        traces += verdict->traces;
        if (!verdict->complaint.empty()) { RC_FAIL(to_text(program) + "\n" + verdict->complaint); }
    });
    std::printf("%llu programs judged, %llu traces\n", static_cast<unsigned long long>(judged), static_cast<unsigned long long>(traces));
    if (!failure.empty()) { ADD_FAILURE() << failure; }
    return judged;
}

// 150 programs of about 20 steps, and 300 of about 16.
TEST(Footprints, OfProgramsOnChannelsAndThePoolSayAll) {
    EXPECT_GE(judge_generated("footprints_model", 150, Alphabet::model, 20, 3'000), 100U);
}
TEST(Footprints, OfProgramsOnPrimitivesSayAll) {
    EXPECT_GE(judge_generated("footprints_primitives", 300, Alphabet::primitives, 16, 3'000), 200U);
}

// ── the runtime's objects, one by one ──

void judge_all(const std::vector<Subject>& subjects) {
    for (const Subject& subject : subjects) {
        const std::optional<Verdict> verdict = judge_traces(subject.program, {.runs_max = 60'000});
        if (!verdict) {
            ADD_FAILURE() << subject.name << ": too many schedules";
            continue;
        }
        EXPECT_EQ(verdict->complaint, "") << subject.name;
        std::printf("%-26s %6llu schedules %5llu traces, source %5llu runs, optimal %5llu%s\n", std::string(subject.name).c_str(),
                    static_cast<unsigned long long>(verdict->schedules), static_cast<unsigned long long>(verdict->traces),
                    static_cast<unsigned long long>(verdict->source_runs), static_cast<unsigned long long>(verdict->optimal_runs),
                    verdict->reduced ? "" : " (the reactor has a say)");
    }
}

// Brute force to the end, at most 60,000 schedules each.
TEST(Footprints, OfTheRuntimesObjectsSayAll) { judge_all(runtime_subjects()); }
TEST(Footprints, OfThePrimitivesSayAll) { judge_all(primitive_subjects()); }

// ── the judge itself: one kind of cell after the other is hidden from the searches ──

struct Planted {
    const char* subject;
    const char* object;  // by its label
    const char* field;
};

constexpr std::array planted{
    Planted{"event", "main/event", "state"},
    Planted{"token", "main/event#2", "state"},
    Planted{"join", "main/worker", "state"},
    Planted{"probes", "main/worker", "wait"},
    Planted{"cancel", "main/target", "wait"},
    Planted{"finally", "main/target", "state"},
    Planted{"scope_cancel", "main/scope", "flag"},
    Planted{"scope_probes", "main/scope", "flag"},
    Planted{"scope_join", "main/scope", "live"},
    Planted{"scope_tree", "main/scope", "children"},
    Planted{"scope_handlers", "main/scope", "settings"},
    Planted{"dropped_error", "main/fails", "handles"},
    Planted{"shared", "main/shared", "value"},
};

TEST(Footprints, ThatAreTooSmallAreCaught) {
    for (const Planted& at : planted) {
        const Cell hidden = cell(LabelBook::of(at.object), at.field);
        std::uint64_t touches = 0;
        JudgeOptions options{.runs_max = 60'000};
        options.hidden = [&](Cell where, TouchMode) {
            touches += where == hidden ? 1 : 0;
            return where == hidden;
        };
        const std::optional<Verdict> verdict = judge_traces(subject(at.subject), options);
        EXPECT_GT(touches, 0U) << at.subject << ": nothing touches " << at.object << "." << at.field;
        EXPECT_TRUE(verdict && !verdict->complaint.empty()) << at.subject << " without " << at.object << "." << at.field;
        if (verdict) { std::printf("%s without %s.%s: %s\n", at.subject, at.object, at.field, verdict->complaint.c_str()); }
    }
}

}  // namespace
}  // namespace heddle::prop
