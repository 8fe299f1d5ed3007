// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/bridge/work_pool_state.hpp"

#include <limits>
#include <utility>

#include "heddle/core/sync/await.hpp"

namespace heddle {

/// Between a job's future and its pool.
class WorkPoolState::Source final : public FutureSource {
public:
    Source(WorkPoolState& pool, std::shared_ptr<StopState> stop) : pool_(&pool), stop_(std::move(stop)) {}
    void wanted() override { pool_->end_.hold(); }
    void unwanted() noexcept override { pool_->end_.let_go(); }
    void released(FutureCore& future) override {
        const bool dropped = future.consumer_count() == 0;
        if (dropped && (!future.is_used() || future.is_ignored())) { return; }  // fire and forget: the job runs on
        stop_->request();
        pool_->forget(stop_->number());
    }

private:
    Ref<WorkPoolState> pool_;
    std::shared_ptr<StopState> stop_;
};

namespace {

WorkerPort& port_of(Runtime& runtime) {
    auto* const port = dynamic_cast<WorkerPort*>(&runtime.scheduler().reactor());
    if (port == nullptr) { throw AsyncError("work pool: the reactor of this runtime has no threads"); }
    return *port;
}

std::size_t count_of(int option, std::size_t otherwise, const char* what) {
    if (option < 0) { throw ValueError(std::string("work pool: ") + what + " is negative: " + std::to_string(option)); }
    return option == 0 ? otherwise : static_cast<std::size_t>(option);
}

}  // namespace

Ref<WorkPoolState> WorkPoolState::make(Runtime& runtime, WorkPoolOptions options) {
    WorkerPort& port = port_of(runtime);
    const std::size_t workers = count_of(options.workers, port.parallelism(), "workers");
    const std::size_t queue = count_of(options.queue, 4 * workers, "queue");
    Ref<WorkPoolState> state(new WorkPoolState(runtime, std::move(options), workers, queue));
    port.start_workers(state->queue_, workers, "worker");
    return state;
}

WorkPoolState::WorkPoolState(Runtime& runtime, WorkPoolOptions options, std::size_t workers, std::size_t queue)
    : RuntimeObject(runtime.scheduler(), options.name),
      end_(runtime.scheduler(), object_label(), [this] { on_wake(); }),
      queue_(std::make_shared<WorkQueue>(object_label(), workers, end_.box(), std::move(options.init))),
      places_(runtime, {.permits = queue, .permits_max = Semaphore::unlimited, .name = "places"}),
      gone_(OneShotEvent::make(runtime.scheduler(), "work_pool_gone")),
      workers_(workers),
      queue_size_(queue) {
    queue_->set_state(this);
}

WorkPoolState::~WorkPoolState() {
    HEDDLE_ASSERT(jobs_.empty(), "WS3");
    queue_->set_state(nullptr);
}

// ── places ──

/// Places whose jobs workers have taken go to whoever waits, and the next take is asked for if somebody still does.
void WorkPoolState::notice_takes() {
    for (;;) {
        const std::size_t waiting = places_.waiting();
        const std::uint64_t seen = queue_->takes(waiting > 0, takes_);
        const auto freed = static_cast<std::size_t>(seen - takes_);
        if (freed == 0) { return; }
        takes_ = seen;
        places_.release(freed);
    }
}

void WorkPoolState::throw_if_refused() {
    if (refusal_ == nullptr) {
        if (const ErrorValue failed = queue_->failure(); failed) { failed.rethrow(); }  // its report is on the way
        return;
    }
    refusal_->rethrow();
}

bool WorkPoolState::try_take_place() {
    throw_if_refused();
    notice_takes();
    return places_.try_acquire();
}

void WorkPoolState::take_place(EventSource* token, SourceLocation at) {
    static_cast<void>(live_token(token));
    if (try_take_place()) { return; }
    const Ref<WorkPoolState> alive(this);
    struct Hold {
        RuntimeEnd& end;
        ~Hold() { end.let_go(); }
    };
    end_.hold();
    const Hold hold{end_};
    // Marked as waiting and found full in one action, or served at once (WQ4).
    for (;;) {
        const std::uint64_t seen = queue_->takes(true, takes_);
        if (seen == takes_) { break; }
        notice_takes();
        if (places_.try_acquire()) { return; }
    }
    places_.acquire(1, token != nullptr ? Token(*token) : Token(), at);
    try {
        throw_if_refused();
    } catch (...) {
        places_.release();
        throw;
    }
}

void WorkPoolState::enqueue(const WorkJobPtr& job, FutureCore& future) {
    const std::uint64_t number = ++submitted_;
    auto stop = std::make_shared<StopState>(object_label(), number);
    job->join(queue_, stop);
    const auto at = jobs_.emplace(number, Entry{job, Ref<FutureCore>(&future)}).first;
    future.set_source(std::make_shared<Source>(*this, std::move(stop)));
    const WorkQueue::Refusal refusal = queue_->push(job);
    if (refusal == WorkQueue::Refusal::none) { return; }
    // Nobody else knows of the future: it goes as if it had not been made.
    const Ref<FutureCore> gone = std::move(at->second.future);
    jobs_.erase(at);
    places_.release();
    gone->never_report();
    gone->finish(ErrorValue::make<AsyncCancellation>("the job was refused"), SourceLocation::current());
    if (refusal == WorkQueue::Refusal::no_workers) { throw WorkPoolError("the work pool has no thread left"); }
    throw_if_refused();
    throw WorkPoolError("the work pool is closed");
}

// ── outcomes ──

void WorkPoolState::forget(std::uint64_t number) { jobs_.erase(number); }

void WorkPoolState::settle(WorkJob& job) {
    const auto at = jobs_.find(job.number());
    if (at == jobs_.end()) { return; }  // cancelled first (THR-20)
    const Ref<WorkPoolState> alive(this);
    const Ref<FutureCore> future = std::move(at->second.future);
    jobs_.erase(at);
    if (job.error()) {
        future->finish(job.error(), SourceLocation::current());
    } else {
        job.deliver(*future);
    }
}

void WorkPoolState::fail_all(const std::vector<WorkJobPtr>& jobs, const ErrorValue& error) {
    const Ref<WorkPoolState> alive(this);
    for (const WorkJobPtr& job : jobs) {
        job->drop();
        const auto at = jobs_.find(job->number());
        if (at == jobs_.end()) { continue; }
        const Ref<FutureCore> future = std::move(at->second.future);
        jobs_.erase(at);
        future->finish(error, SourceLocation::current());
    }
}

void WorkPoolState::refuse_from_now(ErrorValue refusal) {
    if (refusal_ != nullptr) { return; }
    refusal_ = std::make_unique<ErrorValue>(std::move(refusal));
    // Each of those who wait gets a place, and finds when it runs that it is worth nothing (CV-04).
    if (const std::size_t waiting = places_.waiting(); waiting > 0) { places_.release(waiting); }
}

void WorkPoolState::worker_gone(const std::vector<WorkJobPtr>& left, const ErrorValue& failure) {
    const Ref<WorkPoolState> alive(this);
    ++gone_workers_;
    if (failure) {
        if (refusal_ == nullptr) { scheduler().report({"init of a work pool failed", failure}); }
        refuse_from_now(failure);
    } else if (gone_workers_ == workers_ || !left.empty()) {  // the last to leave is not always the last to say so
        refuse_from_now(ErrorValue::make<WorkPoolError>("the work pool has no thread left"));
    }
    if (!left.empty()) { fail_all(left, *refusal_); }
    if (gone_workers_ == workers_) { gone_->complete(); }
}

void WorkPoolState::on_wake() {
    const Ref<WorkPoolState> alive(this);
    end_.drain();
    if (places_.waiting() > 0) { notice_takes(); }
}

// ── ending ──

void WorkPoolState::close() {
    if (over_) { return; }
    refuse_from_now(ErrorValue::make<WorkPoolError>("the work pool is closed"));
    queue_->close();
}

void WorkPoolState::cancel() {
    if (over_) { return; }
    const Ref<WorkPoolState> alive(this);
    refuse_from_now(ErrorValue::make<WorkPoolError>("the work pool was cancelled"));
    fail_all(queue_->cancel(), ErrorValue::make<AsyncCancellation>("the work pool was cancelled"));
    for (const auto& [number, entry] : jobs_) { entry.job->stop()->request(); }
}

void WorkPoolState::join(EventSource* token, SourceLocation at) {
    const Ref<WorkPoolState> alive(this);
    struct Hold {
        RuntimeEnd& end;
        ~Hold() { end.let_go(); }
    };
    end_.hold();
    const Hold hold{end_};
    static_cast<void>(await_event(*gone_, token != nullptr ? Token(*token) : Token(), at));
}

void WorkPoolState::runtime_ends() { cancel(); }

void WorkPoolState::runtime_ended() {
    if (std::exchange(over_, true)) { return; }
    const Ref<WorkPoolState> alive(this);
    end_.drain();
    HEDDLE_ASSERT(jobs_.empty(), "WS2: every thread has left, so every job has ended");
    end_.detach();
}

}  // namespace heddle
