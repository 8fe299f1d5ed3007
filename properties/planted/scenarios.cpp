// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/planted/scenarios.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "heddle/core/heddle.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;
using sim::ChoiceMask;

Scheduler& scheduler() { return current_runtime("scenario").scheduler(); }
Ref<OneShotEvent> event(const char* name = "event") { return OneShotEvent::make(scheduler(), name); }

/// How often a coroutine stands in the ready queue.
std::size_t times_queued(const CoroutineHandle& coroutine) {
    std::size_t count = 0;
    const Ring<CoroutineCore*>& ready = scheduler().ready_queue();
    for (std::size_t i = 0; i < ready.size(); ++i) { count += ready[i] == &coroutine.core() ? 1 : 0; }
    return count;
}

/// Runs a function when an event fires; a subscriber that is no coroutine.
class Callback final : public EventCallback {
public:
    static void on(EventSource& source, UniqueFunction<void()> body) { source.subscribe(*new Callback(std::move(body))); }
    void call(EventSource&, const Outcome&) override { body_(); }

private:
    explicit Callback(UniqueFunction<void()> body) : body_(std::move(body)) {}
    void dispose() override { delete this; }
    UniqueFunction<void()> body_;
};

/// Runs `body` in the loop `after` from now, without a coroutine.
Ref<ReactorEvent> later(Duration after, UniqueFunction<void()> body) {
    TimerOptions options;
    options.timeout = after;
    Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), options, false, "later");
    Callback::on(*timer, std::move(body));
    timer->start();
    return timer;
}

/// add_microtask for code that runs in a scheduler phase.
void microtask_in_phase(Scheduler& runtime, UniqueFunction<void()> body) {
    auto* task = new FunctionMicrotask(std::move(body));
    runtime.add_microtask(*task);
}

/// Judges the end of a run: no later than `latest` of virtual time.
class EndsBy final : public sim::Oracle {
public:
    EndsBy(const char* invariant, Duration latest) : invariant_(invariant), latest_(latest) {}
    void begin(sim::World&) override {}
    void at_end(sim::World& world) override {
        const Instant end = world.reactor().now();
        if (end > Instant{} + latest_) {
            report_violation({invariant_, "expected the run to end by " + std::to_string(latest_.count()) + " ns, it ended at " +
                                              std::to_string(end.ns()) + " ns", __FILE__, __LINE__});
        }
    }

private:
    std::string invariant_;
    Duration latest_;
};

class Builder {
public:
    /// @param mask  the kinds of choice that matter for it; the others are answered as production does
    void add(const char* id, const char* about, std::uint32_t depth, ChoiceMask mask, sim::Program program) {
        sim::Scenario scenario;
        scenario.name = std::string("planted/") + id;
        scenario.about = about;
        scenario.planted = id;
        scenario.depth = depth;
        scenario.program = [program](const sim::Parameters&) { return program; };
        scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
        scenario.world = [mask](sim::WorldOptions& world) {
            world.mask = mask;
            world.dispatches_max = 3'000;
        };
        scenarios.push_back(std::move(scenario));
    }
    sim::Scenario& last() { return scenarios.back(); }
    void source(const char* report) { last().source = report; }
    /// The program ends with an error of its own; that is no finding.
    void ends_with_an_error() {
        const auto before = last().world;
        last().world = [before](sim::WorldOptions& world) {
            before(world);
            world.errors_are_violations = false;
        };
    }

    std::vector<sim::Scenario> scenarios;
};

