// SPDX-License-Identifier: Apache-2.0
// Reported bugs of what coroutines wait for: semaphores, conditions, mutexes, channels, combinators and groups. Mutants of the corpus.
#include <memory>
#include <stdexcept>

#include "heddle/properties/planted/builder.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::planted_bugs {

using namespace std::chrono_literals;
using corpus::join;
using corpus::let_all_run;

void add_reported_sync(Builder& add) {
    add.add("MUT-07", "a permit whose waiter is cancelled in its window goes to the next one", 1, ChoiceMask{ChoiceKind::value}, [] {
        Semaphore permits(1);
        permits.acquire();
        const auto user = [&] { const Permit permit(permits); };
        auto a = spawn("a", user);
        auto b = spawn("b", user);
        yield();
        permits.release();
        if (sim::choose(2, "a_is_cancelled_in_its_window") == 1) { a.cancel(); }
        let_all_run();
        HEDDLE_ASSERT(b.is_completed(), "INV-MTX-03");
        join(a, b);
    });
    add.source("python/cpython#90155");

    add.add("MUT-08", "a wait that its token has ended is out of the queue; the next notification goes to the next wait", 1,
            ChoiceMask{ChoiceKind::value}, [] {
                Mutex mutex;
                Condition changed;
                auto token = event("token");
                auto a = spawn("a", [&] {
                    Lock lock(mutex);
                    try {
                        changed.wait(lock, token);
                    } catch (const OperationCanceled&) {
                    }
                    changed.wait(lock);
                });
                yield();
                if (sim::choose(2, "the_token_ends_the_first_wait") == 1) {
                    token->complete();
                } else {
                    changed.notify_one();
                }
                let_all_run();
                changed.notify_one();
                let_all_run();
                HEDDLE_ASSERT(a.is_completed(), "INV-MTX-03");
                join(a);
            });
    add.source("boostorg/fiber#128");

    add.add("MUT-09", "a release that meets a cancelled waiter goes on to the living one behind it", 1, ChoiceMask{ChoiceKind::value}, [] {
        Semaphore permits(1);
        permits.acquire();
        const auto user = [&] { const Permit permit(permits); };
        auto a = spawn("a", user);
        auto b = spawn("b", user);
        auto c = spawn("c", user);
        yield();
        if (sim::choose(2, "a_is_cancelled") == 1) { a.cancel(); }
        if (sim::choose(2, "b_is_cancelled") == 1) { b.cancel(); }
        permits.release();
        join(a, b, c);
    });
    add.source("agronholm/anyio#1145");

    add.add("MUT-15", "a waiter that is cancelled before the unlock does not get the lock", 1, ChoiceMask{ChoiceKind::value}, [] {
        Mutex mutex;
        mutex.lock();
        const auto user = [&] { const Lock lock(mutex); };
        auto a = spawn("a", user);
        auto b = spawn("b", user);
        yield();
        if (sim::choose(2, "a_is_cancelled") == 1) { a.cancel(); }
        mutex.unlock();
        join(a, b);
    });
    add.source("repoprompt/repoprompt-ce#492");

    add.add("MUT-18", "whoever leaves a group leaves nobody of its scope behind, children of its tasks included", 0, ChoiceMask::none(), [] {
        auto cleaned_up = std::make_shared<bool>(false);
        with_group<void>({}, [&](TaskGroup<void>& group) {
            group.spawn([cleaned_up] {
                spawn("child", [cleaned_up] {
                    try {
                        sleep_for(1s);
                    } catch (const Cancellation&) {
                        protect([] { sleep_for(5ms); });
                        *cleaned_up = true;
                        throw;
                    }
                });
                yield();
            });
        });
        HEDDLE_ASSERT(*cleaned_up, "INV-GRP-14");
    });
    add.source("true-async/php-async#245");

    add.add("MUT-30", "the value of a send that a close has failed is in nobody's reach", 0, ChoiceMask::none(), [] {
        const Channel<int> channel;
        bool failed = false;
        auto a = spawn("a", [&] {
            try {
                channel.send(1);
            } catch (const ChannelError&) {
                failed = true;
            }
        });
        yield();
        channel.close();
        join(a);
        const bool received = channel.try_receive().value.has_value();
        HEDDLE_ASSERT(received != failed, "INV-CHAN-06");
    });
    add.source("true-async/php-async#127");

    add.add("MUT-31", "a value whose receiver is cancelled in its window goes to the next receiver", 1, ChoiceMask{ChoiceKind::value}, [] {
        const Channel<int> channel({.capacity = 1});
        int received = 0;
        const auto receiver = [&] { received += channel.receive(); };
        auto a = spawn("a", receiver);
        auto b = spawn("b", receiver);
        yield();
        channel.send(1);
        if (sim::choose(2, "a_is_cancelled_in_its_window") == 1) {
            a.cancel();
        } else {
            channel.send(1);
        }
        join(a, b);
        HEDDLE_ASSERT(received == (a.error() ? 1 : 2), "INV-CHAN-05");
    });
    add.source("true-async/php-async#240");

    add.add("MUT-32", "a channel is closed before anybody hears of it", 0, ChoiceMask::none(), [] {
        const Channel<int> channel({.capacity = 1});
        auto future = channel.receive_async();
        future.ignore();
        SendResult answer = SendResult::full;
        Callback::on(future.event(), [&] { answer = channel.try_send(1); });
        channel.close();
        HEDDLE_ASSERT(answer == SendResult::closed, "INV-CHAN-12");
    });
    add.source("Kotlin/kotlinx.coroutines#359, userver-framework/userver@6dee86750");

    add.add("MUT-34", "a wait for all counts the members that are over already", 1, ChoiceMask{ChoiceKind::value}, [] {
        const FutureState<int> x;
        const FutureState<int> y;
        const bool early = sim::choose(2, "x_is_complete_before_the_wait") == 1;
        if (early) { x.complete(1); }
        auto waiter = spawn("waiter", [fx = x.future(), fy = y.future()] {
            EventSource* const inputs[] = {&fx.event(), &fy.event()};
            await_all(std::span<EventSource* const>(inputs));
        });
        yield();
        if (!early) { x.complete(1); }
        y.complete(2);
        let_all_run();
        HEDDLE_ASSERT(waiter.is_completed(), "INV-AWC-03");
        join(waiter);
    });
    add.source("true-async/php-async@934b1ec");

    add.add("MUT-36", "the wait for a first success ends when the last task has failed", 0, ChoiceMask::none(), [] {
        TaskGroup<int> group;
        const auto fails = []() -> int {
            sleep_for(1ms);
            throw std::runtime_error("task");
        };
        group.spawn(fails);
        group.spawn(fails);
        auto waiter = spawn("waiter", [&] {
            try {
                static_cast<void>(group.any().await());
            } catch (const CompositeError&) {
            }
        });
        join(waiter);
    });
    add.source("true-async/php-async@e61c508");
}

}  // namespace heddle::prop::planted_bugs
