// SPDX-License-Identifier: Apache-2.0
// Channel: sending and receiving, promises and what becomes of them (docs/spec/11-channel.md, 11.1 to 11.4, 11.6, 11.10, 11.11).
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/channel.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using namespace heddle::testing;

class ChannelTest : public ::testing::Test, protected World {
protected:
    /// A coroutine that receives once and logs "name:value", or "name:error".
    Coroutine<> receiver(const Channel<int>& channel, std::string name, const Token& token = {}) {
        return spawn([this, channel, name, ends = token.event()] {
            const ErrorValue error =
                caught([&] { log(name + ":" + std::to_string(channel.receive(ends != nullptr ? Token(*ends) : Token()))); });
            if (error) { log(name + ":" + message(error)); }
        });
    }
    Coroutine<> sender(const Channel<int>& channel, std::string name, int value, const Token& token = {}) {
        return spawn([this, channel, name, value, ends = token.event()] {
            const ErrorValue error = caught([&] {
                channel.send(value, ends != nullptr ? Token(*ends) : Token());
                log(name + ":sent");
            });
            if (error) { log(name + ":" + message(error)); }
        });
    }
    static void all(std::initializer_list<Coroutine<>> coroutines) {
        for (const auto& one : coroutines) { one.await(); }
    }
    void expect_empty(const Channel<int>& channel) {
        EXPECT_EQ(channel.count(), 0U);
        EXPECT_EQ(channel.state().reserved_values(), 0U);
        EXPECT_EQ(channel.state().reserved_slots(), 0U);
    }
};

TEST(Channel, CarriesValuesInOrder) {  // CHAN-11
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{3}, Channel<int>::unbounded}) {
                program.clear();
                Channel<int> channel({.capacity = capacity});
                auto producer = spawn([&] {
                    for (int i = 0; i < 6; ++i) { channel.send(i); }
                    channel.close();
                });
                for (const int value : channel) { program.log(std::to_string(value)); }
                producer.await();
                EXPECT_EQ(program.text(), "0 1 2 3 4 5") << capacity;
            }
        });
    });
}

TEST_F(ChannelTest, RefusesImpossibleOptions) {  // CHAN-01
    run([&] {
        EXPECT_THROW(Channel<int>({.capacity = std::size_t{1} << 31U}), ValueError);
        EXPECT_THROW(Channel<int>({.no_producer_timeout = -1ms}), ValueError);
        EXPECT_THROW(Channel<int>({.no_consumer_timeout = -1ms}), ValueError);
    });
    EXPECT_THROW(Channel<int>({.capacity = 1}), AsyncError);
}

TEST_F(ChannelTest, ABufferedSendDoesNotSuspendWhileThereIsRoom) {
    run([&] {
        Channel<int> channel({.capacity = 2});
        const auto before = program_.switches();
        channel.send(1);
        EXPECT_EQ(channel.try_send(2), SendResult::ok);
        EXPECT_EQ(channel.try_send(3), SendResult::full);
        EXPECT_TRUE(channel.is_full());
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_EQ(*channel.try_receive(), 2);
        EXPECT_EQ(channel.try_receive().result, ReceiveResult::empty);
        EXPECT_EQ(program_.switches(), before);
        expect_empty(channel);
    });
}

TEST_F(ChannelTest, ARendezvousSendReturnsWhenItsValueWasTaken) {  // CHAN-09, BUG-095
    run([&] {
        Channel<int> channel;
        auto a = sender(channel, "A", 1);
        yield();
        yield();
        EXPECT_EQ(text(), "");
        EXPECT_EQ(channel.count(), 1U);  // CHAN-46
        EXPECT_TRUE(channel.is_full());
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_FALSE(channel.is_full());
        a.await();
        auto b = receiver(channel, "B");
        yield();
        const auto before = program_.switches();
        channel.send(2);  // matched with the parked receiver: need not wait until it runs
        EXPECT_EQ(program_.switches(), before);
        log("sent");
        b.await();
        expect_empty(channel);
    });
    EXPECT_EQ(text(), "A:sent sent B:2");
}

