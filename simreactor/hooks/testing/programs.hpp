// SPDX-License-Identifier: Apache-2.0
// Small programs that share memory, each in two ways: with plain variables, for the hooks to see, and with declared ones. Both are the same
// text, so that a search of the one is an oracle for a search of the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/channel.hpp"
#include "heddle/core/sync/mutex.hpp"
#include "heddle/core/sync/shared.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace programs {

/// A global that the plain program uses as it is, and the declared one behind a touch.
inline int hits = 0;
inline thread_local int own_hits = 0;

struct Plain {
    static constexpr bool declared = false;
    template <class T>
    using Variable = T;
    using Counter = std::atomic<int>;
    static int count(Counter& counter) { return counter.fetch_add(1); }
    static int global() { return hits; }
    static void set_global(int value) { hits = value; }
    template <class T, class F>
    static void change(T& value, F&& by) { by(value); }
};

struct Declared {
    static constexpr bool declared = true;
    template <class T>
    using Variable = heddle::Shared<T>;
    using Counter = heddle::Shared<int>;
    static int count(Counter& counter) {
        return counter.update([](int& value) { return value++; });
    }
    static int global() {
        heddle::touch("hits", heddle::TouchMode::read);
        return hits;
    }
    static void set_global(int value) {
        heddle::touch("hits", heddle::TouchMode::write);
        hits = value;
    }
    template <class T, class F>
    static void change(T& value, F&& by) { value.update(by); }
};

/// One after another: nobody learns which of them ended first.
template <class... Coroutines>
void wait_for(const Coroutines&... all) {
    (all.await(), ...);
}

/// Two coroutines read, let others run, and write what they read and one more. In production's order one is done when the other begins.
template <class How>
void lost_update(bool judged) {
    typename How::template Variable<int> balance{0};
    const auto deposit = [&] {
        const int seen = balance;
        heddle::yield();
        balance = seen + 1;
    };
    auto a = heddle::spawn("a", deposit);
    auto b = heddle::spawn("b", [&] {
        heddle::yield();
        heddle::yield();
        deposit();
    });
    wait_for(a, b);
    const int end = balance;
    heddle::sim::show_state(static_cast<std::uint64_t>(end));
    if (judged) { HEDDLE_CHECK(end == 2); }
}

/// Three coroutines look whether there is a seat, and take it; one does both at once, the last comes late.
template <class How>
void check_then_act(bool judged) {
    typename How::template Variable<int> seats{1};
    const auto book = [&](bool slowly) {
        if (seats > 0) {
            if (slowly) { heddle::yield(); }
            seats -= 1;
        }
    };
    auto a = heddle::spawn("a", [&] { book(false); });
    auto b = heddle::spawn("b", [&] { book(true); });
    auto c = heddle::spawn("c", [&] {
        heddle::yield();
        book(true);
    });
    wait_for(a, b, c);
    const int end = seats;
    heddle::sim::show_state(static_cast<std::uint64_t>(end));
    if (judged) { HEDDLE_CHECK(end >= 0); }
}

/// Money goes from one account to another of one object on the heap, and somebody adds them up meanwhile.
template <class How>
void heap_object(bool judged) {
    struct Accounts {
        typename How::template Variable<int> one{10};
        typename How::template Variable<int> other{0};
    };
    const auto accounts = std::make_shared<Accounts>();
    int sum = 10;
    auto mover = heddle::spawn("mover", [&] {
        accounts->one -= 5;
        heddle::yield();
        accounts->other += 5;
    });
    auto auditor = heddle::spawn("auditor", [&] {
        heddle::yield();
        heddle::yield();
        sum = accounts->one + accounts->other;
    });
    wait_for(mover, auditor);
    heddle::sim::show_state(static_cast<std::uint64_t>(sum));
    if (judged) { HEDDLE_CHECK(sum == 10); }
}

/// Two coroutines write into one text.
template <class How>
void text(bool judged) {
    typename How::template Variable<std::string> line{std::string("say: ")};
    const auto write = [&](const char* what) {
        How::change(line, [&](std::string& value) { value += what; });
        heddle::yield();
        How::change(line, [&](std::string& value) { value += what; });
    };
    auto a = heddle::spawn("a", [&] { write("a longer text than fits in place, "); });
    auto b = heddle::spawn("b", [&] { write("b"); });
    wait_for(a, b);
    std::string end;
    How::change(line, [&](std::string& value) { end = value; });
    heddle::sim::show_state(heddle::hash_text(end));
    if (judged) { HEDDLE_CHECK(end.substr(5, 1) == "a"); }
}

