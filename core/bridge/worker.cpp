// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/bridge/worker.hpp"

#include <utility>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle {
namespace {

/// While the thread has been left, whoever runs is not it (BW1). It comes back to this frame, however that ends.
class Away {
public:
    explicit Away(WorkerThread& self) : self_(self) { exchange_current_worker(nullptr); }
    Away(const Away&) = delete;
    Away& operator=(const Away&) = delete;
    ~Away() { exchange_current_worker(&self_); }

private:
    WorkerThread& self_;
};

}  // namespace

WorkerFrame::WorkerFrame(WorkerThread& self) noexcept { exchange_current_worker(&self); }
WorkerFrame::~WorkerFrame() { exchange_current_worker(nullptr); }

void worker_point(const char* action) {
    WorkerThread* const self = current_worker();
    if (self == nullptr) { return; }
    const Away away(*self);
    self->point(action);
}

void worker_park() {
    WorkerThread* const self = current_worker();
    HEDDLE_ASSERT(self != nullptr, "BW1");
    const Away away(*self);
    self->park();
}

void worker_may_die() {
    WorkerThread* const self = current_worker();
    if (self != nullptr && self->fails("worker-dies")) { throw WorkerDeath{}; }
}

void touch_shared(Label object, std::string_view field, TouchMode mode, std::uint64_t index) {
    if (WorkerThread* const worker = current_worker(); worker != nullptr) {
        if (worker->observed()) [[unlikely]] { worker->touch(cell(object, field, index), mode); }
        return;
    }
    if (const Scheduler* scheduler = ambient_scheduler(); scheduler != nullptr) { scheduler->touch(object, field, mode, index); }
}

}  // namespace heddle
