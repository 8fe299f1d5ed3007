// SPDX-License-Identifier: Apache-2.0
// Oracles: observers that know the invariants of docs/spec/00-invariants.md and say which one is violated, and where.
//
//   world ── events, inspection ──▶ sched · switch · event · waker · cancel · scope · zombie · reactor · end ──▶ report_violation
//
// properties/README.md says which invariant is checked by which of them, and what is checked elsewhere. An oracle may judge one run
// after another, of different worlds.
#pragma once

#include <memory>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

[[nodiscard]] std::unique_ptr<sim::Oracle> make_sched_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_switch_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_event_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_waker_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_cancel_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_scope_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_zombie_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_reactor_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_end_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_wait_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_channel_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_group_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_pool_oracle();
[[nodiscard]] std::unique_ptr<sim::Oracle> make_bridge_oracle();

/// One of each.
[[nodiscard]] sim::OracleList all_oracles();

}  // namespace heddle::prop
