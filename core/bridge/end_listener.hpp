// SPDX-License-Identifier: Apache-2.0
// EndListener: code of no thread at all, by which an object of a bridge hears that its runtime ends (WorkerCode::end and over).
//
// EL1  The port holds it weakly: who wants to hear keeps it, and hears nothing once it is gone.
#pragma once

#include <memory>
#include <utility>

#include "heddle/core/base/unique_function.hpp"
#include "heddle/core/run/scheduler.hpp"
#include "heddle/core/seam/worker_port.hpp"

namespace heddle {

class EndListener final : public WorkerCode {
public:
    EndListener(UniqueFunction<void()> on_end, UniqueFunction<void()> on_over) : on_end_(std::move(on_end)), on_over_(std::move(on_over)) {}
    void run(WorkerThread&) override {}
    void end() override {
        if (on_end_) { on_end_(); }
    }
    void over() override {
        if (on_over_) { on_over_(); }
    }

    /// Throws AsyncError if the reactor has no threads to bridge to. @param what  for the message
    static std::shared_ptr<EndListener> listen(Scheduler& scheduler, const char* what, UniqueFunction<void()> on_end,
                                               UniqueFunction<void()> on_over = nullptr) {
        auto* const port = dynamic_cast<WorkerPort*>(&scheduler.reactor());
        if (port == nullptr) { throw AsyncError(std::string(what) + ": the reactor of this runtime has no threads"); }
        auto listener = std::make_shared<EndListener>(std::move(on_end), std::move(on_over));
        port->start_workers(listener, 0, "listener");
        return listener;
    }

private:
    UniqueFunction<void()> on_end_;
    UniqueFunction<void()> on_over_;
};

}  // namespace heddle
