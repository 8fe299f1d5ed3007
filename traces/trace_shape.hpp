// SPDX-License-Identifier: Apache-2.0
// The trace format as data: one table per object, which reader, writer and their errors share.
//
//   Trace ──▶ trace_shape() ── fields in canonical order ── {name, required, form, read, show} ──▶ trace_json.cpp
//
// F1  The order of a table is the order in the text. A required member is always written; another one only where it
//     differs from its default. So equal traces have one text.
// F2  A text form has one spelling per value (no leading zeros, no plus sign), so that reading and writing are inverse.
// F3  Anything that a table does not name is refused.
// Choice points: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "heddle/traces/trace.hpp"

namespace heddle::trace {

/// A JSON value without structure, on its way in or out.
struct Scalar {
    enum class Type : std::uint8_t { text, integer, other };
    Type type = Type::other;
    std::string text;          ///< of a text
    std::int64_t integer = 0;  ///< of an integer; saturated where it does not fit
};

struct Shape;

struct Field {
    enum class Form : std::uint8_t { scalar, object, array, map };

    std::string_view name;
    bool required = false;
    Form form = Form::scalar;
    std::string_view expected;  ///< "a string", for messages

    // scalar
    bool (*read)(void* owner, const Scalar& value) = nullptr;  ///< false: not what is expected
    Scalar (*show)(const void* owner) = nullptr;

    // object and array
    const Shape* shape = nullptr;          ///< of the object, or of each element
    void* (*open)(void* owner) = nullptr;  ///< the member; or one more element, valid until the next
    std::size_t (*size)(const void* owner) = nullptr;
    const void* (*at)(const void* owner, std::size_t index) = nullptr;

    // map
    std::map<std::string, std::string>& (*strings)(void* owner) = nullptr;

    bool (*is_default)(const void* owner) = nullptr;
};

struct Shape {
    std::string_view name;  ///< "a decision", for messages
    std::span<const Field> fields;

    [[nodiscard]] const Field* find(std::string_view field) const;
    [[nodiscard]] std::size_t index_of(const Field& field) const {
        return static_cast<std::size_t>(&field - fields.data());
    }
    /// "at, kind, choose": for messages about an unknown member.
    [[nodiscard]] std::string names() const;
};

/// The shape of a whole trace; its owner is a Trace.
[[nodiscard]] const Shape& trace_shape();

/// What is wrong with a trace whose members are each well-formed.
struct Inconsistency {
    std::string pointer;  ///< JSON pointer
    std::string expected;
    std::string found;
};

/// Relations between members: answers within their domain, check-points in order, a violation that names its invariant.
[[nodiscard]] std::optional<Inconsistency> find_inconsistency(const Trace& trace);

}  // namespace heddle::trace