TEST_F(ChannelTest, TrySendOnARendezvousNeedsAReceiver) {  // CHAN-14
    run([&] {
        Channel<int> channel;
        EXPECT_EQ(channel.try_send(1), SendResult::full);
        auto a = receiver(channel, "A");
        yield();
        EXPECT_EQ(channel.try_send(1), SendResult::ok);
        EXPECT_EQ(channel.try_send(2), SendResult::full);  // the slot is taken until A runs
        a.await();
        const Future<int> future = channel.receive_async();
        EXPECT_EQ(channel.try_send(3), SendResult::ok);
        EXPECT_EQ(future.await(), 3);
        channel.close();
        EXPECT_EQ(channel.try_send(4), SendResult::closed);
    });
    EXPECT_EQ(text(), "A:1");
}

TEST_F(ChannelTest, AnUnboundedOneIsNeverFull) {  // CHAN-01
    run([&] {
        Channel<int> channel({.capacity = Channel<int>::unbounded});
        for (int i = 0; i < 1000; ++i) { ASSERT_EQ(channel.try_send(i), SendResult::ok); }
        EXPECT_FALSE(channel.is_full());
        for (int i = 0; i < 1000; ++i) { ASSERT_EQ(channel.receive(), i); }
    });
}

TEST_F(ChannelTest, NobodyTakesAPromisedValue) {  // CHAN-06, `076`–`079`, BUG-093
    run([&] {
        Channel<int> channel({.capacity = 1});
        auto b = receiver(channel, "B");
        yield();
        channel.send(1);
        EXPECT_EQ(channel.state().reserved_values(), 1U);
        EXPECT_EQ(channel.count(), 1U);  // CHAN-45
        EXPECT_EQ(channel.try_receive().result, ReceiveResult::empty);
        const Future<int> future = channel.receive_async();
        EXPECT_FALSE(future.is_completed());
        auto n = receiver(channel, "N");
        b.await();
        channel.send(2);
        channel.send(3);
        EXPECT_EQ(future.await(), 2);
        n.await();
        expect_empty(channel);
    });
    EXPECT_EQ(text(), "B:1 N:3");
}

TEST_F(ChannelTest, NobodyTakesAPromisedSlot) {  // CHAN-06, CHAN-13, `078`
    run([&] {
        Channel<int> channel({.capacity = 1});
        channel.send(0);
        auto a = sender(channel, "A", 1);
        yield();
        EXPECT_EQ(channel.receive(), 0);
        EXPECT_EQ(channel.state().reserved_slots(), 1U);
        EXPECT_FALSE(channel.is_full());
        EXPECT_EQ(channel.try_send(9), SendResult::full);
        auto b = sender(channel, "B", 2);
        a.await();
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_EQ(channel.receive(), 2);
        b.await();
        expect_empty(channel);
    });
    EXPECT_EQ(text(), "A:sent B:sent");
}

TEST_F(ChannelTest, PassesAValueOnWhenItsReceiverIsCancelledInTheWindow) {  // 11.11 example 1, CHAN-17, BUG-091
    run([&] {
        Channel<int> channel({.capacity = 1});
        auto r1 = receiver(channel, "R1");
        auto r2 = receiver(channel, "R2");
        yield();
        channel.send(7);
        r1.cancel("gone");
        all({r1, r2});
        expect_empty(channel);
    });
    EXPECT_EQ(text(), "R1:gone R2:7");
}

TEST_F(ChannelTest, AValueBecomesFreeWhenNobodyElseWaits) {  // CHAN-17, `080`
    run([&] {
        Channel<int> channel({.capacity = 1});
        auto r1 = receiver(channel, "R1");
        yield();
        channel.send(7);
        r1.cancel("gone");
        EXPECT_EQ(channel.try_receive().result, ReceiveResult::empty);
        r1.await();
        EXPECT_EQ(*channel.try_receive(), 7);
    });
}

