// SPDX-License-Identifier: Apache-2.0
// UvUdp: datagram sockets (RCT-50).
//
//   udp_send    ─▶ uv_udp_try_send ── gone: done ── else ─▶ a copy waits until the kernel takes it ─▶ completion
//   udp_receive ─▶ stay armed ─▶ a datagram ─▶ into the receiver's own buffer, with its source ─▶ completion
//
// D1  Receivers are served in the order of their calls, one datagram each. A datagram of 0 bytes is one; what does not
//     fit is cut off.
// D2  As for streams: receiving stays armed between two receives, and what comes while nobody asks stays in the kernel
//     (UvStream, S1).
#pragma once

#include <uv.h>

#include <list>
#include <memory>
#include <vector>

#include "heddle/realreactor/detail/uv_request.hpp"

namespace heddle::real::detail {

class UvUdp final : public UvHandle {
public:
    /// Throws: IoError. @param descriptor -1 for none
    static HandleId open(UvHost& host, int descriptor);

    Submission submit(const Operation& operation, const SourceOptions& options) override;
    [[nodiscard]] int descriptor() const override;
    [[nodiscard]] HandleInfo info() const override;
    void close() override;

private:
    struct Receiver final : UvRequest {
        bool on_abandoned() override;
        void on_cancel() override;
        UvUdp* socket = nullptr;
        std::span<std::byte> buffer{};
    };
    /// Freed by its callback, whatever became of the socket.
    struct Sender final : UvRequest {
        bool on_abandoned() override { return false; }
        void on_cancel() override {}
        UvHost* host = nullptr;
        std::vector<std::byte> copy{};
        uv_udp_send_t send{};
    };

    explicit UvUdp(UvHost& host) : UvHandle(host, HandleKind::udp) {}
    Submission send(const Operation& operation, const SourceOptions& options);
    Submission receive(const Operation& operation, const SourceOptions& options);
    void on_datagram(ssize_t count, const sockaddr* from, unsigned flags);
    void forget(const Receiver& receiver);

    uv_udp_t raw_{};
    bool armed_ = false;
    bool passed_over_ = false;
    std::list<std::unique_ptr<Receiver>> receivers_;
    std::list<Sender*> senders_;
};

}  // namespace heddle::real::detail
