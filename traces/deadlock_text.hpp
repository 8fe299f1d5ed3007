// SPDX-License-Identifier: Apache-2.0
// A deadlock in words: who waits for whom, the circle if there is one, and the steps that could have woken each of
// them.
#pragma once

#include <string>

#include "heddle/traces/trace.hpp"

namespace heddle::trace {

/// Read off the trace's events up to its first deadlock; empty if it has none. Ends with a newline. Cost: O(events).
[[nodiscard]] std::string deadlock_text(const Trace& trace);

}  // namespace heddle::trace