void add_reported(Builder& add) {
    add.add("MUT-02", "an event that completes at its start wakes a second coroutine; nobody may be left behind", 1,
            ChoiceMask{ChoiceKind::value}, [] {
                auto f = event("f");
                auto g = event("g");
                const bool at_start = sim::choose(2, "completes_at_start") == 1;
                if (at_start) {
                    f->set_start_hook([f = f.get(), g] {
                        f->complete();
                        g->complete();
                    });
                }
                auto b = spawn("b", [g] { await_event(g); });
                auto a = spawn("a", [f] { await_event(f); });
                yield();
                yield();
                if (!at_start) {
                    f->complete();
                    g->complete();
                }
                await_all(a, b);
            });
    add.source("true-async/php-async@565c95f");

    add.add("MUT-03", "two coroutines wake each other for ever; a third one still gets its turn", 0, ChoiceMask::none(), [] {
        struct State {
            Ref<OneShotEvent> a_turn, b_turn;
            bool bystander_ran = false;
        };
        auto state = std::make_shared<State>();
        state->b_turn = event("b_turn");
        auto b = spawn("b", [state] {
            for (int i = 0; i < 50; ++i) {
                await_event(state->b_turn);
                state->b_turn = event("b_turn");
                state->a_turn->complete();
            }
        });
        auto a = spawn("a", [state] {
            for (int i = 0; i < 50; ++i) {
                auto mine = event("a_turn");
                state->a_turn = mine;
                state->b_turn->complete();
                await_event(mine);
                HEDDLE_ASSERT(i < 10 || state->bystander_ran, "INV-LIVE-01");
            }
        });
        auto c = spawn("bystander", [state] { state->bystander_ran = true; });
        await_all(a, b, c);
    });
    add.source("tokio-rs/tokio#2349");

    add.add("MUT-04", "the only timer of the program is armed in a microtask", 0, ChoiceMask::none(), [] {
        auto f = event("f");
        auto keep = std::make_shared<std::vector<Ref<ReactorEvent>>>();
        Scheduler& runtime = scheduler();
        keep->push_back(later(1ms, [f, keep, &runtime] {
            microtask_in_phase(runtime, [f, keep] { keep->push_back(later(5ms, [f] { f->complete(); })); });
        }));
        await_event(f);
        keep->clear();
    });
    add.source("sableland/sable#53");

    add.add("MUT-05", "completing an event does not switch away from the one who completes it", 0, ChoiceMask::none(), [] {
        struct State {
            int x = 0, seen = 0;
        };
        auto state = std::make_shared<State>();
        auto cv = event("cv");
        auto a = spawn("a", [state, cv] {
            await_event(cv);
            state->seen = state->x;
        });
        auto b = spawn("b", [state, cv] {
            state->x = 1;
            cv->complete();
            state->x = 2;
            yield();
        });
        await_all(a, b);
        HEDDLE_ASSERT(state->seen == 2, "NO-INLINE");
    });
    add.source("scylladb/seastar@df8374789");

    add.add("MUT-12", "a scope is cancelled between the spawn of a member and its first run", 1,
            ChoiceMask{ChoiceKind::poll, ChoiceKind::arrival}, [] {
                Scope scope;
                auto ran = std::make_shared<bool>(false);
                auto cancelled_first = std::make_shared<bool>(false);
                auto a = scope.spawn("a", [ran, cancelled_first] {
                    *ran = true;
                    HEDDLE_ASSERT(!*cancelled_first, "INV-CAN-03");
                });
                sim::anywhere([&scope, ran, cancelled_first] {
                    *cancelled_first = !*ran;
                    scope.cancel();
                });
                try {
                    a.await();
                } catch (const Cancellation&) {
                }
                scope.await_after_cancellation();
            });
    add.source("Kotlin/kotlinx.coroutines#621");

    add.add("MUT-13", "a result and a cancellation arrive together; the cancellation is not swallowed", 1,
            ChoiceMask{ChoiceKind::poll, ChoiceKind::arrival}, [] {
                auto first = event("first");
                auto second = event("second");
                auto a = spawn("a", [first, second] {
                    await_event(first);
                    await_event(second);
                });
                auto canceller_ran = std::make_shared<bool>(false);
                sim::anywhere([a, canceller_ran] {
                    a.cancel();
                    *canceller_ran = true;
                });
                yield();
                first->complete();
                yield();
                while (!*canceller_ran) { yield(); }
                yield();
                yield();
                HEDDLE_ASSERT(a.is_completed() && a.is_cancelled(), "INV-CAN-01");
            });
    add.source("python/cpython#86296");

    add.add("MUT-17", "a zombie asleep in a long delay does not keep the application alive", 0, ChoiceMask::none(), [] {
        Scope scope;
        scope.allow_zombies();
        scope.spawn("a", [] { sleep_for(100s); });
        yield();
        scope.dispose();
    });
    add.source("true-async/php-async#132");
    add.last().oracles = [](const sim::Parameters&) {
        sim::OracleList judges = all_oracles();
        judges.push_back(std::make_unique<EndsBy>("INV-ZOM-07", 4s));
        return judges;
    };

    add.add("MUT-37", "a surplus stop of one event leaves the count of the others alone", 0, ChoiceMask::none(), [] {
        auto b = spawn("b", [] { sleep_for(100ms); });
        yield();
        const Ref<ReactorEvent> other = ReactorEvent::trigger(scheduler());
        other->start();
        other->stop();
        other->stop();
        HEDDLE_ASSERT(scheduler().reactor().active_events() == 1, "INV-EVT-01");
        b.await();
    });
    add.source("true-async/php-async@7cba1c6");

    add.add("MUT-39", "shutdown reaches those who are ready or have not started, too", 0, ChoiceMask::none(), [] {
        spawn("ready", [] {
            yield();
            HEDDLE_ASSERT(false, "INV-SHUT-01");
        });
        yield();
        spawn("unstarted", [] { HEDDLE_ASSERT(false, "INV-SHUT-01"); });
        shutdown();
    });
    add.source("true-async/php-async@c9116d5");
}

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

