// SPDX-License-Identifier: Apache-2.0
// UvWorkers: the threads that a UvReactor has for work pools (docs/spec/15-threads.md, THR-15, THR-22).
//
//   start ──▶ group of threads, each runs the group's code ──▶ left ──▶ joined with the next start, at the latest at shutdown
//   shutdown ──▶ code.end(): they shall leave ──▶ joined, however long their jobs take ──▶ code.over()
//
// UW1  A thread waits for its token alone, which is its own (WP2).
// UW2  Everything but `unpark` is called on the reactor's thread; a group's code is told the end once.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "heddle/core/seam/worker_port.hpp"

namespace heddle::real {

class UvWorkers {
public:
    UvWorkers();
    UvWorkers(const UvWorkers&) = delete;
    UvWorkers& operator=(const UvWorkers&) = delete;
    ~UvWorkers();

    /// As WorkerPort::start_workers.
    void start(std::shared_ptr<WorkerCode> code, std::size_t count);
    void shut_down();
    /// Processors that this process may use: affinity and the quota of its control group honoured. At least 1.
    [[nodiscard]] static std::size_t parallelism();

private:
    class Thread;
    struct Group {
        std::shared_ptr<WorkerCode> kept;  // while a thread may run it
        std::weak_ptr<WorkerCode> code;
        std::vector<std::unique_ptr<Thread>> threads;
    };
    void reap();

    std::vector<Group> groups_;  // in the order of their start
};

}  // namespace heddle::real
