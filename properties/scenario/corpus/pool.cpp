// SPDX-License-Identifier: Apache-2.0
// Corpus, pool: promises that meet a cancellation, a deadline or a close, and hooks that suspend.
//
//   BUG-056  true-async/php-async#235                          the releaser takes its own resource back
//   BUG-057  true-async/php-async#235, true-async/php-async#236   the woken waiter leaves, and its wake is lost
//   BUG-058  true-async/php-async#235                          the only waiter leaves with what it was promised
//   BUG-061  true-async/php-async#235                          a promise stolen, or a surplus that nobody may use
//   BUG-062  true-async/php-async#235                          closed with a resource promised
//   BUG-063  true-async/php-async#141, golang/go#10886, swoole/library#25   a failed creation wakes nobody
//   BUG-064  true-async/php-async#212                          a resource inside a hook is counted nowhere
//   BUG-067  djc/bb8#59, transact-rs/sqlx#83, transact-rs/sqlx#84   a cancelled acquire leaves a unit that nobody owns
//
// Where chance enters: sim::choose, who runs next, ties of timers.
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

/// What a pool's callbacks have seen.
struct Books {
    int made = 0;
    int destroyed = 0;

    [[nodiscard]] PoolOptions<int> options(std::int64_t max, std::int64_t min = 0) {
        PoolOptions<int> options;
        options.max = max;
        options.min = min;
        options.factory = [this] { return ++made; };
        options.destructor = [this](int&) { ++destroyed; };
        return options;
    }
    void all_gone(const Pool<int>& pool) const {
        HEDDLE_CHECK(pool.count() == 0);
        HEDDLE_CHECK(made == destroyed);
    }
};

void releaser_takes_nothing_back() {
    Books books;
    const Pool<int> pool(books.options(1));
    int served = 0;
    auto a = spawn("a", [&] {
        const bool yields = sim::choose(2, "A yields inside its loop") == 1;
        Lease<int> lease = pool.acquire();
        let_all_run();
        for (int i = 0; i < 3; ++i) {
            const bool waited_for = pool.waiting_count() > 0;
            const int before = served;
            lease.release();
            if (yields) { yield(); }
            lease = pool.acquire();
            HEDDLE_CHECK(!waited_for || served > before);
        }
        lease.release();
    });
    auto b = spawn("b", [&] {
        Lease<int> lease = pool.acquire({.timeout = 100ms});
        ++served;
        lease.release();
    });
    join(a, b);
    HEDDLE_CHECK(!b.error() && served == 1 && books.made == 1);
}

void waiter_leaves_with_a_promise() {
    Books books;
    const Pool<int> pool(books.options(1));
    bool served = false;
    Lease<int> held = pool.acquire();
    auto b = spawn("b", [&] { pool.acquire({.timeout = 10ms}).release(); });
    auto c = spawn("c", [&] {
        pool.acquire().release();
        served = true;
    });
    sleep_for(sim::choose(2, "released at B's deadline") == 1 ? 10ms : 9ms);
    held.release();
    if (sim::choose(2, "B is cancelled in its window") == 1) { b.cancel(); }
    join(b, c);
    HEDDLE_CHECK(served);
    HEDDLE_CHECK(pool.idle_count() == 1 && pool.active_count() == 0);
}

void only_waiter_leaves() {
    Books books;
    const Pool<int> pool(books.options(1));
    Lease<int> held = pool.acquire();
    auto b = spawn("b", [&] { pool.acquire().release(); });
    let_all_run();
    if (sim::choose(2, "B is cancelled before the release") == 1) { b.cancel(); }
    held.release();
    if (sim::choose(2, "B is cancelled in its window") == 1) { b.cancel(); }
    join(b);
    Lease<int> again = pool.try_acquire();
    HEDDLE_CHECK(static_cast<bool>(again));
    HEDDLE_CHECK(pool.reserved_count() == 0 && pool.count() == 1);
    again.release();
}

void promise_and_surplus() {
    Books books;
    const Pool<int> pool(books.options(2, 2));
    Lease<int> r1 = pool.acquire();
    Lease<int> r2 = pool.acquire();
    bool has_one = false;
    auto b = spawn("b", [&] {
        Lease<int> lease = pool.acquire();
        has_one = true;
        sleep_for(1ms);
        lease.release();
    });
    let_all_run();
    r1.release();
    r2.release();
    if (sim::choose(2, "B runs before the tries") == 1) { let_all_run(); }
    Lease<int> surplus = pool.try_acquire();
    HEDDLE_CHECK(static_cast<bool>(surplus));
    HEDDLE_CHECK(!pool.try_acquire());
    join(b);
    HEDDLE_CHECK(has_one);
    surplus.release();
}

void closed_with_a_promise() {
    Books books;
    const Pool<int> pool(books.options(1));
    Lease<int> held = pool.acquire();
    bool closed = false;
    auto b = spawn("b", [&] {
        const ErrorValue error = caught([&] {
            Lease<int> lease = pool.acquire();
            if (sim::choose(2, "B keeps it for a while") == 1) { yield(); }
            lease.release();
        });
        HEDDLE_CHECK(!error || (closed && holds<PoolError>(error)));
    });
    let_all_run();
    held.release();
    if (sim::choose(2, "B runs before the close") == 1) { yield(); }
    closed = true;
    pool.close();
    join(b);
    HEDDLE_CHECK(books.destroyed == 1);
    books.all_gone(pool);
}