/// Coroutines put numbers into one list; whose is the first?
template <class How>
void list(bool judged) {
    typename How::template Variable<std::vector<int>> numbers{std::vector<int>{}};
    const auto put = [&](int number) {
        How::change(numbers, [&](std::vector<int>& all) { all.push_back(number); });
    };
    auto a = heddle::spawn("a", [&] { put(1); });
    auto b = heddle::spawn("b", [&] { put(2); });
    auto c = heddle::spawn("c", [&] { put(3); });
    wait_for(a, b, c);
    int first = 0;
    How::change(numbers, [&](std::vector<int>& all) {
        first = all.front();
        heddle::sim::show_state(static_cast<std::uint64_t>(all[0] * 100 + all[1] * 10 + all[2]));
    });
    if (judged) { HEDDLE_CHECK(first == 1); }
}

/// A variable of static storage.
template <class How>
void global_variable(bool judged) {
    How::set_global(0);
    const auto hit = [] {
        const int seen = How::global();
        heddle::yield();
        How::set_global(seen + 1);
    };
    auto a = heddle::spawn("a", hit);
    auto b = heddle::spawn("b", [&] {
        heddle::yield();
        heddle::yield();
        hit();
    });
    wait_for(a, b);
    const int end = How::global();
    heddle::sim::show_state(static_cast<std::uint64_t>(end));
    if (judged) { HEDDLE_CHECK(end == 2); }
}

/// Likewise, one per thread.
template <class How>
void thread_variable(bool judged) {
    if constexpr (How::declared) {
        global_variable<How>(judged);
    } else {
        own_hits = 0;
        const auto hit = [] {
            const int seen = own_hits;
            heddle::yield();
            own_hits = seen + 1;
        };
        auto a = heddle::spawn("a", hit);
        auto b = heddle::spawn("b", [&] {
            heddle::yield();
            heddle::yield();
            hit();
        });
        wait_for(a, b);
        const int end = own_hits;
        heddle::sim::show_state(static_cast<std::uint64_t>(end));
        if (judged) { HEDDLE_CHECK(end == 2); }
    }
}

/// Tickets are drawn one after another, and paid for in the order of coroutines.
template <class How>
void atomic_counter(bool judged) {
    typename How::Counter next{0};
    int first = -1;
    auto a = heddle::spawn("a", [&] { first = How::count(next); });
    auto b = heddle::spawn("b", [&] { How::count(next); });
    auto c = heddle::spawn("c", [&] { How::count(next); });
    wait_for(a, b, c);
    heddle::sim::show_state(static_cast<std::uint64_t>(first));
    if (judged) { HEDDLE_CHECK(first == 0); }
}

/// Neighbours in memory, each with an owner: nothing is shared.
template <class How>
void neighbours(bool judged) {
    struct Flags {
        typename How::template Variable<bool> a{false};
        typename How::template Variable<bool> b{false};
        typename How::template Variable<char> c{'0'};
    };
    Flags flags;
    auto a = heddle::spawn("a", [&] { flags.a = true; });
    auto b = heddle::spawn("b", [&] { flags.b = true; });
    auto c = heddle::spawn("c", [&] { flags.c = 'c'; });
    wait_for(a, b, c);
    if (judged) { HEDDLE_CHECK(flags.a && flags.b && flags.c == 'c'); }
}

/// A coroutine of a coroutine changes what its parent captured by value.
template <class How>
void captured_by_value(bool judged) {
    auto parent = heddle::spawn("parent", [judged, total = std::make_unique<typename How::template Variable<int>>(0)] {
        const auto add = [&] {
            const int seen = *total;
            heddle::yield();
            *total = seen + 1;
        };
        auto a = heddle::spawn("a", add);
        auto b = heddle::spawn("b", [&] {
            heddle::yield();
            heddle::yield();
            add();
        });
        wait_for(a, b);
        const int end = *total;
        heddle::sim::show_state(static_cast<std::uint64_t>(end));
        if (judged) { HEDDLE_CHECK(end == 2); }
    });
    parent.await();
}

/// The same, with a variable that lies among the captures themselves.
template <class How>
void captures(bool judged) {
    if constexpr (How::declared) {
        captured_by_value<How>(judged);
    } else {
        auto parent = heddle::spawn("parent", [judged, total = 0]() mutable {
            const auto add = [&] {
                const int seen = total;
                heddle::yield();
                total = seen + 1;
            };
            auto a = heddle::spawn("a", add);
            auto b = heddle::spawn("b", [&] {
                heddle::yield();
                heddle::yield();
                add();
            });
            wait_for(a, b);
            const int end = total;
            heddle::sim::show_state(static_cast<std::uint64_t>(end));
            if (judged) { HEDDLE_CHECK(end == 2); }
        });
        parent.await();
    }
}

/// A record is copied as a whole, in place and by the C library, while somebody changes half of it.
template <class How>
void copied_record(bool judged) {
    struct Record {
        std::uint64_t words[6] = {};
    };
    typename How::template Variable<Record> record{Record{}};
    Record copy;
    auto writer = heddle::spawn("writer", [&] {
        How::change(record, [](Record& value) { value.words[0] = 1; });
        heddle::yield();
        How::change(record, [](Record& value) { value.words[5] = 1; });
    });
    auto reader = heddle::spawn("reader", [&] {
        heddle::yield();
        heddle::yield();
        const Record& now = record;
        std::memcpy(&copy, &now, sizeof copy);
    });
    wait_for(writer, reader);
    heddle::sim::show_state(copy.words[0] * 2 + copy.words[5]);
    if (judged) { HEDDLE_CHECK(copy.words[0] == copy.words[5]); }
}

