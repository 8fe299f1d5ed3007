// SPDX-License-Identifier: Apache-2.0
// Mutex, Lock and Condition: hand-over in order of arrival, nothing lost to those who leave (CV-04 to CV-08, CV-20).
#include <gtest/gtest.h>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/mutex.hpp"

namespace heddle {
namespace {

using namespace heddle::testing;

class MutexTest : public ::testing::Test, protected World {};
class ConditionTest : public ::testing::Test, protected World {};

TEST(Mutex, PassesFromHolderToTheOldestWaiter) {  // CV-07
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Mutex mutex;
            std::vector<Coroutine<>> all;
            for (const char* name : {"a", "b", "c"}) {
                all.push_back(spawn([&, name] {
                    Lock lock(mutex);
                    EXPECT_TRUE(mutex.is_mine());
                    program.log(name);
                    yield();
                    program.log(name);
                }));
            }
            for (const auto& one : all) { one.await(); }
            EXPECT_FALSE(mutex.is_locked());
        });
        EXPECT_EQ(program.text(), "a a b b c c");
    });
}

TEST_F(MutexTest, IsNeverFreeWhileSomebodyWaits) {  // CV-05
    run([&] {
        Mutex mutex;
        mutex.lock();
        auto waiter = spawn([&] {
            Lock lock(mutex);
            log("waiter");
        });
        yield();
        mutex.unlock();
        EXPECT_TRUE(mutex.is_locked());
        EXPECT_FALSE(mutex.is_mine());
        EXPECT_FALSE(mutex.try_lock());
        waiter.await();
        EXPECT_TRUE(mutex.try_lock());
        mutex.unlock();
    });
    EXPECT_EQ(text(), "waiter");
}

TEST_F(MutexTest, RefusesWhoDoesNotHoldItAndWhoHoldsItAlready) {  // CV-14: usage errors change nothing
    run([&] {
        Mutex mutex;
        EXPECT_THROW(mutex.unlock(), AsyncError);
        mutex.lock();
        EXPECT_THROW(mutex.lock(), AsyncError);
        EXPECT_FALSE(mutex.try_lock());
        spawn([&] { EXPECT_THROW(mutex.unlock(), AsyncError); }).await();
        EXPECT_TRUE(mutex.is_mine());
        mutex.unlock();
        EXPECT_FALSE(mutex.is_locked());
    });
}

TEST_F(MutexTest, DoesNotLetACancelledWaiterIn) {
    run([&] {
        Mutex mutex;
        mutex.lock();
        auto first = spawn([&] {
            log_caught([&] {
                Lock lock(mutex);
                log("entered");
            });
        });
        auto second = spawn([&] {
            Lock lock(mutex);
            log("second");
        });
        yield();
        mutex.unlock();
        first.cancel("gone");  // in the window: it was given the mutex already
        first.await();
        second.await();
        EXPECT_FALSE(mutex.is_locked());
    });
    EXPECT_EQ(text(), "gone second");
}

TEST_F(MutexTest, LockOutlivesTheMutex) {  // INV-ALL-12
    run([&] {
        auto mutex = std::make_unique<Mutex>();
        Lock lock(*mutex);
        auto waiter = spawn([&] { EXPECT_THROW(Lock other(*mutex), AsyncError); });
        yield();
        mutex.reset();
        waiter.await();
        EXPECT_TRUE(lock.is_held());
    });
}

TEST_F(MutexTest, AThrowingBodyReleasesIt) {
    run([&] {
        Mutex mutex;
        EXPECT_THROW(
            {
                Lock lock(mutex);
                throw Failure("out");
            },
            Failure);
        EXPECT_FALSE(mutex.is_locked());
    });
}

TEST_F(MutexTest, UnlockSwitchesToNobody) {  // CV-02
    run([&] {
        Mutex mutex;
        mutex.lock();
        auto waiter = spawn([&] {
            Lock lock(mutex);
            log("waiter");
        });
        yield();
        mutex.unlock();
        log("unlocked");
        waiter.await();
    });
    EXPECT_EQ(text(), "unlocked waiter");
}

TEST_F(ConditionTest, IsToldWithTheMutexHeldAgain) {
    run([&] {
        Mutex mutex;
        Condition changed;
        int items = 0;
        auto consumer = spawn([&] {
            Lock lock(mutex);
            changed.wait_until(lock, [&] {
                EXPECT_TRUE(mutex.is_mine());
                return items > 0;
            });
            EXPECT_TRUE(mutex.is_mine());
            log("consumed");
        });
        yield();
        EXPECT_FALSE(mutex.is_locked());
        {
            Lock lock(mutex);
            ++items;
            EXPECT_TRUE(changed.notify_one());
            yield();
            log("producer");
        }
        consumer.await();
    });
    EXPECT_EQ(text(), "producer consumed");
}

TEST_F(ConditionTest, RemembersNoNotification) {
    run([&] {
        Condition condition;
        EXPECT_FALSE(condition.notify_one());
        EXPECT_EQ(condition.notify_all(), 0U);
    });
}

TEST_F(ConditionTest, PassesANotificationOnWhenItsReceiverIsCancelledInTheWindow) {  // CV-06, BUG-016
    run([&] {
        Mutex mutex;
        Condition condition;
        const auto waits = [&](const char* name) {
            return [&, name] {
                log_caught([&] {
                    Lock lock(mutex);
                    condition.wait(lock);
                    log(name);
                });
            };
        };
        auto first = spawn(waits("first"));
        auto second = spawn(waits("second"));
        yield();
        EXPECT_EQ(condition.waiting(), 2U);
        condition.notify_one();
        first.cancel("gone");
        first.await();
        second.await();
        EXPECT_FALSE(mutex.is_locked());
    });
    EXPECT_EQ(text(), "gone second none");
}

