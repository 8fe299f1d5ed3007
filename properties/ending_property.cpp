// SPDX-License-Identifier: Apache-2.0
// Requests and ends: whom a request on a scope reaches, and that shutdowns, scopes, zombies and microtasks come to their end.
//
//   INV-SCOPE-06    300 random trees, one request each, against a model that walks the tree as the rule says
//   INV-LIVE-04, 06, 08, 09, INV-ZOM-07    small programs of everything that could hold an end up, every schedule of few deviations
//
// A run that does not end is INV-LIVE-01 after 20,000 dispatches: that is the bound behind "ends".
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/run/reactor_event.hpp"
#include "heddle/properties/testing/every_schedule.hpp"
#include "heddle/simreactor/prng.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

void await_end(const CoroutineHandle& one) {
    EventSource* const inputs[] = {&one.core()};
    static_cast<void>(await_collect(inputs, {}));
}

// ── INV-SCOPE-06 ──

/// Parents stand before their children.
struct Tree {
    static constexpr std::size_t none = ~std::size_t{0};
    std::vector<std::size_t> parents;
    std::vector<std::size_t> members;  // number of each scope's
    std::size_t asked = 0;             // scope that is asked to end
    std::uint32_t request = 0;
    std::uint64_t yields = 0;  // by main before it asks
};

Tree draw_tree(std::uint64_t seed) {
    sim::Prng prng{seed};
    Tree tree;
    for (std::uint64_t i = prng.between(1, 6); i > 0; --i) {
        const std::size_t count = tree.parents.size();
        tree.parents.push_back(count == 0 || prng.chance({1, 5}) ? Tree::none : prng.below(count));
        tree.members.push_back(prng.below(3));
    }
    tree.asked = prng.below(tree.parents.size());
    tree.request = static_cast<std::uint32_t>(prng.below(3));
    tree.yields = prng.below(3);
    return tree;
}

/// The coroutines that a request reaches, in its order: children first, in creation order, then own members in creation order (SCP-16).
void model_cascade(const Tree& tree, std::size_t scope, const std::vector<std::vector<CoroutineHandle>>& members,
                   std::vector<Label>& order) {
    for (std::size_t i = scope + 1; i < tree.parents.size(); ++i) {
        if (tree.parents[i] == scope) { model_cascade(tree, i, members, order); }
    }
    for (const CoroutineHandle& member : members[scope]) {
        if (!member.is_completed()) { order.push_back(member.label()); }
    }
}

