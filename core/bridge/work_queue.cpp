// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/bridge/work_queue.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <utility>

#include "heddle/core/bridge/work_pool_state.hpp"
#include "heddle/core/bridge/worker.hpp"

namespace heddle {

// ── jobs ──

void WorkJob::join(const std::shared_ptr<WorkQueue>& queue, std::shared_ptr<StopState> stop) {
    queue_ = queue;
    stop_ = std::move(stop);
}

void WorkJob::keep_error() {
    try {
        throw;
    } catch (const WorkerDeath&) {
        throw;
    } catch (abi::__forced_unwind&) {  // pthread_exit: the thread is ending, and nobody may stop it
        throw;
    } catch (...) {
        error_ = ErrorValue(std::current_exception());
    }
}

void WorkJob::settle() {
    if (WorkPoolState* state = queue_->state(); state != nullptr) { state->settle(*this); }
}

/// A worker is gone: what it could not do any more.
class WorkQueue::Gone final : public CompletionItem {
public:
    Gone(std::shared_ptr<WorkQueue> queue, std::vector<WorkJobPtr> left, ErrorValue failure)
        : queue_(std::move(queue)), left_(std::move(left)), failure_(std::move(failure)) {}
    void settle() override {
        if (WorkPoolState* state = queue_->state(); state != nullptr) { state->worker_gone(left_, failure_); }
    }

private:
    std::shared_ptr<WorkQueue> queue_;
    std::vector<WorkJobPtr> left_;
    ErrorValue failure_;  // of init
};

// ── the runtime's side ──

WorkQueue::WorkQueue(Label label, std::size_t workers, std::shared_ptr<PostBox> box, UniqueFunction<void()> init)
    : label_(label), workers_(workers), box_(std::move(box)), init_(std::move(init)) {
    books_.workers = workers;
}

WorkQueue::Refusal WorkQueue::push(const WorkJobPtr& job) {
    touch_shared(label_, "queue", TouchMode::write);
    touch_shared(label_, "books", TouchMode::add);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) { return Refusal::closed; }
    if (books_.workers == 0) { return Refusal::no_workers; }
    ++books_.pending;
    jobs_.push_back(job);
    if (!free_.empty()) {
        WorkerThread* const next = free_.front();
        free_.erase(free_.begin());
        next->unpark();
    }
    return Refusal::none;
}

std::uint64_t WorkQueue::takes(bool want_place, std::uint64_t seen) {
    touch_shared(label_, "queue", TouchMode::write);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (want_place && takes_ == seen) { place_wanted_ = true; }
    return takes_;
}

/// Requires: the lock.
void WorkQueue::unpark_all() {
    for (WorkerThread* const thread : std::exchange(free_, {})) { thread->unpark(); }
}

void WorkQueue::close() {
    touch_shared(label_, "queue", TouchMode::write);
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    unpark_all();
}

/// Requires: the lock.
std::vector<WorkJobPtr> WorkQueue::take_back() {
    std::vector<WorkJobPtr> left(jobs_.begin(), jobs_.end());
    jobs_.clear();
    books_.pending -= left.size();
    books_.completed += left.size();
    return left;
}

std::vector<WorkJobPtr> WorkQueue::cancel() {
    touch_shared(label_, "queue", TouchMode::write);
    touch_shared(label_, "books", TouchMode::add);
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    unpark_all();
    return take_back();
}

ErrorValue WorkQueue::failure() const {
    touch_shared(label_, "queue", TouchMode::read);
    const std::lock_guard<std::mutex> lock(mutex_);
    return failure_;
}

WorkStatistics WorkQueue::statistics() const {
    touch_shared(label_, "books", TouchMode::read);
    return books();
}

WorkStatistics WorkQueue::books() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return books_;
}

// ── the workers' side ──

void WorkQueue::run(WorkerThread& self) {
    const WorkerFrame frame(self);
    try {
        if (start(self)) { work(self); }
    } catch (const WorkerDeath&) {
        // What it had is given up already.
    }
}

