// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/iterate.hpp"

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/run/unwind.hpp"
#include "heddle/core/sync/await.hpp"

namespace heddle::detail {
namespace {

/// One call of iterate, on the caller's stack: the caller is there until the last worker has left.
class Iterating {
public:
    Iterating(Scheduler& scheduler, NextCall next, std::size_t limit, SourceLocation at)
        : scheduler_(scheduler), next_(std::move(next)), limit_(limit), at_(at), scope_(Scope::inherited()),
          done_(OneShotEvent::make(scheduler, "iterate")) {
        scope_.as_not_safely();
    }

    void run(bool cancel_pending) {
        add_worker();
        ErrorValue interrupted;
        try {
            await_event(*done_, {}, at_);
            if (!cancel_pending && !first_error_) { wait_for_the_rest(); }
        } catch (const UnwindToken&) {
            throw;
        } catch (...) {
            interrupted = ErrorValue(std::current_exception());
        }
        stopped_ = true;
        // ITR-07, ITR-09, ITR-10: what is left is cancelled, and waited for whatever happens (PROT-03).
        cleanup([&] {
            if (!scope_.core().is_terminated()) {
                scope_.dispose();
                scope_.await_after_cancellation([](const ErrorValue&, ScopeRef) {});
            }
        });
        HEDDLE_ASSERT(workers_ == 0, "INV-ITR-03");
        if (interrupted) { interrupted.rethrow(); }
        if (first_error_) { first_error_.rethrow(); }
    }

private:
    /// Watches one worker: when a callback suspends, another worker may go on with the source (ITR-03).
    class Watch final : public SwitchHandler {
    public:
        explicit Watch(Iterating& loop) : loop_(loop) {}
        bool on_switch(CoroutineHandle, bool entering, bool finishing) override {
            if (!entering && !finishing && in_callback) { loop_.add_worker(); }
            return true;
        }
        bool in_callback = false;

    private:
        Iterating& loop_;
    };

    /// The coroutines that callbacks spawned: their own end is waited for; an error of theirs takes its usual way (ITR-09).
    void wait_for_the_rest() {
        while (!scope_.core().drained()) {
            const Ref<EventSource> scope(&scope_.core());
            Waker& waker = scheduler_.require_suspendable("iterate").waker();
            struct Clean {
                Waker& waker;
                ~Clean() { waker.clean(); }
            } clean{waker};
            waker.clean();
            waker.resume_when(*scope, WakeBy::resolve);
            scheduler_.suspend({"iterate", at_, done_->label()});
        }
    }

    void add_worker() {
        if (stopped_ || exhausted_ || advancing_ || starting_ > 0 || (limit_ > 0 && workers_ >= limit_)) { return; }
        auto body = [this] { work(); };
        auto* coroutine = new CoroutineFrame<decltype(body), void>(scheduler_, std::move(body));
        coroutine->set_dispose_hook([this](CoroutineCore& ended) { left(ended); });
        SpawnOptions options;
        options.name = "iterate";
        options.scope = ScopeRef(scope_);
        options.priority = Priority::high;  // it takes the place of the one that suspends
        ++workers_;
        ++starting_;
        try {
            scheduler_.spawn(*coroutine, options, at_, true);
        } catch (...) {
            --workers_;
            --starting_;
            fail(ErrorValue(std::current_exception()));  // the scope was cancelled meanwhile
            if (workers_ == 0) { done_->complete(); }
        }
    }

    void work() {
        HEDDLE_ASSERT(starting_ > 0, "INV-ITR-03");
        --starting_;
        CoroutineCore& self = *scheduler_.current();
        Watch watch(*this);
        scheduler_.add_switch_handler(&self, watch);
        struct Detach {
            Scheduler& scheduler;
            CoroutineCore& self;
            Watch& watch;
            ~Detach() { scheduler.remove_switch_handler(self, watch); }
        } detach{scheduler_, self, watch};
        while (!stopped_ && !exhausted_ && !advancing_) {
            UniqueFunction<Iteration()> call;
            try {
                const Advancing exclusive(*this);
                call = next_();
                if (!call) { exhausted_ = true; }
            } catch (const UnwindToken&) {
                throw;
            } catch (...) {
                fail(ErrorValue(std::current_exception()));
                return;
            }
            if (!call || stopped_) { return; }
            try {
                watch.in_callback = true;
                const Iteration answer = call();
                watch.in_callback = false;
                if (answer == Iteration::stop) { stopped_ = true; }
            } catch (const UnwindToken&) {
                throw;
            } catch (...) {
                watch.in_callback = false;
                fail(ErrorValue(std::current_exception()));
                return;
            }
        }
    }

    struct Advancing {
        explicit Advancing(Iterating& in) : loop(in) { loop.advancing_ = true; }
        ~Advancing() { loop.advancing_ = false; }
        Advancing(const Advancing&) = delete;
        Advancing& operator=(const Advancing&) = delete;
        Iterating& loop;
    };

    /// The first error ends the delivery and cancels what is in flight (ITR-07). A cancellation of a sibling is its consequence.
    void fail(const ErrorValue& error) {
        const bool first = !first_error_ && !stopped_by_error_;
        if (first) {
            first_error_ = error;
        } else if (!error.is_cancellation() && !error.same_error(first_error_)) {
            scheduler_.report({"iterate: another callback failed, too", error});  // the one that is thrown has no place for it (CV-20)
        }
        stopped_ = true;
        if (!std::exchange(stopped_by_error_, true) && !scope_.is_cancelled()) {
            scope_.cancel(ErrorValue::make<AsyncCancellation>("another callback of iterate failed"));
        }
    }

    /// In the finalization of a worker, whichever way it ended (ITR-08).
    void left(const CoroutineCore& worker) {
        if (!worker.is_started()) { --starting_; }
        HEDDLE_ASSERT(workers_ > 0, "INV-ITR-03");
        if (--workers_ == 0) { done_->complete(); }
    }

    Scheduler& scheduler_;
    NextCall next_;
    std::size_t limit_;
    SourceLocation at_;
    Scope scope_;
    Ref<OneShotEvent> done_;
    ErrorValue first_error_;
    std::size_t workers_ = 0;
    std::size_t starting_ = 0;  // spawned and not yet run: one is enough
    bool advancing_ = false;
    bool exhausted_ = false;
    bool stopped_ = false;
    bool stopped_by_error_ = false;
};

}  // namespace

void run_iterate(NextCall next, const IterateOptions& options, SourceLocation at) {
    if (options.concurrency < 0) { throw ValueError("iterate: the concurrency is negative"); }
    Scheduler& scheduler = current_runtime("iterate").scheduler();
    static_cast<void>(scheduler.require_suspendable("iterate"));
    Iterating loop(scheduler, std::move(next), static_cast<std::size_t>(options.concurrency), at);
    loop.run(options.cancel_pending);
}

}  // namespace heddle::detail
