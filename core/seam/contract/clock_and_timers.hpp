// SPDX-License-Identifier: Apache-2.0
// Part of the Reactor contract: clock and timers (docs/spec/05-reactor.md sections 3 and 4).
#pragma once

#include <algorithm>
#include <limits>

#include "heddle/core/seam/reactor_contract.hpp"

namespace heddle::contract {

// ── clock ──

TEST_P(ReactorContract, ClockStandsStillOutsideTicks) {  // RCT-18, INV-RCT-01
    const Instant before = reactor().now();
    harness->pass_time(5ms);
    EXPECT_EQ(reactor().now(), before);
    Probe probe;
    const SourceId other = started_timer(probe, {.timeout = long_time});
    poll();
    EXPECT_GE(reactor().now() - before, 5ms) << "a tick looks at the time";
    close(other);
}

TEST_P(ReactorContract, ClockStandsStillInsideACallback) {  // RCT-18
    Probe probe;
    probe.then = [&](const Seen& seen) {
        harness->pass_time(3ms);
        EXPECT_EQ(reactor().now(), seen.now);
    };
    started_timer(probe, {});
    run_until_count(probe, 1);
}

TEST_P(ReactorContract, RefreshMovesTheClock) {  // RCT-18, RCT-22
    const Instant before = reactor().now();
    harness->pass_time(5ms);
    reactor().refresh_clock();
    EXPECT_GE(reactor().now() - before, 5ms);
}

TEST_P(ReactorContract, ClockNeverGoesBackAndCountsInItsResolution) {  // RCT-18, RCT-19
    ASSERT_GT(reactor().resolution(), 0ns);
    Probe probe;
    started_timer(probe, {.timeout = 1ms, .periodic = true});
    run_until_count(probe, 20);
    Instant last;
    for (const Seen& seen : sink->log) {
        EXPECT_GE(seen.now, last);
        EXPECT_EQ(seen.now.ns() % reactor().resolution().count(), 0);
        last = seen.now;
    }
    EXPECT_GE(reactor().now(), last);
}

TEST_P(ReactorContract, DeadlineCountsFromTheCachedClock) {  // RCT-20, RCT-23
    Probe probe;
    harness->pass_time(20ms);
    started_timer(probe, {.timeout = 10ms});
    poll();
    EXPECT_EQ(probe.count(), 1U) << "the cache was 20 ms old, so that 10 ms are over already";
}

TEST_P(ReactorContract, RefreshingTimerIsNotShortenedByTimeAlreadyBurnt) {  // RCT-22, INV-RCT-12
    Probe probe;
    const Instant before = reactor().now();
    harness->pass_time(20ms);
    started_timer(probe, {.timeout = 10ms, .refresh = true});
    EXPECT_GE(reactor().now() - before, 20ms);
    run_until_count(probe, 1);
    EXPECT_GE(probe.seen[0].now - before, 30ms);
}

TEST_P(ReactorContract, TimerNeverFiresBeforeItsDeadline) {  // RCT-21, INV-RCT-02
    std::vector<Probe> probes(20);
    std::vector<Instant> deadlines;
    for (std::size_t at = 0; at < probes.size(); ++at) {
        const Duration timeout = std::chrono::microseconds(static_cast<std::int64_t>(at) * 617);
        deadlines.push_back(reactor().now() + timeout);
        started_timer(probes[at], {.timeout = timeout});
    }
    run_until([&] { return !reactor().alive(); });
    for (std::size_t at = 0; at < probes.size(); ++at) {
        ASSERT_EQ(probes[at].count(), 1U);
        EXPECT_GE(probes[at].seen[0].now, deadlines[at]);
    }
}

TEST_P(ReactorContract, TimeoutsRoundUpToTheResolution) {  // RCT-24
    Probe probe;
    const Instant before = reactor().now();
    started_timer(probe, {.timeout = 1ns});
    run_until_count(probe, 1);
    EXPECT_GE(probe.seen[0].now - before, reactor().resolution());
}

TEST_P(ReactorContract, TimeoutsThatRoundToTheSameFireInStartOrder) {  // RCT-24, RCT-31
    Probe first;
    Probe second;
    ASSERT_EQ(reactor().resolution(), 1ms);
    started_timer(first, {.timeout = 1900us});
    started_timer(second, {.timeout = 1100us});
    harness->pass_time(5ms);
    run_until([&] { return !reactor().alive(); });
    EXPECT_LT(first.seen[0].value, second.seen[0].value);
    EXPECT_EQ(sink->log[0].value, first.seen[0].value);
}

TEST_P(ReactorContract, TimeoutOfNothingStaysNothing) {  // RCT-24, RCT-29
    Probe probe;
    started_timer(probe, {.timeout = 0ns});
    poll();
    EXPECT_EQ(probe.count(), 1U) << "it fires in the next pass, without waiting";
}

TEST_P(ReactorContract, TimeoutTooLongToCountSaturates) {  // RCT-24
    Probe never;
    Probe soon;
    started_timer(never, {.timeout = Duration::max()});
    started_timer(never, {.timeout = Duration::max() - 1ns});
    started_timer(never, {.timeout = std::chrono::hours(24) * 365 * 250});
    started_timer(soon, {.timeout = 1ms});
    run_until_count(soon, 1);
    EXPECT_EQ(never.count(), 0U);
    EXPECT_EQ(reactor().active_events(), 3U);
}

// ── timers ──

TEST_P(ReactorContract, TimerBringsItsOwnerLabelAndStartId) {
    Probe probe;
    const SourceId id = reactor().open_timer({}, {.owner = &probe, .label = Label{4711}});
    start(id);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].source, id);
    EXPECT_EQ(probe.seen[0].kind, SourceKind::timer);
    EXPECT_EQ(probe.seen[0].label, Label{4711});
    EXPECT_EQ(probe.seen[0].error, 0);
    EXPECT_GT(probe.seen[0].value, 0);
}