/// THR-08. @returns false if this worker never works
bool WorkQueue::start(WorkerThread& self) {
    if (!init_) { return true; }
    ErrorValue failed;
    try {
        if (self.fails("init")) { throw AsyncError("injected failure of init (CP-ERROR)"); }
        init_();
    } catch (abi::__forced_unwind&) {
        leave(self, nullptr);
        throw;
    } catch (...) {
        failed = ErrorValue(std::current_exception());
    }
    if (!failed) {
        worker_point("take");
        return true;
    }
    worker_point("fail");
    std::vector<WorkJobPtr> left;
    {
        touch_shared(label_, "queue", TouchMode::write);
        touch_shared(label_, "books", TouchMode::add);
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) { failure_ = failed; }
        closed_ = true;
        --books_.workers;
        left = take_back();
        unpark_all();
    }
    worker_point("post");
    box_->post(std::make_shared<Gone>(shared_from_this(), std::move(left), failed));
    return false;
}

void WorkQueue::work(WorkerThread& self) {
    for (;;) {
        const Taken taken = take(self);
        switch (taken.next) {
            case Next::leave: leave(self, nullptr); return;
            case Next::nothing: worker_park(); continue;
            case Next::refused:
            case Next::job: break;
        }
        if (taken.place_wanted) {
            worker_point("signal");
            box_->signal();
        }
        if (taken.next == Next::refused) {
            taken.job->drop();
            worker_point("take");
            continue;
        }
        try {
            worker_point("run");
            worker_may_die();
            taken.job->run(StopToken(taken.job->stop()));
        } catch (...) {
            leave(self, taken.job);
            throw;
        }
        worker_point("post");
        finish(taken.job);
        worker_point("take");
    }
}

WorkQueue::Taken WorkQueue::take(WorkerThread& self) {
    touch_shared(label_, "queue", TouchMode::write);
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase(free_, &self);  // it may have woken by itself
    if (jobs_.empty()) {
        if (closed_) { return {Next::leave, nullptr, false}; }
        free_.push_back(&self);
        return {};
    }
    Taken taken{Next::job, std::move(jobs_.front()), std::exchange(place_wanted_, false)};
    jobs_.pop_front();
    ++takes_;
    touch_shared(label_, "books", TouchMode::add);
    --books_.pending;
    if (taken.job->stop()->begin()) {
        ++books_.running;
    } else {
        taken.next = Next::refused;
        ++books_.completed;
    }
    return taken;
}

/// The job ended. Behind the post it is the runtime's.
void WorkQueue::finish(const WorkJobPtr& job) {
    touch_shared(label_, "books", TouchMode::add);
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        --books_.running;
        ++books_.completed;
    }
    box_->post(job);
}

/// WQ5. @param job  what it was running, or null
void WorkQueue::leave(WorkerThread& self, const WorkJobPtr& job) {
    touch_shared(label_, "queue", TouchMode::write);
    touch_shared(label_, "books", TouchMode::add);
    std::vector<WorkJobPtr> left;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::erase(free_, &self);
        --books_.workers;
        if (job != nullptr) {
            --books_.running;
            ++books_.completed;
        }
        if (books_.workers == 0) { left = take_back(); }
    }
    if (job != nullptr) {
        job->drop();
        job->fail(ErrorValue::make<WorkerLost>("the thread that ran the job has ended"));
        worker_point("post");
        box_->post(job);
    }
    worker_point("post");
    box_->post(std::make_shared<Gone>(shared_from_this(), std::move(left), ErrorValue()));
}

void WorkQueue::end() {
    if (state_ != nullptr) {
        state_->runtime_ends();
    } else {
        close();
    }
}

void WorkQueue::over() {
    if (state_ != nullptr) { state_->runtime_ended(); }
}

}  // namespace heddle
