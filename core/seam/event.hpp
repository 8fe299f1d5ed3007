// SPDX-License-Identifier: Apache-2.0
// Event: one thing that happened in a world, as Observers see it. Values only: everything is named by label or id.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/base/label.hpp"
#include "heddle/core/base/time.hpp"

namespace heddle {

enum class EventKind : std::uint8_t {
    // steps
    step_begin,  ///< a coroutine, delivery or microtask gains control; who = its label
    step_end,    ///< it gave control away; every S invariant holds here
    quiescent,   ///< ready and microtask queues empty, no undelivered callback
    // coroutines
    spawned,     ///< who = new coroutine, what = its scope, a = id
    started,     ///< first dispatch
    parked,      ///< who waits; what = suspension point; a = number of subscriptions
    woken,       ///< pushed to the ready queue by a wake; what = event; a = 1 if it carries an error
    resumed,     ///< control is back from a suspension
    yielded,     ///< queued itself
    fast_return, ///< a suspension ended without a switch
    doomed,      ///< will be finalized instead of run
    finished,    ///< a = 0 value, 1 error, 2 cancellation
    finalized,   ///< all of F1..F12 are done
    switched,    ///< what = the one that gains the stack
    // cancellation
    cancel_requested,  ///< who = target, a = CancelKind, b = 1 if accepted
    cancel_delivered,  ///< thrown into who
    cancel_deferred,   ///< held back by protect
    protect_entered,
    protect_left,
    became_zombie,     ///< who; what = scope; a = 1 if born one
    // scopes
    scope_opened,
    scope_requested,   ///< what = scope; a = CancelKind
    scope_closed,
    scope_terminated,
    scope_woken,       ///< who = waiter; what = scope; a = 0 normally, 1 error, 2 cancellation; b = 1 in await_after_cancellation
    // events and reactor
    event_started,     ///< what = event; a = loop_refs
    event_stopped,     ///< what = event; a = loop_refs
    notified,          ///< what = event; a = callbacks of the pass
    delivered,         ///< what = source; a = value; b = error
    tick_begin,        ///< a = 1 if it may block
    tick_end,
    clock,             ///< virtual or loop time moved; a = ns
    // runtime
    microtask_added,
    microtask_run,
    microtask_skipped,
    microtask_dropped, ///< never executed (counted in the report)
    heartbeat,
    handler_enter,     ///< switch handler calls: who = coroutine, a = handler index
    handler_leave,
    handler_finish,
    finally_run,       ///< who = owner of the handler, a = index
    context_created,
    context_pooled,
    context_reused,
    context_destroyed,
    unhandled,         ///< an error became pending (SCH-65)
    shutdown_begun,
    second_phase,
    deadlock,          ///< a = number of waiting coroutines
    unwound,           ///< terminal unwinding of who
    epilogue_entered,
    epilogue_left,
    epilogue_expired,  ///< a = 1 first, 2 second expiry
    run_ended,
    seen,              ///< a rare branch was reached: note names it
    user,              ///< a program's own mark: note
    violated,          ///< note = invariant
    // primitives (docs/spec/00-conventions.md); what = the object, note = the side: "lock", "receive", "send" …
    wait_begun,    ///< who joined a queue
    granted,       ///< who, a waiter, was promised something
    grant_spent,   ///< who used what it was promised
    handed_on,     ///< who gave up what it was promised
    wait_left,     ///< who left a queue with nothing
    value_in,      ///< a value entered; a = its number
    value_out,     ///< a value left for a receiver; a = its number
    object_closed, ///< a = reason
    reported,      ///< something went to the error sink (CV-10); note says what
    count_,
};

[[nodiscard]] std::string_view to_string(EventKind kind);

struct Event {
    EventKind kind = EventKind::user;
    Instant at;
    Label who;
    Label what;
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::string_view note{};  ///< valid during the call only
};

}  // namespace heddle
