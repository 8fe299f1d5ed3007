// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an error message with its place, for answers that a caller handles on the spot and for bad input from
// outside. (The compilers we build with have no std::expected.)
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "heddle/core/base/assert.hpp"

namespace heddle {

/// What is wrong with an input: where (file, line or JSON pointer), what was expected, what was found.
struct InputError {
    std::string where;
    std::string expected;
    std::string found;

    [[nodiscard]] std::string text() const { return where + ": expected " + expected + ", found " + found; }
};

template <class T, class E = InputError>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}  // NOLINT: a value is a result
    Result(E error) : error_(std::move(error)) {}  // NOLINT: an error is a result

    [[nodiscard]] explicit operator bool() const { return value_.has_value(); }
    [[nodiscard]] T& operator*() {
        HEDDLE_ASSERT(value_.has_value(), "the result holds a value");
        return *value_;
    }
    [[nodiscard]] const T& operator*() const {
        HEDDLE_ASSERT(value_.has_value(), "the result holds a value");
        return *value_;
    }
    [[nodiscard]] T* operator->() { return &**this; }
    [[nodiscard]] const T* operator->() const { return &**this; }
    [[nodiscard]] const E& error() const {
        HEDDLE_ASSERT(error_.has_value(), "the result holds an error");
        return *error_;
    }

private:
    std::optional<T> value_;
    std::optional<E> error_;
};

}  // namespace heddle
