// SPDX-License-Identifier: Apache-2.0
// Pool: capacity, turns, promises, leases, and closing, with callbacks that do nothing special (docs/spec/10-pool.md).
#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/context.hpp"
#include "heddle/core/sync/testing/pool_world.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class PoolTest : public ::testing::Test, protected PoolWorld {};

using Numbers = std::vector<int>;

TEST_F(PoolTest, RefusesImpossibleOptionsAndCreatesNothing) {  // POOL-01, POOL-20
    run([&] {
        EXPECT_THROW(Pool<Thing>(of(1, -1)), ValueError);
        EXPECT_THROW(Pool<Thing>(of(0)), ValueError);
        EXPECT_THROW(Pool<Thing>(of(1, 2)), ValueError);
        EXPECT_THROW(Pool<Thing>({.healthcheck_interval = -1ms, .factory = [] { return Thing{}; }}), ValueError);
        EXPECT_THROW(Pool<Thing>({.max = 1}), ValueError);
        Pool<Thing> pool(of(1));
        EXPECT_THROW(static_cast<void>(pool.acquire({.timeout = -1ms})), ValueError);
        EXPECT_EQ(books(pool), "0/0/0");
    });
    EXPECT_EQ(made_, 0);
    EXPECT_THROW(Pool<Thing>(program_.runtime(), of(2, 1)), AsyncError);  // would have to create, and nothing runs
    EXPECT_EQ(made_, 0);
}

TEST_F(PoolTest, LendsOldestFirstAndCreatesOnlyWhenNothingIsIdle) {  // POOL-06
    run([&] {
        Pool<Thing> pool(of(3, 2));
        EXPECT_EQ(books(pool), "2/0/0");
        Lease<Thing> a = pool.acquire();
        Lease<Thing> b = pool.acquire();
        Lease<Thing> c = pool.acquire();
        EXPECT_EQ(Numbers({a->number, b->number, c->number}), Numbers({1, 2, 3}));
        EXPECT_FALSE(pool.try_acquire());  // POOL-31
        b.release();
        a.release();
        EXPECT_EQ(books(pool), "2/1/0");
        Lease<Thing> d = pool.try_acquire();
        EXPECT_EQ(d->number, 2);
        d.release();
        c.release();
    });
    EXPECT_EQ(made_, 3);
    EXPECT_EQ(destroyed_, Numbers({1, 2, 3}));  // by the last handle, POOL-66
}

TEST_F(PoolTest, KeepsTheOrderOfIdleOnesThroughGrowth) {  // POOL-05
    run([&] {
        Pool<Thing> pool(of(20, 7));
        for (int i = 0; i < 5; ++i) { pool.acquire().release(); }  // the ring's head is not its begin
        std::vector<Lease<Thing>> leases;
        for (int i = 0; i < 20; ++i) { leases.push_back(pool.acquire()); }
        for (Lease<Thing>& lease : leases) { lease.release(); }
        Numbers order;
        for (Lease<Thing>& lease : leases) {
            lease = pool.acquire();
            order.push_back(lease->number);
        }
        Numbers sorted;
        for (int i = 6; i <= 7; ++i) { sorted.push_back(i); }
        for (int i = 1; i <= 5; ++i) { sorted.push_back(i); }
        for (int i = 8; i <= 20; ++i) { sorted.push_back(i); }
        EXPECT_EQ(order, sorted);
        for (Lease<Thing>& lease : leases) { lease.release(); }
    });
}

TEST(Pool, ServesInOrderOfArrivalInEveryMode) {  // CV-07, POOL-23
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Pool<int> pool({.max = 1, .factory = [] { return 1; }});
            std::vector<Coroutine<>> all;
            Lease<int> held = pool.acquire();
            for (const char* name : {"a", "b", "c"}) {
                all.push_back(spawn([&, name] {
                    Lease<int> lease = pool.acquire();
                    program.log(name);
                    yield();
                    lease.release();
                }));
            }
            yield();
            EXPECT_EQ(pool.waiting_count(), 3U);
            held.release();
            EXPECT_EQ(pool.reserved_count(), 1U);
            EXPECT_FALSE(pool.try_acquire());  // POOL-33, `061`
            for (const auto& one : all) { one.await(); }
            EXPECT_EQ(pool.idle_count(), 1U);
        });
        EXPECT_EQ(program.text(), "a b c");
    });
}

