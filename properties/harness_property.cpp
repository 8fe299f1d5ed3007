// SPDX-License-Identifier: Apache-2.0
// Properties of the harness itself: the corpus' area harness-itself, as far as what it is about exists. A harness that is wrong makes
// everything else green.
//
//   H-DET     same program, same order, whatever has nothing to do with it (BUG-167)
//   H-REPLAY  a trace replays, or says at which point the program is another one (BUG-168); a generator's state is whole (BUG-169)
//   H-FAULTS  every alternative of every kind is really taken (BUG-173), and what only one of them shows is found (BUG-164)
//   H-SOUND   a failure counts whenever it comes (BUG-174); behind a violation nothing runs
//
// Shrinking has a file of its own (shrink_property.cpp). Bounds stand with each test; chance comes from fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/simreactor/chooser/audit.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

Scheduler& scheduler() { return current_runtime("a harness test").scheduler(); }
Ref<OneShotEvent> make_event(const char* name) { return OneShotEvent::make(scheduler(), name); }

class Listener final : public EventCallback {
public:
    Listener(EventSource& event, UniqueFunction<void()> body) : body_(std::move(body)) { event.subscribe(*this); }
    ~Listener() override {
        if (event() != nullptr) { event()->unsubscribe(*this); }
    }
    void call(EventSource&, const Outcome&) override { body_(); }

private:
    UniqueFunction<void()> body_;
};

// ── H-DET: equal deadlines (BUG-167) ──

/// One timer of a program, as data. A stopped one does not fire.
struct TimerPlan {
    Duration after;
    bool stopped = false;
    bool unrelated = false;
};

std::vector<TimerPlan> random_timers(std::uint64_t seed) {
    sim::Prng prng{seed};
    std::vector<TimerPlan> timers;
    for (std::uint64_t count = prng.between(4, 40); count > 0; --count) {
        timers.push_back({1ms * static_cast<int>(prng.between(5, 7)), prng.chance({1, 3}), false});
    }
    return timers;
}

/// The same with timers in between that have nothing to do with them; all of them are earlier, and some are stopped again.
std::vector<TimerPlan> disturbed(const std::vector<TimerPlan>& timers, std::uint64_t seed) {
    sim::Prng prng{seed};
    std::vector<TimerPlan> all;
    for (const TimerPlan& timer : timers) {
        while (prng.chance({1, 2})) { all.push_back({1ms, prng.chance({1, 2}), true}); }
        all.push_back(timer);
    }
    return all;
}

/// The related timers in the order in which they fired, counted among the related ones.
std::vector<std::size_t> firing_order(const std::vector<TimerPlan>& timers) {
    std::vector<std::size_t> fired;
    sim::World world;
    const sim::Outcome outcome = world.run([&] {
        std::vector<Ref<ReactorEvent>> armed;
        std::vector<std::unique_ptr<Listener>> listeners;
        std::size_t related = 0;
        for (const TimerPlan& plan : timers) {
            armed.push_back(ReactorEvent::timer(scheduler(), {.timeout = plan.after}));
            const std::size_t index = plan.unrelated ? 0 : related++;
            listeners.push_back(std::make_unique<Listener>(*armed.back(), [&fired, index, skip = plan.unrelated] {
                if (!skip) { fired.push_back(index); }
            }));
            armed.back()->start();
        }
        for (std::size_t i = 0; i < timers.size(); ++i) {
            if (timers[i].stopped) { armed[i]->stop(); }
        }
        sleep_for(10ms);
    });
    EXPECT_EQ(outcome.kind, trace::OutcomeKind::ok) << outcome.message;
    return fired;
}

