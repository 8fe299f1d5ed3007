// SPDX-License-Identifier: Apache-2.0
// Events, waits and reactor sources as a program sees them: what no look from outside can tell.
//
//   INV-EVT-08, 09 · INV-WAKE-06 to 09 · INV-AWAIT-03 · INV-RCT-06, 10        each under every schedule within its bound
//
// Bounds: 2 deviations unless a test says another number; both orders; all oracles look on.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/run/reactor_event.hpp"
#include "heddle/properties/testing/every_schedule.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

Waker& my_waker() { return current_coroutine().core().waker(); }
void suspend_here() { the_scheduler().suspend({"wait", SourceLocation::current()}); }

/// What an error and those before it say, newest first.
std::vector<std::string> messages(const ErrorValue& error) {
    std::vector<std::string> all;
    for (ErrorValue at = error; at; at = at.previous()) {
        try {
            at.rethrow();
        } catch (const std::exception& thrown) { all.emplace_back(thrown.what()); } catch (const Cancellation& thrown) {
            all.emplace_back(thrown.what());
        }
    }
    return all;
}

// ── INV-EVT-08 ──

TEST(Callbacks, ThatThrowKeepNoOtherFromItsCallAndAreReportedOnce) {
    std::vector<std::string> thrown;  // by the run at hand
    const auto program = [&] {
        thrown.clear();
        const Ref<OneShotEvent> event = new_event("event");
        std::array<int, 3> calls{};
        const std::uint32_t who_throws = sim::choose(8, "who throws");
        const auto listener = [&](std::size_t index) {
            return std::make_unique<Listener>(*event, [&, index] {
                ++calls[index];
                if ((who_throws >> index & 1) == 0) { return; }
                thrown.push_back("callback " + std::to_string(index));
                throw std::runtime_error(thrown.back());
            });
        };
        const auto first = listener(0);
        auto waiter = spawn("waiter", [&] { quietly([&] { await_event(event); }); });
        yield();
        const auto second = listener(1);
        const auto third = listener(2);
        const bool waits = waiter.is_suspended() && !waiter.is_queued();
        event->complete();
        HEDDLE_ASSERT((calls == std::array{1, 1, 1}), "INV-EVT-08");
        HEDDLE_ASSERT(!waits || waiter.is_queued(), "INV-EVT-08");
        HEDDLE_ASSERT(the_scheduler().has_pending_error() == (who_throws != 0), "INV-EVT-08");
        quietly([&] { waiter.await(); });
    };
    Bounds bounds;
    bounds.deviations = 3;
    bounds.errors_are_outcomes = true;
    bounds.at_end = [&](const Scheduler& scheduler) {
        std::vector<std::string> reported = messages(scheduler.exit_error());
        std::erase_if(reported, [](const std::string& text) { return text.find("callback") == std::string::npos; });
        HEDDLE_ASSERT(std::multiset<std::string>(reported.begin(), reported.end()) ==
                          std::multiset<std::string>(thrown.begin(), thrown.end()),
                      "INV-EVT-08");
    };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 30U);
}

// ── INV-EVT-09, INV-WAKE-09 ──

/// How many Tracked events there are.
struct Census {
    int born = 0;
    int gone = 0;
};

/// An event that knows when it may go.
class Tracked final : public EventSource {
public:
    static Ref<Tracked> make(Census& census) { return Ref<Tracked>(new Tracked(the_scheduler(), census)); }

    void ring() { notify({1, true, {}}); }
    void finish() {
        over_ = true;
        notify_and_close({2, true, {}});
    }
    [[nodiscard]] std::string describe() const override { return "tracked"; }
    [[nodiscard]] bool replay(Outcome& outcome) const override {
        outcome = {2, true, {}};
        return over_;
    }

private:
    Tracked(Scheduler& scheduler, Census& census) : EventSource(scheduler), census_(census) { ++census_.born; }
    ~Tracked() override {
        ++census_.gone;
        HEDDLE_ASSERT(census_.gone <= census_.born, "INV-EVT-09");
    }
    void notify_hook(const Outcome& outcome) override {
        in_pass_ = true;
        run_pass(outcome);
        in_pass_ = false;  // a pass on what is gone already is seen here by AddressSanitizer, too
    }
    void dispose() override {
        HEDDLE_ASSERT(!in_pass_, "INV-EVT-09");
        visit_coroutines(scheduler(), [this](const CoroutineCore& c) {
            HEDDLE_ASSERT(!c.waker().was_triggered(*this), "INV-EVT-09");
            c.waker().visit_events([this](const EventSource& waited) { HEDDLE_ASSERT(&waited != this, "INV-EVT-09"); });
        });
        drop_callbacks();
        delete this;
    }

