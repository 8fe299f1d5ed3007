// SPDX-License-Identifier: Apache-2.0
// HEDDLE_PROPERTY_TEST: a GoogleTest whose body is run under many schedules, judged by every oracle.
//
//   body ──▶ sim::explore, all oracles ──violation──▶ shrunk, written as a trace ──▶ the test fails: timeline, reasons, replay command
//                                      └─ nothing ──▶ the test passes; JUnit XML says how much was searched
//
//   HEDDLE_PROPERTY_TEST(Pool, LosesNoLease, {.order = any, .time = T2, .budget = 2s}) {
//       auto a = heddle::spawn("a", [&] { … });
//       HEDDLE_CHECK(a.await() == 1);
//   }
//
// GT1  The body is an ordinary coroutine program: it runs as the main coroutine of a fresh simulated world, once per schedule, and must
//      build everything anew each time.
// GT2  HEDDLE_CHECK, HEDDLE_ASSERT, EXPECT_…, ASSERT_…, an unhandled exception, a deadlock, a livelock and every invariant of
//      docs/spec/00-invariants.md end the schedule as a violation. GoogleTest's own macros are noticed at the next thing that happens.
// GT3  What is reported was reproduced from its trace before anybody is told.
// GT4  The environment has the last word: HEDDLE_SEED=N, HEDDLE_BUDGET=2s (or 500ms), HEDDLE_REPLAY=FILE runs one trace again,
//      HEDDLE_TRACES=FOLDER is where traces go (the present folder if unset). What cannot be read fails the test in one line.
// For a property of all values of some kind: rapidcheck.hpp.
// Chance enters with the seed. The budget reads the host's clock; it decides how much is searched, never what a schedule does.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/sim.hpp"

namespace heddle::prop {

/// How a property is searched. The names of the enumerators stand in scope where HEDDLE_PROPERTY_TEST writes these options.
struct PropertyOptions {
    std::optional<trace::Order> order{};           ///< none: production's order first, then any
    trace::TimeLevel time = trace::TimeLevel::T1;  ///< how freely time moves (docs/determinism.md)
    Duration budget = std::chrono::seconds(10);    ///< of the host's time, over all schedules; positive
    std::uint64_t schedules = 100'000;             ///< at most as many; at least 1
    sim::Strategy strategy = sim::Strategy::exhaustive;
    std::optional<std::uint32_t> bound{};          ///< answers other than production's in one schedule; none: no bound
    std::uint64_t seed = 1;                        ///< of the strategies that draw, and of World::prng
    bool must_complete = false;                    ///< a search that a budget ended fails the test
    std::optional<sim::Reduction> reduction{};     ///< exhaustive alone: every trace, depth first (docs/explorer.md)
    std::uint64_t audit_sharing = 0;               ///< with a reduction: one in so many traces is looked at for undeclared sharing
    std::function<void(sim::WorldOptions&)> world{};  ///< last word on the options of its worlds
};

/// What the macro makes of one test.
struct PropertyTest {
    const char* suite;
    const char* name;
    PropertyOptions options;
    void (*body)();
};

namespace detail {
inline PropertyOptions or_default(PropertyOptions options = {}) { return options; }
}  // namespace detail

/// Searches, or replays what HEDDLE_REPLAY names, and reports to the present GoogleTest.
void run_property(const PropertyTest& test);

}  // namespace heddle::prop

/// HEDDLE_PROPERTY_TEST(Suite, Name) or (Suite, Name, {.order = any, …}): see above. The options are those of PropertyOptions, in its
/// order; `faithful`, `any`, T0 … T4, the strategies, and chrono's literals can be written as they are.
#define HEDDLE_PROPERTY_TEST(suite, name, ...)                                                                  \
    struct HeddleProperty_##suite##_##name {                                                                    \
        static ::heddle::prop::PropertyOptions options();                                                       \
        static void body();                                                                                     \
    };                                                                                                          \
    ::heddle::prop::PropertyOptions HeddleProperty_##suite##_##name::options() {                                \
        using namespace std::chrono_literals; /* NOLINT(google-build-using-namespace): one function's options */ \
        using enum ::heddle::trace::Order;                                                                      \
        using enum ::heddle::trace::TimeLevel;                                                                  \
        using enum ::heddle::sim::Strategy;                                                                     \
        using enum ::heddle::sim::Reduction;                                                                    \
        return ::heddle::prop::detail::or_default(__VA_ARGS__);                                                 \
    }                                                                                                           \
    TEST(suite, name) {                                                                                         \
        ::heddle::prop::run_property({#suite, #name, HeddleProperty_##suite##_##name::options(),                \
                                      &HeddleProperty_##suite##_##name::body});                                 \
    }                                                                                                           \
    void HeddleProperty_##suite##_##name::body()
