// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/program/program_data.hpp"

#include <algorithm>

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

constexpr Field channel{"channel", ProgramData::channels - 1};
constexpr Field pool{"pool", ProgramData::pools - 1};
constexpr std::array<Words, 2> told{"one", "all"};
constexpr std::array<Words, 3> settled{"value", "error", "cancel"};
constexpr std::array<Words, 3> returns{"release", "discard", "drop"};

constexpr std::array<Field, 1> of_lock{Field{"mutex", 1}};
constexpr std::array<Field, 1> of_permit{Field{"more", 1}};
constexpr std::array<Field, 1> of_change{Field{"told", 1, told}};
constexpr std::array<Field, 2> of_passage{channel, timeout};
constexpr std::array<Field, 1> of_channel{channel};
constexpr std::array<Field, 1> of_settle{Field{"settled", 2, settled}};
constexpr std::array<Field, 3> of_use{pool, timeout, Field{"return", 2, returns}};
constexpr std::array<Field, 2> of_try_use{pool, Field{"return", 2, returns}};
constexpr std::array<Field, 1> of_pool{pool};
constexpr std::array<Field, 3> of_group{Field{"at_once", 2}, coroutine, coroutine};

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
    Signature{"lock", of_lock, 1, true},
    Signature{"permit", of_permit, 1, true},
    Signature{"change", of_change, 0, false},
    Signature{"news", of_sleep, 0, true},
    Signature{"send", of_passage, 0, true},
    Signature{"receive", of_passage, 0, true},
    Signature{"try_send", of_channel, 0, false},
    Signature{"try_receive", of_channel, 0, false},
    Signature{"later", of_channel, 0, false},
    Signature{"obtain", of_passage, 0, true},
    Signature{"close", of_channel, 0, false},
    Signature{"settle", of_settle, 0, false},
    Signature{"future", of_sleep, 0, true},
    Signature{"use", of_use, 1, true},
    Signature{"try_use", of_try_use, 1, true},
    Signature{"close_pool", of_pool, 0, true},
    Signature{"group", of_group, 1, true},
};

std::size_t count(const Block& block) {
    std::size_t steps = block.size();
    for (const Step& step : block) {
        for (const Block& inner : step.blocks) { steps += count(inner); }
    }
    return steps;
}

bool uses_objects(const Block& block) {
    return std::ranges::any_of(block, [](const Step& step) {
        const bool on_object = step.what >= Do::lock && step.what < Do::group;
        return on_object || std::ranges::any_of(step.blocks, [](const Block& inner) { return uses_objects(inner); });
    });
}

}  // namespace

bool spawns_coroutine(Do what, std::size_t index) {
    return (index == 0 && (what == Do::spawn || what == Do::go)) || ((index == 1 || index == 2) && what == Do::group);
}

bool names_coroutine(Do what, std::size_t index) {
    const bool waits_or_cancels = (index == 0 && (what == Do::await || what == Do::cancel)) || (index < 2 && what == Do::both);
    return waits_or_cancels || spawns_coroutine(what, index);
}

bool uses_objects(const ProgramData& program) {
    return std::ranges::any_of(program.coroutines, [](const Block& block) { return uses_objects(block); });
}

const Signature& signature(Do what) { return signatures[static_cast<std::size_t>(what)]; }

std::size_t step_count(const ProgramData& program) {
    std::size_t steps = 0;
    for (const Block& coroutine_steps : program.coroutines) { steps += count(coroutine_steps); }
    return steps;
}

}  // namespace heddle::prop
