// SPDX-License-Identifier: Apache-2.0
// Openings, words, determinism, citations and test names: checks that look at lines, one by one, with plain text patterns. They are
// coarse on purpose; what they cannot tell from a mistake is written in another way.
#include <algorithm>
#include <array>
#include <iterator>
#include <regex>
#include <set>

#include "heddle/tools/tidy/checks.hpp"
#include "heddle/tools/tidy/lines.hpp"

namespace heddle::tidy {
namespace {

constexpr std::string_view spdx = "// SPDX-License-Identifier: Apache-2.0";

bool is_word_character(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool has_word(std::string_view line, std::string_view word) {
    for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
        const bool begins = at == 0 || !is_word_character(line[at - 1]);
        const std::size_t end = at + word.size();
        if (begins && (end == line.size() || !is_word_character(line[end]))) { return true; }
    }
    return false;
}

std::array<std::string_view, 2> first_two_lines(std::string_view text) {
    std::array<std::string_view, 2> lines;
    for_each_line(text, [&lines](int number, std::string_view line) {
        if (number <= 2) { lines[static_cast<std::size_t>(number - 1)] = line; }
    });
    return lines;
}

bool is_sentence(std::string_view line, std::string_view mark) {
    return line.starts_with(mark) && line.size() > mark.size() + 10 && line[mark.size()] == ' ';
}

bool is_script(std::string_view path) {
    return (path.starts_with("ci/") || path.starts_with(".ci/")) &&
           path.find('.', path.rfind('/')) == std::string_view::npos;
}

bool is_build_file(std::string_view path) {
    return path.ends_with("CMakeLists.txt") || path.ends_with(".cmake") || path.ends_with(".py") ||
           path.ends_with(".yml");
}

void check_cpp_opening(const File& file, Findings& findings) {
    const auto [first, second] = first_two_lines(file.text);
    if (first != spdx) { findings.push_back({file.path, 1, "does not begin with " + std::string(spdx)}); }
    const std::string own_header = "heddle/" + file.path.substr(0, file.path.rfind('.')) + ".hpp";
    const bool header_says = file.path.ends_with(".cpp") && second == "#include \"" + own_header + "\"";
    if (!is_sentence(second, "//") && !header_says) {
        findings.push_back({file.path, 2, "does not open with a comment that says what it is for"});
    }
    if (file.path.ends_with(".hpp") && file.text.find("\n#pragma once\n") == std::string::npos) {
        findings.push_back({file.path, 1, "is a header without #pragma once"});
    }
}

/// The part of a line that is code: what follows // is cut, also inside a string, which is good enough here.
std::string_view code_of(std::string_view line) { return line.substr(0, line.find("//")); }

bool is_product(std::string_view path) {
    const bool placed = path.starts_with("core/") || path.starts_with("traces/") || path.starts_with("simreactor/");
    const bool aside =
        path.ends_with("_test.cpp") || path.ends_with("_bench.cpp") || path.find("/testing/") != std::string_view::npos;
    return is_cpp(path) && placed && !aside;
}

/// Names of unordered containers that a text declares as variables or members.
std::set<std::string> unordered_names(const std::string& text) {
    static const std::regex declaration(R"(unordered_(?:multi)?(?:map|set)<[^;]*>\s+(\w+)\s*[;{=])");
    std::set<std::string> names;
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
        names.insert((*at)[1]);
    }
    return names;
}

/// Ids that docs/spec defines: in bold, or alone in the first cell of a table row.
std::set<std::string> defined_ids(const Tree& tree) {
    static const std::regex definition(R"((?:\*\*|^\| ?|\n\| ?)((?:INV-)?[A-Z]+-[0-9]+)\b)");
    std::set<std::string> ids;
    for (const File& file : tree) {
        if (!file.path.starts_with("docs/spec/")) { continue; }
        for (std::sregex_iterator at(file.text.begin(), file.text.end(), definition), end; at != end; ++at) {
            ids.insert((*at)[1]);
        }
    }
    return ids;
}

std::string family_of(const std::string& id) { return id.substr(0, id.rfind('-')); }

}  // namespace

std::string to_string(const Findings& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += finding.path + ":" + std::to_string(finding.line) + ": " + finding.text + "\n";
    }
    return text;
}

Findings check_openings(const Tree& tree) {
    Findings findings;
    for (const File& file : tree) {
        if (is_cpp(file.path)) { check_cpp_opening(file, findings); }
        const auto [first, second] = first_two_lines(file.text);
        if (is_script(file.path)) {
            const bool is_short = std::count(file.text.begin(), file.text.end(), '\n') <= 2;
            if (!first.starts_with("#!") || (!is_sentence(second, "#") && !is_short)) {
                findings.push_back({file.path, 1, "does not open with #! and a comment that says what it is for"});
            }
        } else if (is_build_file(file.path) && !is_sentence(first, "#") && !is_sentence(second, "#")) {
            findings.push_back({file.path, 1, "does not open with a comment that says what it is for"});
        }
    }
    return findings;
}

