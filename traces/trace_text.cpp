// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace_text.hpp"

#include <array>
#include <cstdio>

namespace heddle::trace {
namespace {

constexpr bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::string spelled(Instant at) {
    if (at.is_never()) { return "never"; }
    if (at.ns() == 0) { return "0"; }
    struct Unit {
        std::int64_t ns;
        std::string_view name;
    };
    constexpr std::array<Unit, 4> units{{{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}, {1, "ns"}}};
    for (const Unit& unit : units) {
        if (at.ns() < unit.ns && unit.ns > 1) { continue; }
        const std::int64_t thousandth = unit.ns >= 1'000 ? unit.ns / 1'000 : 1;
        if (at.ns() % thousandth != 0) { continue; }
        std::string text = std::to_string(at.ns() / unit.ns);
        if (const std::int64_t rest = at.ns() % unit.ns / thousandth; rest != 0) {
            std::string digits = std::to_string(1'000 + rest).substr(1);
            digits.erase(digits.find_last_not_of('0') + 1);
            text += "." + digits;
        }
        return text + std::string(unit.name);
    }
    return std::to_string(at.ns()) + "ns";
}

std::string_view relative(std::string_view label, std::string_view from) {
    if (from.empty() || label.size() <= from.size() + 1 || !label.starts_with(from)) { return label; }
    const char separator = label[from.size()];
    return separator == ':' || separator == '/' ? label.substr(from.size() + 1) : label;
}

std::string describe(const Decision& decision) {
    std::string text = std::string(to_string(decision.kind)) + " at " + decision.at;
    if (!decision.candidate.empty()) { text += " takes " + decision.candidate; }
    return text + " (" + std::to_string(decision.choose) + " of 0.." + std::to_string(decision.count - 1) + ")";
}

std::string describe(const TraceEvent& event) {
    std::string text = spelled(event.at) + "  ";
    if (event.kind.is_choice()) {
        text += std::string(to_string(event.kind.choice())) + " at " + event.who;
        if (!event.what.empty()) { text += " takes " + event.what; }
        text += " (" + std::to_string(event.a) + " of 0.." + std::to_string(event.b - 1) + ")";
        return event.note.empty() ? text : text + " instead of " + event.note;
    }
    if (!event.who.empty()) { text += event.who + " "; }
    text += to_string(event.kind);
    if (!event.what.empty()) { text += " " + std::string(relative(event.what, event.who)); }
    if (event.a != 0) { text += " a=" + std::to_string(event.a); }
    if (event.b != 0) { text += " b=" + std::to_string(event.b); }
    if (!event.note.empty()) { text += " \"" + event.note + "\""; }
    if (event.footprint != 0) {
        std::array<char, 24> digest{};
        std::snprintf(digest.data(), digest.size(), " footprint %08x", event.footprint);
        text += digest.data();
    }
    return text;
}

std::string describe(const Outcome& outcome) {
    std::string text(to_string(outcome.kind));
    if (is_failure(outcome.kind)) { text += " of " + outcome.invariant; }
    if (outcome.step != 0) { text += " at step " + std::to_string(outcome.step); }
    if (!outcome.who.empty()) { text += " in " + outcome.who; }
    if (!outcome.mode.empty()) { text += " (" + outcome.mode + ")"; }
    return outcome.message.empty() ? text : text + ": " + outcome.message;
}

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    for (const char c : text) { columns += starts_code_point(c) ? 1 : 0; }
    return columns;
}

std::string cut_to(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) { return std::string(text); }
    if (columns == 0) { return {}; }
    std::size_t end = 0;
    for (std::size_t seen = 0; end < text.size(); ++end) {
        if (starts_code_point(text[end]) && seen++ == columns - 1) { break; }
    }
    return std::string(text.substr(0, end)) + "~";
}

}  // namespace heddle::trace