void creation_that_fails() {
    Books books;
    int failures = static_cast<int>(sim::choose(3, "how often the factory fails"));
    PoolOptions<int> options = books.options(1);
    options.factory = [&] {
        sleep_for(5ms);
        if (failures > 0) {
            --failures;
            throw NotMade();
        }
        return ++books.made;
    };
    const Pool<int> pool(std::move(options));
    int answers = 0;
    const auto user = [&] {
        const ErrorValue error = caught([&] {
            Lease<int> lease = pool.acquire();
            if (sim::choose(2, "it comes back broken") == 1) {
                lease.discard();
            } else {
                lease.release();
            }
        });
        HEDDLE_CHECK(!error || holds<NotMade>(error));
        ++answers;
    };
    auto a = spawn("a", user);
    auto b = spawn("b", user);
    auto c = spawn("c", user);
    join(a, b, c);
    HEDDLE_CHECK(answers == 3 && failures == 0);
    HEDDLE_CHECK(pool.active_count() == 0);
}

void resource_inside_a_hook() {
    Books books;
    PoolOptions<int> options = books.options(1, 1);
    options.before_acquire = [](int&) {
        sleep_for(5ms);
        return true;
    };
    const Pool<int> pool(std::move(options));
    auto a = spawn("a", [&] { pool.acquire().release(); });
    auto b = spawn("b", [&] { pool.acquire().release(); });
    let_all_run();
    HEDDLE_CHECK(pool.count() == 1 && books.made == 1);
    const std::uint32_t when = sim::choose(3, "A is cancelled: never, inside the hook, as the hook ends");
    if (when == 2) { sleep_for(5ms); }
    if (when > 0) { a.cancel(); }
    join(a, b);
    HEDDLE_CHECK(!b.error());
    HEDDLE_CHECK(books.made - books.destroyed == 1 && pool.idle_count() == 1);
}

void cancelled_at_every_suspension() {
    Books books;
    PoolOptions<int> options = books.options(1);
    options.factory = [&] {
        sleep_for(3ms);
        return ++books.made;
    };
    options.before_acquire = [](int&) {
        sleep_for(3ms);
        return true;
    };
    options.before_release = [](int&, PoolReturn) {
        sleep_for(3ms);
        return true;
    };
    const Pool<int> pool(std::move(options));
    for (int i = 0; i < 2; ++i) {
        auto a = spawn("a", [&] {
            Lease<int> lease = pool.acquire();
            yield();
            lease.release();
        });
        const std::uint32_t when = sim::choose(4, "A is cancelled: never, creating or in a hook, holding, releasing");
        if (when > 0) {
            if (when == 1) { yield(); }
            if (when > 1) { sleep_for(when == 2 ? 3ms : 4ms); }
            a.cancel();
        }
        join(a);
    }
    auto b = spawn("b", [&] { pool.acquire({.timeout = 100ms}).release(); });
    join(b);
    HEDDLE_CHECK(!b.error());
    HEDDLE_CHECK(pool.idle_count() == 1 && pool.active_count() == 0);
}

}  // namespace

std::vector<sim::Scenario> pool_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-056", "true-async/php-async#235",
                     "What a release promised to a waiter is not there for the releaser.", 1, {value, dispatch}},
                    releaser_takes_nothing_back),
        scenario_of({"corpus/BUG-057", "true-async/php-async#235, true-async/php-async#236",
                     "A waiter that leaves as it is promised a resource leaves it to the next one.", 3, {value, dispatch, timer, timer_io}},
                    waiter_leaves_with_a_promise),
        scenario_of({"corpus/BUG-058", "true-async/php-async#235",
                     "What was promised to the only waiter is free again when it leaves.", 3, {value, dispatch}},
                    only_waiter_leaves),
        scenario_of({"corpus/BUG-061", "true-async/php-async#235",
                     "A newcomer may take what is idle beyond what is promised, and no more.", 2, {value, dispatch}},
                    promise_and_surplus),
        scenario_of({"corpus/BUG-062", "true-async/php-async#235",
                     "A pool that closes while a resource is promised destroys it once.", 3, {value, dispatch}},
                    closed_with_a_promise),
        scenario_of({"corpus/BUG-063", "true-async/php-async#141, golang/go#10886, swoole/library#25",
                     "A creation that fails, or a broken resource, makes room for the next waiter.", 2, {value, dispatch}},
                    creation_that_fails),
        scenario_of({"corpus/BUG-064", "true-async/php-async#212",
                     "A resource inside a hook keeps its place, and leaves it when the hook is cancelled.", 2, {value, dispatch}},
                    resource_inside_a_hook),
        scenario_of({"corpus/BUG-067", "djc/bb8#59, transact-rs/sqlx#83, transact-rs/sqlx#84",
                     "A use that is cancelled at any of its suspensions leaves no place behind.", 3, {value, dispatch}},
                    cancelled_at_every_suspension),
    };
}

}  // namespace heddle::prop::corpus
