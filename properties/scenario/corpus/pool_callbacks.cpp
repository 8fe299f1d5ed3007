// SPDX-License-Identifier: Apache-2.0
// Corpus, pool: what callbacks do to the books - making, checking, destroying - and deadlines that meet them. Promises: pool.cpp.
//
//   BUG-065  true-async/php-async@686a6ab, aio-libs/aiohttp#4936, ExpediaGroup/styx#419   several are made at once, more than allowed
//   BUG-071  aio-libs/aiohttp#4562                             a waiter sits in a queue that nobody looks at any more
//   BUG-072  ExpediaGroup/styx#486                             a resource is handed to a waiter that is dead
//   BUG-074  psycopg/psycopg#1214, eclipse-vertx/vertx-sql-client#1620, brianc/node-postgres#3543   ready at the caller's deadline
//   BUG-076  coopernurse/node-pool#183                         a factory that always fails is called for ever
//   BUG-077  redis/redis-py#2624, go-pg/pg#1161                a connection comes back with a reply in flight
//   BUG-078  sidorares/node-mysql2#4498, Vincit/tarn.js#61     a deadline that is armed anew, or outlives its wait
//   BUG-079  alibaba/PhotonLibOS#1542, alibaba/PhotonLibOS#1032   a resource is lent while it is being checked
//   BUG-080  tediousjs/tedious-connection-pool#42, myndzi/pool2#25   a drain, or a creation that fails, forgets the waiters
//
// Where chance enters: sim::choose, who runs next, ties of timers.
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

class NotMade : public std::runtime_error {
public:
    NotMade() : std::runtime_error("it could not be made") {}
};

void made_one_at_a_time() {
    int inside = 0;
    int made = 0;
    PoolOptions<int> options;
    options.max = 1;
    options.factory = [&] {
        HEDDLE_CHECK(++inside == 1);
        if (sim::choose(2, "the factory takes time") == 1) { sleep_for(5ms); }
        --inside;
        return ++made;
    };
    const Pool<int> pool(std::move(options));
    int served = 0;
    const auto user = [&] {
        Lease<int> lease = pool.acquire();
        HEDDLE_CHECK(pool.count() == 1);
        yield();
        ++served;
        lease.release();
    };
    auto a = spawn("a", user);
    auto b = spawn("b", user);
    auto c = spawn("c", user);
    join(a, b, c);
    HEDDLE_CHECK(served == 3 && made == 1 && pool.idle_count() == 1);
}

/// Pools by key; one that nobody uses is dropped, and made anew for the next who asks.
class KeyedPools {
public:
    void use(const char* key) {
        const Pool<int> pool = of(key);
        Lease<int> lease = pool.acquire();
        yield();
        lease.release();
        if (sim::choose(2, "it tidies up at once, or later") == 1) { yield(); }
        tidy(key);
    }
    [[nodiscard]] std::size_t size() const { return pools_.size(); }

private:
    Pool<int> of(const char* key) {
        const auto known = pools_.find(key);
        if (known != pools_.end()) { return known->second; }
        PoolOptions<int> options;
        options.max = 1;
        options.factory = [] { return 1; };
        return pools_.emplace(key, Pool<int>(std::move(options))).first->second;
    }
    /// What is there by now may be newer than what the caller has used.
    void tidy(const char* key) {
        const auto known = pools_.find(key);
        if (known == pools_.end()) { return; }
        const Pool<int>& pool = known->second;
        if (pool.active_count() > 0 || pool.reserved_count() > 0 || pool.waiting_count() > 0) { return; }
        pool.close();
        pools_.erase(known);
    }

    std::map<std::string, Pool<int>> pools_;
};

void queue_that_was_replaced() {
    KeyedPools pools;
    int served = 0;
    const auto user = [&] {
        const std::uint32_t waits = sim::choose(3, "it comes at once, or turns later");
        for (std::uint32_t i = 0; i < waits; ++i) { yield(); }
        pools.use("k");
        ++served;
    };
    auto a = spawn("a", user);
    auto b = spawn("b", user);
    auto n = spawn("n", user);
    join(a, b, n);
    HEDDLE_CHECK(served == 3 && pools.size() == 0);
}

void dead_waiter_gets_nothing() {
    PoolOptions<int> options;
    options.max = 1;
    options.factory = [] { return 1; };
    const Pool<int> pool(std::move(options));
    Lease<int> held = pool.acquire();
    bool inside = false;
    auto b = spawn("b", [&] {
        Lease<int> lease = pool.acquire();
        inside = true;
        lease.release();
    });
    let_all_run();
    b.cancel();
    if (sim::choose(2, "B has cleaned up before the release") == 1) { yield(); }
    held.release();
    HEDDLE_CHECK(pool.idle_count() == 1 && pool.reserved_count() == 0);
    join(b);
    HEDDLE_CHECK(!inside && pool.idle_count() == 1 && pool.active_count() == 0);
}

