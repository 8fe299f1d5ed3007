// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/detail/uv_address.hpp"

#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace heddle::real::detail {

socklen_t to_system(const Address& address, sockaddr_storage& system) {
    system = {};
    if (address.family == AddressFamily::ip4) {
        sockaddr_in ip4{};
        ip4.sin_family = AF_INET;
        ip4.sin_port = htons(address.port);
        std::memcpy(&ip4.sin_addr, address.bytes.data(), 4);
        std::memcpy(&system, &ip4, sizeof ip4);
        return sizeof ip4;
    }
    if (address.family == AddressFamily::ip6) {
        sockaddr_in6 ip6{};
        ip6.sin6_family = AF_INET6;
        ip6.sin6_port = htons(address.port);
        ip6.sin6_scope_id = address.scope;
        std::memcpy(&ip6.sin6_addr, address.bytes.data(), 16);
        std::memcpy(&system, &ip6, sizeof ip6);
        return sizeof ip6;
    }
    return 0;
}

Address from_system(const sockaddr* system, socklen_t size) {
    Address address;
    if (system == nullptr || size < sizeof(sa_family_t)) { return address; }
    if (system->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
        sockaddr_in ip4{};
        std::memcpy(&ip4, system, sizeof ip4);
        address.family = AddressFamily::ip4;
        address.port = ntohs(ip4.sin_port);
        std::memcpy(address.bytes.data(), &ip4.sin_addr, 4);
    } else if (system->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
        sockaddr_in6 ip6{};
        std::memcpy(&ip6, system, sizeof ip6);
        address.family = AddressFamily::ip6;
        address.port = ntohs(ip6.sin6_port);
        address.scope = ip6.sin6_scope_id;
        std::memcpy(address.bytes.data(), &ip6.sin6_addr, 16);
    } else if (system->sa_family == AF_UNIX) {
        address.family = AddressFamily::local;
        const auto* const text = reinterpret_cast<const char*>(system) + offsetof(sockaddr_un, sun_path);
        const std::size_t room = size > offsetof(sockaddr_un, sun_path) ? size - offsetof(sockaddr_un, sun_path) : 0;
        address.path.assign(text, std::find(text, text + room, '\0'));
    }
    return address;
}

}  // namespace heddle::real::detail
