// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/finally_run.hpp"

#include "heddle/core/run/scheduler.hpp"
#include "heddle/core/run/unwind.hpp"

namespace heddle {

/// Watches one runner: when a handler suspends, the rest of the list goes on in another coroutine (SCH-64, SCH-84).
class FinallyRun::Runner final : public SwitchHandler {
public:
    explicit Runner(FinallyRun& run) : run_(run) {}

    bool on_switch(CoroutineHandle, bool entering, bool finishing) override {
        if (entering || finishing || left_) { return true; }
        left_ = true;
        --run_.pulling_;
        if (run_.pulling_ == 0 && run_.jobs_left() > 0) { run_.spawn_runner(); }
        return true;
    }

    /// The handler came back; this runner pulls again.
    void back() {
        if (left_) {
            left_ = false;
            ++run_.pulling_;
        }
    }

private:
    FinallyRun& run_;
    bool left_ = false;
};

FinallyRun::FinallyRun(Scheduler& scheduler, ScopeCore& scope, CoroutineCore* owner, std::vector<Job> jobs)
    : scheduler_(scheduler), target_(&scope), owner_(owner), jobs_(std::move(jobs)) {
    internal_ = scheduler.make_scope(&scope, scope.is_safe(), "finally");
    internal_->internal_ = true;
}

void FinallyRun::start(Scheduler& scheduler, ScopeCore& scope, CoroutineCore* owner, std::vector<Job> jobs) {
    auto* run = new FinallyRun(scheduler, scope, owner, std::move(jobs));
    run->spawn_runner();
}

void FinallyRun::spawn_runner() {
    ++pulling_;
    ++live_runners_;
    auto body = [this] { work(); };
    auto* coroutine = new detail::CoroutineFrame<decltype(body), void>(scheduler_, std::move(body));
    scheduler_.spawn_internal(*coroutine, *internal_, Priority::high, "finally", this);
}

void FinallyRun::work() {
    CoroutineCore& self = *scheduler_.current();
    Runner runner(*this);
    scheduler_.add_switch_handler(&self, runner);
    struct Detach {
        Scheduler& scheduler;
        CoroutineCore& self;
        Runner& runner;
        ~Detach() { scheduler.remove_switch_handler(self, runner); }
    } detach{scheduler_, self, runner};
    while (next_ < jobs_.size()) {
        const std::size_t index = next_++;
        scheduler_.note(EventKind::finally_run, owner_ ? owner_->label() : target_->label(), {}, static_cast<std::int64_t>(index));
        try {
            jobs_[index]();
        } catch (const UnwindToken&) {
            throw;
        } catch (const Cancellation&) {
            // FIN-5: a cancellation that leaves a handler is no error; the remaining handlers still run (FIN-11).
        } catch (...) {
            errors_.emplace_back(std::current_exception());
        }
        runner.back();
    }
    --pulling_;
}

void FinallyRun::runner_ended(bool unwound) {
    HEDDLE_ASSERT(live_runners_ > 0, "each runner ends once");
    if (--live_runners_ > 0) { return; }
    const std::unique_ptr<FinallyRun> gone(this);
    if (unwound) {
        scheduler_.never_executed_ += jobs_left();
        return;
    }
    HEDDLE_ASSERT(next_ == jobs_.size(), "INV-FIN-01");
    if (errors_.empty()) { return; }
    ErrorValue error = errors_.size() == 1 ? errors_.front() : ErrorValue(std::make_exception_ptr(CompositeError(errors_)));
    // ERR-9(a) does not apply: the coroutine's stored outcome never changes, so nothing is kept on a handle (FIN-5).
    if (!target_->propagate(error, owner_.get())) { scheduler_.record_unhandled(error); }
}

}  // namespace heddle
