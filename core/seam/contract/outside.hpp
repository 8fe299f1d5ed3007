// SPDX-License-Identifier: Apache-2.0
// Part of the Reactor contract: triggers, tasks, signals, child processes (docs/spec/05-reactor.md section 7).
#pragma once

#include "heddle/core/seam/reactor_contract.hpp"

namespace heddle::contract {

// ── triggers ──

TEST_P(ReactorContract, FireIsDelivered) {  // RCT-58
    Probe probe;
    const SourceId id = reactor().open_trigger({.owner = &probe, .label = Label{99}});
    const TriggerPortPtr port = reactor().trigger_port(id);
    start(id);
    settle();
    EXPECT_EQ(probe.count(), 0U) << "nobody fired";
    port->fire();
    EXPECT_EQ(probe.count(), 0U) << "never from inside fire";
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].source, id);
    EXPECT_EQ(probe.seen[0].kind, SourceKind::trigger);
    EXPECT_EQ(probe.seen[0].label, Label{99});
    settle();
    EXPECT_EQ(probe.count(), 1U);
}

TEST_P(ReactorContract, SeveralFiresGiveAtLeastOneDeliveryAndNoMoreThanFires) {  // RCT-58, CP-MERGE
    Probe probe;
    const TriggerPortPtr port = reactor().trigger_port(started_trigger(probe));
    for (int fire = 0; fire < 5; ++fire) { port->fire(); }
    run_until_count(probe, 1);
    settle();
    EXPECT_LE(probe.count(), 5U);
}

TEST_P(ReactorContract, FireDuringTheCallbackGivesAnotherDelivery) {  // RCT-58, INV-RCT-15
    Probe probe;
    const TriggerPortPtr port = reactor().trigger_port(started_trigger(probe));
    probe.then = [&](const Seen&) {
        if (probe.count() < 5) { port->fire(); }
    };
    port->fire();
    run_until_count(probe, 5);
    settle();
    EXPECT_EQ(probe.count(), 5U);
}

TEST_P(ReactorContract, FireIsKeptUntilTheTriggerIsStarted) {  // INV-RCT-15, RCT-12
    Probe probe;
    const SourceId id = reactor().open_trigger({.owner = &probe});
    reactor().trigger_port(id)->fire();
    settle();
    EXPECT_EQ(probe.count(), 0U);
    start(id);
    run_until_count(probe, 1);
    stop(id);
    reactor().trigger_port(id)->fire();
    settle();
    EXPECT_EQ(probe.count(), 1U);
    start(id);
    run_until_count(probe, 2);
}

TEST_P(ReactorContract, FireFromAnotherThreadWakesABlockedTick) {  // RCT-58, RCT-65, INV-LIVE-05
    Probe probe;
    Probe far;
    int written = 0;
    int read = 0;
    const TriggerPortPtr port = reactor().trigger_port(started_trigger(probe));
    started_timer(far, {.timeout = long_time});
    probe.then = [&](const Seen&) { read = written; };  // no lock: the fire itself orders the two
    sink->before_wait = [&] {
        harness->run_elsewhere([&written, port] {
            written = 42;
            port->fire();
        });
    };
    run_until_count(probe, 1);
    EXPECT_EQ(read, 42);
    EXPECT_EQ(far.count(), 0U);
}

TEST_P(ReactorContract, NoFireIsLostWhileOthersAreDelivered) {  // RCT-58, INV-RCT-15
    constexpr int rounds = 200;
    Probe probe;
    const TriggerPortPtr port = reactor().trigger_port(started_trigger(probe));
    int answered = 0;
    // Each delivery lets the other side fire once more, so that a lost fire would be a hang.
    probe.then = [&](const Seen&) {
        if (++answered < rounds) {
            harness->run_elsewhere([port] { port->fire(); });
        }
    };
    harness->run_elsewhere([port] { port->fire(); });
    run_until_count(probe, rounds);
    settle();
    EXPECT_EQ(probe.count(), static_cast<std::size_t>(rounds));
}

