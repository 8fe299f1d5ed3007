// SPDX-License-Identifier: Apache-2.0
// The text of a program: canonical, and refused in one line where it is damaged (PD2, PD3), by the reader and by simrun with status 2.
//
// Bounds: each sort of damage by hand; 20,000 random damages of four programs for the reader, each by the scenario as well, and 40 by simrun.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/properties/program/any.hpp"
#include "heddle/properties/program/program_data.hpp"
#include "heddle/simreactor/prng.hpp"

namespace heddle::prop {
namespace {

constexpr std::array<std::string_view, 4> samples{
    R"([[["spawn",1,"normal"],["await",1,0]],[["yield"]]])",
    R"([[["sleep",5],["spawn",1,"high"],["go",2],["both",1,2,20],["cancel",1]],[["protect",[["wait",0,3]]],["throw",1]],[["set",0]]])",
    R"([[["scope",0,"safe","root","handled","dispose_after",5,"completion",[["spawn",1,"normal"]]],["request",0,"cancel",0]],)"
    R"([["cleanup",[["yield"]],[["sleep",1]]],["try",[["throw",2]],[["yield"]]],["finally",[["sleep",2]]]]])",
    R"([[["microtask",[["set",1]]],["anywhere",[["cancel",1]]],["either",[["yield"]],[["sleep",1]]],["shutdown"]],[]])"};

/// What is wrong with a text, as one line; empty for a program.
std::string refusal(std::string_view text) {
    const Result<ProgramData> program = program_from_text(text, "program");
    return program ? std::string() : program.error().text();
}

void expect_one_short_line(const std::string& line, std::string_view text) {
    EXPECT_EQ(line.find('\n'), std::string::npos) << text;
    EXPECT_LT(line.size(), 300U) << text;
    EXPECT_EQ(line.find("program"), 0U) << line;  // what it is about comes first
}

TEST(ProgramText, IsCanonicalAndReadsBack) {
    for (const std::string_view sample : samples) {
        const Result<ProgramData> program = program_from_text(sample, "program");
        ASSERT_TRUE(program) << program.error().text();
        EXPECT_EQ(to_text(*program), sample);
    }
}

struct Damage {
    std::string_view about;
    std::string text;
    std::string_view says;  // part of the line
};

std::string nested(std::size_t depth, std::string_view open, std::string_view close) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) { text += open; }
    for (std::size_t i = 0; i < depth; ++i) { text += close; }
    return text;
}

