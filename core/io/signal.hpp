// SPDX-License-Identifier: Apache-2.0
// SignalWatch: signals of the operating system as something to wait for (RCT-52).
//
//   watch ── from its construction on every signal is kept ──▶ wait() takes all that came since the last one
//
// Several deliveries may have become one. The process has the signal's default behaviour again after the last watch of
// it is gone.
#pragma once

#include <memory>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/io/io_options.hpp"

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

}  // namespace heddle
