// SPDX-License-Identifier: Apache-2.0
// Scopes: structure, flags, and spawning into one that is not open (SCP-1 to SCP-14, INV-SCOPE-01 to 05, 14).
#include "heddle/core/run/scope.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class ScopeTest : public ::testing::Test, protected World {
protected:
    /// A member that waits until it is cancelled, and says so.
    auto waits(const ScopeRef& scope, std::string name) {
        return scope.spawn([this, name] { log(name + ":" + message(caught([] { wait_forever(); }))); });
    }
};

using ScopeStructure = ScopeTest;

TEST_F(ScopeStructure, AMemberBelongsToOneScopeForLifeAndItsChildrenToTheSame) {
    run([&] {
        Scope scope;
        scope.spawn([&] {
            EXPECT_EQ(current_scope(), ScopeRef(scope));  // SCP-3
            const auto indirect = spawn([&] { EXPECT_EQ(current_scope(), ScopeRef(scope)); });
            EXPECT_EQ(indirect.core().scope(), &scope.core());
        });
        EXPECT_EQ(scope.core().active(), 1U);
        yield();
        EXPECT_EQ(scope.core().active(), 1U);  // the indirect one
        yield();
        EXPECT_EQ(scope.core().active(), 0U);
    });
}

TEST_F(ScopeStructure, ListsLiveChildrenInCreationOrder) {
    run([&] {
        Scope parent;
        EXPECT_EQ(parent.core().parent(), nullptr);
        Scope a = parent.inherit();
        Scope b = parent.inherit();
        Scope c = parent.inherit();
        ASSERT_EQ(parent.child_scopes().size(), 3U);
        b.release();
        ASSERT_EQ(parent.child_scopes().size(), 2U);  // SCP-4: the live ones
        EXPECT_EQ(parent.child_scopes()[0], ScopeRef(a));
        EXPECT_EQ(parent.child_scopes()[1], ScopeRef(c));
        EXPECT_TRUE(parent.core().contains(c.core()));
        EXPECT_FALSE(c.core().contains(parent.core()));
        Scope of_current = Scope::inherited();
        EXPECT_EQ(of_current.core().parent(), scheduler().main_scope());
    });
}

TEST_F(ScopeStructure, CopiesItsParentsFlagAtCreationOnly) {
    run([&] {
        EXPECT_TRUE(current_scope().core().is_safe());  // SCP-5: the main scope is
        Scope root;
        EXPECT_FALSE(root.core().is_safe());
        Scope early = root.inherit();
        EXPECT_EQ(&root.allow_zombies(), static_cast<ScopeRef*>(&root));
        EXPECT_TRUE(root.core().is_safe());
        EXPECT_FALSE(early.core().is_safe());
        Scope late = root.inherit();
        EXPECT_TRUE(late.core().is_safe());
        EXPECT_EQ(&root.as_not_safely(), static_cast<ScopeRef*>(&root));
        EXPECT_FALSE(root.core().is_safe());
        EXPECT_TRUE(late.core().is_safe());
        Scope of_main = Scope::inherited();
        EXPECT_TRUE(of_main.core().is_safe());
    });
}

TEST_F(ScopeStructure, RefusesAChildOfATerminatedScopeAndAllowsOneOfACancelledScope) {
    run([&] {
        Scope scope;
        const auto member = scope.spawn([] { protect([] { yield(); }); });
        yield();
        scope.cancel();
        Scope child = scope.inherit();  // SCP-2: it starts open
        EXPECT_TRUE(child.core().is_open());
        const auto c = child.spawn([&] { log("ran"); });
        c.await();
        child.release();
        static_cast<void>(caught([&] { member.await(); }));
        EXPECT_TRUE(scope.core().is_terminated());
        EXPECT_THROW(static_cast<void>(scope.inherit()), AsyncError);
    });
    EXPECT_EQ(text(), "ran");
}

TEST_F(ScopeStructure, TheMainScopeIsNotForTheProgramToEnd) {
    run([&] {
        const ScopeRef main = current_scope();
        EXPECT_TRUE(main.core().is_main());
        EXPECT_THROW(main.cancel(), AsyncError);  // SCP-9
        EXPECT_THROW(main.dispose(), AsyncError);
        EXPECT_THROW(main.dispose_safely(), AsyncError);
        EXPECT_THROW(main.dispose_after_timeout(1ms), AsyncError);
        EXPECT_THROW(main.set_exception_handler({}), AsyncError);
        EXPECT_THROW(main.set_child_scope_exception_handler({}), AsyncError);
        EXPECT_TRUE(main.core().is_open());
    });
}

TEST_F(ScopeStructure, MayBeDeeperThanAnyStack) {
    run([&] {
        constexpr int depth = 20'000;
        Scope root;
        std::vector<Scope> chain;
        chain.push_back(root.inherit());
        for (int i = 1; i < depth; ++i) { chain.push_back(chain.back().inherit()); }
        const auto deepest = chain.back().spawn([&] { log_caught([] { wait_forever(); }); });
        const auto on_small_stack = spawn([&] {
            EXPECT_FALSE(root.is_finished());
            root.cancel();  // SCP-11
            static_cast<void>(caught([&] { deepest.await(); }));
        });
        yield();
        on_small_stack.await();
        yield();
        EXPECT_TRUE(root.core().is_terminated());
        EXPECT_TRUE(chain.back().core().is_terminated());
    });
    EXPECT_EQ(text(), "the scope was cancelled");
}

// ── flags (SCP-7, SCP-8) ──

