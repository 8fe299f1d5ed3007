// SPDX-License-Identifier: Apache-2.0
// TaskGroup, TaskSet, with_group: limits, waits, endings (docs/spec/13-task-group.md, 13.1 to 13.6, 13.9).
#include <gtest/gtest.h>

#include <string>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/core/sync/task_group.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class GroupTest : public ::testing::Test, protected World {
protected:
    template <class Results>
    static std::string text_of(const Results& results) {
        std::string all;
        for (const auto& [key, value] : results) { all += (all.empty() ? "" : " ") + to_string(key) + "=" + std::to_string(value); }
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
};

TEST(TaskGroup, RunsTasksUpToItsLimitAndInOrder) {  // GRP-08, GRP-09, `007`
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            TaskGroup<> group({.concurrency = 2, .queue_limit = 0});
            for (const char* name : {"a", "b", "c", "d"}) {
                group.spawn([&, name] {
                    program.log(name);
                    yield();
                });
            }
            EXPECT_EQ(group.state().running(), 2U);
            EXPECT_EQ(group.state().queued(), 2U);
            EXPECT_EQ(group.count(), 4U);
            group.close();
            EXPECT_FALSE(group.is_finished());
            group.await_completion();
            EXPECT_TRUE(group.is_finished());
        });
        EXPECT_EQ(program.text(), "a b c d");
    });
}

TEST_F(GroupTest, RefusesWhatIsImpossible) {  // GRP-01, GRP-02, GRP-06, GRP-07
    run([&] {
        EXPECT_THROW(TaskGroup<>({.concurrency = -2}), ValueError);
        EXPECT_THROW(TaskGroup<>({.queue_limit = -2}), ValueError);
        Scope gone;
        gone.dispose();
        EXPECT_THROW(TaskGroup<>({.scope = gone}), AsyncError);
        TaskGroup<int> group;
        EXPECT_THROW(static_cast<void>(group.race()), AsyncError);
        EXPECT_THROW(static_cast<void>(group.any()), AsyncError);
        EXPECT_THROW(group.await_completion(), AsyncError);
        group.spawn_with_key("k", [] { return 1; });
        EXPECT_THROW(group.spawn_with_key("k", [] { return 2; }), AsyncError);
        EXPECT_EQ(std::get<std::int64_t>(group.spawn_with_key(std::int64_t{5}, [] { return 3; })), 5);
        EXPECT_EQ(std::get<std::int64_t>(group.spawn([] { return 4; })), 6);
        group.close();
        EXPECT_THROW(group.spawn([] { return 5; }), AsyncError);
        EXPECT_THROW(group.cancel(ErrorValue::make<Failure>("no cancellation")), ValueError);
        EXPECT_EQ(text_of(group.all().await()), "k=1 5=3 6=4");
    });
}

TEST_F(GroupTest, ParksACallerWhileSlotsAndQueueAreFull) {  // GRP-08, GRP-10, `041`
    run([&] {
        TaskGroup<> group({.concurrency = 1, .queue_limit = 1});
        const auto task = [&](const char* name) {
            return [&, name] {
                log(name);
                yield();
            };
        };
        group.spawn(task("1"));
        group.spawn(task("2"));
        auto a = spawn([&] {
            group.spawn(task("3"));
            log("a-through");
        });
        auto b = spawn([&] {
            group.spawn(task("4"));
            log("b-through");
        });
        yield();
        EXPECT_EQ(group.state().waiting_spawners(), 2U);
        a.await();
        b.await();
        group.close();
        group.await_completion();
    });
    EXPECT_EQ(text(), "1 2 a-through 3 b-through 4");
}

TEST_F(GroupTest, APlaceIsHandedOnByACancelledCaller) {  // GRP-10
    run([&] {
        TaskGroup<> group({.concurrency = 1, .queue_limit = 1});
        const FutureState<> gate;
        group.spawn([&] { gate.future().await(); });
        group.spawn([&] { yield(); });
        auto a = spawn([&] { log_caught([&] { group.spawn([&] { log("A ran"); }); }); });
        auto b = spawn([&] { group.spawn([&] { log("B ran"); }); });
        yield();
        gate.complete();
        while (group.state().granted_places() == 0) { yield(); }
        a.cancel("gone");
        a.await();
        b.await();
        group.close();
        group.await_completion();
        EXPECT_EQ(group.state().granted_places(), 0U);
        EXPECT_EQ(group.count(), 3U);  // INV-GRP-07: the failed spawn left no trace
    });
    EXPECT_EQ(text(), "gone B ran");
}

