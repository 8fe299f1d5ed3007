// SPDX-License-Identifier: Apache-2.0
// Code that may run on a worker thread: where it can be interrupted, and what it touches.
//
//   on a worker     worker_point("post")  ── others may go first ──▶ next action          touches go to the thread's port
//   in a runtime    worker_point("post")  nothing                                        touches go to the runtime's observer
//
// BW1  `current_worker` is set in a WorkerFrame, and null behind every point and park until they return.
// Choice points: those of WorkerThread.
#pragma once

#include <string_view>

#include "heddle/core/base/label.hpp"
#include "heddle/core/run/current_worker.hpp"
#include "heddle/core/seam/worker_port.hpp"

namespace heddle {

/// Thrown through a job when its thread dies (simulated): runs destructors, and is nobody's to swallow.
class WorkerDeath {};

/// Runs `body` as the code of `self`.
class WorkerFrame {
public:
    explicit WorkerFrame(WorkerThread& self) noexcept;
    WorkerFrame(const WorkerFrame&) = delete;
    WorkerFrame& operator=(const WorkerFrame&) = delete;
    ~WorkerFrame();
};

/// The end of one action, on a worker; elsewhere nothing.
void worker_point(const char* action);
/// Waits, on a worker.
void worker_park();
/// The thread may die here, on a worker and simulated. Throws WorkerDeath.
void worker_may_die();

/// The action in progress touches a cell, on a worker or in a runtime.
void touch_shared(Label object, std::string_view field, TouchMode mode, std::uint64_t index = 0);

}  // namespace heddle
