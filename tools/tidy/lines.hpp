// SPDX-License-Identifier: Apache-2.0
// Lines, words and kinds of the files that the checks read.
#pragma once

#include <string_view>

namespace heddle::tidy {

/// Calls f(number from 1, line without its end) for each line.
template <class F>
void for_each_line(std::string_view text, F f) {
    for (int number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        f(number, text.substr(0, end));
        if (end == std::string_view::npos) { return; }
        text.remove_prefix(end + 1);
    }
}

[[nodiscard]] inline bool is_cpp(std::string_view path) {
    return path.ends_with(".cpp") || path.ends_with(".hpp") || path.ends_with(".h");
}

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) { return {}; }
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// `<name>` or `"name"` with its marks, if the line is an include; else empty.
[[nodiscard]] inline std::string_view included_header(std::string_view line) {
    line = trimmed(line);
    if (!line.starts_with('#')) { return {}; }
    line = trimmed(line.substr(1));
    if (!line.starts_with("include")) { return {}; }
    line = trimmed(line.substr(7));
    if (line.empty() || (line.front() != '<' && line.front() != '"')) { return {}; }
    const std::size_t end = line.find(line.front() == '<' ? '>' : '"', 1);
    return end == std::string_view::npos ? std::string_view{} : line.substr(0, end + 1);
}

}  // namespace heddle::tidy
