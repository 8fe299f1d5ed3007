// SPDX-License-Identifier: Apache-2.0
// GroupState: the untyped half of TaskGroup and TaskSet: who runs, who is queued, who waits for what (docs/spec/13-task-group.md).
//
//   spawn ──slot free──▶ RUNNING ──ends──▶ SUCCEEDED(v) / FAILED(e) ──▶ waits, iterators, then ALL of it: finished, terminal
//     ├──room──▶ QUEUED ──a task ends──▶ RUNNING                             │ set: delivered to one consumer, and gone
//     └──neither──▶ parked ──a place is promised──▶ runs, and is accepted
//
// GS1  A queued task means no slot is free; running tasks never exceed the limit (INV-GRP-01, INV-GRP-02).
// GS2  A place in the queue that comes free is promised to the oldest parked caller in the same step, and handed on if it leaves (GRP-10).
// GS3  Every accepted task settles once and gets the next completion number (INV-GRP-04).
// GS4  What a task's end sets off calls no user code: it wakes, settles and spawns (GRP-29).
// GS5  The state lives as long as a handle, a task that has not settled, a parked caller or a pending future (CV-16).
//
// Cells: `tasks` (everything that changes or reads who runs, is queued, has settled: W).
// Choice points: none of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/scope.hpp"
#include "heddle/core/sync/detail/wait_entry.hpp"

namespace heddle {

/// Of a task in its group: the next integer, or what the program gives.
using TaskKey = std::variant<std::int64_t, std::string>;
[[nodiscard]] std::string to_string(const TaskKey& key);

struct TaskGroupOptions {
    static constexpr std::int64_t default_limit = -1;
    std::int64_t concurrency = 0;               ///< tasks that run at once; 0: no limit
    std::int64_t queue_limit = default_limit;   ///< accepted ones that wait for a slot; 0: no limit; default: twice the concurrency
    ScopeRef scope{};                           ///< parent of the group's own scope; empty: the current one
    std::string_view name = "group";
};

class GroupState;

enum class TaskState : std::uint8_t { queued, running, succeeded, failed };

struct GroupTask {
    using Make = UniqueFunction<CoroutineCore*()>;

    TaskKey key;
    std::uint64_t order = 0;       ///< of acceptance
    std::uint64_t completed = 0;   ///< completion number; 0 until it has settled
    TaskState state = TaskState::queued;
    ErrorValue error{};
    bool handled = false;          ///< its error went somewhere
    Ref<CoroutineCore> coroutine;  ///< keeps the result
    Make make;
    SourceLocation at;
    std::string name;

    [[nodiscard]] bool is_settled() const { return completed != 0; }
};

enum class GroupWaitKind : std::uint8_t {
    all,       ///< the group is finished: results, or every error
    race,      ///< the first task that has settled
    any,       ///< the first that succeeded, or every error once finished
    join_next, ///< set: the next that settles, removed
    join_any,  ///< set: the next that succeeds, removed
    join_all,  ///< set: as all, and the set is empty
};

/// A pending future of the group. The typed half resolves it.
class GroupWait : public ListHook<GroupWait> {
public:
    GroupWait(GroupWaitKind which, bool ignores) : kind(which), ignores_errors(ignores) {}
    const GroupWaitKind kind;
    const bool ignores_errors;

protected:
    virtual ~GroupWait() = default;

private:
    friend class GroupState;
    virtual void hold() = 0;
    virtual void let_go() = 0;
    /// With one task, or with all; a set's have been taken out of it.
    virtual void resolve(std::vector<std::shared_ptr<GroupTask>> tasks) = 0;
    virtual void reject(const ErrorValue& error, std::vector<std::shared_ptr<GroupTask>> tasks) = 0;
};

class GroupState final : public RuntimeObject, private ScopeResource {
public:
    /// Throws ValueError for negative limits, AsyncError if the scope is disposed already (GRP-01, GRP-02).
    GroupState(Scheduler& scheduler, const TaskGroupOptions& options, bool consuming);

    // ── adding (13.2) ──

    /// @param key  null: the next integer. Suspends: while there is neither a slot nor room.
    TaskKey spawn(const TaskKey* key, std::string_view name, GroupTask::Make make, SourceLocation at);
    void close();
    void cancel(const ErrorValue& reason);
    void dispose();

    // ── waiting (13.4, 13.6) ──

    void add_wait(GroupWait& wait);
    void drop_wait(GroupWait& wait);
    /// SET-09: what a dropped join took and nobody obtained.
    void put_back(std::vector<std::shared_ptr<GroupTask>> tasks);
    /// What a join took was obtained: its key may be used again (SET-01).
    void release_key(const GroupTask& task);
    /// GRP-20; with `until_terminal` also on an open group. Throws AsyncError on an open one otherwise.
    void await_completion(EventSource* token, bool until_terminal, SourceLocation at);
    /// The settled task with the lowest completion number above `after`; parks while there is none. Null once terminal and all yielded.
    std::shared_ptr<GroupTask> next_settled(std::uint64_t after, SourceLocation at);
    void deliver(const std::shared_ptr<GroupTask>& task);
    void add_finally(UniqueFunction<void()> callback);

