// SPDX-License-Identifier: Apache-2.0
// Semaphore: permits go to the oldest waiter, whatever happens to the others (CV-05 to CV-08).
#include <gtest/gtest.h>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/semaphore.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class SemaphoreTest : public ::testing::Test, protected World {};

TEST_F(SemaphoreTest, GivesWhatIsFreeWithoutSuspending) {
    run([&] {
        Semaphore semaphore(2);
        const auto before = program_.switches();
        semaphore.acquire();
        EXPECT_TRUE(semaphore.try_acquire());
        EXPECT_FALSE(semaphore.try_acquire());
        EXPECT_EQ(semaphore.available(), 0U);
        semaphore.release(2);
        EXPECT_EQ(semaphore.available(), 2U);
        EXPECT_EQ(program_.switches(), before);
    });
}

TEST_F(SemaphoreTest, RefusesImpossibleCountsAndChangesNothing) {
    run([&] {
        EXPECT_THROW(Semaphore({.permits = 3, .permits_max = 2}), ValueError);
        EXPECT_THROW(Semaphore({.permits = 0, .permits_max = 0}), ValueError);
        Semaphore semaphore({.permits = 1, .permits_max = 2});
        EXPECT_THROW(semaphore.acquire(0), ValueError);
        EXPECT_THROW(semaphore.acquire(3), ValueError);
        EXPECT_THROW(semaphore.release(2), AsyncError);
        EXPECT_THROW(semaphore.release(0), ValueError);
        EXPECT_EQ(semaphore.available(), 1U);
    });
    EXPECT_THROW(Semaphore(1), AsyncError);
}

TEST(Semaphore, ServesInOrderOfArrival) {  // CV-07
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Semaphore semaphore(1);
            std::vector<Coroutine<>> all;
            semaphore.acquire();
            for (const char* name : {"a", "b", "c"}) {
                all.push_back(spawn([&, name] {
                    semaphore.acquire();
                    program.log(name);
                    yield();
                    semaphore.release();
                }));
            }
            yield();
            EXPECT_EQ(semaphore.waiting(), 3U);
            semaphore.release();
            EXPECT_EQ(semaphore.available(), 0U);  // promised
            EXPECT_FALSE(semaphore.try_acquire());
            for (const auto& one : all) { one.await(); }
            EXPECT_EQ(semaphore.available(), 1U);
        });
        EXPECT_EQ(program.text(), "a b c");
    });
}

TEST_F(SemaphoreTest, HoldsBackWhoWantsLessBehindOneWhoWantsMore) {  // CV-07
    run([&] {
        Semaphore semaphore(1);
        auto big = spawn([&] {
            semaphore.acquire(2);
            log("big");
            semaphore.release(2);
        });
        auto small = spawn([&] {
            semaphore.acquire(1);
            log("small");
            semaphore.release(1);
        });
        yield();
        EXPECT_EQ(semaphore.available(), 1U);
        EXPECT_FALSE(semaphore.try_acquire());
        semaphore.release();
        big.await();
        small.await();
        EXPECT_EQ(semaphore.available(), 2U);
    });
    EXPECT_EQ(text(), "big small");
}

TEST_F(SemaphoreTest, PassesAPermitOnWhenItsWaiterIsCancelledInTheWindow) {  // CV-06, CAN-19
    run([&] {
        Semaphore semaphore(0);
        auto first = spawn([&] { log_caught([&] { semaphore.acquire(); }); });
        auto second = spawn([&] {
            semaphore.acquire();
            log("second");
        });
        yield();
        semaphore.release();
        first.cancel("gone");
        EXPECT_FALSE(semaphore.try_acquire());  // promised to the cancelled one until it runs
        second.await();
        EXPECT_EQ(semaphore.available(), 0U);
    });
    EXPECT_EQ(text(), "gone second");
}

TEST_F(SemaphoreTest, GrantsNothingToADeadWaiter) {  // CV-08
    run([&] {
        Semaphore semaphore(0);
        auto first = spawn([&] { log_caught([&] { semaphore.acquire(); }); });
        auto second = spawn([&] {
            semaphore.acquire();
            log("second");
        });
        yield();
        first.cancel("gone");
        semaphore.release();
        EXPECT_EQ(semaphore.available(), 0U);  // promised to the second, not to the dead one
        EXPECT_EQ(semaphore.waiting(), 0U);
        second.await();
        first.await();
        EXPECT_EQ(semaphore.available(), 0U);
    });
    EXPECT_EQ(text(), "gone second");
}

TEST_F(SemaphoreTest, ADeadWaiterIsNoReasonToRefuseOthers) {  // CV-08
    run([&] {
        Semaphore semaphore(1);
        auto big = spawn([&] { static_cast<void>(caught([&] { semaphore.acquire(2); })); });
        yield();
        EXPECT_FALSE(semaphore.try_acquire());
        big.cancel("gone");
        EXPECT_TRUE(semaphore.try_acquire());
        static_cast<void>(caught([&] { big.await(); }));
        EXPECT_EQ(semaphore.available(), 0U);
        semaphore.release();
        EXPECT_EQ(semaphore.available(), 1U);
    });
}

