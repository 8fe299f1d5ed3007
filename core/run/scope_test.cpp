// SPDX-License-Identifier: Apache-2.0
// Scopes: structure, flags, requests, termination (SCP-1 to SCP-24, SCP-29, S3 to S5, S13, INV-SCOPE-01 to 09, 13, 14).
#include "heddle/core/run/scope.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

/// Stands for a channel: bound to a scope, it is closed by its requests.
class Resource final : public ScopeResource {
public:
    Resource(ScopeCore& scope, std::function<void()> closed) : scope_(&scope), closed_(std::move(closed)) { scope.bind(*this); }
    ~Resource() { scope_->unbind(*this); }
    void scope_requested(ScopeCore&) override { closed_(); }

private:
    Ref<ScopeCore> scope_;
    std::function<void()> closed_;
};

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
            EXPECT_EQ(current_scope(), ScopeRef(scope));
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
        ASSERT_EQ(parent.child_scopes().size(), 2U);
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
            EXPECT_TRUE(born.is_zombie());
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

// ── requests (SCP-15 to SCP-22) ──

using ScopeRequest = ScopeTest;

TEST_F(ScopeRequest, RefusesAReasonThatIsNoCancellation) {
    run([&] {
        Scope scope;
        EXPECT_THROW(scope.cancel(ErrorValue::make<Failure>("no")), ValueError);
        EXPECT_FALSE(scope.is_cancelled());
        EXPECT_THROW(scope.dispose_after_timeout(-1ms), ValueError);
    });
}

TEST_F(ScopeRequest, CancelReachesStartedMembersAndKeepsOthersFromStarting) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            // S3
            Scope scope;
            const ErrorValue reason = ErrorValue::make<AsyncCancellation>("reason");
            const auto a = scope.spawn([&] {
                const ErrorValue got = caught([] { yield(); });
                EXPECT_TRUE(got.same_error(reason));
                program.log("A");
            });
            yield();
            const auto b = scope.spawn([&] { program.log("never"); });
            scope.cancel(reason);
            yield();
            EXPECT_TRUE(b.is_completed());
            EXPECT_TRUE(b.error().same_error(reason));
        });
        EXPECT_EQ(program.text(), "A");
    });
}

TEST_F(ScopeRequest, DisposeOfASafeScopeLetsEverybodyRunOnAsZombies) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            // S4
            Scope scope;
            scope.allow_zombies();
            const auto a = scope.spawn([&] {
                yield();
                program.log("A");
            });
            yield();
            const auto b = scope.spawn([&] { program.log("B"); });
            scope.dispose();
            EXPECT_TRUE(a.is_zombie());
            EXPECT_TRUE(b.is_zombie());
            a.await();
            b.await();
            EXPECT_FALSE(a.is_cancelled());
        });
        EXPECT_EQ(program.text(), "A B");
    });
}

TEST_F(ScopeRequest, CancelOfASafeScopeStillKeepsOthersFromStarting) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const auto a = scope.spawn([&] {
            yield();
            log("A");
        });
        yield();
        const auto b = scope.spawn([&] { log("never"); });
        scope.cancel();
        EXPECT_TRUE(a.is_zombie());
        a.await();
        EXPECT_TRUE(b.is_cancelled());
    });
    EXPECT_EQ(text(), "A");
}

TEST_F(ScopeRequest, ReachesTheSubtreeAndNothingElse) {
    run([&] {
        // S5
        Scope parent;
        Scope c1 = parent.inherit();
        Scope c2 = parent.inherit();
        waits(parent, "p");
        waits(c1, "c1");
        waits(c2, "c2");
        yield();
        c1.cancel();
        EXPECT_FALSE(parent.is_cancelled());
        EXPECT_FALSE(c2.is_cancelled());
        yield();
        EXPECT_EQ(text(), "c1:the scope was cancelled");
        c2.cancel();
        parent.cancel();
        yield();
    });
}

