// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/duration_text.hpp"

#include <charconv>
#include <system_error>

namespace heddle::trace {

std::optional<double> seconds_of(std::string_view text) {
    constexpr double longest = 366.0 * 24 * 3600;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const double factor = unit == "ms" ? 0.001 : unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    const double seconds = value * factor;
    if (error != std::errc{} || !(seconds > 0) || seconds > longest) { return std::nullopt; }
    return seconds;
}

}  // namespace heddle::trace