    Census& census_;
    bool in_pass_ = false;
    bool over_ = false;
};

TEST(Event, IsFreedOnceAndNotWhileSomebodyRefersToIt) {
    Census census;
    const auto program = [&] {
        census = {};
        Ref<Tracked> event = Tracked::make(census);
        auto patient = spawn("patient", [event]() mutable {
            Waker& waker = my_waker();
            waker.begin_with_timeout(2ms);
            if (event->is_closed()) { return; }
            Tracked& waited = *event;
            waited.add_reference();
            event.reset();
            waker.resume_when(waited, WakeBy::resolve, true);  // from here on the wait keeps it, if anybody does
            quietly([] { suspend_here(); });
            waker.clean();
        });
        auto other = spawn("other", [event] {
            quietly([&] { await_event(*event); });
            quietly([&] { await_event(*event, Timeout(1ms)); });
        });
        const Listener lets_go(*event, [&] { event.reset(); });  // inside the pass
        sim::anywhere([patient] { patient.cancel(); });
        sim::anywhere([other] { other.cancel(); });
        yield();
        switch (sim::choose(4, "end")) {
            case 0: event->ring(); break;
            case 1: event->finish(); break;
            case 2: event.reset(); break;
            default: break;
        }
        other.cancel();
        for (const CoroutineHandle& one : {CoroutineHandle(patient), CoroutineHandle(other)}) {
            EventSource* const inputs[] = {&one.core()};
            static_cast<void>(await_collect(inputs, {}));
        }
    };
    Bounds bounds;
    bounds.at_end = [&](const Scheduler&) { HEDDLE_ASSERT(census.born == 1 && census.gone == 1, "INV-EVT-09"); };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 100U);
}

TEST(Wait, ReleasesWhatItWasGivenAndKeepsNothingElse) {
    Census census;
    const auto program = [&] {
        census = {};
        const bool closed = sim::choose(2, "closed") == 1;
        const bool transfer = sim::choose(2, "transfer") == 1;
        const bool function = sim::choose(2, "function missing") == 1;
        auto waiter = spawn("waiter", [&] {
            Ref<Tracked> mine = Tracked::make(census);
            if (closed) { mine->finish(); }
            const std::uint32_t held = mine->references();
            if (transfer) { mine->add_reference(); }  // the caller's own, which the wait takes over
            bool refused = false;
            try {
                if (function) {
                    my_waker().resume_when(*mine, Subscription::Function(), transfer);
                } else {
                    my_waker().resume_when(*mine, WakeBy::resolve, transfer);
                    HEDDLE_ASSERT(mine->references() == held + 1, "INV-WAKE-09");
                }
            } catch (const AsyncError&) { refused = true; }
            HEDDLE_ASSERT(refused == (closed || function), "INV-WAKE-09");
            HEDDLE_ASSERT(!refused || mine->references() == held, "INV-WAKE-09");
            if (!refused) {
                auto rings = spawn("rings", [mine] { mine->ring(); });
                try {
                    suspend_here();
                } catch (const Cancellation&) {
                    // It may come at any time.
                }
                my_waker().clean();
            }
        });
        sim::anywhere([waiter] { waiter.cancel(); });
        EventSource* const inputs[] = {&waiter.core()};
        static_cast<void>(await_collect(inputs, {}));
    };
    Bounds bounds;
    bounds.deviations = 4;
    bounds.at_end = [&](const Scheduler&) { HEDDLE_ASSERT(census.born == census.gone, "INV-WAKE-09"); };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 50U);
}

// ── INV-WAKE-06 ──

