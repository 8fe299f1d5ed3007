// SPDX-License-Identifier: Apache-2.0
// The hand-driven reactor keeps the contract of every reactor, and what it promises beyond it.
#include "heddle/core/seam/testing/manual_reactor.hpp"

#include <csignal>

#include <algorithm>

#include "heddle/core/seam/reactor_contract.hpp"
#include "heddle/core/seam/testing/scripted_chooser.hpp"

namespace heddle::contract {
namespace {

using testing::ManualReactor;
using testing::ScriptedChooser;

/// The outside world of a ManualReactor: its descriptors and children are numbers.
class ManualHarness final : public ReactorHarness {
public:
    ManualHarness() { reactor_.pass_time(1s); }
    Reactor& reactor() override { return reactor_; }
    void pass_time(Duration by) override { reactor_.pass_time(by); }

    int open_descriptor(bool stream) override {
        const int fd = ++last_fd_;
        bits_[fd] = PollBits::writable;
        if (stream) { reactor_.set_stream(fd); }
        return update(fd, 0, 0), fd;
    }
    void make_readable(int fd) override { update(fd, PollBits::readable, 0); }
    void drain(int fd) override { update(fd, 0, PollBits::readable); }
    void fill(int fd) override { update(fd, 0, PollBits::writable); }
    void make_writable(int fd) override { update(fd, PollBits::writable, 0); }
    void hang_up(int fd) override { update(fd, PollBits::readable | PollBits::disconnect, 0); }
    bool is_open(int fd) override {
        const std::vector<int>& closed = reactor_.closed_descriptors();
        return std::find(closed.begin(), closed.end(), fd) == closed.end();
    }

    void run_elsewhere(std::function<void()> body) override { reactor_.at(1us, std::move(body)); }
    void hold_workers() override {}  // no task begins before a tick has nothing else to wait for
    void release_workers() override {
        for (const SourceId task : reactor_.tasks()) { reactor_.finish_task(task); }
    }
    void raise_signal(int number) override { reactor_.raise(number); }
    [[nodiscard]] int test_signal(int which) const override { return which == 0 ? SIGUSR1 : SIGUSR2; }

    int start_child() override {
        reactor_.add_child(++last_pid_);
        return last_pid_;
    }
    void end_child(int pid, int code) override { reactor_.end_child(pid, code); }
    int reaped_child() override { return ++last_pid_; }

private:
    void update(int fd, PollMask set, PollMask clear) {
        bits_[fd] = (bits_[fd] | set) & ~clear;
        reactor_.set_ready(fd, bits_[fd]);
    }

    ManualReactor reactor_;
    int last_fd_ = 10;
    int last_pid_ = 1000;
    std::map<int, PollMask> bits_;
};

INSTANTIATE_TEST_SUITE_P(Manual, ReactorContract,
                         ::testing::Values(ReactorBackend{"manual", [] { return std::make_unique<ManualHarness>(); }}),
                         backend_name);

// ── beyond the contract ──

class ManualReactorTest : public ::testing::Test {
protected:
    ManualReactorTest() { reactor.startup(sink); }
    ManualReactor reactor;
    ContractSink sink{reactor};
    Probe probe;
    bool tick(TickMode mode) {
        sink.in_tick = true;
        return reactor.tick(mode);
    }
};

TEST_F(ManualReactorTest, ThrowsWhereNothingCouldEverHappen) {  // RCT-69
    const SourceId trigger = reactor.open_trigger({.owner = &probe});
    reactor.start(trigger);
    EXPECT_THROW(tick(TickMode::may_block), AsyncError);
    reactor.trigger_port(trigger)->fire();
    EXPECT_TRUE(tick(TickMode::may_block));
    EXPECT_EQ(probe.count(), 1U);
}

TEST_F(ManualReactorTest, BlockingTickJumpsToTheNextDeadline) {  // RCT-25
    reactor.start(reactor.open_timer({.timeout = std::chrono::hours(24 * 365)}, {.owner = &probe}));
    tick(TickMode::may_block);
    EXPECT_EQ(probe.count(), 1U);
    EXPECT_EQ(reactor.true_time(), Instant{} + std::chrono::hours(24 * 365));
}

TEST_F(ManualReactorTest, HappeningsComeAtTheirTimeInOrder) {
    std::vector<int> order;
    reactor.start(reactor.open_trigger({.owner = &probe}));
    reactor.at(5ms, [&] { order.push_back(2); });
    reactor.at(5ms, [&] { order.push_back(3); });
    reactor.at(1ms, [&] { order.push_back(1); });
    reactor.start(reactor.open_timer({.timeout = 6ms}, {.owner = &probe}));
    tick(TickMode::may_block);
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3})) << "none of them made anything ready, so that the wait went on";
    EXPECT_EQ(probe.count(), 1U);
}

