// SPDX-License-Identifier: Apache-2.0
// A simrun whose scenarios are hard on the process that runs them: they crash, hang, eat memory, or depend on what is
// no choice of theirs. One for each thing that a search has to survive, or to notice.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/tools/simrun/simrun_main.hpp"

namespace {

using namespace heddle;
using namespace std::chrono_literals;

// ── what ends a process ──

[[gnu::noinline]] void read_null() {
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
}

[[gnu::noinline]] std::size_t without_end(std::size_t depth) {
    volatile char frame[512];
    frame[depth % sizeof frame] = 1;
    if (depth == ~std::size_t{0}) { return 0; }
    return without_end(depth + 1) + static_cast<std::size_t>(frame[0]);
}

void spin() {
    for (volatile bool forever = true; forever;) {}
}

void sleep_without_end() {
    for (;;) { ::pause(); }
}

void eat() {
    constexpr std::size_t piece = std::size_t{64} << 20;
    for (;;) {
        void* const memory = ::mmap(nullptr, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) { return; }
        for (std::size_t at = 0; at < piece; at += 4096) { static_cast<volatile char*>(memory)[at] = 1; }
    }
}

/// Two of eight choices decide; `harm` is done in a coroutine of its own, in one schedule of sixteen.
void in_one_of_many(const std::function<void()>& harm) {
    std::vector<std::uint32_t> answers;
    for (int i = 0; i < 8; ++i) { answers.push_back(sim::choose(4)); }
    auto worker = spawn("worker", [&] {
        yield();
        if (answers[2] == 3 && answers[5] == 1) { harm(); }
        yield();
    });
    worker.await();
}

/// Harm in one order of two coroutines.
void in_one_order(const std::function<void()>& harm) {
    auto first_done = std::make_shared<Shared<bool>>(false);
    auto first = spawn("first", [first_done] { *first_done = true; });
    auto second = spawn("second", [first_done, harm] {
        if (!first_done->get()) { harm(); }
    });
    first.await();
    second.await();
}

// ── what a run must not depend on ──

/// A place where what leaked decides: so many coroutines.
void decided_by(std::uint64_t leaked) {
    static_cast<void>(sim::choose(2));
    for (std::uint64_t i = 0; i < leaked % 61; ++i) {
        spawn("leaked", [] { yield(); });
    }
    static_cast<void>(sim::choose(2));
}

void clock_leak() {
    decided_by(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) >> 4);
}

void random_leak() {
    std::random_device device;
    decided_by(device());
}

/// The order of objects in memory, and a place in it.
void pointer_leak() {
    std::vector<std::unique_ptr<char[]>> objects;
    for (int i = 0; i < 16; ++i) { objects.push_back(std::make_unique<char[]>(48)); }
    std::uint64_t order = 0;
    for (std::size_t i = 0; i + 1 < objects.size(); ++i) {
        order = 2 * order + (std::less<>{}(objects[i].get(), objects[i + 1].get()) ? 1U : 0U);
    }
    decided_by(order + (reinterpret_cast<std::uintptr_t>(&order) >> 12));
}

/// Which of them share a bucket depends on how far the stack lies from the program's own data.
void unordered_leak() {
    static std::array<int, 11> far_away{};
    std::array<int, 11> near_by{};
    std::unordered_set<int*> set;
    for (std::size_t i = 0; i < near_by.size(); ++i) {
        near_by.at(i) = static_cast<int>(2 * i);
        far_away.at(i) = static_cast<int>(2 * i + 1);
        set.insert(&near_by.at(i));
        set.insert(&far_away.at(i));
    }
    std::uint64_t order = 0;
    for (const int* const each : set) { order = 23 * order + static_cast<std::uint64_t>(*each); }
    decided_by(order);
}

/// Memory that nobody has written.
void uninitialised_leak() {
    constexpr std::size_t size = 1200;
    auto* const memory = static_cast<volatile unsigned char*>(std::malloc(size));
    std::uint64_t sum = 0;
    for (std::size_t i = 64; i < 72; ++i) { sum += memory[i]; }
    std::free(const_cast<unsigned char*>(memory));
    decided_by(sum);
}

void environment_leak() {
    const char* const value = std::getenv("HOME");
    decided_by(value != nullptr ? std::string(value).size() : 0);
}

sim::Scenario scenario(std::string name, std::string about, std::function<void()> program) {
    sim::Scenario made;
    made.name = std::move(name);
    made.about = std::move(about);
    made.program = [program = std::move(program)](const sim::Parameters&) { return sim::Program(program); };
    return made;
}

std::vector<sim::Scenario> scenarios() {
    std::vector<sim::Scenario> list;
    const auto crash = [&list](const std::string& name, std::function<void()> harm) {
        list.push_back(scenario("crash/" + name, "in one schedule of sixteen", [harm] { in_one_of_many(harm); }));
        list.push_back(scenario("order/" + name, "in one order of two", [harm] { in_one_order(harm); }));
    };
    crash("segv", &read_null);
    crash("abort", [] { std::abort(); });
    crash("overflow", [] { static_cast<void>(without_end(0)); });
    crash("exit", [] { std::exit(3); });
    crash("kill", [] { static_cast<void>(::kill(::getpid(), SIGKILL)); });
    crash("hang", &spin);
    crash("sleep", &sleep_without_end);
    crash("memory", &eat);
    list.push_back(scenario("crash/at_once", "before any choice", &read_null));
    list.push_back(scenario("crash/two", "two ways to die, and a check that fails last", [] {
        const std::uint32_t way = sim::choose(8);
        if (way == 2) { read_null(); }
        if (way == 4) { std::abort(); }
        HEDDLE_CHECK(way != 7);
    }));
    list.push_back(scenario("crash/late", "one crash behind a thousand schedules", [] {
        std::uint32_t value = 0;
        for (int i = 0; i < 5; ++i) { value = value * 4 + sim::choose(4); }
        if (value == 1023) { read_null(); }
    }));
    list.push_back(scenario("leak/clock", "reads the clock on the wall", &clock_leak));
    list.push_back(scenario("leak/random", "asks std::random_device", &random_leak));
    list.push_back(scenario("leak/pointers", "compares addresses", &pointer_leak));
    list.push_back(scenario("leak/unordered", "walks an unordered container of pointers", &unordered_leak));
    list.push_back(scenario("leak/uninitialised", "reads memory that nobody has written", &uninitialised_leak));
    list.push_back(scenario("leak/environment", "reads the environment", &environment_leak));
    list.push_back(scenario("leak/none", "depends on its choices alone", [] { decided_by(sim::choose(2)); }));
    return list;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<sim::Scenario> known = scenarios();
    return simrun_main(argc, argv, known);
}
