// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/tcp.hpp"

#include <utility>

#include "heddle/core/io/detail/request.hpp"
#include "heddle/core/io/dns.hpp"

namespace heddle {

TcpStream TcpStream::connect(const Address& address, const IoOptions& options, SourceLocation at) {
    TcpStream stream(HandleKind::tcp, -1, "TcpStream::connect");
    Operation operation{.kind = OperationKind::connect, .address = &address};
    stream.perform(operation, options, at);
    return stream;
}

TcpStream TcpStream::connect(std::string_view host, std::uint16_t port, const IoOptions& options, SourceLocation at) {
    std::vector<Address> addresses = resolve_name(host, {}, options, at);
    for (std::size_t index = 0;; ++index) {
        addresses[index].port = port;
        try {
            return connect(addresses[index], options, at);
        } catch (const OperationError&) {
            if (index + 1 == addresses.size()) { throw; }
        } catch (const TimeoutError&) {
            if (index + 1 == addresses.size()) { throw; }
        }
    }
}

TcpStream TcpStream::adopt(int descriptor) { return {HandleKind::tcp, adopted(descriptor), "TcpStream::adopt"}; }

void TcpStream::configure(const TcpOptions& options, SourceLocation at) {
    Operation operation{
        .kind = OperationKind::configure, .option = HandleOption::no_delay, .amount = options.no_delay ? 1 : 0};
    perform(operation, {}, at);
    operation.option = HandleOption::keep_alive;
    operation.amount = std::chrono::duration_cast<std::chrono::seconds>(options.keep_alive).count();
    perform(operation, {}, at);
}

TcpListener TcpListener::bind(const Address& address, int backlog, SourceLocation at) {
    TcpListener listener(HandleKind::tcp, -1, "TcpListener::bind");
    Operation operation{.kind = OperationKind::bind, .address = &address};
    listener.perform(operation, {}, at);
    listener.listen(backlog, at);
    return listener;
}

TcpListener TcpListener::adopt(int descriptor, int backlog, SourceLocation at) {
    TcpListener listener(HandleKind::tcp, adopted(descriptor), "TcpListener::adopt");
    listener.listen(backlog, at);
    return listener;
}

void TcpListener::listen(int backlog, SourceLocation at) {
    Operation operation{.kind = OperationKind::listen, .amount = backlog};
    perform(operation, {}, at);
}

TcpStream TcpListener::accept(const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::accept};
    return {scheduler(), HandleKind::tcp, perform(operation, options, at).completion.handle};
}

}  // namespace heddle