TEST_P(ReactorContract, OneShotTimerIsClosedBeforeItsCallback) {  // RCT-26, EVT-12
    Probe probe;
    SourceId id;
    probe.then = [&](const Seen& seen) {
        EXPECT_EQ(seen.active, 0U);
        start(id);  // means nothing: it is closed
        EXPECT_EQ(reactor().active_events(), 0U);
    };
    id = started_timer(probe, {});
    run_until_count(probe, 1);
    settle();
    EXPECT_EQ(probe.count(), 1U);
}

TEST_P(ReactorContract, PeriodicTimerIsArmedAgainBeforeItsCallback) {  // RCT-27
    Probe probe;
    started_timer(probe, {.timeout = 2ms, .periodic = true});
    run_until_count(probe, 5);
    for (std::size_t at = 0; at < probe.count(); ++at) {
        EXPECT_EQ(probe.seen[at].active, 1U);
        if (at == 0) { continue; }
        EXPECT_GE(probe.seen[at].now - probe.seen[at - 1].now, 2ms);
        EXPECT_GT(probe.seen[at].value, probe.seen[at - 1].value) << "each arming takes a new start id (RCT-31)";
    }
}

TEST_P(ReactorContract, PeriodicTimerDoesNotReplayWhatItMissed) {  // RCT-27
    Probe probe;
    started_timer(probe, {.timeout = 2ms, .periodic = true});
    harness->pass_time(20ms);
    poll();
    EXPECT_EQ(probe.count(), 1U);
    run_until_count(probe, 3);
    for (std::size_t at = 1; at < probe.count(); ++at) { EXPECT_GE(probe.seen[at].now - probe.seen[at - 1].now, 2ms); }
}

TEST_P(ReactorContract, PeriodicTimerWithoutPeriodFiresOncePerPass) {  // RCT-27, RCT-30
    Probe probe;
    started_timer(probe, {.timeout = 0ms, .periodic = true});
    for (std::uint64_t round = 1; round <= 5; ++round) {
        poll();
        EXPECT_EQ(probe.count(), round);
    }
}

