// SPDX-License-Identifier: Apache-2.0
// The combinators with typed results: several coroutines and futures as one wait (docs/spec/12-future-await.md, 12.5).
//
//   std::vector<heddle::Awaitable<int>> inputs{coroutine, future};
//   auto [values, errors] = heddle::await_all(inputs);                   // pairs of index and value, of index and error
//   auto both = heddle::await_all_or_fail(inputs);                       // the first error is thrown, the others cancelled
//
//   await_any_or_fail · await_first_success · await_any_of(n) · await_any_of_or_fail(n)      keys instead of indices: Keyed inputs
//
// CB1  What is reported is what had settled at the instant in which the condition first held (AWC-10).
// CB2  Nothing of a wait stays subscribed behind it (AWC-21). Inputs are not cancelled, but for coroutines where that is said (AWC-17).
// Inputs that are produced lazily (AWC-19) are not offered.
// Choice points: `dispatch`. Suspends: unless the condition holds at the call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/future.hpp"

namespace heddle {

/// A coroutine or a future of T. Holds it.
template <class T>
class Awaitable {
public:
    using Stored = typename detail::CoroutineOf<T>::Stored;

    Awaitable(const Coroutine<T>& coroutine) : target_(coroutine) {}  // NOLINT: both are awaitables
    Awaitable(const Future<T>& future) : target_(future) {}           // NOLINT

    [[nodiscard]] EventSource& event() const {
        if (const auto* future = std::get_if<Future<T>>(&target_); future != nullptr) { return future->event(); }
        return std::get<Coroutine<T>>(target_).core();
    }
    /// Of one that has succeeded.
    [[nodiscard]] Stored value() const {
        if (const auto* future = std::get_if<Future<T>>(&target_); future != nullptr) { return std::as_const(future->core()).value(); }
        return *std::get<Coroutine<T>>(target_).result();
    }

private:
    std::variant<Coroutine<T>, Future<T>> target_;
};

template <class K, class T>
using Keyed = std::vector<std::pair<K, Awaitable<T>>>;

struct CombineOptions {
    Token token{};                    ///< ends the wait with OperationCanceled; what was collected is discarded (AWC-16)
    bool preserve_key_order = true;   ///< results in the order of the inputs; off: in the order of completion (AWC-13)
    bool cancel_rest = false;         ///< cancel unfinished coroutines among the inputs at the end, and wait for them (AWC-17)
};

/// What a combinator collected. `filled` has a slot per input, empty for those without a value.
template <class K, class T>
struct Combined {
    using Stored = typename Awaitable<T>::Stored;
    std::vector<std::pair<K, Stored>> values{};
    std::vector<std::pair<K, ErrorValue>> errors{};

