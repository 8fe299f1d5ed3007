// SPDX-License-Identifier: Apache-2.0
// The examples of docs/spec 10 to 13: pool (P1 to P5), channel (C1 to C6), future and await (F1 to F4), task group and set (G1 to G3).
#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/properties/scenario/worked.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;
using corpus::holds;
using corpus::join;
using corpus::let_all_run;

/// Runs `body`, which says what it gets; says what ends it otherwise, behind the name. A cancellation goes on.
template <class F>
void say_how(const char* name, F&& body) {
    try {
        body();
    } catch (const OperationCanceled&) {
        say(std::string(name) + ":token");
    } catch (const Cancellation&) {
        say(std::string(name) + ":cancelled");
        throw;
    } catch (const PoolError& error) {
        say(std::string(name) + (error.reason() == PoolError::Reason::closed ? ":closed" : ":none"));
    } catch (const ChannelError&) {
        say(std::string(name) + ":closed");
    } catch (const std::exception& error) {
        say(std::string(name) + ":" + error.what());
    }
}

void say_got(const char* name, int value) { say(std::string(name) + "=" + std::to_string(value)); }

// ── pool ──

PoolOptions<int> numbered(std::int64_t max, int& made) {
    PoolOptions<int> options;
    options.max = max;
    options.factory = [&made] { return ++made; };
    return options;
}

auto pool_user(const Pool<int>& pool, const char* name) {
    return [&pool, name] {
        say_how(name, [&] {
            Lease<int> lease = pool.acquire();
            say_got(name, *lease);
            lease.release();
        });
    };
}

void p1() {
    int made = 0;
    const Pool<int> pool(numbered(1, made));
    Lease<int> held = pool.acquire();
    auto w1 = spawn("W1", pool_user(pool, "W1"));
    auto w2 = spawn("W2", pool_user(pool, "W2"));
    let_all_run();
    held.release();
    w1.cancel();
    join(w1, w2);
    HEDDLE_CHECK(made == 1 && pool.idle_count() == 1);
}

void p2() {
    int made = 0;
    int destroyed = 0;
    PoolOptions<int> options = numbered(1, made);
    options.destructor = [&](int&) { ++destroyed; };
    const Pool<int> pool(std::move(options));
    Lease<int> held = pool.acquire();
    auto w = spawn("W", pool_user(pool, "W"));
    let_all_run();
    held.release();
    pool.close();
    join(w);
    HEDDLE_CHECK(destroyed == 1 && pool.idle_count() == 0);
}

void p3() {
    int made = 0;
    PoolOptions<int> options = numbered(1, made);
    options.before_release = [](int& resource, PoolReturn) { return resource != 1; };
    options.destructor = [](int& resource) {
        sleep_for(5ms);
        say_got("destroyed", resource);
    };
    const Pool<int> pool(std::move(options));
    Lease<int> held = pool.acquire();
    auto w = spawn("W", pool_user(pool, "W"));
    let_all_run();
    auto releaser = spawn("A", [&] { held.release(); });
    let_all_run();  // it is in the destructor
    auto n = spawn("N", pool_user(pool, "N"));
    join(w, releaser, n);
    HEDDLE_CHECK(made == 2);
    pool.close();
}

void p4() {
    int calls = 0;
    std::vector<corpus::Event> made;
    for (int i = 0; i < 3; ++i) { made.push_back(corpus::make_event("made")); }
    PoolOptions<int> options;
    options.max = 2;
    options.factory = [&]() -> std::optional<int> {
        const int call = ++calls;
        say("make" + std::to_string(call));
        await_event(made[static_cast<std::size_t>(call) - 1]);
        if (call == 1) { throw std::runtime_error("E1"); }
        return call;
    };
    const Pool<int> pool(std::move(options));
    auto a = spawn("A", pool_user(pool, "A"));
    let_all_run();
    auto b = spawn("B", pool_user(pool, "B"));
    let_all_run();
    auto c = spawn("C", pool_user(pool, "C"));
    for (const std::size_t next : {0U, 2U, 1U}) {
        let_all_run();
        made[next]->complete();
    }
    join(a, b, c);
    HEDDLE_CHECK(calls == 3 && pool.count() == 2);
}

