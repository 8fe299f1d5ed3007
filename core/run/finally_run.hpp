// SPDX-License-Identifier: Apache-2.0
// FinallyRun: the finally handlers of one coroutine or scope, on their way (FIN-1 to FIN-12).
//
//   runner 1: h1 · h2 ── suspends ──▶ LEAVE spawns runner 2: h3 · h4 …         all in one internal child scope, high priority
//
// N1  Handlers start in registration order, each once, whatever earlier ones threw (INV-FIN-01 to INV-FIN-03).
// N2  Errors are kept in order of occurrence; the runner that ends last sends one error, or one composite, the way of ERR-1 (FIN-5).
// N3  An unstarted runner is reached by no request and no sweep; a started one by forced ones only (FIN-11).
// Choice points: none of its own.
#pragma once

#include <vector>

#include "heddle/core/run/coroutine.hpp"
#include "heddle/core/run/scope.hpp"

namespace heddle {

class FinallyRun {
public:
    using Job = UniqueFunction<void()>;

    /// Spawns the first runner. @param owner the coroutine whose handlers they are, null for a scope's own
    static void start(Scheduler& scheduler, ScopeCore& scope, CoroutineCore* owner, std::vector<Job> jobs);

    /// F8 of one of the runners; the last one reports and frees the run. @param unwound by terminal unwinding: nothing is reported
    void runner_ended(bool unwound);
    [[nodiscard]] std::size_t jobs_left() const { return jobs_.size() - next_; }

private:
    class Runner;

    FinallyRun(Scheduler& scheduler, ScopeCore& scope, CoroutineCore* owner, std::vector<Job> jobs);
    void spawn_runner();
    void work();

    Scheduler& scheduler_;
    Ref<ScopeCore> target_;    // where errors enter ERR-1
    Ref<ScopeCore> internal_;  // where the runners live
    Ref<CoroutineCore> owner_;
    std::vector<Job> jobs_;
    std::vector<ErrorValue> errors_;
    std::size_t next_ = 0;
    std::size_t live_runners_ = 0;
    std::size_t pulling_ = 0;  // runners that are not inside a suspended handler
};

}  // namespace heddle
