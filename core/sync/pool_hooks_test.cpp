// SPDX-License-Identifier: Apache-2.0
// Pool: callbacks that suspend, throw, are cancelled, or call the pool (docs/spec/10-pool.md, 10.2).
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/testing/pool_world.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class PoolHooksTest : public ::testing::Test, protected PoolWorld {
protected:
    /// A factory that suspends, and throws while `failing_` counts down.
    PoolOptions<Thing> slow(std::int64_t max, std::int64_t min = 0) {
        PoolOptions<Thing> options = of(max, min);
        options.factory = [this]() -> std::optional<Thing> {
            ++making_;
            most_ = std::max(most_, making_);
            const AtExit done([this] { --making_; });
            sleep_for(5ms);
            if (failing_ > 0 && failing_-- > 0) { throw Failure("factory"); }
            return Thing{++made_};
        };
        return options;
    }

    int making_ = 0;
    int most_ = 0;
    int failing_ = 0;
};

using Numbers = std::vector<int>;

// ── creating ──

TEST_F(PoolHooksTest, TakesThePlaceBeforeItCreates) {  // POOL-26, `024`, BUG-065, INV-POOL-02
    run([&] {
        const Pool<Thing> pool(slow(3));
        std::vector<Coroutine<>> all;
        for (int i = 0; i < 10; ++i) { all.push_back(user(pool, "u")); }
        yield();
        EXPECT_EQ(books(pool), "0/3/0");
        EXPECT_EQ(pool.waiting_count(), 7U);
        for (const auto& one : all) { one.await(); }
    });
    EXPECT_EQ(made_, 3);
    EXPECT_EQ(most_, 3);
}

TEST_F(PoolHooksTest, WakesTheNextWaiterWhenTheFactoryFails) {  // POOL-26, 10.12 example 4, BUG-063, INV-POOL-17
    run([&] {
        const Pool<Thing> pool(slow(1));
        failing_ = 2;
        auto a = user(pool, "A");
        auto b = user(pool, "B");
        auto c = user(pool, "C");
        c.await();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "A:factory B:factory C=1");
}

TEST_F(PoolHooksTest, FreesThePlaceWhenItsCreatorIsCancelled) {  // POOL-15, INV-POOL-17, INV-POOL-23
    run([&] {
        const Pool<Thing> pool(slow(1));
        auto a = user(pool, "A");
        auto b = user(pool, "B");
        yield();
        a.cancel("gone");
        EXPECT_EQ(books(pool), "0/1/0");  // until it runs
        b.await();
    });
    EXPECT_EQ(text(), "A:gone B=1");
    EXPECT_EQ(made_, 1);
}

TEST_F(PoolHooksTest, SaysSoWhenTheFactoryMakesNothing) {  // A7, POOL-33
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.factory = [] { return std::nullopt; };
        const Pool<Thing> pool(std::move(options));
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "nothing made");
        EXPECT_FALSE(pool.try_acquire());
        EXPECT_EQ(books(pool), "0/0/0");
    });
}

TEST_F(PoolHooksTest, LetsAThrowingFactoryThroughTryAcquire) {  // POOL-33, `017`
    run([&] {
        const Pool<Thing> pool(slow(1));
        failing_ = 1;
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.try_acquire()); }), "factory");
        EXPECT_EQ(books(pool), "0/0/0");
    });
}

TEST_F(PoolHooksTest, DestroysWhatIsMadeForAClosedPool) {  // POOL-67, INV-POOL-18
    run([&] {
        const Pool<Thing> pool(slow(2));
        auto a = user(pool, "A");
        auto b = spawn([&] { log(pool.try_acquire() ? "B" : "B:none"); });
        yield();
        pool.close();
        EXPECT_EQ(books(pool), "0/2/0");
        a.await(), b.await();
        EXPECT_EQ(books(pool), "0/0/0");
    });
    EXPECT_EQ(text(), "A:closed B:none");
    EXPECT_EQ(destroyed_, Numbers({1, 2}));
}

