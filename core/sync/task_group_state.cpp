// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/task_group_state.hpp"

#include <algorithm>

#include "heddle/core/run/finally_run.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle {

using detail::WaitEntry;
using TaskPtr = std::shared_ptr<GroupTask>;

std::string to_string(const TaskKey& key) {
    const auto* number = std::get_if<std::int64_t>(&key);
    return number != nullptr ? std::to_string(*number) : std::get<std::string>(key);
}

/// Subscribed to a running task; hears of its end in the finalization of its coroutine.
class GroupState::TaskEnd final : public EventCallback {
public:
    TaskEnd(GroupState& group, TaskPtr task) : group_(&group), task_(std::move(task)) {}
    void call(EventSource& event, const Outcome& outcome) override {
        event.mark_error_handled();  // it is the group's from here on (13.3, step 1)
        const Ref<GroupState> group = std::exchange(group_, {});
        const TaskPtr task = std::exchange(task_, nullptr);  // it holds the coroutine, which holds this
        if (group) { group->ended(task, outcome.error); }
    }

private:
    void dispose() override { delete this; }
    Ref<GroupState> group_;
    TaskPtr task_;
};

namespace {

Scope make_scope(Scheduler& scheduler, const TaskGroupOptions& options) {
    const ScopeRef parent = options.scope ? options.scope : ScopeRef(scheduler.current_scope());
    if (!parent.core().is_open()) { throw AsyncError("task group: its scope is closed, cancelled or terminated"); }
    Scope scope = parent.inherit();
    if (!options.scope) { scope.as_not_safely(); }  // GRP-02
    return scope;
}

std::size_t limit_of(std::int64_t value, const char* what) {
    if (value < 0) { throw ValueError(std::string("task group: ") + what + " is negative"); }
    return static_cast<std::size_t>(value);
}

}  // namespace

GroupState::GroupState(Scheduler& scheduler, const TaskGroupOptions& options, bool consuming)
    : RuntimeObject(scheduler, options.name),
      owner_(options.scope ? &options.scope.core() : scheduler.current_scope()),
      scope_(make_scope(scheduler, options)),
      concurrency_(limit_of(options.concurrency, "the concurrency")),
      consuming_(consuming) {
    const bool by_default = options.queue_limit == TaskGroupOptions::default_limit;
    queue_limit_ = by_default ? concurrency_ * 2 : limit_of(options.queue_limit, "the queue limit");
    scope_.core().bind(*this);  // GRP-27
}

GroupState::~GroupState() {
    HEDDLE_ASSERT(waits_.empty() && spawners_.empty() && iterators_.empty() && completions_.empty(), "INV-ALL-08");
    scope_.core().unbind(*this);
}

void GroupState::touch() const { scheduler().touch(object_label(), "tasks", TouchMode::write); }

// ── adding (13.2) ──

TaskKey GroupState::spawn(const TaskKey* given, std::string_view name, GroupTask::Make make, SourceLocation at) {
    const Ref<GroupState> alive(this);
    CoroutineCore& self = scheduler().require_current("spawn");
    touch();
    if (closed_) { throw AsyncError("task group: spawn on a closed group"); }
    const TaskKey key = given != nullptr ? *given : TaskKey(next_key_);
    if (const auto known = keys_.find(key); known != keys_.end()) { throw AsyncError("task group: the key is present: " + to_string(key)); }
    keys_.emplace(key, std::weak_ptr<GroupTask>());  // GRP-06: taken at the call
    if (const auto* number = std::get_if<std::int64_t>(&key); number != nullptr) { next_key_ = std::max(next_key_, *number + 1); }
    struct GiveBack {
        GroupState& group;
        const TaskKey& key;
        bool accepted = false;
        ~GiveBack() {
            if (!accepted) { group.keys_.erase(key); }
        }
    } give_back{*this, key};
    bool granted = false;
    if (granted_ > 0 || detail::living_count(spawners_) > 0 || (!has_slot() && !has_room())) {
        static_cast<void>(scheduler().require_suspendable("spawn"));
        WaitEntry entry(*this, self, "spawn");
        spawners_.push_back(entry);
        try {
            entry.park(nullptr, at);
        } catch (...) {
            if (entry.is_granted()) {
                entry.note(EventKind::handed_on);
                if (!closed_) {
                    --granted_;
                    grant_places();
                }
            } else {
                entry.note(EventKind::wait_left);
                if (entry.ListHook<WaitEntry>::is_linked()) { spawners_.remove(entry); }
            }
            throw;
        }
        touch();
        if (closed_) {  // GRP-11: the grant was voided
            entry.note(EventKind::handed_on);
            throw AsyncError("task group: it was closed meanwhile");
        }
        entry.note(EventKind::grant_spent);
        --granted_;
        granted = true;
    }
    const bool starts = has_slot();
    accept(key, name, std::move(make), at, starts);
    give_back.accepted = true;
    if (granted) { grant_places(); }  // started at once, it leaves its place to the next
    return key;
}

