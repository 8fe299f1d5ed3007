// SPDX-License-Identifier: Apache-2.0
// sleep_for, sleep_until, and Timeout, the one-shot guard of a wait (AWT-9 to AWT-11, TMO-01 to TMO-05).
//
//   Timeout: idle ──first wait──▶ counting ──deadline──▶ fired: TimeoutError (as a token: OperationCanceled because of it)
//              └──cancel()──▶ disarmed for good
//
// T1  A sleep never ends early: its clock is refreshed when it begins (INV-RCT-12).
// T2  A timeout counts from the first wait for it; later waits do not extend it (TMO-02).
// T3  It keeps the loop alive only while something waits for it (TMO-03).
// Choice points: those of the reactor's timers.
#pragma once


#include "heddle/core/base/source_location.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/core/run/event_source.hpp"
#include "heddle/core/sync/token.hpp"

namespace heddle {

/// Parks the running coroutine for at least `duration`; zero yields once (AWT-9). Throws ValueError if negative, a cancellation, and
/// AsyncError outside a coroutine. Suspends: yes.
void sleep_for(Duration duration, SourceLocation at = SourceLocation::current());
/// Parks until loop time is at least `deadline`; a deadline in the past yields once.
void sleep_until(Instant deadline, SourceLocation at = SourceLocation::current());

class TimeoutEvent;

/// A value: copies share one timeout.
class Timeout {
public:
    /// @param duration  more than zero, else ValueError (TMO-01). Of the current runtime.
    explicit Timeout(Duration duration);
    Timeout(const Timeout& other);
    Timeout& operator=(const Timeout& other);
    ~Timeout();

    /// Disarms it for good; idempotent. As a token it has no effect any more; a coroutine that awaits the timeout itself is woken with
    /// AsyncCancellation (AWT-10).
    void cancel() const;
    [[nodiscard]] bool is_completed() const;
    [[nodiscard]] bool is_cancelled() const;
    /// Waits for it. Throws TimeoutError when it fires, AsyncCancellation when it is disarmed. Suspends: unless over.
    void await(SourceLocation at = SourceLocation::current()) const;
    [[nodiscard]] EventSource& event() const;

private:
    Ref<TimeoutEvent> event_;
};

}  // namespace heddle
