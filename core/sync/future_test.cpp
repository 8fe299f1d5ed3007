// SPDX-License-Identifier: Apache-2.0
// Future and FutureState: one outcome for every observer, derived futures, and what is said about those that nobody looked at.
#include <gtest/gtest.h>

#include <memory>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/future.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

/// Collects what goes to the error sink.
struct Sink {
    std::vector<std::string> texts;
    RuntimeOptions options() {
        RuntimeOptions options;
        options.on_diagnostic = [this](const Diagnostic& diagnostic) {
            texts.push_back(diagnostic.error ? message(diagnostic.error) : "unused");
        };
        return options;
    }
    [[nodiscard]] std::string text() const {
        std::string all;
        for (const std::string& one : texts) { all += (all.empty() ? "" : " ") + one; }
        return all;
    }
};

class FutureTest : public ::testing::Test, protected World {
protected:
    FutureTest() : FutureTest(std::make_unique<Sink>()) {}
    explicit FutureTest(std::unique_ptr<Sink> sink) : World(sink->options()), sink_(std::move(sink)) {}
    std::unique_ptr<Sink> sink_;
    static ErrorValue failure(const char* text) { return ErrorValue::make<Failure>(text); }
};

TEST(Future, GivesEveryObserverTheSameOutcome) {  // FUT-06, INV-FUT-03
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            FutureState<int> state;
            std::vector<Coroutine<>> all;
            for (const char* name : {"a", "b"}) {
                all.push_back(spawn([&, name, future = state.future()] {
                    EXPECT_EQ(future.await(), 42);
                    program.log(name);
                }));
            }
            yield();
            state.complete(42);
            program.log("settled");
            EXPECT_EQ(state.future().await(), 42);  // early or late
            program.log("late");
            for (const auto& one : all) { one.await(); }
        });
        EXPECT_EQ(program.text(), "settled late a b");
    });
}

TEST_F(FutureTest, IsSettledOnce) {  // FUT-03, INV-FUT-01, INV-FUT-02
    run([&] {
        const FutureState<int> state;
        const Future<int> future = state.future();
        EXPECT_FALSE(future.is_completed());
        state.complete(1);
        EXPECT_THROW(state.complete(2), AsyncError);
        EXPECT_THROW(state.error(failure("late")), AsyncError);
        EXPECT_FALSE(state.try_complete(3));
        EXPECT_FALSE(state.try_error(failure("late")));
        EXPECT_FALSE(future.cancel());
        EXPECT_TRUE(future.is_completed());
        EXPECT_FALSE(future.is_cancelled());
        EXPECT_EQ(future.await(), 1);
        try {
            state.complete(2);
        } catch (const AsyncError& error) { EXPECT_NE(std::string(error.what()).find("future_test.cpp"), std::string::npos); }
    });
}

TEST_F(FutureTest, ThrowsItsErrorToEachAwaiter) {  // BUG-103
    run([&] {
        const FutureState<int> state;
        const Future<int> future = state.future();
        auto early = spawn([&] { EXPECT_THROW(future.await(), Failure); });
        yield();
        state.error(failure("E"));
        EXPECT_THROW(future.await(), Failure);
        early.await();
        EXPECT_THROW(future.await(), Failure);
        EXPECT_EQ(message(future.error()), "E");
    });
    EXPECT_EQ(sink_->text(), "");
}

TEST_F(FutureTest, CancelRejectsAPendingOne) {  // FUT-04; the first example of 12.9
    run([&] {
        const FutureState<int> state;
        const Future<int> future = state.future();
        EXPECT_THROW(future.cancel(failure("no cancellation")), ValueError);
        EXPECT_TRUE(future.cancel());
        EXPECT_TRUE(future.is_cancelled());
        EXPECT_FALSE(future.cancel());
        EXPECT_THROW(state.complete(1), AsyncError);
        log_caught([&] { static_cast<void>(future.await()); });
    });
    EXPECT_EQ(text(), "the future was cancelled");
}

TEST_F(FutureTest, IsBrokenWhenItsLastProducerGoes) {  // FUT-08
    run([&] {
        auto state = std::make_unique<FutureState<int>>();
        auto copy = std::make_unique<FutureState<int>>(*state);
        const Future<int> future = state->future();
        auto waiter = spawn([&] { EXPECT_THROW(future.await(), BrokenPromise); });
        yield();
        state.reset();
        EXPECT_FALSE(future.is_completed());
        copy.reset();
        EXPECT_TRUE(future.is_completed());
        waiter.await();
        const Future<int> lost = FutureState<int>().future();
        lost.ignore();
        static_cast<void>(FutureState<int>().future().map([](int value) { return value; }));
        yield();
    });
    EXPECT_EQ(sink_->text(), "unused");  // never a report about the promise itself (FUT-22)
}