TEST_P(ReactorContract, PeriodicTimerEndsWhenItsCallbackStopsIt) {  // RCT-10, RCT-27
    Probe probe;
    SourceId id;
    probe.then = [&](const Seen&) {
        if (probe.count() == 3) { stop(id); }
    };
    id = started_timer(probe, {.timeout = 0ms, .periodic = true});
    run_until([&] { return !reactor().alive(); });
    settle();
    EXPECT_EQ(probe.count(), 3U);
}

TEST_P(ReactorContract, MultishotTimerStaysOpenAndIsArmedAgainByHand) {  // RCT-28
    Probe probe;
    const SourceId id = started_timer(probe, {.timeout = 0ms, .multishot = true});
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].active, 0U) << "it stopped when it fired";
    settle();
    EXPECT_EQ(probe.count(), 1U);
    const Instant before = reactor().now();
    reactor().rearm(id, 3ms);
    EXPECT_EQ(reactor().active_events(), 1U);
    run_until_count(probe, 2);
    EXPECT_GE(probe.seen[1].now - before, 3ms);
    close(id);
    EXPECT_THROW(reactor().rearm(id, 1ms), AsyncError);
}

TEST_P(ReactorContract, MultishotTimerIsArmedAgainFromItsOwnCallback) {  // RCT-28, RCT-30
    Probe probe;
    SourceId id;
    probe.then = [&](const Seen&) {
        if (probe.count() < 3) { reactor().rearm(id, 0ms); }
    };
    id = started_timer(probe, {.timeout = 0ms, .multishot = true});
    run_until([&] { return !reactor().alive(); });
    ASSERT_EQ(probe.count(), 3U);
    EXPECT_LT(probe.seen[0].tick, probe.seen[1].tick) << "in the next pass, never in the same one";
    EXPECT_LT(probe.seen[1].tick, probe.seen[2].tick);
}

TEST_P(ReactorContract, RearmMovesADeadlineThatHasNotPassed) {  // RCT-28
    Probe probe;
    Probe soon;
    const SourceId id = started_timer(probe, {.timeout = 1ms, .multishot = true});
    reactor().rearm(id, long_time);
    EXPECT_EQ(reactor().active_events(), 1U) << "it counts once";
    started_timer(soon, {.timeout = 5ms});
    run_until_count(soon, 1);
    EXPECT_EQ(probe.count(), 0U);
    reactor().rearm(id, 1ms);
    run_until_count(probe, 1);
}

TEST_P(ReactorContract, OnlyMultishotTimersAreArmedAgain) {  // RCT-28
    Probe probe;
    EXPECT_THROW(reactor().rearm(started_timer(probe, {.timeout = long_time}), 1ms), AsyncError);
    EXPECT_THROW(reactor().rearm(started_timer(probe, {.timeout = long_time, .periodic = true}), 1ms), AsyncError);
    EXPECT_THROW(reactor().rearm(started_trigger(probe), 1ms), AsyncError);
    EXPECT_THROW(reactor().rearm(SourceId{}, 1ms), AsyncError);
    EXPECT_EQ(reactor().active_events(), 3U);
}

TEST_P(ReactorContract, StoppedTimerStartsAnewWithItsWholeTimeout) {  // RCT-20
    Probe probe;
    const SourceId id = started_timer(probe, {.timeout = 10ms});
    harness->pass_time(20ms);
    stop(id);
    reactor().refresh_clock();
    const Instant again = reactor().now();
    start(id);
    run_until_count(probe, 1);
    EXPECT_GE(probe.seen[0].now - again, 10ms);
}

TEST_P(ReactorContract, TimersArmedDuringAPassWaitForTheNext) {  // RCT-30, INV-RCT-03
    Probe first;
    Probe second;
    first.then = [&](const Seen&) { started_timer(second, {}); };
    started_timer(first, {});
    run_until_count(second, 1);
    EXPECT_GT(second.seen[0].tick, first.seen[0].tick);
}

