// SPDX-License-Identifier: Apache-2.0
// Pool: the health check, one pass at a time, in a coroutine that nobody waits for (docs/spec/10-pool.md, 10.8).
#include <gtest/gtest.h>

#include <functional>

#include "heddle/core/sync/testing/pool_world.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class PoolCheckTest : public ::testing::Test, protected PoolWorld {
protected:
    PoolOptions<Thing> checked(std::int64_t max, std::int64_t min, std::function<bool(Thing&)> check) {
        PoolOptions<Thing> options = of(max, min);
        options.healthcheck_interval = 10ms;
        options.healthcheck = [check = std::move(check)](Thing& thing) { return check(thing); };
        return options;
    }
};

using Numbers = std::vector<int>;

TEST_F(PoolCheckTest, DoesNotKeepTheProgramAlive) {  // POOL-47, INV-POOL-21
    std::optional<Pool<Thing>> pool;
    run([&] { pool.emplace(checked(2, 1, [](Thing&) { return true; })); });
    EXPECT_LT(reactor().now() - Instant{}, 10ms);
    pool.reset();
    EXPECT_EQ(destroyed_, Numbers({1}));
}

TEST_F(PoolCheckTest, ReplacesTheDeadAndKeepsTheRest) {  // POOL-11, POOL-50 to POOL-52, `048`, INV-POOL-27: a check that throws says dead
    run([&] {
        const Pool<Thing> pool(checked(4, 3, [this](Thing& thing) {
            EXPECT_TRUE(made_ >= 3);
            if (thing.number == 3) { throw Failure("dead"); }
            return thing.number != 1;
        }));
        sleep_for(15ms);
        EXPECT_EQ(books(pool), "3/0/0");
        EXPECT_EQ(destroyed_, Numbers({1, 3}));
        EXPECT_EQ(made_, 5);
    });
    EXPECT_EQ(sunk_.size(), 0U);
}

TEST_F(PoolCheckTest, ReplacesEachDeadOneAtOnce) {  // POOL-52
    run([&] {
        PoolOptions<Thing> options = checked(2, 2, [this](Thing& thing) {
            log("?" + std::to_string(thing.number));
            return thing.number > 2;
        });
        options.factory = [this] {
            log("make");
            return Thing{++made_};
        };
        const Pool<Thing> pool(std::move(options));
        sleep_for(15ms);
    });
    EXPECT_EQ(text(), "make make ?1 make ?2 make");
}

TEST_F(PoolCheckTest, RunsOnePassAtATimeInACoroutineThatMaySuspend) {  // POOL-11, POOL-48, POOL-49, INV-POOL-20
    int inside = 0;  // the second check goes on as a zombie when main has ended
    int calls = 0;
    run([&] {
        const Pool<Thing> pool(checked(2, 2, [&](Thing&) {
            EXPECT_EQ(inside++, 0);
            ++calls;
            sleep_for(25ms);
            --inside;
            return true;
        }));
        sleep_for(12ms);
        EXPECT_EQ(books(pool), "1/1/0");
        sleep_for(33ms);
        EXPECT_EQ(calls, 2);
        EXPECT_FALSE(program_.runtime().zombies().empty());
    });
}

TEST_F(PoolCheckTest, TakesNothingThatIsPromised) {  // POOL-50
    run([&] {
        const Pool<Thing> pool(checked(1, 1, [this](Thing&) {
            log("checked");
            return true;
        }));
        Lease<Thing> held = pool.acquire();
        auto waiter = user(pool, "W");
        yield();
        sleep_for(15ms);  // lent out: not touched
        held.release();
        waiter.await();
        sleep_for(10ms);
    });
    EXPECT_EQ(text(), "W=1 checked");
}

TEST_F(PoolCheckTest, PassesByWhatWasPromisedBeforeItRan) {  // POOL-50, INV-POOL-20
    run([&] {
        Lease<Thing> held;
        auto releaser = spawn([&] {
            sleep_for(10ms);  // armed before the check timer: it runs just before the pass
            log("released");
            held.release();
        });
        yield();
        const Pool<Thing> pool(checked(1, 1, [this](Thing&) {
            log("checked");
            return true;
        }));
        held = pool.acquire();
        auto waiter = user(pool, "W");
        waiter.await();
        EXPECT_EQ(now() - Instant{}, 10ms);
    });
    EXPECT_EQ(text(), "released W=1");
}

TEST_F(PoolCheckTest, FinishesTheResourceInHandWhenThePoolCloses) {  // POOL-54
    run([&] {
        const Pool<Thing> pool(checked(3, 3, [this](Thing& thing) {
            log("?" + std::to_string(thing.number));
            sleep_for(5ms);
            return true;
        }));
        sleep_for(12ms);
        pool.close();
        EXPECT_EQ(destroyed_, Numbers({2, 3}));
        sleep_for(30ms);
        EXPECT_EQ(books(pool), "0/0/0");
    });
    EXPECT_EQ(text(), "?1");
    EXPECT_EQ(destroyed_, Numbers({2, 3, 1}));
}

TEST_F(PoolCheckTest, SendsItsErrorsToTheSinkAndTriesAgainAtTheNextTick) {  // POOL-53
    run([&] {
        int failures = 1;
        PoolOptions<Thing> options = checked(2, 2, [](Thing& thing) { return thing.number > 2; });
        options.factory = [&, this]() -> std::optional<Thing> {
            if (made_ == 2 && failures-- > 0) { throw Failure("factory"); }
            return Thing{++made_};
        };
        options.destructor = [](Thing& thing) {
            if (thing.number == 1) { throw Failure("destructor"); }
        };
        const Pool<Thing> pool(std::move(options));
        sleep_for(15ms);
        EXPECT_EQ(books(pool), "0/0/0");
        sleep_for(10ms);
        EXPECT_EQ(books(pool), "2/0/0");
    });
    EXPECT_EQ(sunk_, std::vector<std::string>({"destructor", "factory"}));
}

TEST_F(PoolCheckTest, EndsAtShutdownInsideACallback) {  // POOL-48, POOL-51
    std::optional<Pool<Thing>> pool;
    run([&] {
        pool.emplace(checked(2, 2, [](Thing&) {
            wait_forever();
            return true;
        }));
        sleep_for(12ms);
        shutdown();
    });
    EXPECT_EQ(destroyed_, Numbers({1}));
    EXPECT_FALSE(pool->state().is_checking());
    EXPECT_EQ(books(*pool), "1/0/0");
    pool.reset();
    EXPECT_EQ(destroyed_, Numbers({1, 2}));
}

}  // namespace
}  // namespace heddle
