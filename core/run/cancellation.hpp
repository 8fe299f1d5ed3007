// SPDX-License-Identifier: Apache-2.0
// protect and cleanup: regions in which no cancellation is thrown (docs/spec/03-cancellation-scope.md, PRT-1 to PRT-11).
//
//   protect(f):  depth+1 ─ f ─ depth-1 ── outermost, a cancellation was held back ──▶ thrown here (after an error: pending)
//   cleanup(f):  the same for destructors: never throws; what was held back becomes pending
//
// P1  Only the outermost exit delivers (PRT-6).
// P2  Shutdown, deadlock and the epilogue set the depth to 0 and raise the epoch; a region of an older epoch changes nothing at its
//     exit (PRT-7, PRT-9).
// Choice points: none. Suspends: if f does.
#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include "heddle/core/run/coroutine.hpp"

namespace heddle {

class Protection {
public:
    /// Enters a region of the running coroutine. Throws AsyncError in a scheduler phase (SCH-25). Outside any coroutine there is nothing
    /// to protect and the region is empty (PRT-8).
    Protection();
    /// The region of `cleanup`: empty in a scheduler phase, where destructors may run, too.
    struct InCleanup {};
    explicit Protection(InCleanup) noexcept;
    Protection(const Protection&) = delete;
    Protection& operator=(const Protection&) = delete;

    /// The normal exit. Throws the deferred cancellation if this is the outermost region (PRT-4).
    void leave();
    /// The exit by an exception, called inside its handler. Rethrows it, or the deferred cancellation in its place (PRT-5, PRT-11).
    [[noreturn]] void leave_by_exception();
    /// The exit of `cleanup`, called inside a handler if `by_exception`.
    void leave_quietly(bool by_exception) noexcept;

private:
    void enter(bool in_cleanup);
    /// Takes the depth back. The cancellation that is due now, or empty.
    ErrorValue close();

    CoroutineCore* coroutine_ = nullptr;
    std::uint32_t epoch_ = 0;
};

/// Runs `body` and holds cancellations back until it is done; only cancellation is held back, others run meanwhile (PRT-2).
/// @returns what body returns
/// Throws: what body throws; the cancellation that arrived meanwhile, in its place if body ended normally. Suspends: if body does.
/// Source: docs/spec/03-cancellation-scope.md.
template <class F>
auto protect(F&& body) -> std::invoke_result_t<F&> {
    Protection region;
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
        try {
            body();
        } catch (...) {
            region.leave_by_exception();
        }
        region.leave();
    } else {
        std::optional<std::invoke_result_t<F&>> result;
        try {
            result.emplace(body());
        } catch (...) {
            region.leave_by_exception();
        }
        region.leave();
        return std::move(*result);
    }
}

/// The form for destructors: runs `body` protected and never throws (PRT-10). A cancellation that arrived becomes pending, any other
/// error is reported as unhandled. In a scheduler phase nothing is protected and an attempt to suspend is such an error.
template <class F>
void cleanup(F&& body) noexcept {
    Protection region{Protection::InCleanup{}};
    try {
        body();
    } catch (...) {
        region.leave_quietly(true);
        return;
    }
    region.leave_quietly(false);
}

}  // namespace heddle
