// SPDX-License-Identifier: Apache-2.0
// Scope: structure for coroutines (docs/spec/03-cancellation-scope.md, sections 2 to 6).
//
//   ScopeCore ── members (coroutines, creation order)            open ──cancel/dispose/error──▶ cancelled, closed
//      ├── children (scopes, creation order)                      └─ drained and (cancelled, closed or handle gone) ─▶ finally handlers
//      ├── handlers, finally handlers, waiters                                                                          ─▶ terminated
//      └── parent
//
// Scope is the program's handle and may go before its scope does; ScopeRef names a scope without keeping it open.
//
// S1  active + zombies = members; both equal what the member list holds (INV-SCOPE-01).
// S2  Parent links form a forest; a live child is in its parent's list; a terminated scope has neither child nor member (INV-SCOPE-03).
// S3  cancelled, closed and terminated are never reset (INV-SCOPE-04).
// S4  A request cascades: flags, bound resources, children, members, waiters (SCP-16). It never switches, and never throws.
// S5  Trees may be deeper than any stack: nothing here recurses along parent and child links (SCP-11).
// Choice points: none. Suspends: the await functions only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/base/ids.hpp"
#include "heddle/core/base/source_location.hpp"
#include "heddle/core/run/coroutine.hpp"
#include "heddle/core/run/event_source.hpp"
#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle {

class ReactorEvent;
class Scope;
class ScopeRef;
struct SpawnOptions;

/// Called with an error of the scope's subtree; returning handles it (ERR-1). Must not suspend (SCH-28).
/// `coroutine` is empty for an error of a scope's own finally handlers (FIN-12).
using ScopeErrorHandler = std::function<void(ScopeRef scope, CoroutineHandle coroutine, const ErrorValue& error)>;
/// For await_after_cancellation: gets errors of members while waiting (SCP-26).
using AwaitErrorHandler = std::function<void(const ErrorValue& error, ScopeRef scope)>;

/// Something bound to a scope that ends with it (SCP-16 step 2), such as a channel. Called synchronously; must not suspend.
class ScopeResource {
public:
    virtual void scope_requested(ScopeCore& scope) = 0;

protected:
    ~ScopeResource() = default;
};

struct ChildTag;

class ScopeCore final : public EventSource, public ListHook<ChildTag> {
public:
    [[nodiscard]] ScopeId id() const { return id_; }
    [[nodiscard]] Label label() const override { return label_; }
    [[nodiscard]] ScopeCore* parent() const { return parent_; }
    [[nodiscard]] std::size_t active() const { return active_; }
    [[nodiscard]] std::size_t zombies() const { return zombies_; }
    void look() const override;
    void look_at_children() const;
    void touch_settings(TouchMode mode) const;
    [[nodiscard]] bool is_cancelled() const { return cancelled_; }
    [[nodiscard]] bool is_closed_flag() const { return closed_flag_; }
    [[nodiscard]] bool is_terminated() const { return terminated_; }
    [[nodiscard]] bool is_safe() const { return safe_; }
    [[nodiscard]] bool is_main() const { return main_; }
    [[nodiscard]] bool is_open() const { return !cancelled_ && !closed_flag_ && !terminated_; }
    [[nodiscard]] bool has_handle() const { return handles_ > 0; }
    [[nodiscard]] std::size_t waiter_count() const { return waiters_.size(); }
    /// Of one sort: those of await_after_cancellation, or those of await_completion.
    [[nodiscard]] std::size_t waiter_count(bool after_cancellation) const;
    /// completed(S) and drained(S) of SCP-6.
    [[nodiscard]] bool completed() const;
    [[nodiscard]] bool drained() const;

    [[nodiscard]] const IntrusiveList<CoroutineCore, MemberTag>& members() const { return members_; }
    [[nodiscard]] const IntrusiveList<ScopeCore, ChildTag>& children() const { return children_; }
    [[nodiscard]] bool contains(const ScopeCore& descendant) const;

    [[nodiscard]] bool replay(Outcome& outcome) const override;
    [[nodiscard]] std::string describe() const override;

