// SPDX-License-Identifier: Apache-2.0
// Scope oracle: who belongs where, what a request reaches, when a waiter returns, where errors go, and that finally handlers run once.
//
//   look ──▶ every scope: counts, flags, members, parent; every coroutine: one scope, for life
//   scope_requested ──▶ from the next look on: flags set, every older member reached (INV-SCOPE-07)
//   scope_woken ──▶ its predicate holds at that moment (INV-SCOPE-10, 11); an error precedes what it causes (INV-ERR-07)
//   finally_run ──▶ index 0, 1, 2 … per owner, after its end, before its awaiters (INV-FIN-01, 02)
//
// INV-SCOPE-01 to 05, 07, 09 to 12, 14, INV-ERR-02, 05, 07, INV-FIN-01, 02, INV-LIVE-08.
// Choice points: none.
#include <string>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Area {
    Label parent;
    std::uint64_t forced_below = 0;  // members of a smaller id were reached by a forced request
    std::size_t active = 0;          // members that are not internal, at the last look
    bool requested = false;
    bool failed = false;             // an error passed it
    bool closed = false;
    bool terminated = false;
    bool cancelled_seen = false;     // flags at the last look
    bool closed_seen = false;
    bool told_of_error = false;      // in the finalization at hand
};

struct Person {
    Label home;
    Label woken_by;             // a coroutine that had finished
    std::int64_t finally_next = 0;
    bool is_coroutine = false;
    bool finished = false;
    bool awaiter_ran = false;   // somebody whom its end woke has continued
};

struct Running {
    std::uint64_t last_id = 0;
    Label ending;               // whose finalization is going on
    std::string error;          // its error, as text
    bool failed = false;
    bool delivered = false;     // an awaiter got it
    void reset() { *this = Running{}; }
};

class ScopeOracle final : public Judge {
protected:
    void reset() override {
        areas_.clear();
        persons_.clear();
        nodes_.reset();
    }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::spawned: {
                Person& person = persons_[event.who];
                person.home = event.what;
                person.is_coroutine = true;
                Running& running = nodes_[scheduler()];
                running.last_id = std::max(running.last_id, static_cast<std::uint64_t>(event.a));
                break;
            }
            case EventKind::scope_requested: requested(event); break;
            case EventKind::scope_closed: closed(event); break;
            case EventKind::scope_terminated: {
                Area& area = areas_[event.what];
                expect(!area.terminated, "INV-SCOPE-09", "a scope was terminated twice", event.what);
                area.terminated = true;
                break;
            }
            case EventKind::scope_woken: woken_by_scope(event); break;
            case EventKind::finished: finished(event); break;
            case EventKind::finalized: nodes_[scheduler()].ending = {}; break;
            case EventKind::woken: woken(event); break;
            case EventKind::resumed: {
                Person& person = persons_[event.who];
                if (person.woken_by) { persons_[std::exchange(person.woken_by, {})].awaiter_ran = true; }
                break;
            }
            case EventKind::unhandled: {
                const Running& running = nodes_[scheduler()];
                expect(!running.ending || !running.delivered || running.error != event.note, "INV-ERR-02",
                       "an error that an awaiter got was reported as unhandled", running.ending);
                break;
            }
            case EventKind::finally_run: finally_run(event); break;
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event&, bool) override {
        std::size_t members = 0;
        visit_scopes(scheduler, [&](const ScopeCore& scope) { members += look_at(scope); });
        expect(members == scheduler.registry().size(), "INV-SCOPE-02", "not every registered coroutine is a member of exactly one scope");
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            const Person* person = persons_.find(c.label());
            if (person == nullptr || !person->home || c.scope() == nullptr) { return; }
            expect(c.scope()->label() == person->home, "INV-SCOPE-02", "a coroutine changed its scope", c.label());
        });
        if (const ScopeCore* main = scheduler.main_scope(); main != nullptr) {
            expect(main->is_open(), "INV-SCOPE-14", "the main scope was cancelled, closed or terminated");
        }
    }

    void settled(const Scheduler& scheduler) override {
        visit_scopes(scheduler, [&](const ScopeCore& scope) {
            const bool own = scope.is_main() || &scope == scheduler.root_scopes().front();  // the runtime's own two never end
            const bool over = scope.is_cancelled() || scope.is_closed_flag() || !scope.has_handle();
            expect(own || !over || scope.children().front() != nullptr || !scope.drained(), "INV-LIVE-08",
                   "a scope that is over and empty is still there", scope.label());
            if (scope.waiter_count() == 0) { return; }
            expect(scope.waiter_count(false) == 0 || !scope.completed(), "INV-SCOPE-12",
                   "somebody waits for the completion of a scope that is complete", scope.label());
            expect(scope.waiter_count(true) == 0 || !scope.drained(), "INV-SCOPE-12",
                   "somebody waits for the end of a scope that is empty", scope.label());
        });
    }