TEST_P(ReactorContract, TimerPassHoldsAlthoughACallbackRefreshesTheClock) {  // RCT-30, RCT-22
    Probe first;
    Probe second;
    Probe third;
    started_timer(first, {.timeout = 1ms});
    started_timer(third, {.timeout = 60ms});
    const Instant third_deadline = reactor().now() + 60ms;
    first.then = [&](const Seen&) {
        started_timer(second, {.timeout = 0ms});
        harness->pass_time(100ms);
        reactor().refresh_clock();
    };
    run_until([&] { return !reactor().alive(); });
    EXPECT_GT(second.seen[0].tick, first.seen[0].tick);
    if (first.seen[0].now < third_deadline) {  // else the machine stood still for so long that both were due
        EXPECT_GT(third.seen[0].tick, first.seen[0].tick) << "it was not due when the pass began";
    }
}

TEST_P(ReactorContract, DueTimerThatAnEarlierOneStoppedDoesNotFire) {  // RCT-30, RCT-11
    for (const bool by_close : {false, true}) {
        Probe first;
        Probe second;
        SourceId other;
        first.then = [&](const Seen&) { by_close ? close(other) : stop(other); };
        started_timer(first, {.timeout = 1ms});
        other = started_timer(second, {.timeout = 1ms});
        harness->pass_time(5ms);
        run_until([&] { return !reactor().alive(); });
        settle();
        EXPECT_EQ(first.count(), 1U);
        EXPECT_EQ(second.count(), 0U);
    }
}

TEST_P(ReactorContract, DueTimerThatWasStoppedAndStartedInThePassWaitsForTheNext) {  // RCT-30, RCT-31
    Probe first;
    Probe second;
    SourceId other;
    first.then = [&](const Seen&) {
        reactor().stop(other);
        start(other);
    };
    started_timer(first, {});
    other = started_timer(second, {});
    run_until_count(second, 1);
    EXPECT_GT(second.seen[0].tick, first.seen[0].tick);
}

TEST_P(ReactorContract, TimersOfAPassFireByDeadlineThenStart) {  // RCT-31, RCT-66
    // Deadlines repeat, so that ties are common; some are stopped and started again, which sends them behind their
    // ties.
    constexpr std::size_t count = 200;
    std::vector<Probe> probes(count);
    struct Armed {
        Instant deadline;
        std::size_t order = 0;
        SourceId id;
    };
    std::vector<Armed> armed;
    std::vector<SourceId> ids;
    std::uint32_t state = 12345;
    const auto next = [&state](std::uint32_t below) {
        state = state * 1664525U + 1013904223U;
        return (state >> 8) % below;
    };
    std::size_t order = 0;
    for (std::size_t at = 0; at < count; ++at) {
        const Duration timeout = std::chrono::milliseconds(next(10));
        ids.push_back(started_timer(probes[at], {.timeout = timeout}));
        armed.push_back({reactor().now() + timeout, order++, ids[at]});
    }
    for (std::size_t at = 0; at < count; ++at) {
        if (next(4) == 0) {
            reactor().stop(ids[at]);
            start(ids[at]);
            armed[at].order = order++;
        } else if (next(8) == 0) {
            close(ids[at]);
            armed[at].id = {};
        }
    }
    std::erase_if(armed, [](const Armed& one) { return !one.id; });
    std::stable_sort(armed.begin(), armed.end(), [](const Armed& a, const Armed& b) {
        return a.deadline != b.deadline ? a.deadline < b.deadline : a.order < b.order;
    });
    harness->pass_time(15ms);
    poll();
    ASSERT_EQ(sink->log.size(), armed.size()) << "all are due in one pass";
    for (std::size_t at = 0; at < armed.size(); ++at) { EXPECT_EQ(sink->log[at].source, armed[at].id) << "at " << at; }
}

}  // namespace heddle::contract
