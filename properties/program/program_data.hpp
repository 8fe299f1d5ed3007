// SPDX-License-Identifier: Apache-2.0
// ProgramData: a small concurrent program as a value: what is generated, shrunk, written into a trace and run again.
//
//   coroutine 0 is main                 [[["spawn",1],["sleep",5],["await",1,0]],      text: one line of JSON
//   each coroutine: a list of steps      [["protect",[["yield"]]],["throw",1]]]
//   a step: what, numbers or words, blocks of further steps
//
// PD1  A coroutine spawns only those of a higher number, and a run at most `spawns_max` of them: every program ends, or deadlocks.
// PD2  Canonical: equal programs have equal text, and from_text(to_text(p)) == p for every valid p.
// PD3  Any text is either a valid program or one line that says what is wrong, and where; bounds hold before anything is built.
// Choice points: those of what it does, and `either`.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/base/result.hpp"

namespace heddle::prop {

enum class Do : std::uint8_t {
    yield,
    sleep,      ///< ms
    spawn,      ///< coroutine, priority; the handle is kept
    go,         ///< coroutine; nobody keeps a handle
    await,      ///< the last one spawned of a coroutine, timeout in ms (0: none)
    both,       ///< two coroutines, timeout: await_all
    cancel,     ///< the last one spawned of a coroutine
    set,        ///< an event
    wait,       ///< for an event, timeout
    protect,    ///< block
    cleanup,    ///< block that runs in a destructor behind the second block, however that ends
    attempt,    ///< block; the second block runs inside the handler of whatever the first one throws, and the program goes on
    fail,       ///< throws an error with a number
    scope,      ///< slot, safe, parent, handler, how it ends, ms, how it is waited for; block
    request,    ///< what a scope is asked, slot
    finally,    ///< block, after the coroutine that runs this
    microtask,  ///< block of what does not suspend
    anywhere,   ///< the same, posted: it arrives at every point where it could
    either,     ///< one of two blocks, a choice of the search
    shutdown,

    // the primitives of objects.hpp
    lock,           ///< mutex; block
    permit,         ///< 1 + more permits; block
    change,         ///< tells one, or all, who wait for news
    news,           ///< waits for a change, ms
    send,           ///< channel, ms
    receive,        ///< channel, ms
    try_send,       ///< channel
    try_receive,    ///< channel
    later,          ///< channel: a future of its next value, in place of an earlier one
    obtain,         ///< channel, ms: awaits that future
    close,          ///< channel
    settle,         ///< the future, and how
    future,         ///< awaits it, ms
    use,            ///< pool, ms, how the lease comes back; block
    try_use,        ///< pool, how; block
    close_pool,     ///< pool
    group,          ///< at once (0: no limit), two coroutines as its tasks; block, behind which it is waited for

    count_,
};

struct Step {
    static constexpr std::size_t numbers_max = 7;
    Do what = Do::yield;
    std::array<std::uint32_t, numbers_max> numbers{};
    std::vector<std::vector<Step>> blocks{};
    friend bool operator==(const Step&, const Step&) = default;
};

using Block = std::vector<Step>;

struct ProgramData {
    static constexpr std::size_t coroutines_max = 8;
    static constexpr std::size_t steps_max = 96;   ///< all blocks together
    static constexpr std::size_t depth_max = 6;    ///< of blocks in blocks
    static constexpr std::size_t text_max = 16'384;
    static constexpr std::uint32_t ms_max = 1000;
    static constexpr std::uint32_t events = 3;
    static constexpr std::uint32_t slots = 3;      ///< of scopes
    static constexpr std::uint32_t channels = 3;
    static constexpr std::uint32_t pools = 3;
    static constexpr std::uint32_t spawns_max = 48;

    std::vector<Block> coroutines{Block{}};
    friend bool operator==(const ProgramData&, const ProgramData&) = default;
};

/// One member of a step's text: a number up to `max`, or one of `words`.
struct Field {
    const char* name;
    std::uint32_t max = 0;
    std::span<const std::string_view> words{};
};

struct Signature {
    std::string_view name;
    std::span<const Field> fields;
    std::uint32_t blocks = 0;
    bool suspends = false;  ///< not allowed in microtasks and posts
};

[[nodiscard]] const Signature& signature(Do what);

/// Whether number `index` of such a step names a coroutine; whether it starts that one, which then stands behind its own (PD1).
[[nodiscard]] bool names_coroutine(Do what, std::size_t index);
[[nodiscard]] bool spawns_coroutine(Do what, std::size_t index);
/// Whether it has steps on the primitives of objects.hpp.
[[nodiscard]] bool uses_objects(const ProgramData& program);

[[nodiscard]] std::size_t step_count(const ProgramData& program);

/// Canonical text, one line.
[[nodiscard]] std::string to_text(const ProgramData& program);

/// @param where  what the error calls the text, as "program"
[[nodiscard]] Result<ProgramData> program_from_text(std::string_view text, std::string_view where);

}  // namespace heddle::prop
