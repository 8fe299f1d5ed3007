// SPDX-License-Identifier: Apache-2.0
// Interpreter: runs a ProgramData as a program of the runtime, and checks on its way what the program itself can see.
//
//   ProgramData ── interpret ──▶ sim::Program ──▶ World::run, on libuv as well (either: the first block, anywhere: at once)
//
// What it checks: a spawn runs nothing, a sleep and a timeout are never early (INV-AWAIT-04, INV-RCT-12), every awaiter of a coroutine
// gets the same outcome (INV-AWAIT-01), awaiting what is over does not switch (INV-AWAIT-02), what is being handled stays handled over
// a suspension (INV-SCHED-25), protection is back on every exit (INV-PRT-02), an error comes out of it (INV-PRT-03) and none out of a
// cleanup (INV-PRT-05), a finally handler sees a finished coroutine (INV-FIN-01), outcomes stay what they are (INV-SCHED-10).
// Choice points: `value` at each `either`, `arrival` for each `anywhere`.
#pragma once

#include "heddle/properties/program/objects.hpp"
#include "heddle/properties/program/program_data.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {

/// Who owns what a run's coroutines share: handles, events, scopes.
enum class Holds : std::uint8_t {
    last,  ///< it ends with the last of them, whichever that is
    main,  ///< main's coroutine, which ends with the run: reference counts decide nothing
};

/// @param journal  what its coroutines get on primitives goes there, and an answer that something is closed is no error; may be null
[[nodiscard]] sim::Program interpret(const ProgramData& program, Holds holds = Holds::last, std::shared_ptr<Journal> journal = {});

}  // namespace heddle::prop
