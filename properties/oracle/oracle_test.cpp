// SPDX-License-Identifier: Apache-2.0
// Every check of every oracle can fail, with its own number, and lets its neighbour pass (docs/spec/00-invariants.md, section 11).
//
// Method: the tables of <oracle>_oracle_test.cpp. That none is forgotten is tested as well: each text that an oracle can say is looked
// up in its source, and must have been said.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {
namespace {

std::vector<OracleCases> all_cases() {
    return {sched_cases(), switch_cases(), event_cases(),   waker_cases(), cancel_cases(),
            scope_cases(), zombie_cases(), reactor_cases(), end_cases()};
}

class OracleChecks : public testing::TestWithParam<std::size_t> {};

template <class Case, class Judged>
void check(const Case& test, const Judged& judge, std::vector<std::string>& said) {
    const Verdict good = judge(false);
    EXPECT_TRUE(good.invariant.empty()) << "the neighbour of \"" << test.message << "\" is refused: " << good.invariant
                                        << ": " << good.message;
    const Verdict bad = judge(true);
    EXPECT_EQ(bad.invariant, test.invariant) << test.message << "\n  it says: " << bad.message;
    EXPECT_NE(bad.message.find(test.message), std::string::npos)
        << test.invariant << ": " << test.message << "\n  it says: " << bad.message;
    said.push_back(bad.message);
}

/// String literals of an oracle's checks that are sentences: of three words or more.
std::vector<std::string> sentences(const std::string& oracle) {
    std::ifstream file(std::string(HEDDLE_SOURCE_DIR) + "/properties/oracle/" + oracle + "_oracle.cpp");
    std::stringstream text;
    text << file.rdbuf();
    std::vector<std::string> found;
    const std::regex literal("\"([^\"]*)\"");
    std::string line;
    while (std::getline(text, line)) {
        if (line.starts_with("//")) { continue; }
        for (std::sregex_iterator at(line.begin(), line.end(), literal), end; at != end; ++at) {
            const std::string said = (*at)[1];
            if (std::ranges::count(said, ' ') >= 2) { found.push_back(said); }
        }
    }
    return found;
}

TEST_P(OracleChecks, EachCanFailAndLetsItsNeighbourPass) {
    const OracleCases cases = all_cases()[GetParam()];
    std::vector<std::string> said;
    for (const StreamCase& test : cases.streams) {
        check(
            test,
            [&](bool broken) {
                return judge_stream(cases.make, std::string(test.before) + ";" + (broken ? test.bad : test.good));
            },
            said);
    }
    for (const StageCase& test : cases.stages) {
        check(
            test, [&](bool broken) { return judge_stage(cases.make, test, broken); }, said);
    }
    for (const HostCase& test : cases.hosts) {
        check(
            test, [&](bool broken) { return judge_host(cases.make, test, broken); }, said);
    }
    const std::vector<std::string> all = sentences(cases.oracle);
    EXPECT_GT(all.size(), 5U) << "the source of the oracle was not found";
    for (const std::string& sentence : all) {
        const bool heard = std::ranges::any_of(
            said, [&](const std::string& message) { return message.find(sentence) != std::string::npos; });
        EXPECT_TRUE(heard) << cases.oracle << ": no case makes it say \"" << sentence << "\"";
    }
}

INSTANTIATE_TEST_SUITE_P(Of, OracleChecks, testing::Range<std::size_t>(0, 9),
                         [](const testing::TestParamInfo<std::size_t>& at) {
                             return std::string(all_cases()[at.param].oracle);
                         });

}  // namespace
}  // namespace heddle::prop
