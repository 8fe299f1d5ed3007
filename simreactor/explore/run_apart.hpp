// SPDX-License-Identifier: Apache-2.0
// run_apart: one recorded run in a process of its own. If it kills the process, the trace is that of the run up to
// there.
//
//   run ── in a worker, counting events and choices ──▶ ended: its trace
//                                                   └─▶ died behind number n ── again, frozen at n ──▶ its trace up to there
//
// RA1  The second run is the first one, as far as it goes: the trace of a crash is recorded, never guessed.
// RA2  Outcome::kind is `crashed` and Outcome::invariant says what of: two crashes are the same end if both agree.
// Chance: none.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heddle/simreactor/explore/replay_run.hpp"
#include "heddle/simreactor/explore/run_guard.hpp"
#include "heddle/simreactor/explore/worker.hpp"

namespace heddle::sim {

/// Counts what happens in one run, and freezes it at a number if it is told one.
class Watch final : public RunGuard, public Observer, private Chooser {
public:
    /// @param until  events and choices after which the run ends as a violation of `name`; 0: it goes to its end
    Watch(Seat& seat, std::uint64_t until, std::string name) : seat_(seat), until_(until), name_(std::move(name)) {}

    Chooser& begin(Chooser& decides, std::uint32_t tag) override {
        decides_ = &seat_.begin(decides, tag);
        return *this;
    }
    void on_event(const Event& event) override {
        if (event.kind != EventKind::violated) { count(); }
    }

private:
    std::uint32_t choose(const ChoicePoint& point) override {
        const std::uint32_t answer = decides_->choose(point);
        count();
        return answer;
    }
    void count();

    Seat& seat_;
    std::uint64_t until_;
    std::string name_;
    Chooser* decides_ = nullptr;
    std::uint64_t count_ = 0;
};

struct ApartOptions {
    WorkerLimits limits{};
    std::function<double()> clock{};
    bool quiet =
        true;  ///< what the run writes to standard error is dropped; it is the report of a death that was seen before
};

struct ApartResult {
    trace::Trace trace;
    std::optional<Death> death{};
    std::string failure{};  ///< not empty: there is no trace, and why
};

/// @param run  runs one world with a recorder, with the watch as its outermost chooser and as its last observer
[[nodiscard]] ApartResult run_apart(const std::function<trace::Trace(Watch&)>& run, const ApartOptions& options);

/// A schedule by its answers.
[[nodiscard]] ApartResult record_apart(const ScenarioCall& call, const trace::Recipe& recipe,
                                       const std::vector<std::uint32_t>& answers, const ApartOptions& options,
                                       bool keep_events = true);
/// The schedule of a trace. Divergences do not stop it, unless `mode` says so.
[[nodiscard]] ApartResult replay_apart(const ScenarioCall& call, const trace::Trace& trace, ReplayMode mode,
                                       const ApartOptions& options, bool keep_events = true);

}  // namespace heddle::sim
