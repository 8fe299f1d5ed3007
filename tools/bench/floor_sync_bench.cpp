// SPDX-License-Identifier: Apache-2.0
// Floors of messages: two flows on a bare ring that hand numbers over. They stop when nobody can do otherwise, and nothing else is
// looked at.
#include <benchmark/benchmark.h>

#include <array>
#include <utility>

#include "heddle/tools/bench/bare_ring.hpp"
#include "heddle/tools/bench/bench.hpp"

namespace heddle::bench {
namespace {

/// One flow that waits, or none.
class Waiting {
public:
    [[gnu::always_inline]] void wait() {
        flow_ = BareRing::ambient->current();
        BareRing::ambient->park();
    }
    [[gnu::always_inline]] void wake() {
        if (BareRing::Flow* const flow = std::exchange(flow_, nullptr); flow != nullptr) { BareRing::ambient->wake(flow); }
    }

private:
    BareRing::Flow* flow_ = nullptr;
};

/// A message is out of its sender's hands when it is taken.
class BareSlot {
public:
    [[gnu::always_inline]] void send(Message value) {
        value_ = value;
        full_ = true;
        receiver_.wake();
        sender_.wait();
    }
    [[gnu::always_inline]] Message receive() {
        if (!full_) { receiver_.wait(); }
        full_ = false;
        sender_.wake();
        return value_;
    }

private:
    Message value_ = 0;
    bool full_ = false;
    Waiting sender_;
    Waiting receiver_;
};

class BareBuffer {
public:
    [[gnu::always_inline]] void send(Message value) {
        while (tail_ - head_ == channel_capacity) { sender_.wait(); }
        values_[tail_++ % channel_capacity] = value;
        receiver_.wake();
    }
    [[gnu::always_inline]] Message receive() {
        while (tail_ == head_) { receiver_.wait(); }
        const Message value = values_[head_++ % channel_capacity];
        sender_.wake();
        return value;
    }

private:
    std::array<Message, channel_capacity> values_{};
    std::size_t head_ = 0;
    std::size_t tail_ = 0;
    Waiting sender_;
    Waiting receiver_;
};

template <class Channel>
struct Exchange {
    static inline Channel* channel = nullptr;
    static inline Message sum = 0;
};

template <class Channel>
void measure_messages(benchmark::State& state) {
    using Shared = Exchange<Channel>;
    BareRing ring(2);
    BareRing::ambient = &ring;
    Channel channel;
    Shared::channel = &channel;
    Shared::sum = 0;
    ring.add([] {
        for (;;) { Shared::sum += Shared::channel->receive(); }
    });
    Laps laps(state);
    for (auto lap : state) {
        laps.begin();
        for (std::size_t number = 0; number < messages; ++number) { channel.send(1); }
        laps.end();
    }
    benchmark::DoNotOptimize(Shared::sum);
    laps.report(messages);
}

}  // namespace

void register_sync_floor() {
    benchmark::RegisterBenchmark("rendezvous/floor", measure_messages<BareSlot>)->Iterations(9);
    benchmark::RegisterBenchmark("buffered/floor", measure_messages<BareBuffer>)->Iterations(9);
}

}  // namespace heddle::bench
