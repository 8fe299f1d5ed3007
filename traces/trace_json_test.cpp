// SPDX-License-Identifier: Apache-2.0
// Reading and writing traces: the canonical text, what survives a round trip, and what each kind of bad input is told.
#include "heddle/traces/trace_json.hpp"

#include <gtest/gtest.h>

#include <string>

#include "heddle/traces/testing/sample_trace.hpp"

namespace heddle::trace {
namespace {

using testing::full_trace;
using testing::small_trace;

/// The text with the first `what` replaced.
std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return text.replace(at, what.size(), by);
}

/// The error of a text that has to be refused.
std::string refusal(const std::string& text) {
    const Result<Trace> trace = from_json(text, "t.json");
    if (trace) { return "(accepted)"; }
    EXPECT_EQ(trace.error().text().find('\n'), std::string::npos) << trace.error().text();
    return trace.error().text();
}

TEST(TraceJson, ReadsBackWhatItWrote) {
    for (const Trace& trace : {full_trace(), small_trace()}) {
        const std::string text = to_json(trace);
        const Result<Trace> read = from_json(text, "t.json");
        ASSERT_TRUE(read) << read.error().text();
        EXPECT_EQ(*read, trace);
        EXPECT_EQ(to_json(*read), text);
    }
}

TEST(TraceJson, IsCanonicalText) {
    EXPECT_EQ(to_json(small_trace()), R"({
  "format": "heddle-trace",
  "version": 1,
  "recipe": {
    "scenario": "waker/baseline",
    "parameters": {},
    "seed": "0",
    "strategy": "fifo",
    "reactor": "sim",
    "order": "faithful",
    "time": "T1",
    "resolution_ns": "1000000"
  },
  "decisions": [],
  "outcome": {
    "kind": "ok",
    "steps": "0",
    "choices": "0",
    "end_ns": "0"
  },
  "hash": {
    "events": "0",
    "value": "0000000000000000",
    "footprint": "0000000000000000",
    "check_points": []
  }
}
)");
    const std::string full = to_json(full_trace());
    EXPECT_NE(full.find("    {\"at\": \"loop:dispatch\", \"kind\": \"dispatch\", \"choose\": 1, \"count\": 2, "
                        "\"candidate\": \"main/b\", "
                        "\"set\": \"89abcdef\", \"footprint\": \"00000f00\"},\n"),
              std::string::npos)
        << full;
    EXPECT_NE(full.find("\"seed\": \"18446744073709551615\""), std::string::npos);
    EXPECT_NE(full.find("{\"ns\": \"5000000\", \"kind\": \"choose:dispatch\", \"who\": \"loop:dispatch\""),
              std::string::npos);
}

TEST(TraceJson, AcceptsOtherWhitespaceAndOrderOfMembers) {
    std::string text = to_json(full_trace());
    for (char& c : text) { c = c == '\n' ? '\t' : c; }
    const Result<Trace> read = from_json(replaced(text, R"("seed": "18446744073709551615",)", ""), "t.json");
    EXPECT_FALSE(read);
    const Result<Trace> moved = from_json(replaced(replaced(text, R"("seed": "18446744073709551615",)", ""),
                                                   R"("scenario":)", R"("seed":"18446744073709551615","scenario":)"),
                                          "t.json");
    ASSERT_TRUE(moved) << moved.error().text();
    EXPECT_EQ(*moved, full_trace());
}

TEST(TraceJson, WritesBrokenUtf8AsReplacementCharacters) {
    Trace trace = small_trace();
    trace.outcome.message = "a\xff\xc3";
    const Result<Trace> read = from_json(to_json(trace), "t.json");
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->outcome.message, "a\xef\xbf\xbd\xef\xbf\xbd");
    EXPECT_EQ(to_json(*read), to_json(trace));
}

