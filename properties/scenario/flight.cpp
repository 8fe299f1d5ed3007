// SPDX-License-Identifier: Apache-2.0
// demo/late_answer: a bug of production, where computing takes time. In a simulated world it takes none, and the run goes well; a flight
// recorder brings the order back in which it went wrong.
#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/scenario/all.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// So many thousand rounds of some microseconds each; nobody else runs meanwhile.
std::uint64_t compute(std::int64_t thousands) {
    std::uint64_t value = 1;
    for (std::int64_t round = 0; round < thousands * 1000; ++round) { value = hash_mix(value, static_cast<std::uint64_t>(round)); }
    return value;
}

/// A client asks twice on one connection. If the first answer is late it gives up waiting, and takes it for the second one's.
void late_answer(std::int64_t work) {
    auto listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
    const Address at = listener.info().local;
    const auto server = spawn("server", [&listener] {
        TcpStream stream = listener.accept();
        char question = 0;
        while (stream.read(&question, 1) == 1) {
            sleep_for(4ms);
            stream.write(std::string_view(&question, 1));
        }
    });
    {
        TcpStream client = TcpStream::connect(at);
        const auto ask = [&client](char question, Duration patience) {
            client.write(std::string_view(&question, 1));
            try {
                char answer = 0;
                client.read(&answer, 1, {.timeout = patience});
                HEDDLE_CHECK(answer == question);
            } catch (const TimeoutError&) {}  // the bug: what was asked is still going to be answered
        };
        const auto other = spawn("other work", [work] {
            sleep_for(2ms);
            HEDDLE_CHECK(compute(work) != 0);
        });
        ask('a', 8ms);
        ask('b', 1s);
        other.await();
    }
    server.await();
}

}  // namespace

std::vector<sim::Scenario> flight_scenarios() {
    sim::Scenario scenario;
    scenario.name = "demo/late_answer";
    scenario.about = "a client that has given up waiting takes a late answer for the next question's";
    scenario.parameters.push_back({"work", "thousands of rounds that another coroutine computes for", "0", false, 0, 1'000'000});
    scenario.program = [](const sim::Parameters& parameters) -> sim::Program {
        return [work = parameters.integer("work")] { late_answer(work); };
    };
    scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
    return {std::move(scenario)};
}

}  // namespace heddle::prop
