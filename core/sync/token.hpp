// SPDX-License-Identifier: Apache-2.0
// Token: an event that ends a wait when it fires: a timeout, a coroutine, a one-shot event (AWC-01 to AWC-04).
#pragma once

#include "heddle/core/run/coroutine.hpp"
#include "heddle/core/run/one_shot.hpp"

namespace heddle {

class Timeout;

/// A borrow for the length of the call. Empty: nothing ends the wait early.
class Token {
public:
    Token() = default;
    Token(EventSource& event) : event_(&event) {}  // NOLINT: an event is a token
    Token(const Ref<OneShotEvent>& event) : event_(event.get()) {}  // NOLINT
    Token(const CoroutineHandle& coroutine) : event_(&coroutine.core()) {}  // NOLINT
    Token(const Timeout& timeout);  // NOLINT: defined with Timeout

    /// Null if there is none, or if it was disarmed for good and has no effect any more (AWT-10).
    [[nodiscard]] EventSource* event() const { return event_; }

private:
    EventSource* event_ = nullptr;
};

}  // namespace heddle
