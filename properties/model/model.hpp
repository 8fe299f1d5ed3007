// SPDX-License-Identifier: Apache-2.0
// The reference model: channels, pools, mutexes and permits as a few sequential rules, and all outcomes that a small program may have under them.
//
//   program of the alphabet `model` ──▶ states ── which ready coroutine runs next: every one ──▶ journals, as a set
//                                          └── the same program on Heddle, every schedule ──▶ journals ⊆ that set
//
// M1  The model knows coroutines as programs and positions, objects as books, and promises as counts: what the chapters 10, 11 and 17 of
//     docs/spec say, and nothing of wakers, queues of events, stacks or the order in which a scheduler keeps its coroutines.
// M2  A step is what runs from one suspension to the next; which one comes next is free. A cancellation acts where its step says.
// M3  An outcome is what each coroutine got, in its own order (Journal::text).
// M4  Behind the last step that can be made main closes every channel and every pool: all programs end.
// M5  Pool 0 has one place, pool 1 has two and a factory that suspends once: makers can be cancelled, and overtaken by a close.
// M6  Locks and permits stand in no other lock or permit: nobody waits for ever.
// Chance: none.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "heddle/properties/program/program_data.hpp"

namespace heddle::prop {

/// `program` with the main coroutine that the model has in mind: it starts the others in order, lets them run until none can, closes
/// what there is, and waits for all.
[[nodiscard]] ProgramData with_models_main(const ProgramData& program);

/// The outcomes that the others may have. Main, coroutine 0, is taken for that of with_models_main. Requires: steps of the alphabet
/// `model` alone. None if there are more states than `states_max`.
[[nodiscard]] std::optional<std::set<std::string>> possible_outcomes(const ProgramData& program, std::size_t states_max = 200'000);

}  // namespace heddle::prop
