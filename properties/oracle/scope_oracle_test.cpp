// SPDX-License-Identifier: Apache-2.0
// Cases of the scope oracle: members, flags, requests, waiters, errors, finally handlers.
#include <stdexcept>

#include "heddle/properties/oracle/testing/oracle_case.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// A scope with a child and a member that outlasts requests, and another scope.
struct Scopes {
    Ref<OneShotEvent> event = OneShotEvent::make(Stage::scheduler());
    Scope scope{};
    Scope child = scope.inherit();
    Scope other{};
    CoroutineHandle member = scope.spawn("member", [event = event] {
        try {
            protect([&] { await_event(event); });
        } catch (const Cancellation&) {
            // Most of the requests send it one.
        }
    });
    Scopes() { yield(); }
    ~Scopes() { event->complete(); }
    [[nodiscard]] ScopeCore& core() const { return scope.core(); }
};

StageCase scope_case(const char* invariant, const char* message, void (*breaks)(Scopes&),
                     void (*before)(Scopes&) = nullptr) {
    return {invariant, message, [=](Stage& stage) {
                Scopes scopes;
                if (before != nullptr) {
                    before(scopes);
                    Stage::look();
                }
                if (stage.broken) { breaks(scopes); }
                Stage::look();
            }};
}

/// Somebody waits for the end of a scope.
StageCase waiter_case(const char* invariant, const char* message, bool after_cancellation) {
    return {invariant, message, [=](Stage& stage) {
                Scopes scopes;
                auto waiter = spawn("waiter", [scope = ScopeRef(scopes.scope)] {
                    const Ref<OneShotEvent> never = OneShotEvent::make(Stage::scheduler());
                    scope.await_completion(*never);
                });
                yield();
                scopes.core().waiters_.front()->after_cancellation = after_cancellation;
                if (stage.broken) { scopes.core().active_ = 0; }
                Stage::tell(EventKind::quiescent);
                scopes.core().waiters_.front()->after_cancellation = false;
                scopes.event->complete();
                waiter.await();
            }};
}

constexpr auto forced = static_cast<std::int64_t>(CancelKind::forced);
constexpr auto safe_dispose = static_cast<std::int64_t>(CancelKind::safe_dispose);
constexpr std::int64_t by_error = 2;

}  // namespace

