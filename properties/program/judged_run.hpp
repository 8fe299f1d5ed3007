// SPDX-License-Identifier: Apache-2.0
// JudgedRun: one generated program under one generated schedule, in a world with all oracles; and its trace, if something is violated.
//
//   (program, schedule) ──▶ world, all oracles ──violated──▶ recorded again ──▶ <name>.trace.json, "simrun --replay <file>"
//
// A schedule is a list of small numbers: the n-th answer is the n-th of them modulo the number of alternatives, 0 behind its end, so
// that a shorter list and smaller numbers are schedules closer to production's. Every list fits every program: the two shrink together.
// Choice points: those of the program and its world.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/properties/program/program_data.hpp"
#include "heddle/simreactor/world/scenario.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {

using Schedule = std::vector<std::uint8_t>;

class ScheduleChooser final : public Chooser {
public:
    void begin(const Schedule& schedule) {
        schedule_ = &schedule;
        next_ = 0;
    }
    std::uint32_t choose(const ChoicePoint& point) override {
        return next_ < schedule_->size() ? (*schedule_)[next_++] % point.count : 0;
    }

private:
    const Schedule* schedule_ = nullptr;
    std::size_t next_ = 0;
};

struct JudgedOptions {
    trace::Order order = trace::Order::any;
    sim::TimeLevel time = sim::TimeLevel::T1;
    bool hand_over = true;
    bool pool_contexts = true;
    std::function<sim::OracleList()> oracles{};  ///< none: all_oracles()
    Chooser* audit = nullptr;                    ///< asked in place of the schedule
};

/// Keeps one world and runs case after case in it.
class JudgedRuns {
public:
    explicit JudgedRuns(const JudgedOptions& options = {});

    sim::Outcome run(const ProgramData& program, const Schedule& schedule);
    /// The same once more, in a fresh world, recorded: the trace of a run of `program/any`.
    [[nodiscard]] trace::Trace record(const ProgramData& program, const Schedule& schedule) const;
    [[nodiscard]] sim::World& world() { return world_; }

private:
    [[nodiscard]] trace::Recipe recipe(const ProgramData& program) const;

    JudgedOptions options_;
    sim::OracleList oracles_;
    ScheduleChooser chooser_;
    sim::World world_;
};

/// Writes a trace to "<name>.trace.json" in the working directory, over an older one.
/// @returns what was violated, the timeline, and as last line the command that replays it
[[nodiscard]] std::string failure_report(const trace::Trace& trace, const std::string& name);

}  // namespace heddle::prop
