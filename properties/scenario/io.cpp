// SPDX-License-Identifier: Apache-2.0
// io/…: connections and datagrams of one machine, in every order, in parts, and with faults.
#include "heddle/properties/scenario/io.hpp"

#include <cerrno>
#include <set>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

const Address any_port = Address::ip("127.0.0.1", 0);

std::size_t open_descriptors() {
    sim::World* const world = sim::World::current();
    return world == nullptr ? 0 : world->reactor().machine().open_count();
}

void echo(TcpStream& stream, EchoServer server) {
    char buffer[3];
    while (const std::size_t size = stream.read(buffer, sizeof buffer)) {
        const bool cut = size < sizeof buffer && server == EchoServer::one_read_is_one_message;
        stream.write(std::string(buffer, size) + (cut ? "." : ""));
    }
}

bool is_known(int code) { return code == ECONNRESET || code == EPIPE || code == ECONNABORTED || code == EMFILE; }

/// Several clients connect; each gets an answer of its own, whoever of them is accepted first.
void accept_many(std::int64_t clients) {
    auto listener = TcpListener::bind(any_port);
    const Address at = listener.info().local;
    std::vector<Coroutine<void>> all;
    for (std::int64_t number = 0; number < clients; ++number) {
        all.push_back(spawn("client", [&at, number] {
            TcpStream stream = TcpStream::connect(at);
            const char mine = static_cast<char>('a' + number);
            stream.write(std::string_view(&mine, 1));
            HEDDLE_CHECK(stream.read_all(10) == std::string(2, mine));
        }));
    }
    for (std::int64_t number = 0; number < clients; ++number) {
        all.push_back(spawn("connection", [stream = listener.accept()]() mutable {
            char its = 0;
            HEDDLE_CHECK(stream.read(&its, 1) == 1);
            stream.write(std::string(2, its));
        }));
    }
    for (const auto& one : all) { one.await(); }
    listener.close();
    HEDDLE_CHECK(open_descriptors() == 0);
}

/// A question that is asked again until it is answered; the server answers each at most twice the times that it was asked.
void ask_again() {
    UdpSocket server = UdpSocket::bind(any_port);
    const Address at = server.info().local;
    int answers = 0;
    const auto serving = spawn("server", [&] {
        std::byte question[8];
        for (;;) {
            const Datagram datagram = server.receive(question);
            server.send(std::span<const std::byte>(question, datagram.size), datagram.from);
            ++answers;
        }
    });
    UdpSocket client = UdpSocket::connect(at);
    int asked = 0;
    std::byte answer[8];
    for (bool answered = false; !answered;) {
        client.send(std::as_bytes(std::span("ask", 3)));
        ++asked;
        try {
            answered = client.receive(answer, {.timeout = 10ms}).size == 3;
        } catch (const TimeoutError&) {
            HEDDLE_CHECK(asked < 10);
        }
    }
    serving.cancel();
    try {
        serving.await();
    } catch (const Cancellation&) {}
    HEDDLE_CHECK(answers >= 1 && answers <= 2 * asked);
}

/// Counts requests, each a byte, and answers with the count; '?' only asks.
void count_requests(bool remembers) {
    auto listener = TcpListener::bind(Address::ip("0.0.0.0", 80));
    std::set<char> known;
    char count = 0;
    for (;;) {
        try {
            TcpStream stream = listener.accept();
            char request = 0;
            if (stream.read(&request, 1, {.timeout = 50ms}) != 1) { continue; }
            const bool is_new = known.insert(request).second || !remembers;
            if (request != '?' && is_new) { ++count; }
            stream.write(std::string_view(&count, 1));
        } catch (const OperationError& error) {
            HEDDLE_CHECK(is_known(error.code()));
        } catch (const TimeoutError&) {}  // who connected has said nothing
    }
}

int ask_until_answered(char request) {
    for (int attempt = 0; attempt < 10; ++attempt) {
        try {
            TcpStream stream = TcpStream::connect("server", 80, {.timeout = 100ms});
            stream.write(std::string_view(&request, 1));
            char answer = 0;
            if (stream.read(&answer, 1, {.timeout = 100ms}) == 1) { return answer; }
        } catch (const OperationError&) {
        } catch (const NameError&) {
        } catch (const TimeoutError&) {}
    }
    return -1;
}