void ready_at_the_deadline() {
    int made = 0;
    int destroyed = 0;
    const bool is_new = sim::choose(2, "the resource is made, or only checked") == 0;
    const auto takes_time = [] { sleep_for(10ms); };
    PoolOptions<int> options;
    options.max = 1;
    options.min = is_new ? 0 : 1;
    options.factory = [&] {
        if (is_new) { takes_time(); }
        return ++made;
    };
    options.before_acquire = [&](int&) {
        if (!is_new) { takes_time(); }
        return true;
    };
    options.destructor = [&](int&) { ++destroyed; };
    const Pool<int> pool(std::move(options));
    std::optional<Coroutine<>> caller;
    const Alarm deadline(scheduler(), 10ms, [&] { caller->cancel(); });
    bool served = false;
    auto a = spawn("a", [&] {
        Lease<int> lease = pool.acquire();
        served = true;
        lease.release();
    });
    caller = a;
    auto b = spawn("b", [&] { pool.acquire({.timeout = 100ms}).release(); });
    join(a, b);
    HEDDLE_CHECK(!b.error());
    HEDDLE_CHECK(served || a.error().is_cancellation());
    HEDDLE_CHECK(made - destroyed == 1 && pool.idle_count() == 1 && pool.active_count() == 0);
}

void factory_that_always_fails() {
    int calls = 0;
    const bool takes_time = sim::choose(2, "it fails at once, or later") == 1;
    PoolOptions<int> options;
    options.max = 1;
    options.factory = [&]() -> std::optional<int> {
        ++calls;
        if (takes_time) { sleep_for(1ms); }
        throw NotMade();
    };
    const Pool<int> pool(std::move(options));
    int answers = 0;
    const auto user = [&] {
        const ErrorValue error = caught([&] { pool.acquire().release(); });
        HEDDLE_CHECK(holds<NotMade>(error));
        ++answers;
    };
    auto a = spawn("a", user);
    auto b = spawn("b", user);
    join(a, b);
    sleep_for(5ms);
    HEDDLE_CHECK(answers == 2 && calls == 2);
    HEDDLE_CHECK(pool.count() == 0 && pool.reserved_count() == 0);
}

/// Answers each request after a while, in order.
struct EchoConnection {
    std::deque<int> replies{};
    void send(int request) { replies.push_back(request); }
    int receive() {
        HEDDLE_CHECK(!replies.empty());
        const int reply = replies.front();
        replies.pop_front();
        return reply;
    }
};

void reply_in_flight() {
    PoolOptions<EchoConnection> options;
    options.max = 1;
    options.factory = [] { return EchoConnection{}; };
    const bool looks = sim::choose(2, "a hook looks at what comes back") == 1;
    if (looks) {
        options.before_release = [](EchoConnection& connection, PoolReturn) { return connection.replies.empty(); };
    }
    const Pool<EchoConnection> pool(std::move(options));
    auto a = spawn("a", [&] {
        Lease<EchoConnection> lease = pool.acquire();
        lease->send(1);
        sleep_for(5ms);
        HEDDLE_CHECK(lease->receive() == 1);
        lease.release();
    });
    auto b = spawn("b", [&] {
        Lease<EchoConnection> lease = pool.acquire();
        lease->send(2);
        sleep_for(5ms);
        HEDDLE_CHECK(lease->receive() == 2);
        lease.release();
    });
    yield();
    if (sim::choose(2, "A is cancelled between request and reply") == 1) { a.cancel(); }
    join(a, b);
    HEDDLE_CHECK(!b.error() && pool.active_count() == 0);
}

void one_deadline_per_acquire() {
    PoolOptions<int> options;
    options.max = 1;
    options.factory = [] { return 1; };
    const Pool<int> pool(std::move(options));
    Lease<int> held = pool.acquire();
    const bool first_in_line = sim::choose(2, "B comes before the others") == 1;
    const auto other = [&] {
        Lease<int> lease = pool.acquire();
        sleep_for(4ms);
        lease.release();
    };
    std::optional<ErrorValue> answer;
    const auto waits = [&] {
        const Clock clock;
        answer = caught([&] { pool.acquire({.timeout = 10ms}).release(); });
        HEDDLE_CHECK(*answer ? clock.is_at(10ms) : clock.elapsed() >= 4ms);
    };
    std::vector<Coroutine<>> all;
    if (first_in_line) { all.push_back(spawn("b", waits)); }
    let_all_run();
    for (int i = 0; i < 3; ++i) { all.push_back(spawn("n", other)); }
    let_all_run();
    if (!first_in_line) { all.push_back(spawn("b", waits)); }
    sleep_for(4ms);
    held.release();
    for (const Coroutine<>& one : all) { join(one); }
    HEDDLE_CHECK(first_in_line ? !*answer : holds<TimeoutError>(*answer));
    const Clock clock;
    pool.acquire({.timeout = 10ms}).release();
    HEDDLE_CHECK(clock.is_at(0ms));
}

