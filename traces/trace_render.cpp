// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace_render.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "heddle/traces/trace_text.hpp"

namespace heddle::trace {
namespace {

constexpr std::size_t column_width_min = 14;
constexpr std::size_t column_width_max = 34;
constexpr std::size_t rows_at_begin = 12;
constexpr std::size_t rows_around_mark = 8;
constexpr std::size_t rows_at_end = 24;
constexpr std::size_t none = static_cast<std::size_t>(-1);

/// Splits at blanks so that no line is wider than `width`, unless a word is.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    std::vector<std::string> lines{""};
    while (!text.empty()) {
        const std::size_t blank = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, blank);
        text.remove_prefix(std::min(blank + 1, text.size()));
        std::string& line = lines.back();
        if (!line.empty() && columns_of(line) + 1 + columns_of(word) > width) {
            lines.emplace_back(word);
        } else {
            line += (line.empty() ? "" : " ") + std::string(word);
        }
    }
    for (std::string& line : lines) { line.erase(line.find_last_not_of(' ') + 1); }
    return lines;
}

/// Text from outside in one line: what would move a terminal's cursor is spelled out.
std::string printable(const std::string& text) {
    std::string clean;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n' || c == '\t') {
            clean += ' ';
        } else if (byte < 0x20 || byte == 0x7f) {
            clean += '?';
        } else {
            clean += c;
        }
    }
    return clean;
}

bool concerns_coroutine(EventKind kind) {
    switch (kind) {
        case EventKind::spawned:
        case EventKind::started:
        case EventKind::parked:
        case EventKind::woken:
        case EventKind::resumed:
        case EventKind::yielded:
        case EventKind::finished: return true;
        default: return false;
    }
}

// ── columns ──

struct Column {
    std::string label;  // empty for the loop and for those that share a column
    std::string title;
    std::size_t events = 0;
    bool marked = false;  // it has part in the violation or in a choice
};

/// Every end of a path, shortest first: "b", "a/b", "main/a/b" of "main/a/b".
std::vector<std::string> path_ends(const std::string& label) {
    std::vector<std::string> ends;
    for (std::size_t at = label.rfind('/'); at != std::string::npos && at > 0; at = label.rfind('/', at - 1)) {
        ends.push_back(label.substr(at + 1));
    }
    ends.push_back(label);
    return ends;
}

class Columns {
public:
    Columns(const Trace& trace, std::size_t room) {
        std::map<std::string, std::size_t> found;
        for (const TraceEvent& event : trace.events) {
            if (event.kind.is_choice() || !concerns_coroutine(event.kind.event()) || event.who.empty()) { continue; }
            const auto [at, fresh] = found.try_emplace(event.who, coroutines_.size());
            if (fresh) { coroutines_.push_back({.label = event.who}); }
            ++coroutines_[at->second].events;
        }
        const auto mark = [&](std::string label) {
            // A point belongs to the coroutine before it: "main/a:sleep" to "main/a".
            for (std::size_t end = label.size(); end != std::string::npos; end = label.find_last_of(":(")) {
                label.resize(end);
                const auto at = found.find(label);
                if (at != found.end()) { coroutines_[at->second].marked = true; }
            }
        };
        mark(trace.outcome.who);
        for (const TraceEvent& event : trace.events) {
            if (event.kind.is_choice() && event.a != 0) { mark(event.what), mark(event.note); }
        }
        // A title is the shortest end that no other path has.
        std::map<std::string, std::size_t> ends;
        for (const Column& coroutine : coroutines_) {
            for (const std::string& end : path_ends(coroutine.label)) { ++ends[end]; }
        }
        for (Column& coroutine : coroutines_) {
            coroutine.title = printable(coroutine.label);
            for (const std::string& end : path_ends(coroutine.label)) {
                if (ends[end] > 1) { continue; }
                coroutine.title = printable(end);
                break;
            }
        }
        choose_shown(room);
    }

    [[nodiscard]] std::size_t count() const { return shown_.size(); }
    [[nodiscard]] std::size_t width() const { return width_; }
    [[nodiscard]] const std::string& title(std::size_t column) const { return shown_[column].title; }
    [[nodiscard]] const std::string& label(std::size_t column) const { return shown_[column].label; }
    [[nodiscard]] bool is_coroutine(const std::string& label) const { return column_of_.contains(label); }

    /// The column of a coroutine, the loop's (0) for everything else.
    [[nodiscard]] std::size_t of(const std::string& label) const {
        const auto at = column_of_.find(label);
        return at == column_of_.end() ? 0 : at->second;
    }
    /// True where several coroutines share the column, so that a text there has to say whose it is.
    [[nodiscard]] bool is_shared(std::size_t column) const { return shared_ && column + 1 == shown_.size(); }

