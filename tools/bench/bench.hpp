// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share: how a measurement is named, and how "per operation" is counted.
//
//   work/floor   the least that the machine allows: raw Boost.Context, raw libuv
//   work/ours    the same work through the public API
//   work/peer    the same work on Boost.Fiber
//   work/without the same work on a core compiled without its doors (a program of its own)
//
// Invariant: each measurement sets one counter, `per_op`, which bench_table reads: CPU seconds per operation, or bytes,
// or a rate. Chance enters through the machine; medians of laps keep it small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace benchmark {
class State;
}

namespace heddle::bench {

/// The coroutines that are alive while main yields; each lap lets all of them run `turns` times.
struct YieldWork {
    const char* name;
    std::size_t live;
    std::size_t turns;
};
constexpr YieldWork yield_works[] = {{"switch", 2, 100'000}, {"yield_1k", 1'000, 200}, {"yield_100k", 100'000, 1}};
constexpr std::size_t spawn_batch = 100;
constexpr std::size_t spawn_batches = 100;
constexpr std::size_t deep_calls = 4;
constexpr std::size_t parked_count = 100'000;
constexpr std::size_t timer_count = 100'000;

using Message = std::uint64_t;
constexpr std::size_t messages = 100'000;  ///< per lap, from one coroutine to another
constexpr std::size_t channel_capacity = 64;
constexpr std::size_t leases = 100'000;
constexpr std::size_t cancelled_few = 100;
constexpr std::size_t cancelled_many = 10'000;
constexpr std::size_t cancel_stride = 7'919;  ///< a prime: each waiter has its turn once

/// Timeouts of the timer work: spread over 16 ms, in an order that no heap likes best. @param number  0 ≤ number <
/// timer_count
constexpr std::uint64_t timer_timeout_ms(std::size_t number) { return 1 + number * 7'919 % 16; }

/// Times the laps of one measurement. Setting 100,000 coroutines up takes far longer than measuring them, so the
/// repetitions are laps inside one set-up, and the median is taken here.
class Laps {
public:
    explicit Laps(benchmark::State& state) : state_(state) {}
    void begin();
    void end();
    /// Sets `per_op` to the median lap's CPU time per operation: other work on the machine then costs caches only.
    void report(std::size_t operations_per_lap);

private:
    benchmark::State& state_;
    double began_ = 0;
    std::vector<double> seconds_;
};

/// CPU time of this thread.
double cpu_seconds();

/// Resident bytes of this process now.
std::size_t resident_bytes();

// Neither inlined nor cloned for one caller, so that every row calls the same code.
#if defined(__clang__)
#define HEDDLE_BENCH_OPAQUE [[gnu::noinline]]
#else
#define HEDDLE_BENCH_OPAQUE [[gnu::noipa]]
#endif

/// Calls `inner` from `deep_calls` nested frames that are not inlined.
template <std::size_t depth, class Inner>
HEDDLE_BENCH_OPAQUE void call_deep(const Inner& inner) {
    if constexpr (depth == 0) {
        inner();
    } else {
        call_deep<depth - 1>(inner);
        asm volatile("" ::: "memory");  // the call above must not become a jump
    }
}

/// Yields `turns` times, `depth` calls deep, or until `stop`. Main and the others yield from this one place, as coroutines of
/// one kind do: what a processor learns about one of them holds for the next.
template <std::size_t depth, class Yield>
HEDDLE_BENCH_OPAQUE void take_turns(std::size_t turns, const bool& stop, Yield yield) {
    for (; turns != 0 && !stop; --turns) { call_deep<depth>(yield); }
}
constexpr std::size_t for_ever = ~std::size_t{0};

void register_floor();
void register_sync_floor();
void register_ours();
void register_sync_ours();
void register_simulation();
void register_echo();
void register_peer();  // absent where Boost.Fiber is

}  // namespace heddle::bench