TEST_F(GroupTest, ClosingWakesParkedCallers) {  // GRP-11, INV-GRP-05
    run([&] {
        TaskGroup<> group({.concurrency = 1, .queue_limit = 1});
        group.spawn([] { yield(); });
        group.spawn([] {});
        auto a = spawn([&] { EXPECT_THROW(group.spawn([] {}), AsyncError); });
        yield();
        group.close();
        a.await();
        group.await_completion();
        EXPECT_EQ(group.count(), 2U);
    });
}

TEST_F(GroupTest, AllGivesResultsInSpawnOrderOrEveryError) {  // GRP-12, GRP-13, `008`–`010`
    run([&] {
        TaskGroup<int> group;
        group.spawn([] {
            yield();
            return 1;
        });
        const auto early = group.all();
        group.spawn([] { return 2; });  // included: it was added while the wait is pending
        EXPECT_EQ(text_of(early.await()), "0=1 1=2");
        EXPECT_EQ(text_of(group.all().await()), "0=1 1=2");
        group.spawn([]() -> int { throw Failure("E1"); });
        group.spawn([]() -> int {
            yield();
            throw Failure("E2");
        });
        log(errors_of(caught([&] { static_cast<void>(group.all().await()); })));
        EXPECT_EQ(text_of(group.all(true).await()), "0=1 1=2");
        EXPECT_EQ(text_of(group.results()), "0=1 1=2");
        EXPECT_EQ(group.errors().size(), 2U);
    });
    EXPECT_EQ(text(), "E1 E2");
}

TEST_F(GroupTest, RaceAndAnyNameTheSameTaskForEver) {  // GRP-14 to GRP-16, 13.9 example 2, INV-GRP-09
    run([&] {
        TaskGroup<int> group;
        group.spawn([] {
            sleep_for(10ms);
            return 1;
        });
        group.spawn([]() -> int { throw Failure("E"); });
        group.spawn([] {
            sleep_for(5ms);
            return 3;
        });
        const auto race = group.race();
        const auto any = group.any();
        EXPECT_EQ(message(caught([&] { static_cast<void>(race.await()); })), "E");
        EXPECT_EQ(any.await(), 3);
        static_cast<void>(group.all(true).await());
        EXPECT_EQ(message(caught([&] { static_cast<void>(group.race().await()); })), "E");
        EXPECT_EQ(group.any().await(), 3);
        group.suppress_errors();
    });
}

TEST_F(GroupTest, AnyRejectsWhenNobodySucceeded) {  // GRP-15, BUG-110
    run([&] {
        TaskGroup<int> group;
        group.spawn([]() -> int { throw Failure("E1"); });
        group.spawn([]() -> int {
            yield();
            throw Failure("E2");
        });
        log(errors_of(caught([&] { static_cast<void>(group.any().await()); })));
        group.spawn([] { return 7; });  // a rejection on an open group is not final (GRP-16)
        yield();
        EXPECT_EQ(group.any().await(), 7);
    });
    EXPECT_EQ(text(), "E1 E2");
}

TEST_F(GroupTest, CancelSettlesQueuedTasksAndNeverStartsThem) {  // GRP-22, 13.9 example 1, `019`
    run([&] {
        TaskGroup<> group({.concurrency = 1, .queue_limit = 0});
        group.spawn([&] {
            log("1");
            log_caught([] { sleep_for(1s); });
            throw AsyncCancellation("again");
        });
        group.spawn([&] { log("2"); });
        group.spawn([&] { log("3"); });
        yield();
        group.cancel(cancellation("enough"));
        group.cancel();
        EXPECT_FALSE(group.is_finished());
        group.await_completion();
        EXPECT_TRUE(group.results().empty());
        EXPECT_EQ(group.errors().size(), 3U);
        EXPECT_THROW(group.spawn([] {}), AsyncError);
    });
    EXPECT_EQ(text(), "1 enough");
}