std::vector<Damage> damages() {
    std::string many_steps = R"([[["yield"])";
    for (std::size_t i = 0; i < ProgramData::steps_max; ++i) { many_steps += R"(,["yield"])"; }
    many_steps += "]]";
    return {
        {"nothing", "", "no JSON"},
        {"truncated", R"([[["spawn",1,"nor)", "no JSON"},
        {"more behind the end", R"([[["yield"]]] [])", "no JSON"},
        {"bytes that are no text", "[[[\"yie\xff\xfe\"]]]", "no JSON"},
        {"an object", R"({"program":[]})", "a list of 1 to 8 coroutines"},
        {"a number", "7", "a list of 1 to 8 coroutines"},
        {"no coroutine", "[]", "a list of 1 to 8 coroutines"},
        {"too many coroutines", "[[],[],[],[],[],[],[],[],[]]", "a list of 1 to 8 coroutines"},
        {"a coroutine that is none", R"([["yield"]])", "program /0/0: expected a step"},
        {"a step without a name", "[[[]]]", "program /0/0: expected a step"},
        {"a step whose name is a number", "[[[1]]]", "a step"},
        {"an unknown step", R"([[["jump"]]])", "program /0/0/0: expected the name of a step"},
        {"too few values", R"([[["sleep"]]])", "sleep with 1 values and 0 blocks"},
        {"too many values", R"([[["yield",1]]])", "yield with 0 values"},
        {"a word for a number", R"([[["sleep","5"]]])", "program /0/0/1: expected ms: an integer from 0 to 1000"},
        {"out of range", R"([[["sleep",1001]]])", "an integer from 0 to 1000"},
        {"negative", R"([[["sleep",-1]]])", "an integer from 0 to 1000"},
        {"a fraction", R"([[["sleep",1.5]]])", "an integer from 0 to 1000"},
        {"beyond every number", R"([[["sleep",1e999]]])", "numbers of 64 bits"},
        {"beyond 64 bits", R"([[["sleep",18446744073709551616]]])", "an integer from 0 to 1000"},
        {"an unknown word", R"([[["spawn",1,"urgent"]],[]])", "priority: one of normal, high"},
        {"a coroutine before itself", R"([[],[["spawn",0,"normal"]]])", "a coroutine behind this one"},
        {"a coroutine that there is not", R"([[["go",1]]])", "a coroutine behind this one"},
        {"a block that is none", R"([[["protect",1]]])", "a list of steps"},
        {"a wait in a microtask", R"([[["microtask",[["yield"]]]]])", "a step that does not suspend"},
        {"too many steps", many_steps, "at most 96 steps in all"},
        {"blocks too deep", "[[" + nested(9, R"(["protect",[)", "]]") + "]]", "blocks at most 6 deep"},
        {"a million levels", nested(8'000, "[", "]"), "blocks at most 6 deep"},
        {"objects too deep", nested(2'000, R"({"a":)", "}"), "blocks at most 6 deep"},
        {"too long", "[[" + std::string(ProgramData::text_max, ' ') + "]]", "at most 16384 characters"},
    };
}

TEST(ProgramText, SaysWhatIsWrongAndWhere) {
    for (const Damage& damage : damages()) {
        const std::string line = refusal(damage.text);
        EXPECT_NE(line.find(damage.says), std::string::npos)
            << damage.about << ": " << (line.empty() ? "was accepted" : line);
        expect_one_short_line(line, damage.about);
    }
}

std::string damaged(std::string text, sim::Prng& prng) {
    constexpr std::array<std::string_view, 16> stand_ins{
        "null", "true", "-1", "1.5", "1e999", "18446744073709551616", "\"\"", "\"yield\"", "{}", "[]",
        "[[",   "]]",   ",",  ":",   "\"",    "\"\\ud800\""};
    const std::size_t at = prng.below(text.size());
    switch (prng.below(6)) {
        case 0: return text.substr(0, at);
        case 1: text[at] = static_cast<char>(text[at] ^ (1 << prng.below(7))); return text;
        case 2: return text.erase(at, 1 + prng.below(8));
        case 3: return text.insert(at, stand_ins[prng.below(stand_ins.size())]);
        case 4: return text.insert(at, text.substr(prng.below(text.size()), 1 + prng.below(20)));
        default: return text.replace(at, 1 + prng.below(6), stand_ins[prng.below(stand_ins.size())]);
    }
}

/// The n-th of the random damages: one to three at a time.
std::string damaged_sample(std::uint64_t n) {
    sim::Prng prng{n};
    std::string text(samples[n % samples.size()]);
    for (std::uint64_t times = prng.between(1, 3); times > 0 && !text.empty(); --times) {
        text = damaged(std::move(text), prng);
    }
    return text;
}

TEST(ProgramText, IsAProgramOrRefusedWhateverHappenedToIt) {  // 20,000 damages
    const sim::Scenario scenario = program_scenario();
    std::size_t refused = 0;
    for (std::uint64_t n = 0; n < 20'000; ++n) {
        const std::string text = damaged_sample(n);
        const Result<ProgramData> program = program_from_text(text, "program");
        ASSERT_EQ(static_cast<bool>(sim::parse_call(std::span(&scenario, 1), "program/any:program=" + text)),
                  static_cast<bool>(program))
            << text;
        if (program) {
            const Result<ProgramData> again = program_from_text(to_text(*program), "program");
            ASSERT_TRUE(again && *again == *program) << text;
            continue;
        }
        ++refused;
        expect_one_short_line(program.error().text(), text);
    }
    EXPECT_GT(refused, 10'000U);
    EXPECT_LT(refused, 20'000U);  // some damages leave another program
}

// ── through the command ──

struct Ended {
    int status = -1;  // exit status; -1 for anything else
    std::string said{};
};

/// Runs simrun with `call` and gives what it wrote to standard error.
Ended simrun(const std::string& call) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) { return {}; }
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(ends[1], STDERR_FILENO);
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        ::execl(HEDDLE_SIMRUN, "simrun", "run", call.c_str(), static_cast<char*>(nullptr));
        ::_exit(127);
    }
    ::close(ends[1]);
    Ended ended;
    std::array<char, 4096> buffer{};
    for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
        ended.said.append(buffer.data(), static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) { ended.status = WEXITSTATUS(status); }
    return ended;
}

TEST(ProgramText, IsRefusedBySimrunInOneLineWithStatusTwo) {
    for (const Damage& damage : damages()) {
        if (damage.text.find('\0') != std::string::npos) { continue; }
        const Ended ended = simrun("program/any:program=" + damage.text);
        EXPECT_EQ(ended.status, 2) << damage.about << ": " << ended.said;
        EXPECT_EQ(std::ranges::count(ended.said, '\n'), 1) << damage.about << ": " << ended.said;
        EXPECT_NE(ended.said.find("program/any:program"), std::string::npos) << ended.said;
        EXPECT_NE(ended.said.find(damage.says), std::string::npos) << damage.about << ": " << ended.said;
    }
}

TEST(ProgramText, NeverBringsSimrunDown) {  // 40 damages
    std::size_t refused = 0;
    for (std::uint64_t n = 0; n < 40; ++n) {
        const std::string text = damaged_sample(n);
        if (text.find('\0') != std::string::npos) { continue; }  // no argument of a command can hold it
        const Ended ended = simrun("program/any:program=" + text);
        ASSERT_TRUE(ended.status == 0 || ended.status == 1 || ended.status == 2) << n << ": " << text << "\n"
                                                                                 << ended.said;
        if (ended.status != 2) { continue; }
        ++refused;
        EXPECT_EQ(std::ranges::count(ended.said, '\n'), 1) << text << ": " << ended.said;
    }
    EXPECT_GT(refused, 20U);
}

}  // namespace
}  // namespace heddle::prop
