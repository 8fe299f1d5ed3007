// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {

sim::OracleList all_oracles() {
    sim::OracleList list;
    list.push_back(make_sched_oracle());
    list.push_back(make_switch_oracle());
    list.push_back(make_event_oracle());
    list.push_back(make_waker_oracle());
    list.push_back(make_cancel_oracle());
    list.push_back(make_scope_oracle());
    list.push_back(make_zombie_oracle());
    list.push_back(make_reactor_oracle());
    list.push_back(make_end_oracle());
    list.push_back(make_wait_oracle());
    list.push_back(make_channel_oracle());
    list.push_back(make_group_oracle());
    list.push_back(make_pool_oracle());
    list.push_back(make_bridge_oracle());
    return list;
}

}  // namespace heddle::prop
