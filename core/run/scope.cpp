// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/scope.hpp"

#include <algorithm>
#include <utility>

#include "heddle/core/run/finally_run.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle {
namespace {

/// Callback of dispose_after_timeout's timer.
class DisposalCallback final : public EventCallback {
public:
    explicit DisposalCallback(UniqueFunction<void()> body) : body_(std::move(body)) {}
    void call(EventSource&, const Outcome&) override { body_(); }

private:
    void dispose() override { delete this; }
    UniqueFunction<void()> body_;
};

}  // namespace

// ── structure ──

ScopeCore::ScopeCore(Scheduler& scheduler, ScopeCore* parent, bool safe, std::string_view name)
    : EventSource(scheduler), id_{++scheduler.last_scope_id_}, label_(scheduler.object_label(name)), parent_(parent), safe_(safe) {
    if (parent_ != nullptr) {
        parent_->children_.push_back(*this);
    } else {
        scheduler.root_scopes_.push_back(this);
    }
    scheduler.note(EventKind::scope_opened, {}, label_, static_cast<std::int64_t>(id_.value));
}

ScopeCore::~ScopeCore() {
    HEDDLE_ASSERT(members_.empty() && children_.empty() && waiters_.empty(), "INV-SCOPE-03");
}

void ScopeCore::dispose() {
    drop_callbacks();
    delete this;
}

Ref<ScopeCore> Scheduler::make_scope(ScopeCore* parent, bool safe, std::string_view name) {
    auto* scope = new ScopeCore(*this, parent, safe, name);
    scope->add_reference();  // the structure's own, until it is terminated
    return Ref<ScopeCore>(scope);
}

bool ScopeCore::completed() const {
    if (active_ > 0) { return false; }
    for (const ScopeCore* child = children_.front(); child != nullptr; child = children_.next(*child)) {
        if (!child->completed()) { return false; }
    }
    return true;
}

bool ScopeCore::drained() const {
    if (active_ + zombies_ > 0) { return false; }
    for (const ScopeCore* child = children_.front(); child != nullptr; child = children_.next(*child)) {
        if (!child->drained()) { return false; }
    }
    return true;
}

bool ScopeCore::contains(const ScopeCore& descendant) const {
    for (const ScopeCore* at = &descendant; at != nullptr; at = at->parent_) {
        if (at == this) { return true; }
    }
    return false;
}

bool ScopeCore::replay(Outcome& outcome) const {
    if (!drained()) { return false; }
    outcome = {};
    return true;
}

std::string ScopeCore::describe() const {
    const LabelBook* book = scheduler().labels();
    return "scope " + (label_ && book != nullptr ? book->text(label_) : "#" + std::to_string(id_.value));
}

void ScopeCore::add_member(CoroutineCore& coroutine, bool as_zombie) {
    coroutine.scope_ = this;
    coroutine.zombie_ = as_zombie;
    members_.push_back(coroutine);
    ++(as_zombie ? zombies_ : active_);
    scheduler().touch(cell(label_, "live"), TouchMode::add);
}

void ScopeCore::remove_member(CoroutineCore& coroutine) {
    members_.remove(coroutine);
    std::size_t& count = coroutine.zombie_ ? zombies_ : active_;
    HEDDLE_ASSERT(count > 0, "INV-SCOPE-01");
    --count;
    scheduler().touch(cell(label_, "live"), TouchMode::add);
}

void ScopeCore::count_zombie() {
    HEDDLE_ASSERT(active_ > 0, "INV-ZOM-02");
    --active_;
    ++zombies_;
}

// ── requests (SCP-15, SCP-16) ──

void ScopeCore::request(Request request, CancelKind kind, const ErrorValue& reason) {
    if (terminated_) { return; }
    const Ref<ScopeCore> alive(this);
    const ErrorValue given = reason ? reason : ErrorValue::make<AsyncCancellation>("the scope was cancelled");
    cascade(request, kind, given, nullptr, true);
    if (drained()) { closed_flag_ = true; }  // SCP-18
    evaluate();
}