TEST(TraceJson, NamesFileLinePointerExpectationAndFinding) {
    const std::string text = to_json(full_trace());
    EXPECT_EQ(refusal(replaced(text, R"("choose": 1)", R"("choose": "1")")),
              "t.json:29: /decisions/0/choose: expected an integer from 0 to 4294967295, found \"1\"");
    EXPECT_EQ(refusal(replaced(text, R"("version": 2)", R"("version": 3)")),
              "t.json:3: /version: expected 1 or 2, the versions that this program reads, found 3");
    EXPECT_EQ(refusal(replaced(text, R"("version": 2)", R"("version": 1)")),
              "t.json: /version: expected 2, as there is a door, found 1");
    EXPECT_EQ(refusal(replaced(to_json(small_trace()), R"("version": 1)", R"("version": 2)")),
              "t.json: /version: expected 1, as there is no door, found 2");
    EXPECT_EQ(refusal(replaced(text, R"("flags": "pending hidden")", R"("flags": "hidden pending")")),
              "t.json:74: /door/0/flags: expected words such as \"pending\", in order, with a blank between two, found \"hidden pending\"");
    EXPECT_EQ(refusal(replaced(text, R"("bytes": "00ff61")", R"("bytes": "00ff6")")),
              "t.json:74: /door/0/bytes: expected lower-case hexadecimal digits, two a byte, as a string, found \"00ff6\"");
    EXPECT_EQ(refusal(replaced(text, R"("format": "heddle-trace")", R"("format": "other")")),
              "t.json:2: /format: expected \"heddle-trace\", found \"other\"");
    EXPECT_EQ(refusal(replaced(text, R"("clients": "3")", R"("clients": 3)")),
              "t.json:7: /recipe/parameters/clients: expected a string, found 3");
    EXPECT_EQ(refusal(replaced(text, R"("clients": "3")", R"("a/b~c": null)")),
              "t.json:7: /recipe/parameters/a~1b~0c: expected a string, found null");
    EXPECT_EQ(refusal("[]"), "t.json:1: (document): expected an object that is a trace, found an array");
    EXPECT_EQ(refusal("7"), "t.json:1: (document): expected an object that is a trace, found 7");
}

TEST(TraceJson, RefusesUnknownMembersEverywhere) {
    const std::string text = to_json(full_trace());
    EXPECT_EQ(refusal(replaced(text, R"("before":)", R"("befor":)")),
              "t.json:34: /constraints/order/0/befor: expected a member of an order constraint (before, after), found "
              "an unknown one");
    for (const char* const anchor : {R"("format":)", R"("scenario":)", R"("at":)", R"("order": [)", R"("invariant":)",
                                     R"("events":)", R"("ns":)"}) {
        EXPECT_NE(refusal(replaced(text, anchor, std::string(R"("colour": {}, )") + anchor))
                      .find("/colour: expected a member of"),
                  std::string::npos)
            << anchor;
    }
}

TEST(TraceJson, RefusesDuplicateMembers) {
    const std::string text = to_json(full_trace());
    EXPECT_NE(refusal(replaced(text, R"("seed":)", R"("seed": "1", "seed":)"))
                  .find("/recipe/seed: expected each member once"),
              std::string::npos);
    EXPECT_NE(refusal(replaced(text, R"("clients":)", R"("clients": "1", "clients":)")).find("expected each name once"),
              std::string::npos);
}

TEST(TraceJson, RefusesMissingMembers) {
    EXPECT_EQ(refusal("{}"), "t.json:1: /format: expected \"heddle-trace\", found no such member");
    EXPECT_NE(
        refusal(replaced(to_json(full_trace()), R"("count": 2, )", "")).find("/decisions/0/count: expected an integer"),
        std::string::npos);
}

TEST(TraceJson, RefusesNumbersOutOfRange) {
    const std::string text = to_json(full_trace());
    for (const char* const bad :
         {"18446744073709551616", "-1", "007", "+7", " 7", "7 ", "", "1e3", "0x7", "99999999999999999999999"}) {
        EXPECT_NE(
            refusal(replaced(text, "18446744073709551615", bad)).find("/recipe/seed: expected a decimal number from 0"),
            std::string::npos)
            << bad;
    }
    for (const char* const bad :
         {"4294967296", "-1", "1.0", "1e400", "99999999999999999999999999", "true", "null", "[]", "{}"}) {
        EXPECT_NE(refusal(replaced(text, R"("choose": 1)", std::string(R"("choose": )") + bad)), "(accepted)") << bad;
    }
    for (const char* const bad : {"89ABCDEF", "89abcde", "89abcdeff", "89abcdeg"}) {
        EXPECT_NE(refusal(replaced(text, "89abcdef", bad)).find("/decisions/0/set: expected 8 lower-case"),
                  std::string::npos)
            << bad;
    }
}

