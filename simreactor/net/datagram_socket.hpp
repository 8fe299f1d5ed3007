// SPDX-License-Identifier: Apache-2.0
// DatagramSocket: UDP. Each datagram by itself: it may be lost, come twice, or come late.
//
//   send ──▶ link ──▶ who is bound there ──▶ queue, first in, first out ──▶ receive: one datagram each, with its source
//                          └── nobody: a connected sender hears ECONNREFUSED with its next call
//
// DG1  A datagram comes whole or not at all; what the receiver's buffer does not hold of it is cut off, and said so.
// DG2  What the queue has no room for is lost (datagram_buffer), as is what a cut link would have carried.
// How it differs from Linux: no fragments, no multicast; nothing is lost or overtaken unless a fault says so; a broadcast
// address is nobody's.
// Choice points: faults of send, by FaultKind datagram_….
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "heddle/core/seam/address.hpp"
#include "heddle/simreactor/net/kernel.hpp"
#include "heddle/simreactor/net/machine.hpp"

namespace heddle::sim {

class DatagramSocket final : public KernelObject {
public:
    explicit DatagramSocket(Machine& machine) : machine_(machine) {}
    ~DatagramSocket() override { close(); }

    static constexpr std::size_t size_max = 65'507;

    [[nodiscard]] Machine& machine() { return machine_; }
    [[nodiscard]] const Address& local() const { return local_; }
    [[nodiscard]] const Address& peer() const { return peer_; }

    /// @returns 0, -EAFNOSUPPORT, -EINVAL (bound already), -EADDRINUSE, -EADDRNOTAVAIL
    int bind(const Address& address);
    /// Sends go there, receives come from there only. @returns 0 or -EAFNOSUPPORT
    int connect(const Address& to);
    /// @param to  null: to whom it is connected @returns bytes, or -EDESTADDRREQ, -EMSGSIZE, -EAFNOSUPPORT, -ENETUNREACH,
    /// -EISCONN (an address, though it is connected), or the pending error
    std::int64_t send(std::span<const std::byte> data, const Address* to);
    struct Received {
        Address from;
        std::size_t size = 0;  ///< of the whole datagram
    };
    /// @returns bytes in the buffer, -EAGAIN, or the pending error
    std::int64_t receive(std::span<std::byte> buffer, Received& what);
    void close() override;
    [[nodiscard]] ReadyMask readiness() const override;

private:
    struct Datagram {
        Address from;
        std::vector<std::byte> bytes;
    };
    int bind_somewhere(const Address& to);
    static void arrive(Machine& at, const Address& to, Datagram datagram, Machine& sender);
    [[nodiscard]] Cell queue_cell() const { return cell(label(), "datagrams"); }

    Machine& machine_;
    Address local_;
    Address peer_;
    bool is_bound_ = false;
    bool is_connected_ = false;
    bool is_closed_ = false;
    int error_ = 0;
    std::deque<Datagram> queue_;
    std::size_t queued_bytes_ = 0;
};

}  // namespace heddle::sim
