// SPDX-License-Identifier: Apache-2.0
// TaskGroup, TaskSet and with_group: several tasks as one (docs/spec/13-task-group.md).
//
//   heddle::TaskGroup<int> group{{.concurrency = 2}};
//   for (int i = 0; i < 9; ++i) { group.spawn([i] { return fetch(i); }); }      // waits when slots and queue are full
//   for (auto& [key, value] : group.all().await()) { … }                        // or race(), any(), or one by one: for (auto& s : group)
//
//   heddle::with_group<int>({}, [](auto& group) { … });                         // structured: nothing of it is alive behind the call
//
// A group keeps what its tasks returned; reading a TaskSet takes it out. Dropping the last handle cancels what is left (GRP-26).
// Choice points: `dispatch`. Books and cells: task_group_state.hpp.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/run/unwind.hpp"
#include "heddle/core/sync/future.hpp"
#include "heddle/core/sync/task_group_state.hpp"

namespace heddle {

/// One settled task, as iteration yields it.
template <class T>
struct Settled {
    using Stored = typename detail::CoroutineOf<T>::Stored;
    TaskKey key;
    std::optional<Stored> value{};  ///< of a success
    ErrorValue error{};             ///< of a failure
};

namespace detail {

template <class T>
using StoredOf = typename CoroutineOf<T>::Stored;

template <class T>
[[nodiscard]] StoredOf<T> value_of(const GroupTask& task) {
    return *static_cast<const CoroutineOf<T>&>(*task.coroutine).result();
}

/// What the futures of a group have in common: they wait in it, never report (GRP-17), and give back what nobody obtained (SET-09).
template <class R>
class JoinFuture : public FutureCoreOf<R>, public GroupWait {
public:
    JoinFuture(GroupState& group, GroupWaitKind which, bool ignores, SourceLocation at)
        : FutureCoreOf<R>(group.scheduler(), "join", at), GroupWait(which, ignores), group_(&group), at_(at) {
        this->never_report();
    }
    ~JoinFuture() override = default;

    [[nodiscard]] bool has_source() const override { return is_linked(); }
    void on_awaited() override {
        FutureCore::on_awaited();
        awaited_ = true;
        if (this->is_rejected()) { take_errors(); }
    }
    void on_obtained() override {
        FutureCore::on_obtained();
        keep();
    }

protected:
    void rejected_with(const ErrorValue& error, std::vector<std::shared_ptr<GroupTask>> tasks) {
        taken_ = std::move(tasks);
        this->finish(error, at_);
        if (awaited_) { take_errors(); }
    }

    Ref<GroupState> group_;
    SourceLocation at_;
    std::vector<std::shared_ptr<GroupTask>> taken_;

private:
    void hold() override { this->add_reference(); }
    void let_go() override { this->drop_reference(); }
    void reject(const ErrorValue& error, std::vector<std::shared_ptr<GroupTask>> tasks) override { rejected_with(error, std::move(tasks)); }
    void release_source() override { group_->drop_wait(*this); }
    void give_back() override {
        if (!group_->is_consuming() || taken_.empty()) { return; }
        group_->put_back(std::exchange(taken_, {}));
    }
    void take_errors() {
        if (kind == GroupWaitKind::all || kind == GroupWaitKind::any) { group_->mark_handled(); }
        for (const auto& task : taken_) { task->handled = true; }
        keep();
    }
    void keep() {
        if (!group_->is_consuming()) { return; }
        for (const auto& task : taken_) { group_->release_key(*task); }
        taken_.clear();
    }

