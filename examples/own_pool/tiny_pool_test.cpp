// SPDX-License-Identifier: Apache-2.0
// What a pool promises: when everybody has gone, every connection is back. The search finds the schedule in which one is not.
#include "tiny_pool.hpp"

// README: property
#include "heddle/gtest.hpp"

void serve(TinyPool& pool) {
    const int connection = pool.take();
    try {
        heddle::yield();  // the query
    } catch (...) {
        pool.give_back(connection);
        throw;
    }
    pool.give_back(connection);
}

HEDDLE_PROPERTY_TEST(TinyPool, EveryConnectionComesBack) {
    TinyPool pool(1);
    auto a = heddle::spawn("a", [&] { serve(pool); });
    auto b = heddle::spawn("b", [&] { serve(pool); });
    heddle::sim::anywhere([&] { b.cancel(); });  // the client hangs up, at every point where that could happen
    try {
        heddle::await_all(a, b);
    } catch (const heddle::Cancellation&) {}
    HEDDLE_CHECK(pool.idle() == 1);
}
// README end
