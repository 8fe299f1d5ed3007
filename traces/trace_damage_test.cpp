// SPDX-License-Identifier: Apache-2.0
// Damaged traces by the thousand: whatever happens to a file, the reader answers with a valid trace or with one short
// line. Method: a fixed generator breaks the sample traces in twelve ways, one to three times each. Bound: 12,000
// damaged texts.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/traces/testing/recorded_run.hpp"
#include "heddle/traces/testing/sample_trace.hpp"
#include "heddle/traces/trace_json.hpp"
#include "heddle/traces/trace_recorder.hpp"
#include "heddle/traces/trace_render.hpp"
#include "heddle/traces/trace_shape.hpp"

namespace heddle::trace {
namespace {

/// A small fixed generator, so that a failure is found again: the same numbers everywhere.
class Numbers {
public:
    explicit Numbers(std::uint64_t seed) : state_(seed) {}
    std::size_t below(std::size_t bound) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<std::size_t>((state_ >> 33) % bound);
    }

private:
    std::uint64_t state_;
};

struct Token {
    std::size_t first = 0;
    std::size_t size = 0;
};

/// Strings with their quotes, numbers and words, and single signs.
std::vector<Token> tokens_of(std::string_view text) {
    std::vector<Token> tokens;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t first = i;
        if (text[i] == '"') {
            for (++i; i < text.size() && text[i] != '"'; ++i) { i += text[i] == '\\' ? 1 : 0; }
            i = std::min(i + 1, text.size());
        } else if (text[i] == ' ' || text[i] == '\n') {
            ++i;
            continue;
        } else {
            i = std::max(std::min(text.find_first_of("{}[],:\" \n", i), text.size()), i + 1);
        }
        tokens.push_back({first, i - first});
    }
    return tokens;
}

std::string damaged(std::string text, Numbers& numbers) {
    constexpr std::array<std::string_view, 22> stand_ins{
        "null", "true",  "0",      "1",     "-1",          "1.5",       "1e999", "18446744073709551616",
        "\"\"", "\"0\"", "\"-1\"", "\"x\"", "{}",          "[]",        "{",     "}",
        "[",    "]",     ",",      ":",     "\"\\ud800\"", "\"format\""};
    if (text.empty()) { return text; }
    const std::size_t at = numbers.below(text.size());
    const std::vector<Token> tokens = tokens_of(text);
    if (tokens.empty()) { return text; }
    const Token token = tokens[numbers.below(tokens.size())];
    const Token other = tokens[numbers.below(tokens.size())];
    const std::string spelled(text.substr(token.first, token.size));
    switch (numbers.below(12)) {
        case 0: return text.substr(0, at);
        case 1: text[at] = static_cast<char>(text[at] ^ (1 << numbers.below(8))); return text;
        case 2: text[at] = static_cast<char>(numbers.below(256)); return text;
        case 3: return text.erase(token.first, token.size);
        case 4: return text.insert(token.first, spelled);
        case 5: return text.replace(token.first, token.size, text.substr(other.first, other.size));
        case 6: return text.replace(token.first, token.size, stand_ins[numbers.below(stand_ins.size())]);
        case 7:
            return text.insert(token.first, std::string(1 + numbers.below(3'000), numbers.below(2) == 0 ? '[' : '{'));
        case 8: return text.insert(at, text.substr(at, numbers.below(200)));
        case 9: return text.erase(at, numbers.below(200));
        case 10: {  // a digit: most of what stays valid comes from here
            const std::size_t digit = text.find_first_of("0123456789", at);
            if (digit != std::string::npos) { text[digit] = static_cast<char>('0' + numbers.below(10)); }
            return text;
        }
        default: {  // a line: decisions and events come and go
            const std::size_t line = text.rfind('\n', at);
            const std::size_t end = text.find('\n', at);
            if (line == std::string::npos || end == std::string::npos) { return text; }
            return numbers.below(2) == 0 ? text.erase(line, end - line)
                                         : text.insert(end, text.substr(line, end - line));
        }
    }
}

std::vector<std::string> sample_texts() {
    LabelBook book;
    testing::AlwaysChooser chooser(1);
    TraceRecorder recorder(&book, &chooser, {.keep_events = true});
    testing::RecordedRun(book).play(recorder, recorder);
    const Trace run =
        recorder.take({.scenario = "job/taken_once"}, {.kind = OutcomeKind::violation, .invariant = "CHECK"});
    return {to_json(testing::full_trace()), to_json(testing::small_trace()), to_json(run)};
}

TEST(DamagedTrace, IsRefusedInOneLineOrReadAsAValidTrace) {
    std::size_t accepted = 0;
    std::size_t refused = 0;
    const std::vector<std::string> samples = sample_texts();
    Numbers numbers(20'240'117);
    for (int round = 0; round < 12'000; ++round) {
        std::string text = samples[numbers.below(samples.size())];
        for (std::size_t i = 1 + numbers.below(3); i > 0; --i) { text = damaged(std::move(text), numbers); }
        const Result<Trace> trace = from_json(text, "t.json");
        if (!trace) {
            ++refused;
            const std::string line = trace.error().text();
            ASSERT_TRUE(line.starts_with("t.json:")) << line;
            ASSERT_NE(line.find(": expected "), std::string::npos) << line;
            ASSERT_EQ(line.find_first_of("\n\r\x1b"), std::string::npos) << line;
            ASSERT_LT(line.size(), 1'000U) << line;
            ASSERT_FALSE(trace.error().found.empty()) << line;
            continue;
        }
        ++accepted;
        ASSERT_FALSE(find_inconsistency(*trace).has_value()) << text;
        const std::string canonical = to_json(*trace);
        const Result<Trace> again = from_json(canonical, "t.json");
        ASSERT_TRUE(again) << again.error().text() << "\n" << canonical;
        ASSERT_EQ(*again, *trace) << text;
        ASSERT_EQ(to_json(*again), canonical) << text;
        ASSERT_FALSE(render(*trace).empty());
    }
    // Both answers have to be common, or the damage is too strong or too weak to say anything.
    EXPECT_GT(accepted, 300U);
    EXPECT_GT(refused, 5'000U);
}

TEST(DamagedTrace, IsRefusedWhereverItIsCutOff) {
    for (const std::string& text : sample_texts()) {
        // Without the last newline it is still whole.
        EXPECT_TRUE(from_json(std::string_view(text).substr(0, text.size() - 1), "t.json"));
        for (std::size_t length = 0; length + 1 < text.size(); ++length) {
            const Result<Trace> trace = from_json(std::string_view(text).substr(0, length), "t.json");
            ASSERT_FALSE(trace) << length;
        }
    }
}

}  // namespace
}  // namespace heddle::trace
