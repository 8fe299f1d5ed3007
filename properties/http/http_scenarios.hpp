// SPDX-License-Identifier: Apache-2.0
// io/http: an HTTP service between its clients and the service behind it, on three machines.
//
//   main: writer, pipelining reader, idler ──▶ service: Server + Proxy ──▶ backend: Server that counts what it is told to add
//
// Checked: each request is answered once, with what it asked for, or its client is told that it failed; what was answered was carried
// out once, what failed at most once; no connection and no lease is left; the service ends within its drain.
// Choice points: orders of delivery, faults of streams and names, who runs next, which machine; whether the backend is slow.
#pragma once

#include <functional>
#include <vector>

#include "heddle/properties/http/http_server.hpp"
#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::http {

/// What the clients do; `rounds` times each, 1 to 100.
[[nodiscard]] sim::Program clients(std::int64_t rounds);
/// The two services behind them. @param mistake  of the one in the middle
[[nodiscard]] std::function<void(sim::WorldOptions&)> world_with_services(Mistake mistake);

[[nodiscard]] std::vector<sim::Scenario> http_scenarios();

}  // namespace heddle::http
