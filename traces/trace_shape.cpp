// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace_shape.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <iterator>
#include <limits>
#include <type_traits>

namespace heddle::trace {
namespace {

// ── codecs: how one value is spelled ──

template <class Integer>
bool parse_decimal(std::string_view text, Integer& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // One spelling per value (F2): from_chars takes leading zeros and "-0", std::to_string writes neither.
    return error == std::errc{} && end == text.data() + text.size() && std::to_string(value) == text;
}

struct Text {
    static constexpr std::string_view expected = "a string";
    static bool read(const Scalar& from, std::string& to) {
        to = from.text;
        return from.type == Scalar::Type::text;
    }
    static Scalar show(const std::string& value) { return {Scalar::Type::text, value, 0}; }
};

struct Name : Text {
    static constexpr std::string_view expected = "a string that is not empty";
    static bool read(const Scalar& from, std::string& to) { return Text::read(from, to) && !to.empty(); }
};

struct Unsigned64 {
    static constexpr std::string_view expected = "a decimal number from 0 to 18446744073709551615 as a string";
    static bool read(const Scalar& from, std::uint64_t& to) {
        return from.type == Scalar::Type::text && parse_decimal(from.text, to);
    }
    static Scalar show(std::uint64_t value) { return {Scalar::Type::text, std::to_string(value), 0}; }
};

struct Signed64 {
    static constexpr std::string_view expected =
        "a decimal number from -9223372036854775808 to 9223372036854775807 as a string";
    static bool read(const Scalar& from, std::int64_t& to) {
        return from.type == Scalar::Type::text && parse_decimal(from.text, to);
    }
    static Scalar show(std::int64_t value) { return {Scalar::Type::text, std::to_string(value), 0}; }
};

/// Nanoseconds, an instant or a duration.
struct Nanoseconds {
    static constexpr std::string_view expected = "nanoseconds, from 0 to 9223372036854775807, as a string";
    static bool read(const Scalar& from, Instant& to) {
        std::int64_t ns = 0;
        const bool valid = Signed64::read(from, ns) && ns >= 0;
        to = Instant{ns};
        return valid;
    }
    static bool read(const Scalar& from, Duration& to) {
        std::int64_t ns = 0;
        const bool valid = Signed64::read(from, ns) && ns >= 0;
        to = Duration{ns};
        return valid;
    }
    static Scalar show(Instant value) { return Signed64::show(value.ns()); }
    static Scalar show(Duration value) { return Signed64::show(value.count()); }
};

template <class Integer, Integer maximum>
struct Number {
    static bool read(const Scalar& from, Integer& to) {
        if (from.type != Scalar::Type::integer || from.integer < 0 || from.integer > std::int64_t{maximum}) {
            return false;
        }
        to = static_cast<Integer>(from.integer);
        return true;
    }
    static Scalar show(Integer value) { return {Scalar::Type::integer, {}, std::int64_t{value}}; }
};
struct Count32 : Number<std::uint32_t, std::numeric_limits<std::uint32_t>::max()> {
    static constexpr std::string_view expected = "an integer from 0 to 4294967295";
};
struct Line : Number<std::int32_t, std::numeric_limits<std::int32_t>::max()> {
    static constexpr std::string_view expected = "an integer from 0 to 2147483647";
};

template <class Word>
struct Hex {
    static constexpr std::string_view expected = sizeof(Word) == 8 ? "16 lower-case hexadecimal digits as a string"
                                                                   : "8 lower-case hexadecimal digits as a string";
    static constexpr std::size_t digits = sizeof(Word) * 2;