TEST_F(PoolTest, LetsNobodyTakeBackWhatItPromised) {  // POOL-24, `058`, BUG-056
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> mine = pool.acquire();
        auto other = spawn([&] {
            for (int i = 0; i < 3; ++i) {
                Lease<Thing> lease = pool.acquire();
                log("B");
                lease.release();
            }
        });
        yield();
        for (int i = 0; i < 3; ++i) {
            log("A");
            mine.release();
            mine = pool.acquire();
        }
        mine.release();
        other.await();
    });
    EXPECT_EQ(text(), "A B A B A B");
    EXPECT_EQ(made_, 1);
}

TEST_F(PoolTest, LeavesItsSurplusUsable) {  // POOL-25, `065`, BUG-061
    run([&] {
        Pool<Thing> pool(of(2, 2));
        Lease<Thing> a = pool.acquire();
        Lease<Thing> b = pool.acquire();
        auto waiter = user(pool, "W");
        yield();
        a.release();
        b.release();
        EXPECT_EQ(books(pool), "2/0/1");
        Lease<Thing> surplus = pool.try_acquire();
        EXPECT_TRUE(surplus);
        EXPECT_FALSE(pool.try_acquire());  // promised
        surplus.release();
        waiter.await();
    });
    EXPECT_EQ(made_, 2);
}

TEST_F(PoolTest, HandsAPromiseOnWhenItsWaiterIsCancelledInTheWindow) {  // 10.12 example 1, POOL-29, POOL-36, `060`, BUG-057
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> held = pool.acquire();
        auto first = user(pool, "W1");
        auto second = user(pool, "W2");
        yield();
        held.release();
        first.cancel("gone");
        EXPECT_EQ(books(pool), "1/0/1");
        EXPECT_FALSE(pool.try_acquire());
        second.await();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "W1:gone W2=1");
    EXPECT_EQ(made_, 1);
}

TEST_F(PoolTest, FreesAPromiseThatNobodyElseWaitsFor) {  // `062`, BUG-058
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> held = pool.acquire();
        auto only = user(pool, "W");
        yield();
        held.release();
        only.cancel("gone");
        yield();
        EXPECT_EQ(books(pool), "1/0/0");
        EXPECT_TRUE(pool.try_acquire());
    });
    EXPECT_EQ(text(), "W:gone");
}

TEST_F(PoolTest, PassesADeadWaiterBy) {  // CV-08, INV-ALL-05
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> held = pool.acquire();
        auto first = user(pool, "W1");
        auto second = user(pool, "W2");
        yield();
        first.cancel("gone");
        EXPECT_EQ(pool.waiting_count(), 1U);
        held.release();  // in the same step: the dead one is still linked
        EXPECT_EQ(books(pool), "1/0/1");
        second.await();
    });
    EXPECT_EQ(text(), "W1:gone W2=1");
}

TEST_F(PoolTest, BoundsTheTimeSpentParked) {  // POOL-21, POOL-28, `055`
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> held = pool.acquire();
        auto timed = user(pool, "T", {.timeout = 10ms});
        auto patient = user(pool, "P");
        sleep_for(30ms);
        EXPECT_EQ(text(), "T:timeout");
        EXPECT_EQ(pool.waiting_count(), 1U);
        held.release();
        patient.await();
        user(pool, "T2", {.timeout = 10ms}).await();
    });
    EXPECT_EQ(text(), "T:timeout P=1 T2=1");
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(PoolTest, KeepsAPromiseThatATimeoutComesAfter) {  // CV-03: the first event decides
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> held = pool.acquire();
        auto timed = user(pool, "T", {.timeout = 10ms});
        yield();
        held.release();
        reactor().pass_time(20ms);
        timed.await();
    });
    EXPECT_EQ(text(), "T=1");
}

TEST_F(PoolTest, EndsAWaitByItsToken) {  // CV-13
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> held = pool.acquire();
        const Ref<Bell> stop = bell();
        auto waiter = spawn([&] {
            EXPECT_THROW(static_cast<void>(pool.acquire({.token = Token(*stop)})), OperationCanceled);
            log("stopped");
        });
        yield();
        stop->ring();
        waiter.await();
        stop->close();
        held.release();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "stopped");
}

