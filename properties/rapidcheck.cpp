// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/rapidcheck.hpp"

#include <cctype>
#include <string_view>

namespace heddle::prop::detail {
namespace {

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The last word of "std::vector<int> sizes"; empty if what stands last is not one, or is all there is.
std::string name_in(std::string_view parameter) {
    std::size_t end = parameter.size();
    while (end > 0 && parameter[end - 1] == ' ') { --end; }
    std::size_t begin = end;
    while (begin > 0 && is_of_name(parameter[begin - 1])) { --begin; }
    const bool is_type = begin == 0 || (begin > 1 && parameter[begin - 1] == ':');
    return is_type ? std::string() : std::string(parameter.substr(begin, end - begin));
}

}  // namespace

std::vector<std::string> argument_names(const char* parameters, std::size_t count) {
    std::string_view text = parameters;
    if (text.starts_with('(') && text.ends_with(')')) { text = text.substr(1, text.size() - 2); }
    std::vector<std::string> names;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        const char c = at < text.size() ? text[at] : ',';
        depth += c == '<' || c == '(' || c == '[' || c == '{' ? 1 : 0;
        depth -= c == '>' || c == ')' || c == ']' || c == '}' ? 1 : 0;
        if (c != ',' || (depth > 0 && at < text.size())) { continue; }
        while (begin < at && text[begin] == ' ') { ++begin; }
        names.push_back(name_in(text.substr(begin, at - begin)));
        begin = at + 1;
    }
    names.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (names[i].empty()) { names[i] = "argument " + std::to_string(i + 1); }
    }
    return names;
}

}  // namespace heddle::prop::detail