    // ── looking ──

    [[nodiscard]] std::vector<std::shared_ptr<GroupTask>> settled_in_spawn_order() const;
    [[nodiscard]] std::size_t count() const { return tasks_.size(); }
    [[nodiscard]] std::size_t running() const { return running_; }
    [[nodiscard]] std::size_t queued() const { return queued_; }
    [[nodiscard]] std::size_t granted_places() const { return granted_; }
    [[nodiscard]] std::size_t concurrency() const { return concurrency_; }
    [[nodiscard]] std::size_t queue_limit() const { return queue_limit_; }
    [[nodiscard]] bool has_slot() const { return concurrency_ == 0 || running_ < concurrency_; }
    [[nodiscard]] bool has_room() const { return queue_limit_ == 0 || queued_ + granted_ < queue_limit_; }
    [[nodiscard]] std::size_t waiting_spawners() const { return detail::living_count(spawners_); }
    [[nodiscard]] std::size_t pending_waits() const { return waits_.size(); }
    [[nodiscard]] std::size_t waiting_for_completion() const { return detail::living_count(completions_); }
    [[nodiscard]] bool has_pending_race() const;
    /// Those in it, in the order of acceptance.
    template <class F>
    void visit_tasks(F&& visit) const {
        for (const auto& [order, task] : tasks_) { visit(*task); }
    }
    [[nodiscard]] bool is_finished() const { return running_ + queued_ == 0; }
    [[nodiscard]] bool is_closed() const { return closed_; }
    [[nodiscard]] bool is_terminal() const { return closed_ && is_finished(); }
    [[nodiscard]] bool is_consuming() const { return consuming_; }
    [[nodiscard]] const Scope& scope() const { return scope_; }
    /// Errors that nobody has taken, cancellations left out, in spawn order.
    [[nodiscard]] std::vector<ErrorValue> unhandled() const;
    void mark_handled();
    void touch() const;

    // ── life ──

    void add_handle() {
        ++handles_;
        add_reference();
    }
    void drop_handle();
    void add_reference() { ++references_; }
    void drop_reference() {
        HEDDLE_ASSERT(references_ > 0, "GS5");
        if (--references_ == 0) { destroy(); }
    }

private:
    ~GroupState() override;
    void destroy();
    class TaskEnd;

    void scope_requested(ScopeCore& scope) override;
    void accept(const TaskKey& key, std::string_view name, GroupTask::Make make, SourceLocation at, bool starts);
    bool start(const std::shared_ptr<GroupTask>& task);
    void ended(const std::shared_ptr<GroupTask>& task, const ErrorValue& error);
    void settle(GroupTask& task, const ErrorValue& error);
    void start_queued();
    void fail_queued(const ErrorValue& reason);
    void grant_places();
    void wake_spawners();
    void after_change();
    void resolve_waits();
    bool try_resolve(GroupWait& wait);
    void take_out(const std::shared_ptr<GroupTask>& task);
    void wake(detail::WaitList& list);
    void became_terminal();
    void report_unhandled();
    void cleanup_in_place(UniqueFunction<void()>& callback);
    [[nodiscard]] std::shared_ptr<GroupTask> first_settled(bool success_only) const;
    [[nodiscard]] ErrorValue composite() const;

    std::map<std::uint64_t, std::shared_ptr<GroupTask>> tasks_;         // by order of acceptance
    std::map<TaskKey, std::weak_ptr<GroupTask>> keys_;                  // taken ones, reserved by parked callers too (empty pointer)
    std::map<std::uint64_t, std::shared_ptr<GroupTask>> by_completion_;
    std::deque<std::shared_ptr<GroupTask>> queue_;
    detail::WaitList spawners_;
    detail::WaitList iterators_;
    detail::WaitList completions_;
    IntrusiveList<GroupWait, GroupWait> waits_;
    std::vector<UniqueFunction<void()>> finally_;
    Ref<ScopeCore> owner_;
    Scope scope_;
    std::shared_ptr<GroupTask> first_;          // race: the first that ever settled; kept, so that every call names it
    std::shared_ptr<GroupTask> first_success_;
    std::size_t concurrency_ = 0;
    std::size_t queue_limit_ = 0;
    std::size_t running_ = 0;
    std::size_t queued_ = 0;
    std::size_t granted_ = 0;
    std::uint64_t last_order_ = 0;
    std::uint64_t last_completion_ = 0;
    std::uint64_t looked_at_ = 0;               // completion number up to which first_ and first_success_ are known
    std::int64_t next_key_ = 0;
    std::uint32_t handles_ = 0;
    std::uint32_t references_ = 0;
    bool consuming_ = false;
    bool closed_ = false;
    bool cancelled_ = false;
    bool terminal_seen_ = false;
    bool abandoned_ = false;   // no handle is left
    bool resolving_ = false;
};

}  // namespace heddle
