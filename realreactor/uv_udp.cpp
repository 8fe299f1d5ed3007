// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_udp.hpp"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/detail/uv_address.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {
namespace {

Completion failure(int status) { return {.transferred = -1, .error = errno_of(status)}; }

}  // namespace

HandleId UvUdp::open(UvHost& host, int descriptor) {
    std::unique_ptr<UvUdp> socket(new UvUdp(host));
    int status = 0;
    if (descriptor >= 0) {
        struct stat file {};
        int type = 0;
        socklen_t size = sizeof type;
        if (::fstat(descriptor, &file) != 0) {
            status = UV_EBADF;
        } else if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
            status = UV_ENOTSOCK;
        } else if (type != SOCK_DGRAM) {
            status = UV_EPROTOTYPE;
        }
    }
    if (status == 0) {
        status = uv_udp_init(host.loop->raw(), &socket->raw_);
        socket->raw_.data = socket.get();
        if (status == 0 && descriptor >= 0) {
            status = uv_udp_open(&socket->raw_, descriptor);
            if (status != 0) { socket.release()->close(); }
        }
    }
    if (status != 0) { throw_io_error("cannot open descriptor " + std::to_string(descriptor) + " as udp", status); }
    return host.handles->add(*socket.release());
}

int UvUdp::descriptor() const {
    uv_os_fd_t fd = -1;
    return uv_fileno(reinterpret_cast<const uv_handle_t*>(&raw_), &fd) == 0 ? fd : -1;
}

HandleInfo UvUdp::info() const {
    HandleInfo info{.kind = kind, .descriptor = descriptor()};
    if (info.descriptor < 0) { return info; }
    sockaddr_storage address{};
    auto* const system = reinterpret_cast<sockaddr*>(&address);
    int size = sizeof address;
    if (uv_udp_getsockname(&raw_, system, &size) == 0) {
        info.local = from_system(system, static_cast<socklen_t>(size));
    }
    size = sizeof address;
    if (uv_udp_getpeername(&raw_, system, &size) == 0) {
        info.peer = from_system(system, static_cast<socklen_t>(size));
    }
    return info;
}

void UvUdp::close() {
    const Completion canceled{.transferred = -1, .error = ECANCELED};
    for (const std::unique_ptr<Receiver>& receiver : receivers_) { host_.requests->defer(*receiver, canceled); }
    receivers_.clear();
    for (Sender* const sender : senders_) {
        if (sender->is_pending()) { host_.requests->defer(*sender, canceled); }
    }
    senders_.clear();
    ++host_.closing_count;
    uv_close(reinterpret_cast<uv_handle_t*>(&raw_), [](uv_handle_t* handle) {
        const std::unique_ptr<UvUdp> self(static_cast<UvUdp*>(handle->data));
        --self->host_.closing_count;
    });
}

Submission UvUdp::submit(const Operation& operation, const SourceOptions& options) {
    switch (operation.kind) {
        case OperationKind::udp_send: return send(operation, options);
        case OperationKind::udp_receive: return receive(operation, options);
        case OperationKind::bind:
        case OperationKind::udp_connect: {
            if (operation.address == nullptr) {
                throw AsyncError(std::string(to_string(operation.kind)) + " needs an address");
            }
            sockaddr_storage system{};
            if (to_system(*operation.address, system) == 0) { return answer(failure(UV_EAFNOSUPPORT), options); }
            const auto* const address = reinterpret_cast<const sockaddr*>(&system);
            const int status =
                operation.kind == OperationKind::bind ? uv_udp_bind(&raw_, address, 0) : uv_udp_connect(&raw_, address);
            return answer(status < 0 ? failure(status) : Completion{}, options);
        }
        case OperationKind::configure: {
            const int status = operation.option == HandleOption::broadcast
                                   ? uv_udp_set_broadcast(&raw_, operation.amount != 0 ? 1 : 0)
                                   : static_cast<int>(UV_ENOTSUP);
            return answer(status < 0 ? failure(status) : Completion{}, options);
        }
        default: refuse(operation);
    }
}

// ── sending ──