TEST_F(ChannelTest, PassesASlotOnWhenItsSenderIsCancelledInTheWindow) {  // 11.11 example 2
    run([&] {
        Channel<int> channel({.capacity = 1});
        channel.send(0);
        auto s1 = sender(channel, "S1", 1);
        auto s2 = sender(channel, "S2", 2);
        yield();
        EXPECT_EQ(channel.receive(), 0);
        s1.cancel("gone");
        EXPECT_EQ(channel.receive(), 2);
        all({s1, s2});
        expect_empty(channel);
    });
    EXPECT_EQ(text(), "S1:gone S2:sent");
}

TEST_F(ChannelTest, ATakenOfferFreesTheSlotInTheSameStep) {  // 11.11 example 3, `085`
    run([&] {
        Channel<int> channel;
        auto s1 = sender(channel, "S1", 1);
        auto s2 = sender(channel, "S2", 2);
        yield();
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_EQ(channel.state().reserved_slots(), 1U);
        EXPECT_EQ(channel.try_send(3), SendResult::full);
        EXPECT_EQ(channel.receive(), 2);
        all({s1, s2});
    });
    EXPECT_EQ(text(), "S1:sent S2:sent");
}

TEST_F(ChannelTest, ADeliveryOutlastsACancellation) {  // 11.11 example 5, CHAN-12, CV-04, BUG-094
    run([&] {
        Channel<int> channel;
        auto s = spawn([&] {
            channel.send(1);
            log("sent");
            log_caught([&] { sleep_for(1s); });
        });
        yield();
        EXPECT_EQ(channel.receive(), 1);
        s.cancel("later");
        s.await();
    });
    EXPECT_EQ(text(), "sent later");
}

TEST_F(ChannelTest, ACommittedValueOutlastsACancellationOfItsSender) {  // CHAN-10
    run([&] {
        Channel<int> channel;
        auto s1 = sender(channel, "S1", 1);
        yield();
        auto r = receiver(channel, "R");  // finds the offer: takes it
        yield();
        s1.cancel("late");
        all({s1, r});
    });
    EXPECT_EQ(text(), "R:1 S1:sent");
}

TEST_F(ChannelTest, ADeadSendersValueIsNeverSeen) {  // CHAN-12, CV-08, `084`, BUG-094
    run([&] {
        Channel<int> channel;
        auto s = sender(channel, "S", 1);
        yield();
        s.cancel("gone");
        EXPECT_EQ(channel.try_receive().result, ReceiveResult::empty);
        EXPECT_EQ(channel.count(), 1U);  // it keeps its slot until it runs
        auto r = receiver(channel, "R");
        s.await();
        channel.send(2);
        r.await();
        expect_empty(channel);
    });
    EXPECT_EQ(text(), "S:gone R:2");
}

TEST_F(ChannelTest, AMatchedValueSurvivesItsReceiver) {  // CHAN-10, `074`, `081`
    run([&] {
        Channel<int> channel;
        auto r = receiver(channel, "R");
        yield();
        channel.send(1);
        r.cancel("gone");
        r.await();
        EXPECT_EQ(channel.count(), 1U);
        channel.close();
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_THROW(static_cast<void>(channel.receive()), ChannelError);
    });
}

