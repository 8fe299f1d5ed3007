// SPDX-License-Identifier: Apache-2.0
// Floors: a bare ring queue over raw Boost.Context jumps with everything inlined and coloured stacks, and raw libuv
// timers.
//
// No states, no checks, no exceptions that survive a switch: what is here is what no runtime on these stacks can do
// without.
#include <benchmark/benchmark.h>
#include <uv.h>

#include <boost/context/detail/fcontext.hpp>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/run/stack_pool.hpp"
#include "heddle/tools/bench/bench.hpp"

namespace heddle::bench {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

class BareRing {
public:
    struct Flow {
        fcontext_t context = nullptr;
        Stack stack;
        bool ended = false;
    };

    explicit BareRing(std::size_t live_max) {
        std::size_t capacity = 2;
        while (capacity < live_max + 1) { capacity *= 2; }
        ring_.resize(capacity);
        flows_.reserve(live_max);
    }

    static BareRing* ambient;

    [[gnu::always_inline]] void yield() {
        push(current_);
        jump_to(pop());
    }

    /// Flows that yield for ever; they are abandoned with their stacks.
    void add_yielders(std::size_t count) {
        for (std::size_t number = 0; number < count; ++number) {
            flows_.push_back({nullptr, pool_.acquire()});
            begin(flows_.back(), [](transfer_t transfer) {
                arrive(transfer);
                for (;;) { ambient->yield(); }
            });
            push(&flows_.back());
        }
    }

    [[gnu::always_inline]] void spawn() {
        if (free_.empty()) { free_.push_back(std::make_unique<Flow>()); }
        Flow* const flow = free_.back().release();
        free_.pop_back();
        flow->stack = pool_.acquire();
        flow->ended = false;
        begin(*flow, [](transfer_t transfer) {
            arrive(transfer);
            benchmark::DoNotOptimize(ambient);  // the program's part
            ambient->current_->ended = true;
            ambient->jump_to(ambient->pop());
        });
        push(flow);
    }

private:
    [[gnu::always_inline]] static void begin(Flow& flow, void (*entry)(transfer_t)) {
        flow.context = make_fcontext(flow.stack.top, flow.stack.usable(), entry);
    }
    [[gnu::always_inline]] void push(Flow* flow) { ring_[tail_++ & (ring_.size() - 1)] = flow; }
    [[gnu::always_inline]] Flow* pop() { return ring_[head_++ & (ring_.size() - 1)]; }
    [[gnu::always_inline]] void jump_to(Flow* next) {
        Flow* const self = current_;
        current_ = next;
        arrive(jump_fcontext(next->context, self));
    }
    [[gnu::always_inline]] static void arrive(transfer_t transfer) {
        Flow* const from = static_cast<Flow*>(transfer.data);
        from->context = transfer.fctx;
        if (from->ended) [[unlikely]] {
            ambient->pool_.release(from->stack);
            ambient->free_.emplace_back(from);
        }
    }

    StackPool pool_;
    Flow main_;
    Flow* current_ = &main_;
    std::vector<Flow*> ring_;
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
    std::vector<Flow> flows_;
    std::vector<std::unique_ptr<Flow>> free_;
};

BareRing* BareRing::ambient = nullptr;

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