sim::Scenario scenario(std::string name, std::string about, std::uint32_t depth) {
    sim::Scenario scenario;
    scenario.name = std::move(name);
    scenario.about = std::move(about);
    scenario.depth = depth;
    scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
    return scenario;
}

}  // namespace

sim::Program echo_pair(std::int64_t words, EchoServer kind, bool faults) {
    return [words, kind, faults] {
        int connections = 0;
        {
            auto listener = TcpListener::bind(any_port);
            const Address at = listener.info().local;
            const auto server = spawn("server", [&] {
                if (!listener.is_open()) { return; }  // the client has given up already
                try {
                    TcpStream stream = listener.accept();
                    ++connections;
                    try {
                        echo(stream, kind);
                    } catch (const OperationError&) {
                        if (kind != EchoServer::forgets_resets) { --connections; }
                        throw;
                    }
                    --connections;
                } catch (const OperationError& error) {
                    HEDDLE_CHECK(is_known(error.code()) || error.is_closed());
                    listener.close();  // who waits to be accepted hears of it
                }
            });
            std::string sent;
            std::string got;
            bool failed = false;
            try {
                TcpStream client = TcpStream::connect(at);
                for (std::int64_t word = 0; word < words; ++word) {
                    const std::string text(3, static_cast<char>('a' + word));
                    sent += text;
                    client.write(text);
                }
                client.shutdown();
                char buffer[16];
                while (const std::size_t size = client.read(buffer, sizeof buffer)) { got.append(buffer, size); }
            } catch (const OperationError&) { failed = true; }
            HEDDLE_CHECK(sent.starts_with(got));
            HEDDLE_CHECK(faults || (!failed && got == sent));
            listener.close();
            server.await();
        }
        HEDDLE_CHECK(connections == 0);
        HEDDLE_CHECK(open_descriptors() == 0);
    };
}

sim::Program adding_client() {
    return [] {
        sleep_for(1ms);  // the counter begins
        ask_until_answered('a');
        ask_until_answered('b');
        HEDDLE_CHECK(ask_until_answered('?') == 2);
    };
}

std::function<void(sim::WorldOptions&)> world_with_counter(bool remembers) {
    return [remembers](sim::WorldOptions& world) {
        using enum ChoiceKind;
        world.nodes = {{"server", [remembers] { count_requests(remembers); }, {.daemon = true}}};
        world.network.link = sim::Latency::exactly(1ms);
        world.network.chosen_faults_max = 8;  // fewer than anybody asks again
        world.faults = true;
        world.mask = {value, fault, ready, batch, dispatch, node, timer_io};
    };
}

std::vector<sim::Scenario> io_scenarios() {
    std::vector<sim::Scenario> all;
    all.push_back(scenario("io/echo", "what a client sends comes back, in whatever parts it travels", 3));
    all.back().parameters.push_back({"words", "of three letters", "2", false, 1, 20});
    all.back().program = [](const sim::Parameters& parameters) {
        return echo_pair(parameters.integer("words"), EchoServer::careful, false);
    };
    all.back().world = [](sim::WorldOptions& world) { world.network.splits = 4; };

    all.push_back(scenario("io/echo-faults", "the same with refusals, resets and aborts: nothing is lost silently, nothing leaks", 2));
    all.back().parameters = all.front().parameters;
    all.back().program = [](const sim::Parameters& parameters) {
        return echo_pair(parameters.integer("words"), EchoServer::careful, true);
    };
    all.back().world = [](sim::WorldOptions& world) {
        world.network.splits = 4;
        world.faults = true;
    };

    all.push_back(scenario("io/accept", "each client gets its own answer, in whatever order they are accepted and served", 2));
    all.back().parameters.push_back({"clients", "that connect at once", "2", false, 1, 20});
    all.back().program = [](const sim::Parameters& parameters) -> sim::Program {
        return [clients = parameters.integer("clients")] { accept_many(clients); };
    };

    all.push_back(scenario("io/datagrams", "a question is asked until it is answered, though datagrams are lost, doubled and late", 2));
    all.back().program = [](const sim::Parameters&) { return sim::Program(ask_again); };
    all.back().world = [](sim::WorldOptions& world) {
        world.faults = true;
        world.network.chosen_faults_max = 8;  // fewer than it is asked again
    };

    all.push_back(scenario("io/exactly-once", "a request that is made again until it is answered counts once, on another machine", 2));
    all.back().program = [](const sim::Parameters&) { return adding_client(); };
    all.back().world = world_with_counter(true);
    return all;
}

}  // namespace heddle::prop
