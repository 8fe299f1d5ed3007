// SPDX-License-Identifier: Apache-2.0
// SimStream: TCP connections, local sockets, pipes and listeners as handles of a SimReactor (RCT-40 to RCT-49).
//
//   read  ─▶ something is there ─▶ read it now, or as if it came later (CP-PARTIAL) ─▶ else wait until the object is ready
//   write ─▶ as much as goes now ─▶ the rest when there is room, part by part, in the order of the writers
//
// ST1  One reader; writers in the order of their submission, each whole (RCT-42, RCT-44). A shutdown is a writer.
// ST2  A request that is closed keeps no pointer into its caller's memory: what was written of it is in the conduit.
// ST3  Connecting is never answered at once, as on libuv (G15), unless the address itself is refused.
#pragma once

#include <deque>
#include <memory>

#include "heddle/simreactor/net/stream_socket.hpp"
#include "heddle/simreactor/reactor/detail/sim_io.hpp"

namespace heddle::sim::detail {

class SimStream final : public SimHandle {
public:
    SimStream(SimIo& io, HandleKind handle_kind, int fd, std::shared_ptr<StreamSocket> socket)
        : SimHandle(io, handle_kind, fd), socket_(std::move(socket)) {
        socket_->watch(this);
    }
    ~SimStream() override { socket_->watch(nullptr); }

    Submission submit(const Operation& operation, const SourceOptions& options) override;
    [[nodiscard]] bool is_ready(RequestKey request) const override;
    void go_on(RequestKey request) override;
    bool forget(RequestKey request) override;
    std::int64_t try_read(std::span<std::byte> buffer) override;
    std::int64_t try_write(std::span<const std::byte> data) override;
    [[nodiscard]] HandleInfo info() const override;
    void close() override;
    void on_ready() override;

private:
    Submission read(const Operation& operation, const SourceOptions& options);
    Submission write(const Operation& operation, const SourceOptions& options);
    Submission shut_down(const SourceOptions& options);
    Submission connect(const Operation& operation, const SourceOptions& options);
    Submission accept(const SourceOptions& options);
    bool read_now(std::span<const std::span<std::byte>> buffers, StreamSocket::Patience patience, Completion& completion);
    bool accept_now(Completion& completion);
    void go_on_writing(RequestKey key);
    [[nodiscard]] bool can_read() const { return (socket_->readiness() & ready_read) != 0; }
    [[nodiscard]] bool can_write() const { return (socket_->readiness() & ready_write) != 0; }

    std::shared_ptr<StreamSocket> socket_;
    bool is_late_ = false;  // a read has found nothing although something was there: it is told of it in a tick
    RequestKey reader_ = 0;
    RequestKey connector_ = 0;
    std::deque<RequestKey> writers_;
    std::deque<RequestKey> acceptors_;
};

}  // namespace heddle::sim::detail
