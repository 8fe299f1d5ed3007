// SPDX-License-Identifier: Apache-2.0
// The ring of a flight recorder, on a reactor that is driven by hand. On libuv: properties/flight_property.cpp.
#include "heddle/traces/flight_recorder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heddle/core/base/error.hpp"
#include "heddle/core/seam/testing/manual_reactor.hpp"

namespace heddle::trace {
namespace {

struct Silent final : ReactorSink {
    void deliver(const Delivery& delivery) noexcept override {
        if (delivery.owner != nullptr) { delivery.owner->on_delivery(delivery); }
    }
    [[nodiscard]] bool has_ready_work() const noexcept override { return false; }
};

std::string told(const Trace& trace) {
    std::string text;
    for (const DoorEntry& entry : trace.door) { text += describe(entry) + "\n"; }
    return text;
}

TEST(FlightRecorder, KeepsWhatCrossesTheDoorInItsOrder) {
    heddle::testing::ManualReactor reactor;
    FlightRecorder recorder(reactor);
    Silent sink;
    recorder.startup(sink);
    const SourceId timer = recorder.open_timer({.timeout = std::chrono::milliseconds(5)}, {});
    recorder.start(timer);
    EXPECT_EQ(recorder.active_events(), reactor.active_events()) << "RD1";
    EXPECT_TRUE(recorder.alive());
    recorder.stop(timer);
    EXPECT_FALSE(recorder.alive());
    recorder.close(timer);
    recorder.shutdown();
    EXPECT_EQ(told(recorder.take({})),
              "startup\nopen timer of source 1, value 5000000\nstart of source 1\nstop of source 1\nclose of source 1\nshutdown\n");
}

TEST(FlightRecorder, HasNoShortWays) {
    heddle::testing::ManualReactor reactor;
    EXPECT_FALSE(FlightRecorder(reactor).has_short_ways()) << "RD2";
}

TEST(FlightRecorder, CountsPollsThatAreNotDueInsteadOfKeepingEachOfThem) {
    heddle::testing::ManualReactor reactor;
    FlightRecorder recorder(reactor, {.crossings_max = 4});
    Silent sink;
    recorder.startup(sink);
    std::uint64_t asked = 0;
    for (int i = 0; i < 100; ++i) { asked += recorder.poll_due(true) ? 0 : 1; }
    std::uint64_t kept = 0;
    for (const DoorEntry& entry : recorder.take({}).door) { kept += entry.value == 0 ? entry.count : 0; }
    EXPECT_LE(recorder.take({}).door.size(), 4U);
    if (recorder.lost() == 0) { EXPECT_EQ(kept, asked); }
    recorder.shutdown();
}

TEST(FlightRecorder, LosesTheOldestAndSaysHowMany) {
    heddle::testing::ManualReactor reactor;
    FlightRecorder recorder(reactor, {.crossings_max = 3});
    Silent sink;
    recorder.startup(sink);
    const SourceId timer = recorder.open_timer({.timeout = std::chrono::milliseconds(5)}, {});
    recorder.start(timer);
    recorder.stop(timer);
    recorder.close(timer);
    const Trace trace = recorder.take({});
    EXPECT_EQ(told(trace), "start of source 1\nstop of source 1\nclose of source 1\n");
    EXPECT_EQ(trace.door_omitted, 2U);
    EXPECT_EQ(recorder.crossings(), 5U);
    recorder.shutdown();
}

TEST(FlightRecorder, ForgetsAnEarlierRunAtTheNextStart) {
    heddle::testing::ManualReactor reactor;
    FlightRecorder recorder(reactor);
    Silent sink;
    recorder.startup(sink);
    recorder.shutdown();
    recorder.startup(sink);
    EXPECT_EQ(told(recorder.take({})), "startup\n");
    recorder.shutdown();
}

TEST(FlightRecorder, IsTheViolationSinkWhileItIsUpAndNoLonger) {
    struct Outer final : ViolationSink {
        std::vector<std::string> seen;
        void violated(const Violation& violation) override {
            seen.push_back(violation.invariant);
            throw 1;  // as a world, does not come back
        }
    } outer;
    ViolationSink* const before = exchange_violation_sink(&outer);
    {
        heddle::testing::ManualReactor reactor;
        FlightRecorder recorder(reactor);
        Silent sink;
        recorder.startup(sink);
        EXPECT_NE(violation_sink(), &outer);
        EXPECT_THROW(report_violation({"INV-TEST", "told on", "", 0}), int);
        recorder.shutdown();
    }
    EXPECT_EQ(violation_sink(), &outer);
    exchange_violation_sink(before);
    EXPECT_EQ(outer.seen, std::vector<std::string>{"INV-TEST"});
}

TEST(FlightRecorder, KeepsAtLeastOneCrossing) {
    heddle::testing::ManualReactor reactor;
    EXPECT_THROW(FlightRecorder(reactor, {.crossings_max = 0}), ValueError);
}

}  // namespace
}  // namespace heddle::trace