TEST(EqualDeadlines,
     FireInTheOrderTheyWereSetWhateverElseIsArmed) {  // 300 programs of 4 to 40 timers, and as many disturbed
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const std::vector<TimerPlan> timers = random_timers(seed);
        std::vector<std::size_t> expected;
        for (std::size_t i = 0; i < timers.size(); ++i) {
            if (!timers[i].stopped) { expected.push_back(i); }
        }
        std::ranges::stable_sort(expected, {}, [&](std::size_t i) { return timers[i].after; });
        ASSERT_EQ(firing_order(timers), expected) << "seed " << seed;
        ASSERT_EQ(firing_order(disturbed(timers, seed)), expected) << "seed " << seed;
    }
}

// ── H-REPLAY (BUG-168, BUG-169) ──

/// Answers with the last alternative of everything that `kinds` has.
class LastChooser final : public Chooser {
public:
    explicit LastChooser(sim::ChoiceMask kinds) : kinds_(kinds) {}
    std::uint32_t choose(const ChoicePoint& point) override { return kinds_.has(point.kind) ? point.count - 1 : 0; }

private:
    sim::ChoiceMask kinds_;
};

/// A scenario whose program is whatever `program` holds at the moment: somebody edits it between two runs.
struct Edited {
    std::shared_ptr<std::function<void()>> program = std::make_shared<std::function<void()>>();
    sim::Scenario scenario;

    Edited() {
        scenario.name = "test/edited";
        scenario.program = [held = program](const sim::Parameters&) { return sim::Program([held] { (*held)(); }); };
    }
    [[nodiscard]] trace::Trace record(sim::ChoiceMask kinds) const {
        LastChooser last(kinds);
        trace::Recipe recipe;
        recipe.scenario = scenario.name;
        recipe.order = trace::Order::any;
        return sim::record({&scenario, {}}, recipe, &last);
    }
    [[nodiscard]] sim::ReplayResult replay(const trace::Trace& trace) const {
        return sim::replay({&scenario, {}}, trace);
    }
};

TEST(Replay, OfTheSameProgramIsTheSameRun) {
    Edited edited;
    *edited.program = [] {
        auto a = spawn("a", [] { yield(); });
        auto b = spawn("b", [] { static_cast<void>(sim::choose(3, "x")); });
        await_all(a, b);
    };
    const trace::Trace trace = edited.record(sim::ChoiceMask::all());
    ASSERT_GE(trace.decisions.size(), 2U);
    const sim::ReplayResult result = edited.replay(trace);
    EXPECT_TRUE(result.reproduced && result.same_hash) << result.divergence_text;
}

TEST(Replay,
     NamesThePointWhereStateOfAnEarlierRunIsMissing) {  // BUG-168: a global that is initialised by the first run
    Edited edited;
    auto initialised = std::make_shared<bool>(false);
    *edited.program = [initialised] {
        auto user = spawn("user", [&] {
            if (!std::exchange(*initialised, true) && sim::choose(2, "first use") == 1) { yield(); }
            static_cast<void>(sim::choose(3, "later use"));
        });
        user.await();
    };
    const trace::Trace trace = edited.record({ChoiceKind::value});
    ASSERT_EQ(trace.decisions.size(), 2U);
    const sim::ReplayResult result = edited.replay(trace);
    EXPECT_FALSE(result.reproduced);
    EXPECT_EQ(result.trace.outcome.kind, trace::OutcomeKind::diverged);
    ASSERT_TRUE(result.divergence);
    EXPECT_EQ(result.divergence->kind, sim::DivergenceKind::label_missing);
    EXPECT_NE(result.divergence_text.find("first use"), std::string::npos) << result.divergence_text;
    EXPECT_NE(result.divergence_text.find("later use"), std::string::npos) << result.divergence_text;
}