TEST_F(PoolTest, DeliversAPendingCancellationInsteadOfParking) {  // CV-08: parking itself throws
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> held = pool.acquire();
        auto other = spawn([&] {
            cancel(current_coroutine());
            log(outcome([&] { static_cast<void>(pool.acquire()); }));
            EXPECT_EQ(pool.waiting_count(), 0U);
        });
        yield();
        held.release();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "cancelled");
}

// ── leases ──

TEST_F(PoolTest, TakesALeaseBackOnce) {  // POOL-34, INV-POOL-19
    run([&] {
        Pool<Thing> pool(of(2));
        Pool<Thing> stranger(of(1));
        Lease<Thing> lease = pool.acquire();
        Lease<Thing> foreign = stranger.acquire();
        EXPECT_EQ(outcome([&] { pool.release(foreign); }), "not leased");
        lease.release();
        EXPECT_EQ(outcome([&] { lease.release(); }), "not leased");
        EXPECT_EQ(outcome([&] { Lease<Thing>().release(); }), "not leased");
        EXPECT_EQ(books(pool), "1/0/0");
        stranger.release(foreign);
        EXPECT_EQ(books(stranger), "1/0/0");
    });
}

TEST_F(PoolTest, ReleasesADroppedLeaseInTheBackground) {  // POOL-42, INV-POOL-26
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.before_release = [this](Thing&, PoolReturn how) {
            log(how == PoolReturn::abandoned ? "abandoned" : "released");
            yield();  // it may suspend: a coroutine of its own runs it
            return true;
        };
        Pool<Thing> pool(std::move(options));
        { const Lease<Thing> dropped = pool.acquire(); }
        EXPECT_EQ(books(pool), "0/1/0");
        auto next = user(pool, "N");
        next.await();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "abandoned N=1 released");
}

TEST_F(PoolTest, ReleasesInTheBackgroundAsIfProtected) {  // POOL-74: a request that reaches the release is held back
    run([&] {
        PoolOptions<Thing> options = of(1);
        CoroutineHandle releaser;
        options.before_release = [&](Thing&, PoolReturn) {
            releaser = current_coroutine();
            sleep_for(5ms);
            return true;
        };
        const Pool<Thing> pool(std::move(options));
        { const Lease<Thing> dropped = pool.acquire(); }
        yield();
        releaser.cancel("stop");
        sleep_for(10ms);
        EXPECT_EQ(books(pool), "1/0/0");
        EXPECT_TRUE(releaser.is_cancelled());
        EXPECT_EQ(message(releaser.error()), "stop");
    });
    EXPECT_EQ(made_, 1);
}

TEST_F(PoolTest, DestroysWhatNobodyVouchesFor) {  // POOL-73
    run([&] {
        Pool<Thing> pool(of(1));
        auto holder = spawn([&] {
            const Lease<Thing> lease = pool.acquire();
            wait_forever();
        });
        yield();
        holder.cancel("mid-operation");
        auto waiter = user(pool, "W");
        waiter.await();
    });
    EXPECT_EQ(text(), "W=2");
    EXPECT_EQ(destroyed_.front(), 1);
}

TEST_F(PoolTest, DestroysInPlaceWhenTheReleaseNeverBegins) {  // POOL-42: cancelled before it starts, and after the run
    std::optional<Lease<Thing>> late;
    std::optional<Pool<Thing>> pool;
    run([&] {
        PoolOptions<Thing> options = of(2);
        options.before_release = [this](Thing&, PoolReturn) {
            log("asked");
            return true;
        };
        pool.emplace(std::move(options));
        late.emplace(pool->acquire());
        { const Lease<Thing> dropped = pool->acquire(); }
        shutdown();
    });
    EXPECT_EQ(destroyed_, Numbers({2}));
    EXPECT_EQ(pool->active_count(), 1U);
    late.reset();
    EXPECT_EQ(destroyed_, Numbers({2, 1}));
    EXPECT_EQ(pool->active_count(), 0U);
    pool.reset();
    EXPECT_EQ(text(), "");
}