TEST_P(ReactorContract, FireOnAClosedTriggerDoesNothing) {  // RCT-58
    Probe probe;
    const SourceId id = started_trigger(probe);
    const TriggerPortPtr port = reactor().trigger_port(id);
    port->fire();
    close(id);
    port->fire();
    settle();
    EXPECT_EQ(probe.count(), 0U);
    reactor().shutdown();
    port->fire();
}

TEST_P(ReactorContract, PortOutlivesItsReactor) {  // RCT-1, RCT-58
    Probe probe;
    const TriggerPortPtr port = reactor().trigger_port(started_trigger(probe));
    reactor().shutdown();
    harness.reset();
    port->fire();
    EXPECT_EQ(probe.count(), 0U);
}

TEST_P(ReactorContract, SeveralTriggersAreAllDelivered) {  // RCT-58
    Probe probes[8];
    for (Probe& probe : probes) { reactor().trigger_port(started_trigger(probe))->fire(); }
    run_until([&] {
        for (const Probe& probe : probes) {
            if (probe.count() == 0) { return false; }
        }
        return true;
    });
    settle();
    for (const Probe& probe : probes) { EXPECT_EQ(probe.count(), 1U); }
}

// ── tasks ──

TEST_P(ReactorContract, TaskRunsItsBodyThenIsDeliveredOnce) {  // RCT-59, RCT-41
    Probe probe;
    int result = 0;
    probe.then = [&](const Seen&) { EXPECT_EQ(result, 42); };
    const SourceId id = reactor().submit_task([&result] { result = 42; }, {.owner = &probe, .label = Label{5}});
    EXPECT_EQ(probe.count(), 0U);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].source, id);
    EXPECT_EQ(probe.seen[0].kind, SourceKind::task);
    EXPECT_EQ(probe.seen[0].label, Label{5});
    EXPECT_FALSE(probe.seen[0].cancelled);
    EXPECT_EQ(probe.seen[0].error, 0);
    settle();
    EXPECT_EQ(probe.count(), 1U);
    EXPECT_FALSE(reactor().cancel(id)) << "it is over";
}

TEST_P(ReactorContract, TasksAllComplete) {  // RCT-59, CP-POOL
    std::vector<Probe> probes(50);
    std::vector<int> ran(probes.size(), 0);
    for (std::size_t at = 0; at < probes.size(); ++at) {
        reactor().submit_task([&ran, at] { ++ran[at]; }, {.owner = &probes[at]});
    }
    EXPECT_EQ(reactor().active_events(), probes.size());
    run_until([&] { return !reactor().alive(); });
    for (std::size_t at = 0; at < probes.size(); ++at) {
        EXPECT_EQ(probes[at].count(), 1U);
        EXPECT_EQ(ran[at], 1);
    }
}

TEST_P(ReactorContract, TaskThatIsCancelledBeforeItBeginsNeverRuns) {  // RCT-59, CP-REQCANCEL
    Probe probe;
    bool ran = false;
    harness->hold_workers();
    const SourceId id = reactor().submit_task([&ran] { ran = true; }, {.owner = &probe});
    EXPECT_TRUE(reactor().cancel(id));
    EXPECT_EQ(probe.count(), 0U) << "never from inside cancel";
    EXPECT_EQ(reactor().active_events(), 1U) << "in flight until its completion (RCT-15)";
    run_until_count(probe, 1);
    harness->release_workers();
    EXPECT_TRUE(probe.seen[0].cancelled);
    EXPECT_NE(probe.seen[0].error, 0);
    settle();
    EXPECT_EQ(probe.count(), 1U);
    EXPECT_FALSE(ran);
}

