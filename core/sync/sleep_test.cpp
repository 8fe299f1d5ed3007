// SPDX-License-Identifier: Apache-2.0
// Sleeping and timeouts (AWT-9 to AWT-11, TMO-01 to TMO-05, INV-RCT-12, INV-AWAIT-04).
#include "heddle/core/sync/sleep.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/await.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class SleepTest : public ::testing::Test, protected World {
protected:
    [[nodiscard]] Duration time() { return reactor().now() - Instant{}; }
    [[nodiscard]] Duration true_time() { return reactor().true_time() - Instant{}; }
};

using Sleep = SleepTest;

TEST_F(Sleep, LastsAtLeastAsLongAsItSays) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            sleep_for(10ms);
            EXPECT_EQ(program.reactor().now() - Instant{}, 10ms);
            program.reactor().pass_time(25ms);  // computed, without the clock noticing
            sleep_for(10ms);
            EXPECT_GE(program.reactor().true_time() - Instant{}, 45ms);  // AWT-9: never early
            sleep_for(1ns);
            EXPECT_EQ((program.reactor().now() - Instant{}) % 1ms, 0ms);  // RCT-24
        });
        EXPECT_EQ(program.reactor().open_sources(), 0U);
    });
}

TEST_F(Sleep, OfZeroYieldsOnce) {
    run([&] {
        spawn([&] { log("other"); });
        sleep_for(0ms);
        log("main");
        EXPECT_EQ(time(), 0ms);
        EXPECT_THROW(sleep_for(-1ms), ValueError);
    });
    EXPECT_EQ(text(), "other main");
    EXPECT_THROW(sleep_for(1ms), AsyncError);  // outside a coroutine
}

TEST_F(Sleep, EqualDeadlinesEndInTheOrderOfArming) {
    run([&] {
        for (const char* name : {"a", "b", "c"}) {
            spawn([this, name] {
                sleep_for(10ms);
                log(name);
            });
        }
        spawn([this] {
            sleep_for(5ms);
            log("first");
        });
    });
    EXPECT_EQ(text(), "first a b c");  // TMO-05
}

TEST_F(Sleep, IsEndedByACancellationAndLeavesNoTimer) {
    run([&] {
        const auto c = spawn([&] { log_caught([] { sleep_for(10s); }); });
        yield();
        EXPECT_EQ(reactor().active_events(), 1U);
        c.cancel("r");
        EXPECT_EQ(reactor().active_events(), 0U);
        c.await();
        EXPECT_EQ(reactor().open_sources(), 0U);
    });
    EXPECT_LT(time(), 1s);
}

TEST_F(Sleep, UntilAnInstantOrAtOnceIfItHasPassed) {
    run([&] {
        sleep_until(Instant(Duration(30ms).count()));
        EXPECT_EQ(time(), 30ms);
        spawn([&] { log("other"); });
        sleep_until(Instant(Duration(10ms).count()));
        log("main");
        EXPECT_EQ(time(), 30ms);
    });
    EXPECT_EQ(text(), "other main");
}

TEST_F(Sleep, IsRefusedInACallback) {
    run([&] {
        in_next_tick([&] {
            EXPECT_THROW(sleep_for(1ms), AsyncError);
            EXPECT_EQ(reactor().open_sources(), 0U);
            log("refused");
        });
        yield();
    });
    EXPECT_EQ(text(), "refused");
}

// ── timeouts ──

using TimeoutOf = SleepTest;

TEST_F(TimeoutOf, NothingOrLessIsRefused) {
    run([&] {
        EXPECT_THROW(Timeout(0ms), ValueError);  // TMO-01
        EXPECT_THROW(Timeout(-1ms), ValueError);
    });
    EXPECT_THROW(Timeout(1ms), AsyncError);
}

