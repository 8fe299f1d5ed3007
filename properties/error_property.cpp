// SPDX-License-Identifier: Apache-2.0
// Errors: where each of them goes, who hears of it on the way, and what finally handlers do with theirs.
//
//   coroutine fails ──▶ awaiters │ handlers of its scope, of the scopes above, scope waiters │ a live handle │ run() throws it
//                        exactly one of these, for zombies as for anybody (INV-ERR-01, INV-ZOM-06)
//
// INV-ERR-01, 03, 04, INV-ZOM-06: 300 random trees of scopes, handlers, awaiters and failing coroutines, every schedule of one deviation.
// INV-FIN-03, 04: one coroutine and one scope of three handlers each, every combination of what they do, two deviations more.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/properties/testing/every_schedule.hpp"
#include "heddle/simreactor/prng.hpp"
#include "heddle/simreactor/world/anywhere.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// An error that says who made it.
class Named final : public std::runtime_error {
public:
    explicit Named(const std::string& name) : std::runtime_error(name) {}
};

std::string name_of(const ErrorValue& error) {
    try {
        error.rethrow();
    } catch (const Named& named) { return named.what(); } catch (...) {
        return {};
    }
}

// ── INV-ERR-01, 03, 04, INV-ZOM-06 ──

enum class Handles : std::uint8_t { none, takes, replaces, passes_on };

/// A tree of scopes that is one line: each is the child of the one before it.
struct Shape {
    struct Level {
        bool safe = false;
        Handles own = Handles::none;
        Handles child = Handles::none;
        bool waited_for = false;
        bool disposed = false;
    };
    struct Member {
        std::size_t level = 0;
        std::uint64_t yields = 0;
        bool fails = true;
        bool held = false;  // by main, to the end
        std::uint64_t awaiters = 0;
    };
    std::vector<Level> levels;
    std::vector<Member> members;
};

Shape draw_shape(std::uint64_t seed) {
    sim::Prng prng{seed};
    Shape shape;
    const auto handles = [&] { return prng.chance({1, 2}) ? Handles::none : static_cast<Handles>(prng.between(1, 3)); };
    for (std::uint64_t i = prng.between(1, 3); i > 0; --i) {
        shape.levels.push_back({prng.chance({1, 2}), handles(), handles(), prng.chance({1, 4}), prng.chance({1, 3})});
    }
    for (std::uint64_t i = prng.between(1, 4); i > 0; --i) {
        shape.members.push_back(
            {prng.below(shape.levels.size()), prng.below(4), prng.chance({3, 4}), prng.chance({1, 3}), prng.below(3)});
    }
    return shape;
}

/// What became of the errors of one run.
struct Ledger {
    struct Fate {
        bool by_zombie = false;
        std::size_t level = 0;
        int delivered = 0;  // to awaiters
        int handled = 0;
        int waiters = 0;  // got it from the scope that they wait for
        int replaced = 0;
        int unhandled = 0;
        std::vector<std::pair<std::size_t, bool>> heard{};  // handlers: level, child handler
    };
    std::map<std::string, Fate> fates;
    std::vector<ScopeRef> scopes;
    std::string handled_now;  // in the finalization at hand
    std::vector<bool> flags;  // is_cancelled() of the scopes when it was handled
};

/// Over all runs: that every way out was taken, and often.
struct Totals {
    int zombies = 0;
    int delivered = 0;
    int handled = 0;
    int waiters = 0;
    int replaced = 0;
    int unhandled = 0;
};

void handle(Ledger& ledger, Handles how, std::size_t level, bool child, const ErrorValue& error) {
    const std::string name = name_of(error);
    Ledger::Fate& fate = ledger.fates[name];
    // A replacement goes on where the error that it replaces was.
    HEDDLE_ASSERT(child ? fate.level > level : fate.level >= level, "INV-ERR-03");
    for (const auto& [heard_level, heard_child] : fate.heard) {
        HEDDLE_ASSERT(heard_level > level || (heard_level == level && heard_child && !child), "INV-ERR-03");
    }
    fate.heard.emplace_back(level, child);
    switch (how) {
        case Handles::takes:
            ++fate.handled;
            ledger.handled_now = name;
            ledger.flags.clear();
            for (std::size_t i = 0; i <= level; ++i) { ledger.flags.push_back(ledger.scopes[i].is_cancelled()); }
            return;
        case Handles::replaces: {
            ++fate.replaced;
            const std::string replacement = name + "'";
            Ledger::Fate& next = ledger.fates[replacement];
            next.by_zombie = ledger.fates[name].by_zombie;
            next.level = ledger.fates[name].level;
            next.heard = ledger.fates[name].heard;
            throw Named(replacement);
        }
        case Handles::passes_on: error.rethrow();
        case Handles::none: return;
    }
}

