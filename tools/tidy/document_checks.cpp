// SPDX-License-Identifier: Apache-2.0
// Documents, held against the files that they speak of.
//
//   README.md, docs/*.md   <!-- from: examples/first.cpp region -->    the next fenced block is, byte for byte, what stands between
//                          ```cpp … ```                                the lines `README: region` and `README end` of that file
//
// D1  A block of C++, CMake or JSON in README.md names its file, so that what readers copy is what the tests run.
// D2  Relative links, and repository paths in backticks, exist.
#include <algorithm>
#include <array>
#include <optional>
#include <regex>

#include "heddle/tools/tidy/checks.hpp"
#include "heddle/tools/tidy/lines.hpp"

namespace heddle::tidy {
namespace {

constexpr std::string_view fence = "```";

/// A file, a folder, or the files of a module named without their ending (`core/run/waker`).
bool exists(const Tree& tree, std::string path) {
    while (path.ends_with('/')) { path.pop_back(); }
    return std::any_of(tree.begin(), tree.end(), [&path](const File& file) {
        return file.path == path || file.path.starts_with(path + "/") || file.path.starts_with(path + ".");
    });
}

/// Lines between `README: name` and `README end`, both in a comment of their own; the whole file if no name is given.
std::optional<std::string> region_of(const File& file, const std::string& name) {
    if (name.empty()) { return file.text; }
    std::optional<std::string> region;
    bool inside = false;
    for_each_line(file.text, [&](int, std::string_view line) {
        const std::string_view text = trimmed(line);
        if (text.ends_with(" README: " + name)) {
            inside = true;
            region.emplace();
        } else if (text.ends_with(" README end")) {
            inside = false;
        } else if (inside) {
            region->append(line).append("\n");
        }
    });
    return region;
}

struct Block {
    int line = 0;
    std::string language;
    std::string file;  ///< empty if it names none
    std::string region;
    std::string text;
};

std::vector<Block> blocks_of(const File& document) {
    static const std::regex marker(R"(<!-- from: (\S+)(?: (\S+))? -->)");
    std::vector<Block> blocks;
    std::string file;
    std::string region;
    bool inside = false;
    for_each_line(document.text, [&](int number, std::string_view line) {
        if (inside) {
            inside = !line.starts_with(fence);
            if (inside) { blocks.back().text.append(line).append("\n"); }
            return;
        }
        std::cmatch match;
        if (std::regex_match(line.data(), line.data() + line.size(), match, marker)) {
            file = match[1];
            region = match[2];
        } else if (line.starts_with(fence)) {
            blocks.push_back({number, std::string(trimmed(line.substr(fence.size()))), file, region, {}});
            inside = true;
            file.clear();
            region.clear();
        } else if (!trimmed(line).empty()) {
            file.clear();
            region.clear();
        }
    });
    return blocks;
}

void check_block(const Tree& tree, const File& document, const Block& block, Findings& findings) {
    constexpr std::array<std::string_view, 3> copied{"cpp", "cmake", "json"};
    if (block.file.empty()) {
        const bool must =
            document.path == "README.md" && std::find(copied.begin(), copied.end(), block.language) != copied.end();
        if (must) {
            findings.push_back(
                {document.path, block.line, "shows " + block.language + " and names no file that it is from"});
        }
        return;
    }
    const File* source = find_file(tree, block.file);
    const std::optional<std::string> region = source == nullptr ? std::nullopt : region_of(*source, block.region);
    if (!region) {
        findings.push_back(
            {document.path, block.line, "is from " + block.file + " " + block.region + ", which does not exist"});
    } else if (*region != block.text) {
        findings.push_back({document.path, block.line, "differs from " + block.file + " " + block.region});
    }
}

void check_paths(const Tree& tree, const File& document, Findings& findings) {
    static const std::regex link(R"(\]\(([^)#:\s]+)(?:#[^)\s]*)?\))");
    static const std::regex quoted(
        R"(`((?:core|traces|simreactor|realreactor|properties|tools|ci|docs|examples)/[A-Za-z0-9_./-]*)`)");
    const std::string folder = document.path.substr(0, document.path.rfind('/') + 1);
    for_each_line(document.text, [&](int number, std::string_view line) {
        for (std::cregex_iterator at(line.data(), line.data() + line.size(), link), end; at != end; ++at) {
            std::string path = folder + (*at)[1].str();
            // a/b/../c → a/c
            static const std::regex up(R"([^/]+/\.\./)");
            for (std::string before; before != path;) {
                before = path;
                path = std::regex_replace(path, up, "", std::regex_constants::format_first_only);
            }
            if (!exists(tree, path)) {
                findings.push_back({document.path, number, "links to " + path + ", which does not exist"});
            }
        }
        for (std::cregex_iterator at(line.data(), line.data() + line.size(), quoted), end; at != end; ++at) {
            if (!exists(tree, (*at)[1])) {
                findings.push_back({document.path, number, "names " + (*at)[1].str() + ", which does not exist"});
            }
        }
    });
}

}  // namespace

Findings check_documents(const Tree& tree) {
    Findings findings;
    for (const File& file : tree) {
        const bool own =
            file.path == "README.md" || (file.path.starts_with("docs/") && !file.path.starts_with("docs/spec/"));
        if (!own || !file.path.ends_with(".md")) { continue; }
        for (const Block& block : blocks_of(file)) { check_block(tree, file, block, findings); }
        check_paths(tree, file, findings);
    }
    return findings;
}

}  // namespace heddle::tidy
