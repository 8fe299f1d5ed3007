// SPDX-License-Identifier: Apache-2.0
// Checks that the repository makes of its own files. Each takes a tree, a list of files as values, so that its tests hand it bad
// examples from memory; the real tree is read once by `read_tree`.
//
//   repository ──read_tree──▶ Tree ──check_…──▶ findings, each with file, line and what to do
//
// T1  A check is a function of the tree and of its table: no file system, no order but that of the paths.
// T2  A finding names a line that a person can open.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::tidy {

struct File {
    std::string path;  ///< relative to the repository, with forward slashes
    std::string text;
};
using Tree = std::vector<File>;  ///< sorted by path

struct Finding {
    std::string path;
    int line = 0;
    std::string text;
};
using Findings = std::vector<Finding>;

/// The repository's own text files below `root`: source, scripts, documents, build files; build folders and hidden ones left out,
/// except .ci and .github.
[[nodiscard]] Tree read_tree(const std::string& root);
[[nodiscard]] const File* find_file(const Tree& tree, std::string_view path);
[[nodiscard]] std::string to_string(const Findings& findings);

/// What stands outside the repository and is included by its headers.
enum class Library {
    standard,
    threads,  ///< the part of the standard library that other threads need
    chance,   ///< <random>: never (simreactor/prng is the only generator)
    abi,      ///< cxxabi, backtrace
    posix,
    instrument,  ///< Valgrind and sanitizer interfaces
    boost_context,
    boost_fiber,
    uv,
    http,
    json,
    gtest,
    rapidcheck,
    cli11,
    fmt,
    benchmark,
    unknown,
};
[[nodiscard]] Library library_of(std::string_view header);
[[nodiscard]] std::string_view to_string(Library library);

/// A row of the include table: files whose path begins with `files` may include repository paths that begin with one of `may` and
/// with none of `except`, and headers of `libraries`. The row with the longest matching `files` counts.
struct IncludeRow {
    std::string_view files;
    std::vector<std::string_view> may;
    std::vector<std::string_view> except;
    std::vector<Library> libraries;
};

/// What a kind of file may include beyond the row of its folder.
struct IncludeKind {
    std::vector<std::string_view> name_ends;   ///< of the path, or …
    std::vector<std::string_view> path_parts;  ///< … a part of the path
    std::vector<Library> libraries;
    std::vector<std::string_view> folders;  ///< only files below one of them; empty for all
    std::vector<std::string_view> may;
};

struct IncludeTable {
    std::vector<IncludeRow> rows;
    std::vector<IncludeKind> kinds;
};

[[nodiscard]] Findings check_includes(const Tree& tree, const IncludeTable& table);
/// SPDX first, then a comment that says what the file is for; a .cpp that begins with its own header may leave that to it.
[[nodiscard]] Findings check_openings(const Tree& tree);
/// Marks of unfinished work, paths of one machine, documents that are not here.
[[nodiscard]] Findings check_words(const Tree& tree);
/// Clocks, entropy and walks through unordered containers in core, traces and simreactor.
[[nodiscard]] Findings check_determinism(const Tree& tree);
/// Every INV-… and rule number that a file cites stands in docs/spec.
[[nodiscard]] Findings check_citations(const Tree& tree);
/// Names of tests are words, without underscores.
[[nodiscard]] Findings check_test_names(const Tree& tree);
/// A fenced block of README.md or docs is the region of the file that it names; relative links and paths in backticks exist.
[[nodiscard]] Findings check_documents(const Tree& tree);

}  // namespace heddle::tidy
