// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace_diff.hpp"

#include <algorithm>
#include <array>

#include "heddle/traces/trace_text.hpp"

namespace heddle::trace {
namespace {

std::string spelled_map(const std::map<std::string, std::string>& map) {
    std::string text;
    for (const auto& [key, value] : map) { text += (text.empty() ? "" : ",") + key + "=" + value; }
    return text.empty() ? "none" : text;
}

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

/// "/events/12" needs no more than its number to be found; the step is what a timeline shows.
std::string numbered(std::size_t index, const std::string& text) { return "[" + std::to_string(index) + "] " + text; }

/// Describes elements [first, last) of either layer.
template <class Element>
std::vector<std::string> described(const std::vector<Element>& elements, std::size_t first, std::size_t last) {
    std::vector<std::string> lines;
    for (std::size_t i = first; i < std::min(last, elements.size()); ++i) {
        lines.push_back(numbered(i, describe(elements[i])));
    }
    return lines;
}

template <class Element>
Divergence at_index(DivergenceKind kind, std::string_view layer, const std::vector<Element>& expected,
                    const std::vector<Element>& found, std::size_t index, const DiffOptions& options) {
    const auto line = [&](const std::vector<Element>& elements) {
        return index < elements.size() ? numbered(index, describe(elements[index])) : std::string("the end");
    };
    const std::size_t first = index - std::min(index, options.neighbours);
    return {.kind = kind,
            .where = "/" + std::string(layer) + "/" + std::to_string(index),
            .expected = line(expected),
            .found = line(found),
            .before = described(expected, first, index),
            .after_expected = described(expected, index + 1, index + 1 + options.neighbours),
            .after_found = described(found, index + 1, index + 1 + options.neighbours)};
}

DivergenceKind kind_of(const TraceEvent& expected, const TraceEvent& found) {
    const bool same_point = expected.kind == found.kind && expected.who == found.who;
    if (same_point && expected.kind.is_choice()) {
        if (expected.b == found.b) { return DivergenceKind::choice; }
        return expected.what.empty() && found.what.empty() ? DivergenceKind::value_domain_changed
                                                           : DivergenceKind::set_differs;
    }
    TraceEvent same_footprint = found;
    same_footprint.footprint = expected.footprint;
    return same_footprint == expected ? DivergenceKind::footprint_differs : DivergenceKind::event;
}

DivergenceKind kind_of(const Decision& expected, const Decision& found) {
    // The other run deviates elsewhere: here it took the baseline, so the same question was answered otherwise.
    if (expected.at != found.at || expected.kind != found.kind) { return DivergenceKind::choice; }
    if (expected.count != found.count && expected.set == 0 && found.set == 0) {
        return DivergenceKind::value_domain_changed;
    }
    if (expected.count != found.count || expected.set != found.set) { return DivergenceKind::set_differs; }
    if (expected.choose != found.choose || expected.candidate != found.candidate) { return DivergenceKind::choice; }
    return DivergenceKind::footprint_differs;
}

std::optional<Divergence> diff_recipes(const Recipe& a, const Recipe& b) {
    const auto other = [](std::string member, std::string expected, std::string found) {
        return Divergence{.kind = DivergenceKind::recipe,
                          .where = "/recipe/" + std::move(member),
                          .expected = std::move(expected),
                          .found = std::move(found)};
    };
    if (a.scenario != b.scenario) { return other("scenario", a.scenario, b.scenario); }
    if (a.parameters != b.parameters) {
        return other("parameters", spelled_map(a.parameters), spelled_map(b.parameters));
    }
    if (a.planted != b.planted) { return other("planted", or_none(a.planted), or_none(b.planted)); }
    return std::nullopt;
}

/// What says how the run was found, or under which freedoms (D3).
std::vector<std::string> recipe_notes(const Recipe& a, const Recipe& b) {
    std::vector<std::string> notes;
    const auto note = [&](std::string_view name, const std::string& first, const std::string& second) {
        if (first != second) { notes.push_back(std::string(name) + ": " + or_none(first) + " / " + or_none(second)); }
    };
    const auto time = [](Duration duration) { return spelled(Instant{duration.count()}); };
    note("seed", std::to_string(a.seed), std::to_string(b.seed));
    note("strategy", a.strategy, b.strategy);
    note("reactor", a.reactor, b.reactor);
    note("order", std::string(to_string(a.order)), std::string(to_string(b.order)));
    note("time", std::string(to_string(a.time)), std::string(to_string(b.time)));
    note("resolution", time(a.resolution), time(b.resolution));
    note("jitter", time(a.jitter), time(b.jitter));
    note("slack", time(a.slack), time(b.slack));
    note("latency_min", time(a.latency_min), time(b.latency_min));
    note("latency_max", time(a.latency_max), time(b.latency_max));
    note("bound", a.bound, b.bound);
    note("steps_max", std::to_string(a.steps_max), std::to_string(b.steps_max));
    note("time_max", time(a.time_max), time(b.time_max));
    note("knobs", spelled_map(a.knobs), spelled_map(b.knobs));
    return notes;
}

std::optional<Divergence> diff_events(const Trace& a, const Trace& b, const DiffOptions& options) {
    if (a.events.empty() || b.events.empty()) { return std::nullopt; }
    const std::size_t common = std::min(a.events.size(), b.events.size());
    for (std::size_t i = 0; i < common; ++i) {
        if (a.events[i] == b.events[i]) { continue; }
        return at_index(kind_of(a.events[i], b.events[i]), "events", a.events, b.events, i, options);
    }
    if (a.events.size() == b.events.size()) { return std::nullopt; }
    const Trace& shorter = a.events.size() < b.events.size() ? a : b;
    if (shorter.events_omitted > 0) { return std::nullopt; }  // it ended where the recorder stopped, not the run
    const auto kind = &shorter == &b ? DivergenceKind::early_end : DivergenceKind::event;
    return at_index(kind, "events", a.events, b.events, common, options);
}

std::optional<Divergence> diff_decisions(const Trace& a, const Trace& b, const DiffOptions& options) {
    const std::size_t common = std::min(a.decisions.size(), b.decisions.size());
    for (std::size_t i = 0; i < common; ++i) {
        if (a.decisions[i] == b.decisions[i]) { continue; }
        return at_index(kind_of(a.decisions[i], b.decisions[i]), "decisions", a.decisions, b.decisions, i, options);
    }
    if (a.decisions.size() == b.decisions.size()) { return std::nullopt; }
    return at_index(DivergenceKind::choice, "decisions", a.decisions, b.decisions, common, options);
}

std::optional<Divergence> diff_hashes(const RunHash& a, const RunHash& b) {
    const std::size_t common = std::min(a.check_points.size(), b.check_points.size());
    std::uint64_t same_until = 0;
    const auto between = [&](std::uint64_t until, DivergenceKind kind, std::string where) {
        const bool touches = kind == DivergenceKind::footprint_differs;
        return Divergence{.kind = kind,
                          .where = std::move(where),
                          .expected = std::string("the same ") + (touches ? "touched cells" : "events") +
                                      " after event " + std::to_string(same_until) + " and up to event " +
                                      std::to_string(until),
                          .found = "others; record both runs with events to see which"};
    };
    for (std::size_t i = 0; i < common; ++i) {
        const CheckPoint& x = a.check_points[i];
        const CheckPoint& y = b.check_points[i];
        const std::string where = "/hash/check_points/" + std::to_string(i);
        if (x.hash != y.hash) { return between(x.events, DivergenceKind::hash, where); }
        if (x.footprint != y.footprint) { return between(x.events, DivergenceKind::footprint_differs, where); }
        same_until = x.events;
    }
    if (a.events != b.events) {
        return Divergence{.kind = b.events < a.events ? DivergenceKind::early_end : DivergenceKind::event,
                          .where = "/hash/events",
                          .expected = std::to_string(a.events) + " events",
                          .found = std::to_string(b.events)};
    }
    if (a.value != b.value) { return between(a.events, DivergenceKind::hash, "/hash/value"); }
    if (a.footprint != b.footprint) { return between(a.events, DivergenceKind::footprint_differs, "/hash/footprint"); }
    return std::nullopt;
}

std::optional<Divergence> diff_outcomes(Outcome a, Outcome b) {
    a.file = b.file = {};
    a.line = b.line = 0;
    if (a == b) { return std::nullopt; }
    std::string expected = describe(a);
    std::string found = describe(b);
    if (expected == found) {
        const auto counts = [](const Outcome& outcome) {
            return std::to_string(outcome.steps) + " steps, " + std::to_string(outcome.choices) + " choices, end at " +
                   spelled(outcome.end);
        };
        expected = counts(a);
        found = counts(b);
    }
    return Divergence{.kind = DivergenceKind::outcome, .where = "/outcome", .expected = expected, .found = found};
}

std::optional<Divergence> diff_constraints(const Constraints& a, const Constraints& b) {
    if (a == b) { return std::nullopt; }
    const auto counts = [](const Constraints& constraints) {
        return std::to_string(constraints.order.size()) + " orders, " + std::to_string(constraints.values.size()) +
               " values";
    };
    return Divergence{.kind = DivergenceKind::constraints,
                      .where = "/constraints",
                      .expected = counts(a),
                      .found = counts(a) == counts(b) ? counts(b) + ", others" : counts(b)};
}

void append_lines(std::string& text, std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) { return; }
    text += "  " + std::string(title) + "\n";
    for (const std::string& line : lines) { text += "    " + line + "\n"; }
}

}  // namespace