TEST_F(FutureTest, SettledOnesAnswerWithoutSuspending) {  // AWC-01, 12.9 example 3
    run([&] {
        const auto fired = OneShotEvent::make(scheduler());
        fired->complete();
        const auto before = program_.switches();
        EXPECT_EQ(Future<int>::completed(7).await(fired), 7);
        EXPECT_THROW(static_cast<void>(Future<int>::failed(failure("E")).await()), Failure);
        Future<>::completed().await();
        const FutureState<> pending;
        EXPECT_THROW(pending.future().await(fired), OperationCanceled);
        EXPECT_EQ(program_.switches(), before);
        EXPECT_THROW(static_cast<void>(Future<int>::failed({})), ValueError);
        pending.complete();
    });
}

TEST_F(FutureTest, IsATokenItself) {  // CV-13
    run([&] {
        const FutureState<> token;
        const FutureState<> never;
        auto waiter = spawn([&] {
            try {
                never.future().await(token.future());
            } catch (const OperationCanceled& cancelled) { log(message(cancelled.previous())); }
        });
        yield();
        token.error(failure("why"));
        waiter.await();
        never.complete();
    });
    EXPECT_EQ(text(), "why");
}

TEST_F(FutureTest, MapCatchAndFinallyFollowTheTable) {  // 12.2
    run([&] {
        const auto bad = [&] { return Future<int>::failed(failure("E")); };
        EXPECT_EQ(Future<int>::completed(2).map([](int v) { return v * 10; }).await(), 20);
        EXPECT_THROW(bad().map([](int v) { return v; }).await(), Failure);
        EXPECT_EQ(Future<int>::completed(2).catch_error([](const ErrorValue&) { return 9; }).await(), 2);
        EXPECT_EQ(bad().catch_error([](const ErrorValue&) { return 9; }).await(), 9);
        EXPECT_EQ(Future<int>::completed(2).finally([&] { log("finally"); }).await(), 2);
        EXPECT_THROW(bad().finally([&](const ErrorValue& error) { log(message(error)); }).await(), Failure);
        const ErrorValue thrown = caught([&] { static_cast<void>(bad().finally([] { throw Failure("X"); }).await()); });
        EXPECT_EQ(message(thrown), "X");
        Future<int>::completed(1).map([](int) {}).await();  // FUT-18: an empty value
        EXPECT_THROW(static_cast<void>(Future<int>::completed(1).map([](int) -> int { throw Failure("X"); }).await()), Failure);
        EXPECT_TRUE(Future<int>::completed(1).map([](int v) { return Future<int>::completed(v); }).await().is_completed());  // FUT-19
    });
    EXPECT_EQ(text(), "finally E");
    EXPECT_EQ(sink_->text(), "unused");  // the future that the last callback returned
}

TEST_F(FutureTest, KeepsTheCauseOfAnErrorInFinally) {  // `035`
    run([&] {
        const Future<int> child = Future<int>::failed(failure("E")).finally([] { throw Failure("X"); });
        static_cast<void>(caught([&] { static_cast<void>(child.await()); }));
        log(chain(child.error()));
    });
    EXPECT_EQ(text(), "X < E");
}

TEST_F(FutureTest, CallbacksRunLaterAndInOrder) {  // FUT-10, FUT-12, FUT-14, INV-FUT-04, INV-FUT-07
    run([&] {
        const FutureState<int> state;
        const Future<int> future = state.future();
        const Future<> first = future.map([&](int) {
            log("first");
            yield();
            log("first-again");
        });
        const Future<> second = future.map([&](int) { log("second"); });
        auto awaiter = spawn([&] {
            static_cast<void>(future.await());
            log("awaiter");
        });
        yield();
        state.complete(1);
        log("settled");
        first.await();
        second.await();
        awaiter.await();
        const Future<> late = future.map([&](int) { log("late"); });
        log("attached");
        late.await();
    });
    EXPECT_EQ(text(), "settled awaiter first second first-again attached late");
}