TEST_F(ChannelTest, ATokenEndsOneWaitOnly) {  // CHAN-27, `027`–`034`
    run([&] {
        Channel<int> channel;
        const auto token = OneShotEvent::make(scheduler());
        auto r = receiver(channel, "R", token);
        yield();
        token->complete();
        r.await();
        channel.try_send(0) == SendResult::full ? log("full") : log("?");
        EXPECT_THROW(static_cast<void>(channel.receive(token)), OperationCanceled);
        EXPECT_THROW(channel.send(1, token), OperationCanceled);  // S1: nothing happens
        expect_empty(channel);
        const auto other = OneShotEvent::make(scheduler());
        auto s = sender(channel, "S", 1, other);
        yield();
        other->complete();
        EXPECT_EQ(channel.try_receive().result, ReceiveResult::empty);
        s.await();
        expect_empty(channel);
        EXPECT_FALSE(channel.is_closed());
    });
    EXPECT_EQ(text(), "R:the token fired full S:the token fired");
}

TEST_F(ChannelTest, ATokenBeatsAValueThatIsThere) {  // R1, `037`, `038`
    run([&] {
        Channel<int> channel({.capacity = 1});
        const auto token = OneShotEvent::make(scheduler());
        token->complete();
        channel.send(1);
        EXPECT_THROW(static_cast<void>(channel.receive(token)), OperationCanceled);
        EXPECT_EQ(channel.receive(), 1);
    });
}

TEST_F(ChannelTest, LeavingKeepsTheOrderOfTheRest) {  // CHAN-28, INV-ALL-05
    run([&] {
        Channel<int> channel({.capacity = 2});
        auto a = receiver(channel, "A");
        auto b = receiver(channel, "B");
        auto c = receiver(channel, "C");
        yield();
        b.cancel("gone");
        channel.send(1);
        channel.send(2);
        all({a, b, c});
    });
    EXPECT_EQ(text(), "B:gone A:1 C:2");
}

TEST_F(ChannelTest, AFutureTakesItsTurnAmongReceivers) {  // CHAN-19, `019`, `020`, `029`
    run([&] {
        Channel<int> channel({.capacity = 3});
        auto a = receiver(channel, "A");
        yield();
        const Future<int> future = channel.receive_async();
        auto b = receiver(channel, "B");
        yield();
        for (const int value : {1, 2, 3}) { channel.send(value); }
        EXPECT_TRUE(future.is_completed());
        EXPECT_EQ(future.await(), 1);  // it takes at once what a parked receiver takes when it runs (CHAN-07)
        all({a, b});
        channel.send(4);
        EXPECT_EQ(channel.receive_async().await(), 4);
    });
    EXPECT_EQ(text(), "A:2 B:3");
}

TEST_F(ChannelTest, ADroppedFutureTakesNothing) {  // CHAN-20, `066`–`068`, BUG-096
    run([&] {
        Channel<int> channel({.capacity = 1});
        {
            const Future<int> dropped = channel.receive_async();
            dropped.ignore();
        }
        const Future<int> cancelled = channel.receive_async();
        cancelled.ignore().cancel();
        channel.send(1);
        EXPECT_EQ(channel.receive_async().await(), 1);
    });
}

TEST_F(ChannelTest, AFutureThatNobodyReadGivesItsValueBack) {  // 11.11 example 6, CHAN-47, INV-CHAN-16
    run([&] {
        Channel<int> channel({.capacity = 1});
        {
            const Future<int> unread = channel.receive_async();
            unread.ignore();
            channel.send(1);
            EXPECT_TRUE(unread.is_completed());
            channel.send(2);
            EXPECT_TRUE(channel.is_full());
        }
        EXPECT_EQ(channel.count(), 2U);  // the returned one occupies no slot
        EXPECT_EQ(channel.receive(), 1);
        EXPECT_EQ(channel.receive(), 2);
        {
            const Future<int> unread = channel.receive_async();
            unread.ignore();
            channel.send(3);
        }
        channel.close();
        EXPECT_EQ(channel.receive(), 3);
    });
}

TEST_F(ChannelTest, AGivenBackValueServesAWaitingReceiver) {  // CHAN-47
    run([&] {
        Channel<int> channel;
        Future<int> unread = channel.receive_async();
        unread.ignore();
        channel.send(1);
        auto r = receiver(channel, "R");
        yield();
        unread.release();
        r.await();
        expect_empty(channel);
    });
    EXPECT_EQ(text(), "R:1");
}