void ScopeCore::cascade(Request request, CancelKind kind, const ErrorValue& reason, CoroutineCore* skipped, bool tell_own_waiters) {
    if (terminated_) { return; }
    const Ref<ScopeCore> alive(this);
    scheduler().note(EventKind::scope_requested, {}, label_, static_cast<std::int64_t>(kind), static_cast<std::int64_t>(request));
    scheduler().touch(cell(label_, "flag"), TouchMode::write);
    // 1: flags
    cancelled_ = true;
    if (!reason_) { reason_ = reason; }
    if (request == Request::dispose && !closed_flag_) {
        closed_flag_ = true;
        scheduler().note(EventKind::scope_closed, {}, label_);
    }
    // 2: bound resources, in binding order
    const std::vector<ScopeResource*> resources = resources_;
    for (ScopeResource* resource : resources) {
        if (std::ranges::find(resources_, resource) != resources_.end()) { resource->scope_requested(*this); }
    }
    // 3: children, in creation order
    std::vector<Ref<ScopeCore>> children;
    for (ScopeCore* child = children_.front(); child != nullptr; child = children_.next(*child)) { children.emplace_back(child); }
    for (const Ref<ScopeCore>& child : children) { child->cascade(request, kind, reason, skipped, true); }
    // 4: members, in creation order
    std::vector<Ref<CoroutineCore>> members;
    members.reserve(members_.size());
    for (CoroutineCore* member = members_.front(); member != nullptr; member = members_.next(*member)) { members.emplace_back(member); }
    for (const Ref<CoroutineCore>& member : members) {
        if (member.get() != skipped && !member->finished_) { scheduler().cancel(*member, kind, reason); }
    }
    // 5: waiters
    if (tell_own_waiters) { notify_waiters(); }
}

// ── waiters and termination (SCP-20, SCP-23, SCP-28) ──

void ScopeCore::wake_waiter(Waiter& waiter, const ErrorValue& error) {
    waiters_.remove(waiter);
    scheduler().note(EventKind::scope_woken, waiter.coroutine->label(), label_, error ? 1 : 0);
    if (error) {
        waiter.event->fail(error);
    } else {
        waiter.event->complete();
    }
}

void ScopeCore::notify_waiters() {
    for (Waiter* waiter = waiters_.front(); waiter != nullptr;) {
        Waiter* next = waiters_.next(*waiter);
        if (waiter->after_cancellation) {
            if (terminated_ || drained()) { wake_waiter(*waiter, {}); }
        } else if (terminated_ || completed()) {
            wake_waiter(*waiter, {});
        } else if (cancelled_) {
            wake_waiter(*waiter, reason_ ? reason_ : ErrorValue::make<AsyncCancellation>("the scope was cancelled"));
        }
        waiter = next;
    }
}

bool ScopeCore::can_terminate() const {
    if (main_ || private_ || pins_ > 0 || terminated_) { return false; }
    if (!drained() || !(cancelled_ || closed_flag_ || handles_ == 0)) { return false; }
    for (const ScopeCore* child = children_.front(); child != nullptr; child = children_.next(*child)) {
        if (!child->can_terminate()) { return false; }
    }
    return true;
}

bool ScopeCore::try_terminate() {
    if (!can_terminate()) { return false; }
    const Ref<ScopeCore> alive(this);
    if (!closed_flag_) {
        closed_flag_ = true;
        scheduler().note(EventKind::scope_closed, {}, label_);
    }
    while (ScopeCore* child = children_.front()) {
        if (!child->try_terminate()) { return false; }  // its finally handlers run first; they come back here when they are done
    }
    notify_waiters();
    if (!finally_handlers_.empty()) {
        std::vector<UniqueFunction<void(ScopeRef)>> handlers = std::exchange(finally_handlers_, {});
        if (scheduler().state() != Scheduler::State::active || scheduler().loop_ended_) {
            scheduler().never_executed_ += handlers.size();  // SCP-29
        } else {
            std::vector<FinallyRun::Job> jobs;
            for (auto& handler : handlers) {
                jobs.emplace_back([handler = std::move(handler), scope = Ref<ScopeCore>(this)]() mutable {
                    handler(scope->has_handle() ? ScopeRef(scope.get()) : ScopeRef());
                });
            }
            FinallyRun::start(scheduler(), *this, nullptr, std::move(jobs));
            return false;
        }
    }
    finish_termination();
    return true;
}

void ScopeCore::finish_termination() {
    HEDDLE_ASSERT(members_.empty() && children_.empty(), "INV-SCOPE-03");
    terminated_ = true;
    scheduler().note(EventKind::scope_terminated, {}, label_);
    disarm_disposal();
    notify_waiters();
    error_handler_ = {};
    child_handler_ = {};
    if (parent_ != nullptr) {
        std::exchange(parent_, nullptr)->children_.remove(*this);
    } else {
        std::erase(scheduler().root_scopes_, this);
    }
    drop_reference();  // the structure's own
}