TEST(ScopeRequest, ReachesEachOfItsSubtreeOnceInCascadeOrderAndNobodyElse) {
    std::vector<Label> reached;
    bool listening = false;
    std::uint64_t asked = 0;
    for (std::uint64_t seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
        const Tree tree = draw_tree(seed);
        const auto program = [&] {
            listening = false;
            std::vector<Scope> scopes;
            std::vector<std::vector<CoroutineHandle>> members;
            for (std::size_t i = 0; i < tree.parents.size(); ++i) {
                scopes.push_back(tree.parents[i] == Tree::none ? Scope() : scopes[tree.parents[i]].inherit());
                members.emplace_back();
                for (std::size_t n = 0; n < tree.members[i]; ++n) {
                    members.back().push_back(scopes.back().spawn("member", [long_one = n == 0] {
                        yield();
                        if (long_one) { sleep_for(5ms); }
                    }));
                }
            }
            for (std::uint64_t i = 0; i < tree.yields; ++i) { yield(); }
            std::vector<Label> expected;
            model_cascade(tree, tree.asked, members, expected);
            reached.clear();
            listening = true;
            switch (tree.request) {
                case 0: scopes[tree.asked].cancel(); break;
                case 1: scopes[tree.asked].dispose(); break;
                default: scopes[tree.asked].dispose_safely(); break;
            }
            listening = false;
            HEDDLE_ASSERT(reached == expected, "INV-SCOPE-06");
            asked += expected.size();
        };
        Bounds bounds;
        bounds.deviations = 1;
        bounds.runs_max = 30;
        bounds.whole = false;
        bounds.on_each = [&](const Event& event) {
            if (listening && event.kind == EventKind::cancel_requested) { reached.push_back(event.who); }
        };
        holds_under_every_schedule(program, bounds);
        if (testing::Test::HasFailure()) { ADD_FAILURE() << "seed " << seed; }
    }
    EXPECT_GT(asked, 2'000U);
}

// ── INV-LIVE-01, INV-LIVE-06 ──

TEST(World, CallsARunEndlessByItsDispatches) {
    sim::WorldOptions options;
    options.dispatches_max = 1'000;
    sim::World world(options);
    const sim::Outcome endless = world.run([] {
        auto other = spawn("other", [] {
            for (;;) { yield(); }
        });
        other.await();
    });
    EXPECT_EQ(endless.invariant, "INV-LIVE-01") << endless.message;
    const sim::Outcome long_one = world.run([] {
        auto other = spawn("other", [] {
            for (int i = 0; i < 400; ++i) { yield(); }
        });
        other.await();
    });
    EXPECT_EQ(long_one.kind, trace::OutcomeKind::ok) << long_one.message;
}

/// Somebody who takes his time: each ends within finitely many of his own steps after a cancellation.
void holds_out(std::uint32_t how) {
    switch (how) {
        case 0: {
            const Ref<OneShotEvent> never = new_event("never");
            await_event(never);
            return;
        }
        case 1: protect([] { sleep_for(1h); }); return;
        case 2:
            for (const Duration time : {Duration(1h), Duration(2ms), Duration(1ms)}) {
                quietly([time] { sleep_for(time); });
            }
            return;
        case 3: {
            struct Slow {
                ~Slow() {
                    cleanup([] {
                        yield();
                        sleep_for(1ms);
                    });
                }
            } slow;
            sleep_for(1h);
            return;
        }
        case 4: {
            Scope scope;
            scope.allow_zombies();
            scope.spawn("inner", [] { sleep_for(1h); });
            scope.finally([](ScopeRef) { yield(); });
            yield();
            return;
        }
        default:
            current_coroutine().finally([](const CoroutineHandle&) {
                spawn("late", [] { yield(); });
                sleep_for(1ms);
            });
            for (;;) { yield(); }
    }
}

TEST(Shutdown, EndsWhateverHoldsOut) {
    std::vector<Ref<ReactorEvent>> kept;
    Instant begun;
    const auto program = [&] {
        abandon(kept);
        // Started, counted, and nobody's: they keep a run going until shutdown begins, and not a moment longer (SCH-73).
        kept.push_back(ReactorEvent::timer(the_scheduler(), {.timeout = 1h, .periodic = true}));
        kept.back()->start();
        const std::uint32_t first = sim::choose(6, "first");
        const std::uint32_t second = sim::choose(6, "second");
        spawn("first", [first] { holds_out(first); });
        spawn("second", [second] { holds_out(second); });
        sim::anywhere([] { shutdown(); });
        if (sim::choose(2, "fails, too") == 1) {
            spawn("fails", [] {
                yield();
                throw std::runtime_error("another reason");
            });
        }
        holds_out(0);
    };
    Bounds bounds;
    bounds.deviations = 2;
    bounds.mask =
        sim::ChoiceMask::all().without(ChoiceKind::time);  // an hour passes only where nothing else can happen
    bounds.errors_are_outcomes = true;
    bounds.on_each = [&](const Event& event) {
        if (event.kind == EventKind::shutdown_begun) { begun = event.at; }
    };
    bounds.at_end = [&](const Scheduler& scheduler) {
        HEDDLE_ASSERT(scheduler.reactor().now() - begun < 1h, "INV-LIVE-06");
        kept.clear();
    };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 200U);
}

// ── INV-LIVE-04 ──

TEST(Microtasks, AreAllRunAndTheHeartbeatGoesOn) {
    int added = 0;
    int ran = 0;
    int beats = 0;
    int ticks = 0;
    const std::function<void(int)> add = [&](int more) {
        ++added;
        add_microtask([&, more] {
            ++ran;
            if (more > 0) { add(more - 1); }
        });
    };
    const auto program = [&] {
        added = ran = beats = ticks = 0;
        the_scheduler().runtime().set_heartbeat([&] { ++beats; });
        for (int i = 0; i < 2; ++i) {
            spawn("adds", [&] {
                add(2);
                yield();
                add(static_cast<int>(sim::choose(3, "more")));
                sleep_for(1ms);
                add(0);
            });
        }
        sim::anywhere([&] { add(1); });
    };
    Bounds bounds;
    bounds.deviations = 3;
    bounds.on_each = [&](const Event& event) {
        if (event.kind != EventKind::tick_begin) { return; }
        ++ticks;
        HEDDLE_ASSERT(beats >= ticks, "INV-LIVE-04");  // one before each tick, at least
    };
    bounds.at_end = [&](const Scheduler&) { HEDDLE_ASSERT(ran == added, "INV-LIVE-04"); };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 100U);
}

// ── INV-LIVE-08 ──