/// Values go through a channel, and a mutex guards a sum: what the runtime's own objects keep in memory is no sharing of the program's.
template <class How>
void runtime_objects(bool judged) {
    heddle::Channel<int> jobs{{.capacity = 2}};
    heddle::Mutex mutex;
    typename How::template Variable<int> sum{0};
    auto producer = heddle::spawn("producer", [&] {
        for (int i = 1; i <= 3; ++i) { jobs.send(i); }
        jobs.close();
    });
    const auto consume = [&] {
        for (const int job : jobs) {
            const heddle::Lock lock{mutex};
            const int seen = sum;
            sum = seen + job;
        }
    };
    auto a = heddle::spawn("a", consume);
    auto b = heddle::spawn("b", consume);
    wait_for(producer, a, b);
    const int end = sum;
    heddle::sim::show_state(static_cast<std::uint64_t>(end));
    if (judged) { HEDDLE_CHECK(end == 6); }
}

/// Two or three coroutines that read, write and add to variables of three sizes, on the stack and on the heap, as `seed` has it.
template <class How>
void generated(std::uint64_t seed) {
    struct Variables {
        typename How::template Variable<int> number{0};
        typename How::template Variable<char> letter{'a'};
        typename How::template Variable<char> neighbour{'a'};
        typename How::template Variable<std::int64_t> sum{0};
    };
    Variables on_stack;
    const auto on_heap = std::make_unique<Variables>();
    const auto draw = [&seed](std::uint64_t below) { return (seed = heddle::hash_mix(seed, 1)) % below; };
    struct Step {
        std::uint64_t kind = 0;
        bool heap = false;
        bool yields = false;
    };
    std::vector<std::vector<Step>> courses(2 + draw(2));
    for (std::vector<Step>& course : courses) {
        course.resize(1 + draw(3));
        for (Step& step : course) { step = {draw(8), draw(2) == 0, draw(2) == 0}; }
    }
    std::vector<heddle::Coroutine<int>> all;
    for (const std::vector<Step>& course : courses) {
        all.push_back(heddle::spawn("one", [&, mine = course] {
            int seen = 1;
            for (const Step& step : mine) {
                Variables& at = step.heap ? *on_heap : on_stack;
                switch (step.kind) {
                    case 0: seen += at.number; break;
                    case 1: at.number = seen; break;
                    case 2: at.number += 1; break;
                    case 3: seen += at.letter; break;
                    case 4: at.letter = static_cast<char>('a' + seen % 20); break;
                    case 5: at.neighbour = static_cast<char>('a' + seen % 20); break;
                    case 6: seen += at.neighbour; break;
                    default: at.sum += seen; break;
                }
                if (step.yields) { heddle::yield(); }
            }
            return seen;
        }));
    }
    std::uint64_t end = 0;
    for (const heddle::Coroutine<int>& one : all) { end = heddle::hash_mix(end, static_cast<std::uint64_t>(one.await())); }
    for (const Variables* at : {static_cast<const Variables*>(&on_stack), static_cast<const Variables*>(on_heap.get())}) {
        end = heddle::hash_mix(end, static_cast<std::uint64_t>(int{at->number}));
        end = heddle::hash_mix(end, static_cast<std::uint64_t>(char{at->letter}));
        end = heddle::hash_mix(end, static_cast<std::uint64_t>(char{at->neighbour}));
        end = heddle::hash_mix(end, static_cast<std::uint64_t>(std::int64_t{at->sum}));
    }
    heddle::sim::show_state(end);
}

/// @param judged  its check is made; else all schedules end well, and can be counted
using Body = void (*)(bool judged);

/// Adds one to each of 64 numbers, so many times. Compiled with the hooks.
void many_accesses(int rounds);

/// Compiled with the hooks, and without.
void generated_plain(std::uint64_t seed);
void generated_declared(std::uint64_t seed);

/// Compiled with the hooks.
extern const std::map<std::string, Body> plain;
/// Compiled without.
extern const std::map<std::string, Body> declared;

#define HEDDLE_PROGRAMS(How)                                                                                            \
    {"lost_update", &lost_update<How>}, {"check_then_act", &check_then_act<How>}, {"heap_object", &heap_object<How>},   \
        {"text", &text<How>}, {"list", &list<How>}, {"global_variable", &global_variable<How>},                         \
        {"atomic_counter", &atomic_counter<How>}, {"neighbours", &neighbours<How>},                                     \
        {"captured_by_value", &captured_by_value<How>}, {"captures", &captures<How>}, {"copied_record", &copied_record<How>},       \
        {"runtime_objects", &runtime_objects<How>}, {"thread_variable", &thread_variable<How>}

}  // namespace programs
