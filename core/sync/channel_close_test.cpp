// SPDX-License-Identifier: Apache-2.0
// Channel: how it closes, by whom, and what its waiters are told (docs/spec/11-channel.md, 11.5, 11.7 to 11.9).
#include <gtest/gtest.h>

#include <string>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/channel.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class ChannelCloseTest : public ::testing::Test, protected World {
protected:
    /// Why the operation was refused; "none" if it was not.
    template <class Body>
    static std::string reason(Body&& body) {
        try {
            body();
        } catch (const ChannelError& error) { return std::string(to_string(error.reason())); } catch (const Cancellation& cancellation) {
            return cancellation.what();
        }
        return "none";
    }
    Coroutine<> receiver(const Channel<int>& channel, std::string name) {
        return spawn([this, &channel, name] {
            log(name + ":" + reason([&] { log(name + std::to_string(channel.receive())); }));
        });
    }
    Coroutine<> sender(const Channel<int>& channel, std::string name, int value) {
        return spawn([this, &channel, name, value] { log(name + ":" + reason([&] { channel.send(value); })); });
    }
};

TEST_F(ChannelCloseTest, LeavesItsValuesToBeDrained) {  // CHAN-15, CHAN-24 (EXPLICIT), `015`
    run([&] {
        Channel<int> channel({.capacity = 2});
        channel.send(1);
        channel.close();
        channel.close();
        EXPECT_TRUE(channel.is_closed());
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_EQ(reason([&] { static_cast<void>(channel.receive()); }), "it was closed");
        EXPECT_EQ(reason([&] { channel.send(2); }), "it was closed");
        EXPECT_EQ(channel.try_receive().result, ReceiveResult::closed);
        EXPECT_EQ(channel.try_send(2), SendResult::closed);
        EXPECT_EQ(reason([&] { static_cast<void>(channel.receive_async().await()); }), "it was closed");
    });
}

TEST_F(ChannelCloseTest, SparesAReceiverThatWasPromisedAValue) {  // 11.11 example 4, CHAN-23, `086`
    run([&] {
        Channel<int> channel({.capacity = 2});
        auto r1 = receiver(channel, "R1=");
        auto r2 = receiver(channel, "R2=");
        yield();
        channel.send(7);
        channel.close();
        r1.await();
        r2.await();
    });
    EXPECT_EQ(text(), "R1=7 R1=:none R2=:it was closed");
}

TEST_F(ChannelCloseTest, FailsReceiversBeforeSendersInOrderOfArrival) {  // CHAN-23
    run([&] {
        Channel<int> channel;
        auto s1 = sender(channel, "S1", 1);
        auto s2 = sender(channel, "S2", 2);
        auto s3 = sender(channel, "S3", 3);
        yield();
        EXPECT_EQ(channel.receive(), 1);  // S2 is promised the slot
        channel.close();
        EXPECT_EQ(channel.try_receive().result, ReceiveResult::closed);
        s1.await();
        s2.await();
        s3.await();
        EXPECT_EQ(channel.count(), 0U);
    });
    EXPECT_EQ(text(), "S1:none S2:it was closed S3:it was closed");
}

TEST_F(ChannelCloseTest, WithdrawsAnOffer) {  // CHAN-12, `069`, BUG-090
    run([&] {
        Channel<int> channel;
        auto s = sender(channel, "S", 1);
        yield();
        channel.close();
        log(reason([&] { static_cast<void>(channel.receive()); }));
        s.await();
    });
    EXPECT_EQ(text(), "it was closed S:it was closed");
}

TEST_F(ChannelCloseTest, DoesNotUndoADelivery) {  // `082`
    run([&] {
        Channel<int> channel;
        auto s = sender(channel, "S", 1);
        yield();
        EXPECT_EQ(channel.receive(), 1);
        channel.close();
        s.await();
    });
    EXPECT_EQ(text(), "S:none");
}

