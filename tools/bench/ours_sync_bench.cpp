// SPDX-License-Identifier: Apache-2.0
// Messages and leases through the public API, in production.
#include <benchmark/benchmark.h>

#include <vector>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/channel.hpp"
#include "heddle/core/sync/pool.hpp"
#include "heddle/realreactor/uv_reactor.hpp"
#include "heddle/tools/bench/bench.hpp"

namespace heddle::bench {
namespace {

void measure_messages(benchmark::State& state, std::size_t capacity) {
    Message sum = 0;
    Laps laps(state);
    real::UvReactor reactor;
    Runtime runtime{reactor};
    runtime.run([&] {
        const Channel<Message> channel{{.capacity = capacity}};
        auto receiver = heddle::spawn([&sum, channel] {
            for (const Message value : channel) { sum += value; }
        });
        for (auto lap : state) {
            laps.begin();
            for (std::size_t number = 0; number < messages; ++number) { channel.send(1); }
            laps.end();
        }
        channel.close();
        receiver.await();
    });
    if (sum != messages * static_cast<Message>(state.iterations())) { state.SkipWithError("a message was lost"); }
    laps.report(messages);
}

void measure_pool(benchmark::State& state) {
    std::size_t made = 0;
    Laps laps(state);
    real::UvReactor reactor;
    Runtime runtime{reactor};
    runtime.run([&] {
        const Pool<std::size_t> pool{{.max = 4, .factory = [&made] { return ++made; }}};
        for (auto lap : state) {
            laps.begin();
            for (std::size_t number = 0; number < leases; ++number) {
                Lease<std::size_t> lease = pool.acquire();
                benchmark::DoNotOptimize(*lease);
                lease.release();
            }
            laps.end();
        }
    });
    if (made != 1) { state.SkipWithError("the resource was not reused"); }
    laps.report(leases);
}

/// Cancels those who wait for a lease, in an order that no queue likes best, and lets them leave. Per waiter.
void measure_cancel(benchmark::State& state, std::size_t waiters) {
    Laps laps(state);
    real::UvReactor reactor;
    Runtime runtime{reactor};
    runtime.run([&] {
        const Pool<std::size_t> pool{{.max = 1, .factory = [] { return std::size_t{1}; }}};
        Lease<std::size_t> held = pool.acquire();
        for (auto lap : state) {
            std::vector<Coroutine<>> all;
            all.reserve(waiters);
            for (std::size_t number = 0; number < waiters; ++number) {
                all.push_back(heddle::spawn([&pool] { static_cast<void>(pool.acquire()); }));
            }
            heddle::yield();
            if (pool.waiting_count() != waiters) { state.SkipWithError("somebody does not wait"); }
            laps.begin();
            for (std::size_t number = 0; number < waiters; ++number) { all[number * cancel_stride % waiters].cancel(); }
            heddle::yield();
            laps.end();
            if (pool.waiting_count() != 0) { state.SkipWithError("somebody still waits"); }
        }
        held.release();
    });
    laps.report(waiters);
}

}  // namespace

void register_sync_ours() {
    benchmark::RegisterBenchmark("cancel_10k/floor", measure_cancel, cancelled_few)->Iterations(9);
    benchmark::RegisterBenchmark("cancel_10k/ours", measure_cancel, cancelled_many)->Iterations(5);
    benchmark::RegisterBenchmark("rendezvous/ours", measure_messages, 0)->Iterations(9);
    benchmark::RegisterBenchmark("buffered/ours", measure_messages, channel_capacity)->Iterations(9);
    benchmark::RegisterBenchmark("pool/ours", measure_pool)->Iterations(9);
}

}  // namespace heddle::bench