    /// A label as it reads in the column of `from`: its own points without the path, others by their titles.
    [[nodiscard]] std::string name(const std::string& label, const std::string& from) const {
        if (!from.empty() && label.starts_with(from + ":")) { return printable(label.substr(from.size() + 1)); }
        // "main/a:sleep" → "a:sleep"; the longest coroutine that it starts with
        for (std::size_t end = label.size(); end != std::string::npos && end > 0;
             end = label.find_last_of(":/(", end - 1)) {
            const auto at = title_of_.find(label.substr(0, end));
            if (at != title_of_.end()) { return at->second + printable(label.substr(end)); }
        }
        return printable(label);
    }

private:
    void choose_shown(std::size_t room) {
        const std::size_t columns_max = std::max<std::size_t>(room / column_width_min, 2);
        std::vector<std::size_t> order(coroutines_.size());
        for (std::size_t i = 0; i < order.size(); ++i) { order[i] = i; }
        shared_ = coroutines_.size() + 1 > columns_max;
        if (shared_) {
            // Those that matter first, then the busiest; the first coroutine is the program's main one.
            std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                const auto rank = [&](std::size_t i) { return coroutines_[i].marked ? 0 : i == 0 ? 1 : 2; };
                if (rank(a) != rank(b)) { return rank(a) < rank(b); }
                return coroutines_[a].events > coroutines_[b].events;
            });
            order.resize(columns_max - 2);
            std::sort(order.begin(), order.end());
        }
        shown_.push_back({.label = {}, .title = "loop"});
        for (const std::size_t i : order) { shown_.push_back(coroutines_[i]); }
        if (shared_) { shown_.push_back({.label = {}, .title = "others"}); }
        for (const Column& coroutine : coroutines_) {
            column_of_[coroutine.label] = shown_.size() - 1;
            title_of_[coroutine.label] = coroutine.title;
        }
        for (std::size_t i = 1; i < shown_.size(); ++i) {
            if (!is_shared(i)) { column_of_[shown_[i].label] = i; }
        }
        width_ = std::clamp(room / shown_.size(), column_width_min, column_width_max);
    }

    std::vector<Column> coroutines_;  // all of them, in order of appearance
    std::vector<Column> shown_;       // the loop, the coroutines that have a column, and "others"
    std::map<std::string, std::size_t> column_of_;
    std::map<std::string, std::string> title_of_;
    std::size_t width_ = column_width_min;
    bool shared_ = false;
};

// ── rows ──

struct Row {
    std::uint64_t step = 0;  // 0: none is shown
    std::string time;
    std::size_t column = none;  // none: the text stands across
    std::string text;
    std::string lanes;  // one character per column: ' ', '|' or ':'
    bool marked = false;
};

class Timeline {
public:
    Timeline(const Trace& trace, const RenderOptions& options)
        : trace_(trace),
          options_(options),
          columns_(trace, options.width - margin_for(trace)),
          margin_(margin_for(trace)),
          lanes_(columns_.count(), ' ') {}

    std::string text() {
        for (const TraceEvent& event : trace_.events) { add(event); }
        flush_begin();
        if (is_failure(trace_.outcome.kind) && !violation_shown_) { add_violation({}); }
        std::string text = header();
        const std::vector<bool> kept = rows_to_keep();
        for (std::size_t i = 0; i < rows_.size();) {
            if (kept[i]) {
                append(text, rows_[i++]);
                continue;
            }
            const std::size_t first = i;
            while (i < rows_.size() && !kept[i]) { ++i; }
            text += "       ... " + std::to_string(i - first) + " lines not shown";
            if (steps_[first] != steps_[i - 1]) {
                text += " (steps " + std::to_string(steps_[first]) + " to " + std::to_string(steps_[i - 1]) + ")";
            }
            text += " ...\n";
        }
        return text;
    }

private:
    static std::size_t time_width(const Trace& trace) {
        std::size_t width = 4;
        for (const TraceEvent& event : trace.events) { width = std::max(width, spelled(event.at).size()); }
        return std::min<std::size_t>(width, 14);
    }
    static std::size_t margin_for(const Trace& trace) { return 2 + 6 + 2 + time_width(trace) + 2; }

