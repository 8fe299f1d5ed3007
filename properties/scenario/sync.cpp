// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/scenario/sync.hpp"

#include <memory>
#include <optional>
#include <set>
#include <stdexcept>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

/// What `body` threw, or no error. The unwinding of a run that has ended passes through.
template <class Body>
ErrorValue caught(Body&& body) {
    try {
        body();
    } catch (const Cancellation&) {
        return ErrorValue(std::current_exception());
    } catch (const std::exception&) {
        return ErrorValue(std::current_exception());
    }
    return {};
}

template <class... Handles>
void join(const Handles&... handles) {
    EventSource* const inputs[] = {&handles.core()...};
    static_cast<void>(await_collect(inputs, {}));
}

void mutex_program() {
    Mutex mutex;
    bool inside = false;
    int entered = 0;
    const auto uses = [&] {
        return [&] {
            const Lock lock(mutex);
            HEDDLE_CHECK(!std::exchange(inside, true));
            ++entered;
            struct Leave {
                bool& in;
                ~Leave() { in = false; }
            } leave{inside};
            yield();
        };
    };
    auto a = spawn("a", uses());
    auto b = spawn("b", uses());
    auto c = spawn("c", uses());
    sim::anywhere([b] { b.cancel(); });
    join(a, b, c);
    HEDDLE_CHECK(!mutex.is_locked() && mutex.waiting() == 0);
    HEDDLE_CHECK(entered >= 2 && !a.error() && !c.error());
}

void semaphore_program() {
    Semaphore semaphore(2);
    std::size_t held = 0;
    const auto uses = [&](std::size_t count) {
        return [&, count] {
            const Permit permit(semaphore, count);
            held += count;
            HEDDLE_CHECK(held <= 2);
            struct Leave {
                std::size_t& held;
                std::size_t count;
                ~Leave() { held -= count; }
            } leave{held, count};
            yield();
        };
    };
    auto a = spawn("a", uses(1));
    auto b = spawn("b", uses(2));
    auto c = spawn("c", uses(1));
    sim::anywhere([b] { b.cancel(); });
    join(a, b, c);
    HEDDLE_CHECK(semaphore.available() == 2 && semaphore.waiting() == 0);
    HEDDLE_CHECK(!a.error() && !c.error());
}

void condition_program() {
    Mutex mutex;
    Condition changed;
    int items = 0;
    int taken = 0;
    const auto takes = [&] {
        return [&] {
            Lock lock(mutex);
            changed.wait_until(lock, [&] { return items > 0; });
            --items;
            ++taken;
        };
    };
    auto a = spawn("a", takes());
    auto b = spawn("b", takes());
    auto producer = spawn("p", [&] {
        for (int i = 0; i < 2; ++i) {
            const Lock lock(mutex);
            ++items;
            changed.notify_one();
        }
    });
    sim::anywhere([a] { a.cancel(); });
    join(a, b, producer);
    HEDDLE_CHECK(!b.error() && !mutex.is_locked());
    HEDDLE_CHECK(taken + items == 2);
    HEDDLE_CHECK(taken == (a.error() ? 1 : 2));
}

/// Every value that a send reported is received once or is still inside; one that failed is neither (INV-CHAN-04 to 06).
void channel_program_of(std::size_t capacity, bool closes) {
    const Channel<int> channel({.capacity = capacity});
    std::set<int> sent;
    std::set<int> received;
    const auto sends = [&](int first) {
        return [&, first] {
            for (int value = first; value < first + 2; ++value) {
                channel.send(value);
                sent.insert(value);
            }
        };
    };
    const auto receives = [&] {
        return [&] {
            while (true) { HEDDLE_CHECK(received.insert(channel.receive()).second); }
        };
    };
    auto s = spawn("s", sends(10));
    auto t = spawn("t", sends(20));
    auto r = spawn("r", receives());
    auto q = spawn("q", receives());
    sim::anywhere([s, r, channel, closes] {
        if (closes) {
            channel.close();
        } else {
            r.cancel();
        }
    });
    join(s, t);
    channel.close();
    join(r, q);
    while (const auto left = channel.try_receive()) { HEDDLE_CHECK(received.insert(*left.value).second); }
    HEDDLE_CHECK(sent == received);
}
void channel_program() { channel_program_of(1, false); }
void channel_close_program() { channel_program_of(1, true); }
void rendezvous_close_program() { channel_program_of(0, true); }

