// SPDX-License-Identifier: Apache-2.0
// TCP: connections and listeners.
//
//   auto listener = heddle::TcpListener::bind(heddle::Address::ip("127.0.0.1", 0));
//   for (;;) {
//       heddle::spawn([stream = listener.accept()]() mutable { … stream.read(…) … stream.write(…) … });
//   }
#pragma once

#include "heddle/core/io/stream.hpp"

namespace heddle {

struct TcpOptions {
    bool no_delay = false;  ///< small writes are sent at once
    Duration keep_alive{};  ///< silence after which the peer is asked, in whole seconds; zero: never
};

class TcpStream final : public Stream {
public:
    TcpStream() = default;
    /// Throws OperationError: refused, unreachable, no such address here …
    static TcpStream connect(const Address& address, const IoOptions& options = {},
                             SourceLocation at = SourceLocation::current());
    /// The name's addresses one after the other, until one is connected to. The timeout is for each of them. Throws
    /// NameError as resolve_name does, else the last one's error.
    static TcpStream connect(std::string_view host, std::uint16_t port, const IoOptions& options = {},
                             SourceLocation at = SourceLocation::current());
    /// Takes over a descriptor. Throws IoError, and the descriptor stays the caller's.
    static TcpStream adopt(int descriptor);

    void configure(const TcpOptions& options, SourceLocation at = SourceLocation::current());

private:
    friend class TcpListener;
    using Stream::Stream;
};

class TcpListener final : public IoHandle {
public:
    TcpListener() = default;
    /// @param address  port 0: one that is free, see info()
    /// @param backlog  connections that may wait to be accepted, 1 to 65,535
    static TcpListener bind(const Address& address, int backlog = 511, SourceLocation at = SourceLocation::current());
    static TcpListener adopt(int descriptor, int backlog = 511, SourceLocation at = SourceLocation::current());

    [[nodiscard]] TcpStream accept(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());

private:
    using IoHandle::IoHandle;
    void listen(int backlog, SourceLocation at);
};

}  // namespace heddle
