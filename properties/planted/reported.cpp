// SPDX-License-Identifier: Apache-2.0
// Bugs that were reported in public, in other runtimes: the mutants of the corpus that are about the runtime itself.
#include <memory>
#include <string>
#include <vector>

#include "heddle/properties/planted/builder.hpp"

namespace heddle::prop::planted_bugs {
namespace {

using namespace std::chrono_literals;

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

}  // namespace

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

}  // namespace heddle::prop::planted_bugs