TEST_F(ConditionTest, ABroadcastIsNoPermit) {  // BUG-017
    run([&] {
        Mutex mutex;
        Condition condition;
        auto first = spawn([&] {
            Lock lock(mutex);
            log_caught([&] { condition.wait(lock); });
        });
        yield();
        EXPECT_EQ(condition.notify_all(), 1U);
        first.cancel("gone");
        auto late = spawn([&] {
            Lock lock(mutex);
            log_caught([&] { condition.wait(lock); });
        });
        first.await();
        yield();
        EXPECT_EQ(condition.waiting(), 1U);
        late.cancel("late");
        late.await();
    });
    EXPECT_EQ(text(), "gone late");
}

TEST_F(ConditionTest, HoldsTheMutexOnEveryExit) {  // BUG-023
    run([&] {
        Mutex mutex;
        Condition condition;
        const auto token = OneShotEvent::make(scheduler());
        auto waiter = spawn([&] {
            Lock lock(mutex);
            EXPECT_THROW(condition.wait(lock, token), OperationCanceled);
            EXPECT_TRUE(lock.is_held());
            EXPECT_TRUE(mutex.is_mine());
            log_caught([&] { condition.wait(lock); });
            EXPECT_TRUE(mutex.is_mine());
        });
        yield();
        token->complete();
        yield();
        {
            Lock lock(mutex);
            waiter.cancel("cancelled");
            yield();  // it waits for the mutex, and no cancellation ends that
            EXPECT_EQ(mutex.waiting(), 1U);
        }
        waiter.await();
        EXPECT_FALSE(mutex.is_locked());
    });
    EXPECT_EQ(text(), "cancelled");
}

TEST_F(ConditionTest, PassesTheNotificationOnWhenTheWaitThrowsBehindIt) {
    run([&] {
        Mutex mutex;
        Condition condition;
        auto first = spawn([&] {
            Lock lock(mutex);
            log_caught([&] { condition.wait(lock); });
        });
        auto second = spawn([&] {
            Lock lock(mutex);
            condition.wait(lock);
            log("second");
        });
        yield();
        Lock lock(mutex);
        condition.notify_one();
        yield();  // first has run, and waits for the mutex
        first.cancel("late");
        lock.unlock();
        first.await();
        second.await();
    });
    EXPECT_EQ(text(), "late second");
}

TEST_F(ConditionTest, LeavesWithoutTheMutexOnlyWhenTheRunEndsWhileItIsTakenAgain) {  // PRT-7: a deadlock lifts the protection
    Mutex mutex(program_.runtime());
    Condition condition(program_.runtime());
    bool holds_it = true;
    const ErrorValue error = run([&] {
        spawn([&] {
            Lock lock(mutex);
            log_caught([&] { condition.wait(lock); });
            holds_it = lock.is_held();
        });
        yield();
        Lock lock(mutex);
        EXPECT_TRUE(condition.notify_one());
        yield();  // the waiter was told, and waits for the mutex
        EXPECT_EQ(mutex.waiting(), 1U);
        EXPECT_EQ(condition.waiting(), 0U);
        log_caught([&] { fresh().resume_when(*bell(), WakeBy::resolve); suspend(); });  // for ever, with the mutex held
        yield();  // the waiter leaves first
    });
    EXPECT_TRUE(holds<DeadlockError>(error));
    EXPECT_FALSE(holds_it);
    EXPECT_FALSE(mutex.is_locked());
}

TEST_F(ConditionTest, IsUnwoundWhileItTakesTheMutexAgain) {  // CV-09, SCH-72
    Mutex mutex(program_.runtime());
    Condition condition(program_.runtime());
    bool ended = false;
    const ErrorValue error = run([&] {
        spawn([&] {
            const AtExit at_exit([&] { ended = true; });
            Lock lock(mutex);
            while (true) {
                try {
                    condition.wait(lock);
                } catch (const Cancellation&) {  // it does not give up, and waits for the mutex instead
                    lock = Lock(mutex);
                }
            }
        });
        spawn([&] {
            Lock lock(mutex);
            condition.notify_one();
            while (true) {
                try {
                    fresh().resume_when(*bell(), WakeBy::resolve);
                    suspend();
                } catch (const Cancellation&) { static_cast<void>(0); }
            }
        });
        yield();
        yield();
        EXPECT_EQ(mutex.waiting(), 1U);
    });
    EXPECT_TRUE(holds<DeadlockError>(error));
    EXPECT_TRUE(ended);
    EXPECT_EQ(mutex.waiting(), 0U);
    EXPECT_EQ(condition.waiting(), 0U);
    EXPECT_FALSE(mutex.is_locked());
}

TEST_F(ConditionTest, RefusesALockThatIsNotHeld) {
    run([&] {
        Mutex mutex;
        Condition condition;
        Lock lock(mutex);
        lock.unlock();
        EXPECT_THROW(condition.wait(lock), AsyncError);
        EXPECT_EQ(condition.waiting(), 0U);
    });
}

TEST_F(ConditionTest, FailsItsWaitersWhenItGoes) {
    run([&] {
        Mutex mutex;
        auto condition = std::make_unique<Condition>();
        auto waiter = spawn([&] {
            Lock lock(mutex);
            EXPECT_THROW(condition->wait(lock), AsyncError);
            EXPECT_TRUE(mutex.is_mine());
        });
        yield();
        condition.reset();
        waiter.await();
    });
}

}  // namespace
}  // namespace heddle
