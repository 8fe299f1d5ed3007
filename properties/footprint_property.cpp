// SPDX-License-Identifier: Apache-2.0
// Brute force as judge of the reduced search, and of the footprints that it rests on.
//
//   program ── none ──▶ traces, and the history of each     two runs of one trace, one history: footprints say all (HI1)
//           ── source, optimal ──▶ the same traces, the same histories
//
// Bounds: stated at each test, in programs and schedules, never in seconds. The seed is fixed (HEDDLE_SEED sets another).
#include <gtest/gtest.h>

#include <rapidcheck.h>

#include <map>
#include <set>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/history.hpp"
#include "heddle/properties/program/generator.hpp"
#include "heddle/properties/program/interpreter.hpp"
#include "heddle/simreactor/explore/reduced_search.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;
using sim::Reduction;

/// Leaves out what touches a cell with this property, as a footprint that is too small would.
using Blind = std::function<bool(Cell, TouchMode)>;

class BlindObserver final : public Observer {
public:
    BlindObserver(Observer& inner, const Blind& blind) : inner_(inner), blind_(blind) {}
    void on_event(const Event& event) override { inner_.on_event(event); }
    void on_touch(Cell cell, TouchMode mode) override {
        if (!blind_ || !blind_(cell, mode)) { inner_.on_touch(cell, mode); }
    }
    void on_statement(Cell cell, TouchMode mode) override { inner_.on_statement(cell, mode); }

private:
    Observer& inner_;
    const Blind& blind_;
};

struct Seen {
    bool complete = false;
    std::uint64_t runs = 0;
    std::map<std::uint64_t, std::uint64_t> histories;  // by trace
    std::string ambiguous;  // the first trace with two histories, and whose differ
    std::set<std::string> ends;
};

Seen see(const sim::Program& program, Reduction reduction, std::uint64_t runs_max, const Blind& blind = {}) {
    sim::ReducedSearch::Options options;
    options.reduction = reduction;
    sim::ReducedSearch search(options);
    History history;
    BlindObserver watcher(search, blind);
    sim::WorldOptions world_options;
    world_options.order = trace::Order::any;
    world_options.errors_are_violations = false;
    world_options.chooser = &search;
    world_options.observers = {&watcher, &history};
    sim::World world(world_options);
    Seen seen;
    std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> parts;
    std::map<std::uint64_t, std::string> names;
    world.mutable_options().at_end = [&](const sim::Outcome&) {
        for (const auto& [label, hash] : history.hashes()) { names.try_emplace(label, world.labels().text(Label{label})); }
    };
    while (seen.runs < runs_max && search.next()) {
        history.begin();
        const sim::Outcome outcome = world.run(program);
        ++seen.runs;
        search.finish(outcome.kind != trace::OutcomeKind::violation);
        if (outcome.kind == trace::OutcomeKind::violation) {
            seen.ambiguous = "violated " + outcome.invariant + ": " + outcome.message;
            return seen;
        }
        if (search.runs() == 0) {  // the search begins anew
            seen.histories.clear();
            seen.ends.clear();
            parts.clear();
            seen.ambiguous.clear();
            continue;
        }
        if (search.was_redundant()) { continue; }
        seen.ends.insert(outcome.message);
        const auto [at, fresh] = seen.histories.emplace(search.trace_digest(), history.digest());
        if (fresh) {
            parts[search.trace_digest()] = history.hashes();
            continue;
        }
        if (at->second == history.digest() || !seen.ambiguous.empty()) { continue; }
        seen.ambiguous = "one trace, two histories:";
        for (const auto& [label, hash] : history.hashes()) {
            const auto& before = parts[search.trace_digest()];
            const auto known = before.find(label);
            if (known == before.end() || known->second != hash) { seen.ambiguous += " " + names[label]; }
        }
    }
    seen.complete = search.complete();
    return seen;
}

/// Empty if all three searches agree; none if brute force did not come to an end.
std::optional<std::string> judge(const sim::Program& program, std::uint64_t runs_max, const Blind& blind = {}) {
    const Seen all = see(program, Reduction::none, runs_max, blind);
    if (!all.ambiguous.empty()) { return all.ambiguous; }
    if (!all.complete) { return std::nullopt; }
    for (const Reduction reduction : {Reduction::source, Reduction::optimal}) {
        const Seen reduced = see(program, reduction, runs_max, blind);
        const std::string name(to_string(reduction));
        if (!reduced.ambiguous.empty()) { return name + ": " + reduced.ambiguous; }
        if (!reduced.complete) { return name + ": not complete within the schedules of brute force"; }
        if (reduced.histories != all.histories) {
            return name + ": " + std::to_string(reduced.histories.size()) + " traces of " + std::to_string(all.histories.size());
        }
        if (reduced.ends != all.ends) { return name + ": other ends"; }
    }
    return std::string();
}

