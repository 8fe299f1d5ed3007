// SPDX-License-Identifier: Apache-2.0
// UdpSocket: datagrams (RCT-50). What is sent may be lost, doubled or overtaken.
#pragma once

#include <string_view>

#include "heddle/core/io/io_handle.hpp"

namespace heddle {

struct Datagram {
    std::size_t size = 0;  ///< 0 is a datagram, too
    Address from{};
    bool truncated = false;  ///< it was longer than the buffer
};

class UdpSocket final : public IoHandle {
public:
    UdpSocket() = default;
    /// @param address  where it receives; port 0: one that is free, see info()
    static UdpSocket bind(const Address& address, SourceLocation at = SourceLocation::current());
    /// A socket whose datagrams go to, and come from, one address only.
    static UdpSocket connect(const Address& address, SourceLocation at = SourceLocation::current());
    static UdpSocket adopt(int descriptor);

    /// Any number of coroutines may receive; each datagram goes to the one that has waited longest.
    [[nodiscard]] Datagram receive(std::span<std::byte> buffer, const IoOptions& options = {},
                                   SourceLocation at = SourceLocation::current());
    void send(std::span<const std::byte> data, const Address& to, const IoOptions& options = {},
              SourceLocation at = SourceLocation::current());
    void send(std::string_view text, const Address& to, const IoOptions& options = {},
              SourceLocation at = SourceLocation::current()) {
        send(std::as_bytes(std::span(text)), to, options, at);
    }
    /// To the address that it is connected to.
    void send(std::span<const std::byte> data, const IoOptions& options = {},
              SourceLocation at = SourceLocation::current());
    void allow_broadcast(bool allowed, SourceLocation at = SourceLocation::current());

private:
    using IoHandle::IoHandle;
};

}  // namespace heddle
