// SPDX-License-Identifier: Apache-2.0
// TaskGroup, TaskSet: keys, states, errors and endings (docs/spec/13-task-group.md, GRP-03, 06, 18 to 29, SET-06 to SET-08).
#include <gtest/gtest.h>

#include <string>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/core/sync/task_group.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class GroupEndTest : public ::testing::Test, protected World {
protected:
    template <class Settled>
    static std::string keys_of(const Settled& settled) {
        std::string all;
        for (const auto& [key, value] : settled) { all += (all.empty() ? "" : " ") + to_string(key); }
        return all;
    }
    static std::string errors_of(const ErrorValue& error) {
        std::string all;
        try {
            error.rethrow();
        } catch (const CompositeError& composite) {
            for (const ErrorValue& one : composite.errors()) { all += (all.empty() ? "" : " ") + message(one); }
        } catch (...) { all = "not composite: " + message(error); }
        return all;
    }
    /// Fails with a text when it is asked to.
    static auto failing(const char* text) {
        return [text]() -> int { throw Failure(text); };
    }
};

TEST_F(GroupEndTest, ATaskIsQueuedThenRunsThenIsSettledAndNumbered) {  // GRP-03, GRP-04
    run([&] {
        TaskGroup<int> group({.concurrency = 1, .queue_limit = 0});
        group.spawn([] {
            sleep_for(2ms);
            return 1;
        });
        group.spawn(failing("E"));
        const auto states = [&] {
            return std::to_string(group.state().queued()) + " queued, " + std::to_string(group.state().running()) + " running, " +
                   std::to_string(group.results().size()) + " succeeded, " + std::to_string(group.errors().size()) + " failed";
        };
        EXPECT_EQ(states(), "1 queued, 1 running, 0 succeeded, 0 failed");
        EXPECT_FALSE(group.is_finished());
        sleep_for(3ms);
        EXPECT_EQ(states(), "0 queued, 0 running, 1 succeeded, 1 failed");
        EXPECT_TRUE(group.is_finished());
        group.spawn([] { return 3; });
        EXPECT_FALSE(group.is_finished());  // it may revert while the group is open
        group.close();
        for (const auto& settled : group) { log(to_string(settled.key)); }  // by completion number
    });
    EXPECT_EQ(text(), "0 1 2");
}

TEST_F(GroupEndTest, TakesAKeyAtTheCallAndGivesItBackIfTheCallFails) {  // GRP-06
    run([&] {
        TaskGroup<> group({.concurrency = 1, .queue_limit = 1});
        const FutureState<> gate;
        group.spawn([&] { gate.future().await(); });
        group.spawn([] {});
        auto parked = spawn([&] { log_caught([&] { group.spawn_with_key("k", [] {}); }); });
        auto numbered = spawn([&] { log_caught([&] { group.spawn([] {}); }); });
        yield();
        EXPECT_THROW(group.spawn_with_key("k", [] {}), AsyncError);  // before it was accepted
        parked.cancel("gone");
        numbered.cancel("gone");
        parked.await();
        numbered.await();
        gate.complete();
        yield();
        group.spawn_with_key("k", [] {});
        log(to_string(group.spawn([] {})));  // 2 was taken by a call that failed, and is not used again
        group.close();
        group.await_completion();
        EXPECT_EQ(keys_of(group.all().await()), "0 1 k 3");
    });
    EXPECT_EQ(text(), "gone gone 3");
}

TEST_F(GroupEndTest, ResultsAndErrorsTogetherAreWhatHasSettled) {  // GRP-18, `016`
    run([&] {
        TaskGroup<int> group;
        group.spawn([] { return 1; });
        group.spawn(failing("E"));
        group.spawn([] {
            yield();
            yield();
            return 3;
        });
        yield();
        const auto results = group.results();
        EXPECT_EQ(keys_of(results), "0");
        EXPECT_EQ(keys_of(group.errors()), "1");
        static_cast<void>(group.all(true).await());
        EXPECT_EQ(keys_of(results), "0");  // a snapshot
        EXPECT_EQ(keys_of(group.results()), "0 2");
    });
}

TEST_F(GroupEndTest, AFailureBehindALookAtTheErrorsIsReported) {  // GRP-18, GRP-26
    const ErrorValue error = run([&] {
        {
            TaskGroup<int> group;
            group.spawn(failing("E1"));
            yield();
            EXPECT_EQ(group.errors().size(), 1U);
            group.spawn(failing("E2"));
            group.close();
            group.await_completion();
        }
        yield();
        yield();
    });
    EXPECT_EQ(errors_of(error), "E2");
}

