// SPDX-License-Identifier: Apache-2.0
// Part of the Reactor contract: life, ticks, what counts, closing (docs/spec/05-reactor.md sections 1 and 2).
#pragma once

#include "heddle/core/seam/reactor_contract.hpp"

namespace heddle::contract {

// ── life ──

TEST_P(ReactorContract, StartsUpAndShutsDownIdempotently) {  // RCT-2
    EXPECT_TRUE(reactor().is_up());
    reactor().startup(*sink);
    reactor().shutdown();
    EXPECT_FALSE(reactor().is_up());
    reactor().shutdown();

    reactor().startup(*sink);
    Probe probe;
    started_timer(probe, {.timeout = 1ms});
    run_until_count(probe, 1);
    EXPECT_EQ(probe.count(), 1U);
}

TEST_P(ReactorContract, ShutdownEndsWhateverIsOpen) {  // RCT-2
    Probe probe;
    const int kept = harness->open_descriptor(true);
    const int given = harness->open_descriptor(true);
    started_timer(probe, {.timeout = 0ms});
    started_timer(probe, {.timeout = 1ms, .periodic = true}, true);
    const SourceId trigger = started_trigger(probe);
    const TriggerPortPtr port = reactor().trigger_port(trigger);
    port->fire();
    started_proxy(probe, reactor().open_poll(kept, false, {}), PollBits::readable);
    started_proxy(probe, reactor().open_poll(given, true, {}), PollBits::readable);
    harness->make_readable(given);
    started_signal(probe, harness->test_signal(0));
    harness->hold_workers();
    bool ran = false;
    reactor().submit_task([&ran] { ran = true; }, {.owner = &probe});
    EXPECT_EQ(reactor().active_events(), 6U);

    harness->release_workers();
    sink->in_tick = true;
    reactor().shutdown();
    sink->in_tick = false;
    EXPECT_EQ(probe.count(), 0U) << "a source that shutdown closed hears nothing";
    EXPECT_EQ(reactor().active_events(), 0U);
    EXPECT_FALSE(harness->is_open(given)) << "RCT-38";
    EXPECT_TRUE(harness->is_open(kept));
    port->fire();  // RCT-58: a no-op
}

TEST_P(ReactorContract, ShutsDownWithClosesPending) {  // RCT-2, INV-RCT-13
    Probe probe;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, true, {});
    close(started_proxy(probe, poll_id, PollBits::readable));
    close(poll_id);
    sink->in_tick = true;
    reactor().shutdown();
    sink->in_tick = false;
    EXPECT_FALSE(harness->is_open(fd));
}

// ── ticks ──

TEST_P(ReactorContract, RefusesATickInsideATick) {  // RCT-3
    Probe probe;
    bool refused = false;
    probe.then = [&](const Seen&) {
        try {
            reactor().tick(TickMode::no_wait);
        } catch (const AsyncError&) { refused = true; }
    };
    started_timer(probe, {});
    run_until_count(probe, 1);
    EXPECT_TRUE(refused);

    Probe after;  // and the reactor is none the worse for it
    started_timer(after, {});
    run_until_count(after, 1);
}

TEST_P(ReactorContract, TickWithNothingOpenReturnsFalseAtOnce) {  // RCT-4, RCT-5
    EXPECT_FALSE(tick(TickMode::may_block));
    EXPECT_FALSE(tick(TickMode::no_wait));
    EXPECT_TRUE(sink->log.empty());
}

TEST_P(ReactorContract, TickTellsWhetherCountedEventsAreLeft) {  // RCT-4, RCT-7
    Probe probe;
    started_timer(probe, {.timeout = 0ms});
    const SourceId other = started_timer(probe, {.timeout = long_time});
    run_until_count(probe, 1);
    EXPECT_TRUE(poll());
    stop(other);
    EXPECT_FALSE(poll()) << "a stopped source is no reason to go on";
    EXPECT_FALSE(reactor().alive());
}

TEST_P(ReactorContract, TickPollsAlthoughNothingCounts) {  // RCT-4, RCT-14
    Probe probe;
    const SourceId trigger = started_trigger(probe, true);
    EXPECT_FALSE(reactor().alive());
    reactor().trigger_port(trigger)->fire();
    for (int round = 0; round < 1000 && probe.count() == 0; ++round) { EXPECT_FALSE(tick(TickMode::may_block)); }
    EXPECT_EQ(probe.count(), 1U);
}

TEST_P(ReactorContract, BlockingTickDoesNotWaitForWhatIsHidden) {  // RCT-5, RCT-14
    Probe probe;
    const Instant begin = reactor().now();
    started_timer(probe, {.timeout = long_time}, true);
    for (int round = 0; round < 10; ++round) { EXPECT_FALSE(tick(TickMode::may_block)); }
    EXPECT_EQ(probe.count(), 0U);
    EXPECT_LT(reactor().now() - begin, long_time);
}

