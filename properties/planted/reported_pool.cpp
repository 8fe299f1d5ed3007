// SPDX-License-Identifier: Apache-2.0
// Bugs of pools and circuit breakers, most of them reported ones (MUT, of the corpus): promises that get lost, resources that are counted
// nowhere, or lent on although they are broken.
#include <memory>
#include <utility>

#include "heddle/properties/planted/builder.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::planted_bugs {
namespace {

using namespace std::chrono_literals;
using corpus::join;

/// A pool of numbers.
PoolOptions<int> numbers(std::int64_t max) {
    PoolOptions<int> options;
    options.max = max;
    options.factory = [made = 0]() mutable { return ++made; };
    return options;
}

std::shared_ptr<Threshold> breaker_of_one() {
    return std::make_shared<Threshold>(Threshold::Options{.failures = 1, .open = 10ms, .probes = 1, .probe = 1s});
}

}  // namespace

void add_reported_pool(Builder& add) {
    add.add("MUT-14", "a place that is given back at the deadline of the one who waits for it belongs to somebody", 1,
            ChoiceMask{ChoiceKind::timer}, [] {
                const Pool<int> pool(numbers(1));
                Lease<int> held = pool.acquire();
                auto b = spawn("b", [&] { pool.acquire({.timeout = 10ms}).release(); });
                yield();
                const auto timer = later(10ms, [&] { held.release(); });
                join(b);
                sleep_for(1ms);
                HEDDLE_ASSERT(pool.reserved_count() == 0, "INV-POOL-10");
            });
    add.source("Kotlin/kotlinx.coroutines#2233");

    add.add("MUT-19", "what a release promised to a waiter is out of the releaser's reach", 0, ChoiceMask::none(), [] {
        const Pool<int> pool(numbers(1));
        Lease<int> held = pool.acquire();
        auto b = spawn("b", [&] { pool.acquire().release(); });
        yield();
        held.release();
        held = pool.acquire();
        HEDDLE_ASSERT(b.is_completed(), "INV-POOL-08");
        held.release();
        join(b);
    });
    add.source("true-async/php-async#235");

    add.add("MUT-20", "a waiter that is cancelled with a promise leaves it to the next one", 1, ChoiceMask{ChoiceKind::value}, [] {
        const Pool<int> pool(numbers(1));
        Lease<int> held = pool.acquire();
        const auto user = [&] { pool.acquire().release(); };
        auto b = spawn("b", user);
        auto c = spawn("c", user);
        yield();
        held.release();
        if (sim::choose(2, "b_is_cancelled_in_its_window") == 1) { b.cancel(); }
        join(b, c);
    });
    add.source("true-async/php-async#235");

    add.add("MUT-21", "what was promised to the only waiter is idle when it leaves", 1, ChoiceMask{ChoiceKind::value}, [] {
        const Pool<int> pool(numbers(1));
        Lease<int> held = pool.acquire();
        auto b = spawn("b", [&] { pool.acquire().release(); });
        yield();
        held.release();
        if (sim::choose(2, "b_is_cancelled_in_its_window") == 1) { b.cancel(); }
        join(b);
        Lease<int> again = pool.try_acquire();
        HEDDLE_ASSERT(static_cast<bool>(again) && pool.count() == 1, "INV-POOL-02");
        again.release();
    });
    add.source("true-async/php-async#235");

    add.add("MUT-23", "a broken resource that comes back makes room for the next waiter", 1, ChoiceMask{ChoiceKind::value}, [] {
        const Pool<int> pool(numbers(1));
        Lease<int> held = pool.acquire();
        auto b = spawn("b", [&] { pool.acquire().release(); });
        yield();
        if (sim::choose(2, "it_comes_back_broken") == 1) {
            held.discard();
        } else {
            held.release();
        }
        join(b);
    });
    add.source("true-async/php-async#141");

    add.add("MUT-24", "resources that are being made count, so that there are never more than the pool allows", 1,
            ChoiceMask{ChoiceKind::value}, [] {
                PoolOptions<int> options = numbers(1);
                options.factory = [made = 0]() mutable {
                    if (sim::choose(2, "making_takes_time") == 1) { sleep_for(5ms); }
                    return ++made;
                };
                const Pool<int> pool(std::move(options));
                const auto user = [&] {
                    Lease<int> lease = pool.acquire();
                    yield();
                    lease.release();
                };
                auto a = spawn("a", user);
                auto b = spawn("b", user);
                auto c = spawn("c", user);
                join(a, b, c);
            });
    add.source("true-async/php-async@686a6ab");

    add.add("MUT-25", "a resource inside a hook keeps its place", 1, ChoiceMask{ChoiceKind::value}, [] {
        PoolOptions<int> options = numbers(1);
        options.before_acquire = [](int&) {
            if (sim::choose(2, "the_hook_takes_time") == 1) { sleep_for(5ms); }
            return true;
        };
        const Pool<int> pool(std::move(options));
        pool.acquire().release();
        const auto user = [&] { pool.acquire().release(); };
        auto a = spawn("a", user);
        auto b = spawn("b", user);
        join(a, b);
    });
    add.source("true-async/php-async#212");

    add.add("MUT-27", "a probe that is cancelled gives its permit back", 1, ChoiceMask{ChoiceKind::value}, [] {
        PoolOptions<int> options = numbers(1);
        options.strategy = breaker_of_one();
        options.factory = [made = 0]() mutable {
            sleep_for(2ms);
            return ++made;
        };
        const Pool<int> pool(std::move(options));
        pool.acquire().discard();
        HEDDLE_ASSERT(pool.circuit().state() == CircuitState::inactive, "INV-POOL-30");
        sleep_for(10ms);
        auto probe = spawn("probe", [&] { pool.acquire().release(); });
        yield();
        if (sim::choose(2, "the_probe_is_cancelled") == 1) { probe.cancel(); }
        join(probe);
        bool refused = false;
        try {
            pool.acquire().release();
        } catch (const ServiceUnavailable&) {
            refused = true;
        }
        HEDDLE_ASSERT(!refused, "INV-POOL-30");
    });
    add.source("svroonland/rezilience#521, monix/monix#1080");

    add.add("MUT-28", "a result of an older generation decides nothing", 1, ChoiceMask{ChoiceKind::value}, [] {
        PoolOptions<int> options = numbers(3);
        options.strategy = breaker_of_one();
        const Pool<int> pool(std::move(options));
        Lease<int> slow = pool.acquire();
        pool.acquire().discard();
        sleep_for(10ms);
        Lease<int> probe = pool.acquire();
        const bool late = sim::choose(2, "the_slow_call_ends_during_the_probe") == 0;
        if (!late) { slow.release(); }
        HEDDLE_ASSERT(pool.circuit().state() == CircuitState::recovering, "INV-POOL-30");
        probe.discard();
        if (late) { slow.release(); }
        HEDDLE_ASSERT(pool.circuit().state() == CircuitState::inactive, "INV-POOL-30");
    });
    add.source("nodeshift/opossum#381, denoland/std#7306");

    add.add("FLT-25", "whoever is cancelled in mid-request leaves no half of it to the next one", 1, ChoiceMask{ChoiceKind::value}, [] {
        PoolOptions<int> options;
        options.max = 1;
        options.factory = [] { return 0; };  // replies that are still to be read
        const Pool<int> pool(std::move(options));
        const BoundPool<int> bound(pool);
        auto b = spawn("b", [&] {
            auto request = bound.begin();
            *request = 1;
            yield();
            *request = 0;
            request.done();
        });
        yield();
        if (sim::choose(2, "b_is_cancelled_in_mid_request") == 1) { b.cancel(); }
        join(b);
        HEDDLE_ASSERT(bound.get() == 0, "INV-POOL-31");
    });
}

}  // namespace heddle::prop::planted_bugs