TEST_F(GroupEndTest, WhoeverSeesItsErrorsHasHandledThem) {  // GRP-18
    const ErrorValue error = run([&] {
        for (const int way : {0, 1, 2, 3}) {
            TaskGroup<int> group;
            group.spawn(failing("E"));
            group.close();
            group.await_completion();
            switch (way) {
                case 0: static_cast<void>(group.errors()); break;
                case 1: group.suppress_errors(); break;
                case 2: log(errors_of(caught([&] { static_cast<void>(group.all().await()); }))); break;
                default:
                    for (const auto& settled : group) { log(message(settled.error)); }
            }
        }
        yield();
    });
    EXPECT_FALSE(error);
    EXPECT_EQ(text(), "E E");
}

TEST_F(GroupEndTest, CompletionIsAwaitedOnAClosedGroupAndThrowsNoTasksError) {  // GRP-20, `028`, `029`, `031`
    run([&] {
        Scope scope;
        TaskGroup<int> group({.concurrency = 1, .scope = scope});
        group.spawn(failing("E"));
        group.spawn([&] {
            spawn([&] {  // a coroutine of the group's scope, and no task
                log_caught([] { sleep_for(1s); });
            });
            return 1;
        });
        EXPECT_THROW(group.await_completion(), AsyncError);
        group.close();
        group.await_completion();
        log("complete");
        EXPECT_TRUE(group.is_finished());
        group.await_completion();  // as often as you like
        const FutureState<> fired;
        fired.complete();
        EXPECT_THROW(group.await_completion(fired.future()), OperationCanceled);  // CV-13: a token that fired comes first
        group.suppress_errors();
        scope.cancel();
        yield();
    });
    EXPECT_EQ(text(), "complete the scope was cancelled");
}

TEST_F(GroupEndTest, ATokenEndsAWaitForCompletion) {  // GRP-20
    run([&] {
        TaskGroup<> group;
        group.spawn([] { sleep_for(10ms); });
        group.close();
        EXPECT_THROW(group.await_completion(Timeout(2ms)), OperationCanceled);
        EXPECT_FALSE(group.is_finished());
        group.await_completion();
    });
}

TEST_F(GroupEndTest, ClosingLetsTasksGoOnAndClosingAgainDoesNothing) {  // GRP-21
    run([&] {
        TaskGroup<> group({.concurrency = 1, .queue_limit = 0});
        for (const char* name : {"running", "queued"}) {
            group.spawn([&, name] {
                yield();
                log(name);
            });
        }
        yield();
        group.close();
        group.close();
        EXPECT_TRUE(group.is_closed());
        EXPECT_EQ(group.state().queued(), 1U);
        EXPECT_THROW(group.spawn([] {}), AsyncError);
        group.await_completion();
        EXPECT_EQ(group.results().size(), 2U);
    });
    EXPECT_EQ(text(), "running queued");
}

TEST_F(GroupEndTest, CancelsForGoodWhateverItsScopeDoesWithLeftovers) {  // GRP-23
    run([&] {
        Scope scope;
        scope.allow_zombies();
        TaskGroup<int> group({.scope = scope});
        group.spawn([&] {
            log_caught([] { sleep_for(1s); });
            return 1;
        });
        auto last = spawn([&] { group.cancel(cancellation("enough")); });
        group.spawn([&] { return 2; });  // ends in the same round, behind the cancellation's sender
        yield();
        yield();
        EXPECT_EQ(program_.runtime().zombies().size(), 0U);
        last.await();
        group.await_completion();
        EXPECT_EQ(keys_of(group.results()), "0");
        EXPECT_EQ(keys_of(group.errors()), "1");  // it had not begun
    });
    EXPECT_EQ(text(), "enough");
}

TEST_F(GroupEndTest, ATaskThatHasFinishedKeepsItsResult) {  // GRP-23: in the round of the cancellation
    run([&] {
        TaskGroup<int> group;
        group.spawn([] { return 1; });
        group.spawn([] {
            yield();
            return 2;
        });
        auto canceller = spawn([&] { group.cancel(); });
        canceller.await();
        group.await_completion();
        EXPECT_EQ(keys_of(group.results()), "0");
        EXPECT_EQ(keys_of(group.errors()), "1");
    });
}

