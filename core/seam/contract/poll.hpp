// SPDX-License-Identifier: Apache-2.0
// Part of the Reactor contract: descriptors and their proxies (docs/spec/05-reactor.md section 5).
#pragma once

#include "heddle/core/seam/reactor_contract.hpp"

namespace heddle::contract {

TEST_P(ReactorContract, ReportsReadinessInEveryTickWhileItHolds) {  // RCT-32
    Probe probe;
    const int fd = harness->open_descriptor(true);
    const SourceId proxy = started_proxy(probe, reactor().open_poll(fd, false, {}), PollBits::readable);
    settle();
    EXPECT_EQ(probe.count(), 0U) << "nothing to read yet";
    harness->make_readable(fd);
    run_until_count(probe, 3);
    for (const Seen& seen : probe.seen) {
        EXPECT_EQ(seen.source, proxy);
        EXPECT_EQ(seen.kind, SourceKind::proxy);
        EXPECT_EQ(seen.value, PollBits::readable);
        EXPECT_EQ(seen.error, 0);
    }
    EXPECT_GT(probe.seen[1].tick, probe.seen[0].tick) << "once per tick";
    harness->drain(fd);
    settle();
    const std::size_t count = probe.count();
    settle();
    EXPECT_EQ(probe.count(), count) << "the condition is over";
    harness->make_readable(fd);
    run_until_count(probe, count + 1);
}

TEST_P(ReactorContract, ReportsWritability) {  // RCT-32
    Probe probe;
    const int fd = harness->open_descriptor(true);
    harness->fill(fd);
    started_proxy(probe, reactor().open_poll(fd, false, {}), PollBits::writable);
    settle();
    EXPECT_EQ(probe.count(), 0U);
    harness->make_writable(fd);
    run_until_count(probe, 1);
    EXPECT_EQ(probe.seen[0].value, PollBits::writable);
}

TEST_P(ReactorContract, ReportsReadinessOfDatagramSockets) {  // RCT-32
    Probe probe;
    const int fd = harness->open_descriptor(false);
    started_proxy(probe, reactor().open_poll(fd, false, {}), PollBits::readable);
    harness->make_readable(fd);
    run_until_count(probe, 2);
    EXPECT_EQ(probe.seen[0].value, PollBits::readable);
}

TEST_P(ReactorContract, DescriptorHasOnePoll) {  // RCT-33, INV-RCT-07
    const int fd = harness->open_descriptor(true);
    const int other = harness->open_descriptor(true);
    const SourceId first = reactor().open_poll(fd, false, {});
    EXPECT_EQ(reactor().open_poll(fd, false, {}), first);
    EXPECT_NE(reactor().open_poll(other, false, {}), first);
}

TEST_P(ReactorContract, ProxyKeepsItsPollOpen) {  // RCT-33
    Probe probe;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    const SourceId proxy = started_proxy(probe, poll_id, PollBits::readable);
    close(poll_id);
    harness->make_readable(fd);
    run_until_count(probe, 2);
    EXPECT_FALSE(sink->ended[poll_id]);
    close(proxy);
    for (int round = 0; round < 1000 && !sink->ended[poll_id]; ++round) { poll(); }
    EXPECT_TRUE(sink->ended[poll_id]) << "the last reference is gone";
}

TEST_P(ReactorContract, PollLivesAsLongAsOneOpenOfSeveral) {  // RCT-33
    Probe probe;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    reactor().open_poll(fd, false, {});
    reactor().close(poll_id);
    settle();
    harness->make_readable(fd);
    started_proxy(probe, poll_id, PollBits::readable);
    run_until_count(probe, 1);
}

TEST_P(ReactorContract, DescriptorIsPolledAnewAfterItsPollWasClosed) {  // RCT-33, RCT-55
    Probe before;
    Probe after;
    const int fd = harness->open_descriptor(true);
    harness->make_readable(fd);
    const SourceId old = reactor().open_poll(fd, false, {});
    const SourceId proxy = started_proxy(before, old, PollBits::readable);
    run_until_count(before, 1);
    close(proxy);
    close(old);
    const SourceId young = reactor().open_poll(fd, false, {});  // the old handle has not finished closing
    EXPECT_NE(young, old);
    started_proxy(after, young, PollBits::readable);
    run_until_count(after, 1);
    EXPECT_EQ(before.count(), 1U);
}

TEST_P(ReactorContract, ProxyNeedsAnOpenPoll) {  // RCT-33, RCT-51
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    reactor().close(poll_id);
    EXPECT_THROW(reactor().open_proxy(poll_id, PollBits::readable, {}), AsyncError);
    EXPECT_THROW(reactor().open_proxy(SourceId{}, PollBits::readable, {}), AsyncError);
}

TEST_P(ReactorContract, ProxyHearsOnlyOfItsOwnMask) {  // RCT-34, RCT-35, INV-RCT-08
    Probe reader;
    Probe writer;
    Probe both;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    started_proxy(reader, poll_id, PollBits::readable);
    started_proxy(writer, poll_id, PollBits::writable);
    const SourceId all = started_proxy(both, poll_id, PollBits::readable | PollBits::writable);
    run_until_count(writer, 2);
    EXPECT_EQ(reader.count(), 0U);
    EXPECT_GE(both.count(), 1U);
    harness->make_readable(fd);
    run_until_count(reader, 1);
    for (const Seen& seen : reader.seen) { EXPECT_EQ(seen.value, PollBits::readable); }
    for (const Seen& seen : writer.seen) { EXPECT_EQ(seen.value, PollBits::writable); }
    stop(all);
    harness->drain(fd);
    settle();
    const std::size_t count = reader.count();
    settle();
    EXPECT_EQ(reader.count(), count);
}

TEST_P(ReactorContract, WatchesNothingForNobody) {  // RCT-34
    Probe probe;
    const int fd = harness->open_descriptor(true);
    harness->make_readable(fd);
    const SourceId proxy = started_proxy(probe, reactor().open_poll(fd, false, {}), PollBits::readable);
    stop(proxy);
    Probe soon;
    const std::uint64_t before = sink->ticks;
    started_timer(soon, {.timeout = 10ms});
    run_until_count(soon, 1);
    EXPECT_LT(sink->ticks - before, 1000U) << "a ready descriptor that nobody waits for does not spin the loop";
    EXPECT_EQ(probe.count(), 0U);
}

TEST_P(ReactorContract, TerminalReportReachesEveryProxyWhole) {  // RCT-35
    Probe one;
    Probe other;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    started_proxy(one, poll_id, PollBits::readable | PollBits::disconnect);
    started_proxy(other, poll_id, PollBits::priority);
    harness->hang_up(fd);
    run_until([&] { return one.count() >= 1 && other.count() >= 1; });
    EXPECT_NE(one.seen[0].value & PollBits::disconnect, 0);
    EXPECT_EQ(other.seen[0].value, one.seen[0].value) << "the full report, whatever the mask";
    EXPECT_EQ(other.seen[0].tick, one.seen[0].tick);
}

TEST_P(ReactorContract, ProxiesHearInStartOrder) {  // RCT-64
    Probe probes[4];
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    std::vector<SourceId> ids;
    for (Probe& probe : probes) { ids.push_back(reactor().open_proxy(poll_id, PollBits::readable, {.owner = &probe})); }
    for (const int at : {2, 0, 3, 1}) { start(ids[static_cast<std::size_t>(at)]); }
    stop(ids[0]);
    start(ids[0]);  // to the end
    harness->make_readable(fd);
    run_until_count(probes[0], 1);
    ASSERT_GE(sink->log.size(), 4U);
    EXPECT_EQ(sink->log[0].source, ids[2]);
    EXPECT_EQ(sink->log[1].source, ids[3]);
    EXPECT_EQ(sink->log[2].source, ids[1]);
    EXPECT_EQ(sink->log[3].source, ids[0]);
}

TEST_P(ReactorContract, ProxyStoppedByAnEarlierOneOfTheReportHearsNothing) {  // RCT-11, RCT-39
    for (const bool by_close : {false, true}) {
        Probe first;
        Probe second;
        Probe third;
        SourceId victim;
        const int fd = harness->open_descriptor(true);
        const SourceId poll_id = reactor().open_poll(fd, false, {});
        first.then = [&](const Seen&) { by_close ? close(victim) : stop(victim); };
        const SourceId one = started_proxy(first, poll_id, PollBits::readable);
        victim = started_proxy(second, poll_id, PollBits::readable);
        const SourceId last = started_proxy(third, poll_id, PollBits::readable);
        harness->make_readable(fd);
        run_until_count(third, 1);
        EXPECT_EQ(second.count(), 0U);
        EXPECT_EQ(first.seen[0].tick, third.seen[0].tick) << "the others hear of the same report";
        close(one);
        close(last);
    }
}

TEST_P(ReactorContract, StoppingAProxyNeverLosesAnothersReadiness) {  // RCT-39
    Probe first;
    Probe second;
    SourceId own;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    first.then = [&](const Seen&) { stop(own); };
    own = started_proxy(first, poll_id, PollBits::readable | PollBits::writable);
    started_proxy(second, poll_id, PollBits::readable);
    harness->make_readable(fd);
    run_until_count(second, 2);
    EXPECT_EQ(first.count(), 1U);
    start(own);
    run_until_count(first, 2);
}

TEST_P(ReactorContract, StreamThatSomebodyDrainedMeanwhileIsNotReadable) {  // RCT-37
    Probe probes[2];
    int fds[2];
    for (int at = 0; at < 2; ++at) {
        fds[at] = harness->open_descriptor(true);
        harness->make_readable(fds[at]);
        probes[at].then = [&, at](const Seen&) {  // whoever comes first empties both
            harness->drain(fds[at]);
            harness->drain(fds[1 - at]);
        };
        started_proxy(probes[at], reactor().open_poll(fds[at], false, {}), PollBits::readable);
    }
    run_until([&] { return probes[0].count() + probes[1].count() > 0; });
    settle();
    EXPECT_EQ(probes[0].count() + probes[1].count(), 1U);
}

TEST_P(ReactorContract, VerifiedReadabilityLeavesTheRestOfTheReport) {  // RCT-37
    Probe probes[2];
    int fds[2];
    for (int at = 0; at < 2; ++at) {
        fds[at] = harness->open_descriptor(true);
        harness->make_readable(fds[at]);
        probes[at].then = [&, at](const Seen&) {
            harness->drain(fds[at]);
            harness->drain(fds[1 - at]);
        };
        started_proxy(probes[at], reactor().open_poll(fds[at], false, {}), PollBits::readable | PollBits::writable);
    }
    run_until([&] { return probes[0].count() > 0 && probes[1].count() > 0; });
    const int readable_count = static_cast<int>((probes[0].seen[0].value & PollBits::readable) != 0) +
                               static_cast<int>((probes[1].seen[0].value & PollBits::readable) != 0);
    EXPECT_EQ(readable_count, 1);
    for (const Probe& probe : probes) { EXPECT_NE(probe.seen[0].value & PollBits::writable, 0); }
}

TEST_P(ReactorContract, EndOfAStreamIsReadable) {  // RCT-37: a peek that finds the end is not "no data"
    Probe probe;
    const int fd = harness->open_descriptor(true);
    started_proxy(probe, reactor().open_poll(fd, false, {}), PollBits::readable);
    harness->hang_up(fd);
    run_until_count(probe, 1);
    EXPECT_NE(probe.seen[0].value & PollBits::readable, 0);
}

TEST_P(ReactorContract, ClosesTheDescriptorAfterItsHandle) {  // RCT-38
    Probe probe;
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, true, {});
    const SourceId proxy = started_proxy(probe, poll_id, PollBits::writable);
    run_until_count(probe, 1);
    close(poll_id);
    settle();
    EXPECT_TRUE(harness->is_open(fd)) << "a proxy still uses it";
    close(proxy);
    for (int round = 0; round < 1000 && !sink->ended[poll_id]; ++round) { poll(); }
    EXPECT_FALSE(harness->is_open(fd));
}

TEST_P(ReactorContract, OneWhoAsksToCloseTheDescriptorIsEnough) {  // RCT-38
    const int fd = harness->open_descriptor(true);
    const SourceId poll_id = reactor().open_poll(fd, false, {});
    reactor().open_poll(fd, true, {});
    reactor().close(poll_id);
    reactor().close(poll_id);
    for (int round = 0; round < 1000 && !sink->ended[poll_id]; ++round) { poll(); }
    EXPECT_FALSE(harness->is_open(fd));
}

TEST_P(ReactorContract, ManyDescriptorsAreAllReported) {  // RCT-39
    std::vector<Probe> probes(40);
    for (Probe& probe : probes) {
        const int fd = harness->open_descriptor(true);
        harness->make_readable(fd);
        probe.then = [this, fd](const Seen&) { harness->drain(fd); };
        started_proxy(probe, reactor().open_poll(fd, false, {}), PollBits::readable);
    }
    run_until([&] {
        for (const Probe& probe : probes) {
            if (probe.count() == 0) { return false; }
        }
        return true;
    });
    settle();
    for (const Probe& probe : probes) { EXPECT_EQ(probe.count(), 1U); }
}

}  // namespace heddle::contract
