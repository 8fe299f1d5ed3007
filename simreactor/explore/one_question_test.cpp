// SPDX-License-Identifier: Apache-2.0
// The reduced search on programs with a reactor: sources are steps as coroutines are (RS4, RS9, RS10, ST1 to ST4). Counts are those of
// docs/explorer.md where it has the program, and those of the search without reduction everywhere.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <string>

#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/shared.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/explore/known_counts.hpp"
#include "heddle/simreactor/explore/reduced_search.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

using namespace std::chrono_literals;

constexpr Reduction reductions[] = {Reduction::none, Reduction::source, Reduction::optimal};

/// All three searches agree, say that the reactor was reduced, and find so many traces.
void expect_traces(const Program& program, std::uint64_t traces, CountOptions options = {}) {
    for (const Reduction reduction : reductions) {
        options.reduction = reduction;
        options.count_traces = true;
        const Count found = count_traces(program, options);
        EXPECT_TRUE(found.complete) << to_string(reduction) << ' ' << found.violation;
        EXPECT_TRUE(found.reduced) << to_string(reduction);
        EXPECT_EQ(found.traces, traces) << to_string(reduction);
        if (reduction != Reduction::none) { EXPECT_EQ(found.runs - found.redundant, traces) << to_string(reduction); }
    }
}

CountOptions in_order(trace::Order order) {
    CountOptions options;
    options.order = order;
    return options;
}

TEST(OneQuestion, TimersOfOtherInstantsDoNotMultiply) {
    const Program program = [] {
        const auto shared = std::make_shared<Shared<int>>(0);
        for (int i = 1; i <= 5; ++i) {
            spawn("sleeps", [i, shared] {
                sleep_for(i * 1ms);
                *shared += i;
            });
        }
    };
    expect_traces(program, 1);
    expect_traces(program, 1, in_order(trace::Order::faithful));
}

TEST(OneQuestion, TimersOfOneInstantDoNotMultiplyWhereNothingIsShared) {
    const Program program = [] {
        for (int i = 0; i < 4; ++i) {
            spawn("sleeps", [] { sleep_for(1ms); });
        }
    };
    expect_traces(program, 1);
}

TEST(OneQuestion, TimersOfOneInstantComeInAllOrdersWhereTheirCoroutinesConflict) {
    const Program program = [] {
        const auto shared = std::make_shared<Shared<int>>(0);
        for (int i = 0; i < 3; ++i) {
            spawn("sleeps", [i, shared] {
                sleep_for(1ms);
                *shared = i;
            });
        }
    };
    expect_traces(program, 6);
    CountOptions exact;
    exact.timing.level = TimeLevel::T0;
    exact.order = trace::Order::faithful;
    expect_traces(program, 1, exact);
}

TEST(OneQuestion, ATimerAndItsCancellationComeInBothOrders) {
    const Program program = [] {
        auto sleeper = spawn("sleeps", [] { sleep_for(1ms); });
        spawn("cancels", [sleeper] {
            sleep_for(1ms);
            sleeper.cancel();
        });
    };
    for (const trace::Order order : {trace::Order::any, trace::Order::faithful}) {
        CountOptions options = in_order(order);
        options.count_traces = true;
        options.reduction = Reduction::none;
        const Count all = count_traces(program, options);
        EXPECT_GE(all.traces, 2U);
        expect_traces(program, all.traces, options);
    }
}

/// docs/explorer.md, 2.6: n waits, each of which is ended by what comes or by its timer.
Program timeouts(int n) {
    return [n] {
        for (int i = 0; i < n; ++i) {
            spawn("waits", [i] {
                static constexpr std::array<const char*, 3> names{"io", "more", "most"};  // one name for all would make them dependent
                Scheduler& scheduler = current_runtime("test").scheduler();
                auto event = OneShotEvent::make(scheduler, "io");
                World::current()->reactor().post(names[static_cast<std::size_t>(i)], [event] { event->complete(); }, {.after = Latency::exactly(1ms), .counted = true});
                auto timer = ReactorEvent::timer(scheduler, {.timeout = 1ms});
                static_cast<void>(await_any({event.get(), timer.get()}));
            });
        }
    };
}

TEST(OneQuestion, WaitsWithTimeoutsAreTwoToTheN) {
    expect_traces(timeouts(1), 2);
    expect_traces(timeouts(2), 4);
    expect_traces(timeouts(3), 8);
}

/// Each bit of what its coroutines have come to: who came how.
struct Ends {
    std::set<std::string> seen{};
    bool reduced = true;
    bool complete = false;
    std::uint64_t runs = 0;
};

Ends ends(const Program& program, const std::function<std::string()>& state, Reduction reduction, bool one_question, trace::Order order,
          std::uint64_t runs_max = 300'000) {
    ReducedSearch::Options options;
    options.reduction = reduction;
    options.one_question = one_question;
    options.faithful = order == trace::Order::faithful;
    ReducedSearch search(options);
    WorldOptions wanted;
    wanted.order = order;
    wanted.chooser = &search;
    wanted.observers = {&search};
    if (!one_question) { wanted.mask = ChoiceMask::all().without(ChoiceKind::time); }  // ST2
    World world(wanted);
    Ends result;
    while (search.next()) {
        world.mutable_options().one_question = search.puts_one_question();
        const Outcome outcome = world.run(program);
        search.finish(outcome.kind != trace::OutcomeKind::violation);
        if (search.runs() == 0) {
            result.seen.clear();
            continue;
        }
        if (!search.was_redundant()) { result.seen.insert(state()); }
        if (search.runs() > runs_max) { break; }
    }
    result.reduced = !search.whole_loop();
    result.complete = search.is_exhausted();
    result.runs = search.runs();
    return result;
}