TEST_F(FutureTest, RunsACallbackInTheScopeOfItsAttachment) {  // FUT-11
    run([&] {
        const FutureState<int> state;
        Scope scope = Scope::inherited();
        Future<> child;
        scope.spawn([&] { child = state.future().map([&](int) { EXPECT_EQ(current_scope(), scope); }); }).await();
        state.complete(1);
        child.await();
    });
}

TEST_F(FutureTest, RejectsAChildWhoseCallbackCannotRun) {  // FUT-16, INV-FUT-06
    run([&] {
        const FutureState<int> state;
        Scope closed = Scope::inherited();
        Future<> child;
        closed.spawn([&] { child = state.future().map([&](int) { log("never"); }); }).await();
        closed.cancel();
        state.complete(1);
        EXPECT_TRUE(child.is_cancelled());
        child.ignore();

        Scope doomed = Scope::inherited();
        const FutureState<int> other;
        Future<> second;
        doomed.spawn([&] { second = other.future().map([&](int) { log("never"); }); }).await();
        other.complete(1);
        doomed.cancel(cancellation("doomed"));
        log_caught([&] { second.await(); });
    });
    EXPECT_EQ(text(), "doomed");
}

TEST_F(FutureTest, LeavesAChildAloneThatWasSettledFirst) {  // FUT-15
    run([&] {
        const FutureState<int> state;
        const Future<> child = state.future().map([&](int) { log("never"); });
        EXPECT_TRUE(child.cancel());
        state.complete(1);
        yield();
        const Future<> other = state.future().map([&](int) { log("never"); });
        EXPECT_TRUE(other.cancel());  // its coroutine is queued already
        yield();
    });
    EXPECT_EQ(text(), "");
}

TEST_F(FutureTest, KeepsAChainOfTemporaries) {  // FUT-17, BUG-105
    run([&] {
        FutureState<int> state;
        {
            const Future<int> last = state.future().map([](int v) { return v + 1; }).map([&](int v) {
                log(std::to_string(v));
                return v;
            });
            last.ignore();
        }
        state.complete(1);
        yield();
        yield();
    });
    EXPECT_EQ(text(), "2");
}

TEST_F(FutureTest, ReportsARejectionOnceThatNobodyTook) {  // FUT-20 to FUT-23, INV-FUT-08
    run([&] {
        static_cast<void>(Future<int>::failed(failure("lost")));
        Future<int>::failed(failure("ignored")).ignore();
        {
            const Future<int> seen = Future<int>::failed(failure("seen"));
            static_cast<void>(caught([&] { static_cast<void>(seen.await()); }));
        }
        {
            const Future<int> source = Future<int>::failed(failure("passed on"));
            static_cast<void>(source.map([](int v) { return v; }));
        }
        yield();
        const Future<int> source = Future<int>::failed(failure("caught"));
        source.catch_error([](const ErrorValue&) { return 1; }).ignore();
        yield();
    });
    EXPECT_EQ(sink_->text(), "unused lost unused passed on");
}

TEST_F(FutureTest, HandsAValueToOneWhoWasNotCancelled) {  // AWC-07
    run([&] {
        const FutureState<int> state;
        const Future<int> future = state.future();
        auto first = spawn([&] { log_caught([&] { static_cast<void>(future.await()); }); });
        auto second = spawn([&] { log(std::to_string(future.await())); });
        yield();
        state.complete(5);
        first.cancel("gone");
        first.await();
        second.await();
        EXPECT_EQ(future.await(), 5);
    });
    EXPECT_EQ(text(), "gone 5");
}

TEST_F(FutureTest, KeepsWhatCannotBeCopied) {
    run([&] {
        const FutureState<std::unique_ptr<int>> state;
        const auto future = state.future();
        state.complete(std::make_unique<int>(3));
        EXPECT_EQ(*future.await(), 3);
        EXPECT_EQ(future.map([](const std::unique_ptr<int>& v) { return *v + 1; }).await(), 4);
    });
}

TEST_F(FutureTest, IsAnInputOfACombinator) {  // AWC-15, FUT-21
    run([&] {
        const FutureState<int> a;
        const FutureState<int> b;
        const Future<int> first = a.future();
        const Future<int> second = b.future();
        auto waiter = spawn([&] {
            EventSource* const inputs[] = {&first.event(), &second.event()};
            const Collected collected = await_collect(inputs, {CollectMode::all});
            EXPECT_FALSE(collected.outcomes[0].error);
            EXPECT_TRUE(collected.outcomes[1].error);
        });
        yield();
        b.error(failure("E"));
        a.complete(1);
        waiter.await();
        EXPECT_TRUE(first.core().is_obtained());
        EXPECT_FALSE(second.core().is_obtained());
    });
    EXPECT_EQ(sink_->text(), "");
}

