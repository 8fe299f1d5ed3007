// SPDX-License-Identifier: Apache-2.0
// Handles of scopes, and how scopes end (SCP-18, SCP-21, SCP-23, SCP-24, SCP-29, INV-SCOPE-09).
#include "heddle/core/run/scope.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

class ScopeTest : public ::testing::Test, protected World {
protected:
    /// A member that waits until it is cancelled, and says so.
    auto waits(const ScopeRef& scope, std::string name) {
        return scope.spawn([this, name] { log(name + ":" + message(caught([] { wait_forever(); }))); });
    }
};

// ── handles and termination (SCP-21, SCP-23, SCP-24, SCP-29, INV-SCOPE-09).──

using ScopeHandle = ScopeTest;

TEST_F(ScopeHandle, ReleaseOfAnEmptyScopeEndsItQuietly) {
    run([&] {
        Scope scope;
        const ScopeRef ref = scope;
        scope.release();
        EXPECT_TRUE(ref.core().is_terminated());
        EXPECT_FALSE(ref.is_cancelled());  // it could end at once: no request was needed
        scope.release();
    });
}

TEST_F(ScopeHandle, ReleaseOfABusyScopeDisposesIt) {
    run([&] {
        CoroutineHandle a;
        {
            Scope scope;
            a = waits(scope, "a");
            yield();
        }
        EXPECT_TRUE(a.is_cancellation_requested());
        yield();
    });
    EXPECT_EQ(text(), "a:the scope is being disposed");
}

TEST_F(ScopeHandle, ReleaseOfASafeScopeLeavesZombies) {
    run([&] {
        CoroutineHandle a;
        ScopeRef ref;
        {
            Scope scope;
            ref = scope;
            scope.allow_zombies();
            a = scope.spawn([&] {
                yield();
                log("on");
            });
            yield();
        }
        EXPECT_TRUE(a.is_zombie());
        EXPECT_FALSE(ref.core().is_terminated());
        yield();
        EXPECT_TRUE(ref.core().is_terminated());
    });
    EXPECT_EQ(text(), "on");
}

TEST_F(ScopeHandle, MovesWithItsOwner) {
    run([&] {
        Scope scope;
        const ScopeRef ref = scope;
        Scope moved = std::move(scope);
        EXPECT_TRUE(ref.core().has_handle());
        Scope other;
        const ScopeRef gone = other;
        other = std::move(moved);
        EXPECT_TRUE(gone.core().is_terminated());
        EXPECT_FALSE(ref.core().is_terminated());
    });
}

TEST_F(ScopeHandle, AnOpenScopeDoesNotEndBecauseItIsEmpty) {
    run([&] {
        Scope scope;
        scope.finally([&](const ScopeRef&) { log("finally"); });
        scope.spawn([] {}).await();
        yield();
        EXPECT_FALSE(scope.core().is_terminated());
        EXPECT_TRUE(scope.is_finished());
        EXPECT_FALSE(scope.is_closed());
        EXPECT_EQ(text(), "");
        scope.spawn([] {}).await();
    });
    EXPECT_EQ(text(), "finally");
}

TEST_F(ScopeHandle, AParentEndsAfterItsChildren) {
    run([&] {
        Scope parent;
        const ScopeRef parent_ref = parent;
        Scope child = parent.inherit();
        const ScopeRef child_ref = child;
        const auto c = child.spawn([] { protect([] { yield(); }); });
        yield();
        parent.release();
        EXPECT_TRUE(child_ref.is_cancelled());
        EXPECT_FALSE(parent_ref.core().is_terminated());
        static_cast<void>(caught([&] { c.await(); }));
        EXPECT_TRUE(child_ref.core().is_terminated());
        EXPECT_TRUE(parent_ref.core().is_terminated());
    });
}

