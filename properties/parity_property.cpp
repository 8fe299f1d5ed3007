// SPDX-License-Identifier: Apache-2.0
// Parity: one program on libuv and in the simulator goes the same ways. What libuv was seen to do, the simulator can do.
//
//   program ── on libuv, `runs_max` times, at the door a flight recorder ──▶ traces ──┐
//      └────── in the simulator, led by each of them ─────────────────────────────────┴──▶ the same crossings in the same order
//
// PY1  Where libuv says one thing, the simulator's baseline says it, too: production's answers are answer 0.
// PY2  A recorded order that the simulator cannot produce is a failure (flight_follower.hpp says what leads it, and what it may
//      hold back). Bound: 20 runs of each program.
// PY3  An order that no reactor may give is found: a recording in which two deliveries have changed places is not followed.
// What programs say names no ports, no times and no descriptors: those are each world's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "heddle/core/io/file.hpp"
#include "heddle/core/io/io_error.hpp"
#include "heddle/core/io/process.hpp"
#include "heddle/core/io/signal.hpp"
#include "heddle/core/io/tcp.hpp"
#include "heddle/core/io/udp.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/realreactor/uv.hpp"
#include "heddle/simreactor/explore/flight_replay.hpp"
#include "heddle/simreactor/net/testing/programs.hpp"
#include "heddle/traces/flight_recorder.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// What a program finds outside, and what it says.
struct Side {
    std::string folder;
    std::function<void(int)> raise;
    std::string said{};
    void say(const std::string& what) { said += (said.empty() ? "" : " | ") + what; }
};

struct Parity {
    std::string name;
    void (*program)(Side&);
};

std::string read_word(Stream& stream, std::size_t size) {
    std::string word(size, '\0');
    word.resize(stream.read_exactly(std::as_writable_bytes(std::span(word))));
    return word;
}

std::string code_of(const OperationError& error) {
    if (error.is_closed()) { return "closed"; }
    const int code = error.code();
    return code == ECONNRESET || code == EPIPE ? "reset" : code == ECONNREFUSED ? "refused" : error.what();
}

struct Pair {
    TcpStream client;
    TcpStream server;
};

Pair connected() {
    auto listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
    const Address at = listener.info().local;
    TcpStream client;
    const auto connecting = spawn([&] { client = TcpStream::connect(at); });
    TcpStream server = listener.accept();
    connecting.await();
    return {std::move(client), std::move(server)};
}

// ── the programs ──

void echo(Side& side) {
    Pair pair = connected();
    const auto server = spawn([&] {
        for (std::string word = read_word(pair.server, 3); !word.empty(); word = read_word(pair.server, 3)) {
            side.say("server " + word);
            pair.server.write(word);
        }
        side.say("server end");
    });
    for (const std::string word : {"one", "two"}) {
        pair.client.write(word);
        side.say("client " + read_word(pair.client, 3));
    }
    pair.client.shutdown();
    server.await();
}

void half_close(Side& side) {
    Pair pair = connected();
    pair.client.write("question");
    pair.client.shutdown();
    side.say(pair.server.read_all(100));
    pair.server.write("answer");
    pair.server.close();
    side.say(pair.client.read_all(100));
    try {
        pair.client.write("more");
        side.say("written");
    } catch (const OperationError& error) { side.say(code_of(error)); }
}

void reset_while_writing(Side& side) {
    Pair pair = connected();
    const std::string large(16 * 1024 * 1024, 'w');
    const auto writer = spawn([&] {
        try {
            pair.client.write(large);
            side.say("written");
        } catch (const OperationError& error) { side.say("writer " + code_of(error)); }
    });
    side.say("server read " + read_word(pair.server, 4));
    pair.server.close();
    writer.await();
    try {
        pair.client.write("again");
        side.say("written");
    } catch (const OperationError& error) { side.say(code_of(error)); }
}