    bool awaited_ = false;
};

template <class T>
class JoinOne final : public JoinFuture<T> {
public:
    using JoinFuture<T>::JoinFuture;

private:
    void resolve(std::vector<std::shared_ptr<GroupTask>> tasks) override {
        const std::shared_ptr<GroupTask> task = tasks.front();
        if (task->error) {
            this->rejected_with(task->error, std::move(tasks));
            return;
        }
        this->taken_ = std::move(tasks);
        if constexpr (std::is_void_v<T>) {
            this->complete(this->at_);
        } else {
            this->complete(this->at_, value_of<T>(*task));
        }
    }
};

template <class T>
using KeyedResults = std::vector<std::pair<TaskKey, StoredOf<T>>>;

template <class T>
class JoinMany final : public JoinFuture<KeyedResults<T>> {
public:
    using JoinFuture<KeyedResults<T>>::JoinFuture;

private:
    void resolve(std::vector<std::shared_ptr<GroupTask>> tasks) override {
        KeyedResults<T> results;
        for (const auto& task : tasks) {
            if (task->state == TaskState::succeeded) { results.emplace_back(task->key, value_of<T>(*task)); }
        }
        this->taken_ = std::move(tasks);
        this->complete(this->at_, std::move(results));
    }
};

/// What group and set share. A handle; copies name the same one.
template <class T>
class TaskCollection {
    static_assert(std::is_copy_constructible_v<StoredOf<T>>, "what tasks return is copied to whoever asks");

public:
    using Options = TaskGroupOptions;
    using Results = KeyedResults<T>;
    using Errors = std::vector<std::pair<TaskKey, ErrorValue>>;

    TaskCollection(const TaskCollection& other) : TaskCollection(other.state_) {}
    TaskCollection(TaskCollection&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    TaskCollection& operator=(TaskCollection other) noexcept {
        std::swap(state_, other.state_);
        return *this;
    }
    ~TaskCollection() {
        if (GroupState* state = std::exchange(state_, nullptr); state != nullptr) { state->drop_handle(); }
    }

    /// Adds a task that returns T. It starts when a slot is free, in the order of acceptance; the caller waits while slots and queue
    /// are full (GRP-08). @returns its key
    /// Throws: AsyncError on a closed group and outside a coroutine; a cancellation, and then the task was not accepted.
    /// Suspends: while there is no room.
    template <class F>
        requires std::is_invocable_v<std::decay_t<F>&>
    TaskKey spawn(F&& f, SourceLocation at = SourceLocation::current()) {
        return state().spawn(nullptr, "task", make_of(std::forward<F>(f)), at);
    }
    /// Under a key of the program's own. Throws AsyncError if it is present (GRP-06).
    template <class F>
        requires std::is_invocable_v<std::decay_t<F>&>
    TaskKey spawn_with_key(const TaskKey& key, F&& f, SourceLocation at = SourceLocation::current()) {
        return state().spawn(&key, "task", make_of(std::forward<F>(f)), at);
    }

    /// No further tasks; queued and running ones go on (GRP-21). Idempotent.
    void close() const { state().close(); }
    /// Closes; queued tasks settle with the reason and never start, running ones are cancelled (GRP-22). Does not wait. Idempotent.
    void cancel(const ErrorValue& reason = {}) const { state().cancel(reason); }
    /// Cancels, and disposes the group's scope with whatever its tasks spawned there (GRP-25).
    void dispose() const { state().dispose(); }
    /// Waits until nothing is queued or running; never throws for a task's error (GRP-20). Throws AsyncError on an open group,
    /// OperationCanceled, a cancellation. Suspends: unless it is so already.
    void await_completion(const Token& token = {}, SourceLocation at = SourceLocation::current()) const {
        state().await_completion(token.event(), false, at);
    }

    /// Tasks in any state; of a set those that were not delivered (GRP-05).
    [[nodiscard]] std::size_t count() const {
        state().touch();
        return state().count();
    }
    [[nodiscard]] bool is_finished() const {
        state().touch();
        return state().is_finished();
    }
    [[nodiscard]] bool is_closed() const {
        state().touch();
        return state().is_closed();
    }
    /// Marks the present errors as handled (GRP-18).
    void suppress_errors() const { state().mark_handled(); }
    [[nodiscard]] ScopeRef scope() const { return state().scope(); }
    [[nodiscard]] GroupState& state() const {
        HEDDLE_ASSERT(state_ != nullptr, "a handle that was moved from names no group");
        return *state_;
    }

    /// Yields each settled task in the order of completion, waits while nothing new has settled, ends when the group is closed and
    /// all was yielded (GRP-19, SET-06). On a group that is never closed it waits for ever.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Settled<T>;
        using difference_type = std::ptrdiff_t;
        using pointer = const Settled<T>*;
        using reference = const Settled<T>&;

        Iterator() = default;
        explicit Iterator(const TaskCollection& group) : group_(&group) { ++*this; }
        [[nodiscard]] const Settled<T>& operator*() const { return *settled_; }
        [[nodiscard]] const Settled<T>* operator->() const { return &*settled_; }
        Iterator& operator++() {
            GroupState& state = group_->state();
            const std::shared_ptr<GroupTask> task = state.next_settled(state.is_consuming() ? 0 : last_, SourceLocation::current());
            if (task == nullptr) {
                group_ = nullptr;
                return *this;
            }
            last_ = task->completed;
            settled_.emplace(Settled<T>{task->key, {}, task->error});
            if (!task->error) { settled_->value.emplace(value_of<T>(*task)); }
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.group_ == b.group_; }

    private:
        const TaskCollection* group_ = nullptr;
        std::optional<Settled<T>> settled_{};
        std::uint64_t last_ = 0;
    };
    [[nodiscard]] Iterator begin() const { return Iterator(*this); }
    [[nodiscard]] Iterator end() const { return Iterator(); }

protected:
    explicit TaskCollection(GroupState* state) : state_(state) {
        if (state_ != nullptr) { state_->add_handle(); }
    }

