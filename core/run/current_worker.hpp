// SPDX-License-Identifier: Apache-2.0
// The worker thread whose code runs on this thread, beside the runtime whose coroutine does: one of them at most (docs/spec/15-threads.md).
//
// CW1  It is set while code of a WorkerCode runs, and null wherever else code runs: also behind a point of a simulated thread, and when a
//      frozen world has left one in the middle of its code.
#pragma once

namespace heddle {

class WorkerThread;

/// Null on a thread that is not a worker's.
[[nodiscard]] WorkerThread* current_worker() noexcept;
/// For those who enter and leave the code of a worker. @returns what it was
WorkerThread* exchange_current_worker(WorkerThread* worker) noexcept;

}  // namespace heddle
