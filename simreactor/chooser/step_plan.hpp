// SPDX-License-Identifier: Apache-2.0
// StepPlan: what the one question of a world has named, kept for the moment at which the scheduler asks.
//
//   SimReactor ── "what happens next?" ──▶ Chooser ──▶ a coroutine ── name ──▶ StepPlan ◀── "who runs?" ── Scheduler
//                                                  └─▶ a source: reported at once
//
// The scheduler's own question has been answered by then: neither a search nor a trace hears of it. Where nothing was named, for no source
// could be reported, it is passed on and is the one question.
// Chance: none of its own.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/seam/chooser.hpp"

namespace heddle::sim {

class StepPlan final : public Chooser {
public:
    /// @param inner  answers what was not named; null: nothing is asked
    void attach(Chooser* inner) {
        inner_ = inner;
        named_.reset();
    }
    /// The next dispatch is this coroutine's.
    void name(Label coroutine) { named_ = coroutine; }
    void clear() { named_.reset(); }

    std::uint32_t choose(const ChoicePoint& point) override {
        if (point.kind == ChoiceKind::dispatch) {
            if (const std::optional<Label> named = std::exchange(named_, std::nullopt)) {
                const auto at = std::ranges::find(point.candidates, *named);
                HEDDLE_ASSERT(at != point.candidates.end(), "INV-RCT-14");
                return static_cast<std::uint32_t>(at - point.candidates.begin());
            }
        }
        return inner_ == nullptr ? 0 : inner_->choose(point);
    }

private:
    Chooser* inner_ = nullptr;
    std::optional<Label> named_;
};

}  // namespace heddle::sim