TEST_P(ReactorContract, BlockingTickDoesNotWaitForWhatIsNotStarted) {  // RCT-5, RCT-12, RCT-16
    Probe probe;
    const Instant begin = reactor().now();
    timer(probe, {.timeout = long_time});
    reactor().open_trigger({.owner = &probe});
    for (int round = 0; round < 10; ++round) { EXPECT_FALSE(tick(TickMode::may_block)); }
    EXPECT_LT(reactor().now() - begin, long_time);
}

TEST_P(ReactorContract, BlockingTickWaitsUntilTheNearestDeadline) {  // RCT-5
    Probe near;
    Probe far;
    started_timer(far, {.timeout = long_time});
    started_timer(near, {.timeout = 5ms});
    const std::uint64_t first = sink->ticks;
    run_until_count(near, 1);
    EXPECT_LT(sink->ticks - first, 1000U) << "it waits instead of spinning";
    EXPECT_EQ(far.count(), 0U);
}

TEST_P(ReactorContract, HiddenDeadlineBoundsAWaitThatSomethingElseKeepsUp) {  // RCT-14
    Probe hidden;
    Probe visible;
    started_trigger(visible);
    started_timer(hidden, {.timeout = 2ms}, true);
    run_until_count(hidden, 1);
    EXPECT_EQ(visible.count(), 0U);
}

TEST_P(ReactorContract, ReadyWorkKeepsATickFromBlocking) {  // RCT-5
    Probe probe;
    const Instant begin = reactor().now();
    started_timer(probe, {.timeout = long_time});
    sink->ready_work = true;
    for (int round = 0; round < 10; ++round) { EXPECT_TRUE(tick(TickMode::may_block)); }
    EXPECT_LT(reactor().now() - begin, long_time);
}

TEST_P(ReactorContract, NonBlockingTickDoesNotWait) {  // RCT-6
    Probe probe;
    const Instant begin = reactor().now();
    started_timer(probe, {.timeout = long_time});
    EXPECT_TRUE(tick(TickMode::no_wait));
    EXPECT_LT(reactor().now() - begin, long_time);
}

TEST_P(ReactorContract, BlockingTickDoesNotWaitWhileACloseIsPending) {  // RCT-5
    Probe probe;
    const Instant begin = reactor().now();
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, true, {});
    started_timer(probe, {.timeout = long_time});
    close(poll_id);
    for (int round = 0; round < 1000 && harness->is_open(fd); ++round) { tick(TickMode::may_block); }
    EXPECT_FALSE(harness->is_open(fd));
    EXPECT_LT(reactor().now() - begin, long_time);
}

TEST_P(ReactorContract, RunsEveryCallbackInsideATick) {  // RCT-8 (the sink checks it), RCT-29
    Probe probe;
    started_timer(probe, {});
    const SourceId trigger = started_trigger(probe);
    reactor().trigger_port(trigger)->fire();
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    started_proxy(probe, poll_id, PollBits::writable);
    EXPECT_EQ(probe.count(), 0U);
    run_until_count(probe, 3);
}

TEST_P(ReactorContract, CallbackMayOpenStartStopAndCloseAnything) {  // RCT-10
    Probe probe;
    Probe opened;
    Probe doomed;
    const int fd = harness->open_descriptor(true);
    const SourceId victim = started_timer(doomed, {.timeout = long_time});
    SourceId own;
    probe.then = [&](const Seen&) {
        close(own);
        close(victim);
        started_timer(opened, {});
        const SourceId poll_id = reactor().open_poll(fd, false, {});
        started_proxy(opened, poll_id, PollBits::writable);
        const SourceId trigger = started_trigger(opened);
        reactor().trigger_port(trigger)->fire();
        reactor().submit_task([] {}, {.owner = &opened});
    };
    own = started_timer(probe, {.timeout = 0ms, .periodic = true});
    run_until([&] {
        bool timer_seen = false;
        bool proxy_seen = false;
        bool trigger_seen = false;
        bool task_seen = false;
        for (const Seen& seen : opened.seen) {
            timer_seen |= seen.kind == SourceKind::timer;
            proxy_seen |= seen.kind == SourceKind::proxy;
            trigger_seen |= seen.kind == SourceKind::trigger;
            task_seen |= seen.kind == SourceKind::task;
        }
        return timer_seen && proxy_seen && trigger_seen && task_seen;
    });
    EXPECT_EQ(probe.count(), 1U);
    EXPECT_EQ(doomed.count(), 0U);
}

