// SPDX-License-Identifier: Apache-2.0
// PosChooser: partial order sampling. The highest random priority goes first; what races with the step just run draws anew.
//
//   a: W x        b: R x        c: W y            a has run: a and b draw again, c keeps its priority
//
// PO1  Priorities belong to pending steps: whoever has stepped draws a new one for the next step.
// PO2  A pending step draws anew too if it conflicts with the step that was run (lookahead.hpp); locks do not count.
// PO3  Questions that no processes compete for are answered at random.
// No estimate of lengths is needed. Chance enters with the seed.
#pragma once

#include "heddle/simreactor/chooser/lookahead.hpp"
#include "heddle/simreactor/chooser/priorities.hpp"

namespace heddle::sim {

/// Attach it as chooser, as observer and as foresight.
class PosChooser final : public Chooser, public Lookahead {
public:
    /// The next run.
    void begin(std::uint64_t seed) {
        begin_run();
        priorities_.begin(Prng{seed}.stream("partial order sampling"));
    }

    std::uint32_t choose(const ChoicePoint& point) override {
        if (!is_competition(point)) { return static_cast<std::uint32_t>(priorities_.prng().below(point.count)); }
        settle();
        return priorities_.highest(point.count, [&](std::uint32_t i) { return process_of(point.candidates[i]); });
    }

private:
    void step_over(Process process, std::span<const Access> accesses) override {
        priorities_.redraw(process);
        priorities_.stepped(process);
        for (const Access& access : accesses) {
            if (is_lock(access.cell)) { continue; }
            for (Process other = 0; other < process_count(); ++other) {
                if (other != process && is_alive(other) && conflict(pending(other), {&access, 1})) { priorities_.redraw(other); }
            }
        }
    }

    Priorities priorities_;
};

}  // namespace heddle::sim
