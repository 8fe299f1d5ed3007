// SPDX-License-Identifier: Apache-2.0
// DoorEntry: one crossing of the Reactor door as a value: a call of core's with its answer, or a delivery.
//
//   core ── open, start, submit, tick … ──▶ reactor      call: what was asked, and what was answered at once
//   core ◀── deliver ───────────────────── reactor       one line each, between `tick` and `tick_end`
//
// DE1  Sources and handles are named by their number in the order in which the run opened them, from 1: the numbers of a
//      backend mean nothing to another one.
// DE2  Time counts from the reactor's start.
// Choice points: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/base/time.hpp"

namespace heddle::trace {

enum class DoorKind : std::uint8_t {
    startup,
    shutdown,
    refresh_clock,
    poll_due,      ///< value: 1 yes, 0 no; a no stands for `count` of them in a row
    tick,          ///< value: 1 if it may block
    tick_end,
    deliver,       ///< what: kind of source, or of operation
    open,          ///< what: kind of source; value: timeout in ns, descriptor, mask, signal or pid
    rearm,         ///< value: timeout in ns
    start,
    stop,
    close,
    cancel,        ///< value: what was answered
    open_handle,   ///< what: kind of handle
    close_handle,
    submit,        ///< what: kind of operation; value: what was transferred, if it was answered at once
    count_
};
[[nodiscard]] std::string_view to_string(DoorKind kind);

/// What else is said of a crossing. In the text the words in this order, with a blank between two.
enum DoorFlag : std::uint32_t {
    door_pending = 1,    ///< submit: the answer comes in a delivery
    door_threw = 2,      ///< the call ended with an exception
    door_cancelled = 4,  ///< deliver: ended by its canceller
    door_closed = 8,     ///< deliver: the close completion of a poll
    door_end = 16,       ///< the end of the stream
    door_more = 32,      ///< a watch goes on
    door_truncated = 64, ///< the datagram was longer than its buffer
    door_hidden = 128,   ///< open: never counted
};
inline constexpr std::string_view door_flag_words[] = {"pending", "threw", "cancelled", "closed", "end", "more", "truncated", "hidden"};

struct DoorEntry {
    Instant at{};  ///< what `now()` was then (after a call), since the start
    DoorKind kind = DoorKind::tick;
    std::string what{};
    std::uint64_t source = 0;  ///< the n-th source of the run; 0: none
    std::uint64_t handle = 0;  ///< the n-th handle of the run that it is about, or that an answer brings
    std::int64_t value = 0;
    std::int32_t error = 0;    ///< errno value
    std::uint32_t flags = 0;   ///< of DoorFlag
    std::uint32_t count = 0;   ///< of poll_due
    std::string peers{};       ///< of a connection: its own address, a blank, the other one's
    std::string bytes{};       ///< what came in, if it was kept

    friend bool operator==(const DoorEntry&, const DoorEntry&) = default;
};

/// "deliver read source 7 handle 3: 5 bytes, end", for people.
[[nodiscard]] std::string describe(const DoorEntry& entry);

}  // namespace heddle::trace
