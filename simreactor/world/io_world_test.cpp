// SPDX-License-Identifier: Apache-2.0
// Programs with input and output in a simulated world: on one machine, and on several with links that take time, break and heal.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "heddle/core/io/dns.hpp"
#include "heddle/core/io/file.hpp"
#include "heddle/core/io/io_error.hpp"
#include "heddle/core/io/pipe.hpp"
#include "heddle/core/io/process.hpp"
#include "heddle/core/io/signal.hpp"
#include "heddle/core/io/tcp.hpp"
#include "heddle/core/io/udp.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/net/child_process.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

std::string run(World& world, const Program& program) {
    const Outcome outcome = world.run(program);
    return outcome.kind == trace::OutcomeKind::ok ? "ok" : outcome.invariant + ": " + outcome.message;
}

std::string run(const Program& program, WorldOptions options = {}) {
    World world(std::move(options));
    return run(world, program);
}

void echo(TcpStream& stream) {
    char buffer[128];
    while (const std::size_t size = stream.read(buffer, sizeof buffer)) { stream.write(std::string_view(buffer, size)); }
    stream.shutdown();
}

Address port_80(std::string_view host) {
    Address at = resolve_name(host).front();
    at.port = 80;
    return at;
}

void serve_echo() {
    auto listener = TcpListener::bind(Address::ip("0.0.0.0", 80));
    TcpStream stream = listener.accept();
    echo(stream);
}

TEST(IoWorld, EchoesInsideOneMachine) {
    EXPECT_EQ(run([] {
                  const auto server = spawn("server", serve_echo);
                  yield();
                  TcpStream client = TcpStream::connect("localhost", 80);
                  for (const std::string word : {"one", "two", "three"}) {
                      client.write(word);
                      std::string answer(word.size(), '\0');
                      client.read_exactly(std::as_writable_bytes(std::span(answer)));
                      EXPECT_EQ(answer, word);
                  }
                  client.shutdown();
                  EXPECT_EQ(client.read_all(10), "");
                  server.await();
                  try {
                      TcpStream::connect("localhost", 80);
                      ADD_FAILURE();
                  } catch (const OperationError& error) { EXPECT_EQ(error.code(), ECONNREFUSED); }
              }),
              "ok");
}

TEST(IoWorld, LinkTakesItsTimeBothWays) {
    WorldOptions options;
    options.network.link = Latency::exactly(10ms);
    World world(options);
    world.add_node("server", serve_echo);
    EXPECT_EQ(run(world,
                  [] {
                      Runtime& runtime = current_runtime("test");
                      sleep_for(1ms);
                      const Instant begin = runtime.now();
                      TcpStream client = TcpStream::connect("server", 80);
                      EXPECT_EQ(runtime.now() - begin, 20ms);
                      client.write("ping");
                      std::string answer(4, '\0');
                      client.read_exactly(std::as_writable_bytes(std::span(answer)));
                      EXPECT_EQ(runtime.now() - begin, 40ms);
                  }),
              "ok");
}

TEST(IoWorld, PartitionHoldsWhatIsSentUntilItHeals) {
    WorldOptions options;
    options.network.link = Latency::exactly(1ms);
    World world(options);
    world.add_node("server", serve_echo);
    EXPECT_EQ(run(world,
                  [] {
                      World& here = *World::current();
                      sleep_for(1ms);
                      TcpStream client = TcpStream::connect("server", 80);
                      here.network().partition(here.machine(0), here.machine(1));
                      client.write("ping");
                      char buffer[4];
                      EXPECT_THROW(client.read(buffer, 4, {.timeout = 10s}), TimeoutError);
                      here.network().rejoin(here.machine(0), here.machine(1));
                      EXPECT_EQ(client.read(buffer, 4, {.timeout = 10ms}), 4U);
                  }),
              "ok");
}

