// SPDX-License-Identifier: Apache-2.0
// What a program holds of a scope: ScopeRef, which names it, and Scope, whose release disposes it (SCP-2, SCP-15, SCP-21).
#include <algorithm>
#include <utility>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/run/scheduler.hpp"
#include "heddle/core/run/scope.hpp"

namespace heddle {

// ── ScopeRef ──

ScopeCore& ScopeRef::core() const {
    HEDDLE_ASSERT(core_, "a scope reference that names a scope");
    return *core_;
}

ScopeCore& ScopeRef::looked() const {
    core().look();
    return core();
}

std::vector<ScopeRef> ScopeRef::child_scopes() const {
    core().look_at_children();
    std::vector<ScopeRef> scopes;
    const auto& children = core().children();
    for (ScopeCore* child = children.front(); child != nullptr; child = children.next(*child)) { scopes.emplace_back(child); }
    return scopes;
}

namespace {

void refuse_main(const ScopeCore& scope, const char* operation) {
    if (scope.is_main()) { throw AsyncError(std::string(operation) + ": not allowed on the main scope"); }
}

}  // namespace

void ScopeRef::cancel(const ErrorValue& reason) const {
    if (reason && !reason.is_cancellation()) { throw ValueError("cancel: the reason must be a Cancellation, found " + reason.describe()); }
    refuse_main(core(), "cancel");
    core().request(ScopeCore::Request::cancel, core().is_safe() ? CancelKind::safe_cancel : CancelKind::forced, reason);
}

void ScopeRef::dispose() const {
    refuse_main(core(), "dispose");
    core().request(ScopeCore::Request::dispose, core().is_safe() ? CancelKind::safe_dispose : CancelKind::forced, {});
}

void ScopeRef::dispose_safely() const {
    refuse_main(core(), "dispose_safely");
    core().request(ScopeCore::Request::dispose, CancelKind::safe_dispose, {});
}

void ScopeRef::dispose_after_timeout(Duration timeout) const {
    if (timeout < Duration::zero()) { throw ValueError("dispose_after_timeout: the timeout must not be negative"); }
    refuse_main(core(), "dispose_after_timeout");
    core().arm_disposal(timeout);
}

const ScopeRef& ScopeRef::as_not_safely() const {
    core().touch_settings(TouchMode::write);
    core().safe_ = false;
    return *this;
}

const ScopeRef& ScopeRef::allow_zombies() const {
    core().touch_settings(TouchMode::write);
    core().safe_ = true;
    return *this;
}

void ScopeRef::set_exception_handler(ScopeErrorHandler handler) const {
    refuse_main(core(), "set_exception_handler");
    core().touch_settings(TouchMode::write);
    core().error_handler_ = std::move(handler);
}

void ScopeRef::set_child_scope_exception_handler(ScopeErrorHandler handler) const {
    refuse_main(core(), "set_child_scope_exception_handler");
    core().touch_settings(TouchMode::write);
    core().child_handler_ = std::move(handler);
}

void ScopeRef::finally(UniqueFunction<void(ScopeRef)> handler) const {
    core().touch_settings(TouchMode::write);
    if (looked().is_terminated()) {
        handler(*this);
        return;
    }
    core().finally_handlers_.push_back(std::move(handler));
}

void ScopeRef::await_completion(EventSource& token, SourceLocation at) const {
    ScopeCore& scope = core();
    token.mark_used();
    scope.look();
    if (scope.is_terminated()) { return; }  // the runtime may be gone, too
    Scheduler& runtime = scope.scheduler();
    if (!runtime.in_coroutine()) { return; }
    if (scope.is_closed_flag() && scope.drained()) { return; }
    if (scope.is_cancelled()) {
        if (scope.completed()) { return; }
        (scope.reason_ ? scope.reason_ : ErrorValue::make<AsyncCancellation>("the scope was cancelled")).rethrow();
    }
    if (scope.contains(*runtime.current()->scope())) {
        throw AsyncError("await_completion: a coroutine cannot wait for its own scope or one above it");
    }
    if (scope.completed()) { return; }
    ScopeCore::Waiter waiter;
    scope.wait(waiter, live_token(&token), at);
}

void ScopeRef::await_after_cancellation(const AwaitErrorHandler& handler, EventSource* token, SourceLocation at) const {
    ScopeCore& scope = core();
    if (token != nullptr) { token->mark_used(); }
    scope.look();
    if (scope.is_terminated()) { return; }
    Scheduler& runtime = scope.scheduler();
    if (!runtime.in_coroutine()) { return; }
    if (scope.drained()) { return; }
    if (!scope.is_cancelled() && !scope.is_closed_flag()) {
        throw AsyncError("await_after_cancellation: the scope was neither cancelled nor disposed");
    }
    if (scope.contains(*runtime.current()->scope())) {
        throw AsyncError("await_after_cancellation: a coroutine cannot wait for its own scope or one above it");
    }
    ScopeCore::Waiter waiter;
    waiter.after_cancellation = true;
    waiter.handler = &handler;
    scope.wait(waiter, live_token(token), at);
}

Scope ScopeRef::inherit() const {
    if (looked().is_terminated()) { throw AsyncError("inherit: the parent scope is terminated"); }
    const Ref<ScopeCore> child = core().scheduler().make_scope(&core(), core().is_safe(), "scope");
    return Scope(*child);
}

// ── Scope ──

Scope::Scope(ScopeCore& core) : ScopeRef(&core) { ++core.handles_; }

Scope::Scope() : Scope(*current_runtime("Scope").scheduler().make_scope(nullptr, false, "scope")) {}

Scope Scope::inherited() {
    Scheduler& scheduler = current_runtime("Scope::inherited").scheduler();
    return ScopeRef(scheduler.current_scope()).inherit();
}

Scope& Scope::operator=(Scope&& other) noexcept {
    if (this != &other) {
        release();
        ScopeRef::operator=(std::move(other));
    }
    return *this;
}

void Scope::release() {
    if (!*this) { return; }
    ScopeRef held = std::exchange(static_cast<ScopeRef&>(*this), ScopeRef());
    held.core().drop_scope_handle();
}

}  // namespace heddle
