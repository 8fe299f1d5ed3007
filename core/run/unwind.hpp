// SPDX-License-Identifier: Apache-2.0
// The private token of terminal unwinding (SCH-72): thrown into what is left at the end of a run, so that the destructors on its stack
// run. Uncatchable by type outside core; code that swallows it by a catch-all gets it again at each suspension.
#pragma once

#include <cstdint>

namespace heddle {

class UnwindToken {
public:
    /// Throws into one coroutine, after which the process is terminated or the world frozen (SCH-72).
    static constexpr std::uint32_t throws_max = 1000;
};

}  // namespace heddle
