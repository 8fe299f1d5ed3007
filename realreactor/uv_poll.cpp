// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_poll.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {
namespace {

int events_of(PollMask mask) {
    int events = 0;
    if ((mask & PollBits::readable) != 0) { events |= UV_READABLE; }
    if ((mask & PollBits::writable) != 0) { events |= UV_WRITABLE; }
    if ((mask & PollBits::priority) != 0) { events |= UV_PRIORITIZED; }
    if ((mask & PollBits::disconnect) != 0) { events |= UV_DISCONNECT; }
    return events;
}

PollMask mask_of(int events) {
    PollMask mask = 0;
    if ((events & UV_READABLE) != 0) { mask |= PollBits::readable; }
    if ((events & UV_WRITABLE) != 0) { mask |= PollBits::writable; }
    if ((events & UV_PRIORITIZED) != 0) { mask |= PollBits::priority; }
    if ((events & UV_DISCONNECT) != 0) { mask |= PollBits::disconnect; }
    return mask;
}

bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

bool is_stream_socket(int fd) {
    int type = 0;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/// Nothing to read, after all: another waiter took it, or the kernel's wake-up was early. The end of a stream, a
/// failure and a connection that waits to be accepted are something.
bool would_block(int fd) {
    char byte = 0;
    ssize_t got = 0;
    do { got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT); } while (got < 0 && errno == EINTR);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

struct UvPolls::Handle {
    uv_poll_t handle{};
    UvPolls* polls = nullptr;
    SourceId id;
    int fd = -1;
    bool stream = false;
    bool close_fd = false;
    Label label;
    PollMask watched = 0;
};

UvPolls::~UvPolls() { HEDDLE_ASSERT(handles_.empty(), "polls are closed before their reactor goes"); }

SourceId UvPolls::open_poll(int fd, bool close_fd, Label label) {
    if (fd < 0 || !is_open(fd)) { throw_io_error("cannot poll descriptor " + std::to_string(fd), UV_EBADF); }
    if (const SourceId known = table_.poll_of(fd)) {
        table_.add_reference(known, close_fd);
        return known;
    }
    auto handle = std::make_unique<Handle>();
    if (const int status = uv_poll_init(host_.loop->raw(), &handle->handle, fd); status != 0) {
        throw_io_error("cannot poll descriptor " + std::to_string(fd), status);
    }
    const SourceId id = host_.sources.open(SourceKind::poll, {.label = label});
    handle->handle.data = handle.get();
    handle->polls = this;
    handle->id = id;
    handle->fd = fd;
    handle->stream = is_stream_socket(fd);
    handle->label = label;
    handles_[id] = handle.release();
    table_.add_poll(id, fd, close_fd, label);
    return id;
}

SourceId UvPolls::open_proxy(SourceId poll, PollMask mask, const SourceOptions& options) {
    if (table_.find_poll(poll) == nullptr) { throw AsyncError("a proxy needs an open poll"); }
    const SourceId id = host_.sources.open(SourceKind::proxy, options);
    table_.add_proxy(id, poll, mask, options);
    return id;
}

void UvPolls::start_proxy(UvSource& source, SourceId id) {
    if (!table_.start_proxy(id)) { return; }
    if (const int status = watch(table_.find_proxy(id)->poll); status != 0) {
        table_.stop_proxy(id);
        throw_io_error("cannot wait for a descriptor", status);
    }
    host_.set_started(source, true);
}

void UvPolls::stop_proxy(UvSource& source, SourceId id) {
    if (!table_.stop_proxy(id)) { return; }
    host_.set_started(source, false);
    // Watching less cannot fail, but for a descriptor that its owner closed: then there is nothing left to watch.
    watch(table_.find_proxy(id)->poll);
}

void UvPolls::close_proxy(SourceId id) {
    const SourceId poll = table_.remove_proxy(id);
    host_.sources.close(SourceTable::slot_of(id));
    drop_reference(poll);
}

void UvPolls::close_poll(SourceId id) { drop_reference(id); }

int UvPolls::watch(SourceId poll) {
    Handle& handle = *handles_.at(poll);
    const PollMask wanted = table_.watched(poll);
    if (wanted == handle.watched) { return 0; }
    if (wanted == 0 || !is_open(handle.fd)) {
        handle.watched = 0;
        uv_poll_stop(&handle.handle);
        return wanted == 0 ? 0 : static_cast<int>(UV_EBADF);
    }
    const int status = uv_poll_start(&handle.handle, events_of(wanted), [](uv_poll_t* at, int code, int events) {
        auto* const from = static_cast<Handle*>(at->data);
        from->polls->on_report(from->id, code, events);
    });
    handle.watched = status == 0 ? wanted : 0;
    return status;
}

void UvPolls::on_report(SourceId poll, int status, int events) {
    host_.follow_clock();
    Handle& handle = *handles_.at(poll);
    PollMask bits = mask_of(events);
    std::int32_t error = 0;
    if (status < 0) {
        handle.watched = 0;  // P1
        // EBADF stands for whatever the kernel calls an error of the descriptor: the other end of a pipe is gone
        // (RCT-36).
        bits = status == UV_EBADF ? static_cast<PollMask>(PollBits::disconnect) : 0;
        error = status == UV_EBADF ? 0 : errno_of(status);
    } else if ((bits & PollBits::readable) != 0 && handle.stream && would_block(handle.fd)) {
        bits &= ~static_cast<PollMask>(PollBits::readable);
    }
    if (bits != 0 || error != 0) {
        table_.report(poll, bits, error, [&](SourceId id, const PollTable::Proxy& proxy, PollMask mask) {
            const Delivery delivery{.source = id,
                                    .kind = SourceKind::proxy,
                                    .owner = proxy.options.owner,
                                    .label = proxy.options.label,
                                    .value = mask,
                                    .error = error};
            host_.deliver(delivery);
        });
    }
    if (status < 0 && table_.find_poll(poll) != nullptr) { watch(poll); }
}

void UvPolls::drop_reference(SourceId poll) {
    PollTable::Poll closing;
    if (table_.drop_reference(poll, closing)) { close_handle(poll, closing); }
}

void UvPolls::close_handle(SourceId id, const PollTable::Poll& poll) {
    const auto found = handles_.find(id);
    Handle* const handle = found->second;
    handles_.erase(found);
    handle->close_fd = poll.close_fd;
    host_.sources.close(SourceTable::slot_of(id));
    ++host_.closing_count;
    uv_close(reinterpret_cast<uv_handle_t*>(&handle->handle), [](uv_handle_t* at) {
        const std::unique_ptr<Handle> closed(static_cast<Handle*>(at->data));
        UvHost& host = closed->polls->host_;
        if (closed->close_fd) { ::close(closed->fd); }
        --host.closing_count;
        host.follow_clock();
        host.deliver({.source = closed->id, .kind = SourceKind::poll, .label = closed->label, .closed = true});
    });
}

void UvPolls::close_all() {
    for (const SourceId id : host_.sources.all(SourceKind::proxy)) {
        table_.stop_proxy(id);
        table_.remove_proxy(id);
        host_.sources.close(SourceTable::slot_of(id));
    }
    for (const SourceId id : host_.sources.all(SourceKind::poll)) {
        PollTable::Poll closing;
        while (!table_.drop_reference(id, closing)) {}
        close_handle(id, closing);
    }
}

}  // namespace heddle::real::detail
