// SPDX-License-Identifier: Apache-2.0
// WorkQueue: the half of a work pool that its threads share: the jobs that wait, who is free, the counters, and what a worker does
// (docs/spec/15-threads.md, 15.1).
//
//   runtime ── push ──▶ queue ──take──▶ worker: run ──▶ post ──▶ signal ──▶ take …      one action each; in between, anybody
//                         │               └── refused: asked to stop while it was queued
//                         └── close: the rest is run · cancel, a failed init, the last worker dead: the rest is handed back
//
// WQ1  A job is taken by one worker, in the order of the pushes (THR-05), and begins only if nobody has asked it to stop (ST2).
// WQ2  `pending` rises before a job can be taken; `running` falls and `completed` rises in the action that ends it, before its outcome is
//      posted (THR-07). All of them change under one lock, so that a look sees numbers of one moment.
// WQ3  A worker that finds nothing lists itself as free in the action in which it looked; a push takes one of the list and unparks it:
//      no job waits while a worker sleeps that was not told.
// WQ4  A take tells the runtime if a coroutine there waits for a place, and was marked as waiting in the action that found no place.
// WQ5  A thread that ends, however, gives up the job that it ran and leaves the books (THR-06); the last one leaves no job behind.
// WQ6  Nothing in here touches the runtime: it is told by the post box alone (THR-20).
// Cells: `queue` (push, take, close: W), `books` (counting: C-add, looking: R); `stop` of each job. Choice points: those of WorkerThread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/core/base/unique_function.hpp"
#include "heddle/core/bridge/runtime_end.hpp"
#include "heddle/core/bridge/stop_token.hpp"
#include "heddle/core/seam/worker_port.hpp"

namespace heddle {

class FutureCore;
class WorkPoolState;
class WorkQueue;

/// A job: what runs, and how it ended. The worker has it from `take` to the post, the runtime before and behind that.
class WorkJob : public CompletionItem {
public:
    /// On the worker. Keeps what it returns or throws.
    virtual void run(const StopToken& stop) = 0;
    /// Its captures go, without having run.
    virtual void drop() noexcept = 0;
    /// On the runtime: the value goes to the future. Requires: it ended with one.
    virtual void deliver(FutureCore& future) = 0;

    void settle() final;
    [[nodiscard]] const ErrorValue& error() const { return error_; }
    void fail(ErrorValue error) { error_ = std::move(error); }
    [[nodiscard]] const std::shared_ptr<StopState>& stop() const { return stop_; }
    [[nodiscard]] std::uint64_t number() const { return stop_->number(); }
    void join(const std::shared_ptr<WorkQueue>& queue, std::shared_ptr<StopState> stop);

protected:
    /// In a handler: keeps the exception, or throws on what ends the thread.
    void keep_error();

private:
    std::shared_ptr<WorkQueue> queue_;
    std::shared_ptr<StopState> stop_;
    ErrorValue error_;
};

using WorkJobPtr = std::shared_ptr<WorkJob>;

/// Numbers of one moment (THR-07).
struct WorkStatistics {
    std::size_t pending = 0;      ///< accepted, not taken
    std::size_t running = 0;
    std::uint64_t completed = 0;  ///< with refused and cancelled ones; never falls
    std::size_t workers = 0;      ///< that live
};

/// The thread that ran a job ended in the middle of it (THR-06).
class WorkerLost : public Error {
public:
    using Error::Error;
};

class WorkQueue final : public WorkerCode, public std::enable_shared_from_this<WorkQueue> {
public:
    WorkQueue(Label label, std::size_t workers, std::shared_ptr<PostBox> box, UniqueFunction<void()> init);

    // ── the runtime's side ──

    enum class Refusal : std::uint8_t { none, closed, no_workers };
    /// Behind it the job may have run already. On a refusal nothing has happened.
    Refusal push(const WorkJobPtr& job);
    /// How many were taken so far. @param want_place  tell the runtime of the next take, unless there was one behind `seen`
    std::uint64_t takes(bool want_place, std::uint64_t seen);
    /// No more pushes; what waits is run. Idempotent.
    void close();
    /// Close, and hand back what waits: it will not run.
    [[nodiscard]] std::vector<WorkJobPtr> cancel();
    /// What `init` threw first; empty if it did not.
    [[nodiscard]] ErrorValue failure() const;
    [[nodiscard]] WorkStatistics statistics() const;
    /// The same for those who must not be seen looking (O1).
    [[nodiscard]] WorkStatistics books() const;
    [[nodiscard]] Label label() const { return label_; }

    /// Set and cleared on the runtime's thread, read there alone.
    void set_state(WorkPoolState* state) { state_ = state; }
    [[nodiscard]] WorkPoolState* state() const { return state_; }

    // ── WorkerCode ──

    void run(WorkerThread& self) override;
    void end() override;
    void over() override;

private:
    enum class Next : std::uint8_t { job, refused, nothing, leave };
    struct Taken {
        Next next = Next::nothing;
        WorkJobPtr job;
        bool place_wanted = false;
    };
    class Gone;

    bool start(WorkerThread& self);
    void work(WorkerThread& self);
    Taken take(WorkerThread& self);
    void finish(const WorkJobPtr& job);
    void leave(WorkerThread& self, const WorkJobPtr& job);
    void unpark_all();
    std::vector<WorkJobPtr> take_back();

    const Label label_;
    const std::size_t workers_;
    const std::shared_ptr<PostBox> box_;
    UniqueFunction<void()> init_;  // called by every worker, on its own thread
    WorkPoolState* state_ = nullptr;

    mutable std::mutex mutex_;  // everything below
    std::deque<WorkJobPtr> jobs_;
    std::vector<WorkerThread*> free_;  // in the order in which they found nothing
    WorkStatistics books_;
    std::uint64_t takes_ = 0;
    ErrorValue failure_;
    bool place_wanted_ = false;
    bool closed_ = false;
};

}  // namespace heddle