    static bool read(const Scalar& from, Word& to) {
        if (from.type != Scalar::Type::text || from.text.size() != digits) { return false; }
        if (from.text.find_first_not_of("0123456789abcdef") != std::string::npos) { return false; }
        std::from_chars(from.text.data(), from.text.data() + digits, to, 16);
        return true;
    }
    static Scalar show(Word value) {
        std::string text(digits, '0');
        for (std::size_t i = digits; i-- > 0; value = static_cast<Word>(value >> 4)) {
            text[i] = "0123456789abcdef"[value & 15];
        }
        return {Scalar::Type::text, text, 0};
    }
};

template <class Enum, Enum last>
struct Choice {
    static bool read(const Scalar& from, Enum& to) {
        if (from.type != Scalar::Type::text) { return false; }
        for (int i = 0; i <= static_cast<int>(last); ++i) {
            if (to_string(static_cast<Enum>(i)) == from.text) {
                to = static_cast<Enum>(i);
                return true;
            }
        }
        return false;
    }
    static Scalar show(Enum value) { return {Scalar::Type::text, std::string(to_string(value)), 0}; }
};
template <class Enum>
constexpr Enum last_of = static_cast<Enum>(static_cast<int>(Enum::count_) - 1);

struct OrderName : Choice<Order, Order::any> {
    static constexpr std::string_view expected = "\"faithful\" or \"any\"";
};
struct TimeName : Choice<TimeLevel, TimeLevel::T4> {
    static constexpr std::string_view expected = "\"T0\", \"T1\", \"T2\", \"T3\" or \"T4\"";
};
struct OutcomeName : Choice<OutcomeKind, last_of<OutcomeKind>> {
    static constexpr std::string_view expected =
        "\"ok\", \"violation\", \"error\", \"cut\", \"crashed\" or \"diverged\"";
};
struct ChoiceName : Choice<ChoiceKind, last_of<ChoiceKind>> {
    static constexpr std::string_view expected = "the name of a kind of choice, such as \"dispatch\"";
};
struct EventName : Choice<EventKind, last_of<EventKind>> {};

struct RecordName {
    static constexpr std::string_view expected =
        "the name of a kind of event, such as \"parked\" or \"choose:dispatch\"";
    static bool read(const Scalar& from, RecordKind& to) {
        constexpr std::string_view prefix = "choose:";
        if (from.text.starts_with(prefix)) {
            ChoiceKind kind{};
            if (!ChoiceName::read({from.type, from.text.substr(prefix.size()), 0}, kind)) { return false; }
            to = kind;
            return true;
        }
        EventKind kind{};
        if (!EventName::read(from, kind)) { return false; }
        to = kind;
        return true;
    }
    static Scalar show(RecordKind value) { return {Scalar::Type::text, to_string(value), 0}; }
};

struct DoorName : Choice<DoorKind, last_of<DoorKind>> {
    static constexpr std::string_view expected = "the name of a crossing, such as \"submit\"";
};

/// Words of DoorFlag in their order, with a blank between two.
struct DoorFlags {
    static constexpr std::string_view expected = "words such as \"pending\", in order, with a blank between two";
    static Scalar show(std::uint32_t value) {
        std::string text;
        for (std::size_t bit = 0; bit < std::size(door_flag_words); ++bit) {
            if ((value >> bit & 1U) != 0) { text += (text.empty() ? "" : " ") + std::string(door_flag_words[bit]); }
        }
        return {Scalar::Type::text, text, 0};
    }
    static bool read(const Scalar& from, std::uint32_t& to) {
        if (from.type != Scalar::Type::text) { return false; }
        to = 0;
        for (std::size_t at = 0; at < from.text.size();) {
            const std::size_t end = std::min(from.text.find(' ', at), from.text.size());
            for (std::size_t bit = 0; bit < std::size(door_flag_words); ++bit) {
                if (from.text.substr(at, end - at) == door_flag_words[bit]) { to |= 1U << bit; }
            }
            at = end + 1;
        }
        return show(to).text == from.text;  // F2: one spelling
    }
};

struct Bytes {
    static constexpr std::string_view expected = "lower-case hexadecimal digits, two a byte, as a string";
    static constexpr std::string_view digits = "0123456789abcdef";
    static Scalar show(const std::string& value) {
        std::string text;
        text.reserve(value.size() * 2);
        for (const char c : value) {
            text += digits[static_cast<unsigned char>(c) >> 4];
            text += digits[static_cast<unsigned char>(c) & 15];
        }
        return {Scalar::Type::text, std::move(text), 0};
    }
    static bool read(const Scalar& from, std::string& to) {
        if (from.type != Scalar::Type::text || from.text.size() % 2 != 0) { return false; }
        to.clear();
        for (std::size_t at = 0; at < from.text.size(); at += 2) {
            const std::size_t high = digits.find(from.text[at]);
            const std::size_t low = digits.find(from.text[at + 1]);
            if (high == std::string_view::npos || low == std::string_view::npos) { return false; }
            to += static_cast<char>(high * 16 + low);
        }
        return true;
    }
};

struct ModeName : Text {
    static constexpr std::string_view expected = "a mode label, such as \"faithful\" or \"any+jitter\"";
    static bool read(const Scalar& from, std::string& to) {
        if (!Text::read(from, to)) { return false; }
        for (const std::string_view label : mode_labels()) {
            if (label == to) { return true; }
        }
        return false;
    }
};

// ── fields: a member of a struct, seen as a member of an object ──

template <class M>
struct Member;
template <class Owner, class T>
struct Member<T Owner::*> {
    using owner = Owner;
    using type = T;
};

template <auto member>
auto& of(void* owner) {
    return static_cast<typename Member<decltype(member)>::owner*>(owner)->*member;
}
template <auto member>
const auto& of(const void* owner) {
    return static_cast<const typename Member<decltype(member)>::owner*>(owner)->*member;
}
template <auto member>
bool has_default(const void* owner) {
    static const typename Member<decltype(member)>::owner fresh{};
    return of<member>(owner) == fresh.*member;
}

enum : bool { optional = false, required = true };

template <auto member, class Codec>
Field scalar(std::string_view name, bool is_required) {
    Field field{.name = name, .required = is_required, .expected = Codec::expected};
    field.read = [](void* owner, const Scalar& value) { return Codec::read(value, of<member>(owner)); };
    field.show = [](const void* owner) { return Codec::show(of<member>(owner)); };
    field.is_default = has_default<member>;
    return field;
}

template <auto member>
Field object(std::string_view name, bool is_required, const Shape& shape) {
    Field field{
        .name = name, .required = is_required, .form = Field::Form::object, .expected = "an object", .shape = &shape};
    field.open = [](void* owner) -> void* { return &of<member>(owner); };
    field.at = [](const void* owner, std::size_t) -> const void* { return &of<member>(owner); };
    field.is_default = has_default<member>;
    return field;
}

template <auto member>
Field array(std::string_view name, bool is_required, const Shape& shape) {
    Field field{
        .name = name, .required = is_required, .form = Field::Form::array, .expected = "an array", .shape = &shape};
    field.open = [](void* owner) -> void* { return &of<member>(owner).emplace_back(); };
    field.size = [](const void* owner) { return of<member>(owner).size(); };
    field.at = [](const void* owner, std::size_t index) -> const void* { return &of<member>(owner)[index]; };
    field.is_default = has_default<member>;
    return field;
}

template <auto member>
Field map(std::string_view name, bool is_required) {
    Field field{.name = name, .required = is_required, .form = Field::Form::map, .expected = "an object of strings"};
    field.strings = [](void* owner) -> std::map<std::string, std::string>& { return of<member>(owner); };
    field.at = [](const void* owner, std::size_t) -> const void* { return &of<member>(owner); };
    field.is_default = has_default<member>;
    return field;
}

/// A member that says what the file is and that no struct holds.
template <const auto& constant>
Field fixed(std::string_view name, std::string_view expected) {
    Field field{.name = name, .required = true, .expected = expected};
    field.read = [](void*, const Scalar& value) { return value.type == Scalar::Type::text && value.text == constant; };
    field.show = [](const void*) { return Scalar{Scalar::Type::text, std::string(constant), 0}; };
    return field;
}

// ── the tables, in canonical order (F1) ──

const Shape& recipe_shape() {
    static const std::array fields{
        scalar<&Recipe::scenario, Name>("scenario", required),
        map<&Recipe::parameters>("parameters", required),
        scalar<&Recipe::planted, Text>("planted", optional),
        scalar<&Recipe::seed, Unsigned64>("seed", required),
        scalar<&Recipe::strategy, Text>("strategy", required),
        scalar<&Recipe::reactor, Text>("reactor", required),
        scalar<&Recipe::order, OrderName>("order", required),
        scalar<&Recipe::time, TimeName>("time", required),
        scalar<&Recipe::resolution, Nanoseconds>("resolution_ns", required),
        scalar<&Recipe::jitter, Nanoseconds>("jitter_ns", optional),
        scalar<&Recipe::slack, Nanoseconds>("slack_ns", optional),
        scalar<&Recipe::latency_min, Nanoseconds>("latency_min_ns", optional),
        scalar<&Recipe::latency_max, Nanoseconds>("latency_max_ns", optional),
        scalar<&Recipe::bound, Text>("bound", optional),
        scalar<&Recipe::steps_max, Unsigned64>("steps_max", optional),
        scalar<&Recipe::time_max, Nanoseconds>("time_max_ns", optional),
        map<&Recipe::knobs>("knobs", optional),
    };
    static const Shape shape{"a recipe", fields};
    return shape;
}

const Shape& decision_shape() {
    static const std::array fields{
        scalar<&Decision::at, Name>("at", required),
        scalar<&Decision::kind, ChoiceName>("kind", required),
        scalar<&Decision::choose, Count32>("choose", required),
        scalar<&Decision::count, Count32>("count", required),
        scalar<&Decision::candidate, Text>("candidate", optional),
        scalar<&Decision::set, Hex<std::uint32_t>>("set", optional),
        scalar<&Decision::footprint, Hex<std::uint32_t>>("footprint", optional),
    };
    static const Shape shape{"a decision", fields};
    return shape;
}

const Shape& order_constraint_shape() {
    static const std::array fields{
        scalar<&OrderConstraint::before, Name>("before", required),
        scalar<&OrderConstraint::after, Name>("after", required),
    };
    static const Shape shape{"an order constraint", fields};
    return shape;
}

const Shape& value_constraint_shape() {
    static const std::array fields{
        scalar<&ValueConstraint::at, Name>("at", required),
        scalar<&ValueConstraint::kind, ChoiceName>("kind", required),
        scalar<&ValueConstraint::choose, Count32>("choose", required),
    };
    static const Shape shape{"a value constraint", fields};
    return shape;
}

const Shape& constraints_shape() {
    static const std::array fields{
        array<&Constraints::order>("order", optional, order_constraint_shape()),
        array<&Constraints::values>("values", optional, value_constraint_shape()),
    };
    static const Shape shape{"the constraints", fields};
    return shape;
}

const Shape& outcome_shape() {
    static const std::array fields{
        scalar<&Outcome::kind, OutcomeName>("kind", required),
        scalar<&Outcome::invariant, Text>("invariant", optional),
        scalar<&Outcome::message, Text>("message", optional),
        scalar<&Outcome::file, Text>("file", optional),
        scalar<&Outcome::line, Line>("line", optional),
        scalar<&Outcome::step, Unsigned64>("step", optional),
        scalar<&Outcome::who, Text>("who", optional),
        scalar<&Outcome::mode, ModeName>("mode", optional),
        scalar<&Outcome::steps, Unsigned64>("steps", required),
        scalar<&Outcome::choices, Unsigned64>("choices", required),
        scalar<&Outcome::end, Nanoseconds>("end_ns", required),
    };
    static const Shape shape{"an outcome", fields};
    return shape;
}

const Shape& check_point_shape() {
    static const std::array fields{
        scalar<&CheckPoint::events, Unsigned64>("events", required),
        scalar<&CheckPoint::hash, Hex<std::uint64_t>>("hash", required),
        scalar<&CheckPoint::footprint, Hex<std::uint64_t>>("footprint", required),
    };
    static const Shape shape{"a check-point", fields};
    return shape;
}

const Shape& hash_shape() {
    static const std::array fields{
        scalar<&RunHash::events, Unsigned64>("events", required),
        scalar<&RunHash::value, Hex<std::uint64_t>>("value", required),
        scalar<&RunHash::footprint, Hex<std::uint64_t>>("footprint", required),
        array<&RunHash::check_points>("check_points", required, check_point_shape()),
    };
    static const Shape shape{"the hash", fields};
    return shape;
}

const Shape& event_shape() {
    static const std::array fields{
        scalar<&TraceEvent::at, Nanoseconds>("ns", required),
        scalar<&TraceEvent::kind, RecordName>("kind", required),
        scalar<&TraceEvent::who, Text>("who", optional),
        scalar<&TraceEvent::what, Text>("what", optional),
        scalar<&TraceEvent::a, Signed64>("a", optional),
        scalar<&TraceEvent::b, Signed64>("b", optional),
        scalar<&TraceEvent::note, Text>("note", optional),
        scalar<&TraceEvent::footprint, Hex<std::uint32_t>>("footprint", optional),
    };
    static const Shape shape{"an event", fields};
    return shape;
}

const Shape& door_shape() {
    static const std::array fields{
        scalar<&DoorEntry::at, Nanoseconds>("ns", required),
        scalar<&DoorEntry::kind, DoorName>("kind", required),
        scalar<&DoorEntry::what, Text>("what", optional),
        scalar<&DoorEntry::source, Unsigned64>("source", optional),
        scalar<&DoorEntry::handle, Unsigned64>("handle", optional),
        scalar<&DoorEntry::value, Signed64>("value", optional),
        scalar<&DoorEntry::error, Line>("error", optional),
        scalar<&DoorEntry::flags, DoorFlags>("flags", optional),
        scalar<&DoorEntry::count, Count32>("count", optional),
        scalar<&DoorEntry::peers, Text>("peers", optional),
        scalar<&DoorEntry::bytes, Bytes>("bytes", optional),
    };
    static const Shape shape{"a crossing", fields};
    return shape;
}

struct Version {
    static constexpr std::string_view expected = "1 or 2, the versions that this program reads";
    static bool read(const Scalar& from, std::uint32_t& to) {
        const bool valid = from.type == Scalar::Type::integer &&
                           (from.integer == format_version || from.integer == door_format_version);
        to = valid ? static_cast<std::uint32_t>(from.integer) : format_version;
        return valid;
    }
    static Scalar show(std::uint32_t value) { return {Scalar::Type::integer, {}, std::int64_t{value}}; }
};

bool is_power_of_two(std::uint64_t value) { return std::has_single_bit(value); }

}  // namespace

const Field* Shape::find(std::string_view field) const {
    for (const Field& candidate : fields) {
        if (candidate.name == field) { return &candidate; }
    }
    return nullptr;
}

std::string Shape::names() const {
    std::string all;
    for (const Field& field : fields) { all += (all.empty() ? "" : ", ") + std::string(field.name); }
    return all;
}

const Shape& trace_shape() {
    static const std::array fields{
        fixed<format_name>("format", "\"heddle-trace\""),
        scalar<&Trace::version, Version>("version", required),
        object<&Trace::recipe>("recipe", required, recipe_shape()),
        array<&Trace::decisions>("decisions", required, decision_shape()),
        object<&Trace::constraints>("constraints", optional, constraints_shape()),
        object<&Trace::outcome>("outcome", required, outcome_shape()),
        object<&Trace::hash>("hash", required, hash_shape()),
        array<&Trace::events>("events", optional, event_shape()),
        scalar<&Trace::events_omitted, Unsigned64>("events_omitted", optional),
        array<&Trace::door>("door", optional, door_shape()),
        scalar<&Trace::door_omitted, Unsigned64>("door_omitted", optional),
    };
    static const Shape shape{"a trace", fields};
    return shape;
}

std::optional<Inconsistency> find_inconsistency(const Trace& trace) {
    for (std::size_t i = 0; i < trace.decisions.size(); ++i) {
        const Decision& decision = trace.decisions[i];
        const std::string at = "/decisions/" + std::to_string(i);
        if (decision.count < 2) {
            return Inconsistency{at + "/count", "at least 2 alternatives", std::to_string(decision.count)};
        }
        if (decision.choose == 0 || decision.choose >= decision.count) {
            return Inconsistency{at + "/choose", "a deviation, from 1 to " + std::to_string(decision.count - 1),
                                 std::to_string(decision.choose)};
        }
    }
    if (trace.recipe.latency_min > trace.recipe.latency_max) {
        return Inconsistency{"/recipe/latency_max_ns", "no less than latency_min_ns",
                             std::to_string(trace.recipe.latency_max.count())};
    }
    const bool has_door = !trace.door.empty() || trace.door_omitted != 0;
    if (has_door != (trace.version == door_format_version)) {
        return Inconsistency{"/version", has_door ? "2, as there is a door" : "1, as there is no door",
                             std::to_string(trace.version)};
    }
    const bool violated = is_failure(trace.outcome.kind);
    if (violated == trace.outcome.invariant.empty()) {
        return Inconsistency{"/outcome/invariant",
                             violated ? "the violated invariant" : "none, as nothing was violated",
                             violated ? "none" : "one"};
    }
    std::uint64_t events = 0;
    for (std::size_t i = 0; i < trace.hash.check_points.size(); ++i) {
        const std::uint64_t next = trace.hash.check_points[i].events;
        if (!is_power_of_two(next) || next <= events || next > trace.hash.events) {
            return Inconsistency{
                "/hash/check_points/" + std::to_string(i) + "/events",
                "a power of two above " + std::to_string(events) + " and at most " + std::to_string(trace.hash.events),
                std::to_string(next)};
        }
        events = next;
    }
    if (!trace.events.empty() && trace.events.size() + trace.events_omitted != trace.hash.events) {
        return Inconsistency{"/events",
                             std::to_string(trace.hash.events) + " events, as /hash/events and /events_omitted say",
                             std::to_string(trace.events.size())};
    }
    return std::nullopt;
}

}  // namespace heddle::trace
