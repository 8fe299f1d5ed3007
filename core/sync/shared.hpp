// SPDX-License-Identifier: Apache-2.0
// Shared and touch: user data that coroutines share, made known to whoever watches: a search must not prune what it cannot see.
//
//   heddle::Shared<int> balance{0};            one cell per object
//   balance += 5;  int now = balance;          W  ·  R
//   heddle::touch("journal", TouchMode::add);  a cell by name, for data that is kept elsewhere
//
// SH1  Every access is one touch of the object's cell: reading R, everything that may change it W.
// SH2  Without an Observer an access costs one predictable branch, and none of this influences a run (O1).
// SH3  The cell is named by who made the object, by its name and by its ordinal there: never by an address (LB1).
// Choice points: none.
#pragma once

#include <concepts>
#include <string_view>
#include <utility>

#include "heddle/core/base/label.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle {

class Scheduler;

namespace detail {

/// The cell of one shared object, and the runtime that it was made in.
class SharedCell {
public:
    /// Made in a coroutine or callback of a runtime, or outside of all, where nobody watches.
    explicit SharedCell(std::string_view name);

    void touch(TouchMode mode) const {
        if (scheduler_ != nullptr) [[unlikely]] { tell(mode); }
    }
    [[nodiscard]] Cell cell() const { return cell_; }

private:
    void tell(TouchMode mode) const;

    Scheduler* scheduler_ = nullptr;  // null unless somebody watched when it was made
    Cell cell_{};
};

}  // namespace detail

/// A value that coroutines share. Requires: made in the runtime that uses it, and outlived by it. Suspends: never.
/// Cost: one branch without an Observer. Size: that of T and two words.
template <class T>
class Shared {
public:
    Shared() : Shared(T{}) {}
    /// @param name  tells objects of one coroutine apart in reports; a literal
    explicit Shared(T value, std::string_view name = "shared") : cell_(name), value_(std::move(value)) {}
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

    /// Reads it. The reference is for reading at once: what happens behind a suspension needs another call.
    [[nodiscard]] const T& get() const {
        cell_.touch(TouchMode::read);
        return value_;
    }
    operator const T&() const { return get(); }  // NOLINT: reads like the value it is
    void set(T value) {
        cell_.touch(TouchMode::write);
        value_ = std::move(value);
    }
    Shared& operator=(T value) {
        set(std::move(value));
        return *this;
    }
    /// Calls `change(T&)` as one access. It must not suspend. @returns what it returns
    template <class F>
    decltype(auto) update(F&& change) {
        cell_.touch(TouchMode::write);
        return std::forward<F>(change)(value_);
    }
    template <class U>
        requires requires(T& a, U&& b) { a += std::forward<U>(b); }
    Shared& operator+=(U&& by) {
        update([&](T& value) { value += std::forward<U>(by); });
        return *this;
    }
    template <class U>
        requires requires(T& a, U&& b) { a -= std::forward<U>(b); }
    Shared& operator-=(U&& by) {
        update([&](T& value) { value -= std::forward<U>(by); });
        return *this;
    }

private:
    detail::SharedCell cell_;
    T value_;
};

/// The running step touches the data that the program calls `name`: one cell per name in a runtime. Legal anywhere; where no runtime runs
/// it does nothing. Suspends: never. Cost: one branch without an Observer.
void touch(std::string_view name, TouchMode mode);

}  // namespace heddle
