// SPDX-License-Identifier: Apache-2.0
// SimDatagram: UDP sockets as handles of a SimReactor (RCT-50). Sends are answered at once, or in a tick after too many;
// receivers are served in the order of their calls.
#pragma once

#include <deque>
#include <memory>

#include "heddle/simreactor/net/datagram_socket.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"

namespace heddle::sim::detail {

class SimDatagram final : public SimHandle {
public:
    SimDatagram(SimIo& io, int fd, std::shared_ptr<DatagramSocket> socket)
        : SimHandle(io, HandleKind::udp, fd), socket_(std::move(socket)) {
        socket_->watch(this);
    }
    ~SimDatagram() override { socket_->watch(nullptr); }

    Submission submit(const Operation& operation, const SourceOptions& options) override;
    [[nodiscard]] bool is_ready(RequestKey request) const override;
    void go_on(RequestKey request) override;
    bool forget(RequestKey request) override;
    [[nodiscard]] HandleInfo info() const override;
    void close() override;
    void on_ready() override { wake_first(); }

private:
    Submission receive(const Operation& operation, const SourceOptions& options);
    void wake_first();

    std::shared_ptr<DatagramSocket> socket_;
    std::deque<RequestKey> receivers_;
};

}  // namespace heddle::sim::detail
