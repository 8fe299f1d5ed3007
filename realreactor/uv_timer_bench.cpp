// SPDX-License-Identifier: Apache-2.0
// What a timer costs at the Reactor door, against libuv's own: open, start, fire, deliver, close, 100,000 at a time.
// (What a program pays on top, for an event with callbacks, is measured in tools/bench.)
#include <benchmark/benchmark.h>
#include <uv.h>

#include <vector>

#include "heddle/realreactor/uv.hpp"

namespace heddle::real {
namespace {

constexpr std::size_t timer_count = 100'000;

/// Spread over `spread` milliseconds, in an order that no heap likes best.
std::uint64_t timeout_ms(std::size_t number, std::size_t spread) { return 1 + number * 7'919 % spread; }

class CountingSink final : public ReactorSink {
public:
    void deliver(const Delivery& delivery) noexcept override {
        ++fired;
        delivery.owner->on_delivery(delivery);
    }
    [[nodiscard]] bool has_ready_work() const noexcept override { return false; }
    std::size_t fired = 0;
};

class Owner final : public SourceOwner {
public:
    void on_delivery(const Delivery&) override { ++count; }
    std::size_t count = 0;
};

void reactor_timers(benchmark::State& state) {
    const auto spread = static_cast<std::size_t>(state.range(0));
    UvReactor reactor;
    CountingSink sink;
    std::vector<Owner> owners(timer_count);
    reactor.startup(sink);
    for (auto lap : state) {
        reactor.refresh_clock();
        for (std::size_t number = 0; number < timer_count; ++number) {
            reactor.start(reactor.open_timer({.timeout = std::chrono::milliseconds(timeout_ms(number, spread))},
                                             {.owner = &owners[number]}));
        }
        while (reactor.tick(TickMode::may_block)) {}
    }
    if (sink.fired != timer_count * static_cast<std::size_t>(state.iterations())) {
        state.SkipWithError("a timer did not fire");
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(sink.fired));
    reactor.shutdown();
}

void libuv_timers(benchmark::State& state) {
    const auto spread = static_cast<std::size_t>(state.range(0));
    uv_loop_t loop;
    uv_loop_init(&loop);
    std::vector<uv_timer_t> timers(timer_count);
    std::size_t fired = 0;
    for (auto lap : state) {
        uv_update_time(&loop);
        for (std::size_t number = 0; number < timer_count; ++number) {
            uv_timer_init(&loop, &timers[number]);
            timers[number].data = &fired;
            const auto count_it = [](uv_timer_t* timer) {
                ++*static_cast<std::size_t*>(timer->data);
                uv_close(reinterpret_cast<uv_handle_t*>(timer), nullptr);
            };
            uv_timer_start(&timers[number], count_it, timeout_ms(number, spread), 0);
        }
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(fired));
    uv_loop_close(&loop);
}

// 16 ms: almost all are ties. 1 s: most deadlines pass one by one.
BENCHMARK(libuv_timers)->Arg(16)->Arg(1'000)->Unit(benchmark::kMillisecond);
BENCHMARK(reactor_timers)->Arg(16)->Arg(1'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::real

BENCHMARK_MAIN();