Findings check_words(const Tree& tree) {
    // Written in two parts, so that this file passes its own check.
    const auto joined = [](const char* a, const char* b) { return std::string(a) + b; };
    static const std::array unfinished{joined("TO", "DO"), joined("FIX", "ME"), joined("XX", "X"), joined("HA", "CK")};
    static const std::array places{joined("/wo", "rk/"), joined("/tm", "p/b-"), joined("../sha", "red"),
                                   joined("/ho", "me/"), joined("/ro", "ot/")};
    static const std::array absent{joined("DES", "IGN"), joined("EXPL", "ORER"), joined("LAY", "OUT"),
                                   joined("PLAT", "FORM"), joined("LIT", "MUS")};
    Findings findings;
    for (const File& file : tree) {
        for_each_line(file.text, [&](int number, std::string_view line) {
            for (const std::string& word : unfinished) {
                if (has_word(line, word)) {
                    findings.push_back({file.path, number, "says " + word + ": finish it or file an issue"});
                }
            }
            for (const std::string& word : absent) {
                if (has_word(line, word)) {
                    findings.push_back(
                        {file.path, number, "refers to " + word + ", which is no document of this repository"});
                }
            }
            for (const std::string& place : places) {
                if (line.find(place) != std::string_view::npos) {
                    findings.push_back({file.path, number, "names " + place + ", a place of one machine"});
                }
            }
        });
    }
    return findings;
}

Findings check_determinism(const Tree& tree) {
    static const std::array<std::string_view, 13> sources{
        "random_device",         "mt19937",       "std::rand(",   "system_clock",  "steady_clock",
        "high_resolution_clock", "clock_gettime", "gettimeofday", "time(nullptr)", "getpid(",
        "this_thread",           "getrandom(",    "arc4random"};
    // A search has budgets in wall-clock time and workers with process ids. Such a line says why it may, here or one line above.
    constexpr std::string_view excuse = "outside every world";
    Findings findings;
    for (const File& file : tree) {
        if (!is_product(file.path)) { continue; }
        std::set<std::string> unordered = unordered_names(file.text);
        if (file.path.ends_with(".cpp")) {
            if (const File* header = find_file(tree, file.path.substr(0, file.path.size() - 3) + "hpp");
                header != nullptr) {
                unordered.merge(unordered_names(header->text));
            }
        }
        std::string_view above;
        for_each_line(file.text, [&](int number, std::string_view line) {
            const std::string_view code = code_of(line);
            const bool excused =
                line.find(excuse) != std::string_view::npos || above.find(excuse) != std::string_view::npos;
            for (const std::string_view source : sources) {
                if (code.find(source) != std::string_view::npos && !excused) {
                    findings.push_back(
                        {file.path, number, "reads " + std::string(source) + "; say why it is outside every world"});
                }
            }
            for (const std::string& name : unordered) {
                const bool walked = (code.find("for (") != std::string_view::npos &&
                                     code.find(": " + name + ")") != std::string_view::npos) ||
                                    code.find(name + ".begin()") != std::string_view::npos;
                if (walked) {
                    findings.push_back(
                        {file.path, number, "walks through " + name + ", whose order is not part of its type"});
                }
            }
            above = line;
        });
    }
    return findings;
}

Findings check_citations(const Tree& tree) {
    const std::set<std::string> ids = defined_ids(tree);
    std::set<std::string> families;
    std::transform(ids.begin(), ids.end(), std::inserter(families, families.begin()), family_of);
    static const std::regex citation(R"((INV-)?\b[A-Z]{2,5}-[0-9]+\b)");
    Findings findings;
    for (const File& file : tree) {
        if (file.path.starts_with("docs/spec/")) { continue; }
        for_each_line(file.text, [&](int number, std::string_view line) {
            if (line.find('-') == std::string_view::npos) { return; }
            for (std::cregex_iterator at(line.data(), line.data() + line.size(), citation), end; at != end; ++at) {
                const std::string id = at->str();
                // Other numbered things look alike (a bug, a standard): a family without any definition is not ours to judge.
                const bool ours = id.starts_with("INV-") || families.contains(family_of(id));
                if (ours && !ids.contains(id)) {
                    findings.push_back({file.path, number, "cites " + id + ", which docs/spec does not define"});
                }
            }
        });
    }
    return findings;
}

Findings check_test_names(const Tree& tree) {
    static const std::regex test(
        R"(\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP|HEDDLE_PROPERTY_TEST)\s*\(\s*(\w+)\s*,\s*(\w+))");
    Findings findings;
    for (const File& file : tree) {
        if (!is_cpp(file.path)) { continue; }
        for (std::sregex_iterator at(file.text.begin(), file.text.end(), test), end; at != end; ++at) {
            if ((*at)[1].str().find('_') == std::string::npos && (*at)[2].str().find('_') == std::string::npos) {
                continue;
            }
            const auto line = 1 + std::count(file.text.begin(), file.text.begin() + at->position(), '\n');
            findings.push_back({file.path, static_cast<int>(line),
                                "names a test with an underscore: " + (*at)[1].str() + "." + (*at)[2].str()});
        }
    }
    return findings;
}

}  // namespace heddle::tidy
