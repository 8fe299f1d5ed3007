// SPDX-License-Identifier: Apache-2.0
// Foresight: programs that know what their next step will touch say so, before it is their turn.
//
//   coroutine ── foresee(x, write) ──▶ Foresight        … it yields; a sampler chooses between steps that it knows …
//
// FS1  It concerns the next step of the coroutine that runs, and is complete: that step touches nothing else that matters.
// FS2  Whether anybody listens shows nowhere in the run (WD3).
// What nobody foresees, a sampler guesses from earlier runs (lookahead.hpp). Choice points: none.
#pragma once

#include <cstdint>

#include "heddle/core/seam/footprint.hpp"

namespace heddle::sim {

/// What is touched: data, or something whose only use is to order others.
enum class CellUse : std::uint8_t { data, lock };

class Foresight {
public:
    virtual ~Foresight() = default;
    virtual void foresee(Cell cell, TouchMode mode, CellUse use) = 0;
    /// The next step touches nothing that matters.
    virtual void foresee_nothing() = 0;
};

}  // namespace heddle::sim