TEST_F(SemaphoreTest, LetsThoseBehindThroughWhenTheHeadLeaves) {
    run([&] {
        Semaphore semaphore(1);
        auto big = spawn([&] { static_cast<void>(caught([&] { semaphore.acquire(2); })); });
        auto small = spawn([&] {
            semaphore.acquire();
            log("small");
        });
        yield();
        big.cancel("gone");
        small.await();
    });
    EXPECT_EQ(text(), "small");
}

TEST_F(SemaphoreTest, EndsAWaitByItsTokenAndStaysUsable) {  // CV-13
    run([&] {
        Semaphore semaphore(0);
        const auto token = OneShotEvent::make(scheduler());
        auto waiter = spawn([&] {
            try {
                semaphore.acquire(1, token);
            } catch (const OperationCanceled&) { log("token"); }
            EXPECT_THROW(semaphore.acquire(1, token), OperationCanceled);  // it has fired: no effect at all
        });
        yield();
        token->complete();
        EXPECT_EQ(semaphore.waiting(), 0U);
        semaphore.release();
        EXPECT_EQ(semaphore.available(), 1U);
        waiter.await();
        EXPECT_EQ(semaphore.available(), 1U);
    });
    EXPECT_EQ(text(), "token");
}

TEST_F(SemaphoreTest, IgnoresATokenThatFiresBehindTheGrant) {  // CV-03
    run([&] {
        Semaphore semaphore(0);
        const auto token = OneShotEvent::make(scheduler());
        auto waiter = spawn([&] {
            semaphore.acquire(1, token);
            log("granted");
        });
        yield();
        semaphore.release();
        token->complete();
        waiter.await();
    });
    EXPECT_EQ(text(), "granted");
}

TEST_F(SemaphoreTest, KeepsItsWaiterInProtect) {  // PROT-02
    run([&] {
        Semaphore semaphore(0);
        auto waiter = spawn([&] {
            log_caught([&] {
                protect([&] {
                    semaphore.acquire();
                    log("granted");
                });
            });
        });
        yield();
        waiter.cancel("late");
        semaphore.release();
        waiter.await();
        EXPECT_EQ(semaphore.available(), 0U);
    });
    EXPECT_EQ(text(), "granted late");
}

TEST_F(SemaphoreTest, FailsItsWaitersWhenItGoes) {  // CV-16
    run([&] {
        auto semaphore = std::make_unique<Semaphore>(0);
        std::vector<Coroutine<>> all;
        for (int i = 0; i < 2; ++i) {
            all.push_back(spawn([&] { EXPECT_THROW(semaphore->acquire(), AsyncError); }));
        }
        yield();
        semaphore.reset();
        for (const auto& one : all) { one.await(); }
    });
}

TEST_F(SemaphoreTest, APermitComesBackOnEveryWayOut) {
    run([&] {
        Semaphore semaphore(1);
        EXPECT_THROW(
            {
                Permit permit(semaphore);
                throw Failure("out");
            },
            Failure);
        EXPECT_EQ(semaphore.available(), 1U);
        auto waiter = spawn([&] {
            const Permit permit(semaphore);
            wait_forever();
        });
        yield();
        EXPECT_EQ(semaphore.available(), 0U);
        waiter.cancel();
        static_cast<void>(caught([&] { waiter.await(); }));
        EXPECT_EQ(semaphore.available(), 1U);
        Permit moved(semaphore);
        Permit other = std::move(moved);
        other.release();
        other.release();
        EXPECT_EQ(semaphore.available(), 1U);
    });
}

TEST_F(SemaphoreTest, IsReleasedFromACallback) {  // CV-18
    run([&] {
        Semaphore semaphore(0);
        in_next_tick([&] { semaphore.release(); });
        semaphore.acquire();  // in whose own in-place tick the callback runs
        log("granted");
    });
    EXPECT_EQ(text(), "granted");
}

TEST_F(SemaphoreTest, IsPartOfADeadlockReport) {
    const ErrorValue error = run([&] {
        Semaphore semaphore(0);
        static_cast<void>(caught([&] { semaphore.acquire(); }));
    });
    EXPECT_TRUE(holds<DeadlockError>(error));
}

TEST_F(SemaphoreTest, LeavesInAnyOrderInConstantTime) {
    run([&] {
        constexpr std::size_t count = 1000;
        Semaphore semaphore(0);
        std::vector<Coroutine<>> all;
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(spawn([&] { static_cast<void>(caught([&] { semaphore.acquire(); })); }));
        }
        yield();
        for (std::size_t i = 0; i < count; ++i) { all[(i * 7) % count].cancel(); }
        EXPECT_EQ(semaphore.waiting(), 0U);
        for (const auto& one : all) { one.await(); }
        semaphore.release();
        EXPECT_EQ(semaphore.available(), 1U);
    });
}

}  // namespace
}  // namespace heddle