    void add(const TraceEvent& event) {
        if (event.kind.is(EventKind::step_begin)) {
            flush_begin();
            ++step_;
            running_ = event.who;
            begin_ = event;
            if (options_.detail == Detail::steps) { flush_begin(); }
            return;
        }
        const std::size_t running_column = columns_.of(running_);
        const bool own_column = !event.kind.is_choice() && columns_.is_coroutine(event.who);
        // The place decides how labels read, and the phrase decides the place: ask once with full names for the place.
        const Phrase::Place place = phrase(event, [](const std::string& label) { return label; }).place;
        const bool in_own = place == Phrase::Place::own && own_column;
        const std::size_t column = in_own ? columns_.of(event.who) : place == Phrase::Place::loop ? 0 : running_column;
        const std::string from = place == Phrase::Place::across ? "" : in_own ? event.who : columns_.label(column);
        Phrase told = phrase(event, [&](const std::string& label) { return columns_.name(label, from); });
        if (told.detail <= options_.detail) {
            if (event.kind.is(EventKind::violated)) {
                add_violation(event.note);
            } else if (told.place == Phrase::Place::across) {
                flush_begin();
                push({.text = printable(told.text), .marked = true});
            } else {
                const bool says_who = columns_.is_shared(column) && in_own;
                const bool other = place == Phrase::Place::own && !own_column && !event.who.empty();
                std::string text = printable(told.text);
                if (says_who || other) { text = columns_.name(event.who, "") + ": " + text; }
                push({.column = column, .text = std::move(text)});
            }
        }
        follow(event);
    }

    /// Keeps the lanes: who is ready, who is parked, who is gone.
    void follow(const TraceEvent& event) {
        if (event.kind.is_choice()) { return; }
        if (event.kind.is(EventKind::step_end)) {
            flush_begin();
            running_.clear();
        }
        const std::size_t column = columns_.of(event.who);
        if (column == 0 || columns_.is_shared(column)) { return; }
        switch (event.kind.event()) {
            case EventKind::spawned:
            case EventKind::started:
            case EventKind::woken:
            case EventKind::resumed:
            case EventKind::yielded: lanes_[column] = '|'; break;
            case EventKind::parked: lanes_[column] = ':'; break;
            case EventKind::finished: lanes_[column] = ' '; break;
            default: break;
        }
    }

    void add_violation(const std::string& note) {
        flush_begin();
        violation_shown_ = true;
        const Outcome& outcome = trace_.outcome;
        const bool same = is_failure(outcome.kind) && (note.empty() || note == outcome.invariant);
        std::string text = (same && outcome.kind == OutcomeKind::crashed ? ">>> CRASHED " : ">>> VIOLATED ") + printable(same ? outcome.invariant : note);
        if (same && !outcome.message.empty()) { text += ": " + printable(outcome.message); }
        push({.text = std::move(text), .marked = true});
    }

    /// A step whose first line stands in its own column needs no line that says only "runs".
    void flush_begin() {
        if (!begin_) { return; }
        const std::string who = begin_->who;
        const std::size_t column = columns_.of(who);
        const bool named = columns_.is_coroutine(who) && !columns_.is_shared(column);
        push({.column = column, .text = named ? "runs" : "runs " + columns_.name(who, "")});
    }

    void push(Row row) {
        if (begin_) {
            const bool merges = row.column != none && row.column == columns_.of(begin_->who);
            if (!merges && row.column != none) { flush_begin(); }
        }
        if (begin_ && row.column != none) {
            row.step = step_;
            row.time = spelled(begin_->at);
            begin_.reset();
        }
        if (row.column == none) { row.step = 0; }
        row.lanes = lanes_;
        rows_.push_back(std::move(row));
        steps_.push_back(step_);
    }

    [[nodiscard]] std::vector<bool> rows_to_keep() const {
        const std::size_t count = rows_.size();
        std::vector<bool> keep(count, options_.rows_max == 0 || count <= options_.rows_max);
        if (count == 0 || keep[0]) { return keep; }
        std::size_t budget = options_.rows_max;
        const auto keep_range = [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < std::min(last, count) && budget > 0; ++i) {
                if (!keep[i]) { keep[i] = true, --budget; }
            }
        };
        // Later marks matter more than earlier ones: the violation is the last.
        keep_range(count - std::min(count, rows_at_end), count);
        keep_range(0, rows_at_begin);
        for (std::size_t i = count; i-- > 0;) {
            if (rows_[i].marked) { keep_range(i - std::min(i, rows_around_mark), i + rows_around_mark + 1); }
        }
        return keep;
    }

    std::string header() {
        std::string text = "  " + std::string(2, ' ') + "step  time";
        text.resize(margin_, ' ');
        for (std::size_t i = 0; i < columns_.count(); ++i) {
            const std::string title = cut_to(columns_.title(i), columns_.width() - 1);
            text += title;
            if (i + 1 < columns_.count()) { text.append(columns_.width() - columns_of(title), ' '); }
        }
        return text + "\n";
    }

    void append(std::string& text, const Row& row) {
        if (row.column == none) {
            const std::vector<std::string> lines = wrapped(row.text, options_.width - 6);
            for (std::size_t i = 0; i < lines.size(); ++i) { text += (i == 0 ? "  " : "      ") + lines[i] + "\n"; }
            return;
        }
        // The last column wraps; the others may run on to the right, where this line has nothing else to say.
        const std::size_t start = margin_ + row.column * columns_.width();
        const std::size_t room = options_.width > start + column_width_min ? options_.width - start : column_width_min;
        const std::vector<std::string> lines = wrapped(row.text, room);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            std::string line = i == 0 ? margin(row) : std::string(margin_, ' ');
            const std::size_t end = start + columns_of(lines[i]) + 1;
            for (std::size_t column = 0; column < columns_.count(); ++column) {
                const std::size_t at = margin_ + column * columns_.width();
                const bool own = column == row.column;
                if (!own && (row.lanes[column] == ' ' || (at >= start && at < end))) { continue; }
                line.append(at - std::min(at, columns_of(line)), ' ');
                line += own ? (i == 0 ? "" : "  ") + lines[i] : std::string(1, row.lanes[column]);
            }
            text += line + "\n";
        }
    }

    std::string margin(const Row& row) {
        std::string text(margin_, ' ');
        if (row.step == 0) { return text; }
        const std::string step = std::to_string(row.step);
        text.replace(2 + 6 - std::min<std::size_t>(step.size(), 6), step.size(), step);
        if (row.time != last_time_) {
            // Said once: time stands still for most steps.
            text.replace(10, row.time.size(), row.time);
            last_time_ = row.time;
        }
        text.resize(std::max(margin_, columns_of(text)));
        return text;
    }

    const Trace& trace_;
    const RenderOptions& options_;
    Columns columns_;
    std::size_t margin_;
    std::vector<Row> rows_;
    std::vector<std::uint64_t> steps_;  // of each row, shown or not
    std::string lanes_;
    std::string running_;
    std::optional<TraceEvent> begin_;  // of a step that has no line yet
    std::uint64_t step_ = 0;
    std::string last_time_;
    bool violation_shown_ = false;
};

