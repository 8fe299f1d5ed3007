// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/runtime.hpp"

namespace heddle {

void Runtime::add_microtask(UniqueFunction<void()> body) {
    auto* task = new FunctionMicrotask(std::move(body));
    try {
        scheduler_.add_microtask(*task);
    } catch (...) {
        task->dispose();
        throw;
    }
}

Runtime& current_runtime(const char* operation) {
    Scheduler* scheduler = ambient_scheduler();
    if (scheduler == nullptr) { throw AsyncError(std::string(operation) + ": no coroutine is running on this thread"); }
    return scheduler->runtime();
}

CoroutineHandle current_coroutine() {
    return CoroutineHandle(&current_runtime("current_coroutine").scheduler().require_current("current_coroutine"));
}

ScopeRef current_scope() { return ScopeRef(current_runtime("current_scope").scheduler().current_scope()); }
Instant now() { return current_runtime("now").now(); }
void shutdown(const ErrorValue& reason) { current_runtime("shutdown").shutdown(reason); }
void add_microtask(UniqueFunction<void()> body) { current_runtime("add_microtask").add_microtask(std::move(body)); }

/// AWT-1: a finished target answers at once and beats a fired token.
void Scheduler::await_finished(CoroutineCore& target, EventSource* token, const WaitPoint& at) {
    if (token == &target) { token = nullptr; }  // AWT-2
    // Refused before anything is marked (AWC-08).
    if (token != nullptr && token == current_ && in_coroutine()) {
        throw AsyncError("await: a coroutine cannot be the token of its own wait");
    }
    touch(target.label_, "state", TouchMode::read);
    if (!target.finished_) {
        CoroutineCore& self = require_suspendable("await");
        if (&self == &target) { throw AsyncError("await: a coroutine cannot wait for itself"); }  // AWT-7
        target.mark_used();
        token = live_token(token);
        Waker& waker = self.waker_;
        struct Clean {
            Waker& waker;
            ~Clean() { waker.clean(); }
        } clean{waker};
        while (!target.finished_) {  // an explicit resume ends a suspension, not this wait (WKR-17)
            waker.clean();
            waker.resume_when(target, WakeBy::resolve);
            if (token != nullptr && !token->is_closed()) { waker.resume_when(*token, WakeBy::token); }
            suspend(at);
        }
        return;
    }
    target.mark_used();
    target.mark_observed();
    if (target.error_) { target.error_.rethrow(); }
}

}  // namespace heddle
