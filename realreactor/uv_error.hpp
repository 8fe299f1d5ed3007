// SPDX-License-Identifier: Apache-2.0
// What libuv's status codes mean in the vocabulary of core: positive errno values, and the exceptions of RCT-51.
#pragma once

#include <string_view>

namespace heddle::real::detail {

/// @param status  a negative libuv status
/// @returns the positive errno value behind it; EIO for codes of libuv's own that no system call gives
[[nodiscard]] int errno_of(int status);

/// "what: message of the status"
[[noreturn]] void throw_async_error(std::string_view what, int status);
[[noreturn]] void throw_io_error(std::string_view what, int status);

}  // namespace heddle::real::detail