TEST_F(ScopeRequest, CascadesChildrenBeforeMembersInCreationOrder) {
    run([&] {
        Scope parent;
        waits(parent, "p1");
        Scope a = parent.inherit();
        waits(a, "a");
        Scope deep = a.inherit();
        waits(deep, "deep");
        Scope b = parent.inherit();
        waits(b, "b");
        waits(parent, "p2");
        yield();
        parent.cancel(ErrorValue::make<AsyncCancellation>("r"));
        yield();
    });
    EXPECT_EQ(text(), "deep:r a:r b:r p1:r p2:r");  // SCP-16, SCP-17
}

TEST_F(ScopeRequest, ClosesBoundResourcesInBindingOrderAndSurvivesTheirErrors) {
    const ErrorValue exit = run([&] {
        Scope scope;
        Resource first(scope.core(), [&] {
            log("first");
            EXPECT_TRUE(scope.is_cancelled());  // flags come before
            throw Failure("E1");
        });
        std::optional<Resource> third;
        Resource second(scope.core(), [&] {
            log("second");
            third.reset();  // unbound by one before it
            throw AsyncCancellation("no error");
        });
        third.emplace(scope.core(), [&] { log("third"); });
        Resource last(scope.core(), [&] {
            log("last");
            EXPECT_THROW(yield(), AsyncError);
            throw Failure("E2");
        });
        waits(scope, "member");
        yield();
        EXPECT_NO_THROW(scope.cancel());
        static_cast<void>(caught([] { yield(); }));
    });
    EXPECT_EQ(text(), "first second last member:the scope was cancelled");
    EXPECT_EQ(chain(exit), "E2 < E1");
}

TEST_F(ScopeRequest, AMembersWaitForABoundResourceEndsWithItsErrorAndTheCancellationFollows) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            // S13, with a stand-in for the channel.
            Scope scope;
            const Ref<Bell> receive = Bell::make(program.scheduler());
            const Resource channel(scope.core(), [&] { receive->ring_error(ErrorValue::make<Failure>("closed")); });
            const auto a = scope.spawn([&] {
                program.log(message(caught([&] { wait_for(*receive); })));
                program.log(message(caught([] { yield(); })));
            });
            yield();
            scope.cancel(ErrorValue::make<AsyncCancellation>("r"));
            a.await();
        });
        EXPECT_EQ(program.text(), "closed r");
    });
}

TEST_F(ScopeRequest, OnADrainedScopeEndsItAtOnceAlsoBelowABusyOne) {
    run([&] {
        Scope parent;
        waits(parent, "p");
        Scope empty = parent.inherit();
        empty.finally([&](const ScopeRef&) { log("finally"); });
        Scope plain = parent.inherit();
        yield();
        parent.cancel();
        EXPECT_TRUE(plain.core().is_terminated());
        EXPECT_TRUE(empty.is_closed());
        yield();
        EXPECT_TRUE(empty.core().is_terminated());
    });
    EXPECT_EQ(text(), "finally p:the scope was cancelled");  // SCP-18
}

TEST_F(ScopeRequest, RepeatedIsAppliedToWhatIsLeft) {
    run([&] {
        Scope scope;
        scope.finally([&](const ScopeRef&) { log("finally"); });
        const auto a = waits(scope, "a");
        yield();
        scope.dispose_safely();
        EXPECT_TRUE(a.is_zombie());
        scope.dispose_safely();
        EXPECT_EQ(scope.core().zombies(), 1U);
        scope.cancel(ErrorValue::make<AsyncCancellation>("now"));  // SCP-22: forced, zombies too
        scope.cancel(ErrorValue::make<AsyncCancellation>("later"));
        EXPECT_EQ(text(), "");  // a second request runs no finally handler early
        a.await();
        yield();
    });
    EXPECT_EQ(text(), "a:now finally");
}

TEST_F(ScopeRequest, FromAMemberReachesItself) {
    run([&] {
        Scope scope;
        scope.spawn([&] {
            scope.cancel(ErrorValue::make<AsyncCancellation>("r"));
            log("still here");
            log_caught([] { yield(); });
        });
        yield();
    });
    EXPECT_EQ(text(), "still here r");  // CAN-12
}