TEST(Wait, ShowsTheOutcomeOfItselfAlone) {
    const auto program = [] {
        std::vector<Ref<OneShotEvent>> events;
        for (int i = 0; i < 4; ++i) { events.push_back(new_event("event")); }
        auto waiter = spawn("waiter", [&] {
            Waker& waker = my_waker();
            for (std::size_t round = 0; round < 2; ++round) {
                waker.clean();
                HEDDLE_ASSERT(
                    !waker.has_subscriptions() && waker.triggered().empty() && waker.status() == WakerStatus::none,
                    "INV-WAKE-06");
                HEDDLE_ASSERT(!waker.outcome().has_value && !waker.outcome().error, "INV-WAKE-06");
                const std::array pair{events[2 * round].get(), events[2 * round + 1].get()};
                for (OneShotEvent* event : pair) {
                    if (!event->is_closed()) { waker.resume_when(*event, WakeBy::resolve); }
                }
                if (!waker.has_subscriptions()) { continue; }
                bool cancelled = false;
                try {
                    suspend_here();
                } catch (const Cancellation&) { cancelled = true; }
                const std::vector<EventSource*> triggered = waker.triggered();
                for (const EventSource* one : triggered) {
                    HEDDLE_ASSERT((one == pair[0] || one == pair[1]) && one->is_closed(), "INV-WAKE-06");
                }
                if (cancelled) { continue; }
                HEDDLE_ASSERT(!triggered.empty(), "INV-WAKE-06");
                HEDDLE_ASSERT(waker.outcome().value == static_cast<OneShotEvent*>(triggered.front())->outcome().value,
                              "INV-WAKE-06");
            }
            waker.clean();
        });
        auto sets = spawn("sets", [&] {
            for (std::size_t i = 0; i < events.size(); ++i) {
                events[i]->complete(static_cast<std::int64_t>(i) + 10);
                if (sim::choose(2, "pause") == 1) { yield(); }
            }
        });
        sim::anywhere([waiter] { waiter.cancel(); });
        await_all(waiter, sets);
    };
    EXPECT_GT(holds_under_every_schedule(program, {.deviations = 3}), 100U);
}

// ── INV-WAKE-07 ──

TEST(Wait, DoesNotParkForAnEventThatFiredBeforeIt) {
    const auto program = [] {
        const Ref<OneShotEvent> first = new_event("first");
        const Ref<OneShotEvent> second = new_event("second");
        auto bystander = spawn("bystander", [] { yield(); });
        auto waiter = spawn("waiter", [&] {
            Waker& waker = my_waker();
            waker.clean();
            if (first->is_closed()) { return; }
            waker.resume_when(*first, WakeBy::resolve);
            waker.resume_when(*second, WakeBy::resolve);
            const std::uint32_t early = sim::choose(4, "early");
            if ((early & 1) != 0) { first->complete(1); }
            if ((early & 2) != 0) { second->complete(2); }
            const std::uint64_t switches = the_scheduler().statistics().switches;
            suspend_here();
            if (early != 0) {
                HEDDLE_ASSERT(the_scheduler().statistics().switches == switches, "INV-WAKE-07");
                HEDDLE_ASSERT(waker.outcome().value == ((early & 1) != 0 ? 1 : 2), "INV-WAKE-07");
            }
            waker.clean();
        });
        auto late = spawn("late", [&] { first->complete(3); });
        await_all(bystander, waiter, late);
    };
    EXPECT_GT(holds_under_every_schedule(program, {.deviations = 3}), 30U);
}

// ── INV-WAKE-08 ──

TEST(Wait, ThatAnotherEventEndedLeavesAnErrorUnhandled) {
    bool failed = false;
    bool got_it = false;
    const auto program = [&] {
        failed = got_it = false;
        const Ref<OneShotEvent> bell = new_event("bell");
        auto fails = spawn("fails", [&] {
            yield();
            failed = true;
            throw std::runtime_error("the error");
        });
        auto waiter = spawn("waiter", [&, target = fails] {
            EventSource* const inputs[] = {bell.get(), &target.core()};
            try {
                if (sim::choose(2, "how") == 0) {
                    const Collected collected = await_collect(inputs, {CollectMode::any});
                    got_it = static_cast<bool>(collected.outcomes[1].error);  // collected, that is delivered
                    return;
                }
                Waker& waker = my_waker();
                waker.clean();
                for (EventSource* input : inputs) {
                    if (!input->is_closed()) { waker.resume_when(*input, WakeBy::resolve); }
                }
                suspend_here();
            } catch (const std::runtime_error&) { got_it = true; }
            my_waker().clean();
        });
        auto rings = spawn("rings", [bell] {
            yield();
            bell->complete();
        });
        fails.release();
        quietly([&] { await_all(waiter, rings); });
    };
    Bounds bounds;
    bounds.deviations = 4;
    bounds.errors_are_outcomes = true;
    bounds.at_end = [&](const Scheduler& scheduler) {
        std::vector<std::string> reported = messages(scheduler.exit_error());
        const auto count = std::ranges::count(reported, "the error");
        HEDDLE_ASSERT(count <= 1, "INV-ERR-02");
        HEDDLE_ASSERT(!failed || got_it == (count == 0), "INV-WAKE-08");
    };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 100U);
}

