// SPDX-License-Identifier: Apache-2.0
// The Reactor contract: what docs/spec/05-reactor.md asks of every backend, as one parameterised test suite.
//
//   backend_test.cpp ── a ReactorHarness ──▶ INSTANTIATE_TEST_SUITE_P(Uv, ReactorContract, Values(…), backend_name)
//                                                │
//        contract/loop, clock_and_timers, poll, outside: they know reactor.hpp and the harness, and nothing else
//
// RC1  A test asks only for what every backend must do. Where the spec leaves a choice (section 8), every alternative
//      passes.
// RC2  A test waits for events, never for a span of time; `pass_time` makes time go by where time itself is the
//      subject.
// RC3  Each test cites its rule. Operations (RCT-40 to RCT-51) get a file of their own beside these when they come.
// Choice points: those of the backend; the harness runs the baseline.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/core/seam/contract/harness.hpp"
#include "heddle/core/seam/reactor.hpp"

namespace heddle::contract {

class ReactorContract : public ::testing::TestWithParam<ReactorBackend> {
protected:
    static constexpr Duration long_time = std::chrono::hours(1);

    void SetUp() override {
        harness = GetParam().make();
        sink = std::make_unique<ContractSink>(harness->reactor());
        harness->reactor().startup(*sink);
    }
    void TearDown() override {
        if (harness == nullptr) { return; }
        sink->in_tick = true;  // close completions come while it shuts down
        harness->reactor().shutdown();
        EXPECT_EQ(reactor().active_events(), 0U);
    }

    Reactor& reactor() { return harness->reactor(); }

    bool tick(TickMode mode) {
        ++sink->ticks;
        sink->in_tick = true;
        const bool alive = reactor().tick(mode);
        sink->in_tick = false;
        EXPECT_EQ(alive, reactor().alive()) << "RCT-4";
        return alive;
    }
    bool poll() { return tick(TickMode::no_wait); }

    /// Ticks, blocking where that is allowed, until it holds. The limit turns an endless spin into a failure.
    void run_until(const std::function<bool()>& holds) {
        for (int round = 0; round < 100'000; ++round) {
            if (holds()) { return; }
            tick(TickMode::may_block);
        }
        FAIL() << "it does not come to pass";
    }
    void run_until_count(const Probe& probe, std::size_t count) {
        run_until([&] { return probe.count() >= count; });
    }

    /// Several whole iterations, each of which polled: what was ready when this was called has been reported.
    void settle() {
        Probe probe;
        const SourceId mark = reactor().open_trigger({.owner = &probe, .hidden = true});
        const TriggerPortPtr port = reactor().trigger_port(mark);
        start(mark);
        for (std::size_t round = 1; round <= 4; ++round) {
            port->fire();
            for (int limit = 0; probe.count() < round && limit < 100'000; ++limit) { poll(); }
            ASSERT_GE(probe.count(), round) << "a fired trigger is delivered (RCT-58)";
        }
        close(mark);
    }

    void start(SourceId source) {
        sink->silent[source] = false;
        const bool nested = std::exchange(sink->in_start, true);
        reactor().start(source);
        sink->in_start = nested;
    }
    void stop(SourceId source) {
        reactor().stop(source);
        sink->silent[source] = true;
    }
    void close(SourceId source) {
        reactor().close(source);
        sink->silent[source] = true;
    }

    SourceId timer(Probe& probe, TimerOptions options, bool hidden = false) {
        return reactor().open_timer(options, {.owner = &probe, .hidden = hidden});
    }
    SourceId started_timer(Probe& probe, TimerOptions options, bool hidden = false) {
        const SourceId id = timer(probe, options, hidden);
        start(id);
        return id;
    }
    SourceId started_proxy(Probe& probe, SourceId poll, PollMask mask) {
        const SourceId id = reactor().open_proxy(poll, mask, {.owner = &probe});
        start(id);
        return id;
    }
    SourceId started_trigger(Probe& probe, bool hidden = false) {
        const SourceId id = reactor().open_trigger({.owner = &probe, .hidden = hidden});
        start(id);
        return id;
    }
    SourceId started_signal(Probe& probe, int number) {
        const SourceId id = reactor().open_signal(number, {.owner = &probe});
        start(id);
        return id;
    }

    std::unique_ptr<ReactorHarness> harness;
    std::unique_ptr<ContractSink> sink;
};

}  // namespace heddle::contract

#include "heddle/core/seam/contract/clock_and_timers.hpp"
#include "heddle/core/seam/contract/loop.hpp"
#include "heddle/core/seam/contract/outside.hpp"
#include "heddle/core/seam/contract/poll.hpp"