TEST_F(ScopeHandle, OutlivesTheRunAndItsFinallyHandlersDoNotRun) {
    std::optional<Scope> scope;
    std::optional<Scope> child;
    run([&] {
        scope.emplace();
        child.emplace(scope->inherit());
        child->finally([&](const ScopeRef&) { log("never"); });
        scope->finally([&](const ScopeRef&) { log("never"); });
    });
    const std::size_t before = program_.runtime().statistics().never_executed;
    EXPECT_FALSE(scope->core().is_terminated());  // SCP-29: left as it is
    EXPECT_FALSE(scope->is_closed());
    const ScopeRef ref = *scope;
    scope.reset();
    EXPECT_TRUE(ref.core().is_terminated());
    EXPECT_TRUE(child->core().is_terminated());
    EXPECT_EQ(program_.runtime().statistics().never_executed, before + 2);
    EXPECT_EQ(text(), "");
    child.reset();
    // The runtime can run again.
    EXPECT_FALSE(run([&] { log("again"); }));
    EXPECT_EQ(text(), "again");
}

TEST_F(ScopeHandle, LivesOnIntoTheNextRun) {
    std::optional<Scope> scope;
    run([&] { scope.emplace(); });
    run([&] {
        EXPECT_TRUE(scope->core().is_open());
        scope->spawn([&] { log("second run"); }).await();
        scope.reset();
    });
    EXPECT_EQ(text(), "second run");
}

TEST(ScopeOutlivingItsRuntime, IsInert) {
    std::optional<Scope> root;
    std::optional<Scope> inherited;
    ScopeRef ref;
    {
        Program program;
        program.run([&] {
            root.emplace();
            inherited.emplace(Scope::inherited());
            ref = root->inherit();
            root->finally([](const ScopeRef&) {});
        });
    }
    EXPECT_TRUE(root->core().is_terminated());
    EXPECT_TRUE(inherited->core().is_terminated());
    root->cancel();
    EXPECT_TRUE(root->is_finished());
    inherited.reset();
    root.reset();
    EXPECT_TRUE(ref.is_closed());
}

TEST_F(ScopeHandle, ReleasedDuringTerminalUnwindingStartsNothing) {
    ScopeRef ref;
    const ErrorValue exit = run([&] {
        spawn([&] {
            Scope scope;
            ref = scope;
            scope.finally([&](const ScopeRef&) { log("never"); });
            for (;;) { static_cast<void>(caught([] { wait_forever(); })); }
        });
    });
    EXPECT_TRUE(holds<DeadlockError>(exit));
    EXPECT_TRUE(ref.core().is_terminated());
    EXPECT_EQ(text(), "");
    EXPECT_EQ(program_.runtime().statistics().never_executed, 1U);
}

TEST_F(ScopeHandle, IsAnEventThatEndsWithTheScope) {
    run([&] {
        Scope scope;
        const auto member = scope.spawn([] { yield(); });
        Listener done(scope.core(), [&](EventSource&, const Outcome& outcome) {
            EXPECT_FALSE(outcome.has_value);
            log("drained");
        });
        Outcome outcome;
        EXPECT_FALSE(scope.core().replay(outcome));
        member.await();
        EXPECT_TRUE(scope.core().replay(outcome));
        EXPECT_FALSE(scope.core().is_closed());
        done.leave();
        scope.dispose();
        EXPECT_TRUE(scope.core().is_closed());
    });
    EXPECT_EQ(text().substr(0, 7), "drained");
}

TEST_F(ScopeHandle, ItsHandlersMayOwnOtherScopes) {
    run([&] {
        auto inner = std::make_shared<Scope>();
        const ScopeRef inner_ref = *inner;
        Scope outer;
        outer.set_exception_handler([inner](const ScopeRef&, const CoroutineHandle&, const ErrorValue&) {});
        inner.reset();
        EXPECT_FALSE(inner_ref.core().is_terminated());
        outer.release();
        EXPECT_TRUE(inner_ref.core().is_terminated());  // SCP-23: handlers are released
    });
}

TEST_F(ScopeHandle, ManyCanBeMadeAndLeft) {
    run([&] {
        for (int i = 0; i < 1000; ++i) {
            Scope scope;
            scope.spawn([] {});
        }
    });
    EXPECT_EQ(scheduler().root_scopes().size(), 2U);  // the main scope and the scheduler's own
}

}  // namespace
}  // namespace heddle::testing
