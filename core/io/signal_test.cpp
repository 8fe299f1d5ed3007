// SPDX-License-Identifier: Apache-2.0
// signal(): the next delivery of a signal as a future (docs/spec/12-future-await.md, SIG-01 to SIG-03).
#include "heddle/core/io/signal.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class SignalFutureTest : public ::testing::Test, protected World {
protected:
    void raise(int number) { reactor().raise(number); }
};

TEST_F(SignalFutureTest, IsCompletedByTheFirstDeliveryBehindTheCall) {  // SIG-01
    run([&] {
        raise(SIGUSR1);  // nobody listens yet
        const Future<int> first = signal(SIGUSR1);
        const Future<int> second = signal(SIGUSR1);
        const Future<int> other = signal(SIGUSR2);
        yield();
        EXPECT_FALSE(first.is_completed());
        raise(SIGUSR1);
        EXPECT_EQ(first.await(), SIGUSR1);
        EXPECT_EQ(second.await(), SIGUSR1);  // several calls are independent, and each is completed
        EXPECT_FALSE(other.is_completed());
        other.ignore();
        const Future<int> later = signal(SIGUSR1);
        yield();
        EXPECT_FALSE(later.is_completed());
        auto waiter = spawn([&] { log(std::to_string(later.await() == SIGUSR1)); });
        yield();
        raise(SIGUSR1);
        waiter.await();
    });
    EXPECT_EQ(text(), "1");
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(SignalFutureTest, IsRejectedByATokenThatFiredBefore) {  // SIG-02
    run([&] {
        const FutureState<> fired;
        fired.future().ignore();
        fired.error(ErrorValue::make<Failure>("why"));
        const Future<int> future = signal(SIGUSR1, fired.future());
        EXPECT_TRUE(future.is_completed());
        EXPECT_EQ(reactor().open_sources(), 0U);
        const ErrorValue error = caught([&] { static_cast<void>(future.await()); });
        EXPECT_TRUE(holds<OperationCanceled>(error));
        log(chain(error));
    });
    EXPECT_EQ(text(), "the token fired < why");
}

TEST_F(SignalFutureTest, IsRejectedByATokenThatFiresFirst) {  // SIG-02
    run([&] {
        const Future<int> future = signal(SIGUSR1, Timeout(5ms));
        const ErrorValue error = caught([&] { static_cast<void>(future.await()); });
        EXPECT_TRUE(holds<OperationCanceled>(error));
        EXPECT_TRUE(holds<TimeoutError>(error.previous()));
        EXPECT_EQ(now() - Instant{}, 5ms);
        EXPECT_EQ(reactor().open_sources(), 0U);  // the subscription went with it
        raise(SIGUSR1);
        yield();
    });
}

TEST_F(SignalFutureTest, LetsGoOfItsTokenWhenTheSignalComes) {  // SIG-02
    run([&] {
        const FutureState<> token;
        const Future<> as_token = token.future();
        const Future<int> future = signal(SIGUSR1, as_token);
        EXPECT_EQ(as_token.core().subscriber_count(), 1U);
        raise(SIGUSR1);
        EXPECT_EQ(future.await(), SIGUSR1);
        EXPECT_EQ(as_token.core().subscriber_count(), 0U);
        token.complete();
        EXPECT_EQ(future.await(), SIGUSR1);
    });
}

TEST_F(SignalFutureTest, RemovesItsHandlerWhenItIsDroppedOrCancelled) {  // SIG-03, `005`, `006`, `010`
    run([&] {
        std::optional<Future<int>> one(signal(SIGUSR1));
        std::optional<Future<int>> other(signal(SIGUSR1));
        one->ignore();
        other->ignore();
        one.reset();
        EXPECT_EQ(reactor().open_sources(), 1U);
        EXPECT_TRUE(other->cancel());
        EXPECT_EQ(reactor().open_sources(), 0U);
        raise(SIGUSR1);
        yield();
        EXPECT_TRUE(other->is_cancelled());
    });
}

TEST_F(SignalFutureTest, KeepsTheProgramAliveOnlyWhileItIsWanted) {  // RCT-52: as a watch does
    run([&] {
        const Future<int> unwatched = signal(SIGUSR1);
        unwatched.ignore();
        EXPECT_FALSE(reactor().alive());
        auto waiter = spawn([&] { log_caught([&] { static_cast<void>(signal(SIGUSR2).await()); }); });
        yield();
        EXPECT_TRUE(reactor().alive());
        waiter.cancel("gone");
        waiter.await();
        EXPECT_FALSE(reactor().alive());
    });
    EXPECT_EQ(text(), "gone");
}

TEST_F(SignalFutureTest, ACallbackKeepsItWithoutAHandle) {  // FUT-17
    run([&] {
        const auto kept = [&](int number) { log(number == SIGUSR1 ? "mapped" : "?"); };
        signal(SIGUSR1).map(kept).ignore();
        EXPECT_TRUE(reactor().alive());
        raise(SIGUSR1);
        yield();
        yield();
    });
    EXPECT_EQ(text(), "mapped");
    EXPECT_EQ(reactor().open_sources(), 0U);
}

TEST_F(SignalFutureTest, RefusesWhatIsNoSignal) {
    run([&] {
        EXPECT_THROW(static_cast<void>(signal(0)), AsyncError);
        EXPECT_EQ(reactor().open_sources(), 0U);
    });
    EXPECT_THROW(static_cast<void>(signal(SIGUSR1)), AsyncError);
}

}  // namespace
}  // namespace heddle
