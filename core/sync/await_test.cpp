// SPDX-License-Identifier: Apache-2.0
// await for one coroutine or event, with and without a token (AWT-1 to AWT-8, AWC-01 to AWC-08, E8, INV-AWAIT).
#include "heddle/core/sync/await.hpp"

#include <gtest/gtest.h>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class AwaitTest : public ::testing::Test, protected World {
protected:
    Ref<OneShotEvent> event(const char* name = "event") { return OneShotEvent::make(scheduler(), name); }
};

using Await = AwaitTest;

TEST_F(Await, ReturnsTheResultOrThrowsTheError) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            const auto value = spawn([] {
                yield();
                return std::string("value");
            });
            const auto error = spawn([] { throw Failure("E"); });
            EXPECT_EQ(await(value), "value");
            program.log(message(caught([&] { await(error); })));
            EXPECT_EQ(value.await(), "value");
        });
        EXPECT_EQ(program.text(), "E");
    });
}

TEST_F(Await, OfAFinishedCoroutineAnswersForEverWithoutSuspending) {
    const ErrorValue exit = run([&] {
        const auto value = spawn([] { return 1; });
        const auto error = spawn([] { throw Failure("E"); });
        yield();
        const std::uint64_t before = program_.switches();
        const ErrorValue first = caught([&] { error.await(); });
        for (int i = 0; i < 3; ++i) {
            EXPECT_EQ(value.await(), 1);
            EXPECT_TRUE(caught([&] { error.await(); }).same_error(first));  // AWT-3: the same object
        }
        EXPECT_EQ(program_.switches(), before);
    });
    EXPECT_FALSE(exit);
}

TEST_F(Await, AFinishedTargetBeatsAFiredToken) {
    run([&] {
        const Ref<OneShotEvent> fired = event();
        fired->complete();
        const auto done = spawn([] { return 1; });
        const auto pending = spawn([] { wait_forever(); });
        yield();
        const std::uint64_t before = program_.switches();
        EXPECT_EQ(await(done, fired), 1);  // E8
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { await(pending, fired); })));
        EXPECT_EQ(program_.switches(), before);
        EXPECT_EQ(pending.core().subscriber_count(), 0U);
        const Ref<OneShotEvent> target = event();
        EXPECT_TRUE(holds<OperationCanceled>(caught([&] { await_event(target, fired); })));
        target->complete(4);
        EXPECT_EQ(await_event(target, fired).value, 4);
        pending.cancel();
    });
}

TEST_F(Await, ATokenThatIsTheTargetIsIgnored) {
    run([&] {
        const auto c = spawn([] {
            yield();
            return 2;
        });
        EXPECT_EQ(await(c, c), 2);  // AWT-2
        const Ref<OneShotEvent> e = event();
        in_next_tick([&] { e->complete(3); });
        EXPECT_EQ(await_event(e, e).value, 3);
    });
}

TEST_F(Await, ATokenEndsTheWaitOnly) {
    run([&] {
        const Ref<OneShotEvent> token = event();
        const auto target = spawn([&] {
            yield();
            yield();
            log("target");
        });
        in_next_tick([&] { token->complete(); });
        const ErrorValue thrown = caught([&] { await(target, token); });
        EXPECT_TRUE(holds<OperationCanceled>(thrown));
        EXPECT_FALSE(thrown.previous());
        EXPECT_FALSE(target.is_cancellation_requested());  // AWT-5
        EXPECT_EQ(target.core().subscriber_count(), 0U);   // AWC-03
        target.await();
    });
    EXPECT_EQ(text(), "target");
}

TEST_F(Await, ATokensErrorIsTheCauseAndATargetsErrorComesAsItIs) {
    const ErrorValue exit = run([&] {
        const auto pending = spawn([] { wait_forever(); });
        const auto token = spawn([] { throw Failure("token"); });
        ErrorValue thrown = caught([&] { await(pending, token); });
        EXPECT_TRUE(holds<OperationCanceled>(thrown));
        EXPECT_EQ(chain(thrown), "the token fired < token");  // AWT-6
        thrown = caught([&] { await(pending, Timeout(5ms)); });
        EXPECT_TRUE(holds<TimeoutError>(thrown.previous()));
        // A target's own cancellation can be told from the token's (AWC-04).
        const auto cancelled = spawn([] { throw AsyncCancellation("its own"); });
        thrown = caught([&] { await(cancelled, Timeout(5ms)); });
        EXPECT_FALSE(holds<OperationCanceled>(thrown));
        EXPECT_EQ(message(thrown), "its own");
        pending.cancel();
        static_cast<void>(caught([&] { token.await(); }));
    });
    EXPECT_FALSE(exit);
}

TEST_F(Await, OfACancelledCoroutineThrowsItsCancellation) {
    const ErrorValue exit = run([&] {
        const auto target = spawn([] { wait_forever(); });
        const auto awaiter = spawn([&] { await(target); });
        yield();
        target.cancel("reason");
        yield();
        yield();
        EXPECT_TRUE(awaiter.error().same_error(target.error()));  // AWT-4: it ends with it, as a cancellation
        EXPECT_FALSE(awaiter.is_cancelled());
    });
    EXPECT_FALSE(exit);
}