TEST(IoWorld, NodeThatCrashesForgetsWhatItDidNotFlushAndStartsAnew) {
    const auto starts = std::make_shared<std::vector<std::string>>();
    WorldOptions options;
    options.network.link = Latency::exactly(1ms);
    World world(options);
    world.add_node("store", [starts] {
        File file = File::open("/log", {.flags = open_read | open_write | open_create});
        starts->push_back(file.read_all(100));
        file.write("durable ");
        file.flush();
        file.write("not yet ");
        auto listener = TcpListener::bind(Address::ip("0.0.0.0", 80));
        for (;;) {
            TcpStream stream = listener.accept();
            char byte = 0;
            if (stream.read(&byte, 1) == 1 && byte == 'q') { return; }
        }
    });
    EXPECT_EQ(run(world,
                  [] {
                      World& here = *World::current();
                      sleep_for(5ms);
                      TcpStream before = TcpStream::connect("store", 80);
                      here.crash(1);
                      EXPECT_TRUE(here.has_crashed(1));
                      char byte = 0;
                      EXPECT_THROW(before.read(&byte, 1, {.timeout = 1s}), TimeoutError) << "nobody tells its peers";
                      here.restart(1);
                      sleep_for(5ms);
                      before.write("x");
                      try {
                          before.read(&byte, 1);
                          ADD_FAILURE();
                      } catch (const OperationError& error) { EXPECT_EQ(error.code(), ECONNRESET); }
                      TcpStream::connect("store", 80).write("q");
                  }),
              "ok");
    EXPECT_EQ(*starts, (std::vector<std::string>{"", "durable "}));
}

/// Each node tells every other one, each second, how often it has been told; links break and heal, nodes crash and start anew.
struct Gossip {
    static constexpr int nodes = 5;
    std::uint64_t told = 0;
    std::uint64_t failed = 0;

    void serve() {
        auto listener = TcpListener::bind(Address::ip("0.0.0.0", 80));
        for (;;) {
            TcpStream stream = listener.accept();
            char byte = 0;
            try {
                if (stream.read(&byte, 1, {.timeout = 2s}) == 1) { ++told; }
            } catch (const TimeoutError&) {
                ++failed;
            } catch (const OperationError&) { ++failed; }
        }
    }
    void tell(int self) {
        for (;;) {
            sleep_for(1s);
            for (int other = 1; other <= nodes; ++other) {
                if (other == self) { continue; }
                try {
                    TcpStream stream = TcpStream::connect("node" + std::to_string(other), 80, {.timeout = 500ms});
                    stream.write("x");
                } catch (const TimeoutError&) {
                    ++failed;
                } catch (const OperationError&) { ++failed; }
            }
        }
    }
};

std::string gossip(std::uint64_t seed, Duration span, Gossip& all) {
    static constexpr const char* names[] = {"node1", "node2", "node3", "node4", "node5"};
    WorldOptions options;
    options.seed = seed;
    options.dispatches_max = 0;
    options.network.link = Latency::exactly(2ms);
    World world(options);
    for (int self = 1; self <= Gossip::nodes; ++self) {
        world.add_node(names[self - 1],
                       [&all, self] {
                           const auto server = spawn("server", [&all] { all.serve(); });
                           all.tell(self);
                       },
                       {.daemon = true});
    }
    return run(world, [span] {
        World& here = *World::current();
        Prng chance = here.prng().stream("trouble");
        const Instant end = now() + span;
        while (now() < end) {
            sleep_for(10s);
            const auto a = static_cast<std::size_t>(chance.between(1, Gossip::nodes));
            const auto b = static_cast<std::size_t>(chance.between(1, Gossip::nodes));
            if (a != b) {
                here.network().partition(here.machine(a), here.machine(b));
                sleep_for(5s);
                here.network().rejoin(here.machine(a), here.machine(b));
            } else {
                here.crash(a);
                sleep_for(3s);
                here.restart(a);
            }
        }
    });
}

