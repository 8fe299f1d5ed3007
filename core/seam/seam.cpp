// SPDX-License-Identifier: Apache-2.0
// Names of the values that cross the doors. They are written into traces: renaming one is a change of the trace format.
#include <array>

#include "heddle/core/base/error.hpp"
#include "heddle/core/seam/chooser.hpp"
#include "heddle/core/seam/event.hpp"
#include "heddle/core/seam/footprint.hpp"
#include "heddle/core/seam/operation.hpp"
#include "heddle/core/seam/reactor.hpp"

namespace heddle {
namespace {

template <std::size_t count>
std::string_view name_of(const std::array<std::string_view, count>& names, std::size_t index) {
    return index < count ? names[index] : std::string_view("?");
}

constexpr std::array<std::string_view, static_cast<std::size_t>(ChoiceKind::count_)> choice_names{
    "dispatch", "poll",  "ready", "batch",    "timer",      "timer_io", "time",    "pool", "late",
    "merge",    "close", "spurious", "req_cancel", "fault", "arrival",  "value",   "node"};

constexpr std::array<std::string_view, static_cast<std::size_t>(EventKind::count_)> event_names{
    "step_begin", "step_end", "quiescent",
    "spawned", "started", "parked", "woken", "resumed", "yielded", "fast_return", "doomed", "finished", "finalized", "switched",
    "cancel_requested", "cancel_delivered", "cancel_deferred", "protect_entered", "protect_left", "became_zombie",
    "scope_opened", "scope_requested", "scope_closed", "scope_terminated", "scope_woken",
    "event_started", "event_stopped", "notified", "delivered", "tick_begin", "tick_end", "clock",
    "microtask_added", "microtask_run", "microtask_skipped", "microtask_dropped", "heartbeat",
    "handler_enter", "handler_leave", "handler_finish", "finally_run",
    "context_created", "context_pooled", "context_reused", "context_destroyed",
    "unhandled", "shutdown_begun", "second_phase", "deadlock", "unwound",
    "epilogue_entered", "epilogue_left", "epilogue_expired", "run_ended", "seen", "user", "violated",
    "wait_begun", "granted", "grant_spent", "handed_on", "wait_left", "value_in", "value_out", "object_closed", "reported"};

constexpr std::array<std::string_view, 7> touch_names{"R", "W", "C-add", "C-set", "C-max", "give", "take"};
constexpr std::array<std::string_view, 9> source_names{"none",   "timer",   "poll", "proxy",    "trigger",
                                                       "signal", "process", "task", "operation"};
constexpr std::array<std::string_view, 20> operation_names{
    "none", "task", "read", "readv", "write", "writev", "shutdown", "close", "connect", "accept", "listen", "bind", "udp_send",
    "udp_receive", "open", "seek", "stat", "flush", "sendfile", "resolve_name"};

}  // namespace

std::string_view to_string(ChoiceKind kind) { return name_of(choice_names, static_cast<std::size_t>(kind)); }
std::string_view to_string(EventKind kind) { return name_of(event_names, static_cast<std::size_t>(kind)); }
std::string_view to_string(TouchMode mode) { return name_of(touch_names, static_cast<std::size_t>(mode)); }
std::string_view to_string(SourceKind kind) { return name_of(source_names, static_cast<std::size_t>(kind)); }

std::string_view to_string(OperationKind kind) {
    switch (kind) {
        case OperationKind::resolve_address: return "resolve_address";
        case OperationKind::execute: return "execute";
        default: return name_of(operation_names, static_cast<std::size_t>(kind));
    }
}

SourceId Reactor::submit(const Operation& operation, const SourceOptions&) {
    throw AsyncError("operation '" + std::string(to_string(operation.kind)) + "' is not supported by this reactor");
}

}  // namespace heddle
