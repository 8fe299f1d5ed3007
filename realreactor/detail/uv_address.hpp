// SPDX-License-Identifier: Apache-2.0
// Address as the operating system has it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include "heddle/core/seam/address.hpp"

namespace heddle::real::detail {

/// @returns 0, or the size; 0 for an address that is no internet one
socklen_t to_system(const Address& address, sockaddr_storage& system);
[[nodiscard]] Address from_system(const sockaddr* system, socklen_t size);

}  // namespace heddle::real::detail