TEST_F(ChannelTest, LosesNoMessageToAnAwaiterCancelledInItsWindow) {  // CHAN-47, FUT-25
    run([&] {
        Channel<int> channel({.capacity = 1});
        auto waiter = spawn([&] { log_caught([&] { static_cast<void>(channel.receive_async().await()); }); });
        yield();
        channel.send(5);
        waiter.cancel("gone");
        waiter.await();
        EXPECT_EQ(channel.receive(), 5);
    });
    EXPECT_EQ(text(), "gone");
}

TEST_F(ChannelTest, ADerivedCallbackKeepsTheFutureAlive) {  // FUT-17
    run([&] {
        Channel<int> channel;
        static_cast<void>(channel.receive_async().map([&](int value) { log(std::to_string(value)); }).ignore());
        channel.send(8);
        yield();
    });
    EXPECT_EQ(text(), "8");
}

TEST_F(ChannelTest, CarriesWhatCanOnlyBeMoved) {
    run([&] {
        Channel<std::unique_ptr<int>> channel({.capacity = 1});
        channel.send(std::make_unique<int>(1));
        auto kept = std::make_unique<int>(2);
        EXPECT_EQ(channel.try_send(std::move(kept)), SendResult::full);
        EXPECT_NE(kept, nullptr);  // NOLINT: a refused value stays with its owner
        EXPECT_EQ(*channel.receive(), 1);
    });
}

struct Throwing {
    explicit Throwing(int v) : value(v) {}
    Throwing(Throwing&& other) : value(other.value) {  // NOLINT: may throw, on purpose
        if (value < 0) { throw Failure("moved"); }
    }
    Throwing(const Throwing&) = delete;
    int value;
};

TEST_F(ChannelTest, KeepsItsBooksWhenAMoveThrows) {  // CV-19
    run([&] {
        Channel<Throwing> channel({.capacity = 1});
        EXPECT_THROW(channel.send(Throwing(-1)), Failure);
        EXPECT_EQ(channel.count(), 0U);
        channel.send(Throwing(3));
        EXPECT_EQ(channel.receive().value, 3);
    });
}

TEST_F(ChannelTest, HandsOverFromACallback) {  // CV-18
    run([&] {
        Channel<int> channel({.capacity = 1});
        in_next_tick([&] { EXPECT_EQ(channel.try_send(4), SendResult::ok); });
        EXPECT_EQ(channel.receive(), 4);
        in_next_tick([&] { EXPECT_THROW(channel.send(1), AsyncError); });
        yield();
        EXPECT_TRUE(channel.is_empty());
    });
}

TEST_F(ChannelTest, KeepsItsWaiterInProtect) {  // PROT-02
    run([&] {
        Channel<int> channel({.capacity = 1});
        auto r = spawn([&] {
            log_caught([&] { protect([&] { log(std::to_string(channel.receive())); }); });
        });
        yield();
        r.cancel("late");
        channel.send(1);
        r.await();
    });
    EXPECT_EQ(text(), "1 late");
}

TEST_F(ChannelTest, LeavingInAnyOrderCostsTheSame) {
    run([&] {
        constexpr std::size_t count = 1000;
        Channel<int> channel({.capacity = 1});
        std::vector<Coroutine<>> waiting;
        for (std::size_t i = 0; i < count; ++i) {
            waiting.push_back(spawn([&] { static_cast<void>(caught([&] { static_cast<void>(channel.receive()); })); }));
        }
        yield();
        for (std::size_t i = 0; i < count; ++i) { waiting[(i * 7) % count].cancel(); }
        for (const auto& one : waiting) { one.await(); }
        channel.send(1);
        EXPECT_EQ(channel.receive(), 1);
    });
}

}  // namespace
}  // namespace heddle