void GroupState::accept(const TaskKey& key, std::string_view name, GroupTask::Make make, SourceLocation at, bool starts) {
    auto task = std::make_shared<GroupTask>();
    task->key = key;
    task->make = std::move(make);
    task->at = at;
    task->name = name;
    if (starts && !start(task)) { task->error.rethrow(); }
    task->order = ++last_order_;
    tasks_.emplace(task->order, task);
    keys_[key] = task;
    if (!starts) {
        ++queued_;
        queue_.push_back(task);
    }
}

/// Makes the coroutine. False, with the error in the task, if that fails (GRP-29).
bool GroupState::start(const TaskPtr& task) {
    try {
        CoroutineCore* const made = task->make();
        task->coroutine = Ref<CoroutineCore>(made);
        task->make = {};
        auto* end = new TaskEnd(*this, task);
        made->subscribe(*end);
        SpawnOptions options;
        options.name = Name::of(task->name);
        options.scope = ScopeRef(scope_);
        scheduler().spawn(*made, options, task->at, true);
    } catch (...) {
        task->error = ErrorValue(std::current_exception());
        task->coroutine.reset();
        return false;
    }
    task->state = TaskState::running;
    ++running_;
    return true;
}

// ── the end of a task (13.3) ──

void GroupState::settle(GroupTask& task, const ErrorValue& error) {
    task.state = error ? TaskState::failed : TaskState::succeeded;
    task.error = error;
    task.completed = ++last_completion_;
}

void GroupState::ended(const TaskPtr& task, const ErrorValue& error) {
    const Ref<GroupState> alive(this);
    touch();
    HEDDLE_ASSERT(task->state == TaskState::running && running_ > 0, "INV-GRP-04");
    --running_;
    settle(*task, error);
    by_completion_.emplace(task->completed, task);
    start_queued();
    after_change();
}

void GroupState::start_queued() {
    while (!queue_.empty() && has_slot()) {
        const TaskPtr next = queue_.front();
        queue_.pop_front();
        --queued_;
        if (!start(next)) {
            settle(*next, next->error);
            by_completion_.emplace(next->completed, next);
        }
    }
    grant_places();  // GRP-10
}

void GroupState::fail_queued(const ErrorValue& reason) {
    while (!queue_.empty()) {
        const TaskPtr task = queue_.front();
        queue_.pop_front();
        --queued_;
        task->make = {};
        settle(*task, reason);
        task->handled = true;
        by_completion_.emplace(task->completed, task);
    }
}

/// Places in the queue that are free are promised to parked callers, oldest first. With a free slot nothing is queued (GS1).
void GroupState::grant_places() {
    while (!closed_ && has_room()) {
        WaitEntry* const next = oldest_living(spawners_, [](const WaitEntry&) {});
        if (next == nullptr) { return; }
        spawners_.remove(*next);
        ++granted_;
        next->grant();
    }
}

void GroupState::wake_spawners() {
    granted_ = 0;  // voided (GRP-11)
    while (WaitEntry* next = spawners_.front()) {
        spawners_.remove(*next);
        next->fail(ErrorValue::make<AsyncError>("task group: it was closed meanwhile"));
    }
}

void GroupState::after_change() {
    for (auto at = by_completion_.upper_bound(looked_at_); !consuming_ && at != by_completion_.end(); ++at) {
        looked_at_ = at->first;
        if (!first_) { first_ = at->second; }
        if (!first_success_ && at->second->state == TaskState::succeeded) { first_success_ = at->second; }
    }
    resolve_waits();
    wake(iterators_);
    if (is_finished()) { wake(completions_); }
    if (is_terminal() && !terminal_seen_) { became_terminal(); }
}

void GroupState::wake(detail::WaitList& list) {
    while (WaitEntry* next = oldest_living(list, [](const WaitEntry&) {})) {
        list.remove(*next);
        next->grant();
    }
}

// ── closing (13.5) ──

void GroupState::close() {
    touch();
    if (closed_) { return; }
    const Ref<GroupState> alive(this);
    closed_ = true;
    wake_spawners();
    after_change();
}

void GroupState::cancel(const ErrorValue& given) {
    if (given && !given.is_cancellation()) { throw ValueError("task group: the reason is not a cancellation"); }
    touch();
    if (cancelled_) { return; }  // GRP-22
    const Ref<GroupState> alive(this);
    cancelled_ = true;
    const ErrorValue reason = given ? given : ErrorValue::make<AsyncCancellation>("the task group was cancelled");
    closed_ = true;
    mark_handled();
    fail_queued(reason);
    wake_spawners();
    std::vector<Ref<CoroutineCore>> running;
    for (const auto& [order, task] : tasks_) {
        if (task->state == TaskState::running) { running.push_back(task->coroutine); }
    }
    for (const Ref<CoroutineCore>& one : running) { scheduler().cancel(*one, CancelKind::forced, reason); }  // GRP-23
    after_change();
}

