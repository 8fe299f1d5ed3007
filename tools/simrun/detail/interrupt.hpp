// SPDX-License-Identifier: Apache-2.0
// Interrupt: Ctrl-C as a question that long work asks now and then.
//
//   SIGINT, SIGTERM ── first ──▶ asked() is true: the work ends with what it has
//                   ── second ─▶ what the signal did before this object was made: usually the end of the process
#pragma once

#include <csignal>

namespace heddle::detail {

class Interrupt {
public:
    /// Takes over SIGINT and SIGTERM, also if they are ignored. One at a time in a process.
    Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;
    ~Interrupt();

    [[nodiscard]] bool asked() const noexcept;

private:
    struct sigaction before_interrupt_ {};
    struct sigaction before_terminate_ {};
};

}  // namespace heddle::detail