void rendezvous_program() {
    const Channel<int> channel;
    std::set<int> sent;
    std::set<int> received;
    const auto sends = [&](int value) {
        return [&, value] {
            if (!caught([&] { channel.send(value); })) { sent.insert(value); }
            yield();  // a cancellation that came behind the delivery
        };
    };
    auto s = spawn("s", sends(1));
    auto t = spawn("t", sends(2));
    auto r = spawn("r", [&] {
        while (true) { received.insert(channel.receive()); }
    });
    sim::anywhere([s] { s.cancel(); });
    join(s, t);
    channel.close();
    join(r);
    HEDDLE_CHECK(sent == received);
    HEDDLE_CHECK(sent.contains(2));
}

void receive_future_program() {
    const Channel<int> channel({.capacity = 1});
    std::set<int> received;
    auto a = spawn("a", [&] { received.insert(channel.receive_async().await()); });
    auto b = spawn("b", [&] { received.insert(channel.receive()); });
    auto s = spawn("s", [&] {
        channel.send(1);
        channel.send(2);
    });
    sim::anywhere([a] { a.cancel(); });
    join(a, b, s);
    while (const auto left = channel.try_receive()) { HEDDLE_CHECK(received.insert(*left.value).second); }
    HEDDLE_CHECK(received == (std::set<int>{1, 2}));
}

void future_program() {
    const FutureState<int> state;
    const Future<int> future = state.future();
    int mapped = 0;
    const Future<> child = future.map([&](int value) {
        ++mapped;
        HEDDLE_CHECK(value == 1);
    });
    int seen = 0;
    auto a = spawn("a", [&] {
        const ErrorValue error = caught([&] { seen = future.await(); });
        if (error && !future.is_completed()) { error.rethrow(); }
    });
    auto p = spawn("p", [&] { static_cast<void>(state.try_complete(1)); });
    sim::anywhere([future] { future.cancel(); });
    join(a, p);
    const bool cancelled = future.is_cancelled();
    const ErrorValue error = caught([&] { child.await(); });
    HEDDLE_CHECK(cancelled == error.is_cancellation());
    HEDDLE_CHECK(mapped == (cancelled ? 0 : 1));
    HEDDLE_CHECK(seen == (cancelled ? 0 : 1));
}

void group_program() {
    std::set<int> ran;
    std::size_t accepted = 0;
    std::optional<TaskGroup<int>> group(std::in_place, TaskGroupOptions{.concurrency = 1, .queue_limit = 1});
    const auto adds = [&](int first) {
        return [&, first] {
            for (int i = first; i < first + 2; ++i) {
                group->spawn([&, i] {
                    HEDDLE_CHECK(ran.insert(i).second);
                    yield();
                    return i;
                });
                ++accepted;
            }
        };
    };
    auto a = spawn("a", adds(0));
    auto b = spawn("b", adds(10));
    auto c = spawn("c", adds(20));
    sim::anywhere([a] { a.cancel(); });
    join(a, b, c);
    HEDDLE_CHECK(!b.error() && !c.error());
    const auto all = group->all();
    group->close();
    HEDDLE_CHECK(all.await().size() == accepted);
    HEDDLE_CHECK(ran.size() == accepted && group->count() == accepted);
}

void group_cancel_program() {
    const TaskGroup<int> group({.concurrency = 1, .queue_limit = 0});
    TaskGroup<int> adds = group;
    int started = 0;
    for (int i = 0; i < 3; ++i) {
        adds.spawn([&started, i] {
            ++started;
            yield();
            return i;
        });
    }
    sim::anywhere([group] { group.cancel(); });
    const auto any = group.any();
    const ErrorValue error = caught([&] { static_cast<void>(any.await()); });
    adds.close();
    group.await_completion();
    HEDDLE_CHECK(group.results().size() + group.errors().size() == 3);
    HEDDLE_CHECK(static_cast<bool>(error) == group.results().empty());
    HEDDLE_CHECK(static_cast<std::size_t>(started) >= group.results().size());
}