void many_writers(Side& side) {
    Pair pair = connected();
    std::vector<Coroutine<void>> writers;
    for (int number = 0; number < 4; ++number) {
        writers.push_back(spawn([&, number] {
            pair.client.write(std::string(300'000, static_cast<char>('a' + number)));
            side.say(std::string("written ") + static_cast<char>('a' + number));
        }));
    }
    yield();
    std::string order;
    for (int number = 0; number < 4; ++number) {
        const std::string block = read_word(pair.server, 300'000);
        order += block.find_first_not_of(block[0]) == std::string::npos ? block[0] : '?';
    }
    for (const auto& writer : writers) { writer.await(); }
    side.say(order);
}

void close_while_reading(Side& side) {
    Pair pair = connected();
    const auto reader = spawn([&] {
        char byte = 0;
        try {
            pair.client.read(&byte, 1);
        } catch (const OperationError& error) { side.say("reader " + code_of(error)); }
    });
    yield();
    pair.client.close();
    side.say("closed");
    reader.await();
    side.say("server read '" + pair.server.read_all(10) + "'");
}

void udp_burst(Side& side) {
    UdpSocket from = UdpSocket::bind(Address::ip("127.0.0.1", 0));
    UdpSocket to = UdpSocket::bind(Address::ip("127.0.0.1", 0));
    for (std::size_t size = 0; size < 20; ++size) { from.send(std::string(size, 'x'), to.info().local); }
    std::string sizes;
    std::byte buffer[64];
    for (int count = 0; count < 20; ++count) { sizes += std::to_string(to.receive(buffer).size) + " "; }
    side.say(sizes);
}

void file_append(Side& side) {
    File file = File::open(side.folder + "/log", {.flags = open_read | open_write | open_create | open_append});
    std::vector<Coroutine<void>> writers;
    for (int number = 0; number < 5; ++number) {
        writers.push_back(spawn([&, number] {
            file.write(std::string(3, static_cast<char>('a' + number)));
            side.say(std::string(1, static_cast<char>('a' + number)));
        }));
    }
    for (const auto& writer : writers) { writer.await(); }
    file.flush();
    file.seek(0);
    side.say(file.read_all(100));
}

void signal_storm(Side& side) {
    SignalWatch watch(SIGUSR1);
    std::uint64_t heard = 0;
    const auto listener = spawn([&] { heard += watch.wait(); });
    yield();
    for (int count = 0; count < 3; ++count) { side.raise(SIGUSR1); }
    listener.await();
    side.say(heard >= 1 && heard <= 3 ? "heard" : "not heard: " + std::to_string(heard));
}

void child_with_pipes(Side& side) {
    Process child({.arguments = {"cat"}, .input = ChildStream::pipe, .output = ChildStream::pipe});
    const std::string text(150'000, 'c');  // more than both pipes hold
    const auto writer = spawn([&] {
        child.input().write(text);
        child.input().close();
    });
    side.say(child.output().read_all(1'000'000) == text ? "copied" : "not copied");
    writer.await();
    side.say("ended with " + std::to_string(child.wait()));
}

void refused(Side& side) {
    Address at;
    {
        auto listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
        at = listener.info().local;
    }
    try {
        TcpStream::connect(at);
        side.say("connected");
    } catch (const OperationError& error) { side.say(code_of(error)); }
}

// ── on both ──

struct Recorded {
    std::string said;
    trace::Trace trace;
};

Recorded on_libuv(const Parity& parity) {
    std::string folder = testing::TempDir() + "heddle.XXXXXX";
    EXPECT_NE(::mkdtemp(folder.data()), nullptr);
    Side side{folder, [](int number) { ::raise(number); }};
    real::UvReactor reactor;
    trace::FlightOptions options;
    options.recipe.scenario = "parity/" + parity.name;
    trace::FlightRecorder recorder{reactor, options};
    Runtime runtime{recorder};
    runtime.run([&] { parity.program(side); });
    std::filesystem::remove_all(side.folder);
    return {side.said, recorder.take({})};
}

sim::Program simulated(const Parity& parity, std::string& said) {
    return [&parity, &said] {
        sim::SimReactor& reactor = sim::World::current()->reactor();
        sim::testing::install_programs(reactor.machine());
        Side side{"", [&reactor](int number) { reactor.raise_signal(number); }};
        parity.program(side);
        said = side.said;
    };
}

class ParityOf : public testing::TestWithParam<Parity> {};

TEST_P(ParityOf, TheSimulatorGoesEveryWayThatLibuvWent) {
    constexpr int runs_max = 20;
    std::set<std::string> words;
    std::size_t met = 0;
    std::size_t held = 0;
    for (int run = 0; run < runs_max; ++run) {
        const Recorded real = on_libuv(GetParam());
        ASSERT_EQ(sim::why_not_followed(real.trace), std::nullopt);
        std::string said;
        const sim::FlightReplay led = sim::replay_flight(simulated(GetParam(), said), {}, {}, real.trace);
        ASSERT_TRUE(led.reproduced) << "PY2, run " << run << ": " << led.trace.outcome.message;
        EXPECT_EQ(said, real.said) << "PY2, run " << run;
        words.insert(real.said);
        met += led.met;
        held += led.held;
    }
    RecordProperty("crossings", static_cast<int>(met));
    RecordProperty("held_back", static_cast<int>(held));

    std::string baseline;
    sim::World world;
    const sim::Outcome outcome = world.run(simulated(GetParam(), baseline));
    ASSERT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
    if (words.size() == 1) { EXPECT_EQ(baseline, *words.begin()) << "PY1"; }
}

const Parity programs[] = {{"Echo", echo},
                           {"HalfClose", half_close},
                           {"ResetWhileWriting", reset_while_writing},
                           {"ManyWritersOnOneHandle", many_writers},
                           {"CloseWhileReading", close_while_reading},
                           {"UdpBurst", udp_burst},
                           {"FileAppendFromManyCoroutines", file_append},
                           {"SignalStorm", signal_storm},
                           {"ChildWithBothPipes", child_with_pipes},
                           {"Refused", refused}};

INSTANTIATE_TEST_SUITE_P(Program, ParityOf, testing::ValuesIn(programs),
                         [](const testing::TestParamInfo<Parity>& parameter) { return parameter.param.name; });

// ── what no reactor does ──

/// Two writes of one handle, a timer each for two sleepers, an answer to a question.
void orderly(Side& side) {
    Pair pair = connected();
    const std::string large(16 * 1024 * 1024, 'l');  // more than a kernel takes at once
    const auto first = spawn([&] { pair.client.write(large); });
    const auto second = spawn([&] { pair.client.write("second"); });
    const auto early = spawn([&] { sleep_for(3ms); side.say("early"); });
    const auto late = spawn([&] { sleep_for(9ms); side.say("late"); });
    yield();
    read_word(pair.server, large.size() + 6);
    for (const auto& each : {first, second, early, late}) { each.await(); }
}

/// The trace with the deliveries of two sources in each other's place; all else is as it was.
trace::Trace exchanged(trace::Trace trace, const std::string& what) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < trace.door.size(); ++at) {
        if (trace.door[at].kind == trace::DoorKind::deliver && trace.door[at].what == what) { found.push_back(at); }
    }
    EXPECT_GE(found.size(), 2U) << what;
    if (found.size() >= 2) { std::swap(trace.door[found[found.size() - 2]], trace.door[found.back()]); }
    return trace;
}

TEST(Parity, AnOrderThatNoReactorGivesIsNotFollowed) {
    const Parity parity{"Orderly", orderly};
    const Recorded real = on_libuv(parity);
    std::string said;
    ASSERT_TRUE(sim::replay_flight(simulated(parity, said), {}, {}, real.trace).reproduced);
    for (const std::string what : {"write", "timer"}) {
        const trace::Trace impossible = exchanged(real.trace, what);
        const sim::FlightReplay led = sim::replay_flight(simulated(parity, said), {}, {}, impossible);
        EXPECT_FALSE(led.reproduced) << "PY3: " << what;
        ASSERT_TRUE(led.divergence) << "PY3: " << what;
        EXPECT_EQ(led.trace.outcome.kind, trace::OutcomeKind::diverged);
        EXPECT_FALSE(led.divergence->before.empty());
    }
    // What comes before it was asked for.
    trace::Trace hasty = real.trace;
    const auto answer = std::ranges::find_if(hasty.door, [](const trace::DoorEntry& entry) {
        return entry.kind == trace::DoorKind::deliver && entry.what == "read";
    });
    ASSERT_NE(answer, hasty.door.end());
    const auto asked = std::ranges::find_if(hasty.door, [&](const trace::DoorEntry& entry) {
        return entry.kind == trace::DoorKind::submit && entry.source == answer->source;
    });
    std::rotate(asked, answer, answer + 1);
    EXPECT_TRUE(sim::replay_flight(simulated(parity, said), {}, {}, hasty).divergence);
}

}  // namespace
}  // namespace heddle::prop