TEST_F(GroupTest, ATaskCancelledBeforeItRanSettles) {  // GRP-28
    run([&] {
        TaskGroup<> group;
        group.spawn([&] { log("never"); });
        group.cancel(cancellation("first"));
        group.await_completion();
        const auto errors = group.errors();
        ASSERT_EQ(errors.size(), 1U);
        log(message(errors[0].second));
    });
    EXPECT_EQ(text(), "first");
}

TEST_F(GroupTest, FinallyRunsOnceAtTheEnd) {  // GRP-24, INV-GRP-10, `023`, `024`
    run([&] {
        TaskGroup<int> group;
        group.finally([&](const TaskGroup<int>& ended) {
            EXPECT_TRUE(ended.is_finished());
            log("first");
            yield();
            log("first-again");
        });
        group.finally([&](const TaskGroup<int>&) { log("second"); });
        group.spawn([] { return 1; });
        static_cast<void>(group.all().await());
        yield();
        EXPECT_EQ(text(), "");  // finished, but not closed
        group.close();
        yield();
        yield();
        yield();
        group.finally([&](const TaskGroup<int>&) { log("late"); });
        log("after");
    });
    EXPECT_EQ(text(), "first second first-again late after");
}

TEST_F(GroupTest, IterationYieldsInOrderOfCompletion) {  // GRP-19, INV-GRP-11
    run([&] {
        TaskGroup<int> group;
        group.spawn([] {
            sleep_for(2ms);
            return 1;
        });
        group.spawn([] {
            sleep_for(1ms);
            return 2;
        });
        group.spawn([]() -> int { throw Failure("E"); });
        group.close();
        for (int pass = 0; pass < 2; ++pass) {
            for (const auto& settled : group) { log(settled.value ? std::to_string(*settled.value) : message(settled.error)); }
        }
    });
    EXPECT_EQ(text(), "E 2 1 E 2 1");
}

TEST_F(GroupTest, DroppingItCancelsWhatIsLeftAndReportsErrorsOnce) {  // GRP-26, INV-GRP-12
    const ErrorValue error = run([&] {
        {
            TaskGroup<> group;
            group.spawn([] { throw Failure("lost"); });
            yield();
            group.spawn([&] { log_caught([] { sleep_for(1s); }); });
            group.close();
            yield();
        }
        yield();
        yield();
        {
            TaskGroup<> group;
            group.spawn([] { throw Failure("lost"); });
            group.close();
            group.await_completion();
        }
        yield();
        yield();
    });
    EXPECT_EQ(text(), "the task group was cancelled");
    EXPECT_EQ(errors_of(error), "lost");  // the first one's was made handled by its cancellation (GRP-22)
}

TEST_F(GroupTest, EndsWithItsScope) {  // GRP-27
    run([&] {
        Scope scope;
        TaskGroup<> group({.concurrency = 1, .scope = scope});
        group.spawn([&] { log_caught([] { sleep_for(1s); }); });
        group.spawn([&] { log("never"); });
        yield();
        scope.cancel();
        EXPECT_TRUE(group.is_closed());
        group.await_completion();
        EXPECT_EQ(group.errors().size(), 1U);  // the first one swallowed its cancellation
    });
    EXPECT_EQ(text(), "the scope was cancelled");
}

TEST_F(GroupTest, AWaitCanBeDroppedInAnyOrder) {  // GRP-17, BUG-112, INV-ALL-12
    run([&] {
        for (const bool settled : {false, true}) {
            for (const bool group_first : {false, true}) {
                auto group = std::make_unique<TaskGroup<int>>();
                group->spawn([] { return 1; });
                if (settled) { static_cast<void>(group->all().await()); }
                auto wait = std::make_unique<Future<std::vector<std::pair<TaskKey, int>>>>(group->all());
                wait->ignore();
                if (group_first) { group.reset(); }
                wait.reset();
                group.reset();
                yield();
            }
        }
    });
}

