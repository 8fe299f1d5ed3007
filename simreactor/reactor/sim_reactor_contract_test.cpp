// SPDX-License-Identifier: Apache-2.0
// The simulated reactor keeps the Reactor contract: as the baseline, and under seven seeds of a random walk through its
// choices.
#include "heddle/core/seam/reactor_contract.hpp"

#include <string>
#include <utility>

#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::contract {
namespace {

class SimHarness final : public ReactorHarness {
public:
    explicit SimHarness(sim::SimReactorOptions options) : reactor_(std::move(options)) {}
    SimHarness(sim::SimReactorOptions options, std::uint64_t seed)
        : random_(seed), reactor_(with(std::move(options))) {}

    Reactor& reactor() override { return reactor_; }
    void pass_time(Duration by) override { reactor_.burn(by); }

    int open_descriptor(bool) override {
        const int fd = reactor_.make_descriptor();
        reactor_.set_ready(fd, PollBits::writable);
        return fd;
    }
    void make_readable(int fd) override { reactor_.set_ready(fd, PollBits::readable); }
    void drain(int fd) override { reactor_.clear_ready(fd, PollBits::readable); }
    void fill(int fd) override { reactor_.clear_ready(fd, PollBits::writable); }
    void make_writable(int fd) override { reactor_.set_ready(fd, PollBits::writable); }
    void hang_up(int fd) override { reactor_.hang_up(fd); }
    bool is_open(int fd) override { return reactor_.is_open(fd); }

    void run_elsewhere(std::function<void()> body) override { body(); }
    void hold_workers() override { reactor_.hold_workers(); }
    void release_workers() override { reactor_.release_workers(); }

    void raise_signal(int number) override { reactor_.raise_signal(number); }
    int test_signal(int which) const override { return which == 0 ? 10 : 12; }

    int start_child() override { return reactor_.start_child(); }
    void end_child(int pid, int code) override { reactor_.end_child(pid, code); }
    int reaped_child() override {
        const int pid = reactor_.start_child();
        reactor_.reap_elsewhere(pid);
        return pid;
    }

private:
    sim::SimReactorOptions with(sim::SimReactorOptions options) {
        options.chooser = &random_;
        return options;
    }

    sim::RandomChooser random_{0};
    sim::SimReactor reactor_;
};

/// The contract looks at short spans of ticks in which time must not move by itself (RCT-6): the bound of CP-TIME is
/// beyond them.
sim::SimReactorOptions options_at(sim::TimeLevel level) {
    sim::SimReactorOptions options;
    options.timing = sim::Timing::at(level);
    options.fairness.time = 10'000;
    return options;
}

std::vector<ReactorBackend> backends() {
    std::vector<ReactorBackend> all;
    for (const auto level : {sim::TimeLevel::T0, sim::TimeLevel::T1, sim::TimeLevel::T2, sim::TimeLevel::T3, sim::TimeLevel::T4}) {
        all.push_back({"Fifo" + std::string(trace::to_string(level)),
                       [level] { return std::make_unique<SimHarness>(options_at(level)); }});
    }
    // Under chance a tick may put off what the contract expects of the next tick of an unhurried world, where it
    // waits for one tick only: ticks without callbacks and time that moves by itself are left out, all else is in.
    for (std::uint64_t seed = 1; seed <= 7; ++seed) {
        all.push_back({"Seed" + std::to_string(seed), [seed] {
                           sim::SimReactorOptions options = options_at(sim::TimeLevel::T0);
                           options.mask =
                               sim::ChoiceMask::all().without(ChoiceKind::time).without(ChoiceKind::spurious);
                           return std::make_unique<SimHarness>(options, seed);
                       }});
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Sim, ReactorContract, ::testing::ValuesIn(backends()), backend_name);

}  // namespace
}  // namespace heddle::contract
