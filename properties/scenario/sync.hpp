// SPDX-License-Identifier: Apache-2.0
// Small programs over the primitives of core/sync, each with a cancellation, a close or a drop that arrives at any point.
//
//   sync/mutex  sync/semaphore  sync/condition  sync/channel  sync/rendezvous  sync/receive-future  sync/future  sync/group  sync/set  sync/iterate
//
// Choice points: `sim::anywhere` (when the request arrives), who runs next, ties of timers.
#pragma once

#include <vector>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

[[nodiscard]] std::vector<sim::Scenario> sync_scenarios();

}  // namespace heddle::prop