TEST_F(GroupTest, ASetDeliversEachTaskOnce) {  // SET-02 to SET-04, 13.9 example 3, INV-SET-01
    run([&] {
        TaskSet<int> set;
        EXPECT_THROW(static_cast<void>(set.join_next()), AsyncError);  // SET-05
        set.spawn([] { return 1; });
        set.spawn([] {
            yield();
            return 2;
        });
        const auto first = set.join_next();
        const auto second = set.join_next();
        yield();
        EXPECT_TRUE(first.is_completed());
        EXPECT_FALSE(second.is_completed());
        EXPECT_EQ(set.count(), 1U);
        EXPECT_EQ(first.await(), 1);
        EXPECT_EQ(second.await(), 2);
        EXPECT_EQ(set.count(), 0U);
        set.spawn_with_key("k", []() -> int { throw Failure("E"); });
        EXPECT_EQ(message(caught([&] { static_cast<void>(set.join_next().await()); })), "E");
        set.spawn_with_key("k", [] { return 3; });  // SET-01
        EXPECT_EQ(text_of(set.join_all().await()), "k=3");
        EXPECT_EQ(set.count(), 0U);
    });
}

TEST_F(GroupTest, AJoinThatNobodyObtainedGivesItsTaskBack) {  // SET-09
    run([&] {
        TaskSet<int> set;
        set.spawn_with_key("k", [] { return 1; });
        {
            const auto unread = set.join_next();
            unread.ignore();
            yield();
            EXPECT_TRUE(unread.is_completed());
            EXPECT_EQ(set.count(), 0U);
            EXPECT_THROW(set.spawn_with_key("k", [] { return 2; }), AsyncError);
        }
        EXPECT_EQ(set.count(), 1U);
        EXPECT_EQ(set.join_next().await(), 1);
        set.spawn_with_key("k", [] { return 2; });
        EXPECT_EQ(set.join_any().await(), 2);
    });
}

TEST_F(GroupTest, JoinsLeftAtTheEndAreRejected) {  // SET-05, INV-SET-02
    run([&] {
        TaskSet<int> set;
        set.spawn([] { return 1; });
        set.spawn([]() -> int { throw Failure("E"); });
        const auto a = set.join_any();
        const auto b = set.join_any();
        set.close();
        EXPECT_EQ(a.await(), 1);
        log(errors_of(caught([&] { static_cast<void>(b.await()); })));
        for (const auto& settled : set) { log(message(settled.error)); }
        EXPECT_EQ(set.count(), 0U);
        set.finally([&](std::size_t left) { log(std::to_string(left)); });
    });
    EXPECT_EQ(text(), "E E 0");
}

TEST_F(GroupTest, WithGroupWaitsForEverything) {  // GRP-30, INV-GRP-14
    run([&] {
        with_group<int>({}, [&](TaskGroup<int>& group) {
            group.spawn([&] {
                yield();
                log("task");
                return 1;
            });
            log("fn");
        });
        log("out");
        log(errors_of(caught([&] {
            with_group({}, [&](TaskGroup<>& group) { group.spawn([] { throw Failure("E"); }); });
        })));
        const ErrorValue error = caught([&] {
            with_group({}, [&](TaskGroup<>& group) {
                group.spawn([&] {
                    log_caught([] { sleep_for(1s); });
                    throw Failure("T");
                });
                yield();
                throw Failure("F");
            });
        });
        log(message(error));
    });
    EXPECT_EQ(text(), "fn task out E the task group was cancelled F");
}

TEST_F(GroupTest, WithGroupIsCancelledWithItsCaller) {  // GRP-30, BUG-116
    run([&] {
        auto owner = spawn([&] {
            log_caught([&] {
                with_group({}, [&](TaskGroup<>& group) {
                    group.spawn([&] {
                        try {
                            sleep_for(1s);
                        } catch (const Cancellation&) {
                            cleanup([] { yield(); });
                            log("cleaned");
                            throw;
                        }
                    });
                });
            });
        });
        yield();
        yield();
        owner.cancel("stop");
        owner.await();
    });
    EXPECT_EQ(text(), "cleaned stop");
}

}  // namespace
}  // namespace heddle
