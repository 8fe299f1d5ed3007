// SPDX-License-Identifier: Apache-2.0
// Names and addresses, both ways (RCT-56).
#pragma once

#include <string>
#include <vector>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/io/io_error.hpp"
#include "heddle/core/io/io_options.hpp"

namespace heddle {

/// The stream addresses of a host, in the resolver's order, at least one. An address in text is its own answer.
/// @param service  a name or number for the ports, may be empty: port 0
/// Throws: NameError, TimeoutError, OperationCanceled, a cancellation. Suspends: yes.
[[nodiscard]] std::vector<Address> resolve_name(std::string_view host, std::string_view service = {},
                                                const IoOptions& options = {},
                                                SourceLocation at = SourceLocation::current());

struct HostAndService {
    std::string host;
    std::string service;
};
/// The name of an address; the address in text where it has none. Throws as resolve_name.
[[nodiscard]] HostAndService resolve_address(const Address& address, const IoOptions& options = {},
                                             SourceLocation at = SourceLocation::current());

}  // namespace heddle
