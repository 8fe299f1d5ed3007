// SPDX-License-Identifier: Apache-2.0
// Reads the repository into values, once, in the order of the paths.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "heddle/tools/tidy/checks.hpp"

namespace heddle::tidy {
namespace {

bool is_left_out(const std::string& name) {
    if (name == ".ci" || name == ".github") { return false; }
    return name.starts_with('.') || name.starts_with("build") || name == "compile_commands.json";
}

}  // namespace

Tree read_tree(const std::string& root) {
    namespace fs = std::filesystem;
    Tree tree;
    for (fs::recursive_directory_iterator at(root), end; at != end; ++at) {
        const std::string name = at->path().filename().string();
        if (is_left_out(name) && at.depth() == 0) {
            if (at->is_directory()) { at.disable_recursion_pending(); }
            continue;
        }
        if (!at->is_regular_file() || at->is_symlink()) { continue; }
        std::ostringstream text;
        text << std::ifstream(at->path(), std::ios::binary).rdbuf();
        tree.push_back({at->path().lexically_relative(root).generic_string(), text.str()});
    }
    std::sort(tree.begin(), tree.end(), [](const File& a, const File& b) { return a.path < b.path; });
    return tree;
}

const File* find_file(const Tree& tree, std::string_view path) {
    const auto found = std::lower_bound(tree.begin(), tree.end(), path,
                                        [](const File& file, std::string_view at) { return file.path < at; });
    return found != tree.end() && found->path == path ? &*found : nullptr;
}

}  // namespace heddle::tidy