TEST_P(ReactorContract, ClosedTaskCompletesInSilence) {  // RCT-45, INV-RCT-09
    Probe probe;
    std::vector<SourceId> ids;
    for (int at = 0; at < 20; ++at) {
        ids.push_back(reactor().submit_task([] {}, {.owner = &probe}));
    }
    poll();
    const std::size_t before = probe.count();
    for (const SourceId id : ids) { close(id); }
    run_until([&] { return !reactor().alive(); });
    settle();
    EXPECT_EQ(probe.count(), before);
}

TEST_P(ReactorContract, BodyOfATaskIsDestroyedWithIt) {  // INV-RCT-09: whatever ends the request
    Probe probe;
    const auto held = std::make_shared<int>(0);
    reactor().submit_task([held] {}, {.owner = &probe});
    run_until([&] { return !reactor().alive(); });
    EXPECT_EQ(held.use_count(), 1);

    harness->hold_workers();
    reactor().cancel(reactor().submit_task([held] {}, {.owner = &probe}));
    reactor().close(reactor().submit_task([held] {}, {.owner = &probe}));
    harness->release_workers();
    run_until([&] { return !reactor().alive(); });
    EXPECT_EQ(held.use_count(), 1);
}

// ── signals ──

TEST_P(ReactorContract, SignalReachesEverySubscriberInStartOrder) {  // RCT-52, RCT-32
    Probe probes[3];
    const int number = harness->test_signal(0);
    std::vector<SourceId> ids;
    for (Probe& probe : probes) { ids.push_back(reactor().open_signal(number, {.owner = &probe})); }
    for (const std::size_t at : {1U, 2U, 0U}) { start(ids[at]); }
    harness->raise_signal(number);
    EXPECT_EQ(probes[0].count(), 0U) << "not in the handler of the operating system";
    run_until([&] { return probes[0].count() + probes[1].count() + probes[2].count() == 3; });
    ASSERT_EQ(sink->log.size(), 3U);
    EXPECT_EQ(sink->log[0].source, ids[1]);
    EXPECT_EQ(sink->log[1].source, ids[2]);
    EXPECT_EQ(sink->log[2].source, ids[0]);
    for (const Seen& seen : sink->log) {
        EXPECT_EQ(seen.kind, SourceKind::signal);
        EXPECT_EQ(seen.value, number);
    }
}

TEST_P(ReactorContract, SignalComesAgainUntilItIsStopped) {  // RCT-52
    Probe probe;
    Probe other;
    const int number = harness->test_signal(0);
    const SourceId id = started_signal(probe, number);
    started_signal(other, number);
    for (std::size_t round = 1; round <= 3; ++round) {
        harness->raise_signal(number);
        run_until_count(probe, round);
    }
    stop(id);
    const std::size_t heard = other.count();
    harness->raise_signal(number);
    run_until_count(other, heard + 1);
    EXPECT_EQ(probe.count(), 3U);
}

TEST_P(ReactorContract, SignalsAreToldApart) {  // RCT-52
    Probe one;
    Probe two;
    started_signal(one, harness->test_signal(0));
    started_signal(two, harness->test_signal(1));
    harness->raise_signal(harness->test_signal(1));
    run_until_count(two, 1);
    settle();
    EXPECT_EQ(one.count(), 0U);
    EXPECT_EQ(two.seen[0].value, harness->test_signal(1));
}

TEST_P(ReactorContract, SubscriberStoppedByAnEarlierOneOfTheSignalHearsNothing) {  // RCT-11
    for (const bool by_close : {false, true}) {
        Probe first;
        Probe second;
        SourceId victim;
        const int number = harness->test_signal(0);
        first.then = [&](const Seen&) { by_close ? close(victim) : stop(victim); };
        const SourceId own = started_signal(first, number);
        victim = started_signal(second, number);
        harness->raise_signal(number);
        run_until_count(first, 1);
        settle();
        EXPECT_EQ(second.count(), 0U);
        close(own);
    }
}

// ── child processes ──