TEST_F(Await, OfItselfIsRefusedAtOnce) {
    run([&] {
        CoroutineHandle self = current_coroutine();
        EXPECT_THROW(await_event(self.core()), AsyncError);
        const auto c = spawn([&] {
            const Coroutine<> me(static_cast<detail::CoroutineOf<void>*>(&current_coroutine().core()));
            EXPECT_THROW(me.await(), AsyncError);  // AWT-7
            EXPECT_THROW(await(me, event()), AsyncError);
        });
        c.await();
        const auto other = spawn([] {});
        EXPECT_THROW(await(other, self), AsyncError);  // AWC-08: as a token, too
        EXPECT_FALSE(other.core().is_used());
        EventSource* const inputs[] = {&other.core(), &self.core()};
        EXPECT_THROW(await_collect(inputs, {}), AsyncError);
        EXPECT_FALSE(other.core().is_used());  // no other input is touched
        EXPECT_THROW(await_collect(std::span(inputs, 1), {}, self), AsyncError);
        other.await();
        EXPECT_THROW(await(other, self), AsyncError);  // also where the answer is there
    });
}

TEST_F(Await, AwaitersAreWokenInTheOrderTheyCameWithTheSameOutcome) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            const Ref<Bell> bell = Bell::make(program.scheduler());
            const auto target = spawn([&] {
                wait_for(*bell);
                throw Failure("E");
            });
            std::vector<ErrorValue> errors;
            std::vector<Coroutine<>> awaiters;
            for (const char* name : {"1", "2", "3"}) {
                awaiters.push_back(spawn([&, name] {
                    errors.push_back(caught([&] { target.await(); }));
                    program.log(name);
                }));
            }
            yield();
            awaiters[1].cancel();
            bell->ring();
            for (const auto& awaiter : awaiters) { awaiter.await(); }
            ASSERT_EQ(errors.size(), 3U);
            EXPECT_TRUE(errors[1].same_error(errors[2]));  // AWT-8
            errors.push_back(caught([&] { target.await(); }));
            EXPECT_TRUE(errors[1].same_error(errors[3]));  // early or late (INV-AWAIT-01)
        });
        EXPECT_EQ(program.text(), "2 1 3");
        EXPECT_FALSE(exit);
    });
}

TEST_F(Await, CancellingTheAwaiterLeavesTheTargetAlone) {
    run([&] {
        const auto target = spawn([] {
            for (int i = 0; i < 3; ++i) { yield(); }
            return 5;
        });
        const auto awaiter = spawn([&] { log_caught([&] { target.await(); }); });
        yield();
        EXPECT_EQ(target.core().subscriber_count(), 1U);
        awaiter.cancel("r");
        EXPECT_EQ(target.core().subscriber_count(), 0U);
        EXPECT_EQ(target.await(), 5);  // AWC-07
    });
    EXPECT_EQ(text(), "r");
}

TEST_F(Await, AnExplicitResumeDoesNotEndIt) {
    run([&] {
        const Ref<Bell> b = bell();
        const auto target = spawn([&] {
            wait_for(*b);
            return 6;
        });
        const auto awaiter = spawn([&] { log(std::to_string(target.await())); });
        yield();
        scheduler().resume(awaiter.core(), nullptr, {});
        yield();
        EXPECT_EQ(text(), "");  // WKR-17: it looks again and goes on waiting
        b->ring();
        awaiter.await();
    });
    EXPECT_EQ(text(), "6");
}

TEST_F(Await, OfAClosedEventThatKeepsNoOutcomeIsRefused) {
    run([&] {
        const Ref<Bell> closed = bell();
        closed->close();
        EXPECT_THROW(await_event(*closed), AsyncError);
        const Ref<Bell> keeps = bell();
        keeps->close({7, true, {}}, true);
        EXPECT_EQ(await_event(*keeps).value, 7);
        EXPECT_EQ(await_event(*keeps).value, 7);
    });
}

TEST_F(Await, IsRefusedWhereNothingMaySuspendUnlessTheAnswerIsThere) {
    run([&] {
        const auto done = spawn([] { return 1; });
        yield();
        const auto pending = spawn([] { wait_forever(); });
        in_next_tick([&] {
            EXPECT_EQ(await(done), 1);
            EXPECT_THROW(await(pending), AsyncError);
            log("phase");
        });
        yield();
        pending.cancel();
    });
    EXPECT_EQ(text(), "phase");
    EXPECT_THROW(await_all(std::span<EventSource* const>()), AsyncError);  // outside a run
}

TEST_F(Await, LeavesNothingBehindHoweverItEnds) {
    run([&] {
        const Ref<OneShotEvent> target = event("target");
        const Ref<OneShotEvent> token = event("token");
        const auto clean = [&] {
            EXPECT_EQ(target->subscriber_count() + token->subscriber_count(), 0U);  // AWC-21
            EXPECT_EQ(target->loop_refs() + token->loop_refs(), 0U);
        };
        const auto cancelled = spawn([&] { await_event(target, token); });
        yield();
        cancelled.cancel();
        clean();
        yield();
        in_next_tick([&] { target->complete(); });
        await_event(target, token);
        clean();
        EXPECT_TRUE(current_coroutine().core().waker().triggered().empty());
    });
}

}  // namespace
}  // namespace heddle::testing