void GroupState::dispose() {
    const Ref<GroupState> alive(this);
    cancel({});
    if (!scope_.core().is_terminated()) { scope_.dispose(); }  // GRP-25
}

void GroupState::scope_requested(ScopeCore&) {
    touch();
    const Ref<GroupState> alive(this);
    closed_ = true;
    fail_queued(ErrorValue::make<AsyncCancellation>("the scope of the task group has ended"));
    wake_spawners();
    after_change();
}

[[gnu::noinline]] void GroupState::destroy() { delete this; }  // out of sight: GCC 12 takes each later reference for a use of it

void GroupState::drop_handle() {
    HEDDLE_ASSERT(handles_ > 0, "CV-16");
    const Ref<GroupState> alive(this);
    if (--handles_ == 0) {
        abandoned_ = true;
        if (is_terminal()) {
            report_unhandled();
        } else {
            dispose();  // GRP-26: its state lives on until the last task has settled
        }
    }
    drop_reference();
}

void GroupState::became_terminal() {
    terminal_seen_ = true;
    if (!finally_.empty()) {
        std::vector<UniqueFunction<void()>> callbacks = std::move(finally_);
        finally_.clear();
        if (scheduler().state() == Scheduler::State::active) {
            std::vector<FinallyRun::Job> jobs;
            jobs.reserve(callbacks.size());
            for (auto& callback : callbacks) { jobs.emplace_back(std::move(callback)); }
            ScopeCore& home = owner_->is_terminated() ? *scheduler().main_scope() : *owner_;
            FinallyRun::start(scheduler(), home, nullptr, std::move(jobs));  // GRP-24
        } else {
            for (auto& callback : callbacks) { cleanup_in_place(callback); }
        }
    }
    if (abandoned_) { report_unhandled(); }
}

void GroupState::cleanup_in_place(UniqueFunction<void()>& callback) {
    try {
        const Scheduler::NoSuspend region(scheduler());
        callback();
    } catch (...) {
        scheduler().report({"a finally callback of a task group failed", ErrorValue(std::current_exception())});
    }
}

void GroupState::add_finally(UniqueFunction<void()> callback) {
    touch();
    if (is_terminal()) {
        callback();
        return;
    }
    finally_.push_back(std::move(callback));
}

void GroupState::report_unhandled() {
    std::vector<ErrorValue> errors = unhandled();
    if (errors.empty()) { return; }
    mark_handled();
    scheduler().report_for_scope(owner_->is_terminated() && scheduler().main_scope() != nullptr ? *scheduler().main_scope() : *owner_,
                                 ErrorValue(std::make_exception_ptr(CompositeError(std::move(errors)))));
}

std::vector<ErrorValue> GroupState::unhandled() const {
    std::vector<ErrorValue> errors;
    for (const auto& [order, task] : tasks_) {
        if (task->state == TaskState::failed && !task->handled && !task->error.is_cancellation()) { errors.push_back(task->error); }
    }
    return errors;
}

void GroupState::mark_handled() {
    for (const auto& [order, task] : tasks_) { task->handled = task->handled || task->state == TaskState::failed; }
}

// ── waiting (13.4, 13.6) ──

TaskPtr GroupState::first_settled(bool success_only) const {
    if (!consuming_) { return success_only ? first_success_ : first_; }
    for (const auto& [number, task] : by_completion_) {
        if (!success_only || task->state == TaskState::succeeded) { return task; }
    }
    return nullptr;
}

ErrorValue GroupState::composite() const {
    std::vector<ErrorValue> errors;
    for (const auto& [order, task] : tasks_) {
        if (task->state == TaskState::failed) { errors.push_back(task->error); }
    }
    return ErrorValue(std::make_exception_ptr(CompositeError(std::move(errors))));
}

std::vector<TaskPtr> GroupState::settled_in_spawn_order() const {
    std::vector<TaskPtr> settled;
    for (const auto& [order, task] : tasks_) {
        if (task->is_settled()) { settled.push_back(task); }
    }
    return settled;
}

/// The key stays taken until its result was obtained (SET-09).
void GroupState::take_out(const TaskPtr& task) {
    tasks_.erase(task->order);
    by_completion_.erase(task->completed);
}

void GroupState::release_key(const GroupTask& task) {
    if (const auto key = keys_.find(task.key); key != keys_.end() && key->second.lock().get() == &task) { keys_.erase(key); }
}

void GroupState::deliver(const TaskPtr& task) {
    touch();
    task->handled = true;
    if (!consuming_) { return; }
    take_out(task);
    release_key(*task);
}

