// SPDX-License-Identifier: Apache-2.0
// Faults in waits and what ends them: events, wakers, tokens.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/properties/planted/builder.hpp"

namespace heddle::prop::planted_bugs {

using namespace std::chrono_literals;

void add_waker_faults(Builder& add) {
    add.add("FLT-01", "two sleepers wake in one tick; the second has no subscription left while the first runs", 0, ChoiceMask::none(), [] {
        auto handles = std::make_shared<std::vector<CoroutineHandle>>();
        auto body = [handles] {
            sleep_for(5ms);
            for (const CoroutineHandle& other : *handles) {
                HEDDLE_ASSERT(!other.is_queued() || !other.core().waker().has_subscriptions(), "INV-SCHED-19");
            }
        };
        auto a = spawn("a", body);
        auto b = spawn("b", body);
        *handles = {a, b};
        await_all(a, b);
        handles->clear();
    });
    add.add("FLT-02", "the first event decides a wait, whatever fires later in the same tick", 0, ChoiceMask::none(), [] {
        auto f = event("f");
        auto token = event("token");
        auto a = spawn("a", [f, token] {
            try {
                await_event(f, token);
            } catch (const OperationCanceled&) {
                HEDDLE_ASSERT(false, "INV-WAKE-02");
            }
        });
        yield();
        const auto timer = later(1ms, [f, token] {
            f->complete();
            token->complete();
        });
        a.await();
    });
    add.add("FLT-03", "an error that woke a coroutine is thrown, and a cancellation behind it follows", 0, ChoiceMask{ChoiceKind::value}, [] {
        auto f = event("f");
        auto a = spawn("a", [f] {
            bool error_seen = false;
            try {
                await_event(f);
            } catch (const std::runtime_error&) {
                error_seen = true;
            } catch (const Cancellation&) {
            }
            HEDDLE_ASSERT(error_seen, "INV-CAN-06");
            yield();
            HEDDLE_ASSERT(false, "INV-CAN-06");
        });
        yield();
        f->fail(ErrorValue::make<std::runtime_error>("failed"));
        a.cancel();
        try {
            a.await();
        } catch (const Cancellation&) {
        }
    });
    add.add("FLT-04", "several events of one wait queue the coroutine once", 0, ChoiceMask::none(), [] {
        auto f = event("f");
        auto token = event("token");
        auto a = spawn("a", [f, token] { await_event(f, token); });
        yield();
        const auto timer = later(1ms, [f, token, a] {
            f->complete();
            token->complete();
            std::size_t count = 0;
            const Ring<CoroutineCore*>& ready = a.core().scheduler().ready_queue();
            for (std::size_t i = 0; i < ready.size(); ++i) { count += ready[i] == &a.core() ? 1 : 0; }
            HEDDLE_ASSERT(count == 1, "INV-SCHED-02");
        });
        a.await();
    });
    add.add("FLT-07", "a callback that throws does not keep a waiter from waking", 0, ChoiceMask::none(), [] {
        auto f = event("f");
        auto woken = std::make_shared<bool>(false);
        Callback::on(*f, [] { throw std::runtime_error("callback"); });
        auto a = spawn("a", [f, woken] {
            await_event(f);
            *woken = true;
        });
        yield();
        f->complete();
        HEDDLE_ASSERT(a.is_queued(), "INV-EVT-08");
        try {
            a.await();
        } catch (const Cancellation&) {  // the callback's error shuts the runtime down
        }
    });
    add.ends_with_an_error();
    add.add("FLT-08", "waiters are woken in the order in which they came, also after one has left", 0, ChoiceMask::none(), [] {
        auto f = event("f");
        auto order = std::make_shared<std::string>();
        auto waiter = [f, order](char name) {
            return [f, order, name] {
                await_event(f);
                *order += name;
            };
        };
        auto a = spawn("a", waiter('a'));
        auto b = spawn("b", waiter('b'));
        auto c = spawn("c", waiter('c'));
        auto d = spawn("d", waiter('d'));
        yield();
        a.cancel();
        f->complete();
        await_all(b, c, d);
        HEDDLE_ASSERT(*order == "bcd", "INV-EVT-04");
    });
    add.add("FLT-13", "one of two waiters leaves; the event that they share stays armed for the other", 0, ChoiceMask::none(), [] {
        TimerOptions options;
        options.timeout = 10ms;
        const Ref<ReactorEvent> shared = ReactorEvent::timer(scheduler(), options);
        auto a = spawn("a", [shared] { await_event(*shared); });
        auto b = spawn("b", [shared] { await_event(*shared); });
        yield();
        a.cancel();
        HEDDLE_ASSERT(shared->loop_refs() == 1, "INV-EVT-02");
        b.await();
    });
}

}  // namespace heddle::prop::planted_bugs