TEST(Replay, SeesThatTheCandidatesAreOthers) {
    Edited edited;
    const auto two_of = [](Name second) {
        return [second] {
            auto a = spawn("a", [] {});
            auto b = spawn(second, [] {});
            await_all(a, b);
        };
    };
    *edited.program = two_of("b");
    trace::Trace trace = edited.record({ChoiceKind::dispatch});
    ASSERT_FALSE(trace.decisions.empty());
    for (trace::Decision& decision : trace.decisions) { decision.footprint = 0; }  // which would tell already
    *edited.program = two_of("c");  // as many alternatives under the same point: an index means somebody else
    const sim::ReplayResult result = edited.replay(trace);
    EXPECT_FALSE(result.reproduced);
    ASSERT_TRUE(result.divergence);
    EXPECT_EQ(result.divergence->kind, sim::DivergenceKind::set_differs) << result.divergence_text;
    EXPECT_EQ(result.trace.outcome.kind, trace::OutcomeKind::diverged);
}

TEST(Replay, SeesThatAValueHasAnotherDomain) {
    Edited edited;
    const auto one_of = [](std::uint32_t count) { return [count] { static_cast<void>(sim::choose(count, "x")); }; };
    *edited.program = one_of(3);
    const trace::Trace trace = edited.record({ChoiceKind::value});
    ASSERT_EQ(trace.decisions.size(), 1U);
    *edited.program = one_of(4);
    const sim::ReplayResult result = edited.replay(trace);
    EXPECT_FALSE(result.reproduced);
    ASSERT_TRUE(result.divergence);
    EXPECT_EQ(result.divergence->kind, sim::DivergenceKind::value_domain_changed) << result.divergence_text;
}

TEST(Replay, SeesThatTheStepsBeforeAPointTouchedSomethingElse) {
    Edited edited;
    const auto touches = [](const char* name) {
        return [name] {
            make_event(name)->complete();
            static_cast<void>(sim::choose(3, "x"));
        };
    };
    *edited.program = touches("one");
    const trace::Trace trace = edited.record({ChoiceKind::value});
    ASSERT_EQ(trace.decisions.size(), 1U);
    ASSERT_NE(trace.decisions.front().footprint, 0U);
    *edited.program = touches("other");
    const sim::ReplayResult result = edited.replay(trace);
    EXPECT_FALSE(result.reproduced);
    ASSERT_TRUE(result.divergence);
    EXPECT_EQ(result.divergence->kind, sim::DivergenceKind::footprint_differs) << result.divergence_text;
}

TEST(Generator,
     LosesNothingWhenItsStateIsSaved) {  // BUG-169: after 0 to 70 draws of every sort, the next 100 are the same
    for (int draws = 0; draws <= 70; ++draws) {
        sim::Prng original{static_cast<std::uint64_t>(draws) + 1};
        for (int i = 0; i < draws; ++i) {
            switch (i % 4) {
                case 0: static_cast<void>(original.next()); break;
                case 1: static_cast<void>(original.below(3)); break;
                case 2: static_cast<void>(original.between(1ms, 9ms)); break;
                default: static_cast<void>(original.chance({1, 3})); break;
            }
        }
        sim::Prng loaded;
        loaded.load(original.save());
        for (int i = 0; i < 100; ++i) {
            ASSERT_EQ(loaded.next(), original.next()) << draws << " draws before, " << i << " after";
        }
    }
}

TEST(Generator, GivesEachRunOfACampaignItsOwnSchedule) {  // BUG-169: 100 runs with 2^40 schedules to choose from
    sim::ExploreOptions options;
    options.strategy = sim::Strategy::random;
    options.order = trace::Order::faithful;
    options.runs_max = 100;
    const auto program = [] {
        for (int i = 0; i < 40; ++i) { static_cast<void>(sim::choose(2, "bit")); }
    };
    EXPECT_EQ(sim::explore(program, options).traces, 100U);
    options.runs_max = 1;
    std::vector<std::vector<trace::Decision>> drawn;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        options.seed = seed;
        const sim::Report report = sim::explore(
            [&] {
                program();
                HEDDLE_CHECK(seed > 100);  // so that the trace is kept
            },
            [&] {
                sim::ExploreOptions kept = options;
                kept.shrink = false;
                return kept;
            }());
        ASSERT_TRUE(report.violation);
        drawn.push_back(report.violation->trace.decisions);
        for (std::size_t i = 0; i + 1 < drawn.size(); ++i) {
            ASSERT_NE(drawn[i], drawn.back()) << "seeds " << i << " and " << seed;
        }
    }
}