void run_shape(const Shape& shape, Ledger& ledger) {
    ledger = {};
    std::vector<Scope> scopes;
    for (std::size_t level = 0; level < shape.levels.size(); ++level) {
        const Shape::Level& drawn = shape.levels[level];
        scopes.push_back(level == 0 ? Scope() : scopes.back().inherit());
        if (drawn.safe) {
            scopes.back().allow_zombies();
        } else {
            scopes.back().as_not_safely();
        }
        if (drawn.own != Handles::none) {
            scopes.back().set_exception_handler(
                [&ledger, how = drawn.own, level](ScopeRef, CoroutineHandle, const ErrorValue& error) {
                    handle(ledger, how, level, false, error);
                });
        }
        if (drawn.child != Handles::none) {
            scopes.back().set_child_scope_exception_handler(
                [&ledger, how = drawn.child, level](ScopeRef, CoroutineHandle, const ErrorValue& error) {
                    handle(ledger, how, level, true, error);
                });
        }
    }
    for (const Scope& scope : scopes) { ledger.scopes.push_back(scope); }
    std::vector<CoroutineHandle> held;
    for (std::size_t i = 0; i < shape.members.size(); ++i) {
        const Shape::Member& drawn = shape.members[i];
        auto member = scopes[drawn.level].spawn("member", [&ledger, drawn, name = "E" + std::to_string(i)] {
            for (std::uint64_t n = 0; n < drawn.yields; ++n) { yield(); }
            if (!drawn.fails) { return; }
            Ledger::Fate& fate = ledger.fates[name];
            fate.by_zombie = current_coroutine().is_zombie();
            fate.level = drawn.level;
            throw Named(name);
        });
        for (std::uint64_t n = 0; n < drawn.awaiters; ++n) {
            spawn("awaiter", [&ledger, member, late = sim::choose(2, "late")] {
                if (late == 1) { yield(); }
                try {
                    member.await();
                } catch (const Named& error) { ++ledger.fates[error.what()].delivered; }
            });
        }
        if (drawn.held) { held.push_back(member); }
    }
    for (std::size_t level = 0; level < shape.levels.size(); ++level) {
        if (!shape.levels[level].waited_for) { continue; }
        spawn("scope waiter", [&ledger, scope = ledger.scopes[level]] {
            const Ref<OneShotEvent> never = new_event("never");
            try {
                scope.await_completion(*never);
            } catch (const Named& error) { ++ledger.fates[error.what()].waiters; } catch (const AsyncError&) {
                // It was over before the wait began.
            }
        });
    }
    yield();
    for (std::size_t level = 0; level < shape.levels.size(); ++level) {
        if (shape.levels[level].disposed) { scopes[level].dispose_safely(); }
    }
    sleep_for(5ms);
    held.clear();  // what was kept on a handle is reported now (ERR-9)
}

