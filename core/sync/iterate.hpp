// SPDX-License-Identifier: Apache-2.0
// iterate: one callback per element, several at a time, and nothing left behind (docs/spec/13-task-group.md, 13.7).
//
//   heddle::iterate(urls, [](const Url& url) { fetch(url); }, {.concurrency = 4});
//
//   caller parks ◀── done ── workers, in a scope of their own: advance the source · call f · again
//                              └─ a callback suspends, elements left, a slot free ──▶ one more worker
//
// I1  At most `concurrency` callbacks are in flight, and at most one worker is inside the source (INV-ITR-01).
// I2  Elements start in the order of the source; each is delivered once, or at most once behind a stop or an error (INV-ITR-02).
// I3  When it returns or throws, no worker and no coroutine of its scope is alive (INV-ITR-03).
// Choice points: `dispatch`. Suspends: yes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/base/unique_function.hpp"

namespace heddle {

struct IterateOptions {
    std::int64_t concurrency = 0;  ///< callbacks in flight; 0: no limit; 1: strictly one after another
    bool cancel_pending = true;    ///< what callbacks spawned is cancelled at the end; off: waited for (ITR-09)
};

/// What a callback may return to end the delivery; callbacks in flight finish normally (ITR-06).
enum class Iteration : bool { go_on, stop };

namespace detail {

/// Advances the source and hands out a call for its next element; empty at the end. May suspend and throw.
using NextCall = UniqueFunction<UniqueFunction<Iteration()>()>;

void run_iterate(NextCall next, const IterateOptions& options, SourceLocation at);

template <class F, class T>
Iteration call_element(F& f, T& element, std::size_t index) {
    const auto call = [&]() -> decltype(auto) {
        if constexpr (std::is_invocable_v<F&, T&, std::size_t>) {
            return f(element, index);
        } else {
            return f(element);
        }
    };
    if constexpr (std::is_same_v<decltype(call()), Iteration>) {
        return call();
    } else {
        call();
        return Iteration::go_on;
    }
}

template <class T>
struct OptionalValue {
    static constexpr bool is = false;
};
template <class T>
struct OptionalValue<std::optional<T>> {
    static constexpr bool is = true;
    using type = T;
};

}  // namespace detail

/// Calls f(value) or f(value, index) for each element, in worker coroutines; f may return Iteration::stop.
/// @param source  a range, which is copied at the call (ITR-05), or a function that returns std::optional: empty is the end; it may
///                suspend, and nobody else advances it meanwhile (ITR-04)
/// Throws: ValueError if the concurrency is negative; the first error of f or of the source, when the callbacks in flight were
/// cancelled and have ended (ITR-07); a cancellation of the caller, likewise (ITR-10). Suspends: unless the source is an empty range.
template <class Source, class F>
void iterate(Source&& source, F&& f, const IterateOptions& options = {}, SourceLocation at = SourceLocation::current()) {
    using Function = std::remove_reference_t<F>;
    Function& function = f;
    std::size_t index = 0;
    if constexpr (std::ranges::input_range<Source>) {
        using T = std::ranges::range_value_t<Source>;
        std::vector<T> elements(std::ranges::begin(source), std::ranges::end(source));
        const auto next = [&]() -> UniqueFunction<Iteration()> {
            if (index == elements.size()) { return {}; }
            const std::size_t mine = index++;
            return [&elements, &function, mine] { return detail::call_element(function, elements[mine], mine); };
        };
        if (elements.empty() && options.concurrency >= 0) { return; }  // ITR-11
        detail::run_iterate(next, options, at);
    } else {
        using Optional = std::invoke_result_t<std::remove_reference_t<Source>&>;
        static_assert(detail::OptionalValue<Optional>::is, "iterate: a source returns std::optional");
        using T = typename detail::OptionalValue<Optional>::type;
        const auto next = [&]() -> UniqueFunction<Iteration()> {
            Optional element = source();
            if (!element) { return {}; }
            return [value = std::move(*element), &function, mine = index++]() mutable -> Iteration {
                T& mutable_value = value;
                return detail::call_element(function, mutable_value, mine);
            };
        };
        detail::run_iterate(next, options, at);
    }
}

}  // namespace heddle
