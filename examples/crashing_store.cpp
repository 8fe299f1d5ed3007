// SPDX-License-Identifier: Apache-2.0
// A store on a machine of its own, a client on another one, and a crash between them: what was acknowledged must be there again.
#include <cstdio>
#include <string>

// README: store
#include "heddle/heddle.hpp"
#include "heddle/sim.hpp"

using namespace std::chrono_literals;

void store(bool flushes) {
    heddle::File log = heddle::File::open("/log", {.flags = heddle::open_read | heddle::open_write | heddle::open_create});
    std::string entries = log.read_all(1000);
    auto listener = heddle::TcpListener::bind(heddle::Address::ip("0.0.0.0", 80));
    for (;;) {
        heddle::TcpStream client = listener.accept();
        const std::string order = client.read_all(100);
        if (order == "stop") { return; }
        if (order == "list") {
            client.write(entries);
            continue;
        }
        entries += order;
        log.write(std::as_bytes(std::span(order)));
        if (flushes) { log.flush(); }
        client.write("stored");
    }
}

std::string ask(std::string_view order) {
    heddle::TcpStream client = heddle::TcpStream::connect("store", 80);
    client.write(order);
    client.shutdown();
    return client.read_all(1000);
}

std::string after_a_crash(bool flushes) {
    heddle::sim::WorldOptions options;
    options.network.link = heddle::sim::Latency::exactly(3ms);
    heddle::sim::World world{options};
    world.add_node("store", [flushes] { store(flushes); });
    std::string left;
    world.run([&left] {
        heddle::sleep_for(1ms);
        if (ask("apples") != "stored") { return; }
        heddle::sim::World::current()->crash(1);
        heddle::sim::World::current()->restart(1);
        heddle::sleep_for(1ms);
        left = ask("list");
        ask("stop");
    });
    return left;
}

int main() {
    std::printf("acknowledged after a write: '%s' is left\n", after_a_crash(false).c_str());
    std::printf("acknowledged after a flush: '%s' is left\n", after_a_crash(true).c_str());
}
// README end
