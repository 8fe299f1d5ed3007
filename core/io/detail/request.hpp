// SPDX-License-Identifier: Apache-2.0
// Request: one operation of the running coroutine, from its submission to its answer (RCT-41).
//
//   perform ─▶ submit ─┬─ answered at once ──────────────────────────────────────────▶ completion, no switch
//                      └─ park: completion, timeout, token, cancellation ─▶ resumed ─▶ completion, or the request is closed (RCT-45)
//
// P1  The event stands on the stack of the coroutine that waits for it: a wait allocates nothing.
// P2  What has taken effect is not lost: a completion that came before the coroutine could hear of a timeout or a token
//     wins over them, and a cancellation that comes after it stays pending (CV-04).
// P3  A handle that nobody takes from an answer is closed.
// Choice points: those of the reactor. Suspends: unless it is answered at once.
#pragma once

#include <memory>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/io/io_options.hpp"
#include "heddle/core/run/scheduler.hpp"
#include "heddle/core/seam/operation.hpp"

namespace heddle::detail {

struct Performed {
    Completion completion{};
    std::unique_ptr<Answer> answer{};  ///< where there is one; `completion.answer` points to it
};

/// Throws: TimeoutError, OperationCanceled, a cancellation; AsyncError for misuse. What the world answers is in the
/// completion.
Performed perform(Scheduler& scheduler, const Operation& operation, const IoOptions& options, SourceLocation at);

/// Parks the running coroutine until a stream is readable, by the reactor's short way: where nobody watches, and
/// nothing else can end the wait but a cancellation. @returns 0, or the errno value that the wait ended with
int wait_readable(Scheduler& scheduler, HandleId handle, SourceLocation at);

/// Parks the running coroutine until the event fires. Throws as perform, and what the event fails with.
void wait_for(EventSource& event, const char* what, const IoOptions& options, SourceLocation at);

}  // namespace heddle::detail