// ── INV-AWAIT-03 ──

TEST(Await, ThatATokenEndsLeavesItsTargetAlone) {
    int ended_by_token = 0;
    const auto program = [&] {
        auto target = spawn("target", [] {
            sleep_for(2ms);
            yield();
            sleep_for(2ms);
            return 7;
        });
        const Ref<OneShotEvent> token = new_event("token");
        auto waiter = spawn("waiter", [&] {
            const bool by_time = sim::choose(2, "by time") == 1;
            try {
                HEDDLE_ASSERT((by_time ? await(target, Timeout(1ms)) : await(target, token)) == 7, "INV-AWAIT-01");
            } catch (const OperationCanceled&) {
                ++ended_by_token;
                // It may have come to its own end in between.
                HEDDLE_ASSERT(!target.is_cancellation_requested() && !target.is_zombie() && !target.error(),
                              "INV-AWAIT-03");
            }
        });
        sim::anywhere([token] { token->complete(); });
        waiter.await();
        HEDDLE_ASSERT(target.await() == 7, "INV-AWAIT-03");
    };
    Bounds bounds;
    bounds.deviations = 3;
    bounds.on_each = [](const Event& event) {
        HEDDLE_ASSERT(event.kind != EventKind::cancel_requested, "INV-AWAIT-03");
    };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 50U);
    EXPECT_GT(ended_by_token, 20);
}

// ── INV-RCT-06, INV-RCT-10 ──

TEST(HiddenEvents, KeepNoProgramWaiting) {
    Instant last;
    std::vector<Ref<ReactorEvent>> kept;  // started, and outliving the whole program
    const auto program = [&] {
        abandon(kept);
        const auto arm = [&kept](Duration after, bool hidden) {
            kept.push_back(ReactorEvent::timer(the_scheduler(), {.timeout = after}, hidden));
            kept.back()->start();
        };
        arm(1ms, true);
        arm(5ms, true);
        arm(1h, true);
        const Duration sleeps = sim::choose(2, "sleeps") == 0 ? Duration(2ms) : Duration(7ms);
        const Duration visible = sim::choose(2, "visible") == 0 ? Duration::zero() : Duration(4ms);
        last = now() + std::max(sleeps, visible);
        if (visible > Duration::zero()) { arm(visible, false); }
        spawn("sleeper", [sleeps] { sleep_for(sleeps); });
    };
    Bounds bounds;
    bounds.mask = sim::ChoiceMask::all().without(ChoiceKind::time);  // time passes only where nothing else can happen
    bounds.at_end = [&](const Scheduler& scheduler) {
        HEDDLE_ASSERT(scheduler.reactor().now() == last, "INV-RCT-06");
        kept.clear();
    };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 20U);
}

TEST(ClosingAHandle, EndsEveryWaitOnItInThatStep) {
    int parked = 0;
    const auto program = [&] {
        sim::SimReactor& reactor = sim::World::current()->reactor();
        const int descriptor = reactor.make_descriptor();
        const Ref<ReactorEvent> poll = ReactorEvent::poll(the_scheduler(), descriptor, PollBits::readable);
        std::vector<CoroutineHandle> waiters;
        for (int i = 0; i < 3; ++i) {
            waiters.push_back(spawn("waiter", [poll] {
                for (;;) {
                    try {
                        await_event(*poll);  // readable, again and again, until it is closed
                    } catch (const AsyncError&) { return; }
                }
            }));
        }
        sim::anywhere([&reactor, descriptor] { reactor.set_ready(descriptor, PollBits::readable); }, "ready");
        sim::anywhere([first = waiters.front()] { first.cancel(); }, "cancel");
        yield();
        if (sim::choose(2, "later") == 1) { sleep_for(1ms); }
        for (const CoroutineHandle& waiter : waiters) {
            parked += waiter.is_suspended() && !waiter.is_queued() ? 1 : 0;
        }
        poll->close();
        for (const CoroutineHandle& waiter : waiters) {
            HEDDLE_ASSERT(waiter.core().waker().status() != WakerStatus::waiting, "INV-RCT-10");
        }
        for (const CoroutineHandle& waiter : waiters) {
            EventSource* const inputs[] = {&waiter.core()};
            static_cast<void>(await_collect(inputs, {}));
        }
    };
    EXPECT_GT(holds_under_every_schedule(program), 100U);
    EXPECT_GT(parked, 100);
}

}  // namespace
}  // namespace heddle::prop
