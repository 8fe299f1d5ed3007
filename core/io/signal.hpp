// SPDX-License-Identifier: Apache-2.0
// SignalWatch, signal(): signals of the operating system as something to wait for (RCT-52, SIG-01 to SIG-03).
//
//   watch ── from its construction on every signal is kept ──▶ wait() takes all that came since the last one
//   signal(n) ── from the call on ──▶ a future of the first delivery
//
// Several deliveries may have become one. The process has the signal's default behaviour again after the last watch of
// it and the last future is gone.
#pragma once

#include <memory>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/io/io_options.hpp"
#include "heddle/core/sync/future.hpp"

namespace heddle {

class SignalWatch {
public:
    /// Throws AsyncError for a signal that cannot be caught.
    explicit SignalWatch(int number);
    SignalWatch(SignalWatch&&) noexcept;
    SignalWatch& operator=(SignalWatch&&) noexcept;
    ~SignalWatch();

    /// Waits for a signal, unless one came since the last wait. @returns how many deliveries came, at least 1
    std::uint64_t wait(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());
    [[nodiscard]] int number() const;

private:
    class State;
    std::unique_ptr<State> state_;
};

/// A future that the first delivery of the signal behind this call completes, with its number. Several futures of one signal are
/// independent. A token that has fired, or fires first, rejects it with OperationCanceled, because of the token's error. Keeps the loop
/// alive while somebody waits for it or something is derived from it.
/// Throws AsyncError for a signal that cannot be caught, and outside a coroutine. Suspends: no. Source: SIG-01 to SIG-03.
[[nodiscard]] Future<int> signal(int number, const Token& token = {}, SourceLocation at = SourceLocation::current());

}  // namespace heddle
