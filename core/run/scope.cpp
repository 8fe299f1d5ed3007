// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/scope.hpp"

#include <algorithm>
#include <utility>

#include "heddle/core/run/finally_run.hpp"
#include "heddle/core/run/reactor_event.hpp"
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

/// What a handler threw in place of `error`, which becomes its history. The same error thrown again keeps the history it had (SCH-89).
ErrorValue replaced_by_current(const ErrorValue& error) {
    const ErrorValue thrown(std::current_exception());
    return thrown.same_error(error) ? error : thrown.with_previous(error);
}

}  // namespace

// ── structure ──

ScopeCore::ScopeCore(Scheduler& scheduler, ScopeCore* parent, bool safe, std::string_view name)
    : EventSource(scheduler), id_{++scheduler.last_scope_id_}, label_(scheduler.object_label(name)), parent_(parent), safe_(safe) {
    if (parent_ != nullptr) {
        parent_->children_.push_back(*this);
        scheduler.touch(parent_->label_, "children", TouchMode::add);
        scheduler.touch(parent_->label_, "order", TouchMode::write);
        scheduler.touch(parent_->label_, "settings", TouchMode::read);
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

/// The subtree of this scope, parents before children, in creation order; null behind the last one.
const ScopeCore* ScopeCore::next_in_tree(const ScopeCore& at) const {
    if (const ScopeCore* child = at.children_.front(); child != nullptr) { return child; }
    for (const ScopeCore* up = &at; up != this; up = up->parent_) {
        if (const ScopeCore* sibling = up->parent_->children_.next(*up); sibling != nullptr) { return sibling; }
    }
    return nullptr;
}

bool ScopeCore::completed() const {
    for (const ScopeCore* at = this; at != nullptr; at = next_in_tree(*at)) {
        if (at->active_ > 0) { return false; }
    }
    return true;
}

bool ScopeCore::drained() const {
    for (const ScopeCore* at = this; at != nullptr; at = next_in_tree(*at)) {
        if (at->active_ + at->zombies_ > 0) { return false; }
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

/// A count of this scope has changed, and with it what is true of all above it: that they are completed, or drained. Changes commute,
/// and so does what the last of them brings about: whoever waits for it comes behind all of them, each of which gives its part.
void ScopeCore::touch_live(bool waits_count_it) const {
    if (!scheduler().observed()) { return; }
    for (const ScopeCore* at = this; at != nullptr; at = at->parent_) {
        scheduler().touch(at->label_, "live", TouchMode::add);
        for (const Waiter* waiter = waits_count_it ? at->waiters_.front() : nullptr; waiter != nullptr; waiter = at->waiters_.next(*waiter)) {
            scheduler().touch(waiter->coroutine->label(), "wait", TouchMode::add);
            scheduler().touch(waiter->coroutine->label(), "wait", TouchMode::give);
        }
    }
}

void ScopeCore::look() const {
    if (ambient_scheduler() != &scheduler()) { return; }  // a terminated one may outlive its runtime
    scheduler().touch(label_, "flag", TouchMode::read);
    scheduler().touch(label_, "live", TouchMode::read);
}

void ScopeCore::look_at_children() const {
    if (ambient_scheduler() != &scheduler()) { return; }
    scheduler().touch(label_, "children", TouchMode::read);
    scheduler().touch(label_, "order", TouchMode::read);
}

void ScopeCore::touch_settings(TouchMode mode) const {
    if (ambient_scheduler() == &scheduler()) { scheduler().touch(label_, "settings", mode); }
}

void ScopeCore::bind(ScopeResource& resource) {
    touch_settings(TouchMode::write);
    resources_.push_back(&resource);
}

void ScopeCore::unbind(ScopeResource& resource) {
    touch_settings(TouchMode::write);
    std::erase(resources_, &resource);
}

void ScopeCore::add_member(CoroutineCore& coroutine, bool as_zombie) {
    coroutine.scope_ = this;
    coroutine.zombie_ = as_zombie;
    members_.push_back(coroutine);
    ++(as_zombie ? zombies_ : active_);
    touch_live();
}

void ScopeCore::remove_member(CoroutineCore& coroutine) {
    members_.remove(coroutine);
    std::size_t& count = coroutine.zombie_ ? zombies_ : active_;
    HEDDLE_ASSERT(count > 0, "INV-SCOPE-01");
    --count;
    touch_live();
}

void ScopeCore::count_zombie() {
    HEDDLE_ASSERT(active_ > 0, "INV-ZOM-02");
    --active_;
    ++zombies_;
    touch_live();
}

// ── requests (SCP-15, SCP-16) ──

void ScopeCore::request(Request request, CancelKind kind, const ErrorValue& reason) {
    if (terminated_) {
        look();
        return;
    }
    const Ref<ScopeCore> alive(this);
    cascade(request, kind, reason ? reason : ErrorValue::make<AsyncCancellation>("the scope was cancelled"), nullptr);
    evaluate();  // SCP-18
}

void ScopeCore::cascade(Request request, CancelKind kind, const ErrorValue& reason, CoroutineCore* skipped) {
    struct Level {
        Ref<ScopeCore> scope;
        std::vector<Ref<ScopeCore>> children{};
        std::size_t next = 0;
        bool alone = true;  // no child is left
    };
    std::vector<Level> levels;
    const auto enter = [&](ScopeCore& scope) {
        Level level{Ref<ScopeCore>(&scope)};
        scope.begin_request(request, kind, reason);
        for (ScopeCore* child = scope.children_.front(); child != nullptr; child = scope.children_.next(*child)) {
            level.children.emplace_back(child);
        }
        levels.push_back(std::move(level));
    };
    enter(*this);
    while (!levels.empty()) {
        Level& level = levels.back();
        if (level.next < level.children.size()) {  // 3: children, in creation order
            ScopeCore& child = *level.children[level.next++];
            if (!child.terminated_) { enter(child); }
            continue;
        }
        ScopeCore& scope = *level.scope;
        scope.request_members(kind, reason, skipped);
        scope.notify_waiters(News::request);
        if (levels.size() > 1) {
            // SCP-18: a drained one ends at once, whatever keeps its parent. Known from below, so that a deep tree is walked once.
            if (level.alone && scope.active_ + scope.zombies_ == 0) { scope.evaluate_alone(); }
            if (!scope.terminated_) { levels[levels.size() - 2].alone = false; }
        }
        levels.pop_back();
    }
}

/// Steps 1 and 2 of SCP-16: flags, then bound resources in binding order.
void ScopeCore::begin_request(Request request, CancelKind kind, const ErrorValue& reason) {
    scheduler().note(EventKind::scope_requested, {}, label_, static_cast<std::int64_t>(kind), static_cast<std::int64_t>(request));
    scheduler().touch(label_, "flag", TouchMode::write);
    scheduler().touch(label_, "live", TouchMode::read);  // its members
    scheduler().touch(label_, "settings", TouchMode::read);
    scheduler().touch(label_, "children", TouchMode::read);
    cancelled_ = true;
    if (!reason_) { reason_ = reason; }
    if (request == Request::dispose) { set_closed_flag(); }
    if (resources_.empty()) { return; }
    const Scheduler::NoSuspend region(scheduler());
    ErrorValue thrown;
    const std::vector<ScopeResource*> resources = resources_;
    for (ScopeResource* resource : resources) {
        if (std::ranges::find(resources_, resource) == resources_.end()) { continue; }  // unbound by one before it
        try {
            resource->scope_requested(*this);
        } catch (const Cancellation&) {
            // No error (CAN-16).
        } catch (...) {
            thrown = ErrorValue(std::current_exception()).with_previous(thrown);
        }
    }
    if (thrown) { scheduler().record_unhandled(thrown); }
}

/// Step 4: own members, in creation order.
void ScopeCore::request_members(CancelKind kind, const ErrorValue& reason, CoroutineCore* skipped) {
    std::vector<Ref<CoroutineCore>> members;
    members.reserve(members_.size());
    for (CoroutineCore* member = members_.front(); member != nullptr; member = members_.next(*member)) { members.emplace_back(member); }
    for (const Ref<CoroutineCore>& member : members) {
        if (member.get() != skipped && !member->finished_) { scheduler().cancel(*member, kind, reason); }
    }
}

void ScopeCore::set_closed_flag() {
    if (closed_flag_) { return; }
    closed_flag_ = true;
    scheduler().note(EventKind::scope_closed, {}, label_);
}

// ── waiters and termination (SCP-20, SCP-23, SCP-28) ──

std::size_t ScopeCore::waiter_count(bool after_cancellation) const {
    std::size_t count = 0;
    for (const Waiter* waiter = waiters_.front(); waiter != nullptr; waiter = waiters_.next(*waiter)) {
        count += waiter->after_cancellation == after_cancellation ? 1 : 0;
    }
    return count;
}

void ScopeCore::wake_waiter(Waiter& waiter, const ErrorValue& error) {
    waiters_.remove(waiter);
    scheduler().note(EventKind::scope_woken, waiter.coroutine->label(), label_, !error ? 0 : error.is_cancellation() ? 2 : 1,
                     waiter.after_cancellation ? 1 : 0);
    if (error) {
        waiter.event->fail(error);
    } else {
        waiter.event->complete();
    }
}

void ScopeCore::notify_waiters(News news) {
    if (holds_waiters_) { return; }
    if (offering_) {
        news_came_ = true;
        return;
    }
    for (Waiter* waiter = waiters_.front(); waiter != nullptr;) {
        Waiter* next = waiters_.next(*waiter);
        if (waiter->after_cancellation) {
            if (terminated_ || drained()) { wake_waiter(*waiter, {}); }
        } else if (terminated_ || completed()) {
            wake_waiter(*waiter, {});
        } else if (cancelled_ && news == News::request) {
            wake_waiter(*waiter, reason_ ? reason_ : ErrorValue::make<AsyncCancellation>("the scope was cancelled"));
        }
        waiter = next;
    }
    if (subscriber_count() > 0 && !is_closed() && drained()) { notify({}); }
}

bool ScopeCore::can_terminate() const {
    if (main_ || private_ || terminated_) { return false; }
    for (const ScopeCore* at = this; at != nullptr; at = next_in_tree(*at)) {
        if (at->active_ + at->zombies_ > 0 || !(at->cancelled_ || at->closed_flag_ || at->handles_ == 0)) { return false; }
    }
    return true;
}

void ScopeCore::try_terminate() {
    if (cancelled_ && !closed_flag_ && drained()) { set_closed_flag(); }  // SCP-7, also while an open child keeps it
    if (!can_terminate()) { return; }
    // Children first, without recursion: down to a scope that has none, and up again when it is gone.
    for (Ref<ScopeCore> at(this); at;) {
        at->set_closed_flag();
        if (ScopeCore* child = at->children_.front(); child != nullptr) {
            at = Ref<ScopeCore>(child);
            continue;
        }
        Ref<ScopeCore> up(at.get() == this ? nullptr : at->parent_);
        if (!at->terminate_alone()) { return; }  // its finally handlers run first; they come back here when they are done
        at = std::move(up);
    }
}

bool ScopeCore::terminate_alone() {
    if (terminated_ || terminating_) { return false; }
    const Ref<ScopeCore> alive(this);
    terminating_ = true;
    notify_waiters(News::counters);
    terminating_ = false;
    if (!members_.empty() || !children_.empty()) { return false; }  // somebody who was told made a child of it
    touch_settings(TouchMode::read);
    if (!finally_handlers_.empty()) {
        std::vector<UniqueFunction<void(ScopeRef)>> handlers = std::exchange(finally_handlers_, {});
        if (scheduler().state() != Scheduler::State::active || scheduler().loop_ended_ || scheduler().unwinding_rest_) {
            scheduler().never_executed_ += handlers.size();  // SCP-29
        } else {
            std::vector<FinallyRun::Job> jobs;
            jobs.reserve(handlers.size());
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
    touch_live(false);
    if (parent_ != nullptr) { scheduler().touch(parent_->label_, "children", TouchMode::add); }
    scheduler().note(EventKind::scope_terminated, {}, label_);
    disarm_disposal();
    notify_waiters(News::counters);
    if (subscriber_count() > 0) {
        notify_and_close({});
    } else {
        set_closed();
    }
    // Last, because they may hold what a destructor of the program's lives in: handles of other scopes, for example.
    const ScopeErrorHandler error_handler = std::exchange(error_handler_, {});
    const ScopeErrorHandler child_handler = std::exchange(child_handler_, {});
    if (parent_ != nullptr) {
        std::exchange(parent_, nullptr)->children_.remove(*this);
    } else {
        std::erase(scheduler().root_scopes_, this);
    }
    drop_reference();  // the structure's own
}

void ScopeCore::evaluate() {
    Ref<ScopeCore> at(this);
    while (at) {
        const Ref<ScopeCore> parent(at->parent_);
        if (!at->evaluate_alone()) { return; }
        at = parent;
    }
}

/// False if an evaluation of it is in progress: that one runs once more, and goes on upwards.
bool ScopeCore::evaluate_alone() {
    if (evaluating_) {  // EVT-7: a nested evaluation runs after the current one
        evaluate_again_ = true;
        return false;
    }
    // Here it shows who of them is the last: its handlers are named after it, and subscribers are told by it.
    if (subscriber_count() > 0 || !finally_handlers_.empty()) { scheduler().touch(label_, "live", TouchMode::write); }
    if (waiters_.empty() && !cancelled_ && (main_ || active_ + zombies_ > 0)) { return true; }  // nobody to tell, nothing to end
    const Ref<ScopeCore> alive(this);
    evaluating_ = true;
    do {
        evaluate_again_ = false;
        notify_waiters(News::counters);
        try_terminate();
    } while (evaluate_again_ && !terminated_);
    evaluating_ = false;
    return true;
}

void ScopeCore::end_all(Scheduler& scheduler) {
    std::vector<Ref<ScopeCore>> scopes;
    for (ScopeCore* root : scheduler.root_scopes_) {
        for (const ScopeCore* at = root; at != nullptr; at = root->next_in_tree(*at)) { scopes.emplace_back(const_cast<ScopeCore*>(at)); }
    }
    for (auto at = scopes.rbegin(); at != scopes.rend(); ++at) {
        ScopeCore& scope = **at;
        if (scope.main_ || scope.private_) { continue; }
        scheduler.never_executed_ += scope.finally_handlers_.size();  // SCP-29
        scope.finally_handlers_.clear();
        if (!scope.terminated_) { scope.finish_termination(); }
    }
}

void ScopeCore::drop_scope_handle() {
    HEDDLE_ASSERT(handles_ > 0, "a scope handle is released once");
    const Ref<ScopeCore> alive(this);
    --handles_;
    look();
    if (terminated_ || handles_ > 0) { return; }
    scheduler().touch(label_, "flag", TouchMode::write);
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
        error = replaced_by_current(error);
        return false;
    }
}

bool ScopeCore::offer_to_waiters(const ErrorValue& error) {
    bool taken = false;
    offering_ = true;
    for (Waiter* waiter = waiters_.front(); waiter != nullptr;) {
        Waiter* next = waiters_.next(*waiter);  // it stays: nobody leaves the list while handlers run, they only queue
        if (waiter->coroutine->waker().status() == WakerStatus::waiting) {
            taken = true;
            if (waiter->handler == nullptr || !*waiter->handler) {
                wake_waiter(*waiter, error);
            } else {
                try {
                    const Scheduler::NoSuspend region(scheduler());
                    (*waiter->handler)(error, ScopeRef(this));
                } catch (const Cancellation&) {
                    wake_waiter(*waiter, error);  // ERR-4
                } catch (...) {
                    wake_waiter(*waiter, replaced_by_current(error));
                }
            }
        }
        waiter = next;
    }
    offering_ = false;
    if (std::exchange(news_came_, false)) { notify_waiters(News::request); }
    return taken;
}

bool ScopeCore::propagate(ErrorValue& error, CoroutineCore* coroutine) {
    bool below = false;
    for (Ref<ScopeCore> at(this); at; below = true) {
        if (at->main_) { return false; }
        at->touch_settings(TouchMode::read);
        if (below && at->child_handler_ && at->call_handler(at->child_handler_, coroutine, error)) { return true; }
        if (at->error_handler_ && at->call_handler(at->error_handler_, coroutine, error)) { return true; }
        const CancelKind kind = at->safe_ ? CancelKind::safe_cancel : CancelKind::forced;
        at->holds_waiters_ = true;
        at->cascade(Request::error, kind, ErrorValue::make<AsyncCancellation>("a sibling failed"), coroutine);
        at->holds_waiters_ = false;
        if (at->offer_to_waiters(error)) { return true; }
        at->notify_waiters(News::request);
        at = Ref<ScopeCore>(at->parent_);
    }
    return false;
}

/// Throws the error that it was made for (ERR-11). If it never runs - doomed by a request, or unwound - the error is not lost with it.
class Scheduler::ErrorCoroutine final : public detail::CoroutineOf<void> {
public:
    ErrorCoroutine(Scheduler& scheduler, ErrorValue error) : CoroutineOf(scheduler), carried_(std::move(error)) {}

private:
    void run_entry() override {
        extras().last_delivered = carried_;  // F4 gives the error its history back (SCH-89)
        std::exchange(carried_, {}).rethrow();
    }
    void drop_entry() noexcept override {
        if (carried_) { scheduler().record_unhandled(std::exchange(carried_, {})); }
    }

    ErrorValue carried_;
};

void Scheduler::report_for_scope(ScopeCore& scope, ErrorValue error) {
    if (!error || error.is_cancellation()) { return; }
    if (state_ != State::active || scope.is_terminated()) {
        record_unhandled(std::move(error));
        return;
    }
    Ref<ScopeCore> target(&scope);
    if (!scope.is_open()) { target = make_scope(&scope, scope.is_safe(), "error"); }
    spawn_internal(*new ErrorCoroutine(*this, std::move(error)), *target, Priority::high, "error", nullptr);
}

// ── timers ──

void ScopeCore::arm_disposal(Duration timeout) {
    if (terminated_ || closed_flag_) { return; }
    disarm_disposal();
    TimerOptions timer;
    timer.timeout = timeout;
    timer.refresh = true;  // INV-SCOPE-13: nobody is affected before it
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

void ScopeCore::wait(Waiter& waiter, EventSource* token, SourceLocation at) {
    Scheduler& runtime = scheduler();
    CoroutineCore& self = runtime.require_suspendable("await on a scope");
    waiter.coroutine = &self;
    look();
    waiter.event = OneShotEvent::make(runtime, "scope");
    waiter.event->let_ends_commute();
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

}  // namespace heddle
