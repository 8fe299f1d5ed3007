// SPDX-License-Identifier: Apache-2.0
// What the Reactor contract needs beside its tests: the outside world as a backend offers it to them, and a sink that
// remembers and checks what holds for every delivery.
//
//   test ── make_readable, raise_signal, … ──▶ ReactorHarness ──▶ backend ── deliver ──▶ ContractSink ──▶ Probe
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/seam/reactor.hpp"

namespace heddle::contract {

using namespace std::chrono_literals;

/// How a backend lets a test play the outside world. Everything takes effect before the call returns, unless it says
/// otherwise.
class ReactorHarness {
public:
    virtual ~ReactorHarness() = default;
    /// Not started up; the same object for the whole life of the harness.
    virtual Reactor& reactor() = 0;

    /// True time goes by (by at least this much) without a tick, as while a program computes.
    virtual void pass_time(Duration by) = 0;

    /// A new descriptor: nothing to read, writable. The harness holds its other end. @param stream else a datagram
    /// socket
    virtual int open_descriptor(bool stream) = 0;
    virtual void make_readable(int fd) = 0;  ///< the other end sends
    virtual void drain(int fd) = 0;          ///< reads all there is
    virtual void fill(int fd) = 0;           ///< writes until it is not writable any more
    virtual void make_writable(int fd) = 0;  ///< the other end reads all there is
    virtual void hang_up(int fd) = 0;        ///< the other end goes away
    [[nodiscard]] virtual bool is_open(int fd) = 0;

    /// Runs `body` on another thread, or as one would; it may begin before or after this call returns.
    virtual void run_elsewhere(std::function<void()> body) = 0;
    /// From its return to `release_workers` no task that is submitted begins.
    virtual void hold_workers() = 0;
    virtual void release_workers() = 0;

    virtual void raise_signal(int number) = 0;
    /// A signal that the tests may use; `which` is 0 or 1.
    [[nodiscard]] virtual int test_signal(int which) const = 0;

    /// A child that runs until it is told to end.
    virtual int start_child() = 0;
    /// @param code exit code, or -(signal); the child has ended, and was not waited for, when this returns
    virtual void end_child(int pid, int code) = 0;
    /// The pid of a child that ended and was waited for by somebody else.
    virtual int reaped_child() = 0;
};

struct ReactorBackend {
    std::string name;
    std::function<std::unique_ptr<ReactorHarness>()> make;
};

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string backend_name(const ::testing::TestParamInfo<ReactorBackend>& info) { return info.param.name; }
inline void PrintTo(const ReactorBackend& backend, std::ostream* out) { *out << backend.name; }

/// One delivery as a test remembers it.
struct Seen {
    SourceId source;
    SourceKind kind = SourceKind::none;
    Label label;
    std::int64_t value = 0;
    std::int32_t error = 0;
    bool cancelled = false;
    bool closed = false;
    Instant now;             ///< the reactor's clock inside the callback
    std::uint64_t tick = 0;  ///< number of the tick that it came in, counted from 1
    std::size_t active = 0;  ///< active event count inside the callback
};

/// Owner of a source: remembers what came, then does what the test asks for.
class Probe final : public SourceOwner {
public:
    std::function<void(const Seen&)> then;
    [[nodiscard]] std::size_t count() const { return seen.size(); }
    void on_delivery(const Delivery&) override {}
    std::vector<Seen> seen;
};

class ContractSink final : public ReactorSink {
public:
    explicit ContractSink(Reactor& reactor) : reactor_(reactor) {}

    void deliver(const Delivery& delivery) noexcept override {
        const Seen seen{delivery.source,    delivery.kind,   delivery.label, delivery.value, delivery.error,
                        delivery.cancelled, delivery.closed, reactor_.now(), ticks,          reactor_.active_events()};
        log.push_back(seen);
        EXPECT_TRUE(in_tick || in_start) << "a callback outside tick and start (RCT-8)";
        EXPECT_EQ(depth, 0) << "deliveries come one at a time";
        EXPECT_FALSE(ended[delivery.source]) << "a delivery after the close completion (RCT-55)";
        if (delivery.closed) {
            EXPECT_EQ(delivery.owner, nullptr);
            ended[delivery.source] = true;
        }
        if (delivery.owner == nullptr) { return; }
        auto& probe = *static_cast<Probe*>(delivery.owner);
        EXPECT_FALSE(silent[delivery.source]) << "a delivery after stop or close returned (RCT-11)";
        probe.seen.push_back(seen);
        ++depth;
        if (probe.then) { probe.then(seen); }
        --depth;
    }
    [[nodiscard]] bool has_ready_work() const noexcept override {
        if (before_wait) { std::exchange(before_wait, nullptr)(); }
        return ready_work;
    }

    std::vector<Seen> log;
    std::map<SourceId, bool> ended;
    std::map<SourceId, bool> silent;  // stopped or closed by the test
    std::uint64_t ticks = 0;
    bool in_tick = false;
    bool in_start = false;
    int depth = 0;
    bool ready_work = false;
    mutable std::function<void()> before_wait;  // once, when the backend is about to block

private:
    Reactor& reactor_;
};

}  // namespace heddle::contract
