// SPDX-License-Identifier: Apache-2.0
// The table of properties/README.md and the invariants of docs/spec/00-invariants.md say the same, and what the table names exists.
//
//   docs/spec/00 ──numbers──┐
//   README.md ──rows: number, `names`, bound──▶ one row per number, no other; `x_oracle` says the number in its source, `Suite.Name` is a test
//
// Families that concern parts which are not built yet are not in the table; theirs come with those parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace heddle::prop {
namespace {

namespace fs = std::filesystem;

const fs::path root = HEDDLE_SOURCE_DIR;

std::string read(const fs::path& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

struct Row {
    std::vector<std::string> names;
    std::string bound;
};

/// Lines "| INV-X-01 | … | … |", by number.
std::map<std::string, std::vector<Row>> rows_of(const std::string& text) {
    std::map<std::string, std::vector<Row>> rows;
    const std::regex line(R"(\| (INV-[A-Z]+-[0-9]+) \|([^|\n]*)\|([^|\n]*)\|)");
    const std::regex name("`([^`]+)`");
    for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at) {
        Row row;
        const std::string names = (*at)[2];
        for (std::sregex_iterator one(names.begin(), names.end(), name); one != end; ++one) {
            row.names.push_back((*one)[1]);
        }
        row.bound = (*at)[3];
        rows[(*at)[1]].push_back(row);
    }
    return rows;
}

/// "Suite.Name" of every test that is written down in the sources.
std::set<std::string> tests_in_sources() {
    std::set<std::string> tests;
    const std::regex test(R"(\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\s*\))");
    for (const char* folder : {"core", "traces", "simreactor", "realreactor", "properties"}) {
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
            if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") { continue; }
            const std::string text = read(entry.path());
            for (std::sregex_iterator at(text.begin(), text.end(), test), end; at != end; ++at) {
                tests.insert(std::string((*at)[1]) + "." + std::string((*at)[2]));
            }
        }
    }
    return tests;
}

/// The file that a name without a dot stands for.
fs::path source_of(const std::string& name) {
    return root / "properties" / (name == "interpreter" || name == "objects" ? "program" : "oracle") / (name + ".cpp");
}

/// A number that the source hands to a check, not one in a comment.
bool says(const std::string& source, const std::string& number) {
    return source.find("\"" + number + "\"") != std::string::npos;
}

const std::string& table() {
    static const std::string text = read(root / "properties/README.md");
    return text;
}

TEST(InvariantsTable, HasOneRowForEachInvariantAndNoOther) {
    std::set<std::string> numbers;
    const std::string catalogue = read(root / "docs/spec/00-invariants.md");
    const std::regex number(R"(\n\| (INV-[A-Z]+-[0-9]+) \| [SQETL] \|)");
    for (std::sregex_iterator at(catalogue.begin(), catalogue.end(), number), end; at != end; ++at) {
        EXPECT_TRUE(numbers.insert((*at)[1]).second) << (*at)[1] << " is listed twice in the catalogue";
    }
    EXPECT_GT(numbers.size(), 130U);
    // Of the primitives, the rows that stand must be invariants; not each of them has a row yet.
    std::set<std::string> primitives;
    const std::string more = read(root / "docs/spec/00-invariants-primitives.md");
    for (std::sregex_iterator at(more.begin(), more.end(), number), end; at != end; ++at) { primitives.insert((*at)[1]); }
    EXPECT_GT(primitives.size(), 60U);
    const auto rows = rows_of(table());
    for (const std::string& one : numbers) { EXPECT_EQ(rows.contains(one) ? rows.at(one).size() : 0U, 1U) << one; }
    for (const auto& [one, row] : rows) {
        EXPECT_TRUE(numbers.contains(one) || primitives.contains(one)) << one << " is in the table and in no catalogue";
        EXPECT_EQ(row.size(), 1U) << one;
    }
}

TEST(InvariantsTable, NamesOnlyChecksThatExist) {
    const std::set<std::string> tests = tests_in_sources();
    ASSERT_GT(tests.size(), 300U);
    for (const auto& [number, rows] : rows_of(table())) {
        for (const Row& row : rows) {
            EXPECT_FALSE(row.names.empty()) << number << " is checked by nobody";
            EXPECT_NE(row.bound.find_first_not_of(' '), std::string::npos) << number << " has no bound";
            for (const std::string& name : row.names) {
                if (name.find('.') != std::string::npos) {
                    EXPECT_TRUE(tests.contains(name)) << number << ": there is no test " << name;
                } else {
                    EXPECT_TRUE(fs::exists(source_of(name)) && says(read(source_of(name)), number))
                        << number << ": " << name << " never says it";
                }
            }
        }
    }
}

TEST(InvariantsTable, ForgetsNoCheckThatAnOracleMakes) {
    const auto rows = rows_of(table());
    const std::regex literal("\"(INV-[A-Z]+-[0-9]+)\"");
    for (const fs::directory_entry& entry : fs::directory_iterator(root / "properties/oracle")) {
        const std::string name = entry.path().stem().string();
        if (entry.path().extension() != ".cpp" || !name.ends_with("_oracle")) { continue; }
        const std::string text = read(entry.path());
        for (std::sregex_iterator at(text.begin(), text.end(), literal), end; at != end; ++at) {
            const std::string number = (*at)[1];
            const bool named = rows.contains(number) && std::ranges::find(rows.at(number).front().names, name) !=
                                                            rows.at(number).front().names.end();
            EXPECT_TRUE(named) << name << " checks " << number << ", and its row does not say so";
        }
    }
}

// What the tests above rest on: that a row is read, and that a wrong one would be seen.
TEST(InvariantsTable, ReadsRowsAsTheyAreWritten) {
    const auto rows = rows_of("| INV-X-01 | `sched_oracle` `A.B` | G S |\n| INV-X-02 |  | |\n");
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows.at("INV-X-01").front().names, (std::vector<std::string>{"sched_oracle", "A.B"}));
    EXPECT_TRUE(rows.at("INV-X-02").front().names.empty());
    EXPECT_FALSE(says("// INV-SCHED-01 to 05", "INV-SCHED-01"));
    EXPECT_FALSE(tests_in_sources().contains("InvariantsTable.IsNoTest"));
}

}  // namespace
}  // namespace heddle::prop