TEST_F(ScopeRequest, AForcedOneHoldsForEveryMember) {
    run([&] {
        Scope scope;
        const auto finished = scope.spawn([] {});
        yield();
        const auto waiting = waits(scope, "w");
        const auto protected_one = scope.spawn([] { protect([] { wait_forever(); }); });
        const auto in_cleanup = scope.spawn([] {
            static_cast<void>(caught([] { wait_forever(); }));
            static_cast<void>(caught([] { wait_forever(); }));
        });
        yield();
        in_cleanup.cancel();
        yield();
        const auto unstarted = scope.spawn([] {});
        scope.cancel();
        // INV-SCOPE-07
        EXPECT_FALSE(finished.is_cancelled());
        EXPECT_TRUE(waiting.is_cancellation_requested());
        EXPECT_TRUE(protected_one.core().has_deferred_cancellation());
        EXPECT_EQ(unstarted.state(), CoroutineState::doomed);
        EXPECT_EQ(in_cleanup.state(), CoroutineState::ready);
        scheduler().remove_protection(protected_one.core());
        yield();
        EXPECT_TRUE(scope.core().is_terminated());
    });
}

// ── dispose_after_timeout (SCP-19) ──

using ScopeTimeout = ScopeTest;

TEST_F(ScopeTimeout, CancelsWhatIsLeftWhenItExpiresAndNothingBefore) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const auto a = waits(scope, "a");
        scope.dispose_after_timeout(20ms);
        EXPECT_TRUE(scope.core().is_open());  // spawning stays allowed until then
        EXPECT_EQ(reactor().active_events(), 1U);
        pause_for(10ms);
        const auto b = waits(scope, "b");
        yield();
        EXPECT_FALSE(a.is_zombie());
        a.await();
        EXPECT_EQ(reactor().now() - Instant{}, 20ms);
        b.await();
        EXPECT_TRUE(a.is_cancelled());  // forced, although the scope is safe
    });
    EXPECT_EQ(text(), "a:the scope's time has expired b:the scope's time has expired");
}

TEST_F(ScopeTimeout, IsDisarmedByAnEarlierEnd) {
    run([&] {
        Scope scope;
        scope.dispose_after_timeout(20ms);
        EXPECT_EQ(reactor().active_events(), 1U);  // armed on an empty scope, too
        scope.dispose();
        EXPECT_EQ(reactor().active_events(), 0U);
        Scope released;
        released.dispose_after_timeout(20ms);
        released.release();
        EXPECT_EQ(reactor().active_events(), 0U);
    });
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(ScopeTimeout, EndsAnEmptyScopeOfItsOwn) {
    run([&] {
        Scope scope;
        scope.finally([&](const ScopeRef&) { log("finally"); });
        scope.dispose_after_timeout(5ms);
        pause_for(10ms);
        EXPECT_TRUE(scope.core().is_terminated());
    });
    EXPECT_EQ(text(), "finally");
}

TEST_F(ScopeTimeout, AskedForAgainCountsFromTheLastCall) {
    run([&] {
        Scope scope;
        const auto a = waits(scope, "a");
        scope.dispose_after_timeout(5ms);
        scope.dispose_after_timeout(30ms);
        EXPECT_EQ(reactor().active_events(), 1U);
        a.await();
        EXPECT_EQ(reactor().now() - Instant{}, 30ms);
        scope.dispose_after_timeout(5ms);  // terminated: nothing
        EXPECT_EQ(reactor().active_events(), 0U);
    });
}

TEST_F(ScopeTimeout, IsMeasuredFromATimeThatIsNotStale) {
    run([&] {
        Scope scope;
        const auto a = waits(scope, "a");
        reactor().pass_time(50ms);  // computed, without a tick
        scope.dispose_after_timeout(20ms);
        a.await();
        EXPECT_GE(reactor().true_time() - Instant{}, 70ms);  // INV-SCOPE-13
    });
}

// ── handles and termination (SCP-21, SCP-23, SCP-24, SCP-29) ──

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
