// SPDX-License-Identifier: Apache-2.0
// TCP echo on loopback, 64-byte messages: the runtime's streams against bare libuv callbacks at their best.
//
//   load process ⇄ server ── echo_N/…: CPU seconds of the server per request · echo_rate_N/…: requests per second
//   10,000 connections that say nothing ── idle_bytes/ours: memory of each
//
// The two servers take turns, lap by lap, in one process: what else the machine does meets both alike. A lap begins
// after a number of requests and ends before the last, so that connecting is not in it.
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/tools/bench/bench.hpp"
#include "heddle/tools/bench/echo_load.hpp"
#include "heddle/uv.hpp"

namespace heddle::bench {
namespace {

constexpr std::size_t requests_per_lap = 25'000;
constexpr std::size_t warm_up = 3'000;
constexpr std::size_t buffer_size = 1024;

double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What one lap took, seen from the server.
class Meter {
public:
    void count() {
        ++requests_;
        if (requests_ == warm_up) {
            cpu_ = cpu_seconds();
            wall_ = wall_seconds();
        } else if (requests_ == warm_up + requests_per_lap) {
            cpu_ = cpu_seconds() - cpu_;
            wall_ = wall_seconds() - wall_;
        }
    }
    [[nodiscard]] double cpu() const { return cpu_ / requests_per_lap; }
    [[nodiscard]] double rate() const { return requests_per_lap / wall_; }

private:
    std::size_t requests_ = 0;
    double cpu_ = 0;
    double wall_ = 0;
};
constexpr std::size_t requests_of_load = warm_up + requests_per_lap;

// ── bare libuv ──

class BareServer {
public:
    explicit BareServer(Meter& meter) : meter_(meter) {
        uv_loop_init(&loop_);
        uv_tcp_init(&loop_, &listener_);
        listener_.data = this;
        sockaddr_in address{};
        uv_ip4_addr("127.0.0.1", 0, &address);
        uv_tcp_bind(&listener_, reinterpret_cast<const sockaddr*>(&address), 0);
        uv_listen(reinterpret_cast<uv_stream_t*>(&listener_), 1024,
                  [](uv_stream_t* stream, int) { static_cast<BareServer*>(stream->data)->accept(); });
        int size = sizeof address;
        uv_tcp_getsockname(&listener_, reinterpret_cast<sockaddr*>(&address), &size);
        port_ = ntohs(address.sin_port);
    }
    ~BareServer() { uv_loop_close(&loop_); }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    void run() { uv_run(&loop_, UV_RUN_DEFAULT); }

private:
    struct Connection {
        uv_tcp_t tcp{};
        BareServer* server = nullptr;
        char buffer[buffer_size];
    };
    struct Rest {
        uv_write_t write{};
        std::vector<char> bytes;
    };

    void accept() {
        auto* const connection = new Connection;
        connection->server = this;
        uv_tcp_init(&loop_, &connection->tcp);
        connection->tcp.data = connection;
        ++open_;
        auto* const stream = reinterpret_cast<uv_stream_t*>(&connection->tcp);
        uv_accept(reinterpret_cast<uv_stream_t*>(&listener_), stream);
        uv_read_start(
            stream,
            [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
                *buffer = uv_buf_init(static_cast<Connection*>(handle->data)->buffer, buffer_size);
            },
            [](uv_stream_t* from, ssize_t count, const uv_buf_t* buffer) {
                auto* const at = static_cast<Connection*>(from->data);
                if (count > 0) {
                    at->server->echo(from, buffer->base, static_cast<std::size_t>(count));
                } else if (count < 0) {
                    at->server->close(*at);
                }
            });
    }
    void echo(uv_stream_t* stream, char* bytes, std::size_t size) {
        const uv_buf_t buffer = uv_buf_init(bytes, static_cast<unsigned>(size));
        const int status = uv_try_write(stream, &buffer, 1);
        const std::size_t taken = status > 0 ? static_cast<std::size_t>(status) : 0;
        if (taken < size && (status >= 0 || status == UV_EAGAIN)) {
            auto* const rest = new Rest;
            rest->bytes.assign(bytes + taken, bytes + size);
            rest->write.data = rest;
            const uv_buf_t left = uv_buf_init(rest->bytes.data(), static_cast<unsigned>(rest->bytes.size()));
            uv_write(&rest->write, stream, &left, 1,
                     [](uv_write_t* write, int) { delete static_cast<Rest*>(write->data); });
        }
        meter_.count();
    }
    void close(Connection& connection) {
        uv_close(reinterpret_cast<uv_handle_t*>(&connection.tcp),
                 [](uv_handle_t* handle) { delete static_cast<Connection*>(handle->data); });
        if (--open_ == 0) { uv_close(reinterpret_cast<uv_handle_t*>(&listener_), nullptr); }
    }

