// SPDX-License-Identifier: Apache-2.0
// Flights: what a flight recorder wrote on libuv leads a simulated world to the same end.
//
//   program on libuv ── violation │ signal │ on demand ──▶ file ──▶ read_trace ──▶ replay_flight ──▶ the same end, crossing by crossing
//
// FY1  A bug that needs production's times (a computation that takes some) is reproduced where computing takes none.
// FY2  What a signal or the program itself had written in the middle of a run is reproduced up to there.
// FY3  What a peer outside sent is what the program reads again.
// FY4  A ring that has lost something says so, and is not replayed.
// FY5  A file that cannot be written is an error that is said, and leaves nothing behind.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "heddle/core/io/tcp.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/properties/scenario/all.hpp"
#include "heddle/realreactor/uv.hpp"
#include "heddle/simreactor/explore/flight_replay.hpp"
#include "heddle/traces/flight_recorder.hpp"
#include "heddle/traces/trace_file.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

class Flights : public testing::Test {
protected:
    void SetUp() override {
        folder_ = testing::TempDir() + "heddle.XXXXXX";
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string file() const { return folder_ + "/flight.trace.json"; }
    [[nodiscard]] trace::Trace written() const {
        Result<trace::Trace> trace = trace::read_trace(file());
        EXPECT_TRUE(trace) << trace.error().text();
        return trace ? *std::move(trace) : trace::Trace{};
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
    }

    std::string folder_;
};

/// Runs in a process of its own, which a violation ends as it does in production.
void run_until_it_breaks(const sim::ScenarioCall& call, const std::string& file) {
    real::UvReactor reactor;
    trace::FlightOptions options;
    options.recipe.scenario = call.scenario->name;
    options.recipe.parameters = call.parameters.values();
    options.path = file;
    trace::FlightRecorder recorder{reactor, options};
    Runtime runtime{recorder};
    runtime.run(call.program());
}

TEST_F(Flights, ARaceOfProductionComesAboutInTheSimulator) {
    const Result<sim::ScenarioCall> call = sim::parse_call(all_scenarios(), "demo/late_answer:work=20000");
    ASSERT_TRUE(call) << call.error().text();
    // Where computing takes no time there is no bug.
    EXPECT_EQ(sim::record(*call, {.scenario = call->scenario->name}, nullptr).outcome.kind, trace::OutcomeKind::ok);

    // It is a race: a machine that is busy elsewhere may let it go well.
    int status = 0;
    const auto is_broken = [&status] { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; };
    for (int attempt = 0; attempt < 50 && !is_broken(); ++attempt) {
        const pid_t child = ::fork();
        if (child == 0) {
            static_cast<void>(std::freopen("/dev/null", "w", stderr));
            run_until_it_breaks(*call, file());
            ::_exit(0);
        }
        ASSERT_EQ(::waitpid(child, &status, 0), child);
    }
    ASSERT_TRUE(is_broken()) << "in 50 runs the bug never came about";

    const trace::Trace recorded = written();
    EXPECT_EQ(recorded.outcome.kind, trace::OutcomeKind::violation);
    EXPECT_EQ(recorded.outcome.invariant, "CHECK");
    const sim::FlightReplay led = sim::replay_flight(*call, recorded);
    EXPECT_TRUE(led.reproduced) << "FY1: " << led.trace.outcome.message;
    EXPECT_EQ(led.trace.outcome.message, recorded.outcome.message);
    EXPECT_EQ(led.met, recorded.door.size());
    // And once more, bit for bit.
    EXPECT_EQ(trace::to_json(sim::replay_flight(*call, recorded).trace), trace::to_json(led.trace));
}

TEST_F(Flights, ASignalHasTheLoopWriteWhatHasHappenedSoFar) {
    std::string left;
    const auto program = [&] {
        for (int round = 0; round < 3; ++round) { sleep_for(2ms); }
    };
    real::UvReactor reactor;
    trace::FlightOptions options;
    options.path = file();
    trace::FlightRecorder recorder{reactor, options};
    Runtime runtime{recorder};
    runtime.run([&] {
        recorder.write_on_signal(SIGUSR2);
        EXPECT_THROW(recorder.write_on_signal(SIGUSR2), AsyncError);
        program();
        ::raise(SIGUSR2);
        EXPECT_EQ(recorder.files_written(), 0U) << "FR3: the handler itself writes nothing";
        sleep_for(5ms);
        EXPECT_EQ(recorder.files_written(), 1U);
        left = "went on";
    });
    EXPECT_EQ(left, "went on");
    struct sigaction now {};
    ::sigaction(SIGUSR2, nullptr, &now);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << "given back";

    const trace::Trace recorded = written();
    EXPECT_EQ(recorded.outcome.kind, trace::OutcomeKind::cut);
    const auto simulated = [&] {
        program();
        sleep_for(5ms);
    };
    const sim::FlightReplay led = sim::replay_flight(simulated, {}, {}, recorded);
    EXPECT_TRUE(led.reproduced) << "FY2: " << led.trace.outcome.message;
}

TEST_F(Flights, WhatWasWrittenOnDemandIsReproducedUpToThere) {
    real::UvReactor reactor;
    trace::FlightRecorder recorder{reactor};
    Runtime runtime{recorder};
    runtime.run([&] {
        sleep_for(2ms);
        ASSERT_TRUE(recorder.write(file(), {.kind = trace::OutcomeKind::cut}));
        sleep_for(2ms);
    });
    const auto simulated = [] {
        sleep_for(2ms);
        sleep_for(2ms);
    };
    const sim::FlightReplay led = sim::replay_flight(simulated, {}, {}, written());
    EXPECT_TRUE(led.reproduced) << "FY2: " << led.trace.outcome.message;
    const auto edited = [] { sleep_for(3ms); };
    const sim::FlightReplay other = sim::replay_flight(edited, {}, {}, written());
    EXPECT_FALSE(other.reproduced);
    ASSERT_TRUE(other.divergence);
    EXPECT_NE(other.divergence->expected.find("open timer of source 1, value 2000000"), std::string::npos) << other.divergence->text();
    EXPECT_NE(other.divergence->found.find("value 3000000"), std::string::npos) << other.divergence->text();
}

/// A peer in another thread, as any of another process: it sends in two parts, reads the answer, and goes.
std::string ask_from_outside(const Address& at) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(at.port);
    ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) { return "not connected"; }
    static_cast<void>(::send(fd, "what ", 5, 0));
    std::this_thread::sleep_for(10ms);
    static_cast<void>(::send(fd, "now?", 4, 0));
    ::shutdown(fd, SHUT_WR);
    char buffer[64];
    const ssize_t size = ::recv(fd, buffer, sizeof buffer, MSG_WAITALL);
    ::close(fd);
    return std::string(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
}