    [[nodiscard]] Future<T> one(GroupWaitKind kind, SourceLocation at) const { return make<T, JoinOne<T>>(kind, false, at); }
    [[nodiscard]] Future<Results> many(GroupWaitKind kind, bool ignores_errors, SourceLocation at) const {
        return make<Results, JoinMany<T>>(kind, ignores_errors, at);
    }

private:
    template <class F>
    [[nodiscard]] GroupTask::Make make_of(F&& f) const {
        static_assert(std::is_same_v<std::invoke_result_t<std::decay_t<F>&>, T>, "a task returns what its group is of");
        return [scheduler = &state().scheduler(), entry = std::decay_t<F>(std::forward<F>(f))]() mutable -> CoroutineCore* {
            return new CoroutineFrame<std::decay_t<F>, T>(*scheduler, std::move(entry));
        };
    }
    template <class R, class Core>
    [[nodiscard]] Future<R> make(GroupWaitKind kind, bool ignores_errors, SourceLocation at) const {
        const Ref<Core> core(new Core(state(), kind, ignores_errors, at));
        state().add_wait(*core);  // may refuse; nobody has a handle yet
        return Future<R>(core.get());
    }

    GroupState* state_ = nullptr;
};

}  // namespace detail

template <class T = void>
class TaskGroup : public detail::TaskCollection<T> {
    using Base = detail::TaskCollection<T>;

public:
    /// In the running coroutine's runtime. Throws ValueError for negative limits, AsyncError if the scope is disposed already.
    explicit TaskGroup(const TaskGroupOptions& options = {})
        : Base(new GroupState(current_runtime("task group").scheduler(), options, false)) {}

    /// Results by key, in the order of spawning, when nothing is queued or running any more; the errors as one composite instead, if
    /// there is any and they are not ignored (GRP-12, GRP-13).
    [[nodiscard]] Future<typename Base::Results> all(bool ignore_errors = false, SourceLocation at = SourceLocation::current()) const {
        return this->many(GroupWaitKind::all, ignore_errors, at);
    }
    /// The first task that settles, success or failure; the same one for every call (GRP-14, GRP-16). AsyncError without tasks.
    [[nodiscard]] Future<T> race(SourceLocation at = SourceLocation::current()) const { return this->one(GroupWaitKind::race, at); }
    /// The first success, the same for every call; a composite if the group is finished without one (GRP-15). AsyncError without tasks.
    [[nodiscard]] Future<T> any(SourceLocation at = SourceLocation::current()) const { return this->one(GroupWaitKind::any, at); }

