// SPDX-License-Identifier: Apache-2.0
// Finds a race that a stress test needs luck for: a cancellation that arrives in the wrong five milliseconds leaks a connection.
#include <cstdio>

// README: race
#include "heddle/heddle.hpp"
#include "heddle/sim.hpp"

using namespace std::chrono_literals;

void serve_one_client() {
    int connections_in_use = 0;
    auto client = heddle::spawn("client", [&] {
        ++connections_in_use;
        heddle::sleep_for(5ms);  // the query
        --connections_in_use;
    });
    heddle::sim::anywhere([&] { client.cancel(); });  // the client hangs up, at every point where that could happen
    try {
        client.await();
    } catch (const heddle::Cancellation&) {}
    HEDDLE_CHECK(connections_in_use == 0);
}

int main() {
    const heddle::sim::Report report = heddle::sim::explore(serve_one_client, {});
    if (!report.violation) { return 1; }
    std::printf("%s\n", report.violation->message.c_str());
}
// README end
