// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_error.hpp"

#include <uv.h>

#include <cerrno>
#include <string>

#include "heddle/core/base/assert.hpp"
#include "heddle/core/base/error.hpp"

namespace heddle::real::detail {
namespace {

std::string message_of(std::string_view what, int status) {
    char buffer[128];
    return std::string(what) + ": " + uv_strerror_r(status, buffer, sizeof buffer);
}

}  // namespace

int errno_of(int status) {
    HEDDLE_ASSERT(status < 0, "a status that says failure");
    // On Unix libuv's codes are negated errno values; those that no errno stands for lie below -3000.
    return status > -3000 ? -status : EIO;
}

void throw_async_error(std::string_view what, int status) { throw AsyncError(message_of(what, status)); }
void throw_io_error(std::string_view what, int status) { throw IoError(message_of(what, status), errno_of(status)); }

}  // namespace heddle::real::detail