TEST_F(Flights, WhatAPeerOutsideSentIsReadAgain) {
    std::string said;
    const auto serve = [&said](const std::function<void(const Address&)>& is_up) {
        said.clear();
        auto listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
        is_up(listener.info().local);
        TcpStream stream = listener.accept();
        char buffer[16];
        while (const std::size_t size = stream.read(buffer, sizeof buffer)) { said += "[" + std::string(buffer, size) + "]"; }
        stream.write("answer to " + said);
        said += stream.info().peer.port != 0 ? " from a port" : " from nowhere";
    };
    std::string heard;
    std::thread peer;
    real::UvReactor reactor;
    trace::FlightOptions options;
    options.keep_bytes = true;
    trace::FlightRecorder recorder{reactor, options};
    {
        Runtime runtime{recorder};
        runtime.run([&] { serve([&](const Address& at) { peer = std::thread([&heard, at] { heard = ask_from_outside(at); }); }); });
    }
    peer.join();
    const std::string on_libuv = said;
    // In two parts, unless the machine had better things to do.
    EXPECT_TRUE(on_libuv == "[what ][now?] from a port" || on_libuv == "[what now?] from a port") << on_libuv;
    EXPECT_EQ(heard + " from a port", "answer to " + on_libuv);
    const sim::FlightReplay led = sim::replay_flight([&] { serve([](const Address&) {}); }, {}, {}, recorder.take({}));
    EXPECT_TRUE(led.reproduced) << "FY3: " << led.trace.outcome.message;
    EXPECT_EQ(said, on_libuv) << "FY3";
}

TEST_F(Flights, ARingThatHasLostSomethingSaysSo) {
    real::UvReactor reactor;
    trace::FlightRecorder recorder{reactor, {.crossings_max = 16}};
    Runtime runtime{recorder};
    runtime.run([] {
        for (int round = 0; round < 10; ++round) { sleep_for(1ms); }
    });
    ASSERT_TRUE(recorder.write(file(), {}));
    const trace::Trace recorded = written();
    EXPECT_EQ(recorded.door.size(), 16U);
    EXPECT_EQ(recorded.door.back().kind, trace::DoorKind::shutdown) << "FR1: what is lost is the oldest";
    EXPECT_EQ(recorded.door_omitted + 16, recorder.crossings());
    ASSERT_TRUE(sim::why_not_followed(recorded)) << "FY4";
    EXPECT_EQ(*sim::why_not_followed(recorded),
              "the recorder's ring has lost its first " + std::to_string(recorder.lost()) +
                  " crossings: what is left shows how the run ended, and cannot be replayed");
}

TEST_F(Flights, AFileThatCannotBeWrittenLeavesNothingBehind) {
    real::UvReactor reactor;
    trace::FlightOptions options;
    options.path = folder_;  // a folder is no file
    trace::FlightRecorder recorder{reactor, options};
    Runtime runtime{recorder};
    runtime.run([&] {
        recorder.write_on_signal(SIGUSR2);
        ::raise(SIGUSR2);
        sleep_for(2ms);
    });
    EXPECT_EQ(recorder.files_written(), 0U);
    EXPECT_NE(recorder.last_error().find(folder_), std::string::npos) << recorder.last_error();
    EXPECT_EQ(files(), 0U) << "FY5";
}

}  // namespace
}  // namespace heddle::prop