    Meter& meter_;
    uv_loop_t loop_{};
    uv_tcp_t listener_{};
    std::uint16_t port_ = 0;
    std::size_t open_ = 0;
};

// ── ours ──

/// Echoes on so many connections; ends when all of them have gone.
void serve(TcpListener& listener, std::size_t connections, Meter& meter) {
    std::vector<Coroutine<void>> echoes;
    for (std::size_t number = 0; number < connections; ++number) {
        echoes.push_back(spawn("echo", [stream = listener.accept(), &meter]() mutable {
            char buffer[buffer_size];
            try {
                while (const std::size_t size = stream.read(buffer, sizeof buffer)) {
                    stream.write(std::string_view(buffer, size));
                    meter.count();
                }
            } catch (const OperationError&) {
                // The load ends its connections with answers on the way to it.
            }
        }));
    }
    for (const Coroutine<void>& echo : echoes) { echo.await(); }
}

struct Lap {
    double cpu = 0;
    double rate = 0;
};

Lap lap_of_floor(std::size_t connections) {
    Meter meter;
    BareServer server(meter);
    const LoadProcess load(server.port(), connections, requests_of_load);
    server.run();
    return {meter.cpu(), meter.rate()};
}

Lap lap_of_ours(std::size_t connections) {
    Meter meter;
    real::UvReactor reactor;
    Runtime runtime(reactor);
    runtime.run([&] {
        TcpListener listener = TcpListener::bind(Address::ip("127.0.0.1", 0), 1024);
        const LoadProcess load(listener.info().local.port, connections, requests_of_load);
        serve(listener, connections, meter);
    });
    return {meter.cpu(), meter.rate()};
}

/// Medians of both, measured once for all the rows that show them.
struct Echo {
    Lap ours;
    Lap floor;
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

const Echo& echo_of(std::size_t connections) {
    static std::map<std::size_t, Echo> measured;
    const auto known = measured.find(connections);
    if (known != measured.end()) { return known->second; }
    constexpr std::size_t laps = 7;
    std::vector<double> values[4];
    for (std::size_t number = 0; number < laps; ++number) {
        const Lap floor = lap_of_floor(connections);
        const Lap ours = lap_of_ours(connections);
        values[0].push_back(ours.cpu);
        values[1].push_back(floor.cpu);
        values[2].push_back(ours.rate);
        values[3].push_back(floor.rate);
    }
    return measured[connections] = {{median(values[0]), median(values[2])}, {median(values[1]), median(values[3])}};
}

enum class Column : std::uint8_t { ours_cpu, floor_cpu, ours_rate, floor_rate };

void measure_echo(benchmark::State& state, std::size_t connections, Column column) {
    for ([[maybe_unused]] auto _ : state) {
        const Echo& echo = echo_of(connections);
        const double values[] = {echo.ours.cpu, echo.floor.cpu, echo.ours.rate, echo.floor.rate};
        state.counters["per_op"] = values[static_cast<std::size_t>(column)];
    }
}

// ── idle connections ──

void measure_idle(benchmark::State& state) {
    constexpr std::size_t connections = 10'000;
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < connections + 100) {
        state.SkipWithError("too few descriptors are allowed for 10,000 connections");
        return;
    }
    for ([[maybe_unused]] auto _ : state) {
        Meter meter;
        real::UvReactor reactor;
        Runtime runtime(reactor);
        runtime.run([&] {
            TcpListener listener = TcpListener::bind(Address::ip("127.0.0.1", 0), 1024);
            const std::size_t before = resident_bytes();
            LoadProcess load(listener.info().local.port, connections, 0);
            const auto server = spawn([&] { serve(listener, connections, meter); });
            while (runtime.statistics().active < connections + 2) { sleep_for(std::chrono::milliseconds(10)); }
            sleep_for(std::chrono::milliseconds(100));
            state.counters["per_op"] = static_cast<double>(resident_bytes() - before) / connections;
            load.stop();
            server.await();
        });
    }
}

}  // namespace

void register_echo() {
    for (const std::size_t connections : {std::size_t{1}, std::size_t{64}, std::size_t{512}}) {
        const std::string number = std::to_string(connections);
        const auto add = [&](const std::string& name, Column column) {
            benchmark::RegisterBenchmark(name.c_str(), measure_echo, connections, column)->Iterations(1);
        };
        add("echo_" + number + "/floor", Column::floor_cpu);
        add("echo_" + number + "/ours", Column::ours_cpu);
        add("echo_rate_" + number + "/floor", Column::floor_rate);
        add("echo_rate_" + number + "/ours", Column::ours_rate);
    }
    benchmark::RegisterBenchmark("idle_bytes/ours", measure_idle)->Iterations(1);
}

}  // namespace heddle::bench