TEST_P(ReactorContract, CallbackMayStopItselfAndStartAgainLater) {  // RCT-10
    Probe probe;
    SourceId own;
    probe.then = [&](const Seen&) { stop(own); };
    own = started_timer(probe, {.timeout = 0ms, .periodic = true});
    run_until_count(probe, 1);
    settle();
    EXPECT_EQ(probe.count(), 1U);
    start(own);
    run_until_count(probe, 2);
}

// ── accounting ──

TEST_P(ReactorContract, OpeningHasNoEffectBeforeTheStart) {  // RCT-12, RCT-13
    Probe probe;
    const int fd = harness->open_descriptor(true);
    harness->make_readable(fd);
    timer(probe, {});
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    reactor().open_proxy(poll_id, PollBits::readable, {.owner = &probe});
    reactor().open_trigger({.owner = &probe});
    reactor().open_signal(harness->test_signal(0), {.owner = &probe});
    EXPECT_EQ(reactor().active_events(), 0U);
    settle();
    EXPECT_EQ(probe.count(), 0U);
}

TEST_P(ReactorContract, CountsEachStartedSourceOnce) {  // RCT-13
    Probe probe;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    const int child = harness->start_child();
    const std::vector<SourceId> sources{
        timer(probe, {.timeout = long_time}),
        timer(probe, {.timeout = long_time, .periodic = true}),
        timer(probe, {.timeout = long_time, .multishot = true}),
        reactor().open_proxy(poll_id, PollBits::readable, {.owner = &probe}),
        reactor().open_proxy(poll_id, PollBits::readable, {.owner = &probe}),
        reactor().open_trigger({.owner = &probe}),
        reactor().open_signal(harness->test_signal(0), {.owner = &probe}),
        reactor().open_process(child, {.owner = &probe}),
    };
    std::size_t count = 0;
    for (const SourceId source : sources) {
        start(source);
        start(source);  // a second start adds nothing
        EXPECT_EQ(reactor().active_events(), ++count);
    }
    for (const SourceId source : sources) {
        stop(source);
        stop(source);  // RCT-17
        EXPECT_EQ(reactor().active_events(), --count);
    }
    for (const SourceId source : sources) {
        start(source);
        close(source);
        close(source);
        EXPECT_EQ(reactor().active_events(), 0U);
    }
    harness->end_child(child, 0);
}

TEST_P(ReactorContract, NeverCountsWhatIsHidden) {  // RCT-14
    Probe probe;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    const SourceOptions hidden{.owner = &probe, .hidden = true};
    const std::vector<SourceId> sources{
        reactor().open_timer({.timeout = 0ms}, hidden),
        reactor().open_timer({.timeout = 0ms, .periodic = true}, hidden),
        reactor().open_proxy(poll_id, PollBits::writable, hidden),
        reactor().open_trigger(hidden),
        reactor().open_signal(harness->test_signal(0), hidden),
    };
    for (const SourceId source : sources) { start(source); }
    reactor().submit_task([] {}, hidden);
    EXPECT_EQ(reactor().active_events(), 0U);
    settle();
    EXPECT_GE(probe.count(), 3U) << "it fires while the loop turns";
    for (const Seen& seen : probe.seen) { EXPECT_EQ(seen.active, 0U); }
    for (const SourceId source : sources) { close(source); }
    EXPECT_EQ(reactor().active_events(), 0U);
}

TEST_P(ReactorContract, CountsARequestFromSubmissionToItsCompletion) {  // RCT-15
    Probe probe;
    reactor().submit_task([] {}, {.owner = &probe});
    EXPECT_EQ(reactor().active_events(), 1U);
    EXPECT_TRUE(reactor().alive());
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].active, 0U) << "not counted any more when its callback begins";
}

TEST_P(ReactorContract, CountsARequestWhetherOrNotAnybodyWaits) {  // RCT-15
    reactor().submit_task([] {}, {});
    EXPECT_EQ(reactor().active_events(), 1U);
    run_until([&] { return reactor().active_events() == 0; });
}

TEST_P(ReactorContract, StartAndStopOfARequestChangeNothing) {  // RCT-13, EVT table: its work began with the submission
    Probe probe;
    const SourceId task = reactor().submit_task([] {}, {.owner = &probe});
    start(task);
    EXPECT_EQ(reactor().active_events(), 1U);
    reactor().stop(task);
    EXPECT_EQ(reactor().active_events(), 1U);
    run_until([&] { return reactor().active_events() == 0; });
    EXPECT_EQ(probe.count(), 1U);
}

