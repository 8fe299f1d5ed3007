// SPDX-License-Identifier: Apache-2.0
// Cases of the oracles' own tests: for each check something that makes it say "violated", and its neighbour that passes.
//
//   StreamCase    a hand-made stream of events, as text:   "spawned a a=1; started a"
//                 before + good passes, before + bad fails
//   StageCase     a program in a world; where `stage.broken` is set it breaks the runtime from inside, or tells events that did not
//                 happen. Its tests are compiled without access control: the runtime's members are open to them, and to nobody else.
//
// An event as text is its kind, who it is about, /what, a=, b=, t= (its time in ns), and n= (its note, one word).
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/oracle/oracles.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {

struct Verdict {
    std::string invariant;  // empty: nothing was violated
    std::string message;
};

using MakeOracle = std::unique_ptr<sim::Oracle> (*)();

struct StreamCase {
    const char* invariant;
    const char* message;  // the begin of it
    const char* before;
    const char* good;
    const char* bad;
};

/// What a staged program has at hand.
class Stage {
public:
    Stage(bool is_broken, sim::World& world, sim::Oracle& oracle) : broken(is_broken), world_(world), oracle_(oracle) {}

    const bool broken;
    /// Runs when the run ends, before the oracle hears of it; the reactor is up, everything else is over.
    std::function<void(Scheduler&)> on_end{};

    [[nodiscard]] static Scheduler& scheduler() { return *ambient_scheduler(); }
    [[nodiscard]] sim::World& world() const { return world_; }
    [[nodiscard]] sim::Oracle& oracle() const { return oracle_; }
    static void tell(EventKind kind, Label who = {}, Label what = {}, std::int64_t a = 0, std::int64_t b = 0,
                     std::string_view note = {}) {
        scheduler().note(kind, who, what, a, b, note);
    }
    /// Makes the oracle look, in the middle of a step.
    static void look() { tell(EventKind::step_end, LabelBook::of("somebody"), {}, 1); }
    [[nodiscard]] static Label label(std::string_view text) { return LabelBook::of(text); }
    /// Parks in an event that nothing completes; for as long as a case needs.
    static CoroutineHandle waiting(const Ref<OneShotEvent>& event);

private:
    sim::World& world_;
    sim::Oracle& oracle_;
};

struct StageCase {
    const char* invariant;
    const char* message;
    std::function<void(Stage&)> program;
};

/// A finished run whose world is broken afterwards, before the oracle's last look.
struct HostCase {
    const char* invariant;
    const char* message;
    std::function<void(sim::World&)> breaks;
};

[[nodiscard]] Verdict judge_stream(MakeOracle make, std::string_view stream);
[[nodiscard]] Verdict judge_stage(MakeOracle make, const StageCase& test, bool broken);
[[nodiscard]] Verdict judge_host(MakeOracle make, const HostCase& test, bool broken);

/// Everything that one oracle's tests have.
struct OracleCases {
    const char* oracle;  // as its file is named: "sched"
    MakeOracle make;
    std::vector<StreamCase> streams{};
    std::vector<StageCase> stages{};
    std::vector<HostCase> hosts{};
};

OracleCases sched_cases();
OracleCases switch_cases();
OracleCases event_cases();
OracleCases waker_cases();
OracleCases cancel_cases();
OracleCases scope_cases();
OracleCases zombie_cases();
OracleCases reactor_cases();
OracleCases end_cases();

}  // namespace heddle::prop