TEST_F(ChannelCloseTest, APromisedValueOfACancelledReceiverCanBeDrained) {  // CHAN-25, CHAN-48
    run([&] {
        Channel<int> channel({.capacity = 1});
        auto r = receiver(channel, "R");
        yield();
        channel.send(1);
        channel.close();
        EXPECT_EQ(reason([&] { static_cast<void>(channel.receive()); }), "it was closed");
        r.cancel("gone");
        r.await();
        EXPECT_EQ(channel.receive(), 1);
    });
    EXPECT_EQ(text(), "R:gone");
}

TEST_F(ChannelCloseTest, LosesNoSenderThatArrivesMeanwhile) {  // BUG-099
    run([&] {
        Channel<int> channel({.capacity = 1});
        channel.send(0);
        auto before = sender(channel, "before", 1);
        yield();
        auto between = sender(channel, "between", 2);
        channel.close();
        before.await();
        between.await();
    });
    EXPECT_EQ(text(), "between:it was closed before:it was closed");
}

TEST_F(ChannelCloseTest, ClosesWithItsLastHandle) {  // CHAN-24 (DISPOSED), CHAN-26
    run([&] {
        std::optional<Channel<int>> channel(std::in_place);
        Future<int> future = channel->receive_async();
        auto waiter = spawn([this, state = Ref<ChannelState>(&channel->state())] {
            std::optional<int> value;
            log(reason([&] { state->receive(&value, nullptr, SourceLocation::current()); }));
        });
        yield();
        std::optional<Channel<int>> copy(*channel);
        channel.reset();
        EXPECT_FALSE(future.is_completed());
        copy.reset();
        waiter.await();
        log(reason([&] { static_cast<void>(future.await()); }));
    });
    EXPECT_EQ(text(), "its last handle is gone its last handle is gone");
}

TEST_F(ChannelCloseTest, ClosesWithItsScope) {  // CHAN-24 (SCOPE_DISPOSED), CHAN-29, CHAN-30, CHAN-33, `048`–`059`
    run([&] {
        Scope scope;
        std::optional<Channel<int>> channel;
        scope.spawn([&] { channel.emplace(ChannelOptions{.capacity = 1}); }).await();
        EXPECT_FALSE(channel->is_closed());  // CHAN-32: its coroutines have come to an end
        auto inside = scope.spawn([&] {
            log(reason([&] {
                channel->send(1);
                channel->send(2);
            }));
            log(reason([&] { sleep_for(1s); }));  // its own cancellation comes behind the channel's news
        });
        yield();
        scope.cancel();
        static_cast<void>(caught([&] { inside.await(); }));
        EXPECT_EQ(channel->receive(), 1);
        EXPECT_EQ(reason([&] { static_cast<void>(channel->receive()); }), "its scope has ended");
    });
    EXPECT_EQ(text(), "its scope has ended the scope was cancelled");
}

TEST_F(ChannelCloseTest, OutlivesItsScopeAndIsOutlived) {  // CHAN-31
    run([&] {
        std::optional<Channel<int>> channel;
        {
            Scope scope;
            scope.spawn([&] { channel.emplace(ChannelOptions{.capacity = 1}); }).await();
            scope.cancel();
        }
        EXPECT_TRUE(channel->is_closed());
        channel.reset();
        Scope other;
        other.spawn([] { const Channel<int> inner; }).await();
        other.cancel();
    });
}

TEST_F(ChannelCloseTest, EndsAnIterationWhereverItIs) {  // CHAN-35, `070`, BUG-102
    run([&] {
        for (const bool parked : {true, false}) {
            Channel<int> channel({.capacity = 1});
            auto loop = spawn([&] {
                for (const int value : channel) {
                    log(std::to_string(value));
                    if (!parked) { yield(); }
                }
                log("done");
            });
            channel.send(1);
            yield();
            channel.close();
            loop.await();
        }
    });
    EXPECT_EQ(text(), "1 done 1 done");
}

TEST_F(ChannelCloseTest, ThrowsOutOfAnIterationForAnyOtherReason) {  // CHAN-36, `072`
    run([&] {
        Scope scope;
        std::optional<Channel<int>> channel;
        scope.spawn([&] { channel.emplace(); }).await();
        scope.cancel();
        log(reason([&] {
            for (const int value : *channel) { log(std::to_string(value)); }
        }));
    });
    EXPECT_EQ(text(), "its scope has ended");
}

