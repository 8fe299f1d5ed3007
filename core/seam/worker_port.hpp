// SPDX-License-Identifier: Apache-2.0
// WorkerPort: the part of the Reactor door behind which threads are that work for a runtime (docs/spec/15-threads.md, THR-22).
//
//   runtime ── start_workers(code, n) ──▶ n threads, each: code.run(self)        real: std::thread        simulated: n sequences of steps
//                                          │ self.point("post")   others may go first, from here on
//                                          │ self.park() … unpark()
//   reactor goes down ── code.end() ──▶ they leave ── code.over() ──▶ nobody of them is left
//
// WP1  The code is the same in both worlds: it says where another thread may come in between, and the simulated port ends a step there.
//      What it does between two points is one atomic action: a lock is never held across a point.
// WP2  A thread waits in `park` alone, and only `unpark` ends that: a token per thread, so that an unpark that comes first is not lost.
// WP3  `end` and `over` are called on the reactor's thread, once each, `over` behind the last action of the last thread.
// Choice points (simulated): `ready`, which thread goes on, and against what else; `fault`, where the code asks `fails`.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "heddle/core/base/label.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle {

/// The thread that some code runs on, as that code sees it. Everything but `unpark` is called on that thread.
class WorkerThread {
public:
    virtual ~WorkerThread() = default;
    /// Behind what was one action, before what is the next: anybody may go in between. @param action  the next one, a literal for reports
    virtual void point(const char* action) = 0;
    /// Blocks until `unpark` was called since the last `park` returned. It may return early: look again.
    virtual void park() = 0;
    /// Legal on any thread, as long as this thread has not left its code.
    virtual void unpark() = 0;
    /// Does it go wrong here (CP-ERROR)? False in production.
    [[nodiscard]] virtual bool fails(const char* what) = 0;
    /// Somebody watches what the actions touch.
    [[nodiscard]] virtual bool observed() const = 0;
    virtual void touch(Cell cell, TouchMode mode) = 0;
};

/// What threads run. Shared by them, and by whoever started them.
class WorkerCode {
public:
    virtual ~WorkerCode() = default;
    /// On each thread, once. Throws nothing but what ends a thread from outside (pthread_exit).
    virtual void run(WorkerThread& self) = 0;
    /// The runtime is over: the threads shall leave as soon as they can.
    virtual void end() = 0;
    /// No thread runs it any more, and none will.
    virtual void over() = 0;
};

/// A reactor that has threads to offer is one of these, too.
class WorkerPort {
public:
    /// Threads that can really run at the same time, at least 1 (THR-01).
    [[nodiscard]] virtual std::size_t parallelism() const = 0;
    /// Starts `count` threads; with 0 the code is only told when the runtime ends. The port keeps it while a thread runs it.
    /// @param name  a literal, for labels. Throws AsyncError if the system gives no threads, with none of them left running.
    /// Requires: the reactor is up.
    virtual void start_workers(std::shared_ptr<WorkerCode> code, std::size_t count, const char* name) = 0;

protected:
    ~WorkerPort() = default;
};

}  // namespace heddle
