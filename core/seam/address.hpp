// SPDX-License-Identifier: Apache-2.0
// Address: where a socket is or goes to. A value, with its text forms.
//
//   "127.0.0.1:80"   "[::1]:80"   "[fe80::1%2]:80"   Address::local("/run/service")
//
// A1  parse(text()) gives the address again, for every internet address.
// A2  Nothing here asks the operating system or a resolver: names are the resolver's (OperationKind::resolve_name).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/core/base/result.hpp"

namespace heddle {

enum class AddressFamily : std::uint8_t { none, ip4, ip6, local };

struct Address {
    AddressFamily family = AddressFamily::none;
    std::uint16_t port = 0;
    std::uint32_t scope = 0;               ///< of a link-local ip6 address, else 0
    std::array<std::uint8_t, 16> bytes{};  ///< in network order; ip4 has the first four
    std::string path{};                    ///< local only

    /// @param host  an ip4 or ip6 address without brackets. Throws: ValueError if it does not parse.
    [[nodiscard]] static Address ip(std::string_view host, std::uint16_t port);
    /// A socket in the file system.
    [[nodiscard]] static Address local(std::string_view path);
    /// @param text  an ip4 or ip6 address and a port
    [[nodiscard]] static Result<Address> parse(std::string_view text);
    /// The same without a port.
    [[nodiscard]] static Result<Address> parse_host(std::string_view host);

    /// "host:port", "[host]:port", or the path.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string host() const;

    friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace heddle