TEST_F(PoolHooksTest, MakesItsFirstOnesBeforeItExistsOrNoneAtAll) {  // POOL-17 to POOL-19, `025`, `050`
    run([&] {
        const Pool<Thing> pool(slow(3, 2));
        EXPECT_EQ(books(pool), "2/0/0");
        PoolOptions<Thing> second = of(3, 3);
        second.factory = [this]() -> std::optional<Thing> {
            if (made_ == 4) { throw Failure("third"); }
            return Thing{++made_};
        };
        EXPECT_EQ(outcome([&] { Pool<Thing> none(std::move(second)); }), "third");
        EXPECT_EQ(destroyed_, Numbers({3, 4}));
        PoolOptions<Thing> third = of(3, 3);
        third.factory = [n = 0]() mutable { return ++n == 2 ? std::nullopt : std::optional(Thing{100 + n}); };
        const Pool<Thing> fewer(std::move(third));
        EXPECT_EQ(books(fewer), "2/0/0");
    });
}

TEST_F(PoolHooksTest, LeavesNothingBehindACancelledCreation) {  // POOL-18
    run([&] {
        auto maker = spawn([&] { log(outcome([&] { const Pool<Thing> pool(slow(3, 3)); })); });
        sleep_for(7ms);
        maker.cancel("enough");
        maker.await();
    });
    EXPECT_EQ(text(), "enough");
    EXPECT_EQ(destroyed_, Numbers({1}));
}

// ── before_acquire ──

TEST_F(PoolHooksTest, CountsAResourceInsideAHook) {  // POOL-07, POOL-35, 10.11, `056`, BUG-064
    run([&] {
        PoolOptions<Thing> options = of(1, 1);
        options.before_acquire = [this](Thing&) {
            log("hook");
            sleep_for(5ms);
            return true;
        };
        const Pool<Thing> pool(std::move(options));
        auto a = user(pool, "A");
        auto b = user(pool, "B");
        yield();
        EXPECT_EQ(books(pool), "0/1/0");
        EXPECT_EQ(pool.waiting_count(), 1U);
        b.await();
    });
    EXPECT_EQ(text(), "hook A=1 hook B=1");
    EXPECT_EQ(made_, 1);
}

TEST_F(PoolHooksTest, KeepsTheTurnOfWhoseResourceWasRejected) {  // POOL-09, POOL-27
    run([&] {
        PoolOptions<Thing> options = of(2, 2);
        options.before_acquire = [this](Thing& thing) {
            log("?" + std::to_string(thing.number));
            yield();
            if (thing.number == 2) { throw Failure("a throw is a rejection"); }
            return false;
        };
        const Pool<Thing> pool(std::move(options));
        auto a = user(pool, "A");
        a.await();
    });
    EXPECT_EQ(text(), "?1 ?2 A=3");  // a fresh one is not asked about
    EXPECT_EQ(destroyed_, Numbers({1, 2, 3}));
}

TEST_F(PoolHooksTest, PutsANewcomerBehindWhomItsHookRejects) {  // POOL-27, max 1
    run([&] {
        PoolOptions<Thing> options = of(1, 1);
        options.before_acquire = [](Thing& thing) {
            yield();
            return thing.number != 1;
        };
        options.destructor = [this](Thing& thing) {
            yield();
            destroyed_.push_back(thing.number);
        };
        const Pool<Thing> pool(std::move(options));
        auto a = user(pool, "A");
        auto b = user(pool, "B");
        b.await();
    });
    EXPECT_EQ(text(), "A=2 B=2");
}

