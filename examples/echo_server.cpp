// SPDX-License-Identifier: Apache-2.0
// An echo service on libuv, with a client that talks to it: connections, an idle client that is sent away, and the
// errors.
#include <cerrno>
#include <cstdio>
#include <string>

// README: echo
#include "heddle/heddle.hpp"
#include "heddle/uv.hpp"

using namespace std::chrono_literals;

void serve(heddle::TcpStream stream) {
    char buffer[4096];
    try {
        while (std::size_t size = stream.read(buffer, sizeof buffer, {.timeout = 50ms})) {
            stream.write(std::string_view(buffer, size));  // all of it; suspends only while the peer does not read
        }
    } catch (const heddle::TimeoutError&) {
        stream.write("goodbye");  // it has said nothing for too long
    }
}  // closes the connection

void listen(heddle::TcpListener& listener) {
    for (;;) {
        heddle::spawn("connection", [stream = listener.accept()]() mutable { serve(std::move(stream)); });
    }
}
// README end

namespace {

void talk(const heddle::Address& at) {
    heddle::TcpStream stream = heddle::TcpStream::connect(at);
    for (const std::string word : {"hello", "world"}) {
        stream.write(word);
        std::string answer(word.size(), '\0');
        stream.read_exactly(std::as_writable_bytes(std::span(answer)));
        std::printf("echo: %s\n", answer.c_str());
    }
    std::printf("then: %s\n", stream.read_all(1000).c_str());
}

}  // namespace

int main() {
    heddle::real::UvReactor reactor;
    heddle::Runtime runtime{reactor};
    runtime.run([] {
        auto listener = heddle::TcpListener::bind(heddle::Address::ip("127.0.0.1", 0));
        const heddle::Address at = listener.info().local;
        const auto server = heddle::spawn("server", [&] { listen(listener); });
        talk(at);
        server.cancel();  // ends the wait for the next connection
        try {
            server.await();
        } catch (const heddle::Cancellation&) { std::printf("the server has ended\n"); }
        listener.close();
        try {
            heddle::TcpStream::connect(at);
        } catch (const heddle::OperationError& error) {
            std::printf("%s\n", error.code() == ECONNREFUSED ? "refused" : error.what());
        }
    });
}
