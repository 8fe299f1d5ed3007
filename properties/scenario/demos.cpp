// SPDX-License-Identifier: Apache-2.0
// demo/…: programs with one bug each, small enough to be understood from their shrunk schedule alone.
#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/properties/scenario/all.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// Each worker reads a counter, does something else, and writes back what it read plus one. Correct as long as nobody comes between.
void lost_update(std::int64_t workers) {
    std::int64_t counter = 0;
    std::vector<Coroutine<void>> all;
    for (std::int64_t i = 0; i < workers; ++i) {
        all.push_back(spawn("worker", [&counter] {
            sleep_for(5ms);
            const std::int64_t read = counter;
            say("read " + std::to_string(read));
            if (sim::choose(2, "cache miss") == 1) { yield(); }
            counter = read + 1;
            say("wrote " + std::to_string(read + 1));
        }));
    }
    for (const Coroutine<void>& worker : all) { worker.await(); }
    HEDDLE_CHECK(counter == workers);
}

/// A client that is cancelled while its query runs forgets to give its connection back.
void leaked_connection() {
    int in_use = 0;
    auto client = spawn("client", [&in_use] {
        ++in_use;
        sleep_for(5ms);
        --in_use;
    });
    sim::anywhere([client] { client.cancel(); }, "hang-up");
    try {
        client.await();
    } catch (const Cancellation&) {}
    HEDDLE_CHECK(in_use == 0);
}

/// Two tasks that each hold one lock and wait for the other's, when both get their first one.
void two_locks() {
    struct Lock {
        bool held = false;
        std::vector<Ref<OneShotEvent>> waiters;
        void take() {
            while (held) {
                waiters.push_back(OneShotEvent::make(current_runtime("lock").scheduler(), "lock"));
                const Ref<OneShotEvent> mine = waiters.back();
                await_event(mine);
            }
            held = true;
        }
        void give() {
            held = false;
            for (const Ref<OneShotEvent>& waiter : std::exchange(waiters, {})) { waiter->complete(); }
        }
    };
    Lock a;
    Lock b;
    const auto uses = [](Lock& first, Lock& second) {
        return [&first, &second] {
            first.take();
            if (sim::choose(2, "preempted") == 1) { sleep_for(1ms); }
            second.take();
            second.give();
            first.give();
        };
    };
    auto one = spawn("one", uses(a, b));
    auto two = spawn("two", uses(b, a));
    await_all(one, two);
}

sim::Scenario demo(const char* name, const char* about, std::function<sim::Program(const sim::Parameters&)> program) {
    sim::Scenario scenario;
    scenario.name = name;
    scenario.about = about;
    scenario.program = std::move(program);
    scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
    return scenario;
}

}  // namespace

std::vector<sim::Scenario> demo_scenarios() {
    std::vector<sim::Scenario> scenarios;
    scenarios.push_back(demo("demo/lost_update", "a counter that is read, and written back when others have written it",
                             [](const sim::Parameters& parameters) -> sim::Program {
                                 return [workers = parameters.integer("workers")] { lost_update(workers); };
                             }));
    scenarios.back().parameters.push_back({"workers", "how many update the counter", "2", false, 1, 64});
    scenarios.push_back(demo("demo/leaked_connection", "a cancellation in the wrong five milliseconds leaks a connection",
                             [](const sim::Parameters&) { return sim::Program(leaked_connection); }));
    scenarios.push_back(demo("demo/two_locks", "two locks taken in different orders: a deadlock, once both got their first",
                             [](const sim::Parameters&) { return sim::Program(two_locks); }));
    scenarios.back().depth = 2;
    return scenarios;
}

}  // namespace heddle::prop
