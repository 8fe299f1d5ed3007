// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/door.hpp"

#include <iterator>

namespace heddle::trace {

std::string_view to_string(DoorKind kind) {
    switch (kind) {
        case DoorKind::startup: return "startup";
        case DoorKind::shutdown: return "shutdown";
        case DoorKind::refresh_clock: return "refresh_clock";
        case DoorKind::poll_due: return "poll_due";
        case DoorKind::tick: return "tick";
        case DoorKind::tick_end: return "tick_end";
        case DoorKind::deliver: return "deliver";
        case DoorKind::open: return "open";
        case DoorKind::rearm: return "rearm";
        case DoorKind::start: return "start";
        case DoorKind::stop: return "stop";
        case DoorKind::close: return "close";
        case DoorKind::cancel: return "cancel";
        case DoorKind::open_handle: return "open_handle";
        case DoorKind::close_handle: return "close_handle";
        case DoorKind::submit: return "submit";
        case DoorKind::count_: break;
    }
    return "?";
}

std::string describe(const DoorEntry& entry) {
    std::string text(to_string(entry.kind));
    if (!entry.what.empty()) { text += " " + entry.what; }
    if (entry.source != 0) { text += " of source " + std::to_string(entry.source); }
    if (entry.handle != 0) { text += " on handle " + std::to_string(entry.handle); }
    if (entry.value != 0) { text += ", value " + std::to_string(entry.value); }
    if (entry.error != 0) { text += ", error " + std::to_string(entry.error); }
    if (entry.count != 0) { text += ", " + std::to_string(entry.count) + " times"; }
    for (std::size_t bit = 0; bit < std::size(door_flag_words); ++bit) {
        if ((entry.flags >> bit & 1U) != 0) { text += ", " + std::string(door_flag_words[bit]); }
    }
    return text;
}

}  // namespace heddle::trace