void p5() {
    int calls = 0;
    const auto fails = corpus::make_event("fails");
    PoolOptions<int> options;
    options.max = 2;
    options.factory = [&]() -> std::optional<int> {
        const int call = ++calls;
        if (call == 2) {
            await_event(fails);
            throw std::runtime_error("E2");
        }
        return call;
    };
    const Pool<int> pool(std::move(options));
    Lease<int> held = pool.acquire();
    auto b = spawn("B", pool_user(pool, "B"));
    let_all_run();
    auto c = spawn("C", pool_user(pool, "C"));
    let_all_run();
    fails->complete();  // B is ready, then N, then C, which is granted now
    auto n = spawn("N", pool_user(pool, "N"));
    held.release();
    join(b, c, n);
    HEDDLE_CHECK(pool.active_count() == 0);
}

// ── channel ──

auto sender(const Channel<int>& channel, const char* name, int value) {
    return [&channel, name, value] {
        say_how(name, [&] {
            channel.send(value);
            say(std::string(name) + ":sent");
        });
    };
}

auto receiver(const Channel<int>& channel, const char* name) {
    return [&channel, name] { say_how(name, [&] { say_got(name, channel.receive()); }); };
}

void c1() {
    const Channel<int> channel({.capacity = 1});
    auto r1 = spawn("R1", receiver(channel, "R1"));
    auto r2 = spawn("R2", receiver(channel, "R2"));
    let_all_run();
    channel.send(5);
    r1.cancel();
    join(r1, r2);
    HEDDLE_CHECK(channel.count() == 0);
}

void c2() {
    const Channel<int> channel({.capacity = 1});
    channel.send(0);
    auto s1 = spawn("S1", sender(channel, "S1", 1));
    let_all_run();
    auto s2 = spawn("S2", sender(channel, "S2", 2));
    let_all_run();
    say_got("got", channel.receive());
    s1.cancel();
    const int next = channel.receive();
    say_got("got", next);
    join(s1, s2);
    HEDDLE_CHECK(next == 2 && channel.count() == 0);
}

void c3() {
    const Channel<int> channel;
    auto s1 = spawn("S1", sender(channel, "S1", 1));
    let_all_run();
    auto s2 = spawn("S2", sender(channel, "S2", 2));
    let_all_run();
    say_got("got", channel.receive());
    HEDDLE_CHECK(channel.try_send(3) == SendResult::full);
    const int next = channel.receive();
    say_got("got", next);
    join(s1, s2);
    HEDDLE_CHECK(next == 2);
}

void c4() {
    const Channel<int> channel({.capacity = 2});
    auto r1 = spawn("R1", receiver(channel, "R1"));
    let_all_run();
    auto r2 = spawn("R2", receiver(channel, "R2"));
    let_all_run();
    channel.send(5);
    channel.close();
    join(r1, r2);
}

void c5() {
    const Channel<int> channel;
    auto s = spawn("S", [&] {
        say_how("S", [&] {
            channel.send(1);
            say("S:sent");
            yield();
            say("S:alive");
        });
    });
    let_all_run();
    say_got("got", channel.receive());
    s.cancel();
    join(s);
    HEDDLE_CHECK(s.is_cancelled());
    auto t = spawn("T", sender(channel, "T", 2));
    let_all_run();
    t.cancel();
    auto closer = spawn("K", [&] { channel.close(); });
    receiver(channel, "got")();  // parks
    join(t, closer);
}

void c6() {
    const Channel<int> channel({.capacity = 1});
    {
        const Future<int> future = channel.receive_async();
        channel.send(5);
        HEDDLE_CHECK(future.is_completed() && channel.is_empty());
        future.ignore();
    }
    say_got("got", channel.receive());
}

// ── future and await ──

void f1() {
    const FutureState<int> first;
    first.complete(1);
    HEDDLE_CHECK(!first.future().cancel());
    say(std::to_string(first.future().await()));
    const FutureState<int> second;
    const Future<int> future = second.future();
    HEDDLE_CHECK(future.cancel());
    try {
        second.complete(1);
    } catch (const AsyncError&) {
        say("complete:refused");
    }
    try {
        static_cast<void>(future.await());
    } catch (const Cancellation&) {
        say("await:cancelled");
    }
}

void f2() {
    const std::array<FutureState<int>, 3> states;
    std::vector<Awaitable<int>> inputs;
    for (const FutureState<int>& state : states) { inputs.emplace_back(state.future()); }
    auto waiter = spawn("waiter", [&] {
        const auto combined = await_any_of(2, inputs);
        for (const auto& [index, value] : combined.values) { say_got(std::to_string(index).c_str(), value); }
        HEDDLE_CHECK(combined.values.size() == 2 && combined.errors.empty());
    });
    let_all_run();
    states[0].complete(10);
    states[1].complete(11);
    states[2].complete(12);
    join(waiter);
}