// ── H-FAULTS (BUG-164, BUG-173) ──

/// Runs `body` and forgets what it threw, if the runtime or an injected fault made it; the unwinding of a run passes.
template <class Body>
void whatever(Body&& body) {
    try {
        body();
    } catch (const Cancellation&) {
        // Part of the program.
    } catch (const Error&) {
        // An injected fault, or a wait that ended with one.
    }
}

/// Meets every kind of choice there is; nothing in it can fail.
void everything() {
    whatever([] {
        sim::SimReactor& reactor = sim::World::current()->reactor();
        std::vector<CoroutineHandle> all;
        const auto add = [&all](Name name, auto body) { all.push_back(spawn(name, [body] { whatever(body); })); };
        if (sim::choose(3, "how much") == 2) { yield(); }
        const std::array<Ref<ReactorEvent>, 2> bells{ReactorEvent::trigger(scheduler(), "bell"),
                                                     ReactorEvent::trigger(scheduler(), "bell")};
        for (const auto& bell : bells) {
            add("listener", [bell] {
                await_event(*bell, Timeout(3ms));
                await_event(*bell, Timeout(3ms));
            });
        }
        auto& thread = reactor.add_thread("worker");
        for (int i = 0; i < 3; ++i) {
            for (const auto& bell : bells) {
                thread.then([port = bell->port()] { port->fire(); });
            }
        }
        for (int i = 0; i < 2; ++i) {
            add("task", [] { await_event(*ReactorEvent::task(scheduler(), [] {})); });
        }
        add("cancelled task", [] {
            const Ref<ReactorEvent> task = ReactorEvent::task(scheduler(), [] {});
            sleep_for(1ms);
            task->cancel_request();
            await_event(*task);
        });
        for (int i = 0; i < 2; ++i) {
            add("poller", [&reactor] {
                const int fd = reactor.make_descriptor();
                const Ref<ReactorEvent> poll = ReactorEvent::poll(scheduler(), fd, PollBits::readable, true);
                reactor.set_ready(fd, PollBits::readable);
                await_event(*poll);
            });
        }
        for (int i = 0; i < 2; ++i) {
            add("sleeper", [] {
                sleep_for(2ms);
                sleep_for(1ms);
            });
        }
        sim::anywhere([&all] { all.front().cancel(); });
        for (const CoroutineHandle& one : all) {
            whatever([&one] {
                EventSource* const inputs[] = {&one.core()};
                static_cast<void>(await_collect(inputs, {}));
            });
        }
    });
}

TEST(RandomWalk, TakesEveryAlternativeOfEveryKind) {  // BUG-173: 10,000 seeds
    sim::AuditChooser audit;
    sim::WorldOptions options;
    options.order = trace::Order::any;
    options.timing = sim::Timing::at(sim::TimeLevel::T2);
    options.faults = true;
    options.errors_are_violations = false;
    sim::World world(options);
    world.add_node("second", [] {
        whatever([] {
            sleep_for(2ms);
            sleep_for(1ms);
        });
    });
    sim::RandomChooser random(0);
    audit.set_chooser(&random);
    world.mutable_options().chooser = &audit;
    for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
        random.begin(seed);
        const sim::Outcome outcome = world.run(everything);
        ASSERT_NE(outcome.kind, trace::OutcomeKind::violation)
            << "seed " << seed << ": " << outcome.invariant << ": " << outcome.message;
    }
    EXPECT_TRUE(audit.empty_cells().empty()) << audit.report();
    // A weight that is off by a factor leaves no empty cell: where there are two alternatives, neither is rare.
    for (std::size_t i = 0; i < static_cast<std::size_t>(ChoiceKind::count_); ++i) {
        const auto kind = static_cast<ChoiceKind>(i);
        if (audit.count(kind, 2).offered > 0) { continue; }
        for (const std::uint32_t alternative : {0U, 1U}) {
            EXPECT_GT(audit.count(kind, alternative).taken * 4, audit.count(kind, alternative).offered)
                << to_string(kind) << '=' << alternative << '\n'
                << audit.report();
        }
    }
}