private:
    /// Returns the number of its members.
    std::size_t look_at(const ScopeCore& scope) {
        Area& area = areas_[scope.label()];
        std::size_t active = 0;
        std::size_t zombies = 0;
        std::size_t ordinary = 0;
        for (const CoroutineCore* c = scope.members().front(); c != nullptr; c = scope.members().next(*c)) {
            ++(c->is_zombie() ? zombies : active);
            ordinary += !c->is_zombie() && !c->is_internal() ? 1 : 0;
            expect(c->scope() == &scope, "INV-SCOPE-02", "a member names another scope", c->label());
            if (c->id().value < area.forced_below) { expect_reached(*c, scope); }
        }
        expect(active == scope.active() && zombies == scope.zombies(), "INV-SCOPE-01", "a scope's counts are not those of its members",
               scope.label());
        expect(!scope.is_terminated(), "INV-SCOPE-03", "a terminated scope is in the tree", scope.label());
        for (const ScopeCore* child = scope.children().front(); child != nullptr; child = scope.children().next(*child)) {
            expect(child->parent() == &scope, "INV-SCOPE-03", "a child names another parent", child->label());
        }
        expect(scope.is_cancelled() || !area.cancelled_seen, "INV-SCOPE-04", "CANCELLED was reset", scope.label());
        expect(scope.is_closed_flag() || !area.closed_seen, "INV-SCOPE-04", "CLOSED was reset", scope.label());
        expect(scope.is_cancelled() || !area.failed, "INV-ERR-05", "an error passed a scope and did not cancel it", scope.label());
        expect(scope.is_cancelled() || !area.requested, "INV-SCOPE-04", "a request did not set CANCELLED", scope.label());
        if (area.cancelled_seen || area.closed_seen) {
            expect(ordinary <= area.active, "INV-SCOPE-05", "a scope that is not open got an active coroutine", scope.label());
        }
        area.active = ordinary;
        area.cancelled_seen = scope.is_cancelled();
        area.closed_seen = scope.is_closed_flag();
        if (scope.parent() != nullptr) { area.parent = scope.parent()->label(); }
        return active + zombies;
    }

    void expect_reached(const CoroutineCore& c, const ScopeCore& scope) const {
        expect(c.is_in_finally_run() || c.is_completed() || c.is_cancellation_requested() || c.is_cancelled(), "INV-SCOPE-07",
               "a forced request on a scope left a member untouched", scope.label());
    }

    void requested(const Event& event) {
        Area& area = areas_[event.what];
        constexpr std::int64_t by_error = 2;  // ScopeCore::Request
        area.requested = true;
        area.failed = area.failed || event.b == by_error;
        if (static_cast<CancelKind>(event.a) == CancelKind::forced && event.b != by_error) {
            area.forced_below = nodes_[scheduler()].last_id + 1;
        }
    }

    /// Without a request a scope closes only because its handle is gone (INV-SCOPE-09).
    void closed(const Event& event) {
        Area& area = areas_[event.what];
        area.closed = true;
        const Scheduler* running = scheduler();
        if (area.requested || running == nullptr) { return; }
        if (const ScopeCore* scope = find(*running, event.what); scope != nullptr) {
            expect(!scope->has_handle(), "INV-SCOPE-09", "a scope was closed merely because it is empty", event.what);
        }
    }

    [[nodiscard]] static const ScopeCore* find(const Scheduler& scheduler, Label label) {
        const ScopeCore* found = nullptr;
        visit_scopes(scheduler, [&](const ScopeCore& scope) { found = scope.label() == label ? &scope : found; });
        return found;
    }

    void woken_by_scope(const Event& event) {
        const Scheduler* running = scheduler();
        if (running == nullptr) { return; }
        Running& node = nodes_[running];
        Area& area = areas_[event.what];
        if (event.a == 0) {
            const ScopeCore* scope = find(*running, event.what);
            if (scope == nullptr || scope->is_terminated()) { return; }
            if (event.b == 1) {
                expect(scope->drained(), "INV-SCOPE-11", "await_after_cancellation returned although somebody is left", event.what);
            } else {
                expect(scope->completed(), "INV-SCOPE-10", "await_completion returned although an active coroutine is left", event.what);
            }
            return;
        }
        if (event.a == 1) { area.told_of_error = true; }
        // ERR-1: E goes to the waiters of each scope that it passes before the cancellation that it causes there.
        if (event.a == 2 && node.ending && node.failed && !area.told_of_error && area.failed && lies_above(event.what, node.ending) &&
            waits(*running, event.who)) {
            fail("INV-ERR-07", "a waiter on " + name(event.what) + " got the cancellation that an error caused, not the error");
        }
    }

    /// Somebody whom another event woke before is no waiter any more, though still in the scope's list.
    [[nodiscard]] static bool waits(const Scheduler& scheduler, Label who) {
        bool waiting = false;
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            waiting = waiting || (c.label() == who && c.waker().status() == WakerStatus::waiting);
        });
        return waiting;
    }

    /// `scope` is the home of `who`, or an ancestor of it.
    [[nodiscard]] bool lies_above(Label scope, Label who) {
        for (Label at = persons_[who].home; at; at = areas_[at].parent) {
            if (at == scope) { return true; }
        }
        return false;
    }

    void finished(const Event& event) {
        persons_[event.who].finished = true;
        Running& running = nodes_[scheduler()];
        running.ending = event.who;
        running.failed = event.a == 1;
        running.delivered = false;
        running.error = running.failed ? std::string(event.note) : std::string();
        if (!running.failed) { return; }
        for (std::size_t i = 0; i < areas_.size(); ++i) { areas_.at(i).record.told_of_error = false; }
    }

    void woken(const Event& event) {
        const Scheduler* scheduler_now = scheduler();
        if (scheduler_now == nullptr) { return; }
        Running& running = nodes_[scheduler_now];
        if (!running.ending || event.what != running.ending) { return; }
        persons_[event.who].woken_by = event.what;
        if (!running.failed || event.a != 1 || scheduler_now->current() == nullptr) { return; }
        const ErrorValue& thrown = scheduler_now->current()->error();
        visit_coroutines(*scheduler_now, [&](const CoroutineCore& c) {
            if (c.label() == event.who && thrown && c.waker().outcome().error.same_error(thrown)) { running.delivered = true; }
        });
    }

    void finally_run(const Event& event) {
        Person& owner = persons_[event.who];
        if (event.a == 0 && !owner.is_coroutine) { owner.finally_next = 0; }  // a scope may have further rounds (FIN-8)
        expect(event.a == owner.finally_next, "INV-FIN-01", "a finally handler was skipped or ran twice", event.who);
        ++owner.finally_next;
        if (!owner.is_coroutine) { return; }
        expect(owner.finished, "INV-FIN-01", "a finally handler ran before its coroutine had finished", event.who);
        const Scheduler* running = scheduler();
        const bool in_order = running != nullptr && !running->options().any_order;
        expect(!in_order || event.a > 0 || !owner.awaiter_ran, "INV-FIN-02", "an awaiter continued before the finally handlers", event.who);
    }

    LabelTable<Area> areas_;
    LabelTable<Person> persons_;
    PerNode<Running> nodes_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_scope_oracle() { return std::make_unique<ScopeOracle>(); }

}  // namespace heddle::prop