TEST_F(PoolTest, DestroysInPlaceWhatIsDroppedInTheSecondPhase) {  // POOL-42, SCH-70: the release's coroutine does not begin any more
    std::optional<Pool<Thing>> pool;
    const ErrorValue error = World::run([&] {
        PoolOptions<Thing> options = of(1);
        options.before_release = [this](Thing&, PoolReturn) {
            log("asked");
            return true;
        };
        pool.emplace(std::move(options));
        const auto fails = [](const char* text) {
            return [text] {
                static_cast<void>(caught([] { sleep_for(1s); }));
                throw Failure(text);
            };
        };
        spawn(fails("E1"));
        spawn(fails("E2"));
        const Lease<Thing> held = pool->acquire();
        yield();
        shutdown();
        sleep_for(1s);
    });
    EXPECT_EQ(message(error), "E2");
    EXPECT_EQ(destroyed_, Numbers({1}));
    EXPECT_EQ(pool->active_count(), 0U);
    EXPECT_EQ(text(), "");
}

TEST_F(PoolTest, ClosesInPlaceWhenMainsContextIsItsLastHolder) {  // POOL-66: the loop has ended when the context goes
    run([&] {
        const auto pool = std::make_shared<Pool<Thing>>(of(1));
        pool->acquire().release();
        coroutine_context().set(ContextKey::unique("pool"), pool);
    });
    EXPECT_EQ(destroyed_, Numbers({1}));
}

TEST_F(PoolTest, DestroysInPlaceWhenItsHolderIsUnwound) {  // POOL-42, SCH-72
    std::optional<Pool<Thing>> pool;
    const ErrorValue error = World::run([&] {
        PoolOptions<Thing> options = of(1);
        options.before_release = [this](Thing&, PoolReturn) {
            log("asked");
            return true;
        };
        pool.emplace(std::move(options));
        spawn([&] {
            const Lease<Thing> held = pool->acquire();
            while (true) { static_cast<void>(caught([] { wait_forever(); })); }  // it does not give up
        });
    });
    EXPECT_TRUE(holds<DeadlockError>(error));
    EXPECT_EQ(books(*pool), "0/0/0");
    EXPECT_EQ(destroyed_, Numbers({1}));
    EXPECT_EQ(text(), "");
}

TEST_F(PoolTest, DestroysADiscardedResourceWithoutAsking) {  // POOL-73
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.before_release = [this](Thing&, PoolReturn) {
            log("asked");
            return true;
        };
        Pool<Thing> pool(std::move(options));
        Lease<Thing> lease = pool.acquire();
        auto waiter = user(pool, "W");
        yield();
        lease.discard();
        EXPECT_EQ(books(pool), "0/0/1");  // capacity was promised, not a resource (POOL-37, `054`)
        waiter.await();
    });
    EXPECT_EQ(text(), "W=2 asked");
}

TEST_F(PoolTest, KeepsThePlaceOfADetachedResource) {  // POOL-43
    run([&] {
        Pool<Thing> pool(of(1));
        Lease<Thing> lease = pool.acquire();
        auto detached = lease.detach();
        EXPECT_FALSE(lease);
        EXPECT_EQ(books(pool), "0/1/0");
        EXPECT_FALSE(pool.try_acquire());
        EXPECT_EQ(outcome([&] { pool.release(LeaseId{77}, Thing{9}); }), "not leased");
        pool.release(detached.id, std::move(detached.resource));
        EXPECT_EQ(outcome([&] { pool.release(detached.id, Thing{9}); }), "not leased");
        EXPECT_EQ(books(pool), "1/0/0");
        Lease<Thing> again = pool.acquire();
        EXPECT_EQ(again->number, 1);
        static_cast<void>(again.detach());
        pool.close();
        EXPECT_EQ(books(pool), "0/1/0");  // for good, and close does not wait for it
    });
    EXPECT_EQ(destroyed_, Numbers({}));
}

// ── close ──

TEST_F(PoolTest, FailsItsWaitersInOrderOfArrivalWhenItCloses) {  // POOL-62, POOL-64, INV-POOL-18
    run([&] {
        Pool<Thing> pool(of(2));
        Lease<Thing> a = pool.acquire();
        Lease<Thing> b = pool.acquire();
        auto w1 = user(pool, "W1");
        auto w2 = user(pool, "W2");
        auto w3 = user(pool, "W3");
        yield();
        b.release();   // W1 is promised a place
        pool.close();  // 10.12 example 2, `063`: the promise is void
        EXPECT_EQ(books(pool), "0/1/0");
        EXPECT_EQ(destroyed_, Numbers({2}));
        pool.close();
        EXPECT_EQ(outcome([&] { static_cast<void>(pool.acquire()); }), "closed");
        EXPECT_FALSE(pool.try_acquire());  // POOL-32
        w1.await(), w2.await(), w3.await();
        a.release();  // POOL-39: destroyed, once
        EXPECT_EQ(books(pool), "0/0/0");
        EXPECT_TRUE(pool.event().is_closed());  // POOL-78
    });
    EXPECT_EQ(text(), "W1:closed W2:closed W3:closed");
    EXPECT_EQ(destroyed_, Numbers({2, 1}));
}