void ScopeCore::evaluate() {
    if (evaluating_) {  // EVT-7: a nested evaluation runs after the current one
        evaluate_again_ = true;
        return;
    }
    Ref<ScopeCore> at(this);
    while (at) {
        const Ref<ScopeCore> parent(at->parent_);
        at->evaluating_ = true;
        do {
            at->evaluate_again_ = false;
            at->notify_waiters();
            at->try_terminate();
        } while (at->evaluate_again_);
        at->evaluating_ = false;
        at = parent;
    }
}

void ScopeCore::drop_scope_handle() {
    HEDDLE_ASSERT(handles_ > 0, "a scope handle is released once");
    const Ref<ScopeCore> alive(this);
    --handles_;
    if (terminated_ || handles_ > 0) { return; }
    if (can_terminate()) {  // SCP-21
        evaluate();
        return;
    }
    request(Request::dispose, safe_ ? CancelKind::safe_dispose : CancelKind::forced,
            ErrorValue::make<AsyncCancellation>("the scope is being disposed"));
}

// ── errors (ERR-1) ──

bool ScopeCore::call_handler(const ScopeErrorHandler& handler, CoroutineCore* coroutine, ErrorValue& error) {
    const ScopeErrorHandler held = handler;  // it may replace itself
    try {
        const Scheduler::NoSuspend region(scheduler());
        held(ScopeRef(this), coroutine != nullptr ? CoroutineHandle(coroutine) : CoroutineHandle(), error);
        return true;
    } catch (const Cancellation&) {
        return false;  // ERR-4: as a cancellation E would vanish; the walk goes on with E
    } catch (...) {
        error = ErrorValue(std::current_exception()).with_previous(error);
        return false;
    }
}

bool ScopeCore::offer_to_waiters(const ErrorValue& error) {
    bool taken = false;
    for (Waiter* waiter = waiters_.front(); waiter != nullptr;) {
        Waiter* next = waiters_.next(*waiter);
        if (waiter->coroutine->waker().status() == WakerStatus::waiting) {
            if (waiter->after_cancellation && waiter->handler != nullptr && *waiter->handler) {
                try {
                    const Scheduler::NoSuspend region(scheduler());
                    (*waiter->handler)(error, ScopeRef(this));
                } catch (const Cancellation&) {
                    wake_waiter(*waiter, error);  // ERR-4
                } catch (...) {
                    wake_waiter(*waiter, ErrorValue(std::current_exception()).with_previous(error));
                }
            } else {
                wake_waiter(*waiter, error);
            }
            taken = true;
        }
        waiter = next;
    }
    return taken;
}

bool ScopeCore::propagate(ErrorValue& error, CoroutineCore* coroutine) {
    bool below = false;
    for (Ref<ScopeCore> at(this); at; below = true) {
        if (at->main_) { return false; }
        if (below && at->child_handler_ && at->call_handler(at->child_handler_, coroutine, error)) { return true; }
        if (at->error_handler_ && at->call_handler(at->error_handler_, coroutine, error)) { return true; }
        const CancelKind kind = at->safe_ ? CancelKind::safe_cancel : CancelKind::forced;
        at->cascade(Request::error, kind, ErrorValue::make<AsyncCancellation>("a sibling failed"), coroutine, false);
        if (at->offer_to_waiters(error)) { return true; }
        at->notify_waiters();
        at = Ref<ScopeCore>(at->parent_);
    }
    return false;
}

// ── timers ──

void ScopeCore::arm_disposal(Duration timeout) {
    if (terminated_ || closed_flag_) { return; }
    disarm_disposal();
    TimerOptions timer;
    timer.timeout = timeout;
    disposal_timer_ = ReactorEvent::timer(scheduler(), timer, false, "dispose_after_timeout");
    auto* callback = new DisposalCallback([this] {
        const Ref<ScopeCore> alive(this);
        disposal_timer_.reset();
        // SCP-19: forced even on a safe scope, from the callback itself: no helper coroutine that could be swept.
        request(Request::dispose, CancelKind::forced, ErrorValue::make<AsyncCancellation>("the scope's time has expired"));
    });
    disposal_timer_->subscribe(*callback);
    disposal_timer_->start();
}