using ScopeFlags = ScopeTest;

TEST_F(ScopeFlags, CancelOfAnEmptyScopeSetsBothAtOnce) {
    run([&] {
        Scope scope;
        scope.cancel();
        EXPECT_TRUE(scope.is_cancelled());
        EXPECT_TRUE(scope.is_closed());
        EXPECT_TRUE(scope.core().is_terminated());
        EXPECT_TRUE(scope.is_cancelled());  // SCP-8: keeps answering
        EXPECT_TRUE(scope.is_finished());
        scope.cancel();  // SCP-18: a no-op
        scope.dispose_after_timeout(1ms);
    });
}

TEST_F(ScopeFlags, CancelOfABusyScopeClosesItWhenItIsDrained) {
    run([&] {
        Scope scope;
        waits(scope, "a");
        yield();
        EXPECT_FALSE(scope.is_finished());
        scope.cancel();
        EXPECT_TRUE(scope.is_cancelled());
        EXPECT_FALSE(scope.is_closed());
        EXPECT_FALSE(scope.is_finished());  // a still unwinds
        yield();
        EXPECT_TRUE(scope.is_closed());
        EXPECT_TRUE(scope.is_finished());
    });
}

TEST_F(ScopeFlags, DisposeClosesAtOnce) {
    run([&] {
        for (int which = 0; which < 2; ++which) {
            Scope scope;
            waits(scope, "a");
            yield();
            which == 0 ? scope.dispose() : scope.dispose_safely();
            EXPECT_TRUE(scope.is_cancelled());
            EXPECT_TRUE(scope.is_closed());
            EXPECT_FALSE(scope.core().is_terminated());
            scope.cancel();
            scope.as_not_safely().cancel();  // the second scope's zombie
            yield();
            EXPECT_TRUE(scope.core().is_terminated());
        }
    });
}

TEST_F(ScopeFlags, AnErrorCancelsAndTheScopeClosesWhenItIsDrained) {
    run([&] {
        Scope scope;
        const auto other = waits(scope, "other");
        const auto failed = scope.spawn([] { throw Failure("E"); });
        const auto unstarted = scope.spawn([&] { log("never"); });
        yield();
        EXPECT_TRUE(failed.is_completed());
        EXPECT_TRUE(scope.is_cancelled());
        EXPECT_FALSE(scope.is_closed());
        yield();
        EXPECT_TRUE(scope.is_closed());
        EXPECT_TRUE(unstarted.is_cancelled());
        static_cast<void>(caught([&] { failed.await(); }));
    });
    EXPECT_EQ(text(), "other:a sibling failed");
}

TEST_F(ScopeFlags, ADrainedScopeIsClosedEvenWhileAnOpenChildKeepsIt) {
    run([&] {
        Scope scope;
        const auto member = waits(scope, "a");
        yield();
        scope.cancel();
        Scope child = scope.inherit();
        yield();
        EXPECT_TRUE(member.is_completed());
        EXPECT_TRUE(scope.is_closed());
        EXPECT_FALSE(scope.core().is_terminated());
        child.release();
        EXPECT_TRUE(scope.core().is_terminated());
    });
}

// ── spawning into a scope that is not open (SCP-12 to SCP-14) ──

using ScopeSpawn = ScopeTest;

TEST_F(ScopeSpawn, IsRefusedInACancelledClosedOrTerminatedScope) {
    run([&] {
        Scope cancelled;
        waits(cancelled, "a");
        yield();
        cancelled.cancel();
        EXPECT_THROW(cancelled.spawn([] {}), AsyncError);
        EXPECT_EQ(cancelled.core().active(), 1U);
        Scope closed;
        waits(closed, "b");
        closed.dispose_safely();
        EXPECT_THROW(closed.spawn([] {}), AsyncError);
        Scope terminated;
        terminated.dispose();
        EXPECT_THROW(terminated.spawn([] {}), AsyncError);
        SpawnOptions options;
        options.provider = [&] { return ScopeRef(closed); };
        EXPECT_THROW(spawn(options, [] {}), AsyncError);
        closed.as_not_safely().cancel();
        yield();
    });
}

TEST_F(ScopeSpawn, OfAZombieIntoItsClosedScopeMakesAZombie) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const auto zombie = scope.spawn([&] {
            yield();
            const auto born = spawn([&] {
                log("born");
                EXPECT_TRUE(current_coroutine().is_zombie());
            });
            EXPECT_TRUE(born.is_zombie());  // SCP-13
            EXPECT_EQ(scope.core().zombies(), 2U);
            EXPECT_EQ(scope.core().active(), 0U);
            EXPECT_THROW(scope.spawn([] {}), AsyncError);  // explicit: SCP-12
            born.await();
        });
        yield();
        scope.dispose();
        zombie.await();
        EXPECT_TRUE(scope.core().is_terminated());
    });
    EXPECT_EQ(text(), "born");
}

TEST_F(ScopeSpawn, OfAnotherMemberOfACancelledScopeIsRefused) {
    run([&] {
        Scope scope;
        const auto c = scope.spawn([&] {
            static_cast<void>(caught([] { wait_forever(); }));
            EXPECT_THROW(spawn([] {}), AsyncError);  // SCP-14
            Scope helper = Scope::inherited();       // clean-up that needs helpers makes a child scope
            helper.spawn([&] { log("helper"); }).await();
        });
        yield();
        scope.cancel();
        c.await();
    });
    EXPECT_EQ(text(), "helper");
}

}  // namespace
}  // namespace heddle::testing
