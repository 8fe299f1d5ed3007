// SPDX-License-Identifier: Apache-2.0
// Floors: a bare ring queue over raw Boost.Context jumps (bare_ring.hpp), and raw libuv timers.
#include <benchmark/benchmark.h>
#include <uv.h>

#include <string>
#include <vector>

#include "heddle/tools/bench/bare_ring.hpp"
#include "heddle/tools/bench/bench.hpp"

namespace heddle::bench {
namespace {

void measure_yield(benchmark::State& state, const YieldWork& work) {
    BareRing ring(work.live);
    BareRing::ambient = &ring;
    ring.add_yielders(work.live - 1);
    ring.yield();  // each flow begins
    Laps laps(state);
    for (auto lap : state) {
        laps.begin();
        for (std::size_t turn = 0; turn < work.turns; ++turn) { ring.yield(); }
        laps.end();
    }
    laps.report(work.turns * work.live);
}

void measure_spawn(benchmark::State& state) {
    BareRing ring(spawn_batch + 1);
    BareRing::ambient = &ring;
    Laps laps(state);
    for (auto lap : state) {
        laps.begin();
        for (std::size_t batch = 0; batch < spawn_batches; ++batch) {
            for (std::size_t number = 0; number < spawn_batch; ++number) { ring.spawn(); }
            ring.yield();
        }
        laps.end();
    }
    laps.report(spawn_batches * spawn_batch);
}

void measure_timers(benchmark::State& state) {
    uv_loop_t loop;
    uv_loop_init(&loop);
    std::vector<uv_timer_t> timers(timer_count);
    std::size_t fired = 0;
    Laps laps(state);
    for (auto lap : state) {
        laps.begin();
        uv_update_time(&loop);
        for (std::size_t number = 0; number < timer_count; ++number) {
            uv_timer_init(&loop, &timers[number]);
            timers[number].data = &fired;
            const auto count_it = [](uv_timer_t* timer) {
                ++*static_cast<std::size_t*>(timer->data);
                uv_close(reinterpret_cast<uv_handle_t*>(timer), nullptr);
            };
            uv_timer_start(&timers[number], count_it, timer_timeout_ms(number), 0);
        }
        uv_run(&loop, UV_RUN_DEFAULT);
        laps.end();
    }
    if (fired != timer_count * static_cast<std::size_t>(state.iterations())) {
        state.SkipWithError("a timer did not fire");
    }
    laps.report(timer_count);
    uv_loop_close(&loop);
}

}  // namespace

void register_floor() {
    for (const YieldWork& work : yield_works) {
        benchmark::RegisterBenchmark((std::string(work.name) + "/floor").c_str(), measure_yield, work)->Iterations(9);
    }
    benchmark::RegisterBenchmark("spawn/floor", measure_spawn)->Iterations(9);
    benchmark::RegisterBenchmark("timer/floor", measure_timers)->Iterations(3);
}

}  // namespace heddle::bench
