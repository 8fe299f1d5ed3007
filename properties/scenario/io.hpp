// SPDX-License-Identifier: Apache-2.0
// Programs over core/io on the simulated network, as scenarios.
//
//   io/echo  io/echo-faults  io/accept  io/datagrams  io/exactly-once (two machines)
//
// Choice points: orders of delivery, parts of reads and writes, faults (io/echo-faults, io/datagrams), who runs next.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

/// What the server of an echo pair does with its connection.
enum class EchoServer : std::uint8_t {
    careful,
    one_read_is_one_message,  ///< wrong: a network may cut anywhere
    forgets_resets,           ///< wrong: it counts its connections, and one that is reset is counted for ever
};
/// A client sends `words` words of three letters and expects them back. Whatever goes wrong, what came is a beginning of what
/// was sent, and nothing stays open. @param faults  whether the world may have some: then not everything has to come
[[nodiscard]] sim::Program echo_pair(std::int64_t words, EchoServer server, bool faults);

/// A client on one machine, a counter on another one: each request is made again until it is answered, and has to count once.
/// @param remembers  whether the counter knows requests again; else it is wrong
[[nodiscard]] sim::Program adding_client();
[[nodiscard]] std::function<void(sim::WorldOptions&)> world_with_counter(bool remembers);

[[nodiscard]] std::vector<sim::Scenario> io_scenarios();

}  // namespace heddle::prop
