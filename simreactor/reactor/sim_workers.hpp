// SPDX-License-Identifier: Apache-2.0
// SimWorkers: the threads of work pools in a simulated world: each is a flow of its own, and goes on one action at a time, when the
// explorer says so (docs/spec/15-threads.md, 15.5).
//
//   start ──▶ k flows ──▶ a step of each is a delivery like any other: action, up to the next point ──▶ the next step is ready
//                          park ──▶ no step, until it is unparked
//   shutdown ──▶ code.end() ──▶ every flow runs to its end, nothing is asked any more ──▶ code.over()
//
// SW1  An action is what a thread does between two points, and is atomic: one flow runs at a time, and comes back at its next point.
// SW2  Where a step of it has its place among all other deliveries is the reactor's question, CP-READY; the action that ends a job takes
//      Timing::task, the others no time (THR-24).
// SW3  Code of a worker finds no ambient runtime, as on a thread of its own: what a job must not do throws here, too (THR-02).
// SW4  A frozen world's flows are never unwound; their stacks go as a whole.
// Footprints: `begin` and `parked` of a thread order its steps behind who made them possible (give, take); the rest is the code's.
// Choice points: CP-READY; CP-ERROR where the code asks `fails`, and for a wake that nobody sent.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "heddle/core/run/fiber.hpp"
#include "heddle/core/seam/worker_port.hpp"

namespace heddle::sim {

class ForeignThread;
class SimReactor;

class SimWorkers {
public:
    class Thread;

    explicit SimWorkers(SimReactor& reactor);
    SimWorkers(const SimWorkers&) = delete;
    SimWorkers& operator=(const SimWorkers&) = delete;
    ~SimWorkers();

    void start(std::shared_ptr<WorkerCode> code, std::size_t count, const char* name);
    /// The end of the run. Requires: no flow of ours runs.
    void shut_down();
    /// A frozen world: what the threads hold, to be leaked; their stacks go.
    [[nodiscard]] std::shared_ptr<void> abandon();
    /// Threads that have not left their code.
    [[nodiscard]] std::size_t alive() const;

private:
    friend class Thread;

    SimReactor& reactor_;
    std::unique_ptr<StackPool> stacks_;
    std::vector<std::unique_ptr<Thread>> threads_;
    std::vector<std::weak_ptr<WorkerCode>> codes_;
    bool finishing_ = false;
};

}  // namespace heddle::sim
