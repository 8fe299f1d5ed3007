// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/udp.hpp"

#include "heddle/core/io/detail/request.hpp"

namespace heddle {

UdpSocket UdpSocket::bind(const Address& address, SourceLocation at) {
    UdpSocket socket(HandleKind::udp, -1, "UdpSocket::bind");
    Operation operation{.kind = OperationKind::bind, .address = &address};
    socket.perform(operation, {}, at);
    return socket;
}

UdpSocket UdpSocket::connect(const Address& address, SourceLocation at) {
    UdpSocket socket(HandleKind::udp, -1, "UdpSocket::connect");
    Operation operation{.kind = OperationKind::udp_connect, .address = &address};
    socket.perform(operation, {}, at);
    return socket;
}

UdpSocket UdpSocket::adopt(int descriptor) { return {HandleKind::udp, adopted(descriptor), "UdpSocket::adopt"}; }

Datagram UdpSocket::receive(std::span<std::byte> buffer, const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::udp_receive, .buffer = buffer};
    detail::Performed performed = perform(operation, options, at);
    Datagram datagram{.size = static_cast<std::size_t>(performed.completion.transferred),
                      .truncated = performed.completion.truncated};
    if (performed.answer != nullptr && !performed.answer->addresses.empty()) {
        datagram.from = std::move(performed.answer->addresses.front());
    }
    return datagram;
}

void UdpSocket::send(std::span<const std::byte> data, const Address& to, const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::udp_send, .data = data, .address = &to};
    perform(operation, options, at);
}

void UdpSocket::send(std::span<const std::byte> data, const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::udp_send, .data = data};
    perform(operation, options, at);
}

void UdpSocket::allow_broadcast(bool allowed, SourceLocation at) {
    Operation operation{.kind = OperationKind::configure, .option = HandleOption::broadcast, .amount = allowed ? 1 : 0};
    perform(operation, {}, at);
}

}  // namespace heddle
