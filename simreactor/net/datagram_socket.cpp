// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/net/datagram_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "heddle/simreactor/net/network.hpp"

namespace heddle::sim {
namespace {

bool is_internet(const Address& address) {
    return address.family == AddressFamily::ip4 || address.family == AddressFamily::ip6;
}

constexpr std::size_t overhead = 64;  // of one in the queue: empty ones take room, too

}  // namespace

int DatagramSocket::bind(const Address& address) {
    if (!is_internet(address)) { return -EAFNOSUPPORT; }
    if (is_bound_ || is_closed_) { return -EINVAL; }
    Address wanted = address;
    machine_.touch(address.port == 0 ? machine_.ports_cell() : machine_.port_cell(address.port),
                   address.port == 0 ? TouchMode::add : TouchMode::write);
    if (const int error = machine_.bind(Transport::datagram, wanted, *this); error != 0) { return error; }
    local_ = wanted;
    is_bound_ = true;
    name(Label{hash_mix(machine_.label().value, hash_text(local_.text(), 1))});
    return 0;
}

/// Who sends without a name is given one.
int DatagramSocket::bind_somewhere(const Address& to) {
    if (is_bound_) { return 0; }
    return bind(to.family == AddressFamily::ip6 ? Address::ip("::", 0) : Address::ip("0.0.0.0", 0));
}

int DatagramSocket::connect(const Address& to) {
    if (!is_internet(to)) { return -EAFNOSUPPORT; }
    if (const int error = bind_somewhere(to); error != 0) { return error; }
    peer_ = to;
    is_connected_ = true;
    return 0;
}

std::int64_t DatagramSocket::send(std::span<const std::byte> data, const Address* to) {
    if (is_closed_) { return -EBADF; }
    if (to == nullptr && !is_connected_) { return -EDESTADDRREQ; }
    const Address target = to != nullptr ? *to : peer_;
    if (!is_internet(target)) { return -EAFNOSUPPORT; }
    if (data.size() > size_max) { return -EMSGSIZE; }
    if (const int error = std::exchange(error_, 0); error != 0) { return -error; }
    if (const int error = bind_somewhere(target); error != 0) { return error; }
    Network& network = machine_.network();
    Machine* const there = network.find(machine_, target);
    if (there == nullptr) { return -ENETUNREACH; }
    Datagram datagram{machine_.source_address(target), {data.begin(), data.end()}};
    datagram.from.port = local_.port;
    const auto size = static_cast<std::int64_t>(data.size());
    int copies = 1;
    Duration late = Duration::zero();
    switch (machine_.fault({FaultKind::datagram_lost, FaultKind::datagram_doubled, FaultKind::datagram_late}, label())) {
        case FaultKind::datagram_lost: return size;  // the sender does not know
        case FaultKind::datagram_doubled: copies = 2; break;
        case FaultKind::datagram_late: late = network.options().late_by; break;
        default: break;
    }
    if (KernelObject* const bound = there->bound(Transport::datagram, target)) {
        machine_.touch(static_cast<DatagramSocket*>(bound)->queue_cell(), TouchMode::write);
    }
    for (; copies > 0; --copies) {
        network.send(
            machine_, *there, Network::IfLost::never,
            [there, target, datagram, &from = machine_] { arrive(*there, target, datagram, from); }, nullptr, late);
    }
    return size;
}

void DatagramSocket::arrive(Machine& at, const Address& to, Datagram datagram, Machine& sender) {
    auto* const socket = static_cast<DatagramSocket*>(at.bound(Transport::datagram, to));
    if (socket == nullptr) {
        // The way back of "there is nobody": told to the socket that sent it, if it is connected.
        auto* const source = static_cast<DatagramSocket*>(sender.bound(Transport::datagram, datagram.from));
        if (source != nullptr && source->is_connected_ && !at.network().is_cut(at, sender)) {
            source->error_ = ECONNREFUSED;
            source->changed();
        }
        return;
    }
    if (socket->is_connected_ && socket->peer_ != datagram.from) { return; }
    const std::size_t takes = datagram.bytes.size() + overhead;
    if (socket->queued_bytes_ + takes > at.network().options().datagram_buffer) { return; }  // DG2
    socket->queued_bytes_ += takes;
    socket->queue_.push_back(std::move(datagram));
    socket->changed();
}

std::int64_t DatagramSocket::receive(std::span<std::byte> buffer, Received& what) {
    machine_.touch(queue_cell(), TouchMode::write);
    if (queue_.empty()) {
        const int error = std::exchange(error_, 0);
        return error != 0 ? -error : -EAGAIN;
    }
    const Datagram datagram = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= datagram.bytes.size() + overhead;
    const std::size_t some = std::min(buffer.size(), datagram.bytes.size());
    if (some > 0) { std::memcpy(buffer.data(), datagram.bytes.data(), some); }
    what = {datagram.from, datagram.bytes.size()};
    return static_cast<std::int64_t>(some);
}

void DatagramSocket::close() {
    if (std::exchange(is_closed_, true) || !std::exchange(is_bound_, false)) { return; }
    machine_.touch(machine_.port_cell(local_.port), TouchMode::write);
    machine_.unbind(Transport::datagram, local_, *this);
    queue_.clear();
}

ReadyMask DatagramSocket::readiness() const {
    if (is_closed_) { return 0; }
    return ready_write | (queue_.empty() && error_ == 0 ? 0 : ReadyMask{ready_read});
}

}  // namespace heddle::sim