TEST(Strategies, RunProgramsWithNothingToChoose) {  // BUG-173: no step, one step, one step with one other coroutine
    const std::array<sim::Program, 3> programs{[] {}, [] { yield(); }, [] { spawn([] {}).await(); }};
    for (const sim::Strategy strategy : {sim::Strategy::exhaustive, sim::Strategy::random, sim::Strategy::delay}) {
        for (const sim::Program& program : programs) {
            sim::ExploreOptions options;
            options.strategy = strategy;
            options.runs_max = 50;
            const sim::Report report = sim::explore(program, options);
            EXPECT_FALSE(report.violation);
            EXPECT_GE(report.runs, 1U);
            EXPECT_EQ(report.complete, strategy == sim::Strategy::exhaustive);
        }
    }
}

/// A condition that wakes everybody, and a consumer that does not look again.
void waits_without_a_loop() {
    auto signal = make_event("signal");
    int items = 0;
    const auto consumer = [&] {
        if (items == 0) { await_event(signal); }
        HEDDLE_CHECK(items > 0);
        --items;
    };
    auto a = spawn("a", consumer);
    auto b = spawn("b", consumer);
    yield();
    items = 1;
    signal->complete();
    await_all(a, b);
}

/// A lock whose leaving waiter suspends between "unlinked" and "handed on": a cancellation in that gap loses the lock.
void cancellation_handler_with_a_gap() {
    struct Gate {
        bool held = true;
        std::vector<Ref<OneShotEvent>> queue;
        void unlock() {
            if (queue.empty()) {
                held = false;
            } else {
                const Ref<OneShotEvent> first = queue.front();
                queue.erase(queue.begin());
                first->complete();
            }
        }
        void lock() {
            if (!std::exchange(held, true)) { return; }
            const Ref<OneShotEvent> turn = make_event("turn");
            queue.push_back(turn);
            try {
                await_event(turn);
            } catch (const Cancellation&) {
                const bool granted = turn->is_closed();
                std::erase(queue, turn);
                yield();
                if (granted) { unlock(); }
                throw;
            }
        }
    } gate;
    auto a = spawn("a", [&] {
        gate.lock();
        gate.unlock();
    });
    auto b = spawn("b", [&] {
        gate.lock();
        gate.unlock();
    });
    sim::anywhere([&] { a.cancel(); }, "once");
    sim::anywhere([&] { a.cancel(); }, "twice");
    yield();
    yield();
    gate.unlock();
    for (const CoroutineHandle& one : {CoroutineHandle(a), CoroutineHandle(b)}) {
        EventSource* const inputs[] = {&one.core()};
        static_cast<void>(await_collect(inputs, {}));
    }
    HEDDLE_CHECK(!gate.held);
}

TEST(Strategies, FindWhatOnlyABroadcastShows) {  // BUG-164
    for (const sim::Strategy strategy : {sim::Strategy::exhaustive, sim::Strategy::random, sim::Strategy::delay}) {
        sim::ExploreOptions options;
        options.strategy = strategy;
        options.runs_max = 1'000;
        EXPECT_TRUE(sim::explore(waits_without_a_loop, options).violation) << sim::to_string(strategy);
    }
}