Submission UvUdp::send(const Operation& operation, const SourceOptions& options) {
    sockaddr_storage system{};
    const sockaddr* to = nullptr;
    if (operation.address != nullptr) {
        if (to_system(*operation.address, system) == 0) { return answer(failure(UV_EAFNOSUPPORT), options); }
        to = reinterpret_cast<const sockaddr*>(&system);
    }
    const std::span<const std::byte> data = operation.data;
    const uv_buf_t buffer =
        uv_buf_init(reinterpret_cast<char*>(const_cast<std::byte*>(data.data())), static_cast<unsigned>(data.size()));
    int status = uv_udp_try_send(&raw_, &buffer, 1, to);
    if (status >= 0) { return answer({.transferred = status}, options); }
    if (status != UV_EAGAIN) { return answer(failure(status), options); }

    auto sender = std::make_unique<Sender>();
    sender->host = &host_;
    sender->copy.assign(data.begin(), data.end());
    sender->send.data = sender.get();
    const uv_buf_t copy =
        uv_buf_init(reinterpret_cast<char*>(sender->copy.data()), static_cast<unsigned>(sender->copy.size()));
    status = uv_udp_send(&sender->send, &raw_, &copy, 1, to, [](uv_udp_send_t* request, int ended) {
        const std::unique_ptr<Sender> at(static_cast<Sender*>(request->data));
        if (!at->is_pending()) { return; }  // its socket was closed
        auto* const socket = static_cast<UvUdp*>(request->handle->data);
        socket->senders_.remove(at.get());
        at->host->requests->finish(
            *at, ended < 0 ? failure(ended) : Completion{.transferred = static_cast<std::int64_t>(at->copy.size())});
    });
    if (status < 0) { return answer(failure(status), options); }
    const SourceId request = host_.requests->open(*sender, options);
    senders_.push_back(sender.release());
    return {.request = request};
}

// ── receiving ──

bool UvUdp::Receiver::on_abandoned() {
    socket->forget(*this);
    return true;
}

void UvUdp::Receiver::on_cancel() {
    socket->host_.requests->defer_cancelled(*this);
    socket->forget(*this);
}

void UvUdp::forget(const Receiver& receiver) {
    receivers_.remove_if([&receiver](const std::unique_ptr<Receiver>& at) { return at.get() == &receiver; });
}

Submission UvUdp::receive(const Operation& operation, const SourceOptions& options) {
    if (operation.buffer.empty()) { throw AsyncError("a datagram is received into a buffer"); }
    if (!armed_) {
        const int status = uv_udp_recv_start(
            &raw_,
            [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
                const auto& waiting = static_cast<UvUdp*>(handle->data)->receivers_;
                *buffer = waiting.empty() ? uv_buf_init(nullptr, 0)
                                          : uv_buf_init(reinterpret_cast<char*>(waiting.front()->buffer.data()),
                                                        static_cast<unsigned>(waiting.front()->buffer.size()));
            },
            [](uv_udp_t* socket, ssize_t count, const uv_buf_t*, const sockaddr* from, unsigned flags) {
                static_cast<UvUdp*>(socket->data)->on_datagram(count, from, flags);
            });
        if (status != 0) { return answer(failure(status), options); }
        armed_ = true;
    }
    passed_over_ = false;
    auto receiver = std::make_unique<Receiver>();
    receiver->socket = this;
    receiver->buffer = operation.buffer;
    const SourceId request = host_.requests->open(*receiver, options);
    receivers_.push_back(std::move(receiver));
    return {.request = request};
}

void UvUdp::on_datagram(ssize_t count, const sockaddr* from, unsigned flags) {
    if (count == UV_ENOBUFS && receivers_.empty()) {
        if (std::exchange(passed_over_, true)) {
            armed_ = false;
            uv_udp_recv_stop(&raw_);
        }
        return;
    }
    if (receivers_.empty() || (count == 0 && from == nullptr)) { return; }  // nothing more for now
    const std::unique_ptr<Receiver> receiver = std::move(receivers_.front());
    receivers_.pop_front();
    if (count < 0) {
        host_.requests->finish(*receiver, failure(static_cast<int>(count)));
        return;
    }
    Answer& answer = host_.requests->scratch();
    if (from != nullptr) {
        answer.addresses.push_back(
            from_system(from, from->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6)));
    }
    host_.requests->finish(*receiver,
                           {.transferred = count, .truncated = (flags & UV_UDP_PARTIAL) != 0, .answer = &answer});
}

}  // namespace heddle::real::detail