TEST_F(ChannelCloseTest, AnIterationThatIsLeftTakesNothingMore) {  // CHAN-37, `079`
    run([&] {
        Channel<int> channel({.capacity = 2});
        channel.send(1);
        channel.send(2);
        for (const int value : channel) {
            log(std::to_string(value));
            break;
        }
        EXPECT_EQ(channel.count(), 1U);
    });
}

TEST_F(ChannelCloseTest, AHardTimeoutEndsAStarvingReceiver) {  // CHAN-24 (NO_PRODUCERS), CHAN-38, CHAN-41, `041`
    run([&] {
        Channel<int> channel({.no_producer_timeout = 20ms, .hard_timeouts = true});
        const Instant begin = now();
        log(reason([&] { static_cast<void>(channel.receive()); }));
        EXPECT_GE(now() - begin, Duration(20ms));
    });
    EXPECT_EQ(text(), "nobody sent in time");
}

TEST_F(ChannelCloseTest, AHardTimeoutEndsAStarvingSender) {  // CHAN-24 (NO_CONSUMERS), CHAN-38, `042`
    run([&] {
        Channel<int> channel({.no_consumer_timeout = 20ms, .hard_timeouts = true});
        log(reason([&] { channel.send(1); }));
        EXPECT_EQ(channel.count(), 0U);
    });
    EXPECT_EQ(text(), "nobody received in time");
}

TEST_F(ChannelCloseTest, TrafficRestartsTheTimer) {  // CHAN-40, `044`
    run([&] {
        Channel<int> channel({.capacity = 1, .no_producer_timeout = 20ms, .hard_timeouts = true});
        auto a = spawn([&] {
            for (int i = 0; i < 3; ++i) { static_cast<void>(channel.receive()); }
        });
        auto b = spawn([&] {
            for (int i = 0; i < 3; ++i) { static_cast<void>(channel.receive()); }
        });
        for (int i = 0; i < 6; ++i) {
            sleep_for(15ms);
            channel.send(i);
        }
        a.await();
        b.await();
        EXPECT_FALSE(channel.is_closed());
        EXPECT_FALSE(channel.state().is_guarded());
    });
}

TEST_F(ChannelCloseTest, ASoftTimeoutIsResolvedBeforeADeadlockIsReported) {  // CHAN-24 (DEADLOCK), CHAN-41, CHAN-42, `047`, INV-CHAN-19
    const ErrorValue error = run([&] {
        Channel<int> channel({.no_producer_timeout = 1h});
        const Instant begin = now();
        log(reason([&] { static_cast<void>(channel.receive()); }));
        EXPECT_EQ(now(), begin);
    });
    EXPECT_EQ(text(), "nobody can send or receive any more");
    EXPECT_FALSE(error);
}

TEST_F(ChannelCloseTest, ASoftTimeoutFiresWhileOthersKeepTheLoopAlive) {
    run([&] {
        Channel<int> channel({.no_producer_timeout = 10ms});
        auto busy = spawn([] { sleep_for(50ms); });
        log(reason([&] { static_cast<void>(channel.receive()); }));
        EXPECT_FALSE(busy.is_completed());
        busy.await();
    });
    EXPECT_EQ(text(), "nobody sent in time");
}

TEST_F(ChannelCloseTest, WithoutTimeoutsAStarvingReceiverIsADeadlock) {  // CHAN-43, `065`
    const ErrorValue error = run([&] {
        Channel<int> channel;
        log(reason([&] { static_cast<void>(channel.receive()); }));
    });
    EXPECT_EQ(text(), "deadlock");
    EXPECT_TRUE(holds<DeadlockError>(error));
}

