// SPDX-License-Identifier: Apache-2.0
// SimFile: files as handles of a SimReactor (RCT-40, RCT-44, RCT-46); requests by path, and watches (RCT-57).
//
//   request ─▶ queue of its file, first in, first out ─▶ worker (Timing::task) ─▶ OpenFile ─▶ completion
//      └── a read at an offset waits for nobody
//
// SF1  One request of a queue is in flight; its effect and its completion are one step.
// SF2  The descriptor outlives the requests in flight on it: a close waits for them, those that no worker has begun end
//      with ECANCELED if the handle is closed (RCT-47).
// SF3  What is written is a copy from the submission on: a request that is closed reads no memory of its caller's.
#pragma once

#include <deque>
#include <memory>

#include "heddle/simreactor/disk/disk.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"

namespace heddle::sim::detail {

class SimFile final : public SimHandle {
public:
    SimFile(SimIo& io, int fd, std::shared_ptr<OpenFile> file);

    Submission submit(const Operation& operation, const SourceOptions& options) override;
    [[nodiscard]] bool is_ready(RequestKey) const override { return false; }  // workers serve files
    void go_on(RequestKey) override {}
    bool forget(RequestKey) override { return true; }  // Request::dropped
    [[nodiscard]] HandleInfo info() const override { return {.kind = kind, .descriptor = descriptor()}; }
    void close() override;
    void on_ready() override {}

private:
    /// What of a handle outlives it while a worker has something to do for it.
    struct State {
        struct Job {
            RequestKey key = 0;
            bool in_order = true;
            bool begun = false;
            SimIo::Work work{};
        };
        State(SimIo& owner, int fd, std::shared_ptr<OpenFile> opened)
            : io(owner), descriptor(fd), file(std::move(opened)) {}
        void begin(const std::shared_ptr<State>& self);
        void end_job(RequestKey key);
        SimIo& io;
        int descriptor;
        std::shared_ptr<OpenFile> file;
        std::deque<Job> jobs;  // waiting and begun ones, in the order of their submission
        bool closing = false;
    };
    void let_go();
    std::shared_ptr<State> state_;
};

}  // namespace heddle::sim::detail
