// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/program/program_data.hpp"

namespace heddle::prop {
namespace {

using Words = std::string_view;

constexpr std::uint32_t ms_max = ProgramData::ms_max;
constexpr Field coroutine{"coroutine", ProgramData::coroutines_max - 1};
constexpr Field event{"event", ProgramData::events - 1};
constexpr Field slot{"slot", ProgramData::slots - 1};
constexpr Field timeout{"ms", ms_max};

constexpr std::array<Words, 2> priorities{"normal", "high"};
constexpr std::array<Words, 2> safeties{"not_safe", "safe"};
constexpr std::array<Words, 2> parents{"root", "child"};
constexpr std::array<Words, 3> handlers{"bare", "handled", "rethrown"};
constexpr std::array<Words, 5> ends{"release", "cancel", "dispose", "dispose_safely", "dispose_after"};
constexpr std::array<Words, 3> waits{"go_on", "completion", "end"};
constexpr std::array<Words, 4> requests{"cancel", "dispose", "dispose_safely", "dispose_after"};

constexpr std::array<Field, 1> of_sleep{timeout};
constexpr std::array<Field, 2> of_spawn{coroutine, Field{"priority", 1, priorities}};
constexpr std::array<Field, 1> of_coroutine{coroutine};
constexpr std::array<Field, 2> of_await{coroutine, timeout};
constexpr std::array<Field, 3> of_both{coroutine, coroutine, timeout};
constexpr std::array<Field, 1> of_event{event};
constexpr std::array<Field, 2> of_wait{event, timeout};
constexpr std::array<Field, 1> of_fail{Field{"error", 9}};
constexpr std::array<Field, 7> of_scope{slot,
                                        Field{"safety", 1, safeties},
                                        Field{"parent", 1, parents},
                                        Field{"handler", 2, handlers},
                                        Field{"end", 4, ends},
                                        timeout,
                                        Field{"wait", 2, waits}};
constexpr std::array<Field, 3> of_request{slot, Field{"request", 3, requests}, timeout};

constexpr std::array<Signature, static_cast<std::size_t>(Do::count_)> signatures{
    Signature{"yield", {}, 0, true},
    Signature{"sleep", of_sleep, 0, true},
    Signature{"spawn", of_spawn, 0, false},
    Signature{"go", of_coroutine, 0, false},
    Signature{"await", of_await, 0, true},
    Signature{"both", of_both, 0, true},
    Signature{"cancel", of_coroutine, 0, false},
    Signature{"set", of_event, 0, false},
    Signature{"wait", of_wait, 0, true},
    Signature{"protect", {}, 1, true},
    Signature{"cleanup", {}, 2, true},
    Signature{"try", {}, 2, true},
    Signature{"throw", of_fail, 0, false},
    Signature{"scope", of_scope, 1, true},
    Signature{"request", of_request, 0, false},
    Signature{"finally", {}, 1, true},
    Signature{"microtask", {}, 1, false},
    Signature{"anywhere", {}, 1, true},
    Signature{"either", {}, 2, true},
    Signature{"shutdown", {}, 0, false},
};

std::size_t count(const Block& block) {
    std::size_t steps = block.size();
    for (const Step& step : block) {
        for (const Block& inner : step.blocks) { steps += count(inner); }
    }
    return steps;
}

}  // namespace

const Signature& signature(Do what) { return signatures[static_cast<std::size_t>(what)]; }

std::size_t step_count(const ProgramData& program) {
    std::size_t steps = 0;
    for (const Block& coroutine_steps : program.coroutines) { steps += count(coroutine_steps); }
    return steps;
}

}  // namespace heddle::prop
