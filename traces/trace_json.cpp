// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace_json.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/traces/trace_shape.hpp"

namespace heddle::trace {
namespace {

using nlohmann::json;

// ── writing ──

/// As JSON string; nearly every text is plain ASCII and needs no more than its quotes.
std::string escaped(const std::string& text) {
    const auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
    if (std::all_of(text.begin(), text.end(), plain)) { return '"' + text + '"'; }
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

class Writer {
public:
    std::string write(const Trace& trace) {
        object_on_lines(trace_shape(), &trace, 0);
        text_ += '\n';
        return std::move(text_);
    }

private:
    void object_on_lines(const Shape& shape, const void* owner, int depth) {
        text_ += '{';
        bool first = true;
        for (const Field& field : shape.fields) {
            if (!field.required && field.is_default(owner)) { continue; }
            begin_line(first, depth + 1);
            text_ += escaped(std::string(field.name)) + ": ";
            value(field, owner, depth + 1);
        }
        end_lines(first, depth, '}');
    }

    void object_in_line(const Shape& shape, const void* owner) {
        text_ += '{';
        bool first = true;
        for (const Field& field : shape.fields) {
            if (!field.required && field.is_default(owner)) { continue; }
            text_ += first ? "" : ", ";
            first = false;
            text_ += escaped(std::string(field.name)) + ": ";
            HEDDLE_ASSERT(field.form == Field::Form::scalar, "J1: what stands on one line has no structure");
            scalar(field.show(owner));
        }
        text_ += '}';
    }

    void value(const Field& field, const void* owner, int depth) {
        switch (field.form) {
            case Field::Form::scalar: scalar(field.show(owner)); break;
            case Field::Form::object: object_on_lines(*field.shape, field.at(owner, 0), depth); break;
            case Field::Form::map: {
                text_ += '{';
                bool first = true;
                for (const auto& [key, text] :
                     *static_cast<const std::map<std::string, std::string>*>(field.at(owner, 0))) {
                    begin_line(first, depth + 1);
                    text_ += escaped(key) + ": " + escaped(text);
                }
                end_lines(first, depth, '}');
                break;
            }
            case Field::Form::array: {
                text_ += '[';
                bool first = true;
                const std::size_t size = field.size(owner);
                for (std::size_t i = 0; i < size; ++i) {
                    begin_line(first, depth + 1);
                    object_in_line(*field.shape, field.at(owner, i));
                }
                end_lines(first, depth, ']');
                break;
            }
        }
    }

    void scalar(const Scalar& value) {
        text_ += value.type == Scalar::Type::text ? escaped(value.text) : std::to_string(value.integer);
    }

    void begin_line(bool& first, int depth) {
        text_ += first ? "\n" : ",\n";
        text_.append(static_cast<std::size_t>(depth) * 2, ' ');
        first = false;
    }
    void end_lines(bool first, int depth, char close) {
        if (!first) {
            text_ += '\n';
            text_.append(static_cast<std::size_t>(depth) * 2, ' ');
        }
        text_ += close;
    }

    std::string text_;
};

// ── reading ──

/// A pointer that leaves behind how far the parser has come, so that an error can name its line.
class Cursor {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
    reference operator*() const { return *at_; }
    Cursor& operator++() {
        *furthest_ = ++at_;
        return *this;
    }
    Cursor operator++(int) {
        Cursor before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

private:
    const char* at_;
    const char** furthest_;
};

/// Receives the parser's calls; each puts one value where it belongs or ends the reading with an error.
class Reader {
public:
    Reader(std::string_view text, std::string_view file_name)
        : text_(text), file_name_(file_name), furthest_(text.data()) {}

    Result<Trace> read() {
        const char* const end = text_.data() + text_.size();
        const bool complete = json::sax_parse(Cursor(text_.data(), &furthest_), Cursor(end, &furthest_), this);
        HEDDLE_ASSERT(complete != error_.has_value(), "J2: an error ends the reading, and nothing else does");
        if (error_) { return *std::move(error_); }
        if (const auto wrong = find_inconsistency(trace_)) {
            // Found when the whole text has been read: the pointer says where, a line cannot.
            return InputError{file_name_ + ": " + wrong->pointer, wrong->expected, wrong->found};
        }
        return std::move(trace_);
    }

    // The parser's side, with its names.
    bool null() { return scalar({}, "null"); }
    bool boolean(bool value) { return scalar({}, value ? "true" : "false"); }
    bool number_integer(std::int64_t value) {
        return scalar({Scalar::Type::integer, {}, value}, std::to_string(value));
    }
    bool number_unsigned(std::uint64_t value) {
        constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
        const std::int64_t saturated =
            value > static_cast<std::uint64_t>(greatest) ? greatest : static_cast<std::int64_t>(value);
        return scalar({Scalar::Type::integer, {}, saturated}, std::to_string(value));
    }
    bool number_float(double, const std::string& text) { return scalar({}, text); }
    bool string(std::string& value) {
        const Scalar text{Scalar::Type::text, std::move(value), 0};
        return scalar(text, text.text);
    }
    bool binary(std::vector<std::uint8_t>&) { return fail("JSON", "binary data"); }

    bool start_object(std::size_t) {
        if (frames_.empty()) { return enter(trace_shape(), &trace_); }
        Frame& frame = frames_.back();
        if (frame.form == Field::Form::array) { return enter(*frame.field->shape, frame.field->open(frame.owner)); }
        if (frame.form == Field::Form::map) { return fail("a string", "an object"); }
        const Field& field = *frame.field;
        if (field.form == Field::Form::object) { return enter(*field.shape, field.open(frame.owner)); }
        if (field.form != Field::Form::map) { return fail(std::string(field.expected), "an object"); }
        frames_.push_back({Field::Form::map, nullptr, &field, frame.owner});
        return true;
    }

    bool key(std::string& name) {
        Frame& frame = frames_.back();
        if (frame.form == Field::Form::map) {
            frame.key = name;
            return !frame.field->strings(frame.owner).contains(name) || fail("each name once", "a duplicate");
        }
        const Field* field = frame.shape->find(name);
        if (field == nullptr) {
            frame.field = nullptr;
            frame.key = name;
            return fail("a member of " + std::string(frame.shape->name) + " (" + frame.shape->names() + ")",
                        "an unknown one");
        }
        frame.field = field;
        const std::uint64_t bit = std::uint64_t{1} << frame.shape->index_of(*field);
        if ((frame.seen & bit) != 0) { return fail("each member once", "a duplicate"); }
        frame.seen |= bit;
        return true;
    }

    bool end_object() {
        const Frame& frame = frames_.back();
        if (frame.form == Field::Form::object) {
            for (const Field& field : frame.shape->fields) {
                const bool missing = field.required && (frame.seen >> frame.shape->index_of(field) & 1) == 0;
                if (!missing) { continue; }
                frames_.back().field = &field;
                return fail(std::string(field.expected), "no such member");
            }
        }
        leave();
        return true;
    }

    bool start_array(std::size_t) {
        if (frames_.empty()) { return fail("an object that is a trace", "an array"); }
        const Frame& frame = frames_.back();
        if (frame.form == Field::Form::array) { return fail("an object", "an array"); }
        if (frame.form == Field::Form::map) { return fail("a string", "an array"); }
        const Field* field = frame.field;
        if (field->form != Field::Form::array) { return fail(std::string(field->expected), "an array"); }
        frames_.push_back({Field::Form::array, nullptr, field, frame.owner});
        return true;
    }

    bool end_array() {
        leave();
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const json::exception& error) {
        std::string_view detail = error.what();
        const auto says = [&](std::string_view words) { return detail.find(words) != std::string_view::npos; };
        if (furthest_ == text_.data() + text_.size() &&
            (says("unexpected end of input") || says("missing closing quote"))) {
            return fail("JSON", text_.empty() ? "an empty file" : "the end of the file: it was cut off");
        }
        constexpr std::string_view lead = "syntax error while parsing ";
        if (const auto at = detail.find(lead); at != std::string_view::npos) { detail.remove_prefix(at + lead.size()); }
        return fail("JSON", "something else: " + one_line(detail));
    }

private:
    struct Frame {
        Field::Form form = Field::Form::object;
        const Shape* shape = nullptr;  // of an object
        const Field* field = nullptr;  // of an object: the member being read; else the array or map itself
        void* owner = nullptr;         // the object; or the owner of the array or map
        std::uint64_t seen = 0;        // members of the object so far, by index
        std::size_t index = 0;         // of the array's next element
        std::string key;               // of the map's member; or an unknown member of the object
    };

    bool enter(const Shape& shape, void* owner) {
        HEDDLE_ASSERT(shape.fields.size() <= 64, "members of an object fit one word");
        frames_.push_back({Field::Form::object, &shape, nullptr, owner});
        return true;
    }

    void leave() {
        frames_.pop_back();
        if (!frames_.empty() && frames_.back().form == Field::Form::array) { ++frames_.back().index; }
    }

    bool scalar(const Scalar& value, const std::string& spelled) {
        const auto found = [&] { return value.type == Scalar::Type::text ? one_line(spelled) : shortened(spelled); };
        if (frames_.empty()) { return fail("an object that is a trace", found()); }
        Frame& frame = frames_.back();
        if (frame.form == Field::Form::array) { return fail("an object", found()); }
        if (frame.form == Field::Form::map) {
            if (value.type != Scalar::Type::text) { return fail("a string", found()); }
            frame.field->strings(frame.owner).emplace(frame.key, value.text);
            return true;
        }
        const Field& field = *frame.field;
        const bool valid = field.form == Field::Form::scalar && field.read(frame.owner, value);
        return valid || fail(std::string(field.expected), found());
    }

    /// A number's spelling may be as long as the file.
    static std::string shortened(const std::string& spelled) {
        return spelled.size() <= 40 ? spelled : spelled.substr(0, 40) + "...";
    }

    [[nodiscard]] std::string pointer() const {
        std::string path;
        for (const Frame& frame : frames_) {
            if (frame.form == Field::Form::array) {
                path += "/" + std::to_string(frame.index);
            } else if (frame.form == Field::Form::object && frame.field != nullptr) {
                path += "/" + std::string(frame.field->name);
            } else if (!frame.key.empty()) {
                path += "/" + pointer_token(frame.key);
            }
        }
        return path.empty() ? "(document)" : path;
    }

    static std::string pointer_token(const std::string& key) {
        const std::string printable = one_line(key);
        std::string token;
        for (const char c : printable.substr(1, printable.size() - 2)) {
            token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
        }
        return token;
    }

    bool fail(std::string expected, std::string found) {
        if (error_) { return false; }
        const auto line = 1 + std::count(text_.data(), furthest_, '\n');
        error_ = InputError{file_name_ + ":" + std::to_string(line) + ": " + pointer(), std::move(expected),
                            std::move(found)};
        return false;
    }

    std::string_view text_;
    std::string file_name_;
    const char* furthest_;
    Trace trace_;
    std::vector<Frame> frames_;
    std::optional<InputError> error_;
};

}  // namespace

std::string one_line(std::string_view text) {
    constexpr std::size_t longest = 120;
    const std::string part(text.substr(0, longest));
    // ASCII output: what a terminal might obey, or hide, is spelled out.
    std::string line = json(part).dump(-1, ' ', true, json::error_handler_t::replace);
    std::string clean;
    for (const char c : line) { clean += c == '\x7f' ? std::string("\\u007f") : std::string(1, c); }
    if (text.size() > longest) { clean.insert(clean.size() - 1, "..."); }
    return clean;
}

std::string to_json(const Trace& trace) { return Writer{}.write(trace); }

Result<Trace> from_json(std::string_view text, std::string_view file_name) { return Reader(text, file_name).read(); }

}  // namespace heddle::trace
