// SPDX-License-Identifier: Apache-2.0
// A small run as a world would tell it, for tests of the recorder, the diff and the timeline.
//
//   main spawns two workers and waits; each sleeps; their timers are due at the same time, and the chooser says which
//   is delivered first. The worker that wakes second finds the job taken: that is the violation.
#pragma once

#include <array>
#include <string>

#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/observer.hpp"

namespace heddle::trace::testing {

class RecordedRun {
public:
    explicit RecordedRun(LabelBook& book) : book_(book) {}

    /// @param workers  at least 2; those beyond the second only start and finish
    /// @returns the index of the worker that took the job: 0 unless the chooser deviates
    std::uint32_t play(Observer& observer, Chooser& chooser, int workers = 2) {
        observer_ = &observer;
        at_ = Instant{};
        const Label main = book_.root("main");
        const Label loop = book_.root("loop");
        std::array<Label, 2> worker;
        std::array<Label, 2> sleep;
        tell(EventKind::step_begin, main);
        tell(EventKind::started, main);
        for (int i = 0; i < workers; ++i) {
            const Label spawned = book_.child(main, "worker");
            if (i < 2) { worker[static_cast<std::size_t>(i)] = spawned; }
            tell(EventKind::spawned, spawned, {}, i + 2);
        }
        const Label join = book_.point(main, "await_all");
        tell(EventKind::parked, main, join, workers);
        tell(EventKind::step_end, main);
        for (std::size_t i = 0; i < 2; ++i) {
            tell(EventKind::step_begin, worker[i]);
            tell(EventKind::started, worker[i]);
            sleep[i] = book_.point(worker[i], "sleep");
            tell(EventKind::parked, worker[i], sleep[i], 1);
            observer_->on_touch(cell(sleep[i], "armed"), TouchMode::write);
            tell(EventKind::step_end, worker[i]);
        }
        at_ = Instant{5'000'000};
        tell(EventKind::clock, {}, {}, at_.ns());
        const std::uint32_t first = chooser.choose(
            {.kind = ChoiceKind::timer, .at = book_.point(loop, "timer"), .count = 2, .candidates = sleep});
        for (const std::size_t i : {std::size_t{first}, std::size_t{1 - first}}) {
            tell(EventKind::step_begin, sleep[i]);
            tell(EventKind::delivered, {}, sleep[i], 1);
            tell(EventKind::woken, worker[i], sleep[i]);
            tell(EventKind::step_end, sleep[i]);
        }
        for (const std::size_t i : {std::size_t{first}, std::size_t{1 - first}}) {
            tell(EventKind::step_begin, worker[i]);
            tell(EventKind::resumed, worker[i]);
            observer_->on_touch(cell(main, "job"), TouchMode::write);
            tell(EventKind::user, worker[i], {}, 0, i == first ? "takes the job" : "finds no job");
            if (i != first && first == 1) {
                tell(EventKind::violated, worker[i], {}, 0, "CHECK");
                return first;  // the world is frozen
            }
            tell(EventKind::finished, worker[i]);
            tell(EventKind::step_end, worker[i]);
        }
        tell(EventKind::run_ended);
        return first;
    }

private:
    void tell(EventKind kind, Label who = {}, Label what = {}, std::int64_t a = 0, std::string_view note = {}) {
        observer_->on_event({.kind = kind, .at = at_, .who = who, .what = what, .a = a, .note = note});
    }

    LabelBook& book_;
    Observer* observer_ = nullptr;
    Instant at_;
};

/// Answers every question with `index`, or the last alternative where there are fewer.
class AlwaysChooser final : public Chooser {
public:
    explicit AlwaysChooser(std::uint32_t index) : index_(index) {}
    std::uint32_t choose(const ChoicePoint& point) override { return index_ < point.count ? index_ : point.count - 1; }

private:
    std::uint32_t index_;
};

}  // namespace heddle::trace::testing
