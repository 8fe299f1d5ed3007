// SPDX-License-Identifier: Apache-2.0
// Requests on scopes and their cascade, dispose_after_timeout (SCP-15 to SCP-20, SCP-22, S3 to S5, S13, INV-SCOPE-06 to 08, 13).
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
        EXPECT_FALSE(parent.is_cancelled());  // SCP-10
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

TEST_F(ScopeTimeout, IsNotArmedOnAClosedScope) {
    run([&] {
        Scope scope;
        const auto a = waits(scope, "a");
        yield();
        scope.dispose_safely();
        scope.dispose_after_timeout(5ms);
        EXPECT_EQ(reactor().active_events(), 0U);
        pause_for(10ms);
        EXPECT_FALSE(a.is_cancellation_requested());
        a.cancel("at last");
        a.await();
    });
    EXPECT_EQ(text(), "a:at last");
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

}  // namespace
}  // namespace heddle::testing
