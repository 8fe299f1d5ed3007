// SPDX-License-Identifier: Apache-2.0
// The same promise for pools of any size and clients with any number of queries: RapidCheck draws them, and the search runs each.
#include "tiny_pool.hpp"

// README: property
#include "heddle/rapidcheck.hpp"

using heddle::prop::Between;

HEDDLE_PROPERTY_TEST_FOR(SizedPool, EveryConnectionComesBack, (Between<1U, 3U> connections, std::vector<Between<1, 3>> queries),
                         {.budget = 5s, .bound = 2}, {.cases = 30, .size_max = 5}) {
    TinyPool pool(connections);
    std::vector<heddle::Coroutine<>> clients;
    for (const int count : queries) {
        clients.push_back(heddle::spawn("client", [&pool, count] {
            for (int query = 0; query < count; ++query) {
                const int connection = pool.take();
                try {
                    heddle::yield();
                } catch (...) {
                    pool.give_back(connection);
                    throw;
                }
                pool.give_back(connection);
            }
        }));
    }
    if (clients.empty()) { return; }
    heddle::sim::anywhere([&] { clients.back().cancel(); });
    for (const heddle::Coroutine<>& client : clients) {
        try {
            client.await();
        } catch (const heddle::Cancellation&) {}
    }
    HEDDLE_CHECK(pool.idle() == connections);
}
// README end