    [[nodiscard]] std::vector<std::pair<K, std::optional<Stored>>> filled(const Keyed<K, T>& inputs) const {
        std::vector<std::pair<K, std::optional<Stored>>> slots;
        for (const auto& [key, input] : inputs) {
            const auto at = std::find_if(values.begin(), values.end(), [&key = key](const auto& one) { return one.first == key; });
            slots.emplace_back(key, at == values.end() ? std::nullopt : std::optional<Stored>(at->second));
        }
        return slots;
    }
};

namespace detail {

template <class K, class T>
Combined<K, T> combine(const Keyed<K, T>& inputs, CollectMode mode, std::size_t wanted, const CombineOptions& options,
                       SourceLocation at) {
    std::vector<EventSource*> events;
    events.reserve(inputs.size());
    for (const auto& [key, input] : inputs) { events.push_back(&input.event()); }
    CollectOptions collect;
    collect.mode = mode;
    collect.wanted = wanted;
    collect.cancel_rest = options.cancel_rest;
    Collected collected = await_collect(events, collect, options.token, at);
    if (options.preserve_key_order) { std::sort(collected.order.begin(), collected.order.end()); }
    Combined<K, T> combined;
    for (const std::size_t index : collected.order) {
        const auto& [key, input] = inputs[index];
        if (const ErrorValue& error = collected.outcomes[index].error; error) {
            combined.errors.emplace_back(key, error);
        } else {
            combined.values.emplace_back(key, input.value());
        }
    }
    return combined;
}

template <class T>
Keyed<std::size_t, T> indexed(const std::vector<Awaitable<T>>& inputs) {
    Keyed<std::size_t, T> keyed;
    for (std::size_t i = 0; i < inputs.size(); ++i) { keyed.emplace_back(i, inputs[i]); }
    return keyed;
}

}  // namespace detail

/// Waits for all; the first error is thrown, when the unfinished coroutines among the inputs were cancelled and have ended (AWC-17).
/// @returns a value per input
template <class K, class T>
auto await_all_or_fail(const Keyed<K, T>& inputs, const CombineOptions& options = {},
                       SourceLocation at = SourceLocation::current()) {
    return detail::combine(inputs, CollectMode::all_or_fail, 1, options, at).values;
}
/// Waits for all; errors are collected.
template <class K, class T>
Combined<K, T> await_all(const Keyed<K, T>& inputs, const CombineOptions& options = {},
                         SourceLocation at = SourceLocation::current()) {
    return detail::combine(inputs, CollectMode::all, 1, options, at);
}
/// The first that settles: its value, or its error is thrown. None for no inputs (AWC-11).
template <class K, class T>
std::optional<std::pair<K, typename Awaitable<T>::Stored>> await_any_or_fail(const Keyed<K, T>& inputs, const CombineOptions& options = {},
                                                                             SourceLocation at = SourceLocation::current()) {
    auto combined = detail::combine(inputs, CollectMode::any, 1, options, at);
    if (!combined.errors.empty()) { combined.errors.front().second.rethrow(); }
    if (combined.values.empty()) { return std::nullopt; }
    return std::move(combined.values.front());
}
/// The first that succeeds, and the errors seen up to then; no value if all have failed (AWC-12).
template <class K, class T>
Combined<K, T> await_first_success(const Keyed<K, T>& inputs, const CombineOptions& options = {},
                                   SourceLocation at = SourceLocation::current()) {
    return detail::combine(inputs, CollectMode::any_success, 1, options, at);
}
/// The first n that succeed, fewer if fewer can (AWC-10); n above the number of inputs means all.
template <class K, class T>
Combined<K, T> await_any_of(std::size_t n, const Keyed<K, T>& inputs, const CombineOptions& options = {},
                            SourceLocation at = SourceLocation::current()) {
    return detail::combine(inputs, CollectMode::some_success, n, options, at);
}
/// The first n that settle; the first error among them is thrown.
template <class K, class T>
auto await_any_of_or_fail(std::size_t n, const Keyed<K, T>& inputs, const CombineOptions& options = {},
                          SourceLocation at = SourceLocation::current()) {
    return detail::combine(inputs, CollectMode::some_or_fail, n, options, at).values;
}

// The same with indices for keys.
template <class T>
auto await_all_or_fail(const std::vector<Awaitable<T>>& inputs, const CombineOptions& options = {},
                       SourceLocation at = SourceLocation::current()) {
    return await_all_or_fail(detail::indexed(inputs), options, at);
}
template <class T>
Combined<std::size_t, T> await_all(const std::vector<Awaitable<T>>& inputs, const CombineOptions& options = {},
                                   SourceLocation at = SourceLocation::current()) {
    return await_all(detail::indexed(inputs), options, at);
}
template <class T>
auto await_any_or_fail(const std::vector<Awaitable<T>>& inputs, const CombineOptions& options = {},
                       SourceLocation at = SourceLocation::current()) {
    return await_any_or_fail(detail::indexed(inputs), options, at);
}
template <class T>
Combined<std::size_t, T> await_first_success(const std::vector<Awaitable<T>>& inputs, const CombineOptions& options = {},
                                             SourceLocation at = SourceLocation::current()) {
    return await_first_success(detail::indexed(inputs), options, at);
}
template <class T>
Combined<std::size_t, T> await_any_of(std::size_t n, const std::vector<Awaitable<T>>& inputs, const CombineOptions& options = {},
                                      SourceLocation at = SourceLocation::current()) {
    return await_any_of(n, detail::indexed(inputs), options, at);
}
template <class T>
auto await_any_of_or_fail(std::size_t n, const std::vector<Awaitable<T>>& inputs, const CombineOptions& options = {},
                          SourceLocation at = SourceLocation::current()) {
    return await_any_of_or_fail(n, detail::indexed(inputs), options, at);
}

}  // namespace heddle
