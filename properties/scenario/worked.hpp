// SPDX-License-Identifier: Apache-2.0
// Worked: the examples that docs/spec 01 to 04 and 10 to 13 give with their result, as programs.
//
//   Worked {name, program, what it says, how run() ends} ──▶ test: in the baseline run, word by word
//                                                      └──▶ scenario "spec/<name>": under every schedule, with all oracles
//
// What holds in every schedule is checked inside the program; the order of words only in the baseline.
#pragma once

#include <ostream>
#include <span>
#include <string_view>

namespace heddle::prop {

struct Worked {
    std::string_view name;   ///< as the chapter calls it: "T1", "S13"
    std::string_view about;
    void (*program)();
    std::string_view says;   ///< in the baseline run
    std::string_view ends;   ///< error that run() throws, as ErrorValue::describe says it; empty for none
};

/// How tests print one.
std::ostream& operator<<(std::ostream& out, const Worked& worked);

[[nodiscard]] std::span<const Worked> worked_scheduler();     ///< T1 to T17 of docs/spec/01-scheduler.md
[[nodiscard]] std::span<const Worked> worked_waker();         ///< E1 to E10 of docs/spec/02-waker-events.md
[[nodiscard]] std::span<const Worked> worked_scopes();        ///< S1 to S17 of docs/spec/03-cancellation-scope.md, without channels
[[nodiscard]] std::span<const Worked> worked_zombies();       ///< Z1 to Z7 of docs/spec/04-zombies.md
[[nodiscard]] std::span<const Worked> worked_sync();          ///< P1 to P5, C1 to C6, F1 to F4, G1 to G3 of docs/spec, chapters 10 to 13

}  // namespace heddle::prop
