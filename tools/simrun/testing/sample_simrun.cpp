// SPDX-License-Identifier: Apache-2.0
// A simrun for the tests of the command: small scenarios, one for each way in which a call can end. Built twice: with
// SAMPLE_PLANTED it has the planted bug SAMPLE-01 and is the program that the other one hands such calls on to.
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/tools/simrun/simrun_main.hpp"

namespace {

using namespace heddle;
using namespace std::chrono_literals;

bool planted_on = false;

/// A cancellation during the query leaves the connection in use. Production can do this; by default it cancels earlier.
void lease(int clients) {
    auto in_use = std::make_shared<int>(0);
    std::vector<Coroutine<void>> running;
    for (int i = 0; i < clients; ++i) {
        running.push_back(spawn("client", [in_use] {
            sleep_for(1ms);  // connects
            ++*in_use;
            sleep_for(5ms);  // asks
            --*in_use;
        }));
    }
    sim::anywhere([victim = running.front()]() mutable { victim.cancel(); });
    for (auto& client : running) {
        try {
            client.await();
        } catch (const Cancellation&) {}
    }
    HEDDLE_CHECK(*in_use == 0);
}

/// Whoever is spawned second must not finish first: true in production's order alone.
void order() {
    auto finished = std::make_shared<std::vector<int>>();
    auto first = spawn("first", [finished] { finished->push_back(1); });
    auto second = spawn("second", [finished] { finished->push_back(2); });
    first.await();
    second.await();
    HEDDLE_CHECK(finished->front() == 1);
}

void quiet(int workers) {
    std::vector<Coroutine<void>> running;
    for (int i = 0; i < workers; ++i) {
        running.push_back(spawn("worker", [] { yield(); }));
    }
    for (auto& worker : running) { worker.await(); }
}

/// Writers of one cell, of which the first two choose what they write: as many traces as orders and choices.
void counted(int workers) {
    const auto cell = std::make_shared<Shared<std::uint32_t>>(0U);
    std::vector<Coroutine<void>> running;
    for (int i = 0; i < workers; ++i) {
        running.push_back(spawn("writer", [i, cell] { *cell = i < 2 ? sim::choose(2) : 7; }));
    }
    for (auto& worker : running) { worker.await(); }
}

/// Two mutexes, taken in different orders: a deadlock if each coroutine gets its first one.
void crossed() {
    auto a = std::make_shared<Mutex>("a");
    auto b = std::make_shared<Mutex>("b");
    const auto taking = [](std::shared_ptr<Mutex> first, std::shared_ptr<Mutex> second) {
        return [first = std::move(first), second = std::move(second)] {
            const Lock outer(*first);
            if (sim::choose(2) == 1) { sleep_for(1ms); }
            const Lock inner(*second);
        };
    };
    auto left = spawn("left", taking(a, b));
    auto right = spawn("right", taking(b, a));
    left.await();
    right.await();
}

/// Each waits for the end of the other.
void circle() {
    const auto other = std::make_shared<std::optional<Coroutine<void>>>();
    auto left = spawn("left", [other] { (*other)->await(); });
    *other = spawn("right", [left]() mutable { left.await(); });
    left.await();
}

/// Far more schedules than anybody has time for, none of them wrong.
void vast() {
    std::uint32_t sum = 0;
    for (int i = 0; i < 40; ++i) { sum += sim::choose(10); }
    HEDDLE_CHECK(sum <= 360);
}

/// Many choices, two of which matter.
void needle() {
    std::vector<std::uint32_t> answers;
    for (int i = 0; i < 12; ++i) { answers.push_back(sim::choose(4)); }
    HEDDLE_CHECK(answers[3] < 2 || answers[7] < 2);
}

/// Two of its three steps may not fail.
void brittle() {
    int failures = 0;
    for (int i = 0; i < 3; ++i) { failures += sim::fails("step") ? 1 : 0; }
    HEDDLE_CHECK(failures < 2);
}

/// A guest who is cancelled inside leaves its seat taken.
void careless() {
    auto taken = std::make_shared<int>(0);
    auto guest = spawn("guest", [taken] {
        ++*taken;
        sleep_for(1ms);
        --*taken;
    });
    try {
        guest.await();
    } catch (const Cancellation&) {}
    HEDDLE_CHECK(*taken == 0);
}

/// The world's own faults, which it counts.
void faulty() {
    try {
        static_cast<void>(resolve_name("localhost"));
    } catch (const NameError&) {}
}

void throws() {
    if (sim::choose(2) == 1) { throw std::runtime_error("nobody catches this"); }
}

/// Its choices depend on how often it was run: no function of its answers.
void unstable() {
    static int runs = 0;
    ++runs;
    for (int i = 0; i < (runs % 2 == 0 ? 1 : 3); ++i) { static_cast<void>(sim::choose(2)); }
}

void planted_bug() {
    const bool broken = planted_on && sim::choose(2) == 1;
    HEDDLE_CHECK(!broken);
}

/// Runs as many coroutines as the text has letters.
sim::Program written(const std::string& text) {
    if (text.find_first_not_of("ab") != std::string::npos) {
        throw ValueError("program: expected letters a and b, found others");
    }
    return [text] {
        std::vector<Coroutine<void>> running;
        for (const char letter : text) {
            running.push_back(spawn("letter", [letter] {
                if (letter == 'b') { yield(); }
            }));
        }
        for (auto& coroutine : running) { coroutine.await(); }
    };
}

sim::Scenario scenario(std::string name, std::string about, void (*program)()) {
    sim::Scenario made;
    made.name = std::move(name);
    made.about = std::move(about);
    made.program = [program](const sim::Parameters&) { return sim::Program(program); };
    return made;
}

std::vector<sim::Scenario> scenarios() {
    std::vector<sim::Scenario> list;
    list.push_back(scenario("sample/lease", "a cancellation leaks a connection", nullptr));
    list.back().parameters = {{"clients", "clients at work", "1", false, 1, 4}};
    list.back().program = [](const sim::Parameters& values) {
        return sim::Program([clients = static_cast<int>(values.integer("clients"))] { lease(clients); });
    };
    list.push_back(scenario("sample/order", "right in production's order alone", &order));
    list.push_back(scenario("sample/quiet", "nothing to find", nullptr));
    list.back().parameters = {{"workers", "coroutines that yield once", "2", false, 1, 8}};
    list.back().program = [](const sim::Parameters& values) {
        return sim::Program([workers = static_cast<int>(values.integer("workers"))] { quiet(workers); });
    };
    list.push_back(scenario("sample/counted", "writers of one cell", nullptr));
    list.back().parameters = {{"workers", "coroutines that write", "3", false, 2, 9}};
    list.back().program = [](const sim::Parameters& values) {
        return sim::Program([workers = static_cast<int>(values.integer("workers"))] { counted(workers); });
    };
    list.push_back(scenario("sample/circle", "two that wait for each other", &circle));
    list.push_back(scenario("sample/crossed", "two locks in different orders", &crossed));
    list.push_back(scenario("sample/vast", "too many schedules for any budget", &vast));
    list.push_back(scenario("sample/needle", "two of twelve choices matter", &needle));
    list.push_back(scenario("sample/brittle", "stands one failure, and not two", &brittle));
    list.push_back(scenario("sample/careless", "a cancellation leaves a seat taken", &careless));
    list.push_back(scenario("sample/throws", "an error that nobody takes", &throws));
    list.push_back(scenario("sample/unstable", "a program that remembers its runs", &unstable));
    list.push_back(scenario("sample/faulty", "a name that may be unknown", &faulty));
    list.back().world = [](sim::WorldOptions& world) { world.faults = true; };
    list.push_back(scenario("sample/written", "a program as text", nullptr));
    list.back().parameters = {{"program", "letters a and b", "ab", true}};
    list.back().program = [](const sim::Parameters& values) { return written(values.text("program")); };
    list.push_back(scenario("planted/SAMPLE-01", "breaks where the bug is planted", &planted_bug));
    list.back().planted = "SAMPLE-01";
    return list;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<sim::Scenario> known = scenarios();
    SimrunOptions options;
    options.scenarios = known;
#if defined(SAMPLE_PLANTED)
    options.select_planted = [](std::string_view id) {
        planted_on = id == "SAMPLE-01";
        return planted_on || id.empty();
    };
#else
    options.planted_program = "sample_simrun_planted";
#endif
    return simrun_main(argc, argv, options);
}