std::string_view to_string(DivergenceKind kind) {
    constexpr std::array<std::string_view, static_cast<std::size_t>(DivergenceKind::count_)> names{
        "label-missing", "set-differs",  "footprint-differs", "value-domain-changed", "early-end",     "choice-differs",
        "event-differs", "hash-differs", "outcome-differs",   "constraints-differ",   "recipe-differs"};
    return names.at(static_cast<std::size_t>(kind));
}

std::string Divergence::text() const {
    std::string text = "first divergence: " + std::string(to_string(kind)) + " at " + where + "\n";
    append_lines(text, "the same until", before);
    text += "  expected  " + expected + "\n  found     " + found + "\n";
    append_lines(text, "then expected", after_expected);
    append_lines(text, "then found", after_found);
    return text;
}

std::string TraceDiff::text() const {
    std::string text;
    for (const std::string& note : notes) { text += "note: " + note + "\n"; }
    return text + (divergence ? divergence->text() : "the same run\n");
}

TraceDiff diff(const Trace& expected, const Trace& found, DiffOptions options) {
    TraceDiff result;
    result.divergence = diff_recipes(expected.recipe, found.recipe);
    if (result.divergence) { return result; }
    result.notes = recipe_notes(expected.recipe, found.recipe);
    result.divergence = diff_events(expected, found, options);
    if (!result.divergence) { result.divergence = diff_decisions(expected, found, options); }
    if (!result.divergence) { result.divergence = diff_hashes(expected.hash, found.hash); }
    if (!result.divergence) { result.divergence = diff_outcomes(expected.outcome, found.outcome); }
    if (!result.divergence) { result.divergence = diff_constraints(expected.constraints, found.constraints); }
    return result;
}

}  // namespace heddle::trace