void set_program() {
    TaskSet<int> set;
    for (int i = 1; i <= 2; ++i) {
        set.spawn([i] {
            yield();
            return i;
        });
    }
    std::set<int> taken;
    auto a = spawn("a", [&] { taken.insert(set.join_next().await()); });
    auto b = spawn("b", [&] { taken.insert(set.join_next().await()); });
    sim::anywhere([a] { a.cancel(); });
    join(a, b);
    while (set.count() > 0) { taken.insert(set.join_next().await()); }
    HEDDLE_CHECK(taken == (std::set<int>{1, 2}));
}

void iterate_program() {
    int started = 0;
    int ended = 0;
    int in_flight = 0;
    auto a = spawn("a", [&] {
        iterate(
            std::vector<int>{1, 2, 3},
            [&](int) {
                ++started;
                HEDDLE_CHECK(++in_flight <= 2);
                struct Leave {
                    int& ended;
                    int& in_flight;
                    ~Leave() {
                        ++ended;
                        --in_flight;
                    }
                } leave{ended, in_flight};
                yield();
            },
            {.concurrency = 2});
    });
    sim::anywhere([a] { a.cancel(); });
    join(a);
    HEDDLE_CHECK(started == ended && in_flight == 0);
    HEDDLE_CHECK(a.error() || started == 3);
    HEDDLE_CHECK(current_runtime("test").statistics().registered == 1);
}

/// Hooks that take time and may fail: whatever does, nothing is left of it, and everything made is destroyed once (INV-POOL-13, 14).
void pool_program() {
    int made = 0;
    int destroyed = 0;
    bool inside = false;
    PoolOptions<int> options;
    options.max = 1;
    options.factory = [&]() -> std::optional<int> {
        yield();
        if (sim::fails("factory")) { throw std::runtime_error("factory"); }
        return ++made;
    };
    options.before_acquire = [](int&) {
        yield();
        return !sim::fails("before_acquire");
    };
    options.before_release = [](int&, PoolReturn) {
        yield();
        return !sim::fails("before_release");
    };
    options.destructor = [&](int&) {
        ++destroyed;
        if (sim::fails("destructor")) { throw std::runtime_error("destructor"); }
    };
    const Pool<int> pool(std::move(options));
    const auto uses = [&] {
        static_cast<void>(caught([&] {
            Lease<int> lease = pool.acquire();
            HEDDLE_CHECK(!std::exchange(inside, true));
            struct Leave {
                bool& in;
                ~Leave() { in = false; }
            };
            {
                const Leave leave{inside};
                yield();
            }
            lease.release();
        }));
    };
    auto a = spawn("a", uses);
    auto b = spawn("b", uses);
    auto c = spawn("c", uses);
    sim::anywhere([b] { b.cancel(); });
    join(a, b, c);
    while (pool.active_count() > 0) { yield(); }  // a lease that was dropped comes back in the background
    HEDDLE_CHECK(pool.reserved_count() == 0 && pool.waiting_count() == 0);
    static_cast<void>(caught([&] { pool.close(); }));
    HEDDLE_CHECK(pool.count() == 0 && made == destroyed);
}