TEST_F(ManualReactorTest, ReportsInTheOrderInWhichThingsBecameReady) {
    std::vector<Probe> probes(3);
    const SourceId poll = reactor.open_poll(7, false, {});
    const SourceId proxy = reactor.open_proxy(poll, PollBits::readable, {.owner = &probes[0]});
    const SourceId trigger = reactor.open_trigger({.owner = &probes[1]});
    const SourceId signal = reactor.open_signal(SIGUSR1, {.owner = &probes[2]});
    for (const SourceId id : {proxy, trigger, signal}) { reactor.start(id); }
    reactor.raise(SIGUSR1);
    reactor.set_ready(7, PollBits::readable);
    reactor.trigger_port(trigger)->fire();
    tick(TickMode::no_wait);
    ASSERT_EQ(sink.log.size(), 3U);
    EXPECT_EQ(sink.log[0].source, signal);
    EXPECT_EQ(sink.log[1].source, proxy);
    EXPECT_EQ(sink.log[2].source, trigger);
}

TEST_F(ManualReactorTest, ReadinessOfATickPrecedesItsTimers) {  // RCT-60
    const SourceId trigger = reactor.open_trigger({.owner = &probe});
    reactor.start(trigger);
    reactor.start(reactor.open_timer({}, {.owner = &probe}));
    reactor.trigger_port(trigger)->fire();
    tick(TickMode::no_wait);
    ASSERT_EQ(sink.log.size(), 2U);
    EXPECT_EQ(sink.log[0].kind, SourceKind::trigger);
    EXPECT_EQ(sink.log[1].kind, SourceKind::timer);
}

TEST_F(ManualReactorTest, FailureOfADescriptorReachesEveryProxy) {  // RCT-35, RCT-36
    const SourceId poll = reactor.open_poll(7, false, {});
    reactor.start(reactor.open_proxy(poll, PollBits::readable, {.owner = &probe}));
    reactor.start(reactor.open_proxy(poll, PollBits::writable, {.owner = &probe}));
    reactor.set_failed(7, EIO);
    tick(TickMode::no_wait);
    ASSERT_EQ(probe.count(), 2U);
    EXPECT_EQ(probe.seen[1].error, EIO);
    reactor.set_failed(7, EBADF);
    tick(TickMode::no_wait);
    ASSERT_EQ(probe.count(), 4U);
    EXPECT_EQ(probe.seen[3].error, 0);
    EXPECT_EQ(probe.seen[3].value, PollBits::disconnect);
}

TEST_F(ManualReactorTest, TaskThatHasBegunCannotBeCancelled) {  // RCT-59
    const SourceId task = reactor.submit_task([] {}, {.owner = &probe});
    reactor.begin_task(task);
    EXPECT_TRUE(reactor.cancel(task));
    reactor.finish_task(task);
    tick(TickMode::no_wait);
    ASSERT_EQ(probe.count(), 1U);
    EXPECT_FALSE(probe.seen[0].cancelled);
}

TEST_F(ManualReactorTest, IdleTicksReachADeadlineInTheEnd) {  // CP-TIME
    reactor.start(reactor.open_timer({.timeout = std::chrono::hours(1)}, {.owner = &probe}));
    for (int round = 0; round < 16; ++round) { tick(TickMode::no_wait); }
    EXPECT_EQ(probe.count(), 1U);
}

TEST_F(ManualReactorTest, AnswersPollDueFromItsScript) {  // SCH-36
    reactor.set_poll_every(3);
    reactor.script_polls({true, false});
    const bool answers[] = {reactor.poll_due(true), reactor.poll_due(true), reactor.poll_due(true),
                            reactor.poll_due(false), reactor.poll_due(true)};
    EXPECT_TRUE(std::equal(std::begin(answers), std::end(answers), std::begin({true, false, false, false, true})));
}

TEST(ScriptedChooserTest, AnswersByKindThenInOrderThenWithTheBaseline) {
    ScriptedChooser chooser{1};
    chooser.answer(ChoiceKind::timer, {2});
    EXPECT_EQ(chooser.choose({.kind = ChoiceKind::timer, .count = 3}), 2U);
    EXPECT_EQ(chooser.choose({.kind = ChoiceKind::timer, .count = 3}), 1U);
    EXPECT_EQ(chooser.choose({.kind = ChoiceKind::ready, .count = 3}), 0U);
    EXPECT_EQ(chooser.asked(ChoiceKind::timer), 2U);
    EXPECT_EQ(chooser.questions().size(), 3U);
}

}  // namespace
}  // namespace heddle::contract
