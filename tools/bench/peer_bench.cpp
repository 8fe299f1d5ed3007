// SPDX-License-Identifier: Apache-2.0
// The same work on Boost.Fiber, as its manual would have it written: round-robin scheduler, 64 KiB stacks, pooled ones
// for spawning.
#include <benchmark/benchmark.h>

#include <boost/fiber/all.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "heddle/tools/bench/bench.hpp"

namespace heddle::bench {
namespace {

namespace fibers = boost::fibers;

constexpr std::size_t stack_size = std::size_t{64} * 1024;

constexpr auto yield = [] { boost::this_fiber::yield(); };

/// Fibers that yield until they are told to stop, `depth` calls deep.
class Yielders {
public:
    template <std::size_t depth>
    void start(std::size_t count) {
        for (std::size_t number = 0; number < count; ++number) {
            fibers_.emplace_back(std::allocator_arg, boost::context::fixedsize_stack(stack_size),
                                 [this] { take_turns<depth>(for_ever, stop_, yield); });
        }
        boost::this_fiber::yield();
    }
    ~Yielders() {
        stop_ = true;
        for (fibers::fiber& fiber : fibers_) { fiber.join(); }
    }

private:
    bool stop_ = false;
    std::vector<fibers::fiber> fibers_;
};

template <std::size_t depth>
void measure_yield(benchmark::State& state, const YieldWork& work) {
    Yielders others;
    others.start<depth>(work.live - 1);
    const bool stop = false;
    Laps laps(state);
    for (auto lap : state) {
        laps.begin();
        take_turns<depth>(work.turns, stop, yield);
        laps.end();
    }
    laps.report(work.turns * work.live);
}

void measure_spawn(benchmark::State& state) {
    boost::context::pooled_fixedsize_stack stacks(stack_size);
    std::size_t finished = 0;
    Laps laps(state);
    for (auto lap : state) {
        laps.begin();
        for (std::size_t batch = 0; batch < spawn_batches; ++batch) {
            for (std::size_t number = 0; number < spawn_batch; ++number) {
                fibers::fiber(std::allocator_arg, stacks, [&] { ++finished; }).detach();
            }
            boost::this_fiber::yield();
        }
        laps.end();
    }
    laps.report(spawn_batches * spawn_batch);
}

void measure_parked(benchmark::State& state) {
    std::vector<fibers::fiber> parked;
    parked.reserve(parked_count);
    fibers::mutex mutex;
    fibers::condition_variable gate;
    bool open = false;
    for (auto lap : state) {
        const std::size_t before = resident_bytes();
        for (std::size_t number = 0; number < parked_count; ++number) {
            parked.emplace_back(std::allocator_arg, boost::context::fixedsize_stack(stack_size), [&] {
                std::unique_lock lock(mutex);
                gate.wait(lock, [&] { return open; });
            });
        }
        boost::this_fiber::yield();
        state.counters["per_op"] = static_cast<double>(resident_bytes() - before) / static_cast<double>(parked_count);
        {
            const std::unique_lock lock(mutex);
            open = true;
        }
        gate.notify_all();
        for (fibers::fiber& fiber : parked) { fiber.join(); }
    }
}

// Boost.Fiber has no timers of its own: what it offers is a fiber that sleeps.
void measure_timers(benchmark::State& state) {
    std::vector<fibers::fiber> sleepers;
    std::size_t rounds_wanted = 0;
    std::size_t sleeping = 0;
    bool stop = false;
    fibers::mutex mutex;
    fibers::condition_variable round_begins;
    fibers::condition_variable round_ends;
    for (std::size_t number = 0; number < timer_count; ++number) {
        sleepers.emplace_back(std::allocator_arg, boost::context::fixedsize_stack(stack_size), [&, number] {
            for (std::size_t round = 1;; ++round) {
                {
                    std::unique_lock lock(mutex);
                    round_begins.wait(lock, [&] { return stop || rounds_wanted >= round; });
                }
                if (stop) { return; }
                boost::this_fiber::sleep_for(std::chrono::milliseconds(timer_timeout_ms(number)));
                if (--sleeping == 0) { round_ends.notify_one(); }
            }
        });
    }
    boost::this_fiber::yield();
    Laps laps(state);
    for (auto lap : state) {
        laps.begin();
        std::unique_lock lock(mutex);
        sleeping = timer_count;
        ++rounds_wanted;
        round_begins.notify_all();
        round_ends.wait(lock, [&] { return sleeping == 0; });
        laps.end();
    }
    stop = true;
    round_begins.notify_all();
    for (fibers::fiber& fiber : sleepers) { fiber.join(); }
    laps.report(timer_count);
}

template <class Channel>
void exchange_messages(benchmark::State& state, Channel& channel) {
    Message sum = 0;
    fibers::fiber receiver(std::allocator_arg, boost::context::fixedsize_stack(stack_size), [&] {
        Message value = 0;
        while (channel.pop(value) == fibers::channel_op_status::success) { sum += value; }
    });
    Laps laps(state);
    for (auto lap : state) {
        laps.begin();
        for (std::size_t number = 0; number < messages; ++number) { channel.push(1); }
        laps.end();
    }
    channel.close();
    receiver.join();
    if (sum != messages * static_cast<Message>(state.iterations())) { state.SkipWithError("a message was lost"); }
    laps.report(messages);
}

void measure_rendezvous(benchmark::State& state) {
    fibers::unbuffered_channel<Message> channel;
    exchange_messages(state, channel);
}

void measure_buffered(benchmark::State& state) {
    fibers::buffered_channel<Message> channel(channel_capacity);
    exchange_messages(state, channel);
}

}  // namespace

void register_peer() {
    for (const YieldWork& work : yield_works) {
        benchmark::RegisterBenchmark((std::string(work.name) + "/peer").c_str(), measure_yield<0>, work)->Iterations(9);
    }
    benchmark::RegisterBenchmark("switch_deep/peer", measure_yield<deep_calls>, yield_works[0])->Iterations(9);
    benchmark::RegisterBenchmark("spawn/peer", measure_spawn)->Iterations(9);
    benchmark::RegisterBenchmark("parked_bytes/peer", measure_parked)->Iterations(1);
    benchmark::RegisterBenchmark("rendezvous/peer", measure_rendezvous)->Iterations(9);
    benchmark::RegisterBenchmark("buffered/peer", measure_buffered)->Iterations(9);
    benchmark::RegisterBenchmark("timer/peer", measure_timers)->Iterations(3);
}

}  // namespace heddle::bench