bool GroupState::try_resolve(GroupWait& wait) {
    const bool finished = is_finished();
    const bool one = wait.kind == GroupWaitKind::race || wait.kind == GroupWaitKind::join_next;
    const bool success = wait.kind == GroupWaitKind::any || wait.kind == GroupWaitKind::join_any;
    if (one || success) {
        if (const TaskPtr task = first_settled(success); task != nullptr) {
            waits_.remove(wait);
            if (consuming_) { take_out(task); }
            wait.resolve({task});
            return true;
        }
        const bool hopeless = consuming_ ? is_terminal() : finished;
        if (!hopeless || (one && !consuming_)) { return false; }
        waits_.remove(wait);
        wait.reject(success ? composite() : ErrorValue::make<AsyncError>("task set: it has ended, and nothing is left to deliver"), {});
        return true;
    }
    if (!finished) { return false; }
    waits_.remove(wait);
    std::vector<TaskPtr> settled = settled_in_spawn_order();
    const bool failed = std::ranges::any_of(settled, [](const TaskPtr& task) { return task->state == TaskState::failed; });
    const ErrorValue error = failed && !wait.ignores_errors ? composite() : ErrorValue();
    if (wait.kind == GroupWaitKind::join_all) {
        for (const TaskPtr& task : settled) { take_out(task); }  // SET-07
    }
    if (error) {
        wait.reject(error, std::move(settled));
    } else {
        wait.resolve(std::move(settled));
    }
    return true;
}

/// Pending futures in the order of their creation (GRP-17, SET-04).
void GroupState::resolve_waits() {
    for (GroupWait* wait = waits_.front(); wait != nullptr;) {
        GroupWait* const next = waits_.next(*wait);
        if (try_resolve(*wait)) { wait->let_go(); }
        wait = next;
    }
}

void GroupState::add_wait(GroupWait& wait) {
    touch();
    const bool needs_tasks = wait.kind != GroupWaitKind::all && wait.kind != GroupWaitKind::join_all;
    if (needs_tasks && tasks_.empty()) { throw AsyncError("task group: there is no task to wait for"); }
    wait.hold();
    waits_.push_back(wait);
    if (try_resolve(wait)) { wait.let_go(); }
}

void GroupState::drop_wait(GroupWait& wait) {
    if (!wait.is_linked()) { return; }
    touch();
    waits_.remove(wait);
    wait.let_go();
}

bool GroupState::has_pending_race() const {
    for (const GroupWait* wait = waits_.front(); wait != nullptr; wait = waits_.next(*wait)) {
        if (wait->kind == GroupWaitKind::race) { return true; }
    }
    return false;
}

void GroupState::put_back(std::vector<TaskPtr> tasks) {
    const Ref<GroupState> alive(this);
    touch();
    for (TaskPtr& task : tasks) {
        task->handled = false;
        by_completion_.emplace(task->completed, task);
        tasks_.emplace(task->order, std::move(task));
    }
    after_change();
}

void GroupState::await_completion(EventSource* token, bool until_terminal, SourceLocation at) {
    const Ref<GroupState> alive(this);
    CoroutineCore& self = scheduler().require_suspendable("await_completion");
    EventSource* const ends_it = live_token(token);
    touch();
    if (!closed_ && !until_terminal) { throw AsyncError("task group: await_completion needs a closed group"); }
    while (!is_finished() || (until_terminal && !closed_)) {
        WaitEntry entry(*this, self, "completion");
        completions_.push_back(entry);
        try {
            entry.park(ends_it, at);
        } catch (...) {
            entry.note(entry.is_granted() ? EventKind::handed_on : EventKind::wait_left);
            if (entry.ListHook<WaitEntry>::is_linked()) { completions_.remove(entry); }
            throw;
        }
        entry.note(EventKind::grant_spent);
        touch();
    }
}

TaskPtr GroupState::next_settled(std::uint64_t after, SourceLocation at) {
    const Ref<GroupState> alive(this);
    CoroutineCore& self = scheduler().require_current("iterate a group");
    while (true) {
        touch();
        if (const auto next = by_completion_.upper_bound(after); next != by_completion_.end()) {
            const TaskPtr task = next->second;
            deliver(task);
            return task;
        }
        if (is_terminal()) { return nullptr; }
        static_cast<void>(scheduler().require_suspendable("iterate a group"));
        WaitEntry entry(*this, self, "next");
        iterators_.push_back(entry);
        try {
            entry.park(nullptr, at);
        } catch (...) {
            entry.note(entry.is_granted() ? EventKind::handed_on : EventKind::wait_left);
            if (entry.ListHook<WaitEntry>::is_linked()) { iterators_.remove(entry); }
            throw;
        }
        entry.note(EventKind::grant_spent);
    }
}

}  // namespace heddle
