// SPDX-License-Identifier: Apache-2.0
// Echo over the simulated network, nothing recorded: messages per second, each from one end to the other.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "heddle/core/io/tcp.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

constexpr int rounds = 10'000;

void echo_in_a_world(benchmark::State& state) {
    World world;
    for (auto _ : state) {
        const Outcome outcome = world.run([] {
            auto listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
            const Address at = listener.info().local;
            const auto server = spawn("server", [&] {
                TcpStream stream = listener.accept();
                char buffer[64];
                while (const std::size_t size = stream.read(buffer, sizeof buffer)) {
                    stream.write(std::string_view(buffer, size));
                }
            });
            {
                TcpStream client = TcpStream::connect(at);
                const std::string message(64, 'm');
                char answer[64];
                for (int round = 0; round < rounds; ++round) {
                    client.write(message);
                    client.read_exactly(std::as_writable_bytes(std::span(answer)));
                }
            }
            server.await();
        });
        if (outcome.kind != trace::OutcomeKind::ok) { state.SkipWithError(outcome.message.c_str()); }
    }
    state.SetItemsProcessed(state.iterations() * rounds * 2);
}
BENCHMARK(echo_in_a_world)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::sim

BENCHMARK_MAIN();
