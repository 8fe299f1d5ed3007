// SPDX-License-Identifier: Apache-2.0
// Small programs over the bridges to other threads, whose actions the explorer puts in every order, with a request that arrives at any
// point: a cancellation, a close, a stop (docs/spec/15-threads.md).
//
//   bridge/wake-up  bridge/submit  bridge/cancel-job  bridge/dropped  bridge/close  bridge/cancel-pool  bridge/drop-pool  bridge/map
//   bridge/faults  bridge/channel  bridge/remote
//
// Choice points: `ready` (which worker acts next, and against what), `arrival`, `fault` where they say so; who runs next.
#pragma once

#include <vector>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

[[nodiscard]] std::vector<sim::Scenario> bridge_scenarios();

}  // namespace heddle::prop
