// SPDX-License-Identifier: Apache-2.0
// The work of the table through the public API, in production: libuv, no Chooser, no Observer.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/realreactor/uv_reactor.hpp"
#include "heddle/tools/bench/bench.hpp"

namespace heddle::bench {
namespace {

/// Runs `body` as the main coroutine on libuv.
template <class Body>
void in_production(Body body) {
    real::UvReactor reactor;
    Runtime runtime{reactor};
    runtime.run(body);
}

template <std::size_t depth>
void measure_yield(benchmark::State& state, const YieldWork& work) {
    auto yield = [] { heddle::yield(); };
    Laps laps(state);
    bool stop = false;  // outlives main, which ends before the others do
    in_production([&] {
        for (std::size_t number = 1; number < work.live; ++number) {
            heddle::spawn([&] { take_turns<depth>(for_ever, stop, yield); });
        }
        heddle::yield();  // each coroutine begins
        for (auto lap : state) {
            laps.begin();
            take_turns<depth>(work.turns, stop, yield);
            laps.end();
        }
        stop = true;
    });
    laps.report(work.turns * work.live);
}

void measure_spawn(benchmark::State& state) {
    std::size_t finished = 0;
    Laps laps(state);
    in_production([&] {
        for (auto lap : state) {
            laps.begin();
            for (std::size_t batch = 0; batch < spawn_batches; ++batch) {
                for (std::size_t number = 0; number < spawn_batch; ++number) {
                    heddle::spawn([&] { ++finished; });
                }
                heddle::yield();
            }
            laps.end();
        }
    });
    if (finished != spawn_batches * spawn_batch * static_cast<std::size_t>(state.iterations())) {
        state.SkipWithError("a coroutine did not run");
    }
    laps.report(spawn_batches * spawn_batch);
}

void measure_parked(benchmark::State& state) {
    in_production([&] {
        for (auto lap : state) {
            const Ref<OneShotEvent> gate = OneShotEvent::make(current_runtime("benchmark").scheduler(), "gate");
            const std::size_t before = resident_bytes();
            for (std::size_t number = 0; number < parked_count; ++number) {
                heddle::spawn([gate] { heddle::await_event(gate); });
            }
            heddle::yield();
            state.counters["per_op"] =
                static_cast<double>(resident_bytes() - before) / static_cast<double>(parked_count);
            gate->complete();
        }
    });
}

struct CountFires final : EventCallback {
    std::size_t* fired = nullptr;
    void call(EventSource&, const Outcome&) override { ++*fired; }
};

void measure_timers(benchmark::State& state) {
    std::size_t fired = 0;
    Laps laps(state);
    in_production([&] {
        std::vector<Ref<ReactorEvent>> timers(timer_count);
        std::vector<CountFires> callbacks(timer_count);
        Scheduler& scheduler = current_runtime("benchmark").scheduler();
        for (auto lap : state) {
            laps.begin();
            fired = 0;
            scheduler.reactor().refresh_clock();
            for (std::size_t number = 0; number < timer_count; ++number) {
                callbacks[number].fired = &fired;
                callbacks[number].add_reference();
                timers[number] =
                    ReactorEvent::timer(scheduler, {.timeout = std::chrono::milliseconds(timer_timeout_ms(number))});
                timers[number]->subscribe(callbacks[number]);
                timers[number]->start();
            }
            while (fired < timer_count) { heddle::sleep_for(std::chrono::milliseconds(1)); }
            for (std::size_t number = 0; number < timer_count; ++number) {
                timers[number]->unsubscribe(callbacks[number]);
                timers[number].reset();
            }
            laps.end();
        }
    });
    laps.report(timer_count);
}

}  // namespace

void register_ours() {
    benchmark::RegisterBenchmark(has_doors ? "doors/ours" : "doors/without", measure_yield<0>, yield_works[0])->Iterations(9);
    if (!has_doors) { return; }
    for (const YieldWork& work : yield_works) {
        benchmark::RegisterBenchmark((std::string(work.name) + "/ours").c_str(), measure_yield<0>, work)->Iterations(9);
    }
    benchmark::RegisterBenchmark("switch_deep/ours", measure_yield<deep_calls>, yield_works[0])->Iterations(9);
    benchmark::RegisterBenchmark("spawn/ours", measure_spawn)->Iterations(9);
    benchmark::RegisterBenchmark("parked_bytes/ours", measure_parked)->Iterations(1);
    benchmark::RegisterBenchmark("timer/ours", measure_timers)->Iterations(3);
}

}  // namespace heddle::bench