TEST(TraceJson, RefusesContradictions) {
    const std::string text = to_json(full_trace());
    EXPECT_EQ(refusal(replaced(text, R"("choose": 1)", R"("choose": 0)")),
              "t.json: /decisions/0/choose: expected a deviation, from 1 to 1, found 0");
    EXPECT_EQ(refusal(replaced(text, R"("choose": 1)", R"("choose": 2)")),
              "t.json: /decisions/0/choose: expected a deviation, from 1 to 1, found 2");
    EXPECT_NE(
        refusal(replaced(text, R"("kind": "violation")", R"("kind": "ok")")).find("/outcome/invariant: expected none"),
        std::string::npos);
    EXPECT_NE(refusal(replaced(text, R"({"events": "4")", R"({"events": "5")"))
                  .find("/hash/check_points/2/events: expected a power"),
              std::string::npos);
    EXPECT_NE(refusal(replaced(text, R"("events_omitted": "2")", R"("events_omitted": "3")"))
                  .find("/events: expected 8 events"),
              std::string::npos);
}

TEST(TraceJson, RefusesWhatIsNotJson) {
    EXPECT_EQ(refusal(""), "t.json:1: (document): expected JSON, found an empty file");
    EXPECT_NE(refusal("hello\n").find("expected JSON, found something else"), std::string::npos);
    EXPECT_NE(refusal(to_json(small_trace()) + "}").find("expected JSON, found something else"), std::string::npos);
    EXPECT_NE(refusal(std::string("\x7f"
                                  "ELF\x01\x00\xff",
                                  7))
                  .find("expected JSON"),
              std::string::npos);
    EXPECT_NE(refusal(replaced(to_json(full_trace()), "pool/lease", "pool/\xc3(ease"))
                  .find("/recipe/scenario: expected JSON"),
              std::string::npos);
}

TEST(TraceJson, SaysThatATruncatedFileWasCutOff) {
    const std::string text = to_json(full_trace());
    for (const std::size_t length : {std::size_t{1}, text.size() / 3, text.size() / 2, text.size() - 3}) {
        EXPECT_NE(refusal(text.substr(0, length)).find("expected"), std::string::npos) << length;
    }
    EXPECT_NE(refusal(text.substr(0, text.size() - 2)).find("the end of the file: it was cut off"), std::string::npos);
}

TEST(TraceJson, SurvivesAMillionLevels) {
    const std::string deep_arrays(1'000'000, '[');
    std::string deep_objects;
    for (int i = 0; i < 1'000'000; ++i) { deep_objects += R"({"recipe":)"; }
    EXPECT_NE(refusal(deep_arrays), "(accepted)");
    EXPECT_NE(refusal(deep_objects), "(accepted)");
    const std::string text = to_json(full_trace());
    EXPECT_NE(
        refusal(replaced(text, R"("seed": )", R"("seed": )" + deep_arrays)).find("/recipe/seed: expected a decimal"),
        std::string::npos);
    EXPECT_NE(refusal(replaced(text, R"("decisions": [)", R"("decisions": [)" + deep_arrays))
                  .find("/decisions/0: expected an object"),
              std::string::npos);
    EXPECT_NE(refusal(replaced(text, R"("clients": )", R"("clients": )" + deep_objects))
                  .find("expected a string, found an object"),
              std::string::npos);
}

TEST(TraceJson, KeepsErrorsShortAndPrintable) {
    const std::string text = to_json(full_trace());
    const std::string long_name(1'000'000, 'x');
    for (const std::string& bad :
         {replaced(text, R"("seed")", "\"" + long_name + "\""), replaced(text, "\"T2\"", "\"" + long_name + "\""),
          replaced(text, R"("choose": 1)", R"("choose": 1)" + std::string(100'000, '0')),
          replaced(text, "\"T2\"", long_name)}) {
        EXPECT_LT(refusal(bad).size(), 700U) << refusal(bad);
    }
    EXPECT_EQ(one_line("\x1b[31m\n\xff\x7f\xc3\xa9"), R"("\u001b[31m\n\ufffd\u007f\u00e9")");
}

}  // namespace
}  // namespace heddle::trace
