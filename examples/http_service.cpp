// SPDX-License-Identifier: Apache-2.0
// The HTTP service of the scenario io/http, on libuv: a service that keeps connections alive asks one behind it, until a SIGTERM or
// SIGINT ends it.
//
//   http_service [PORT]      prints where it listens; port 0, the default, is any
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "heddle/heddle.hpp"
#include "heddle/properties/http/http_proxy.hpp"
#include "heddle/uv.hpp"

using namespace std::chrono_literals;

namespace {

/// Counts what is posted to each path; "/slow" takes longer than anybody waits.
heddle::http::Response count(std::map<std::string, int>& counts, const heddle::http::Request& request) {
    if (request.target == "/slow") { heddle::sleep_for(2s); }
    if (request.method == "POST") { ++counts[request.target]; }
    return {.body = request.target + " " + std::to_string(counts[request.target]) + "\n"};
}

void run(std::uint16_t port) {
    std::map<std::string, int> counts;
    heddle::http::Server backend(heddle::TcpListener::bind(heddle::Address::ip("127.0.0.1", 0)),
                                 [&](const heddle::http::Request& request) { return count(counts, request); }, {.drain = 100ms});
    heddle::http::Proxy proxy({.host = "127.0.0.1", .port = backend.address().port, .connections = 4, .exchange = 500ms});
    heddle::http::Server service(heddle::TcpListener::bind(heddle::Address::ip("127.0.0.1", port)),
                                 [&](const heddle::http::Request& request) { return proxy.forward(request); }, {.drain = 1s});

    const auto behind = heddle::spawn("backend", [&] { backend.run(); });
    const auto in_front = heddle::spawn("service", [&] { service.run(); });
    const auto signals = heddle::spawn("signals", [&] {
        heddle::SignalWatch terminate(SIGTERM);
        const auto interrupt = heddle::spawn("interrupt", [&] {
            heddle::SignalWatch(SIGINT).wait();
            service.stop();
        });
        terminate.wait();
        service.stop();
        interrupt.cancel();
    });
    std::printf("listening on %s\n", service.address().text().c_str());
    std::fflush(stdout);

    in_front.await();
    signals.cancel();
    proxy.close();
    backend.stop();
    behind.await();
    const heddle::http::ServerCounts& done = service.counts();
    std::printf("received %llu, answered %llu, unanswered %llu, refused %llu; open %zu, leased %zu\n",
                static_cast<unsigned long long>(done.received), static_cast<unsigned long long>(done.answered),
                static_cast<unsigned long long>(done.unanswered), static_cast<unsigned long long>(done.refused),
                service.open_connections() + backend.open_connections(), proxy.leased());
}

}  // namespace

int main(int argc, char** argv) {
    const int port = argc > 1 ? std::atoi(argv[1]) : 0;
    if (port < 0 || port > 65'535) {
        std::fprintf(stderr, "usage: http_service [PORT]\n");
        return 2;
    }
    heddle::real::UvReactor reactor;
    heddle::Runtime runtime{reactor};
    runtime.run([port] { run(static_cast<std::uint16_t>(port)); });
}