TEST_P(ReactorContract, ExitOfAChildIsDeliveredOnce) {  // RCT-53, EVT-12
    Probe probe;
    const int pid = harness->start_child();
    const SourceId id = reactor().open_process(pid, {.owner = &probe});
    start(id);
    EXPECT_EQ(probe.count(), 0U);
    EXPECT_EQ(reactor().active_events(), 1U);
    harness->end_child(pid, 7);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].source, id);
    EXPECT_EQ(probe.seen[0].kind, SourceKind::process);
    EXPECT_EQ(probe.seen[0].value, 7);
    EXPECT_EQ(probe.seen[0].active, 0U) << "closed before its callback";
    settle();
    EXPECT_EQ(probe.count(), 1U);
}

TEST_P(ReactorContract, DeathBySignalIsANegativeCode) {  // RCT-53
    Probe probe;
    const int pid = harness->start_child();
    start(reactor().open_process(pid, {.owner = &probe}));
    harness->end_child(pid, -9);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].value, -9);
}

TEST_P(ReactorContract, ChildThatHasEndedIsDeliveredInsideStart) {  // RCT-53, RCT-8
    Probe probe;
    const int pid = harness->start_child();
    harness->end_child(pid, 3);
    const SourceId id = reactor().open_process(pid, {.owner = &probe});
    EXPECT_EQ(probe.count(), 0U) << "opening tells nothing (RCT-12)";
    start(id);
    ASSERT_EQ(probe.count(), 1U);
    EXPECT_EQ(probe.seen[0].value, 3);
    EXPECT_EQ(probe.seen[0].active, 0U);
    EXPECT_EQ(reactor().active_events(), 0U);
}

TEST_P(ReactorContract, ChildReapedElsewhereHasTheCodeMinusOne) {  // RCT-53
    Probe probe;
    start(reactor().open_process(harness->reaped_child(), {.owner = &probe}));
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].value, -1);
    EXPECT_EQ(reactor().active_events(), 0U);
}

TEST_P(ReactorContract, SeveralWaitForOneChild) {  // RCT-53: shared, counted
    Probe first;
    Probe second;
    Probe late;
    const int pid = harness->start_child();
    const SourceId one = reactor().open_process(pid, {.owner = &first});
    const SourceId two = reactor().open_process(pid, {.owner = &second});
    const SourceId three = reactor().open_process(pid, {.owner = &late});
    start(one);
    start(two);
    EXPECT_EQ(reactor().active_events(), 2U);
    harness->end_child(pid, 5);
    run_until([&] { return first.count() + second.count() == 2; });
    EXPECT_EQ(first.seen[0].value, 5);
    EXPECT_EQ(second.seen[0].value, 5);
    EXPECT_EQ(late.count(), 0U);
    start(three);  // it was open when the child ended, so that its code was kept
    ASSERT_EQ(late.count(), 1U);
    EXPECT_EQ(late.seen[0].value, 5);
}

TEST_P(ReactorContract, ChildrenAreToldApart) {  // RCT-53
    Probe probes[3];
    int pids[3];
    for (int at = 0; at < 3; ++at) {
        pids[at] = harness->start_child();
        start(reactor().open_process(pids[at], {.owner = &probes[at]}));
    }
    harness->end_child(pids[1], 11);
    run_until_count(probes[1], 1);
    settle();
    EXPECT_EQ(probes[0].count() + probes[2].count(), 0U);
    harness->end_child(pids[2], 12);
    harness->end_child(pids[0], 10);
    run_until([&] { return !reactor().alive(); });
    for (int at = 0; at < 3; ++at) { EXPECT_EQ(probes[at].seen[0].value, 10 + at); }
}

TEST_P(ReactorContract, StoppedWatchOfAChildHearsNothingUntilItStartsAgain) {  // RCT-11, RCT-53
    Probe probe;
    const int pid = harness->start_child();
    const SourceId id = reactor().open_process(pid, {.owner = &probe});
    start(id);
    stop(id);
    harness->end_child(pid, 6);
    settle();
    EXPECT_EQ(probe.count(), 0U);
    start(id);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].value, 6);
}

}  // namespace heddle::contract
