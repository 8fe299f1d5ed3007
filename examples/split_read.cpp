// SPDX-License-Identifier: Apache-2.0
// A service that takes what one read gives for one message. On loopback it passes every test; a network may cut anywhere.
#include <cstdio>
#include <string>

// README: split
#include "heddle/heddle.hpp"
#include "heddle/sim.hpp"

void serve(heddle::TcpStream stream) {
    char buffer[64];
    while (const std::size_t size = stream.read(buffer, sizeof buffer)) {
        const std::string_view message(buffer, size);
        stream.write(message == "ping" ? "pong" : "what?");
    }
}

void ask_once() {
    auto listener = heddle::TcpListener::bind(heddle::Address::ip("127.0.0.1", 0));
    const heddle::Address at = listener.info().local;
    const auto server = heddle::spawn("server", [&] { serve(listener.accept()); });
    std::string answer;
    {
        heddle::TcpStream client = heddle::TcpStream::connect(at);
        client.write("ping");
        client.shutdown();
        answer = client.read_all(100);
    }
    server.await();
    HEDDLE_CHECK(answer == "pong");
}

int main() {
    const heddle::sim::Report report = heddle::sim::explore(ask_once, {});
    if (!report.violation) { return 1; }
    std::printf("%s\n", report.violation->message.c_str());
    for (const heddle::trace::Decision& decision : report.violation->trace.decisions) {
        std::printf("because %s answered %u of %u\n", decision.at.c_str(), decision.choose, decision.count);
    }
}
// README end