    /// Where core/sync keeps the scope's context values; freed with the scope (CTX-1, CTX-8).
    [[nodiscard]] std::shared_ptr<void>& context_slot() { return context_slot_; }
    [[nodiscard]] const std::shared_ptr<void>& context_slot() const { return context_slot_; }

    void bind(ScopeResource& resource);
    void unbind(ScopeResource& resource);

private:
    friend class Scheduler;
    friend class FinallyRun;
    friend class ScopeRef;
    friend class Scope;
    friend class Shutdown;

    enum class Request : std::uint8_t { cancel, dispose, error };

    struct Waiter final : ListHook<Waiter> {
        Ref<OneShotEvent> event;
        CoroutineCore* coroutine = nullptr;
        bool after_cancellation = false;
        const AwaitErrorHandler* handler = nullptr;
    };

    ScopeCore(Scheduler& scheduler, ScopeCore* parent, bool safe, std::string_view name);
    ~ScopeCore() override;
    void dispose() override;

    void touch_live(bool waits_count_it = true) const;
    void add_member(CoroutineCore& coroutine, bool as_zombie);
    void remove_member(CoroutineCore& coroutine);
    /// Counters only: the transition of ZOM-3 steps 3 and 4.
    void count_zombie();

    void request(Request request, CancelKind kind, const ErrorValue& reason);
    /// SCP-16 for this scope and all below it, children first from step 3 on.
    void cascade(Request request, CancelKind kind, const ErrorValue& reason, CoroutineCore* skipped);
    void begin_request(Request request, CancelKind kind, const ErrorValue& reason);
    void request_members(CancelKind kind, const ErrorValue& reason, CoroutineCore* skipped);
    void set_closed_flag();
    /// SCP-20: waiters, then termination, for this scope and its ancestors.
    void evaluate();
    bool evaluate_alone();
    enum class News : std::uint8_t {
        counters,  ///< members came to an end or became zombies: wakes those whose predicate is true
        request,   ///< a cascade is through: tells a wait that the cancellation did not complete, too
    };
    void notify_waiters(News news);
    void wake_waiter(Waiter& waiter, const ErrorValue& error);
    void wait(Waiter& waiter, EventSource* token, SourceLocation at);
    [[nodiscard]] const ScopeCore* next_in_tree(const ScopeCore& at) const;
    [[nodiscard]] bool can_terminate() const;
    void try_terminate();
    /// The last steps of SCP-23, for a scope without children. False if its finally handlers run first.
    bool terminate_alone();
    void finish_termination();
    /// ERR-1. Returns true if the error was handled.
    bool propagate(ErrorValue& error, CoroutineCore* coroutine);
    bool call_handler(const ScopeErrorHandler& handler, CoroutineCore* coroutine, ErrorValue& error);
    bool offer_to_waiters(const ErrorValue& error);
    void drop_scope_handle();
    /// The runtime goes: what is left of its scopes ends with it, and handles of them hold something inert.
    static void end_all(Scheduler& scheduler);
    void arm_disposal(Duration timeout);
    void disarm_disposal();

    ScopeId id_;
    Label label_;
    ScopeCore* parent_ = nullptr;
    IntrusiveList<ScopeCore, ChildTag> children_;
    IntrusiveList<CoroutineCore, MemberTag> members_;
    IntrusiveList<Waiter, Waiter> waiters_;
    std::vector<ScopeResource*> resources_;
    std::shared_ptr<void> context_slot_;
    std::vector<UniqueFunction<void(ScopeRef)>> finally_handlers_;
    ScopeErrorHandler error_handler_;
    ScopeErrorHandler child_handler_;
    ErrorValue reason_;  // of the first request
    Ref<ReactorEvent> disposal_timer_;
    std::size_t active_ = 0;
    std::size_t zombies_ = 0;
    std::uint32_t handles_ = 0;
    bool safe_ = false;
    bool main_ = false;
    bool private_ = false;    // the scheduler's own; nobody can spawn into it
    bool internal_ = false;   // of a finally run (FIN-2)
    bool cancelled_ = false;
    bool closed_flag_ = false;
    bool terminated_ = false;
    bool evaluating_ = false;
    bool evaluate_again_ = false;
    bool terminating_ = false;
    bool holds_waiters_ = false;   // an error is on its way to them: it precedes what it causes (INV-ERR-07)
    bool offering_ = false;        // their handlers run: news comes after them (EVT-7)
    bool news_came_ = false;
};

