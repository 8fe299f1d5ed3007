// SPDX-License-Identifier: Apache-2.0
// Generators: programs and schedules for RapidCheck, with the shrinking that keeps a counterexample readable.
//
//   seed ──▶ ProgramData, Schedule ──fails──▶ drop a coroutine · drop a step · unwrap a block · smaller numbers ──▶ … the smallest
//
// G1  A generated program is valid (PD1 to PD3): what is shrunk stays so.
// G2  Equal seeds give equal programs: chance enters with RapidCheck's generator alone.
#pragma once

#include <rapidcheck.h>

#include <cstdlib>
#include <ostream>
#include <sstream>
#include <string>

#include "heddle/properties/program/judged_run.hpp"
#include "heddle/properties/program/program_data.hpp"

namespace heddle::prop {

/// Of which steps a program is made.
enum class Alphabet : std::uint8_t {
    core,        ///< what the runtime's core does
    primitives,  ///< that, and mutexes, semaphores, conditions, channels, futures, pools and groups
    model,       ///< what the reference model knows (properties/model): channels, pools 0 and 1, mutexes, permits, cancellations
    model_pools, ///< of that, what is about pools alone, most of it about the one of two places
    model_locks, ///< of that, what is about mutexes and permits alone
};

struct ProgramLimits {
    std::size_t coroutines = 5;
    std::size_t steps = 24;   ///< all together, about
    std::size_t depth = 3;
    Alphabet alphabet = Alphabet::core;
};

[[nodiscard]] rc::Gen<ProgramData> arbitrary_program(const ProgramLimits& limits = {});
[[nodiscard]] rc::Gen<Schedule> arbitrary_schedule(std::size_t length_max = 64);

/// Programs that are one step smaller, the boldest first.
[[nodiscard]] std::vector<ProgramData> smaller(const ProgramData& program);

inline void showValue(const ProgramData& program, std::ostream& out) { out << to_text(program); }  // NOLINT: RapidCheck's name

/// Checks a property for `runs` generated cases. The seed is fixed, so that a test is the same everywhere; HEDDLE_SEED sets another.
/// @returns empty if it holds, else what RapidCheck says, with the failure's own message last
template <class F>
[[nodiscard]] std::string check_generated(const char* name, int runs, F&& property) {
    rc::detail::TestParams params;
    const char* seed = std::getenv("HEDDLE_SEED");
    params.seed = seed != nullptr ? std::strtoull(seed, nullptr, 10) : 20'240'607;
    params.maxSuccess = runs;
    rc::detail::TestMetadata metadata;
    metadata.id = metadata.description = name;
    const rc::detail::TestResult result = rc::detail::checkTestable(std::forward<F>(property), metadata, params);
    if (result.template is<rc::detail::SuccessResult>()) { return {}; }
    std::ostringstream text;
    text << "seed " << params.seed << "\n";
    rc::detail::printResultMessage(result, text);  // ends with the failure's own message
    return text.str();
}

}  // namespace heddle::prop