void f3() {
    bool others_ran = false;
    auto witness = spawn("witness", [&] { others_ran = true; });
    const auto token = corpus::make_event("token");
    token->complete();
    const FutureState<int> done;
    done.complete(1);
    const FutureState<int> pending;
    const Future<int> waits = pending.future();
    waits.ignore();
    say_how("done", [&] { say_got("done", done.future().await(token)); });
    say_how("pending", [&] { say_got("pending", waits.await(token)); });
    HEDDLE_CHECK(!others_ran);
    join(witness);
}

void f4() {
    const FutureState<int> state;
    state.complete(1);
    const Future<int> mapped = state.future().map([](int value) {
        say("mapped");
        return value + 1;
    });
    say("attached");
    HEDDLE_CHECK(!mapped.is_completed());
    say_got("value", mapped.await());
}

// ── task group and set ──

void g1() {
    TaskGroup<void> group({.concurrency = 1});
    const auto go_on = corpus::make_event("go_on");
    const auto task = [go_on](const char* name) {
        return [go_on, name] {
            say(name);
            say_how(name, [&] { await_event(go_on); });
        };
    };
    group.spawn(task("T1"));
    group.spawn(task("T2"));
    group.spawn(task("T3"));
    let_all_run();
    group.cancel();
    group.await_completion();
    HEDDLE_CHECK(group.is_finished() && group.results().empty() && group.errors().size() == 3);
    say("finished");
}

void g2() {
    TaskGroup<int> group;
    const auto slow = corpus::make_event("slow");
    group.spawn([slow] {
        await_event(slow);
        return 1;
    });
    group.spawn([] {
        yield();
        return 2;
    });
    say_got("race", group.race().await());
    slow->complete();
    group.close();
    group.await_completion();
    say_got("race", group.race().await());
}

void g3() {
    TaskSet<int> set;
    const auto go_on = corpus::make_event("go_on");
    set.spawn([] {
        yield();
        return 1;
    });
    set.spawn([go_on] {
        await_event(go_on);
        return 2;
    });
    const Future<int> first = set.join_next();
    const Future<int> second = set.join_next();
    say_got("first", first.await());
    HEDDLE_CHECK(!second.is_completed());
    go_on->complete();
    say_got("second", second.await());
}

constexpr std::array<Worked, 18> examples{
    Worked{"P1", "a waiter that is cancelled in its window leaves the resource to the next one", p1, "W1:cancelled W2=1", ""},
    Worked{"P2", "a close fails a waiter that was promised something", p2, "W:closed", ""},
    Worked{"P3", "a rejected release makes room for the waiter, and a newcomer stays behind it", p3, "destroyed=1 W=2 N=2 destroyed=2", ""},
    Worked{"P4", "a factory that fails makes room for the one who waits", p4, "make1 make2 A:E1 make3 C=3 B=2", ""},
    Worked{"P5", "a newcomer makes its own resource beside one that is promised", p5, "B:E2 N=3 C=1", ""},
    Worked{"C1", "a receiver that is cancelled in its window leaves the value to the next one", c1, "R1:cancelled R2=5", ""},
    Worked{"C2", "a sender that is cancelled in its window leaves the slot to the next one", c2, "got=0 S1:cancelled S2:sent got=2", ""},
    Worked{"C3", "a rendezvous that ends promises the slot to the next sender", c3, "got=1 S1:sent S2:sent got=2", ""},
    Worked{"C4", "a close does not take away what was promised", c4, "R1=5 R2:closed", ""},
    Worked{"C5", "a delivery outlasts a cancellation; an offer does not", c5, "got=1 S:sent S:cancelled T:cancelled got:closed", ""},
    Worked{"C6", "the value of a receive that nobody obtained comes back", c6, "got=5", ""},
    Worked{"F1", "whichever of completion and cancellation comes first counts", f1, "1 complete:refused await:cancelled", ""},
    Worked{"F2", "what settles behind the end of a wait is not reported", f2, "0=10 1=11", ""},
    Worked{"F3", "a settled target beats a fired token, and neither yields", f3, "done=1 pending:token", ""},
    Worked{"F4", "a callback on a settled future runs behind the one who attached it", f4, "attached mapped value=2", ""},
    Worked{"G1", "a cancelled group starts nothing more, and settles everything", g1, "T1 T1:cancelled finished", ""},
    Worked{"G2", "a race has one winner for all", g2, "race=2 race=2", ""},
    Worked{"G3", "a task that settles resolves one join", g3, "first=1 second=2", ""},
};

}  // namespace

std::span<const Worked> worked_sync() { return examples; }

}  // namespace heddle::prop