TEST_F(FutureTest, ATimedWaitThatEndedIsNotWokenLater) {  // BUG-107, AWC-21
    run([&] {
        const FutureState<int> state;
        const Future<int> future = state.future();
        const auto never = OneShotEvent::make(scheduler());
        auto waiter = spawn([&] {
            EXPECT_THROW(static_cast<void>(future.await(Timeout(5ms))), OperationCanceled);
            log("timed-out");
            log_caught([&] { wait_for(*never); });
        });
        sleep_for(10ms);
        state.complete(1);
        yield();
        EXPECT_TRUE(waiter.is_suspended());
        EXPECT_EQ(future.core().subscriber_count(), 0U);
        waiter.cancel("end");
        waiter.await();
    });
    EXPECT_EQ(text(), "timed-out end");
}

TEST_F(FutureTest, SettlingTellsItsWaitsInTheirOrderAndRunsNothing) {  // FUT-05
    run([&] {
        const FutureState<int> state;
        const Future<int> future = state.future();
        std::vector<Coroutine<>> waits;
        for (const char* name : {"a", "b", "c"}) {
            waits.push_back(spawn([&, name] {
                static_cast<void>(future.await());
                log(name);
            }));
        }
        const Future<> child = future.map([&](int) { log("child"); });
        yield();
        EXPECT_EQ(future.core().subscriber_count(), 3U);
        state.complete(1);
        EXPECT_EQ(text(), "");  // no user code runs inside the settling call
        EXPECT_EQ(future.core().subscriber_count(), 0U);
        for (const auto& one : waits) { EXPECT_EQ(one.state(), CoroutineState::ready); }
        child.await();
    });
    EXPECT_EQ(text(), "a b c child");
}

TEST_F(FutureTest, GoesDownItsDescendantsGenerationByGeneration) {  // FUT-13, `002`, `014`
    run([&] {
        const FutureState<int> state;
        const auto says = [&](const char* name) {
            return [this, name](int value) {
                log(name + std::to_string(value));
                return value + 1;
            };
        };
        const Future<int> a = state.future().map(says("a"));
        const Future<int> aa = a.map(says("aa"));
        const Future<int> b = state.future().map(says("b"));
        const Future<int> bb = b.map(says("bb"));
        const Future<int> aaa = aa.map(says("aaa"));
        state.complete(1);
        EXPECT_EQ(aaa.await(), 4);
        EXPECT_EQ(bb.await(), 3);
    });
    EXPECT_EQ(text(), "a1 b1 aa2 bb2 aaa3");
}

TEST_F(FutureTest, AnErrorThatHadAnObserverIsNotReportedWheneverItCame) {  // FUT-24
    run([&] {
        {
            const FutureState<int> state;
            const Future<int> future = state.future();
            auto early = spawn([&] { log_caught([&] { static_cast<void>(future.await()); }); });
            yield();
            early.cancel("gone");  // it subscribed; what became of it does not matter
            early.await();
            state.error(failure("E1"));
        }
        {
            const FutureState<int> state;
            const Future<int> future = state.future();
            state.error(failure("E2"));
            yield();
            log_caught([&] { static_cast<void>(future.await()); });  // it arrives behind the failure
        }
        yield();
    });
    EXPECT_EQ(text(), "gone E2");
    EXPECT_EQ(sink_->text(), "");
}

TEST_F(FutureTest, AnErrorThatEndedAWaitAsATokenIsHandled) {  // FUT-20, FUT-21: whoever waited got it as the cause
    run([&] {
        for (const bool before : {false, true}) {
            const FutureState<> never;
            const FutureState<> token;
            const Future<> as_token = token.future();
            if (before) { token.error(failure("E")); }
            auto waiter = spawn([&] { log_caught([&] { never.future().await(as_token); }); });
            yield();
            if (!before) { token.error(failure("E")); }
            waiter.await();
            never.complete();
        }
        yield();
    });
    EXPECT_EQ(text(), "the token fired the token fired");
    EXPECT_EQ(sink_->text(), "");
}

}  // namespace
}  // namespace heddle
