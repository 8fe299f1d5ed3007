// SPDX-License-Identifier: Apache-2.0
// Names of the values that cross the doors. They are written into traces: renaming one is a change of the trace format.
#include <array>
#include <cerrno>

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
constexpr std::array<std::string_view, static_cast<std::size_t>(OperationKind::count_)> operation_names{
    "none", "task", "read", "write", "shutdown", "close", "connect", "bind", "listen", "accept", "udp_send", "udp_receive",
    "udp_connect", "open", "seek", "stat", "flush", "truncate", "configure", "resolve_name", "resolve_address", "execute", "kill", "watch"};
constexpr std::array<std::string_view, 6> handle_names{"none", "tcp", "pipe", "tty", "udp", "file"};

}  // namespace

std::string_view to_string(ChoiceKind kind) { return name_of(choice_names, static_cast<std::size_t>(kind)); }
std::string_view to_string(EventKind kind) { return name_of(event_names, static_cast<std::size_t>(kind)); }
std::string_view to_string(TouchMode mode) { return name_of(touch_names, static_cast<std::size_t>(mode)); }
std::string_view to_string(SourceKind kind) { return name_of(source_names, static_cast<std::size_t>(kind)); }

std::string_view to_string(OperationKind kind) { return name_of(operation_names, static_cast<std::size_t>(kind)); }
std::string_view to_string(HandleKind kind) { return name_of(handle_names, static_cast<std::size_t>(kind)); }

namespace {

[[noreturn]] void not_supported(std::string_view what) {
    throw AsyncError("operation '" + std::string(what) + "' is not supported by this reactor");
}

}  // namespace

HandleId Reactor::open_handle(const HandleOptions& options) { not_supported(to_string(options.kind)); }
void Reactor::close_handle(HandleId) {}
int Reactor::descriptor(HandleId) const { return -1; }
HandleInfo Reactor::inspect(HandleId) { not_supported("inspect"); }
std::int64_t Reactor::try_write(HandleId, std::span<const std::byte>) { return -EAGAIN; }
std::int64_t Reactor::try_read(HandleId, std::span<std::byte>) { return -EAGAIN; }
SourceId Reactor::wait_readable(HandleId, SourceOwner&) { not_supported("wait_readable"); }
Submission Reactor::submit(const Operation& operation, const SourceOptions&) { not_supported(to_string(operation.kind)); }

}  // namespace heddle