void add_scheduler_faults(Builder& add) {
    add.add("FLT-05", "high priority is for the start alone: a yield goes to the tail", 0, ChoiceMask::none(), [] {
        auto other_ran = std::make_shared<bool>(false);
        auto high = spawn({.name = "high", .priority = Priority::high}, [other_ran] {
            for (int i = 0; i < 5; ++i) { yield(); }
            HEDDLE_ASSERT(*other_ran, "INV-SCHED-08");
        });
        auto other = spawn("other", [other_ran] { *other_ran = true; });
        await_all(high, other);
    });
    add.add("FLT-06", "while somebody is ready the reactor does not wait", 1, ChoiceMask{ChoiceKind::poll}, [] {
        auto sleeper = spawn("sleeper", [] { sleep_for(100ms); });
        for (int i = 0; i < 2; ++i) {
            // Each of them ends at once: the loop dispatches the next one after a poll of its own.
            auto quick = spawn("quick", [] {});
            auto second = spawn("second", [] { HEDDLE_ASSERT(now() < Instant{} + 100ms, "INV-SCHED-13"); });
            await_all(quick, second);
        }
        sleeper.await();
    });
    add.add("FLT-09", "a coroutine cancelled before its start is finalized, and its awaiter sees it", 0, ChoiceMask::none(), [] {
        auto c = spawn("c", [] {});
        auto finally_ran = std::make_shared<bool>(false);
        c.finally([finally_ran](const CoroutineHandle&) { *finally_ran = true; });
        c.cancel("before the start");
        bool cancelled = false;
        try {
            c.await();
        } catch (const Cancellation&) {
            cancelled = true;
        }
        HEDDLE_ASSERT(cancelled && *finally_ran, "INV-CAN-03");
    });
    add.add("FLT-15", "a coroutine that yields until a timer has set a flag comes to an end", 0, ChoiceMask{ChoiceKind::poll}, [] {
        auto flag = std::make_shared<bool>(false);
        auto a = spawn("a", [flag] {
            while (!*flag) { yield(); }
        });
        auto b = spawn("b", [flag] {
            sleep_for(5ms);
            *flag = true;
        });
        await_all(a, b);
    });
    add.add("FLT-16", "a microtask that throws leaves the ones behind it in the queue", 0, ChoiceMask::none(), [] {
        auto second_ran = std::make_shared<bool>(false);
        add_microtask([] { throw std::runtime_error("first"); });
        add_microtask([second_ran] { *second_ran = true; });
        for (int i = 0; i < 3; ++i) {
            try {
                yield();
            } catch (const Cancellation&) {  // the error shuts the runtime down
            }
        }
        HEDDLE_ASSERT(*second_ran, "INV-TASK-02");
    });
    add.ends_with_an_error();
    add.add("FLT-21", "clean-up that spawns its own successor does not keep a deadlocked run going for ever", 0, ChoiceMask::none(), [] {
        struct Again {
            static void run() {
                try {
                    await_event(event("never"));
                } catch (const Cancellation&) {
                    spawn("again", [] { run(); });
                    throw;
                }
            }
        };
        spawn("again", [] { Again::run(); });
    });
    add.ends_with_an_error();
    add.add("FLT-22", "time moves although somebody is always ready", 0, ChoiceMask{ChoiceKind::time}, [] {
        auto flag = std::make_shared<bool>(false);
        auto b = spawn("b", [flag] {
            sleep_for(5ms);
            *flag = true;
        });
        while (!*flag) { yield(); }
        b.await();
    });
    add.add("FLT-23", "a coroutine that its before hook cancels is queued once", 0, ChoiceMask::none(), [] {
        SpawnOptions options;
        options.name = "a";
        options.before = [](const CoroutineHandle& a) { a.cancel(); };
        auto a = spawn(options, [] { HEDDLE_ASSERT(false, "INV-CAN-03"); });
        HEDDLE_ASSERT(times_queued(a) == 1, "INV-SCHED-02");
        try {
            a.await();
        } catch (const Cancellation&) {
        }
    });
}