    /// Snapshots of what has settled (GRP-18). Reading the errors marks them as handled.
    [[nodiscard]] typename Base::Results results() const {
        typename Base::Results results;
        this->state().touch();
        for (const auto& task : this->state().settled_in_spawn_order()) {
            if (task->state == TaskState::succeeded) { results.emplace_back(task->key, detail::value_of<T>(*task)); }
        }
        return results;
    }
    [[nodiscard]] typename Base::Errors errors() const {
        typename Base::Errors errors;
        this->state().touch();
        for (const auto& task : this->state().settled_in_spawn_order()) {
            if (task->state == TaskState::failed) { errors.emplace_back(task->key, task->error); }
        }
        this->state().mark_handled();
        return errors;
    }

    /// Runs once when the group is closed and finished, in a coroutine of the scope that owns the group, in order of registration; on
    /// such a group it runs now (GRP-24).
    void finally(UniqueFunction<void(TaskGroup)> callback) const {
        this->state().add_finally([state = Ref<GroupState>(&this->state()), callback = std::move(callback)]() mutable {
            callback(TaskGroup(state.get()));
        });
    }

private:
    explicit TaskGroup(GroupState* state) : Base(state) {}
};

/// The consuming variant: what is read is gone, and each task is delivered to one consumer (13.6).
template <class T = void>
class TaskSet : public detail::TaskCollection<T> {
    using Base = detail::TaskCollection<T>;

public:
    explicit TaskSet(const TaskGroupOptions& options = {})
        : Base(new GroupState(current_runtime("task set").scheduler(), options, true)) {}

    /// The next task that settles; pending joins are served in the order of their creation, one task each (SET-02, SET-04). AsyncError
    /// if the set has no entries. A join that nobody obtained gives its task back (SET-09).
    [[nodiscard]] Future<T> join_next(SourceLocation at = SourceLocation::current()) const {
        return this->one(GroupWaitKind::join_next, at);
    }
    /// The next that succeeds; failures stay.
    [[nodiscard]] Future<T> join_any(SourceLocation at = SourceLocation::current()) const {
        return this->one(GroupWaitKind::join_any, at);
    }
    /// Everything, when nothing is queued or running any more; the set is empty then, errors or not (SET-07).
    [[nodiscard]] Future<typename Base::Results> join_all(bool ignore_errors = false,
                                                          SourceLocation at = SourceLocation::current()) const {
        return this->many(GroupWaitKind::join_all, ignore_errors, at);
    }
    /// Gets the number of entries left when the set is closed and finished (SET-08).
    void finally(UniqueFunction<void(std::size_t)> callback) const {
        this->state().add_finally([state = Ref<GroupState>(&this->state()), callback = std::move(callback)]() mutable {
            callback(state->count());
        });
    }
};

namespace detail {
/// The waits of with_group, behind fn (GRP-30). @param thrown what left fn, or no error
void leave_group(GroupState& group, ErrorValue thrown, SourceLocation at);
}  // namespace detail

/// Calls `fn(group)` and returns when no task and no other coroutine of the group's scope is alive (GRP-30).
/// Throws: the unhandled errors of the tasks as one CompositeError; what fn threw, with them as its previous; a cancellation of the
/// caller, which cancels the group. Suspends: until everything has ended.
template <class T = void, class F>
void with_group(const TaskGroupOptions& options, F&& fn, SourceLocation at = SourceLocation::current()) {
    TaskGroup<T> group(options);
    ErrorValue thrown;
    try {
        fn(group);
    } catch (const UnwindToken&) {
        throw;
    } catch (...) {
        thrown = ErrorValue(std::current_exception());
    }
    detail::leave_group(group.state(), std::move(thrown), at);
}

}  // namespace heddle
