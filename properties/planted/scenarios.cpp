// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/planted/scenarios.hpp"

#include "heddle/properties/planted/builder.hpp"

namespace heddle::prop {

std::vector<sim::Scenario> planted_scenarios() {
    planted_bugs::Builder builder;
    planted_bugs::add_reported(builder);
    planted_bugs::add_reported_sync(builder);
    planted_bugs::add_reported_pool(builder);
    planted_bugs::add_waker_faults(builder);
    planted_bugs::add_scheduler_faults(builder);
    planted_bugs::add_structure_faults(builder);
    planted_bugs::add_bridge_faults(builder);
    return std::move(builder.scenarios);
}

}  // namespace heddle::prop