TEST_F(TimeoutOf, AwaitedItselfItThrowsItsError) {
    run([&] {
        const Timeout timeout(10ms);
        EXPECT_FALSE(timeout.is_completed());
        EXPECT_TRUE(holds<TimeoutError>(caught([&] { timeout.await(); })));
        EXPECT_EQ(time(), 10ms);
        EXPECT_TRUE(timeout.is_completed());
        EXPECT_FALSE(timeout.is_cancelled());
        const ErrorValue first = caught([&] { timeout.await(); });
        EXPECT_TRUE(caught([&] { timeout.await(); }).same_error(first));  // settled: the same again, at once
        EXPECT_EQ(time(), 10ms);
        timeout.cancel();  // too late
        EXPECT_FALSE(timeout.is_cancelled());
    });
}

TEST_F(TimeoutOf, CountsFromTheFirstWaitOnIt) {
    run([&] {
        const Timeout timeout(20ms);
        EXPECT_EQ(reactor().open_sources(), 0U);  // TMO-03: nothing runs before
        sleep_for(50ms);
        reactor().pass_time(30ms);  // stale by 30 ms when the wait begins
        EXPECT_TRUE(holds<TimeoutError>(caught([&] { timeout.await(); })));
        EXPECT_EQ(true_time(), 100ms);  // TMO-02
    });
}

TEST_F(TimeoutOf, LaterWaitsDoNotExtendIt) {
    run([&] {
        const Timeout timeout(30ms);
        const Ref<OneShotEvent> quick = OneShotEvent::make(scheduler());
        const Ref<OneShotEvent> never = OneShotEvent::make(scheduler());
        spawn([&] {
            sleep_for(10ms);
            quick->complete();
        });
        await_event(quick, timeout);  // armed at 0, left at 10
        EXPECT_EQ(reactor().active_events(), 0U);  // AWT-11
        sleep_for(10ms);
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { await_event(never, timeout); })));
        EXPECT_EQ(time(), 30ms);
    });
}

TEST_F(TimeoutOf, ADeadlineThatPassedMeanwhileCountsAsFired) {
    run([&] {
        const Timeout timeout(30ms);
        const Ref<OneShotEvent> quick = OneShotEvent::make(scheduler());
        const Ref<OneShotEvent> never = OneShotEvent::make(scheduler());
        spawn([&] { quick->complete(); });
        await_event(quick, timeout);
        sleep_for(50ms);
        EXPECT_FALSE(timeout.is_completed());
        const std::uint64_t before = program_.switches();
        const ErrorValue thrown = caught([&] { await_event(never, timeout); });
        EXPECT_TRUE(holds<OperationCanceled>(thrown));
        EXPECT_TRUE(holds<TimeoutError>(thrown.previous()));
        EXPECT_EQ(program_.switches(), before);  // without yielding
        EXPECT_TRUE(timeout.is_completed());
        EXPECT_TRUE(holds<TimeoutError>(caught([&] { timeout.await(); })));
    });
}

TEST_F(TimeoutOf, AsATokenItIsTheCause) {
    run([&] {
        const auto slow = spawn([] { sleep_for(1s); });
        const Timeout timeout(10ms);
        const ErrorValue thrown = caught([&] { await(slow, timeout); });
        EXPECT_TRUE(holds<OperationCanceled>(thrown));
        EXPECT_TRUE(holds<TimeoutError>(thrown.previous()));
        EXPECT_EQ(time(), 10ms);
        EXPECT_FALSE(slow.is_completed());
        slow.cancel();
    });
}

TEST_F(TimeoutOf, ThatLostItsRaceIsDisarmed) {
    run([&] {
        const auto quick = spawn([] { yield(); });
        const Timeout timeout(10s);
        await(quick, timeout);
        EXPECT_EQ(reactor().active_events(), 0U);
        EXPECT_EQ(reactor().open_sources(), 0U);
        EXPECT_FALSE(timeout.is_completed());
    });
    EXPECT_LT(time(), 1s);
}