TEST(IoWorld, FiveNodesGossipThroughPartitionsAndCrashesTheSameEachTime) {
    Gossip first;
    Gossip second;
    Gossip other;
    EXPECT_EQ(gossip(1, 600s, first), "ok");
    EXPECT_EQ(gossip(1, 600s, second), "ok");
    EXPECT_EQ(gossip(2, 600s, other), "ok");
    EXPECT_EQ(first.told, second.told);
    EXPECT_EQ(first.failed, second.failed);
    EXPECT_GT(first.told, 5'000U);
    EXPECT_GT(first.failed, 10U);
    EXPECT_NE(std::pair(first.told, first.failed), std::pair(other.told, other.failed));
}

TEST(IoWorld, NodeThatIsBusyDoesNotCarryTimePastWhatOthersHaveToDo) {  // WD4
    const auto times = std::make_shared<std::vector<Duration>>();
    World world;
    world.add_node("ticker", [times] {
        for (int count = 0; count < 3; ++count) {
            sleep_for(1ms);
            times->push_back(now() - Instant{});
        }
    });
    EXPECT_EQ(run(world,
                  [] {
                      const auto sleeper = spawn("sleeper", [] { sleep_for(1s); });
                      while (now() < Instant{} + 1s) { yield(); }
                      sleeper.await();
                  }),
              "ok");
    EXPECT_EQ(*times, (std::vector<Duration>{1ms, 2ms, 3ms}));
}

TEST(IoWorld, DaemonsEndWithTheLastOfTheOthers) {
    WorldOptions options;
    options.network.link = Latency::exactly(1ms);
    World world(options);
    bool has_ended = false;
    world.add_node("server",
                   [&has_ended] {
                       struct Ended {
                           bool& flag;
                           ~Ended() { flag = true; }
                       } ended{has_ended};
                       for (;;) { serve_echo(); }
                   },
                   {.daemon = true});
    for (int round = 0; round < 2; ++round) {
        has_ended = false;
        EXPECT_EQ(run(world,
                      [] {
                          sleep_for(1ms);
                          TcpStream client = TcpStream::connect("server", 80);
                          client.write("x");
                          char byte = 0;
                          EXPECT_EQ(client.read(&byte, 1), 1U);
                      }),
                  "ok");
        EXPECT_TRUE(has_ended);
    }
}

TEST(IoWorld, PlanOfFaultsStrikesTheProgram) {
    WorldOptions options;
    options.network.faults.rules = {{.kind = FaultKind::connect_refused, .nth = 2},
                                    {.kind = FaultKind::name_try_again, .nth = 1},
                                    {.kind = FaultKind::disk_full, .ratio = {1, 1}}};
    World world(options);
    EXPECT_EQ(run(world,
                  [] {
                      EXPECT_THROW(resolve_name("localhost"), NameError);
                      auto listener = TcpListener::bind(port_80("localhost"));
                      const Address at = listener.info().local;
                      TcpStream first = TcpStream::connect(at);
                      EXPECT_THROW(TcpStream::connect(at), OperationError);
                      TcpStream third = TcpStream::connect(at);
                      File file = File::open("/full", {.flags = open_write | open_create});
                      EXPECT_THROW(file.write("x"), OperationError);
                      Faults& faults = World::current()->network().faults();
                      EXPECT_EQ(faults.struck(FaultKind::connect_refused), 1U);
                      EXPECT_EQ(faults.opportunities(FaultKind::connect_refused), 3U);
                      EXPECT_EQ(faults.struck(FaultKind::disk_full), 1U);
                      EXPECT_EQ(faults.struck(FaultKind::connection_reset), 0U);
                  }),
              "ok");
    EXPECT_EQ(world.fault_totals().of(FaultKind::connect_refused), (FaultTotals::Count{3, 1}));
    EXPECT_EQ(world.fault_totals().of(FaultKind::disk_full).struck, 1U);
}

TEST(IoWorld, ExplorerChoosesNoMoreFaultsThanItMay) {
    struct Always final : Chooser {
        std::uint32_t choose(const ChoicePoint& point) override { return point.kind == ChoiceKind::fault ? 1 : 0; }
    } always;
    WorldOptions options;
    options.chooser = &always;
    options.faults = true;
    options.network.chosen_faults_max = 3;
    World world(options);
    int failed = 0;
    EXPECT_EQ(run(world,
                  [&failed] {
                      for (int count = 0; count < 10; ++count) {
                          try {
                              static_cast<void>(resolve_name("localhost"));
                          } catch (const NameError&) { ++failed; }
                      }
                  }),
              "ok");
    EXPECT_EQ(failed, 3);
    EXPECT_EQ(world.fault_totals().of(FaultKind::name_unknown), (FaultTotals::Count{10, 3}));
}

TEST(IoWorld, PipesDatagramsAndNames) {
    EXPECT_EQ(run([] {
                  auto listener = PipeListener::bind("/service");
                  const auto client = spawn([] {
                      PipeStream stream = PipeStream::connect("/service");
                      stream.write("through a pipe");
                  });
                  EXPECT_EQ(listener.accept().read_all(100), "through a pipe");
                  client.await();
                  int ends[2];
                  ASSERT_EQ(World::current()->reactor().machine().pipe(ends), 0);
                  PipeStream from = PipeStream::adopt(ends[0]);
                  PipeStream to = PipeStream::adopt(ends[1]);
                  EXPECT_THROW(TcpStream::adopt(ends[0]), IoError);
                  to.write("x");
                  to.close();
                  EXPECT_EQ(from.read_all(10), "x");

                  UdpSocket a = UdpSocket::bind(Address::ip("127.0.0.1", 0));
                  UdpSocket b = UdpSocket::bind(Address::ip("127.0.0.1", 0));
                  a.send("datagram", b.info().local);
                  std::byte buffer[20];
                  const Datagram datagram = b.receive(buffer);
                  EXPECT_EQ(datagram.size, 8U);
                  EXPECT_EQ(datagram.from, a.info().local);
              }),
              "ok");
}

/// Says its arguments, a second later, and waits for a word.
class Speaker final : public ChildProgram {
public:
    void run(ChildProcess& process) override {
        if (!std::exchange(waits_, true)) { return process.set_alarm(1s); }
        if (!std::exchange(has_said_, true)) { process.write(1, std::as_bytes(std::span(process.arguments().at(1)))); }
        std::byte byte{};
        const std::int64_t got = process.read({&byte, 1});
        if (got >= 0) { process.exit(got == 0 ? 3 : 4); }
    }

private:
    bool waits_ = false;
    bool has_said_ = false;
};

TEST(IoWorld, ChildIsAProgramOfTheWorld) {
    EXPECT_EQ(run([] {
                  World::current()->reactor().machine().add_program("say", [] { return std::make_unique<Speaker>(); });
                  Runtime& runtime = current_runtime("test");
                  const Instant begin = runtime.now();
                  const CommandResult result = run_command({"say", "hello"}, {});
                  EXPECT_EQ(result.output, "hello");
                  EXPECT_EQ(result.code, 3);
                  EXPECT_EQ(runtime.now() - begin, 1s);
                  Process child({.arguments = {"say", "more"}, .input = ChildStream::pipe});
                  child.kill(15);
                  EXPECT_EQ(child.wait(), -15);
                  EXPECT_THROW(Process({.arguments = {"nothing"}}), OperationError);
              }),
              "ok");
}

TEST(IoWorld, ThousandRunsAreOneRun) {  // WD3
    const Program program = [] {
        const auto server = spawn("server", serve_echo);
        yield();
        TcpStream client = TcpStream::connect("localhost", 80);
        client.write("x");
        char byte = 0;
        client.read(&byte, 1);
        client.close();
        server.await();
    };
    World world;
    for (int round = 0; round < 1000; ++round) { ASSERT_EQ(run(world, program), "ok"); }
    EXPECT_EQ(world.reactor().machine().open_count(), 0U);
}

}  // namespace
}  // namespace heddle::sim
