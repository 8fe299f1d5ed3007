// SPDX-License-Identifier: Apache-2.0
// world/registers: a key-value store on five machines, whose links break and heal and whose machines crash and start anew.
//
//   main: five clients, a trouble maker, the judge
//     └─datagrams─▶ node1 … node5: each a coordinator and a replica, with its registers on its disk
//        write: ask a majority for its newest tag, store a newer one at a majority      read: ask a majority, store what it says there, too
//
// RG1  Whoever begins after an operation has ended sees what that one saw or wrote, or something newer (INV of an atomic register).
// RG2  A tag has one value, and one that somebody asked to have written.
// RG3  What a replica has acknowledged is on its disk: a crash takes none of it.
// RG4  When all links are whole and all machines are up, operations end again.
// Choice points: faults of datagrams and of disks, what a crash keeps, which node goes on. What trouble comes when: World::prng.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop {

/// What a replica or a coordinator of the store can do wrong.
enum class RegisterMistake : std::uint8_t {
    none,
    answers_before_it_flushes,  ///< breaks RG3, and so RG1
    reads_without_storing,      ///< one reads the new value, the next one the old one again: breaks RG1
    counts_itself_twice,        ///< a doubled datagram makes a majority of two machines
};

struct RegistersOptions {
    Duration span = std::chrono::seconds(10);     ///< of trouble, in virtual time; then everything heals
    Duration pause = std::chrono::seconds(1);     ///< between two operations of a client, on average
    Duration calm = std::chrono::seconds(10);     ///< between two troubles, on average
};

/// What main runs: it shows (sim::show_state) a hash of all that the clients have seen.
[[nodiscard]] sim::Program register_clients(const RegistersOptions& options);
/// The machines behind it.
[[nodiscard]] std::function<void(sim::WorldOptions&)> world_with_registers(RegisterMistake mistake);

[[nodiscard]] std::vector<sim::Scenario> register_scenarios();

}  // namespace heddle::prop