OracleCases scope_cases() {
    OracleCases cases{"scope", make_scope_oracle};
    cases.streams = {
        {"INV-SCOPE-09", "a scope was terminated twice", "scope_terminated /s", "scope_terminated /r",
         "scope_terminated /s"},
        {"INV-FIN-01", "a finally handler was skipped or ran twice", "spawned a; finished a; finally_run a",
         "finally_run a a=1", "finally_run a"},
        {"INV-FIN-01", "a finally handler ran before its coroutine had finished", "spawned a",
         "finished a; finally_run a", "finally_run a"},
    };
    cases.stages = {
        scope_case("INV-SCOPE-01", "a scope's counts are not those of its members",
                   [](Scopes& scopes) { ++scopes.core().active_; }),
        scope_case("INV-SCOPE-02", "a member names another scope",
                   [](Scopes& scopes) { scopes.member.core().scope_ = &scopes.other.core(); }),
        scope_case("INV-SCOPE-02", "not every registered coroutine is a member of exactly one scope",
                   [](Scopes& scopes) { scopes.core().remove_member(scopes.member.core()); }),
        scope_case("INV-SCOPE-02", "a coroutine changed its scope",
                   [](Scopes& scopes) {
                       scopes.core().remove_member(scopes.member.core());
                       scopes.other.core().add_member(scopes.member.core(), false);
                   }),
        scope_case("INV-SCOPE-03", "a terminated scope is in the tree",
                   [](Scopes& scopes) { scopes.other.core().terminated_ = true; }),
        scope_case("INV-SCOPE-03", "a child names another parent",
                   [](Scopes& scopes) { scopes.child.core().parent_ = &scopes.other.core(); }),
        scope_case(
            "INV-SCOPE-04", "CANCELLED was reset", [](Scopes& scopes) { scopes.core().cancelled_ = false; },
            [](Scopes& scopes) { scopes.scope.cancel(); }),
        scope_case(
            "INV-SCOPE-04", "CLOSED was reset", [](Scopes& scopes) { scopes.core().closed_flag_ = false; },
            [](Scopes& scopes) { scopes.scope.dispose(); }),
        scope_case("INV-SCOPE-04", "a request did not set CANCELLED",
                   [](Scopes& scopes) {
                       Stage::tell(EventKind::scope_requested, {}, scopes.core().label(), safe_dispose, 0);
                   }),
        scope_case(
            "INV-SCOPE-05", "a scope that is not open got an active coroutine",
            [](Scopes& scopes) {
                CoroutineCore& main = *Stage::scheduler().current();
                main.scope_->remove_member(main);
                scopes.core().add_member(main, false);
            },
            [](Scopes& scopes) {
                scopes.scope.allow_zombies();  // a forced request would have to reach the newcomer, too
                scopes.scope.cancel();
            }),
        scope_case("INV-SCOPE-07", "a forced request on a scope left a member untouched",
                   [](Scopes& scopes) {
                       scopes.core().cancelled_ = true;
                       Stage::tell(EventKind::scope_requested, {}, scopes.core().label(), forced, 0);
                   }),
        scope_case("INV-SCOPE-09", "a scope was closed merely because it is empty",
                   [](Scopes& scopes) { Stage::tell(EventKind::scope_closed, {}, scopes.core().label()); }),
        scope_case("INV-SCOPE-10", "await_completion returned although an active coroutine is left",
                   [](Scopes& scopes) {
                       Stage::tell(EventKind::scope_woken, scopes.member.label(), scopes.core().label(), 0, 0);
                   }),
        scope_case("INV-SCOPE-11", "await_after_cancellation returned although somebody is left",
                   [](Scopes& scopes) {
                       Stage::tell(EventKind::scope_woken, scopes.member.label(), scopes.core().label(), 0, 1);
                   }),
        scope_case("INV-SCOPE-14", "the main scope was cancelled, closed or terminated",
                   [](Scopes&) { Stage::scheduler().main_scope()->cancelled_ = true; }),
        scope_case("INV-LIVE-08", "a scope that is over and empty is still there",
                   [](Scopes& scopes) {
                       scopes.other.core().closed_flag_ = true;
                       Stage::tell(EventKind::quiescent);
                   }),
        scope_case("INV-ERR-05", "an error passed a scope and did not cancel it",
                   [](Scopes& scopes) {
                       Stage::tell(EventKind::scope_requested, {}, scopes.core().label(), safe_dispose, by_error);
                   }),
        scope_case("INV-ERR-07", "got the cancellation that an error caused, not the error",
                   [](Scopes& scopes) {
                       auto waiter = spawn("waiter", [event = scopes.event] { await_event(event); });
                       yield();
                       scopes.core().cancelled_ = true;
                       Stage::tell(EventKind::finished, scopes.member.label(), {}, 1, 0, "error");
                       Stage::tell(EventKind::scope_requested, {}, scopes.core().label(), safe_dispose, by_error);
                       Stage::tell(EventKind::scope_woken, waiter.label(), scopes.core().label(), 2, 0);
                   }),
        waiter_case("INV-SCOPE-12", "somebody waits for the completion of a scope that is complete", false),
        waiter_case("INV-SCOPE-12", "somebody waits for the end of a scope that is empty", true),
        {"INV-ERR-02", "an error that an awaiter got was reported as unhandled",
         [](Stage& stage) {
             auto fails = spawn("fails", [] { throw std::runtime_error("the error"); });
             fails.core().set_dispose_hook([broken = stage.broken](CoroutineCore& core) {
                 if (broken) { Stage::tell(EventKind::unhandled, core.label(), {}, 0, 0, core.error().describe()); }
             });
             try {
                 fails.await();
             } catch (const std::runtime_error&) {
                 // It was for us.
             }
         }},
        {"INV-FIN-02", "an awaiter continued before the finally handlers",
         [](Stage& stage) {
             const Label owner = Stage::label("owner");
             const Label awaiter = Stage::label("awaiter");
             Stage::tell(EventKind::spawned, owner);
             Stage::tell(EventKind::finished, owner);
             Stage::tell(EventKind::woken, awaiter, owner);
             if (stage.broken) { Stage::tell(EventKind::resumed, awaiter); }
             Stage::tell(EventKind::finally_run, owner);
         }},
    };
    return cases;
}

}  // namespace heddle::prop