TEST_F(TimeoutOf, DisarmedWhileSomebodyWaitsWithItWakesNobody) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            // AWT-10: it was a token; the wait goes on without a bound.
            const Timeout timeout(10ms);
            const Ref<OneShotEvent> target = OneShotEvent::make(program.scheduler());
            const auto waiter = spawn([&] { program.log(std::to_string(await_event(target, timeout).value)); });
            const auto combined = spawn([&] {
                EventSource* const inputs[] = {target.get()};
                program.log(std::to_string(await_collect(inputs, {}, timeout).outcomes.front().value));
            });
            const auto awaits_itself = spawn([&] { program.log(message(caught([&] { timeout.await(); }))); });
            yield();
            timeout.cancel();
            timeout.cancel();  // idempotent
            EXPECT_TRUE(timeout.is_completed());
            EXPECT_TRUE(timeout.is_cancelled());
            EXPECT_EQ(program.reactor().active_events(), 0U);
            sleep_for(50ms);
            program.log("still waiting");
            target->complete(7);
            waiter.await();
            combined.await();
            static_cast<void>(awaits_itself);
        });
        EXPECT_EQ(program.text(), "the timeout was disarmed still waiting 7 7");
    });
}

TEST_F(TimeoutOf, DisarmedBeforeItHasNoEffectAsAToken) {
    run([&] {
        const Timeout timeout(10ms);
        timeout.cancel();
        const auto slow = spawn([] {
            sleep_for(50ms);
            return 3;
        });
        EXPECT_EQ(await(slow, timeout), 3);
        EXPECT_EQ(await(slow, Token(timeout.event())), 3);
        const Ref<OneShotEvent> target = OneShotEvent::make(scheduler());
        spawn([&] {
            sleep_for(10ms);
            target->complete(4);
        });
        EXPECT_EQ(await_event(target, Token(timeout.event())).value, 4);  // named as an event, too
        // As an input it is what it is: over, with a cancellation.
        EventSource* const inputs[] = {&timeout.event()};
        EXPECT_TRUE(await_collect(inputs, {}, Token(timeout.event())).outcomes.front().error.is_cancellation());
        Scope scope;
        const auto member = scope.spawn([] { sleep_for(10ms); });
        scope.await_completion(timeout.event());
        EXPECT_TRUE(member.is_completed());
        EXPECT_TRUE(holds<AsyncCancellation>(caught([&] { timeout.await(); })));
    });
}

TEST_F(TimeoutOf, BoundsTheWaitForAScope) {
    run([&] {
        Scope scope;
        scope.spawn([] { wait_forever(); });
        const Timeout timeout(10ms);
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { scope.await_completion(timeout.event()); })));
        EXPECT_EQ(time(), 10ms);
        scope.cancel();
        yield();
    });
}

TEST_F(TimeoutOf, SharedByTwoWaitsStaysArmedForTheOther) {
    run([&] {
        const Timeout timeout(20ms);
        const Ref<OneShotEvent> never = OneShotEvent::make(scheduler());
        std::vector<Coroutine<>> waiters;
        for (int i = 0; i < 3; ++i) {
            waiters.push_back(spawn([&] {
                const ErrorValue thrown = caught([&] { await_event(never, timeout); });
                log(std::to_string(time() / 1ms) + ":" + message(thrown));
            }));
        }
        yield();
        EXPECT_EQ(reactor().active_events(), 1U);
        waiters[0].cancel("r");
        EXPECT_EQ(reactor().active_events(), 1U);
        for (const auto& waiter : waiters) { waiter.await(); }
    });
    EXPECT_EQ(text(), "0:r 20:the token fired 20:the token fired");
}

TEST_F(TimeoutOf, ItsLastCopyMayGoWhileItIsWaitedFor) {
    run([&] {
        const Ref<OneShotEvent> never = OneShotEvent::make(scheduler());
        {
            auto timeout = std::make_unique<Timeout>(10ms);
            const auto waiter = spawn([&] { EXPECT_TRUE(holds<OperationCanceled>(caught([&] { await_event(never, *timeout); }))); });
            yield();
            timeout.reset();
            waiter.await();
        }
        EXPECT_EQ(reactor().open_sources(), 0U);
    });
}

TEST_F(TimeoutOf, MadeInOneRunCountsInTheNext) {
    std::optional<Timeout> timeout;
    run([&] { timeout.emplace(10ms); });
    run([&] {
        EXPECT_TRUE(holds<TimeoutError>(caught([&] { timeout->await(); })));
        timeout.reset();
    });
}

}  // namespace
}  // namespace heddle::testing