/// One place, lent to a coroutine until it ends: nobody is lent what another left in the middle of a request, everything else comes back
/// as good, and the hook is told under which terms (POOL-44, POOL-45).
void bound_pool_program() {
    struct Session {
        bool in_request = false;
        bool pinned = false;
    };
    int made = 0;
    int broken = 0;
    int cut_short = 0;
    PoolOptions<Session> options;
    options.max = 1;
    options.factory = [&] {
        yield();
        ++made;
        return Session{};
    };
    options.before_acquire = [](Session& session) {
        HEDDLE_CHECK(!session.in_request);
        session.pinned = false;
        return true;
    };
    options.before_release = [](Session& session, PoolReturn how) {
        yield();
        HEDDLE_CHECK(!session.in_request);
        HEDDLE_CHECK((how == PoolReturn::abandoned) == session.pinned);
        return true;
    };
    options.destructor = [&](Session& session) { broken += session.in_request ? 1 : 0; };
    const Pool<Session> pool(std::move(options));
    const BoundPool<Session> bound(pool);
    const auto asks = [&] {
        auto request = bound.begin();
        HEDDLE_CHECK(!std::exchange(request->in_request, true));
        ++cut_short;
        yield();
        --cut_short;
        request->in_request = false;
        request.done();
        HEDDLE_CHECK(&bound.get() == &*request);
    };
    auto a = spawn("a", [&] {
        asks();
        HEDDLE_CHECK(bound.give_back() && !bound.is_bound());
        asks();
    });
    auto b = spawn("b", asks);
    std::unique_ptr<BoundPool<Session>::Pin> transaction;
    auto c = spawn("c", [&] {
        transaction.reset(new auto(bound.pin()));
        (*transaction)->pinned = true;
        yield();
        HEDDLE_CHECK(static_cast<bool>(caught([&] { bound.give_back(); })) && bound.is_bound());
    });
    sim::anywhere([b] { b.cancel(); });
    join(a, b, c);
    HEDDLE_CHECK(!a.error() && !c.error() && bound.bound_count() == 0);
    while (pool.active_count() > 0) { yield(); }  // the leases of ended coroutines come back in the background
    HEDDLE_CHECK(cut_short == broken && cut_short <= (b.error() ? 1 : 0));
    HEDDLE_CHECK(made == broken + 1 && pool.idle_count() == 1);
    pool.close();
}

sim::Scenario scenario_of(const char* name, const char* about, std::uint32_t depth, void (*program)()) {
    sim::Scenario scenario;
    scenario.name = name;
    scenario.about = about;
    scenario.depth = depth;
    scenario.program = [program](const sim::Parameters&) { return sim::Program(program); };
    scenario.oracles = [](const sim::Parameters&) { return all_oracles(); };
    using enum ChoiceKind;
    scenario.world = [](sim::WorldOptions& world) { world.mask = {dispatch, arrival, ready, batch, poll, timer, value}; };
    return scenario;
}

}  // namespace

std::vector<sim::Scenario> sync_scenarios() {
    return {
        scenario_of("sync/mutex", "Three coroutines take one mutex; one of them is cancelled at any point.", 7, mutex_program),
        scenario_of("sync/semaphore", "Two permits, one coroutine wants both and is cancelled at any point.", 7, semaphore_program),
        scenario_of("sync/condition", "Two consumers wait for news of two items; one is cancelled at any point.", 7, condition_program),
        scenario_of("sync/channel", "Two senders and two receivers over one slot; a receiver is cancelled at any point.", 7, channel_program),
        scenario_of("sync/channel-close", "The same, and the channel is closed at any point.", 7, channel_close_program),
        scenario_of("sync/rendezvous", "Two senders without a buffer; one is cancelled at any point.", 7, rendezvous_program),
        scenario_of("sync/rendezvous-close", "Two senders, two receivers, no buffer; closed at any point.", 7, rendezvous_close_program),
        scenario_of("sync/receive-future", "The awaiter of a receive's future is cancelled at any point; no message is lost.", 7,
                    receive_future_program),
        scenario_of("sync/future", "A future is cancelled at any point while it is completed, awaited and mapped.", 7, future_program),
        scenario_of("sync/group", "Three coroutines add tasks to a full group; one is cancelled at any point.", 5, group_program),
        scenario_of("sync/group-cancel", "A group is cancelled at any point; every task settles.", 7, group_cancel_program),
        scenario_of("sync/set", "Two joins of two tasks; one is cancelled at any point; no result is lost.", 7, set_program),
        scenario_of("sync/pool", "Three users of one place, with hooks that take time; one is cancelled at any point.", 4, pool_program),
        scenario_of("sync/bound-pool", "One place, bound to three coroutines in turn; one is cancelled at any point.", 7, bound_pool_program),
        scenario_of("sync/iterate", "A caller of iterate is cancelled at any point; nothing of it is left.", 7, iterate_program),
    };
}

}  // namespace heddle::prop