void add_structure_faults(Builder& add) {
    add.add("FLT-10", "asking a zombie to become one again changes no count", 0, ChoiceMask::none(), [] {
        Scope scope;
        scope.allow_zombies();
        auto a = scope.spawn("a", [] { sleep_for(5ms); });
        yield();
        scope.cancel();
        scope.cancel();
        HEDDLE_ASSERT(scheduler().active_count() == 1, "INV-ZOM-02");
        a.await();
    });
    add.add("FLT-11", "await_after_cancellation waits for the last member", 0, ChoiceMask::none(), [] {
        Scope scope;
        auto member = [](Duration cleans_up_for) {
            return [cleans_up_for] {
                try {
                    sleep_for(1s);
                } catch (const Cancellation&) {
                    protect([&] { sleep_for(cleans_up_for); });
                    throw;
                }
            };
        };
        auto a = scope.spawn("a", member(5ms));
        auto b = scope.spawn("b", member(10ms));
        yield();
        scope.cancel();
        scope.await_after_cancellation();
        HEDDLE_ASSERT(a.is_completed() && b.is_completed(), "INV-SCOPE-11");
    });
    add.add("FLT-12", "the end of an inner protected region does not let a cancellation in", 0, ChoiceMask::none(), [] {
        auto outer_done = std::make_shared<bool>(false);
        auto a = spawn("a", [outer_done] {
            protect([&] {
                protect([] { sleep_for(1ms); });
                sleep_for(1ms);
                *outer_done = true;
            });
        });
        yield();
        a.cancel();
        try {
            a.await();
        } catch (const Cancellation&) {
        }
        HEDDLE_ASSERT(*outer_done, "INV-PRT-01");
    });
    add.add("FLT-14", "a hidden timer is no reason to go on", 0, ChoiceMask::none(), [] {
        TimerOptions options;
        options.timeout = 10s;
        auto hidden = ReactorEvent::timer(scheduler(), options, true, "hidden");
        hidden->start();
        HEDDLE_ASSERT(scheduler().reactor().active_events() == 0, "INV-RCT-06");
        hidden->stop();
    });
    add.add("FLT-17", "the error of a coroutine does not keep its own finally handlers from running", 0, ChoiceMask::none(), [] {
        Scope scope;
        auto ran = std::make_shared<bool>(false);
        auto x = scope.spawn("x", [] { throw std::runtime_error("x"); });
        x.finally([ran](const CoroutineHandle&) { *ran = true; });
        for (int i = 0; i < 4; ++i) { yield(); }
        HEDDLE_ASSERT(*ran, "INV-FIN-01");
    });
    add.ends_with_an_error();
    add.add("FLT-18", "who waits for a scope gets the error that ends it, not the cancellation that it causes", 0, ChoiceMask::none(), [] {
        Scope scope;
        scope.spawn("x", [] {
            yield();
            throw std::runtime_error("x");
        });
        scope.spawn("y", [] { sleep_for(1s); });
        auto never = event("never");
        bool got_error = false;
        try {
            scope.await_completion(*never);
        } catch (const std::runtime_error&) {
            got_error = true;
        } catch (const Cancellation&) {
        }
        HEDDLE_ASSERT(got_error, "INV-ERR-07");
    });
    add.ends_with_an_error();
    add.add("FLT-19", "shutdown wakes a protected coroutine that has a cancellation pending", 0, ChoiceMask::none(), [] {
        auto never = event("never");
        auto delivered = std::make_shared<bool>(false);
        auto a = spawn("a", [never, delivered] {
            current_coroutine().cancel("by itself");
            try {
                protect([&] { await_event(never); });
            } catch (const Cancellation&) {
                *delivered = true;
                throw;
            }
        });
        yield();
        shutdown();
        try {
            sleep_for(1ms);
        } catch (const Cancellation&) {
        }
        for (int i = 0; i < 3; ++i) { yield(); }
        HEDDLE_ASSERT(*delivered, "INV-PRT-04");
    });
    add.ends_with_an_error();
    add.add("FLT-20", "a region that shutdown has ended changes nothing at its exit", 0, ChoiceMask::none(), [] {
        auto never = event("never");
        auto depth_after = std::make_shared<std::uint32_t>(0);
        auto a = spawn("a", [never, depth_after] {
            try {
                protect([&] { await_event(never); });
            } catch (const Cancellation&) {
            }
            *depth_after = current_coroutine().core().protection_depth();
        });
        yield();
        shutdown();
        try {
            sleep_for(1ms);
        } catch (const Cancellation&) {
        }
        for (int i = 0; i < 3; ++i) { yield(); }
        HEDDLE_ASSERT(*depth_after == 0 && a.is_completed(), "INV-PRT-04");
    });
    add.ends_with_an_error();
}

}  // namespace

std::vector<sim::Scenario> planted_scenarios() {
    Builder builder;
    add_reported(builder);
    add_waker_faults(builder);
    add_scheduler_faults(builder);
    add_structure_faults(builder);
    return std::move(builder.scenarios);
}

}  // namespace heddle::prop