TEST(Strategies, FindWhatOnlyACancellationInTheWindowShows) {  // BUG-164, BUG-173: within 20,000 schedules each
    for (const sim::Strategy strategy : {sim::Strategy::exhaustive, sim::Strategy::random, sim::Strategy::delay}) {
        sim::ExploreOptions options;
        options.strategy = strategy;
        options.bound = 5;
        options.runs_max = 20'000;
        EXPECT_TRUE(sim::explore(cancellation_handler_with_a_gap, options).violation) << sim::to_string(strategy);
    }
}

/// Fails only if the cancellation is put off twice: the first two places where it could come are harmless.
void cancelled_in_the_third_wait() {
    bool in_use = false;
    auto a = spawn("a", [&] {
        sleep_for(1ms);
        sleep_for(1ms);
        in_use = true;
        sleep_for(1ms);
        in_use = false;
    });
    sim::anywhere([&] { a.cancel(); });
    EventSource* const inputs[] = {&a.core()};
    static_cast<void>(await_collect(inputs, {}));
    HEDDLE_CHECK(!in_use);
}

TEST(Strategies, PutACancellationOff) {  // BUG-173: the one kind of choice that it takes, within 200 schedules each
    for (const sim::Strategy strategy : {sim::Strategy::exhaustive, sim::Strategy::random, sim::Strategy::delay}) {
        sim::ExploreOptions options;
        options.strategy = strategy;
        options.runs_max = 200;
        options.world = [](sim::WorldOptions& world) { world.mask = sim::ChoiceMask{ChoiceKind::arrival}; };
        const sim::Report report = sim::explore(cancelled_in_the_third_wait, options);
        ASSERT_TRUE(report.violation) << sim::to_string(strategy);
        EXPECT_EQ(report.violation->trace.decisions.size(), 2U) << sim::to_string(strategy);
    }
}

// ── H-SOUND (BUG-174) ──

TEST(Campaign, ReportsAFailureThatComesAfterEverythingElseHasEnded) {
    const sim::Report report = sim::explore([] {
        spawn("first", [] {
            sleep_for(10ms);
            throw std::runtime_error("late");
        });
        spawn("second", [] { sleep_for(1ms); });
    });
    ASSERT_TRUE(report.violation);
    EXPECT_EQ(report.violation->invariant, "UNHANDLED");
    EXPECT_NE(report.violation->message.find("late"), std::string::npos);
}

TEST(World, ReportsTheFailureOfANodeThatIsNotTheLast) {
    for (const bool first_fails : {true, false}) {
        const auto fails_late = [](bool fails) {
            return [fails] {
                sleep_for(fails ? 5ms : 10ms);
                if (fails) { throw std::runtime_error("late"); }
            };
        };
        sim::World world;
        world.add_node("second", fails_late(!first_fails));
        const sim::Outcome outcome = world.run(fails_late(first_fails));
        EXPECT_EQ(outcome.kind, trace::OutcomeKind::violation);
        EXPECT_NE(outcome.message.find("late"), std::string::npos);
    }
}

TEST(World, RunsNothingBehindAViolation) {
    int behind = 0;
    struct Counts {
        int& behind;
        ~Counts() { ++behind; }
    };
    sim::World world;
    const sim::Outcome outcome = world.run([&] {
        const Counts in_main{behind};
        auto other = spawn("other", [&] {
            const Counts in_other{behind};
            for (;;) {
                yield();
                ++behind;
            }
        });
        add_microtask([&] { behind = 0; });
        yield();
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), {});
        const Listener on_timer(*timer, [&] { ++behind; });
        timer->start();
        behind = 0;
        try {
            HEDDLE_CHECK(behind != 0);
        } catch (...) {
            ++behind;  // no exception, whoever would catch it
            throw;
        }
        ++behind;
        other.await();
    });
    EXPECT_EQ(outcome.kind, trace::OutcomeKind::violation);
    EXPECT_EQ(outcome.invariant, "CHECK");
    EXPECT_EQ(behind, 0);
}

}  // namespace
}  // namespace heddle::prop