void checked_and_lent() {
    std::set<int> lent;
    std::set<int> destroyed;
    int checking = 0;
    int made = 0;
    PoolOptions<int> options;
    options.max = 2;
    options.min = 1;
    options.healthcheck_interval = 10ms;
    options.factory = [&] { return ++made; };
    options.destructor = [&](int& resource) {
        HEDDLE_CHECK(!lent.contains(resource));
        HEDDLE_CHECK(destroyed.insert(resource).second);
    };
    options.healthcheck = [&](int& resource) {
        HEDDLE_CHECK(!lent.contains(resource));
        checking = resource;
        sleep_for(3ms);
        checking = 0;
        return sim::choose(2, "it is found alive, or dead") == 0;
    };
    const Pool<int> pool(std::move(options));
    auto a = spawn("a", [&] {
        sleep_for(sim::choose(2, "it comes during the check, or as it begins") == 1 ? 10ms : 11ms);
        Lease<int> lease = pool.acquire();
        const int resource = *lease;
        HEDDLE_CHECK(resource != checking);
        lent.insert(resource);
        sleep_for(5ms);
        HEDDLE_CHECK(!destroyed.contains(resource));
        lent.erase(resource);
        lease.release();
    });
    join(a);
    sleep_for(2ms);
    pool.close();
    HEDDLE_CHECK(static_cast<int>(destroyed.size()) == made);
}

void drained_with_waiters() {
    PoolOptions<int> options;
    options.max = 1;
    options.factory = [&]() -> std::optional<int> {
        sleep_for(5ms);  // and gives up then
        throw NotMade();
    };
    const Pool<int> pool(std::move(options));
    int answers = 0;
    const auto user = [&] {
        const ErrorValue error = caught([&] { pool.acquire().release(); });
        HEDDLE_CHECK(holds<NotMade>(error) || holds<PoolError>(error));
        ++answers;
    };
    auto a = spawn("a", user);
    auto b = spawn("b", user);
    auto c = spawn("c", user);
    constexpr Duration moments[] = {7ms, 4ms, 5ms, 10ms};
    sleep_for(moments[sim::choose(4, "drained behind the first creation's end, before it, with it, with the second's")]);
    pool.close();
    join(a, b, c);
    HEDDLE_CHECK(answers == 3 && pool.count() == 0);
}

}  // namespace

std::vector<sim::Scenario> pool_callbacks_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-065", "true-async/php-async@686a6ab, aio-libs/aiohttp#4936, ExpediaGroup/styx#419",
                     "What is being made counts: callers beyond the limit wait for it.", 2, {value, dispatch}},
                    made_one_at_a_time),
        scenario_of({"corpus/BUG-071", "aio-libs/aiohttp#4562",
                     "A waiter of a pool that is replaced under its key is served by it, or told.", 2, {value, dispatch}},
                    queue_that_was_replaced),
        scenario_of({"corpus/BUG-072", "ExpediaGroup/styx#486",
                     "A release that meets a waiter whose owner is gone leaves the resource idle.", 3, {value, dispatch}},
                    dead_waiter_gets_nothing),
        scenario_of({"corpus/BUG-074", "psycopg/psycopg#1214, eclipse-vertx/vertx-sql-client#1620, brianc/node-postgres#3543",
                     "A resource that is ready as its caller gives up goes to the caller, or to the next one.", 3,
                     {value, dispatch, timer, timer_io}},
                    ready_at_the_deadline),
        scenario_of({"corpus/BUG-076", "coopernurse/node-pool#183",
                     "A factory that always fails is called once for each who asks, and each is told.", 1, {value, dispatch}},
                    factory_that_always_fails),
        scenario_of({"corpus/BUG-077", "redis/redis-py#2624, go-pg/pg#1161",
                     "A connection whose user was cancelled between request and reply does not reach the next one.", 2, {value, dispatch}},
                    reply_in_flight),
        scenario_of({"corpus/BUG-078", "sidorares/node-mysql2#4498, Vincit/tarn.js#61",
                     "An acquire has one deadline, however often others are served first, and leaves nothing to the next.", 2,
                     {value, dispatch, timer}},
                    one_deadline_per_acquire),
        scenario_of({"corpus/BUG-079", "alibaba/PhotonLibOS#1542, alibaba/PhotonLibOS#1032",
                     "A resource that is being checked is not lent, and one that is lent is not destroyed.", 3, {value, dispatch, timer}},
                    checked_and_lent),
        scenario_of({"corpus/BUG-080", "tediousjs/tedious-connection-pool#42, myndzi/pool2#25",
                     "Whoever waits is told when the pool closes, and has its turn when a creation fails.", 2, {value, dispatch, timer}},
                    drained_with_waiters),
    };
}

}  // namespace heddle::prop::corpus
