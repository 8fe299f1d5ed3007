// SPDX-License-Identifier: Apache-2.0
// PoolWorld: what the tests of pools have at hand: things that are numbered as they are made, and a list of those that were destroyed.
//
//   class PoolTest : public ::testing::Test, protected PoolWorld {};
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/pool.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle::testing {

struct Thing {
    int number = 0;
};

class PoolWorld : protected World {
protected:
    PoolWorld() : World(options()) {}

    /// The run ends well: what its body does not expect fails the test.
    template <class Body>
    void run(Body&& body) {
        EXPECT_EQ(chain(World::run(std::forward<Body>(body))), "none");
    }

    /// Options of a pool that makes things and keeps books about them.
    PoolOptions<Thing> of(std::int64_t max, std::int64_t min = 0) {
        PoolOptions<Thing> made;
        made.min = min;
        made.max = max;
        made.factory = [this] { return Thing{++made_}; };
        made.destructor = [this](Thing& thing) { destroyed_.push_back(thing.number); };
        return made;
    }

    /// idle, active and reserved.
    static std::string books(const Pool<Thing>& pool) {
        EXPECT_EQ(pool.count(), pool.idle_count() + pool.active_count());  // POOL-68
        return std::to_string(pool.idle_count()) + "/" + std::to_string(pool.active_count()) + "/" + std::to_string(pool.reserved_count());
    }

    /// In one word how the call ended.
    template <class Body>
    static std::string outcome(Body&& body) {
        const ErrorValue error = caught(std::forward<Body>(body));
        if (!error) { return "ok"; }
        if (holds<ServiceUnavailable>(error)) { return "unavailable"; }
        if (holds<TimeoutError>(error)) { return "timeout"; }
        try {
            error.rethrow();
        } catch (const PoolError& refused) {
            return refused.reason() == PoolError::Reason::closed            ? "closed"
                   : refused.reason() == PoolError::Reason::creation_failed ? "nothing made"
                                                                            : "not leased";
        } catch (...) {
            return message(error);
        }
    }

    /// Acquires, logs "name=number", and releases after one more turn; logs "name:outcome" if it gets none.
    Coroutine<> user(const Pool<Thing>& pool, std::string name, const AcquireOptions& how = {}) {
        return spawn([this, &pool, name, how] {
            const std::string ended = outcome([&] {
                Lease<Thing> lease = pool.acquire(how);
                log(name + "=" + std::to_string(lease->number));
                yield();
                lease.release();
            });
            if (ended != "ok") { log(name + ":" + ended); }
        });
    }

    int made_ = 0;
    std::vector<int> destroyed_;
    std::vector<std::string> sunk_;  // what went to the error sink

private:
    RuntimeOptions options() {
        RuntimeOptions options;
        options.on_diagnostic = [this](const Diagnostic& diagnostic) { sunk_.push_back(message(diagnostic.error)); };
        return options;
    }
};

}  // namespace heddle::testing