// ── around the timeline ──

std::string recipe_line(const Recipe& recipe) {
    std::string text = recipe.scenario;
    bool first = true;
    for (const auto& [key, value] : recipe.parameters) {
        text += (first ? ":" : ",") + key + "=" + cut_to(printable(value), 40);
        first = false;
    }
    text = printable(text);
    if (!recipe.planted.empty()) { text += "  planted " + printable(recipe.planted); }
    text += "  seed " + std::to_string(recipe.seed) + "  " + printable(recipe.strategy);
    text += "  " + std::string(to_string(recipe.order)) + "  " + std::string(to_string(recipe.time));
    if (recipe.reactor != "sim") { text += "  on " + printable(recipe.reactor); }
    return text;
}

/// One thing, continued two columns further to the right.
void append_wrapped(std::string& text, std::string_view indent, const std::string& line, std::size_t width) {
    const std::vector<std::string> lines = wrapped(line, width - indent.size() - 2);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        text += std::string(indent) + (i == 0 ? "" : "  ") + lines[i] + "\n";
    }
}

}  // namespace

std::string render(const Trace& trace, const RenderOptions& asked) {
    RenderOptions options = asked;
    options.width = std::max<std::size_t>(options.width, 40);
    std::string text;
    append_wrapped(text, "", recipe_line(trace.recipe), options.width);
    append_wrapped(text, "", printable(describe(trace.outcome)), options.width);
    if (!trace.outcome.file.empty()) {
        text += "  " + printable(trace.outcome.file) + ":" + std::to_string(trace.outcome.line) + "\n";
    }
    text += "\n";
    if (trace.events.empty()) {
        text += trace.decisions.empty() ? "no deviation from the baseline, and no events were recorded\n"
                                        : "no events were recorded; where it left the baseline:\n";
        for (const Decision& decision : trace.decisions) {
            append_wrapped(text, "  ", "== " + printable(describe(decision)), options.width);
        }
    } else {
        text += Timeline(trace, options).text() + "\n";
        append_wrapped(text, "  ", "| ready   : parked   <- done to it by another   == not the baseline's choice",
                       options.width);
    }
    if (trace.events_omitted > 0) {
        text += "  ... " + std::to_string(trace.events_omitted) + " later events were not recorded ...\n";
    }
    if (!trace.constraints.empty()) {
        text += "\nit happens whenever\n";
        for (const OrderConstraint& order : trace.constraints.order) {
            append_wrapped(text, "  ", printable(order.before) + "  before  " + printable(order.after), options.width);
        }
        for (const ValueConstraint& value : trace.constraints.values) {
            append_wrapped(text, "  ",
                           std::string(to_string(value.kind)) + " at " + printable(value.at) + " answers " +
                               std::to_string(value.choose),
                           options.width);
        }
    }
    text += "\n" + std::to_string(trace.outcome.steps) + " steps, " + std::to_string(trace.outcome.choices) +
            " choices, " + std::to_string(trace.decisions.size()) + " not the baseline's, ended at " +
            spelled(trace.outcome.end) + "\n";
    return text;
}

}  // namespace heddle::trace