TEST_F(PoolHooksTest, DestroysWhatACancelledHookHeldAndWakesTheNext) {  // POOL-15, BUG-067, INV-POOL-23
    run([&] {
        PoolOptions<Thing> options = of(1, 1);
        options.before_acquire = [](Thing&) {
            sleep_for(3ms);
            return true;
        };
        const Pool<Thing> pool(std::move(options));
        for (int i = 0; i < 3; ++i) {
            auto a = user(pool, "A");
            auto b = user(pool, "B");
            yield();
            a.cancel("gone");
            b.await();
            EXPECT_EQ(books(pool), "1/0/0");
        }
    });
    EXPECT_EQ(text(), "A:gone B=2 A:gone B=3 A:gone B=4");
    EXPECT_EQ(destroyed_, Numbers({1, 2, 3, 4}));
}

TEST_F(PoolHooksTest, LetsTheDestructorOfARejectedOneThrowWithItsPlaceGivenUp) {  // A6
    run([&] {
        PoolOptions<Thing> options = of(1, 1);
        options.before_acquire = [](Thing&) { return false; };
        options.destructor = [this](Thing& thing) {
            destroyed_.push_back(thing.number);
            if (thing.number == 1) { throw Failure("destructor"); }
        };
        const Pool<Thing> pool(std::move(options));
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "destructor");
        EXPECT_EQ(books(pool), "0/0/0");
        user(pool, "A").await();
    });
    EXPECT_EQ(text(), "A=2");
}

TEST_F(PoolHooksTest, GivesNothingOutThatWasAcceptedForAClosedPool) {  // A6, POOL-13: the hook itself closes it
    run([&] {
        std::optional<Pool<Thing>> pool;
        PoolOptions<Thing> options = of(2, 2);
        options.before_acquire = [&](Thing&) {
            pool->close();
            return true;
        };
        options.destructor = [this](Thing& thing) {
            destroyed_.push_back(thing.number);
            if (thing.number == 1) { throw Failure("destructor"); }
        };
        pool.emplace(std::move(options));
        const ErrorValue error = caught([&] { static_cast<void>(pool->acquire()); });
        ASSERT_TRUE(holds<PoolError>(error));
        try {
            error.rethrow();
        } catch (const PoolError& closed) {
            EXPECT_EQ(closed.reason(), PoolError::Reason::closed);
            EXPECT_EQ(message(closed.cause()), "destructor");  // CV-20
        }
        EXPECT_EQ(books(*pool), "0/0/0");
    });
    EXPECT_EQ(destroyed_, Numbers({2, 1}));
}

TEST_F(PoolHooksTest, MayAskItsOwnPool) {  // POOL-13, CV-09
    run([&] {
        std::optional<Pool<Thing>> pool;
        Lease<Thing> other;
        PoolOptions<Thing> options = of(2, 2);
        options.before_acquire = [&](Thing& thing) {
            if (thing.number == 1) { return true; }
            EXPECT_EQ(books(*pool), "0/2/0");
            EXPECT_FALSE(pool->try_acquire());
            other.release();
            EXPECT_EQ(books(*pool), "1/1/0");
            other = pool->try_acquire();
            return true;
        };
        pool.emplace(std::move(options));
        other = pool->acquire();
        Lease<Thing> mine = pool->acquire();
        EXPECT_EQ(mine->number, 2);
        EXPECT_EQ(other->number, 1);
        mine.release(), other.release();
    });
    EXPECT_EQ(made_, 2);
}

TEST_F(PoolHooksTest, LeavesAnIdleResourceToWhomItWasPromised) {  // 10.12 example 5, POOL-04, INV-POOL-28
    run([&] {
        const Ref<OneShotEvent> fails = OneShotEvent::make(scheduler(), "fails");
        PoolOptions<Thing> options = of(2);
        options.factory = [&, this]() -> std::optional<Thing> {
            if (made_ == 1 && !fails->is_closed()) {
                wait_for(*fails);
                throw Failure("factory");
            }
            return Thing{++made_};
        };
        const Pool<Thing> pool(std::move(options));
        Lease<Thing> held = pool.acquire();
        auto b = spawn([&] {
            log(outcome([&] { static_cast<void>(pool.acquire()); }));
            EXPECT_EQ(books(pool), "1/0/1");  // C was promised a place, and has not run
            Lease<Thing> newcomer = pool.acquire();
            log("N=" + std::to_string(newcomer->number));
            newcomer.release();
        });
        auto c = user(pool, "C");
        yield();
        fails->complete();
        held.release();
        c.await(), b.await();
    });
    EXPECT_EQ(text(), "factory N=2 C=1");
}