void ScopeCore::disarm_disposal() {
    if (const Ref<ReactorEvent> timer = std::exchange(disposal_timer_, {}); timer) { timer->stop(); }
}

// ── waiting (SCP-25, SCP-26) ──

void ScopeCore::wait(Waiter& waiter, EventSource* token, const std::source_location& at) {
    Scheduler& runtime = scheduler();
    CoroutineCore& self = runtime.require_suspendable("await on a scope");
    waiter.coroutine = &self;
    waiter.event = OneShotEvent::make(runtime, "scope");
    struct Leave {
        ScopeCore& scope;
        Waiter& waiter;
        ~Leave() {
            if (waiter.is_linked()) { scope.waiters_.remove(waiter); }
        }
    } leave{*this, waiter};
    const Ref<ScopeCore> alive(this);
    self.waker().clean();
    waiters_.push_back(waiter);
    self.waker().resume_when(*waiter.event, WakeBy::resolve);
    if (token != nullptr) { self.waker().resume_when(*token, WakeBy::token); }
    try {
        runtime.suspend({"scope", at, label_});
    } catch (...) {
        self.waker().clean();
        throw;
    }
    self.waker().clean();
}

// ── ScopeRef ──

ScopeCore& ScopeRef::core() const {
    HEDDLE_ASSERT(core_, "a scope reference that names a scope");
    return *core_;
}

std::vector<ScopeRef> ScopeRef::child_scopes() const {
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
    refuse_main(core(), "as_not_safely");
    core().safe_ = false;
    return *this;
}

const ScopeRef& ScopeRef::allow_zombies() const {
    core().safe_ = true;
    return *this;
}

void ScopeRef::set_exception_handler(ScopeErrorHandler handler) const {
    refuse_main(core(), "set_exception_handler");
    core().error_handler_ = std::move(handler);
}

void ScopeRef::set_child_scope_exception_handler(ScopeErrorHandler handler) const {
    refuse_main(core(), "set_child_scope_exception_handler");
    core().child_handler_ = std::move(handler);
}

void ScopeRef::finally(UniqueFunction<void(ScopeRef)> handler) const {
    if (core().is_terminated()) {
        handler(*this);
        return;
    }
    core().finally_handlers_.push_back(std::move(handler));
}

void ScopeRef::await_completion(EventSource& token, std::source_location at) const {
    ScopeCore& scope = core();
    token.mark_used();
    Scheduler& runtime = scope.scheduler();
    if (!runtime.in_coroutine() || scope.is_terminated() || (scope.is_closed_flag() && scope.drained())) { return; }
    if (scope.is_cancelled()) {
        if (scope.completed()) { return; }
        (scope.reason_ ? scope.reason_ : ErrorValue::make<AsyncCancellation>("the scope was cancelled")).rethrow();
    }
    if (scope.contains(*runtime.current()->scope())) {
        throw AsyncError("await_completion: a coroutine cannot wait for its own scope or one above it");
    }
    if (scope.completed()) { return; }
    if (token.is_closed()) {
        Outcome outcome;
        static_cast<void>(token.replay(outcome));
        throw OperationCanceled("the token fired", outcome.error);
    }
    ScopeCore::Waiter waiter;
    scope.wait(waiter, &token, at);
}

void ScopeRef::await_after_cancellation(const AwaitErrorHandler& handler, EventSource* token, std::source_location at) const {
    ScopeCore& scope = core();
    Scheduler& runtime = scope.scheduler();
    if (!runtime.in_coroutine() || scope.is_terminated() || scope.drained()) { return; }
    if (!scope.is_cancelled() && !scope.is_closed_flag()) {
        throw AsyncError("await_after_cancellation: the scope was neither cancelled nor disposed");
    }
    if (scope.contains(*runtime.current()->scope())) {
        throw AsyncError("await_after_cancellation: a coroutine cannot wait for its own scope or one above it");
    }
    if (token != nullptr && token->is_closed()) {
        Outcome outcome;
        static_cast<void>(token->replay(outcome));
        throw OperationCanceled("the token fired", outcome.error);
    }
    ScopeCore::Waiter waiter;
    waiter.after_cancellation = true;
    waiter.handler = &handler;
    scope.wait(waiter, token, at);
}

Scope ScopeRef::inherit() const {
    if (core().is_terminated()) { throw AsyncError("inherit: the parent scope is terminated"); }
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