TEST_F(GroupEndTest, DisposalTakesAlongWhatItsTasksSpawned) {  // GRP-25, `020`
    run([&] {
        TaskGroup<> group;
        group.spawn([&] {
            spawn([&] { log_caught([] { sleep_for(1s); }); });
            log_caught([] { sleep_for(1s); });
        });
        yield();
        yield();
        group.dispose();
        EXPECT_TRUE(group.is_closed());
        EXPECT_THROW(group.spawn([] {}), AsyncError);
        group.await_completion();
        yield();
        group.dispose();  // nothing is left of it
        EXPECT_EQ(scheduler().registry().size(), 1U);
    });
    EXPECT_EQ(text(), "the task group was cancelled the scope was cancelled");
}

/// A task that cannot be moved any more from some time on: its coroutine cannot be made.
struct Stuck {
    bool* now;
    explicit Stuck(bool& flag) : now(&flag) {}
    Stuck(const Stuck& other) : now(other.now) {
        if (*now) { throw Failure("stuck"); }
    }
    int operator()() { return 7; }
};

TEST_F(GroupEndTest, AQueuedTaskWhoseCoroutineCannotBeMadeFailsAndTheNextBegins) {  // GRP-29
    run([&] {
        bool stuck = false;
        TaskGroup<int> group({.concurrency = 1, .queue_limit = 0});
        group.spawn([] {
            yield();
            return 1;
        });
        group.spawn(Stuck(stuck));
        group.spawn([] { return 3; });
        stuck = true;
        group.close();
        group.await_completion();
        EXPECT_EQ(keys_of(group.results()), "0 2");
        const auto errors = group.errors();
        ASSERT_EQ(keys_of(errors), "1");
        log(message(errors.front().second));
        EXPECT_THROW(static_cast<void>(TaskGroup<int>().spawn(Stuck(stuck))), Failure);  // at once: the caller's
    });
    EXPECT_EQ(text(), "stuck");
}

// ── sets ──

TEST_F(GroupEndTest, AnIterationOfASetTakesOneEntryPerTurn) {  // SET-06, `015`
    const ErrorValue error = run([&] {
        TaskSet<int> set;
        set.spawn(failing("E"));
        set.spawn([] { return 2; });
        set.spawn([] { return 3; });
        set.close();
        std::size_t left = 3;
        for (const auto& settled : set) {
            log(settled.error ? message(settled.error) : std::to_string(*settled.value));
            EXPECT_EQ(set.count(), --left);
            if (left == 1) { break; }
        }
        EXPECT_EQ(set.join_next().await(), 3);
    });
    EXPECT_FALSE(error);  // what was delivered as an error counts as handled
    EXPECT_EQ(text(), "E 2");
}

TEST_F(GroupEndTest, AnErrorThatAJoinDeliveredIsHandled) {  // SET-06
    const ErrorValue error = run([&] {
        {
            TaskSet<int> set;
            set.spawn(failing("E"));
            log(message(caught([&] { static_cast<void>(set.join_next().await()); })));
        }
        yield();
    });
    EXPECT_FALSE(error);
    EXPECT_EQ(text(), "E");
}

TEST_F(GroupEndTest, JoinAllEmptiesTheSetEvenWithErrors) {  // SET-07
    run([&] {
        TaskSet<int> set;
        set.spawn([] { return 1; });
        set.spawn(failing("E1"));
        set.spawn(failing("E2"));
        log(errors_of(caught([&] { static_cast<void>(set.join_all().await()); })));
        EXPECT_EQ(set.count(), 0U);
        set.spawn([] { return 4; });
        set.spawn(failing("E3"));
        EXPECT_EQ(keys_of(set.join_all(true).await()), "3");
        EXPECT_EQ(set.count(), 0U);
    });
    EXPECT_EQ(text(), "E1 E2");
}

TEST_F(GroupEndTest, AJoinThatWasDroppedFirstTakesNothing) {  // SET-07
    run([&] {
        TaskSet<int> set;
        set.spawn([] {
            yield();
            return 1;
        });
        { set.join_all().ignore(); }
        { set.join_next().ignore(); }
        yield();
        yield();
        EXPECT_EQ(set.count(), 1U);
        EXPECT_EQ(set.join_next().await(), 1);
    });
}

TEST_F(GroupEndTest, FinallyOfASetIsToldWhatIsLeft) {  // SET-08, `021`
    run([&] {
        for (const bool joined : {false, true}) {
            TaskSet<int> set;
            set.finally([&](std::size_t left) { log(std::to_string(left)); });
            set.spawn([] { return 1; });
            set.spawn([] { return 2; });
            if (joined) { static_cast<void>(set.join_all().await()); }
            set.close();
            set.await_completion();
            yield();
            yield();
        }
    });
    EXPECT_EQ(text(), "2 0");
}

}  // namespace
}  // namespace heddle
