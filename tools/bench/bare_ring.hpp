// SPDX-License-Identifier: Apache-2.0
// BareRing: the floor that coroutines are measured against, a ring queue over raw Boost.Context jumps, everything inlined,
// on coloured stacks.
//
// No states, no checks, no exceptions that survive a switch: what is here is what no runtime on these stacks can do
// without.
#pragma once

#include <benchmark/benchmark.h>

#include <boost/context/detail/fcontext.hpp>
#include <memory>
#include <vector>

#include "heddle/core/run/stack_pool.hpp"

namespace heddle::bench {

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

    static inline BareRing* ambient = nullptr;

    [[gnu::always_inline]] void yield() {
        push(current_);
        jump_to(pop());
    }

    [[nodiscard]] Flow* current() const { return current_; }
    /// Leaves without a place in the ring: somebody else will wake it.
    [[gnu::always_inline]] void park() { jump_to(pop()); }
    [[gnu::always_inline]] void wake(Flow* flow) { push(flow); }

    /// A flow that runs `entry` for ever; it is abandoned with its stack.
    void add(void (*entry)()) {
        flows_.push_back({nullptr, pool_.acquire()});
        entry_ = entry;
        begin(flows_.back(), [](transfer_t transfer) {
            arrive(transfer);
            ambient->entry_();
        });
        push(&flows_.back());
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
    void (*entry_)() = nullptr;  // of the flow that was added last, and has not begun
};

}  // namespace heddle::bench
