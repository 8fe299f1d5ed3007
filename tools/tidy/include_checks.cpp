// SPDX-License-Identifier: Apache-2.0
// The include table, applied: who may know whom. The table itself is data and stands in tidy_test.cpp.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "heddle/tools/tidy/checks.hpp"
#include "heddle/tools/tidy/lines.hpp"

namespace heddle::tidy {
namespace {

constexpr std::string_view standard_headers =
    " algorithm any array bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits clocale "
    "cmath codecvt compare "
    "complex concepts coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar "
    "cwctype deque "
    "exception execution filesystem format forward_list fstream functional initializer_list iomanip ios iosfwd "
    "iostream istream iterator "
    "limits list locale map memory memory_resource new numbers numeric optional ostream queue ranges ratio regex "
    "scoped_allocator set "
    "source_location span sstream stack stdexcept streambuf string string_view syncstream system_error tuple "
    "type_traits typeindex "
    "typeinfo unordered_map unordered_set utility valarray variant vector version "
    "stdint.h stddef.h stdbool.h ";
constexpr std::string_view thread_headers =
    " thread mutex shared_mutex atomic condition_variable future semaphore latch barrier stop_token ";
constexpr std::string_view posix_headers =
    " unistd.h stdio.h stdlib.h string.h fcntl.h signal.h poll.h pthread.h sched.h time.h errno.h dirent.h netdb.h "
    "spawn.h ucontext.h dlfcn.h "
    "elf.h link.h limits.h "
    "termios.h malloc.h ";

struct Prefix {
    std::string_view text;
    Library library;
};
constexpr std::array prefixes{Prefix{"boost/context/", Library::boost_context},
                              Prefix{"boost/fiber/", Library::boost_fiber},
                              Prefix{"uv.h", Library::uv},
                              Prefix{"http_parser.h", Library::http},
                              Prefix{"nlohmann/", Library::json},
                              Prefix{"gtest/", Library::gtest},
                              Prefix{"gmock/", Library::gtest},
                              Prefix{"rapidcheck", Library::rapidcheck},
                              Prefix{"CLI/", Library::cli11},
                              Prefix{"fmt/", Library::fmt},
                              Prefix{"benchmark/", Library::benchmark},
                              Prefix{"valgrind/", Library::instrument},
                              Prefix{"sanitizer/", Library::instrument},
                              Prefix{"cxxabi.h", Library::abi},
                              Prefix{"execinfo.h", Library::abi},
                              Prefix{"unwind.h", Library::abi},
                              Prefix{"sys/", Library::posix},
                              Prefix{"linux/", Library::posix},
                              Prefix{"netinet/", Library::posix},
                              Prefix{"arpa/", Library::posix}};

bool is_word_of(std::string_view words, std::string_view word) {
    return words.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool starts_with_any(std::string_view path, const std::vector<std::string_view>& prefixes_of_paths) {
    return std::any_of(prefixes_of_paths.begin(), prefixes_of_paths.end(),
                       [path](std::string_view prefix) { return path.starts_with(prefix); });
}

bool is_kind(std::string_view path, const IncludeKind& kind) {
    if (!kind.folders.empty() && !starts_with_any(path, kind.folders)) { return false; }
    return std::any_of(kind.name_ends.begin(), kind.name_ends.end(),
                       [path](std::string_view end) { return path.ends_with(end); }) ||
           std::any_of(kind.path_parts.begin(), kind.path_parts.end(),
                       [path](std::string_view part) { return path.find(part) != std::string_view::npos; });
}

const IncludeRow* row_of(std::string_view path, const IncludeTable& table) {
    const IncludeRow* best = nullptr;
    for (const IncludeRow& row : table.rows) {
        if (path.starts_with(row.files) && (best == nullptr || row.files.size() > best->files.size())) { best = &row; }
    }
    return best;
}

/// One file and what it may include: its row, and the kinds that it is of.
class Permissions {
public:
    Permissions(std::string_view path, const IncludeTable& table) : path_(path), row_(row_of(path, table)) {
        for (const IncludeKind& kind : table.kinds) {
            if (is_kind(path, kind)) { kinds_.push_back(&kind); }
        }
    }

    [[nodiscard]] bool has_row() const { return row_ != nullptr; }

    [[nodiscard]] bool allows(Library library) const {
        const auto lists = [library](const std::vector<Library>& libraries) {
            return std::find(libraries.begin(), libraries.end(), library) != libraries.end();
        };
        return library == Library::standard || lists(row_->libraries) ||
               std::any_of(kinds_.begin(), kinds_.end(),
                           [&](const IncludeKind* kind) { return lists(kind->libraries); });
    }

    [[nodiscard]] bool allows(std::string_view target) const {
        if (std::find(row_->may.begin(), row_->may.end(), target) != row_->may.end()) { return true; }  // named in full
        for (const std::string_view folder : {std::string_view("detail/"), std::string_view("testing/")}) {
            const std::size_t at = target.find("/" + std::string(folder));
            if (at == std::string_view::npos) { continue; }
            const bool is_near = path_.starts_with(target.substr(0, at + 1));
            if (folder == "detail/" ? !is_near : !is_test()) { return false; }
        }
        if (starts_with_any(target, row_->may) && !starts_with_any(target, row_->except)) { return true; }
        return std::any_of(kinds_.begin(), kinds_.end(),
                           [&](const IncludeKind* kind) { return starts_with_any(target, kind->may); });
    }

private:
    [[nodiscard]] bool is_test() const { return allows(Library::gtest); }

    std::string_view path_;
    const IncludeRow* row_;
    std::vector<const IncludeKind*> kinds_;
};

/// The umbrella headers, which the include folder links from one level up.
std::string repository_path(std::string_view included) {
    static const std::map<std::string_view, std::string_view> umbrellas{{"heddle.hpp", "core/heddle.hpp"},
                                                                        {"uv.hpp", "realreactor/uv.hpp"},
                                                                        {"sim.hpp", "simreactor/sim.hpp"},
                                                                        {"gtest.hpp", "properties/gtest.hpp"},
                                                                        {"rapidcheck.hpp", "properties/rapidcheck.hpp"}};
    const auto found = umbrellas.find(included);
    return std::string(found == umbrellas.end() ? included : found->second);
}

}  // namespace

Library library_of(std::string_view header) {
    if (header == "random") { return Library::chance; }
    if (is_word_of(standard_headers, header)) { return Library::standard; }
    if (is_word_of(thread_headers, header)) { return Library::threads; }
    if (is_word_of(posix_headers, header)) { return Library::posix; }
    for (const Prefix& prefix : prefixes) {
        if (header.starts_with(prefix.text)) { return prefix.library; }
    }
    return Library::unknown;
}

std::string_view to_string(Library library) {
    constexpr std::array<std::string_view, 17> names{"the standard library",
                                                     "threads",
                                                     "<random>",
                                                     "the C++ ABI",
                                                     "POSIX",
                                                     "Valgrind and sanitizers",
                                                     "Boost.Context",
                                                     "Boost.Fiber",
                                                     "libuv",
                                                     "libhttp-parser",
                                                     "nlohmann/json",
                                                     "GoogleTest",
                                                     "RapidCheck",
                                                     "CLI11",
                                                     "fmt",
                                                     "Google Benchmark",
                                                     "an unknown library"};
    static_assert(names.size() == static_cast<std::size_t>(Library::unknown) + 1);
    return names[static_cast<std::size_t>(library)];
}

Findings check_includes(const Tree& tree, const IncludeTable& table) {
    std::set<std::string_view> paths;
    for (const File& file : tree) { paths.insert(file.path); }
    Findings findings;
    for (const File& file : tree) {
        if (!is_cpp(file.path)) { continue; }
        const Permissions permissions(file.path, table);
        if (!permissions.has_row()) {
            findings.push_back({file.path, 1, "stands in no folder of the include table"});
            continue;
        }
        for_each_line(file.text, [&](int number, std::string_view line) {
            const std::string_view included = included_header(line);
            if (included.empty()) { return; }
            const std::string name(included.substr(1, included.size() - 2));
            if (included.front() == '<') {
                const Library library = library_of(name);
                if (!permissions.allows(library)) {
                    findings.push_back(
                        {file.path, number, "may not include " + std::string(to_string(library)) + " <" + name + ">"});
                }
                return;
            }
            const bool own_project = file.path.starts_with("examples/") && name.find('/') == std::string::npos;
            if (own_project && paths.contains(file.path.substr(0, file.path.rfind('/') + 1) + name)) { return; }
            if (!name.starts_with("heddle/")) {
                findings.push_back(
                    {file.path, number, "includes \"" + name + "\", which is not heddle/<path in the repository>"});
                return;
            }
            const std::string target = repository_path(std::string_view(name).substr(7));
            if (!paths.contains(target)) {
                findings.push_back({file.path, number, "includes " + target + ", which does not exist"});
            } else if (!permissions.allows(std::string_view(target))) {
                findings.push_back({file.path, number, "may not include " + target});
            }
        });
    }
    return findings;
}

}  // namespace heddle::tidy