TEST_F(ChannelCloseTest, APendingFutureArmsNoTimer) {  // CHAN-39
    run([&] {
        Channel<int> channel({.no_producer_timeout = 5ms, .hard_timeouts = true});
        const Future<int> future = channel.receive_async();
        EXPECT_FALSE(channel.state().is_guarded());
        sleep_for(20ms);
        EXPECT_FALSE(channel.is_closed());
        channel.send(1);
        EXPECT_EQ(future.await(), 1);
    });
}

TEST_F(ChannelCloseTest, SaysWhatIsInside) {  // CHAN-44
    run([&] {
        Channel<int> channel({.capacity = 2});
        channel.send(1);
        EXPECT_EQ(channel.describe(),
                  "channel of capacity 2, 1 inside, 0 returned, 0 receivers, 0 senders, 0 values and 0 slots promised");
    });
}

TEST_F(ChannelCloseTest, KeepsItsFirstReasonAndNoTimer) {  // CHAN-22, `062`
    run([&] {
        Scope scope;
        std::optional<Channel<int>> channel;
        scope.spawn([&] { channel.emplace(ChannelOptions{.no_producer_timeout = 20ms, .hard_timeouts = true}); }).await();
        auto r = receiver(*channel, "R");
        yield();
        EXPECT_TRUE(channel->state().is_guarded());
        channel->close();
        EXPECT_FALSE(channel->state().is_guarded());
        channel->close();
        scope.cancel();  // a second reason
        EXPECT_EQ(reason([&] { channel->send(1); }), "it was closed");
        r.await();
        EXPECT_EQ(reactor().open_sources(), 0U);
    });
    EXPECT_EQ(text(), "R:it was closed");
}

TEST_F(ChannelCloseTest, RejectsFuturesThatNobodyHasToLookAt) {  // CHAN-21, FUT-22
    std::vector<std::string> sunk;
    RuntimeOptions options;
    options.on_diagnostic = [&](const Diagnostic& diagnostic) { sunk.push_back(diagnostic.error ? message(diagnostic.error) : "unused"); };
    Program program(options);
    program.run([&] {
        Channel<int> channel;
        {
            const Future<int> first = channel.receive_async();
            const Future<int> second = channel.receive_async();
            first.ignore();
            auto waiter = spawn([&] { program.log(reason([&] { static_cast<void>(second.await()); })); });
            yield();
            channel.close();
            EXPECT_TRUE(first.is_completed());
            waiter.await();
            const Future<int> third = channel.receive_async();
            static_cast<void>(third.map([](int value) { return value; }));
            yield();
        }
        yield();
    });
    EXPECT_EQ(program.text(), "it was closed");
    for (const std::string& one : sunk) { EXPECT_EQ(one, "unused"); }
}

TEST_F(ChannelCloseTest, GivesEachValueToOneOfThoseWhoCompete) {  // CHAN-21, CHAN-34
    run([&] {
        Channel<int> channel({.capacity = 1});
        const auto iterates = [&](const char* name) {
            return spawn([&, name] {
                for (const int value : channel) { log(name + std::to_string(value)); }
                log(std::string(name) + "-end");
            });
        };
        auto a = iterates("a");
        auto b = iterates("b");
        auto r = receiver(channel, "R=");
        yield();
        const Future<int> future = channel.receive_async();
        for (int value = 1; value <= 5; ++value) { channel.send(value); }
        log("F" + std::to_string(future.await()));
        channel.close();
        a.await();
        b.await();
        r.await();
    });
    EXPECT_EQ(text(), "a1 b2 R=3 R=:none F4 a5 a-end b-end");
}

TEST_F(ChannelCloseTest, AStepOfAnIterationParksAsAReceiveDoes) {  // CHAN-34
    run([&] {
        Channel<int> channel;
        auto loop = spawn([&] {
            for (const int value : channel) { log(std::to_string(value)); }
        });
        yield();
        EXPECT_EQ(channel.try_send(1), SendResult::ok);  // it is a receiver that waits
        yield();
        loop.cancel("stop");
        log(reason([&] { loop.await(); }));
        EXPECT_FALSE(channel.is_closed());
    });
    EXPECT_EQ(text(), "1 stop");
}

}  // namespace
}  // namespace heddle