TEST_F(PoolTest, TellsOfEveryDestructorThatFailsWhileItCloses) {  // POOL-63, `018`
    run([&] {
        for (const int failing : {0, 1, 2}) {
            destroyed_.clear();
            PoolOptions<Thing> options = of(3, 3);
            const int first = made_ + 1;
            options.destructor = [this, failing, first](Thing& thing) {
                yield();
                destroyed_.push_back(thing.number);
                if (thing.number - first < failing) { throw Failure("d" + std::to_string(thing.number - first)); }
            };
            const Pool<Thing> pool(std::move(options));
            const ErrorValue error = caught([&] { pool.close(); });
            EXPECT_EQ(destroyed_, Numbers({first, first + 1, first + 2}));
            EXPECT_EQ(static_cast<bool>(error), failing > 0);
            EXPECT_EQ(holds<CompositeError>(error), failing == 2);
            if (failing == 1) { EXPECT_EQ(message(error), "d0"); }
            EXPECT_EQ(pool.count(), 0U);
        }
    });
    EXPECT_EQ(sunk_.size(), 0U);
}

TEST_F(PoolTest, FinishesClosingBeforeItsCancellationLeaves) {  // POOL-63, POOL-70, CV-20, INV-POOL-29
    run([&] {
        PoolOptions<Thing> options = of(2, 2);
        options.destructor = [this](Thing& thing) {
            sleep_for(5ms);
            destroyed_.push_back(thing.number);
            throw Failure("d");
        };
        const Pool<Thing> pool(std::move(options));
        auto closer = spawn([&] { log(outcome([&] { pool.close(); })); });
        yield();
        closer.cancel("stop");
        closer.await();
    });
    EXPECT_EQ(text(), "stop");
    EXPECT_EQ(destroyed_, Numbers({1, 2}));
    EXPECT_EQ(sunk_, std::vector<std::string>({"d", "d"}));
}

TEST_F(PoolTest, ClosesWithItsLastHandleButLeasesLiveOn) {  // POOL-65, POOL-66, CV-16, `028`
    run([&] {
        std::optional<Pool<Thing>> pool(of(2, 2));
        Lease<Thing> lease = pool->acquire();
        auto copy = std::make_optional(*pool);
        pool.reset();
        EXPECT_EQ(books(*copy), "1/1/0");
        copy.reset();
        yield();
        EXPECT_EQ(destroyed_, Numbers({2}));
        EXPECT_EQ(lease->number, 1);
        lease.release();
    });
    EXPECT_EQ(destroyed_, Numbers({2, 1}));
}

TEST_F(PoolTest, FailsItsWaitersWhenTheLastHandleGoes) {  // POOL-66, CV-16: the parked attempt keeps the state
    run([&] {
        std::optional<Pool<Thing>> pool(of(1));
        Lease<Thing> lease = pool->acquire();
        auto waiter = user(*pool, "W");
        yield();
        pool.reset();
        waiter.await();
        lease.release();
    });
    EXPECT_EQ(text(), "W:closed");
}

TEST_F(PoolTest, EndsItsWaitersAtADeadlock) {  // SCH-55: nobody will ever release
    const ErrorValue error = World::run([&] {
        Pool<Thing> pool(of(1));
        const Lease<Thing> held = pool.acquire();
        log_caught([&] { static_cast<void>(pool.acquire()); });
        EXPECT_EQ(pool.waiting_count(), 0U);
    });
    EXPECT_TRUE(holds<DeadlockError>(error));
    EXPECT_EQ(destroyed_, Numbers({1}));
}

TEST_F(PoolTest, SaysWhatItHoldsForDiagnostics) {  // POOL-69
    run([&] {
        Pool<Thing> pool(of(3, 1));
        Lease<Thing> lease = pool.acquire();
        EXPECT_EQ(pool.describe(), "pool of 3, 0 idle, 1 active, 0 reserved, 0 waiting");
        lease.release();
    });
}

}  // namespace
}  // namespace heddle
