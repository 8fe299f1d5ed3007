// SPDX-License-Identifier: Apache-2.0
// WorkPoolState: the half of a work pool that stands in its runtime: who waits for a place, which future belongs to which job, and what
// becomes of both (docs/spec/15-threads.md, 15.1). Untyped; the other half of it, which the threads share, is WorkQueue.
//
//   submit ── place? ──no──▶ parks, in order of arrival ──┐
//     │yes                                                 │ a worker took a job: its place goes to the oldest
//     ▼                                                    ▼
//   job and future, registered ──▶ WorkQueue ──▶ … ──▶ settle: the outcome goes to the future, if that is still pending (THR-20)
//
// WS1  places free = queue size - jobs queued - places granted or in the hands of a submit; a take is noticed at the latest when its
//      signal is seen, and before that by whoever asks for a place (INV-THR-03: never more than the queue holds).
// WS2  Every accepted job is registered with its future until the future is settled, by the first of completion and cancellation; the
//      other one finds nothing (INV-THR-01).
// WS3  The state lives as long as its handle, an operation on it or a future that it has to settle (CV-16). The handle gone: cancelled.
// WS4  Whoever waits holds the loop: a parked submit, a join, a future that is awaited or derived from (THR-16). Nobody else does.
// Cells: of its places those of SemaphoreState, of the queue those of WorkQueue, of the end `completions`.
// Choice points: none of its own. Suspends: take_place and join.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/bridge/runtime_end.hpp"
#include "heddle/core/bridge/work_queue.hpp"
#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/run/runtime_object.hpp"
#include "heddle/core/sync/future_state.hpp"
#include "heddle/core/sync/semaphore.hpp"

namespace heddle {

/// The pool takes no jobs: it was closed or cancelled, or has no thread left (THR-04, THR-09).
class WorkPoolError : public Error {
public:
    using Error::Error;
};

struct WorkPoolOptions {
    int workers = 0;  ///< 0: as many as can really run at the same time
    int queue = 0;    ///< jobs that wait for a worker; 0: four per worker
    /// Called by every worker before its first job, on its own thread, several at the same time (THR-08).
    UniqueFunction<void()> init = nullptr;
    std::string_view name = "work_pool";  ///< a literal
};

class WorkPoolState final : public RuntimeObject {
public:
    /// Starts the threads. Throws: ValueError for options out of range; AsyncError if the reactor or the system has no threads.
    static Ref<WorkPoolState> make(Runtime& runtime, WorkPoolOptions options);

    // ── submitting, in three steps: a place, the job, the queue ──

    /// Throws what refuses: the init's error, WorkPoolError, a cancellation, the token's OperationCanceled; then no place is held.
    void take_place(EventSource* token, SourceLocation at);
    /// False: full, or somebody waits for a place. Throws as take_place, but for what ends a wait.
    [[nodiscard]] bool try_take_place();
    /// The job could not be made: the place goes to the next.
    void return_place() { places_.release(); }
    /// Behind a place. Throws what refuses, and the place is returned.
    void enqueue(const WorkJobPtr& job, FutureCore& future);

    // ── ending ──

    void close();
    void cancel();
    void join(EventSource* token, SourceLocation at);

    // ── looking ──

    [[nodiscard]] WorkStatistics statistics() const { return queue_->statistics(); }
    [[nodiscard]] std::size_t workers() const { return workers_; }
    [[nodiscard]] std::size_t queue_size() const { return queue_size_; }
    [[nodiscard]] bool is_closed() const { return refusal_ != nullptr || gone_workers_ == workers_; }
    [[nodiscard]] std::size_t waiting() const { return places_.waiting(); }
    [[nodiscard]] std::size_t registered() const { return jobs_.size(); }
    [[nodiscard]] WorkStatistics books() const { return queue_->books(); }
    /// Messages of workers that have not been taken.
    [[nodiscard]] std::size_t posted() const { return end_.box()->queue().length(); }
    [[nodiscard]] bool has_ended() const { return gone_workers_ == workers_; }

    // ── for WorkQueue, on the runtime's thread ──

    void settle(WorkJob& job);
    void worker_gone(const std::vector<WorkJobPtr>& left, const ErrorValue& failure);
    void runtime_ends();
    void runtime_ended();

    // ── life (CV-16) ──

    void add_reference() { ++references_; }
    void drop_reference() {
        HEDDLE_ASSERT(references_ > 0, "WS3");
        if (--references_ == 0) { delete this; }
    }
    /// The handle goes (THR-15).
    void abandon() { cancel(); }

private:
    class Source;
    struct Entry {
        WorkJobPtr job;
        Ref<FutureCore> future;
    };

    WorkPoolState(Runtime& runtime, WorkPoolOptions options, std::size_t workers, std::size_t queue);
    ~WorkPoolState() override;

    void on_wake();
    void notice_takes();
    void refuse_from_now(ErrorValue refusal);
    void throw_if_refused();
    void fail_all(const std::vector<WorkJobPtr>& jobs, const ErrorValue& error);
    void forget(std::uint64_t number);

    RuntimeEnd end_;
    std::shared_ptr<WorkQueue> queue_;
    Semaphore places_;        // of those that wait, without an upper bound: a refusal lets all of them in
    Ref<OneShotEvent> gone_;     // the last worker has left
    std::unique_ptr<ErrorValue> refusal_;
    std::map<std::uint64_t, Entry> jobs_;  // by number
    std::uint64_t submitted_ = 0;
    std::uint64_t takes_ = 0;  // that gave their place back
    std::size_t workers_;
    std::size_t queue_size_;
    std::size_t gone_workers_ = 0;
    std::uint32_t references_ = 0;
    bool over_ = false;
};

}  // namespace heddle
