// SPDX-License-Identifier: Apache-2.0
// What a person is told about a failure, so that it can be understood from the text alone.
//
//   VIOLATED CHECK: expected in_use == 0              what, and where
//     where    step 14 in main, lease.cpp:21, at 5ms
//     assumes  faithful: production can do this today
//   … timeline, one column per coroutine …            how
//   What makes it happen: 1. … 2. …                   why
//   simrun --seed 1 --replay found.trace.json         again
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/traces/trace.hpp"

namespace heddle::trace {

/// A violation, from its headline to the reasons; ends with a newline. Bytes depend on the arguments alone.
/// @param found  one line about the way to it ("schedule 7 of the search; …"); empty: not said
[[nodiscard]] std::string failure_text(const Trace& trace, std::string_view found, std::size_t width);

/// One deviation in words: "main/b runs next, although another coroutine stands before it in the queue".
/// @param again  an earlier decision was about the same point
[[nodiscard]] std::string in_words(const Decision& decision, bool again);

/// "1 deviation", "3 deviations".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view noun);
/// "1 crash", "3 crashes".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one, std::string_view many);

}  // namespace heddle::trace
