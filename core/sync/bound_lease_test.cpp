// SPDX-License-Identifier: Apache-2.0
// BoundPool: one lease per coroutine, given back at its end, and never lent on when it was left in the middle of something
// (docs/spec/10-pool.md, POOL-44 to POOL-46).
#include "heddle/core/sync/bound_lease.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/testing/pool_world.hpp"

namespace heddle {
namespace {

using namespace heddle::testing;

using Numbers = std::vector<int>;

class BoundLeaseTest : public ::testing::Test, protected PoolWorld {
protected:
    /// Suspends for ever.
    void wait_for_ever() {
        fresh().resume_when(*bell(), WakeBy::resolve);
        suspend();
    }
    /// Until what an ended coroutine gave back is back.
    static void settle() {
        yield();
        yield();
    }
};

TEST_F(BoundLeaseTest, IsTakenOnFirstUseAndReusedByItsCoroutine) {  // POOL-44, POOL-46
    run([&] {
        const Pool<Thing> pool(of(2));
        const BoundPool<Thing> bound(pool);
        EXPECT_FALSE(bound.is_bound());
        EXPECT_EQ(books(pool), "0/0/0");
        Thing& mine = bound.get();
        EXPECT_EQ(&bound.get(), &mine);
        EXPECT_TRUE(bound.is_bound());
        spawn([&] {
            EXPECT_FALSE(bound.is_bound());  // another coroutine, another lease
            EXPECT_NE(&bound.get(), &mine);
            EXPECT_EQ(bound.bound_count(), 2U);
        }).await();
        settle();
        EXPECT_EQ(books(pool), "1/1/0");
        EXPECT_EQ(bound.bound_count(), 1U);
        EXPECT_TRUE(bound.give_back());
        EXPECT_FALSE(bound.give_back());
        EXPECT_EQ(books(pool), "2/0/0");
    });
    EXPECT_EQ(made_, 2);
}

TEST_F(BoundLeaseTest, ComesBackHoweverItsCoroutineEnds) {  // POOL-44
    run([&] {
        const Pool<Thing> pool(of(1));
        const BoundPool<Thing> bound(pool);
        spawn([&] { bound.get(); }).await();
        log_caught([&] {
            spawn([&] {
                bound.get();
                throw Failure("failed");
            }).await();
        });
        auto cancelled = spawn([&] {
            bound.get();
            wait_for_ever();
        });
        yield();
        EXPECT_EQ(bound.bound_count(), 1U);
        cancelled.cancel("cancelled");
        log_caught([&] { cancelled.await(); });
        Lease<Thing> lease = pool.acquire();
        EXPECT_EQ(lease->number, 1);  // between two operations: as good as ever
        lease.release();
        EXPECT_EQ(bound.bound_count(), 0U);
    });
    EXPECT_EQ(text(), "failed cancelled");
    EXPECT_EQ(made_, 1);
}

TEST_F(BoundLeaseTest, IsDestroyedWhenItsHolderLeftInMidOperation) {  // POOL-45
    run([&] {
        const Pool<Thing> pool(of(1));
        const BoundPool<Thing> bound(pool);
        auto cancelled = spawn([&] {
            auto request = bound.begin();
            wait_for_ever();
            request.done();
        });
        auto next = spawn([&] { EXPECT_EQ(bound.get().number, 2); });
        yield();
        cancelled.cancel("cancelled");
        next.await();
        EXPECT_EQ(destroyed_, Numbers({1}));
        spawn([&] {
            auto request = bound.begin();
            EXPECT_EQ(request->number, 2);
            request.done();
        }).await();
        settle();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(made_, 2);
}

TEST_F(BoundLeaseTest, TellsTheHookHowItComesBack) {  // POOL-45: at completion it is returned regardless, and the hook may roll back
    run([&] {
        PoolOptions<Thing> options = of(1);
        options.before_release = [&](Thing&, PoolReturn how) {
            log(how == PoolReturn::released ? "released" : "abandoned");
            return true;
        };
        const Pool<Thing> pool(std::move(options));
        const BoundPool<Thing> bound(pool);
        spawn([&] { bound.get(); }).await();
        settle();
        std::unique_ptr<BoundPool<Thing>::Pin> open;
        spawn([&] { open.reset(new auto(bound.pin())); }).await();  // a transaction that nobody ended
        settle();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "released abandoned");
    EXPECT_EQ(made_, 1);
}

TEST_F(BoundLeaseTest, IsNotGivenBackEarlyWhileItIsPinned) {  // POOL-45
    run([&] {
        const Pool<Thing> pool(of(1));
        const BoundPool<Thing> bound(pool);
        {
            const auto pin = bound.pin();
            EXPECT_EQ(pin->number, 1);
            EXPECT_THROW(bound.give_back(), AsyncError);
            auto request = bound.begin();
            request.done();
        }
        EXPECT_TRUE(bound.give_back());
        EXPECT_EQ(books(pool), "1/0/0");
    });
}

TEST_F(BoundLeaseTest, ReplacesABrokenResourceAtItsNextUse) {  // POOL-45
    run([&] {
        const Pool<Thing> pool(of(1));
        const BoundPool<Thing> bound(pool);
        {
            const auto pin = bound.pin();
            { const auto cut_short = bound.begin(); }
            EXPECT_THROW(static_cast<void>(bound.get()), AsyncError);
        }
        EXPECT_EQ(bound.get().number, 2);
        EXPECT_EQ(destroyed_, Numbers({1}));
        bound.give_back();
    });
}

TEST_F(BoundLeaseTest, HoldsNothingWhenNothingCouldBeAcquired) {
    run([&] {
        PoolOptions<Thing> options = of(1);
        const BoundPool<Thing>* asked = nullptr;
        options.factory = [&]() -> Thing {
            log(asked == nullptr ? "no" : message(caught([&] { static_cast<void>(asked->get()); })));
            throw Failure("factory");
        };
        const Pool<Thing> pool(std::move(options));
        const BoundPool<Thing> bound(pool);
        asked = &bound;
        log_caught([&] { static_cast<void>(bound.get()); });
        EXPECT_EQ(bound.bound_count(), 0U);
        EXPECT_FALSE(bound.is_bound());
    });
    EXPECT_EQ(text(), "bound lease: this coroutine is acquiring it already factory");
}

TEST_F(BoundLeaseTest, ReleasesAllWhenItsHandleGoes) {
    run([&] {
        const Pool<Thing> pool(of(1));
        auto bound = std::make_unique<BoundPool<Thing>>(pool);
        auto holder = spawn([&] {
            bound->get();
            yield();
            yield();
        });
        auto waiter = spawn([&] { log_caught([&] { static_cast<void>(bound->get()); }); });
        yield();
        bound.reset();
        holder.await();
        waiter.await();
        settle();
        EXPECT_EQ(books(pool), "1/0/0");
    });
    EXPECT_EQ(text(), "bound lease: its BoundPool is gone");
}

TEST_F(BoundLeaseTest, BelongsToNobodyOutsideARun) {  // POOL-46
    const Pool<Thing> pool(program_.runtime(), of(1));
    const BoundPool<Thing> bound(pool);
    EXPECT_THROW(static_cast<void>(bound.get()), AsyncError);
    EXPECT_FALSE(bound.is_bound());
}

TEST_F(BoundLeaseTest, OfTheMainCoroutineComesBackAtItsEnd) {  // POOL-46
    const Pool<Thing> pool(program_.runtime(), of(1));
    const BoundPool<Thing> bound(pool);
    run([&] { bound.get(); });
    EXPECT_EQ(bound.bound_count(), 0U);
    EXPECT_EQ(pool.active_count(), 0U);
}

}  // namespace
}  // namespace heddle