TEST_P(ReactorContract, StoppingWhatWasNeverStartedChangesNothing) {  // RCT-17
    Probe probe;
    started_timer(probe, {.timeout = long_time});
    stop(timer(probe, {.timeout = 1ms}));
    stop(reactor().open_trigger({.owner = &probe}));
    stop(SourceId{});
    close(SourceId{});
    EXPECT_EQ(reactor().active_events(), 1U);
}

TEST_P(ReactorContract, FailingToStartLeavesEverythingAsItWas) {  // RCT-51, INV-RCT-11
    Probe probe;
    const SourceId running = started_timer(probe, {.timeout = 1ms});
    EXPECT_THROW(start(reactor().open_poll(-1, false, {})), IoError);
    EXPECT_THROW(start(reactor().open_signal(-1, {.owner = &probe})), Error);
    EXPECT_THROW(start(reactor().open_process(-1, {.owner = &probe})), Error);
    EXPECT_THROW(reactor().submit_task({}, {.owner = &probe}), AsyncError);
    EXPECT_THROW(reactor().rearm(running, 1ms), AsyncError);
    sink->in_start = false;
    EXPECT_EQ(reactor().active_events(), 1U);
    run_until_count(probe, 1);
    settle();
    EXPECT_EQ(probe.count(), 1U);
}

// ── closing ──

TEST_P(ReactorContract, NeverUsesAnIdTwice) {  // R4
    Probe probe;
    std::map<SourceId, int> used;
    for (int round = 0; round < 100; ++round) {
        const SourceId id = timer(probe, {});
        EXPECT_TRUE(id);
        EXPECT_EQ(used[id]++, 0);
        close(id);
    }
}

TEST_P(ReactorContract, CallsOnAClosedIdChangeNothing) {  // R4, RCT-26
    Probe closed;
    Probe later;
    const SourceId id = started_timer(closed, {.timeout = long_time});
    close(id);
    const SourceId next = timer(later, {.timeout = long_time});
    start(id);
    EXPECT_EQ(reactor().active_events(), 0U);
    start(next);
    reactor().stop(id);
    reactor().close(id);
    EXPECT_FALSE(reactor().cancel(id));
    EXPECT_EQ(reactor().active_events(), 1U) << "a stale id never means a newer source";
    EXPECT_THROW(reactor().rearm(id, 1ms), AsyncError);
    EXPECT_THROW((void)reactor().trigger_port(id), AsyncError);
}

TEST_P(ReactorContract, StopAndCloseSilenceEvenWhatThisTickHasCollected) {  // RCT-11
    // All are ready in one batch; whoever comes first silences the others, of its own kind and of the other kind.
    for (const bool by_close : {false, true}) {
        Probe probes[4];
        std::vector<SourceId> ids;
        for (int at = 0; at < 2; ++at) {
            const int fd = harness->open_descriptor(true);
            harness->make_readable(fd);
            ids.push_back(started_proxy(probes[at], reactor().open_poll(fd, false, {}), PollBits::readable));
        }
        for (int at = 2; at < 4; ++at) {
            ids.push_back(started_trigger(probes[at]));
            reactor().trigger_port(ids.back())->fire();
        }
        for (Probe& probe : probes) {
            probe.then = [&](const Seen&) {
                for (const SourceId id : ids) { by_close ? close(id) : stop(id); }
            };
        }
        run_until([&] { return probes[0].count() + probes[1].count() + probes[2].count() + probes[3].count() > 0; });
        settle();
        EXPECT_EQ(probes[0].count() + probes[1].count() + probes[2].count() + probes[3].count(), 1U);
        for (const SourceId id : ids) { close(id); }
    }
}

TEST_P(ReactorContract, CloseCompletionComesAfterTheCloseAndLast) {  // RCT-55, RCT-62
    Probe probe;
    const int fd = harness->open_descriptor(true);
    harness->make_readable(fd);
    const SourceId poll_id = reactor().open_poll(fd, false, Label{77});
    const SourceId proxy = started_proxy(probe, poll_id, PollBits::readable);
    run_until_count(probe, 1);
    close(proxy);
    close(poll_id);
    EXPECT_FALSE(sink->ended[poll_id]) << "never from inside close";
    EXPECT_EQ(reactor().active_events(), 0U) << "a pending close is not alive (RCT-7)";
    EXPECT_TRUE(reactor().has_closing());
    for (int round = 0; round < 1000 && reactor().has_closing(); ++round) { poll(); }
    ASSERT_TRUE(sink->ended[poll_id]);
    EXPECT_EQ(sink->log.back().source, poll_id);
    EXPECT_EQ(sink->log.back().label, Label{77});
    settle();
    EXPECT_EQ(probe.count(), 1U);
    EXPECT_TRUE(harness->is_open(fd)) << "nobody asked to close the descriptor";
}

}  // namespace heddle::contract