// ── generated programs ──

/// Without time: sleeps become yields, waits have no bound.
void stop_the_clock(Block& block) {
    for (Step& step : block) {
        for (Block& inner : step.blocks) { stop_the_clock(inner); }
        switch (step.what) {
            case Do::sleep:
            case Do::shutdown: step = {Do::yield}; break;
            case Do::await:
            case Do::wait: step.numbers[1] = 0; break;
            case Do::both: step.numbers[2] = 0; break;
            case Do::anywhere: step.what = Do::microtask; break;
            case Do::request:
                if (step.numbers[1] + 1 == 4) { step.numbers[1] = 0; }
                break;
            case Do::scope:
                if (step.numbers[4] == 4) { step.numbers[4] = 1; }
                step.numbers[6] = 0;
                break;
            default: break;
        }
    }
}

// 400 programs of at most 3 coroutines and about 10 steps, brute force up to 4,000 schedules each.
TEST(Footprints, OfGeneratedProgramsSayAll) {
    std::uint64_t judged = 0;
    const std::string failure = check_generated("footprints", 400, [&] {
        ProgramData program = *arbitrary_program({.coroutines = 3, .steps = 10, .depth = 2});
        for (Block& block : program.coroutines) { stop_the_clock(block); }
        const std::optional<std::string> verdict = judge(interpret(program), 4'000);
        if (!verdict) { return; }
        ++judged;
        if (!verdict->empty()) { RC_FAIL(to_text(program) + "\n" + *verdict); }
    });
    if (!failure.empty()) { FAIL() << failure; }
    EXPECT_GE(judged, 200U);
}

// ── the runtime's objects, one by one ──

struct Subject {
    const char* name;
    sim::Program program;
};

Ref<OneShotEvent> new_event() { return OneShotEvent::make(current_runtime("test").scheduler(), "event"); }

std::vector<Subject> subjects() {
    std::vector<Subject> all;
    all.push_back({"event", [] {
        const Ref<OneShotEvent> event = new_event();
        for (int i = 0; i < 2; ++i) { spawn("waits", [event] { await_event(event); }); }
        for (int i = 0; i < 2; ++i) { spawn("ends", [event, i] { event->complete(i); }); }
    }});
    all.push_back({"event_fails", [] {
        const Ref<OneShotEvent> event = new_event();
        spawn("waits", [event] {
            try {
                await_event(event);
            } catch (const std::exception&) { yield(); }
        });
        spawn("ends", [event] { event->complete(); });
        spawn("fails", [event] { event->fail(ErrorValue::make<AsyncError>("it failed")); });
    }});
    all.push_back({"first_of_two", [] {
        const Ref<OneShotEvent> one = new_event();
        const Ref<OneShotEvent> two = new_event();
        spawn("waits", [one, two] {
            static_cast<void>(await_any({one.get(), two.get()}));
            yield();
        });
        spawn("one", [one] { one->complete(); });
        spawn("two", [two] { two->complete(); });
    }});
    all.push_back({"both_of_two", [] {
        const Ref<OneShotEvent> one = new_event();
        const Ref<OneShotEvent> two = new_event();
        spawn("waits", [one, two] {
            EventSource* const inputs[] = {one.get(), two.get()};
            await_all(inputs);
        });
        spawn("one", [one] { one->complete(); });
        spawn("two", [two] { two->complete(); });
    }});
    all.push_back({"token", [] {
        const Ref<OneShotEvent> event = new_event();
        const Ref<OneShotEvent> stop = new_event();
        spawn("waits", [event, stop] {
            try {
                await_event(*event, Token(*stop));
            } catch (const OperationCanceled&) { yield(); }
        });
        spawn("ends", [event] { event->complete(); });
        spawn("stops", [stop] { stop->complete(); });
    }});
    all.push_back({"join", [] {
        auto worker = spawn("worker", [] { yield(); });
        spawn("one", [worker] { worker.await(); });
        spawn("two", [worker] { worker.await(); });
    }});
    all.push_back({"cancel", [] {
        const Ref<OneShotEvent> event = new_event();
        auto target = spawn("target", [event] { await_event(event); });
        spawn("cancels", [target] { target.cancel(); });
        spawn("ends", [event] { event->complete(); });
    }});
    all.push_back({"cancel_twice", [] {
        auto target = spawn("target", [] {
            try {
                yield();
            } catch (const Cancellation&) { yield(); }
        });
        spawn("one", [target] { target.cancel("one"); });
        spawn("two", [target] { target.cancel("two"); });
    }});
    all.push_back({"protect", [] {
        auto target = spawn("target", [] {
            protect([] { yield(); });
            yield();
        });
        spawn("cancels", [target] { target.cancel(); });
    }});
    all.push_back({"scope_join", [] {
        auto scope = std::make_shared<Scope>();
        for (int i = 0; i < 2; ++i) {
            scope->spawn("child", [] { yield(); });
        }
        spawn("joins", [scope] {
            const Ref<OneShotEvent> never = new_event();
            scope->await_completion(*never);
        });
    }});
    all.push_back({"scope_cancel", [] {
        auto scope = std::make_shared<Scope>();
        for (int i = 0; i < 2; ++i) {
            scope->spawn("child", [] { yield(); });
        }
        spawn("cancels", [scope] { scope->cancel(); });
        spawn("spawns", [scope] {
            try {
                scope->spawn("late", [] {});
            } catch (const AsyncError&) { yield(); }
        });
    }});
    all.push_back({"zombies", [] {
        auto scope = std::make_shared<Scope>();
        scope->allow_zombies();
        scope->spawn("child", [] { yield(); });
        spawn("disposes", [scope] { scope->dispose_safely(); });
        spawn("joins", [scope] {
            const Ref<OneShotEvent> never = new_event();
            scope->await_completion(*never);
        });
    }});
    all.push_back({"finally", [] {
        auto target = spawn("target", [] { yield(); });
        spawn("adds", [target] {
            target.finally([](const CoroutineHandle&) { touch("log", TouchMode::write); });
        });
        spawn("writes", [] { touch("log", TouchMode::write); });
    }});
    all.push_back({"microtask", [] {
        for (int i = 0; i < 2; ++i) {
            spawn("posts", [] {
                add_microtask([] { touch("log", TouchMode::write); });
            });
        }
        spawn("writes", [] { touch("log", TouchMode::write); });
    }});
    all.push_back({"sleep", [] {
        for (int i = 0; i < 2; ++i) {
            spawn("sleeper", [] { sleep_for(1ms); });
        }
    }});
    all.push_back({"timeout", [] {
        const Ref<OneShotEvent> event = new_event();
        spawn("waits", [event] {
            try {
                await_event(event, Timeout(1ms));
            } catch (const OperationCanceled&) {}
        });
        spawn("ends", [event] { event->complete(); });
    }});
    return all;
}

// Brute force to the end, at most 200,000 schedules.
TEST(Footprints, OfTheRuntimesObjectsSayAll) {
    for (const Subject& subject : subjects()) {
        const std::optional<std::string> verdict = judge(subject.program, 200'000);
        ASSERT_TRUE(verdict) << subject.name << ": too many schedules";
        EXPECT_EQ(*verdict, "") << subject.name;
    }
}

// ── the judge itself ──

TEST(Footprints, ThatAreTooSmallAreCaught) {
    const Cell watched = cell(Label{hash_text("log")}, "user");
    const sim::Program program = [] {
        const auto log = std::make_shared<int>(0);
        for (int i = 0; i < 2; ++i) {
            spawn("writer", [log, i] {
                touch("log", TouchMode::write);
                *log = *log * 3 + i + 1;
                yield();
                if (*log == 5) { yield(); }  // who came second shows
            });
        }
    };
    EXPECT_NE(*judge(program, 10'000, [&](Cell at, TouchMode) { return at == watched; }), "");
}

TEST(Footprints, OfARuntimeObjectThatAreTooSmallAreCaught) {
    const std::vector<Subject> all = subjects();
    std::uint64_t caught = 0;
    for (const Subject& subject : all) {
        // The reads of states: what a waiter finds when it comes.
        const std::optional<std::string> verdict =
            judge(subject.program, 200'000, [](Cell, TouchMode mode) { return mode == TouchMode::read; });
        caught += verdict && !verdict->empty() ? 1 : 0;
    }
    EXPECT_GE(caught, 3U);
}

}  // namespace
}  // namespace heddle::prop