// ── before_release ──

TEST_F(PoolHooksTest, DestroysARejectedResourceAndWakesOneWaiter) {  // 10.12 example 3, POOL-07, POOL-37, `054`
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.before_release = [](Thing& thing, PoolReturn) { return thing.number > 1; };
        options.destructor = [this](Thing& thing) {
            sleep_for(5ms);
            destroyed_.push_back(thing.number);
        };
        const Pool<Thing> pool(std::move(options));
        Lease<Thing> held = pool.acquire();
        auto waiter = user(pool, "W");
        auto releaser = spawn([&] { held.release(); });
        yield();
        auto newcomer = user(pool, "N");
        yield();
        EXPECT_EQ(books(pool), "0/1/0");  // its destructor keeps the place
        newcomer.await();
    });
    EXPECT_EQ(text(), "W=2 N=2");
}

TEST_F(PoolHooksTest, GoesOnReleasingWhenItsHookIsCancelled) {  // POOL-15, R5
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.before_release = [](Thing&, PoolReturn) {
            sleep_for(5ms);
            return true;
        };
        const Pool<Thing> pool(std::move(options));
        Lease<Thing> held = pool.acquire();
        auto releaser = spawn([&] { log(outcome([&] { held.release(); })); });
        auto waiter = user(pool, "W");
        yield();
        releaser.cancel("stop");
        waiter.await();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "stop W=2");
    EXPECT_EQ(destroyed_.front(), 1);
}

TEST_F(PoolHooksTest, KeepsTheResourceOfAReleaseUnderProtection) {  // POOL-40
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.before_release = [](Thing&, PoolReturn) {
            yield();
            return true;
        };
        const Pool<Thing> pool(std::move(options));
        auto holder = spawn([&] {
            Lease<Thing> lease = pool.acquire();
            const ErrorValue ended = caught([] { wait_forever(); });
            cancel(current_coroutine(), CancelKind::forced, "again");
            log(outcome([&] { protect([&] { lease.release(); }); }));
        });
        yield();
        holder.cancel("stop");
        holder.await();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(made_, 1);
}

TEST_F(PoolHooksTest, ThrowsADestructorsErrorBehindTheBookkeeping) {  // R5, POOL-12
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.destructor = [](Thing&) { throw Failure("destructor"); };
        const Pool<Thing> pool(std::move(options));
        Lease<Thing> held = pool.acquire();
        auto waiter = user(pool, "W");
        yield();
        EXPECT_EQ(outcome([&] { held.discard(); }), "destructor");
        waiter.await();
    });
    EXPECT_EQ(text(), "W=2");
}

TEST_F(PoolHooksTest, PreservesTheExceptionInFlight) {  // POOL-16, INV-POOL-24, `057`
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.destructor = [](Thing&) { throw Failure("destructor"); };
        options.before_release = [](Thing&, PoolReturn) -> bool { throw Failure("hook"); };
        EXPECT_EQ(outcome([&] {
            const Pool<Thing> pool(std::move(options));
            const Lease<Thing> held = pool.acquire();
            throw Failure("in flight");
        }), "in flight");
        yield();
    });
    EXPECT_EQ(sunk_, std::vector<std::string>({"destructor"}));
}