TEST(Errors, EndInExactlyOneWay) {
    Ledger ledger;
    Totals totals;
    std::uint64_t schedules = 0;
    for (std::uint64_t seed = 0; seed < 300 && !HasFailure(); ++seed) {
        const Shape shape = draw_shape(seed);
        Bounds bounds;
        bounds.deviations = 1;
        bounds.runs_max = 60;
        bounds.whole = false;
        bounds.errors_are_outcomes = true;
        bounds.on_each = [&](const Event& event) {
            if (event.kind == EventKind::unhandled) {
                for (auto& [name, fate] : ledger.fates) {
                    if (event.note.ends_with(": " + name)) { ++fate.unhandled; }
                }
            }
            if (ledger.handled_now.empty()) { return; }
            // INV-ERR-04: from the handler's return to the end of the finalization nobody is asked to end.
            HEDDLE_ASSERT(event.kind != EventKind::cancel_requested && event.kind != EventKind::scope_requested,
                          "INV-ERR-04");
            if (event.kind != EventKind::finalized) { return; }
            for (std::size_t i = 0; i < ledger.flags.size(); ++i) {
                HEDDLE_ASSERT(ledger.scopes[i].is_cancelled() == ledger.flags[i], "INV-ERR-04");
            }
            ledger.handled_now.clear();
        };
        bounds.at_end = [&](const Scheduler&) {
            ledger.scopes.clear();
            for (const auto& [name, fate] : ledger.fates) {
                const char* const number = fate.by_zombie ? "INV-ZOM-06" : "INV-ERR-01";
                const int others = fate.handled + (fate.waiters > 0 ? 1 : 0) + fate.replaced + fate.unhandled;
                HEDDLE_ASSERT(others + fate.delivered >= 1, number);
                // The stored outcome stays what it is: somebody who awaits later sees it, wherever the error went.
                HEDDLE_ASSERT(others <= 1, number);
                HEDDLE_ASSERT(fate.unhandled == 0 || fate.delivered == 0, "INV-ERR-02");
                totals.zombies += fate.by_zombie ? 1 : 0;
                totals.delivered += fate.delivered > 0 ? 1 : 0;
                totals.handled += fate.handled;
                totals.waiters += fate.waiters > 0 ? 1 : 0;
                totals.replaced += fate.replaced;
                totals.unhandled += fate.unhandled;
            }
        };
        schedules += holds_under_every_schedule([&] { run_shape(shape, ledger); }, bounds);
        if (HasFailure()) { ADD_FAILURE() << "seed " << seed; }
    }
    EXPECT_GT(schedules, 3'000U);
    for (const int total :
         {totals.zombies, totals.delivered, totals.handled, totals.waiters, totals.replaced, totals.unhandled}) {
        EXPECT_GT(total, 100);
    }
}

// ── INV-FIN-03, INV-FIN-04 ──

struct FinallyRecord {
    std::vector<std::size_t> began;  // handlers, in order
    std::vector<Instant> when;
    std::vector<std::string> thrown;  // by handlers, in order of occurrence
    bool own = false;                 // the coroutine threw, too
    Instant ended;
    std::vector<std::string> unhandled;  // notes of the events, in order
};

/// One of three handlers: goes well, throws, suspends, suspends for long and then throws.
void finally_handler(FinallyRecord& record, std::size_t index) {
    record.began.push_back(index);
    record.when.push_back(now());
    const std::uint32_t does = sim::choose(4, "handler");
    if (does >= 2) {
        quietly([&] { sleep_for(does == 2 ? Duration(1ms) : Duration(5ms)); });
    }
    if (does == 1 || does == 3) {
        record.thrown.push_back("F" + std::to_string(index));
        throw Named(record.thrown.back());
    }
}

void check_finally(const FinallyRecord& record, const ErrorValue& exit) {
    HEDDLE_ASSERT((record.began == std::vector<std::size_t>{0, 1, 2}), "INV-FIN-03");
    for (const Instant at : record.when) { HEDDLE_ASSERT(at == record.ended, "INV-FIN-03"); }
    // INV-FIN-04: newest first, the handlers' report, one error or one composite, and the coroutine's own before it.
    std::vector<ErrorValue> chain;
    for (ErrorValue at = exit; at; at = at.previous()) { chain.push_back(at); }
    HEDDLE_ASSERT(chain.size() == (record.own ? 1U : 0U) + (record.thrown.empty() ? 0U : 1U), "INV-FIN-04");
    if (record.own) { HEDDLE_ASSERT(name_of(chain.back()) == "own", "INV-FIN-04"); }
    if (record.thrown.empty()) { return; }
    std::vector<std::string> surfaced;
    try {
        chain.front().rethrow();
    } catch (const CompositeError& composite) {
        HEDDLE_ASSERT(composite.errors().size() > 1, "INV-FIN-04");
        for (const ErrorValue& one : composite.errors()) { surfaced.push_back(name_of(one)); }
    } catch (const Named& named) { surfaced.emplace_back(named.what()); } catch (...) {
        HEDDLE_ASSERT(false, "INV-FIN-04");
    }
    HEDDLE_ASSERT(surfaced == record.thrown, "INV-FIN-04");
}

TEST(FinallyHandlers, OfACoroutineAllStartAtOnceAndTheirErrorsSurface) {
    FinallyRecord record;
    const auto program = [&] {
        record = {};
        spawn("owner", [&] {
            for (std::size_t index = 0; index < 3; ++index) {
                current_coroutine().finally(
                    [&record, index](const CoroutineHandle&) { finally_handler(record, index); });
            }
            yield();
            record.ended = now();
            record.own = sim::choose(2, "own") == 1;
            if (record.own) { throw Named("own"); }
        });
    };
    Bounds bounds;
    bounds.deviations = 4;
    bounds.mask = sim::ChoiceMask::all().without(ChoiceKind::time);  // time stands still while somebody is ready
    bounds.errors_are_outcomes = true;
    bounds.at_end = [&](const Scheduler& scheduler) { check_finally(record, scheduler.exit_error()); };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 200U);
}

TEST(FinallyHandlers, OfAScopeAllStartAtOnceAndTheirErrorsSurface) {
    FinallyRecord record;
    const auto program = [&] {
        record = {};
        Scope scope;
        for (std::size_t index = 0; index < 3; ++index) {
            scope.finally([&record, index](ScopeRef) { finally_handler(record, index); });
        }
        scope.spawn("member", [&record] {
            yield();
            record.ended = now();
        });
        yield();
        yield();
        scope.dispose_safely();
    };
    Bounds bounds;
    bounds.deviations = 4;
    bounds.mask = sim::ChoiceMask::all().without(ChoiceKind::time);  // time stands still while somebody is ready
    bounds.errors_are_outcomes = true;
    bounds.at_end = [&](const Scheduler& scheduler) { check_finally(record, scheduler.exit_error()); };
    EXPECT_GT(holds_under_every_schedule(program, bounds), 100U);
}

}  // namespace
}  // namespace heddle::prop