/// A program of coroutines whose steps a number decides: they write a shared cell, yield, sleep, wait for a trigger with a timeout, fire
/// it, cancel each other.
struct Generated {
    explicit Generated(std::uint64_t seed) : seed_(seed) {}

    void operator()() const {
        Prng prng{seed_};
        log_->clear();
        const auto shared = std::make_shared<Shared<int>>(0);
        const auto event = std::make_shared<std::vector<Ref<OneShotEvent>>>();
        const auto handles = std::make_shared<std::vector<CoroutineHandle>>();
        Scheduler& scheduler = current_runtime("test").scheduler();
        for (int i = 0; i < 2; ++i) { event->push_back(OneShotEvent::make(scheduler, "event")); }
        const auto coroutines = static_cast<int>(2 + prng.below(2));
        for (int i = 0; i < coroutines; ++i) {
            std::vector<int> steps;
            for (std::uint64_t left = 1 + prng.below(3); left > 0; --left) { steps.push_back(static_cast<int>(prng.below(8))); }
            handles->push_back(spawn("runs", [=, log = log_] {
                for (const int step : steps) {
                    switch (step) {
                        case 0: yield(); break;
                        case 1: sleep_for(1ms); break;
                        case 2: sleep_for(2ms); break;
                        case 3: *shared = shared->get() * 3 + i + 1; break;
                        case 4: (*event)[0]->complete(); break;
                        case 5: {
                            auto timer = ReactorEvent::timer(current_runtime("test").scheduler(), {.timeout = 1ms});
                            static_cast<void>(await_any({(*event)[0].get(), timer.get()}));
                            *shared = shared->get() * 3 + i + 1;
                            break;
                        }
                        case 6: (*handles)[static_cast<std::size_t>((i + 1) % coroutines) % handles->size()].cancel(); break;
                        default:
                            World::current()->reactor().post("post", [event] { (*event)[0]->complete(); }, {.after = Latency::exactly(1ms)});
                            break;
                    }
                }
                *shared = shared->get() * 3 + i + 1;  // the log tells the order of the ends: they conflict
                *log += std::to_string(i) + ":" + std::to_string(shared->get()) + " ";
            }));
        }
    }

    [[nodiscard]] std::string state() const { return *log_; }

    std::uint64_t seed_;
    std::shared_ptr<std::string> log_ = std::make_shared<std::string>();
};

TEST(ReducedSearch, WhatIsAskedBeforeTheFirstStepIsAnsweredInEveryWay) {
    const auto log = std::make_shared<std::string>();
    for (const Reduction reduction : reductions) {
        ReducedSearch::Options options;
        options.reduction = reduction;
        ReducedSearch search(options);
        WorldOptions wanted;
        wanted.chooser = &search;
        wanted.observers = {&search};
        wanted.nodes.push_back({"other", [log] { *log += "other "; }, {}});
        World world(wanted);
        std::set<std::string> seen;
        while (search.next()) {
            log->clear();
            const Outcome outcome = world.run([log] { *log += "main "; });
            search.finish(outcome.kind != trace::OutcomeKind::violation);
            seen.insert(*log);
        }
        EXPECT_EQ(seen, (std::set<std::string>{"main other ", "other main "})) << to_string(reduction);
    }
}

class OneQuestionGenerated : public testing::TestWithParam<trace::Order> {};

TEST_P(OneQuestionGenerated, ReducedSearchesReachWhatBruteForceDoes) {
    std::uint64_t reduced = 0;
    std::uint64_t compared = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
        const Generated program(seed);
        const Ends all = ends(program, [&] { return program.state(); }, Reduction::none, true, GetParam());
        if (!all.complete) { continue; }
        ++compared;
        reduced += all.reduced ? 1 : 0;
        for (const Reduction reduction : {Reduction::source, Reduction::optimal}) {
            const Ends some = ends(program, [&] { return program.state(); }, reduction, true, GetParam());
            EXPECT_TRUE(some.complete);
            EXPECT_EQ(some.seen, all.seen) << "seed " << seed << ' ' << to_string(reduction);
            EXPECT_LE(some.runs, all.runs) << "seed " << seed;
            if (HasFailure()) { return; }
        }
    }
    std::printf("%llu programs, %llu of them reduced\n", static_cast<unsigned long long>(compared), static_cast<unsigned long long>(reduced));
    EXPECT_GT(compared, 500U);
    EXPECT_GT(reduced, 500U);
}

TEST_P(OneQuestionGenerated, TheOneQuestionAllowsWhatTheUsualOnesDo) {
    std::uint64_t compared = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        const Generated program(seed);
        const Ends usual = ends(program, [&] { return program.state(); }, Reduction::none, false, GetParam(), 20'000);
        if (!usual.complete) { continue; }
        ++compared;
        const Ends one = ends(program, [&] { return program.state(); }, Reduction::source, true, GetParam());
        for (const std::string& end : usual.seen) { EXPECT_TRUE(one.seen.contains(end)) << "seed " << seed << ": " << end; }
        if (HasFailure()) { return; }
    }
    std::printf("%llu programs\n", static_cast<unsigned long long>(compared));
    EXPECT_GT(compared, 40U);
}

INSTANTIATE_TEST_SUITE_P(Orders, OneQuestionGenerated, testing::Values(trace::Order::any, trace::Order::faithful),
                         [](const auto& at) { return std::string(trace::to_string(at.param)); });

}  // namespace
}  // namespace heddle::sim