TEST_F(PoolHooksTest, IsUnwoundWithItsBooksClosed) {  // CV-09, SCH-72: a coroutine that is still inside a hook at the end of the run
    std::optional<Pool<Thing>> pool;
    const ErrorValue error = World::run([&] {
        PoolOptions<Thing> options = of(2, 1);
        options.before_acquire = [](Thing&) {
            while (true) {
                try {
                    wait_forever();
                } catch (const Cancellation&) { static_cast<void>(0); }  // it does not give up
            }
            return true;
        };
        pool.emplace(std::move(options));
        spawn([&] { static_cast<void>(pool->acquire()); });
        yield();
        shutdown();
    });
    EXPECT_TRUE(holds<DeadlockError>(error));
    EXPECT_EQ(books(*pool), "0/0/0");
    EXPECT_EQ(destroyed_, Numbers({}));  // no user code while it unwinds
    pool.reset();
    EXPECT_EQ(destroyed_, Numbers({1}));
}

TEST_F(PoolHooksTest, MayCloseFromWhereNothingCanSuspend) {  // POOL-71, CV-18
    run([&] {
        PoolOptions<Thing> options = of(2, 2);
        options.destructor = [this](Thing& thing) {
            destroyed_.push_back(thing.number);
            if (thing.number == 1) { yield(); }  // AsyncError: it counts as its throw
        };
        const Pool<Thing> pool(std::move(options));
        in_next_tick([&] { log(holds<AsyncError>(caught([&] { pool.close(); })) ? "refused" : "closed"); });
        yield();
        EXPECT_EQ(books(pool), "0/0/0");
    });
    EXPECT_EQ(text(), "refused");
    EXPECT_EQ(destroyed_, Numbers({1, 2}));
}

TEST_F(PoolHooksTest, AcceptsWhereNobodyIsAsked) {  // POOL-14: no hook, no destructor
    run([&] {
        PoolOptions<Thing> options = of(2);
        options.destructor = {};
        const Pool<Thing> pool(std::move(options));
        Lease<Thing> a = pool.acquire();
        Lease<Thing> b = pool.acquire();
        a.release();
        b.release();
        Lease<Thing> again = pool.acquire();
        EXPECT_EQ(again->number, 1);
        again.discard();
        EXPECT_EQ(books(pool), "1/0/0");
        pool.close();
        EXPECT_EQ(books(pool), "0/0/0");
    });
    EXPECT_EQ(made_, 2);
    EXPECT_EQ(destroyed_, Numbers({}));
}

TEST_F(PoolHooksTest, OwnsWhatIsIdleAndLetsGoOfItOnce) {  // POOL-41, POOL-79, `067`
    run([&] {
        const Pool<std::shared_ptr<int>> pool({.max = 1, .factory = [&] { return std::make_shared<int>(7); }});
        Lease<std::shared_ptr<int>> lease = pool.acquire();
        const std::weak_ptr<int> seen = *lease;
        lease.release();
        EXPECT_EQ(seen.use_count(), 1);  // the ring's alone, and alive
        lease = pool.acquire();
        EXPECT_EQ(lease->get(), seen.lock().get());
        const std::shared_ptr<int> kept = *lease;
        lease.discard();
        EXPECT_EQ(kept.use_count(), 1);  // what the pool destroyed was its reference
        EXPECT_EQ(*kept, 7);
        pool.acquire().release();
        pool.close();
    });
}

TEST_F(PoolHooksTest, ClosingAgainReturnsAtOnceWhileTheFirstIsStillDestroying) {  // POOL-64, `013`
    run([&] {
        PoolOptions<Thing> options = of(2, 2);
        options.destructor = [this](Thing& thing) {
            sleep_for(5ms);
            destroyed_.push_back(thing.number);
        };
        const Pool<Thing> pool(std::move(options));
        auto first = spawn([&] { pool.close(); });
        yield();
        const Instant begin = now();
        pool.close();
        EXPECT_EQ(now(), begin);
        EXPECT_EQ(destroyed_, Numbers({}));
        first.await();
    });
    EXPECT_EQ(destroyed_, Numbers({1, 2}));
}

}  // namespace
}  // namespace heddle