/// Names a scope: everything but ownership. Valid as long as it is held, also after termination.
class ScopeRef {
public:
    ScopeRef() = default;
    explicit ScopeRef(ScopeCore* core) : core_(core) {}

    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(core_); }
    [[nodiscard]] ScopeCore& core() const;
    friend bool operator==(const ScopeRef&, const ScopeRef&) = default;

    [[nodiscard]] ScopeId id() const { return core().id(); }
    [[nodiscard]] bool is_cancelled() const { return looked().is_cancelled(); }
    [[nodiscard]] bool is_closed() const { return looked().is_closed_flag() || core().is_terminated(); }
    /// TERMINATED, or no active coroutine in the whole subtree (SCP-8).
    [[nodiscard]] bool is_finished() const { return looked().is_terminated() || core().completed(); }
    [[nodiscard]] std::vector<ScopeRef> child_scopes() const;

    /// Requests of SCP-15. They return at once, never switch and never throw, argument errors and the main scope (AsyncError, SCP-9)
    /// aside. @param reason  of the Cancellation family, else ValueError
    void cancel(const ErrorValue& reason = {}) const;
    void dispose() const;
    void dispose_safely() const;
    /// At the timeout everything that is left is cancelled, zombies too (SCP-19). Throws ValueError if negative.
    void dispose_after_timeout(Duration timeout) const;
    const ScopeRef& as_not_safely() const;
    const ScopeRef& allow_zombies() const;

    /// Handlers of ERR-1; a new one replaces the old one (ERR-5). AsyncError on the main scope (SCP-9).
    void set_exception_handler(ScopeErrorHandler handler) const;
    void set_child_scope_exception_handler(ScopeErrorHandler handler) const;
    /// Runs once at termination (FIN-7); on a terminated scope it runs now (FIN-8).
    void finally(UniqueFunction<void(ScopeRef)> handler) const;

    /// Waits until no coroutine of the subtree is active; zombies do not count (SCP-25).
    /// @param token  ends the wait with OperationCanceled; the scope is untouched
    /// Throws the scope's cancellation, an error of the subtree, or AsyncError for a member. Suspends: unless it holds already.
    void await_completion(EventSource& token, SourceLocation at = SourceLocation::current()) const;
    /// Waits until the whole subtree is empty, zombies included; only on a cancelled or closed scope (SCP-26).
    /// @param handler  gets the members' errors; without one the first error ends the wait
    void await_after_cancellation(const AwaitErrorHandler& handler = {}, EventSource* token = nullptr,
                                  SourceLocation at = SourceLocation::current()) const;

    /// Spawns into this scope (SCP-12). As heddle::spawn otherwise.
    template <class F>
    auto spawn(Name name, F&& entry, SourceLocation at = SourceLocation::current()) const;
    template <class F>
    auto spawn(F&& entry, SourceLocation at = SourceLocation::current()) const;
    /// A child of this scope, with a copy of its safe flag (SCP-2, SCP-5). AsyncError if this one is terminated.
    [[nodiscard]] Scope inherit() const;

private:
    /// core(), and a search hears that somebody finds out what became of it.
    [[nodiscard]] ScopeCore& looked() const;

    Ref<ScopeCore> core_;
};

/// The handle of a scope: one owner. Its release disposes the scope (SCP-21); destructors may do it, it neither suspends nor throws.
class Scope : public ScopeRef {
public:
    /// A root scope of the running coroutine's runtime, not safe (SCP-2, SCP-5). Throws AsyncError outside a coroutine.
    Scope();
    /// A child of the running coroutine's scope.
    [[nodiscard]] static Scope inherited();

    Scope(Scope&& other) noexcept = default;
    Scope& operator=(Scope&& other) noexcept;
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { release(); }

    void release();

private:
    friend class ScopeRef;
    friend class Scheduler;
    explicit Scope(ScopeCore& core);
};

}  // namespace heddle
