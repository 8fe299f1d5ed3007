// SPDX-License-Identifier: Apache-2.0
// await for one, any and all of several events (docs/spec/02-waker-events.md, AWT-1 to AWT-17; docs/spec/12-future-await.md).
//
//   await(coroutine, token)            its result, or its error; OperationCanceled if the token fires first
//   await_all(a, b, …)                 all have ended; the first error is thrown
//   await_any({&e1, &e2, …}, token)    index of the first that fired
//
// A1  A finished target answers without suspending and beats a fired token (AWT-2).
// A2  A token or timeout ends the wait only; the targets are untouched (AWT-5).
// A3  Whatever way a wait ends, nothing of it stays subscribed or started (AWT-17).
// A4  Several targets are one wait: each records its outcome, the awaiter is resumed when the condition holds (AWT-12).
// Choice points: `dispatch`. Suspends: unless the answer is there already.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/token.hpp"

namespace heddle {

/// Waits for one event and returns its outcome's value part. Throws its error.
Outcome await_event(EventSource& event, const Token& token = {}, SourceLocation at = SourceLocation::current());
inline Outcome await_event(const Ref<OneShotEvent>& event, const Token& token = {},
                           SourceLocation at = SourceLocation::current()) {
    return await_event(*event, token, at);
}

/// Waits for a coroutine: its result, or its error.
template <class T>
T await(const Coroutine<T>& target, const Token& token = {}, SourceLocation at = SourceLocation::current()) {
    auto& core = static_cast<detail::CoroutineOf<T>&>(target.core());
    core.scheduler().await_finished(core, token.event(), {"await", at, core.label()});
    if constexpr (!std::is_void_v<T>) { return *core.result(); }
}

/// What a combinator collected, in the order of its inputs.
struct Collected {
    std::vector<bool> settled;       ///< this input has an outcome
    std::vector<Outcome> outcomes;   ///< value or error of each settled input
    std::vector<std::size_t> order;  ///< inputs in the order in which they settled
};

enum class CollectMode : unsigned char {
    all,           ///< every input has settled; errors are collected
    all_or_fail,   ///< every input has succeeded; the first error is thrown
    any,           ///< the first input that settles, with its error
    some,          ///< `wanted` inputs have settled; errors are collected
    some_or_fail,  ///< `wanted` inputs have settled; the first error is thrown
    some_success,  ///< `wanted` inputs have succeeded, or all have settled; errors are collected
    any_success,   ///< the first input that succeeds, or all have failed; errors are collected, nothing is thrown (AWC-12)
};

struct CollectOptions {
    CollectMode mode = CollectMode::all;
    std::size_t wanted = 1;     ///< for the `some` forms; 0 is there at once, more than there are inputs means all (AWC-11)
    /// Cancel the coroutines among the inputs that are unfinished at the end, and wait for them (AWT-16), unless the end is a
    /// cancellation of the waiter itself. `all_or_fail` does so by itself when it fails or its token fires.
    bool cancel_rest = false;
};

/// The general form. A token among the inputs acts as the token (AWT-13). The same input twice counts twice (AWT-15). What is reported is
/// what had settled at the instant in which the condition first held (AWC-10).
/// Throws: the token's OperationCanceled or a cancellation, and what was collected is discarded; the first error with an `_or_fail` mode;
/// AsyncError if an input or the token is the caller itself. Suspends: unless the condition holds at the call.
Collected await_collect(std::span<EventSource* const> inputs, const CollectOptions& options, const Token& token = {},
                        SourceLocation at = SourceLocation::current());

/// Index of the first event that fires; throws its error if it failed.
std::size_t await_any(std::initializer_list<EventSource*> events, const Token& token = {},
                      SourceLocation at = SourceLocation::current());

/// Waits until every coroutine succeeded. The first error ends it: unfinished ones are cancelled, waited for, and the error is thrown
/// (await_all_or_fail, AWT-16).
template <class... Ts>
void await_all_or_fail(const Coroutine<Ts>&... coroutines) {
    EventSource* const inputs[] = {&coroutines.core()...};
    static_cast<void>(await_collect(inputs, {CollectMode::all_or_fail, 1, true}));
}

/// Waits until all of them ended, however. Cancelled ones count as ended; the first other error is thrown after the last end.
void await_all(std::span<EventSource* const> inputs, const Token& token = {},
               SourceLocation at = SourceLocation::current());
template <class... Ts>
void await_all(const Coroutine<Ts>&... coroutines) {
    EventSource* const inputs[] = {&coroutines.core()...};
    await_all(inputs);
}

}  // namespace heddle