TEST(Scope, ThatIsOverEndsItsWaitersAndItself) {
    bool finally_ran = false;
    const auto program = [&] {
        finally_ran = false;
        std::vector<CoroutineHandle> waiters;
        ScopeRef name;
        {
            Scope scope;
            Scope child = scope.inherit();
            name = scope;
            scope.finally([&](ScopeRef) {
                finally_ran = true;
                yield();
            });
            if (sim::choose(2, "safe") == 1) { child.allow_zombies(); }
            scope.spawn("member", [] { sleep_for(1ms); });
            child.spawn("grandchild", [] {
                yield();
                sleep_for(1ms);
            });
            const auto waits = [&](bool to_the_end) {
                waiters.push_back(spawn("waiter", [name, to_the_end] {
                    const Ref<OneShotEvent> never = new_event("never");
                    quietly([&] { to_the_end ? name.await_after_cancellation() : name.await_completion(*never); });
                }));
            };
            waits(false);
            yield();
            switch (sim::choose(4, "end")) {
                case 0: scope.cancel(); break;
                case 1: scope.dispose(); break;
                case 2: scope.dispose_safely(); break;
                default: scope.dispose_after_timeout(1ms); break;
            }
            waits(true);
            if (sim::choose(2, "handle") == 1) { sleep_for(2ms); }
        }
        for (const CoroutineHandle& waiter : waiters) { await_end(waiter); }
        while (!name.core().is_terminated()) {
            yield();
        }  // its finally handlers run; a run that never ends is INV-LIVE-01
    };
    Bounds bounds;
    bounds.deviations = 3;
    bounds.at_end = [&](const Scheduler&) { HEDDLE_ASSERT(finally_ran, "INV-LIVE-08"); };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 200U);
}

// ── INV-LIVE-09, INV-PRT-03, INV-PRT-05 ──

TEST(Protect, GivesWayToWhatItHeldBackAndHidesNoError) {
    int held_back = 0;
    int reported = 0;  // errors that a cleanup withheld
    const auto program = [&] {
        bool cancelled_inside = false;
        bool error_seen = false;
        const bool fails = sim::choose(2, "fails") == 1;
        const bool in_cleanup = sim::choose(2, "in cleanup") == 1;
        auto target = spawn("target", [&] {
            const std::function<void()> body = [&] {
                yield();
                yield();
                cancelled_inside = current_coroutine().core().has_deferred_cancellation();
                if (fails) { throw std::runtime_error("from inside"); }
            };
            struct Guard {
                const std::function<void()>& body;
                ~Guard() { cleanup(body); }  // a destructor: an exception would end the process
            };
            try {
                if (in_cleanup) {
                    const Guard guard{body};
                } else {
                    protect([&] { protect(body); });
                    HEDDLE_ASSERT(!fails, "INV-PRT-03");
                }
            } catch (const std::runtime_error&) {
                HEDDLE_ASSERT(fails && !in_cleanup, "INV-PRT-05");
                error_seen = true;
            } catch (const Cancellation&) {
                HEDDLE_ASSERT(cancelled_inside && !fails, "INV-PRT-03");
                throw;
            }
            HEDDLE_ASSERT(error_seen == (fails && !in_cleanup), "INV-PRT-03");
            if (!cancelled_inside) { return; }
            yield();
            HEDDLE_ASSERT(false, "INV-LIVE-09");  // at the latest there it had to come
        });
        sim::anywhere([target] { target.cancel(); });
        quietly([&] { await_end(target); });  // an error that a cleanup withheld shuts everything down
        held_back += cancelled_inside ? 1 : 0;
        HEDDLE_ASSERT(!cancelled_inside || target.is_cancelled(), "INV-LIVE-09");
    };
    Bounds bounds;
    bounds.deviations = 3;
    bounds.errors_are_outcomes = true;
    bounds.on_each = [&](const Event& event) { reported += event.kind == EventKind::unhandled ? 1 : 0; };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 30U);
    EXPECT_GT(held_back, 5);
    EXPECT_GT(reported, 5);
}

// ── INV-ZOM-07 ──

TEST(Zombies, HoldNoRunUpForLongerThanTwoTimeouts) {
    std::uint64_t expired_twice = 0;
    const auto program = [] {
        Scope scope;
        scope.allow_zombies();
        for (const char* const point : {"first", "second"}) {
            const std::uint32_t how = sim::choose(5, point);
            scope.spawn("zombie", [how] {
                switch (how) {
                    case 0: sleep_for(1h); return;
                    case 1:
                        for (;;) {
                            quietly([] { sleep_for(3s); });
                        }
                    case 2: protect([] { sleep_for(1h); }); return;
                    case 3: sleep_for(1ms); return;
                    default:
                        spawn("child", [] { sleep_for(1h); });
                        await_event(new_event("never"));
                        return;
                }
            });
        }
        yield();
        yield();
        scope.dispose_safely();
    };
    Bounds bounds;
    bounds.deviations = 3;
    bounds.mask = sim::ChoiceMask::all().without(ChoiceKind::time);  // the two timeouts are all that passes
    bounds.on_each = [&](const Event& event) {
        expired_twice += event.kind == EventKind::epilogue_expired && event.a == 2 ? 1 : 0;
    };
    bounds.at_end = [](const Scheduler& scheduler) {
        HEDDLE_ASSERT(scheduler.reactor().now() <= Instant{} + 4'010ms, "INV-ZOM-07");
    };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 200U);
    EXPECT_GT(expired_twice, 50U);
}

}  // namespace
}  // namespace heddle::prop
