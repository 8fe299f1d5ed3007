// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/cell_names.hpp"

#include <charconv>
#include <cstdio>

namespace heddle::sim {
namespace {

/// Fields of the runtime's objects, in no order that matters.
constexpr std::string_view fields[] = {
    "wait",  "state", "flag",    "live",  "settings", "children", "order",    "handles", "value",     "user",
    "tail",  "head",  "slot",    "turn",  "rel",      "credit",   "released", "release", "skips",     "sends",
    "tasks", "queue", "places",  "closed", "receives", "circuit",  "condition", "pending", "unhandled", "armed",
    "clock", "now",   "request", "signal", "exit",     "journal",  "read",     "write",   "whole",     "var",
    "lock",  "latch", "ready-tail", "ready-head"};

/// Those that have an index beside it.
constexpr std::string_view indexed[] = {"slot", "turn", "rel", "credit", "released", "release", "armed", "value", "user", "request", "var", "lock"};
constexpr std::uint64_t indices = 64;

constexpr std::string_view nameless = "cell.";

/// The whole text as a number.
template <class Number>
std::optional<Number> number_of(std::string_view text, int base) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc{} || end != text.data() + text.size()) { return std::nullopt; }
    return number;
}

}  // namespace

void CellNames::learn(const LabelBook& labels) {
    for (const std::string& object : labels.objects()) {
        const Label label = LabelBook::of(object);
        for (const std::string_view field : fields) { names_.try_emplace(cell(label, field).value, object + "." + std::string(field)); }
        for (const std::string_view field : indexed) {
            for (std::uint64_t index = 1; index < indices; ++index) {
                names_.try_emplace(cell(label, field, index).value, object + "." + std::string(field) + "[" + std::to_string(index) + "]");
            }
        }
    }
}

std::string CellNames::text(Cell cell) const {
    const auto known = names_.find(cell.value);
    if (known != names_.end()) { return known->second; }
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(cell.value));
    return std::string(nameless) + hash;
}

std::optional<Cell> CellNames::cell_of(std::string_view text) {
    if (text.starts_with(nameless)) {
        const std::optional<std::uint64_t> hash = number_of<std::uint64_t>(text.substr(nameless.size()), 16);
        return hash ? std::optional(Cell{*hash}) : std::nullopt;
    }
    const std::size_t dot = text.rfind('.');
    if (dot == std::string_view::npos || dot == 0) { return std::nullopt; }
    std::string_view field = text.substr(dot + 1);
    std::uint64_t index = 0;
    if (const std::size_t open = field.find('['); open != std::string_view::npos) {
        if (!field.ends_with(']')) { return std::nullopt; }
        const std::optional<std::uint64_t> inside = number_of<std::uint64_t>(field.substr(open + 1, field.size() - open - 2), 10);
        if (!inside) { return std::nullopt; }
        index = *inside;
        field = field.substr(0, open);
    }
    if (field.empty()) { return std::nullopt; }
    return cell(LabelBook::of(text.substr(0, dot)), field, index);
}

}  // namespace heddle::sim
