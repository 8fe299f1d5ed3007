// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_stream.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "heddle/core/base/error.hpp"
#include "heddle/realreactor/detail/uv_address.hpp"
#include "heddle/realreactor/uv_error.hpp"

namespace heddle::real::detail {
namespace {

constexpr std::size_t buffers_max = 16;  // of one system call

/// Writing to a connection that the peer has reset is an error that the writer hears of, never the end of the process.
/// What a program has said about the signal itself stays.
bool ignore_broken_pipes() {
    struct sigaction action {};
    if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) { std::signal(SIGPIPE, SIG_IGN); }
    return true;
}

Completion failure(int status) { return {.transferred = -1, .error = errno_of(status)}; }
Completion success(std::size_t count) { return {.transferred = static_cast<std::int64_t>(count)}; }

template <class Byte>
uv_buf_t buffer_of(std::span<Byte> bytes) {
    // libuv's buffer serves reading and writing; what is written from is never written to.
    return uv_buf_init(reinterpret_cast<char*>(const_cast<std::byte*>(bytes.data())),
                       static_cast<unsigned>(bytes.size()));
}

}  // namespace

// ── life ──

HandleId UvStream::open(UvHost& host, HandleKind kind, int descriptor) {
    [[maybe_unused]] static const bool ignored = ignore_broken_pipes();
    std::unique_ptr<UvStream> stream(new UvStream(host, kind));
    int status = descriptor >= 0 ? stream->adopt(descriptor) : stream->init();
    if (status == 0 && descriptor >= 0 && kind != HandleKind::tty) {
        status = kind == HandleKind::tcp ? uv_tcp_open(&stream->raw_.tcp, descriptor)
                                         : uv_pipe_open(&stream->raw_.pipe, descriptor);
        if (status != 0) {
            stream.release()->close();  // libuv knows it already
        }
    }
    if (status != 0) {
        throw_io_error("cannot open descriptor " + std::to_string(descriptor) + " as " + std::string(to_string(kind)),
                       status);
    }
    return host.handles->add(*stream.release());
}

int UvStream::init() {
    uv_loop_t* const loop = host_.loop->raw();
    int status = UV_EINVAL;
    if (kind == HandleKind::tcp) { status = uv_tcp_init(loop, &raw_.tcp); }
    if (kind == HandleKind::pipe) { status = uv_pipe_init(loop, &raw_.pipe, 0); }
    raw_.handle.data = this;
    return status;
}

/// Looks at a descriptor before libuv does, which takes anything and aborts later.
int UvStream::adopt(int descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) { return UV_EBADF; }
    if (kind == HandleKind::tty) {
        if (::isatty(descriptor) == 0) { return UV_ENOTTY; }
        const int result = uv_tty_init(host_.loop->raw(), &raw_.tty, descriptor, 0);
        raw_.handle.data = this;
        uv_os_fd_t own = -1;
        if (result == 0 && uv_fileno(&raw_.handle, &own) == 0 && own != descriptor) { kept_descriptor_ = descriptor; }
        return result;
    }
    if (kind == HandleKind::pipe && S_ISFIFO(status.st_mode)) { return init(); }
    if (!S_ISSOCK(status.st_mode)) { return UV_ENOTSOCK; }
    int type = 0;
    int domain = 0;
    socklen_t size = sizeof type;
    ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size);
    size = sizeof domain;
    ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    const bool matches = kind == HandleKind::pipe ? domain == AF_UNIX : domain == AF_INET || domain == AF_INET6;
    return type == SOCK_STREAM && matches ? init() : static_cast<int>(UV_EPROTOTYPE);
}

int UvStream::descriptor() const {
    uv_os_fd_t fd = -1;
    return uv_fileno(&raw_.handle, &fd) == 0 ? fd : -1;
}

HandleInfo UvStream::info() const {
    HandleInfo info{.kind = kind, .descriptor = descriptor()};
    if (kind == HandleKind::tty || info.descriptor < 0) { return info; }
    sockaddr_storage address{};
    auto* const system = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (::getsockname(info.descriptor, system, &size) == 0) { info.local = from_system(system, size); }
    size = sizeof address;
    if (::getpeername(info.descriptor, system, &size) == 0) { info.peer = from_system(system, size); }
    return info;
}

void UvStream::close() {
    closed_ = true;
    const Completion canceled{.transferred = -1, .error = ECANCELED};
    if (reader_.is_pending()) { host_.requests->defer(reader_, canceled); }
    if (waiter_ != nullptr) { host_.requests->defer_wait(wait_id(), *std::exchange(waiter_, nullptr)); }
    for (std::unique_ptr<Writer>& writer : writers_) {
        if (writer->is_pending()) { host_.requests->defer(*writer, canceled); }
        writer->stream = nullptr;
        if (writer->handed_over) { static_cast<void>(writer.release()); }  // its callback frees it (S4)
    }
    writers_.clear();
    if (connector_ != nullptr) {
        if (connector_->is_pending()) { host_.requests->defer(*connector_, canceled); }
        connector_->stream = nullptr;
        static_cast<void>(connector_.release());
    }
    if (listening_ != nullptr) {
        for (const std::unique_ptr<Acceptor>& acceptor : listening_->waiting) {
            host_.requests->defer(*acceptor, canceled);
        }
        listening_->waiting.clear();
    }
    ++host_.closing_count;
    uv_close(&raw_.handle, [](uv_handle_t* handle) {
        const std::unique_ptr<UvStream> self(static_cast<UvStream*>(handle->data));
        --self->host_.closing_count;
        if (self->kept_descriptor_ > STDERR_FILENO) { ::close(self->kept_descriptor_); }
    });
}

Submission UvStream::submit(const Operation& operation, const SourceOptions& options) {
    switch (operation.kind) {
        case OperationKind::read: return read(operation, options);
        case OperationKind::write: return write(operation, options);
        case OperationKind::shutdown: return shut_down(options);
        case OperationKind::configure: return configure(operation, options);
        default: break;
    }
    if (kind == HandleKind::tty) { refuse(operation); }
    switch (operation.kind) {
        case OperationKind::connect: return connect(operation, options);
        case OperationKind::bind: return bind(operation, options);
        case OperationKind::listen: return listen(operation, options);
        case OperationKind::accept: return accept(options);
        default: refuse(operation);
    }
}

// ── reading ──

bool UvStream::Reader::on_abandoned() {
    id = {};
    return true;  // nothing holds its buffer: libuv asks for one when there is something to put into it
}

void UvStream::Reader::on_cancel() { stream.host_.requests->defer_cancelled(*this); }

void UvStream::require_no_reader() const {
    if (!reader_.is_pending() && waiter_ == nullptr) { return; }
    throw AsyncError("a read of this " + std::string(to_string(kind)) + " handle is in progress (RCT-42)");
}

int UvStream::start_reading() {
    passed_over_ = false;
    if (armed_) { return 0; }
    const int status = uv_read_start(
        &raw_.stream,
        [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
            const Reader& reader = static_cast<UvStream*>(handle->data)->reader_;
            *buffer = reader.is_pending() ? buffer_of(reader.buffer) : uv_buf_init(nullptr, 0);
        },
        [](uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
            static_cast<UvStream*>(stream->data)->on_readable(count, buffer->len);
        });
    armed_ = status == 0;
    return status;
}

Submission UvStream::read(const Operation& operation, const SourceOptions& options) {
    require_no_reader();
    if (ended_) { return answer({.end_of_stream = true}, options); }
    if (more_expected_ && take_turn()) {
        Completion completion;
        if (read_now(operation.buffer, operation.buffers, completion)) { return {.done = completion}; }
    }
    if (const int status = start_reading(); status != 0) { return answer(failure(status), options); }
    reader_.buffer = operation.buffer;
    reader_.buffers = operation.buffers;
    return {.request = host_.requests->open(reader_, options)};
}

SourceId UvStream::wait_readable(SourceOwner& owner) {
    require_no_reader();
    if (ended_ || (more_expected_ && has_turn())) { return {}; }
    if (const int status = start_reading(); status != 0) {
        return host_.requests->open_deferred(failure(status), {.owner = &owner});
    }
    waiter_ = &owner;
    host_.begin_wait();
    return wait_id();
}

void UvStream::stop_waiting() {
    if (std::exchange(waiter_, nullptr) != nullptr) { host_.end_wait(); }
}

void UvStream::tell_waiter(int error) {
    host_.follow_clock();
    host_.end_wait();
    host_.deliver(
        {.source = wait_id(), .kind = SourceKind::operation, .owner = std::exchange(waiter_, nullptr), .error = error});
}

std::int64_t UvStream::try_read(std::span<std::byte> buffer) {
    if (!more_expected_ || buffer.empty() || reader_.is_pending() || waiter_ != nullptr || !take_turn()) {
        return ended_ ? 0 : -EAGAIN;
    }
    ssize_t got = 0;
    do { got = ::read(descriptor(), buffer.data(), buffer.size()); } while (got < 0 && errno == EINTR);
    more_expected_ = got > 0 && static_cast<std::size_t>(got) == buffer.size();
    if (got > 0) { return got; }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) { return -EAGAIN; }
    const int error = got < 0 ? errno : 0;
    ended_ = got == 0;
    stop_reading();
    return -error;
}

void UvStream::on_readable(ssize_t count, std::size_t offered) {
    if (count == UV_ENOBUFS && waiter_ != nullptr) {
        more_expected_ = true;
        tell_waiter(0);
        return;
    }
    if (count > 0) {
        more_expected_ = static_cast<std::size_t>(count) == offered;
        host_.requests->finish(reader_, success(static_cast<std::size_t>(count)));
        return;
    }
    if (count == 0) { return; }  // nothing, after all
    if (count == UV_ENOBUFS) {   // the reader has none, or several, or there is no reader
        if (!reader_.is_pending()) {
            if (!std::exchange(passed_over_, true)) { return; }
            stop_reading();
            more_expected_ = true;
            return;
        }
        if (reader_.buffers.empty()) {
            more_expected_ = true;
            host_.requests->finish(reader_, {});
            return;
        }
        Completion completion;
        if (read_now({}, reader_.buffers, completion)) { host_.requests->finish(reader_, completion); }
        return;
    }
    armed_ = false;  // libuv stops at the end, and at an error
    more_expected_ = false;
    if (count == UV_EOF) {
        ended_ = true;
        if (reader_.is_pending()) { host_.requests->finish(reader_, {.end_of_stream = true}); }
        if (waiter_ != nullptr) { tell_waiter(0); }
    } else if (waiter_ != nullptr) {
        tell_waiter(errno_of(static_cast<int>(count)));
    } else if (reader_.is_pending()) {
        host_.requests->finish(reader_, failure(static_cast<int>(count)));
    }
}

void UvStream::stop_reading() {
    armed_ = false;
    uv_read_stop(&raw_.stream);
}

bool UvStream::read_now(std::span<std::byte> buffer, std::span<const std::span<std::byte>> buffers,
                        Completion& completion) {
    std::array<iovec, buffers_max> parts{};
    std::size_t count = 0;
    std::size_t room = 0;
    const auto add = [&](std::span<std::byte> part) {
        if (part.empty() || count == parts.size()) { return; }
        parts[count++] = {part.data(), part.size()};
        room += part.size();
    };
    add(buffer);
    for (const std::span<std::byte> part : buffers) { add(part); }
    const int fd = descriptor();
    if (count == 0) {  // only whether there is something
        pollfd at{fd, POLLIN, 0};
        more_expected_ = ::poll(&at, 1, 0) > 0;
        completion = {};
        return more_expected_;
    }
    ssize_t got = 0;
    do { got = ::readv(fd, parts.data(), static_cast<int>(count)); } while (got < 0 && errno == EINTR);
    more_expected_ = got > 0 && static_cast<std::size_t>(got) == room;
    if (got > 0) {
        completion = success(static_cast<std::size_t>(got));
    } else if (got == 0) {
        ended_ = true;
        stop_reading();
        completion = {.end_of_stream = true};
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        return false;
    } else {
        completion = {.transferred = -1, .error = errno};
        stop_reading();
    }
    return true;
}

// ── writing ──

bool UvStream::Writer::on_abandoned() {
    if (handed_over) {
        abandoned = true;
        return false;  // S2: the piece goes out, and nothing after it
    }
    std::list<std::unique_ptr<Writer>>& all = stream->writers_;
    all.remove_if([this](const std::unique_ptr<Writer>& at) { return at.get() == this; });
    return true;
}

void UvStream::Writer::on_cancel() {
    if (handed_over || done > 0) { return; }
    stream->host_.requests->defer_cancelled(*this);
    std::list<std::unique_ptr<Writer>>& all = stream->writers_;
    all.remove_if([this](const std::unique_ptr<Writer>& at) { return at.get() == this; });
}

Submission UvStream::write(const Operation& operation, const SourceOptions& options) {
    std::array<uv_buf_t, buffers_max> parts{};
    unsigned count = 0;
    std::size_t total = 0;
    const auto add = [&](std::span<const std::byte> part) {
        if (part.empty()) { return; }
        if (count < parts.size()) { parts[count++] = buffer_of(part); }
        total += part.size();
    };
    add(operation.data);
    for (const std::span<const std::byte> part : operation.pieces) { add(part); }
    if (total == 0) { return answer({}, options); }

    std::size_t taken = 0;
    if (writers_.empty()) {
        const int status = uv_try_write(&raw_.stream, parts.data(), count);
        if (status < 0 && status != UV_EAGAIN) { return answer(failure(status), options); }
        taken = status < 0 ? 0 : static_cast<std::size_t>(status);
        if (taken == total) { return answer(success(total), options); }
    }
    auto writer = std::make_unique<Writer>();
    writer->stream = this;
    if (!operation.data.empty()) { writer->pieces.push_back(operation.data); }
    for (const std::span<const std::byte> part : operation.pieces) {
        if (!part.empty()) { writer->pieces.push_back(part); }
    }
    writer->total = total;
    writer->done = taken;
    const SourceId request = host_.requests->open(*writer, options);
    writers_.push_back(std::move(writer));
    if (writers_.size() == 1) { hand_over(*writers_.front()); }
    return {.request = request};
}

std::int64_t UvStream::try_write(std::span<const std::byte> data) {
    if (!writers_.empty() || data.empty() || !take_turn()) { return -EAGAIN; }
    const uv_buf_t part = buffer_of(data);
    const int status = uv_try_write(&raw_.stream, &part, 1);
    return status >= 0 ? status : status == UV_EAGAIN ? -EAGAIN : -errno_of(status);
}

Submission UvStream::shut_down(const SourceOptions& options) {
    auto writer = std::make_unique<Writer>();
    writer->stream = this;
    writer->is_shutdown = true;
    const SourceId request = host_.requests->open(*writer, options);
    writers_.push_back(std::move(writer));
    if (writers_.size() == 1) { hand_over(*writers_.front()); }
    return {.request = request};
}

/// Gives the next piece to libuv, in a copy. If libuv refuses, the answer comes in the next tick.
void UvStream::hand_over(Writer& writer) {
    int status = 0;
    if (writer.is_shutdown) {
        writer.shutdown.data = &writer;
        status = uv_shutdown(&writer.shutdown, &raw_.stream, [](uv_shutdown_t* request, int ended) {
            auto* const at = static_cast<Writer*>(request->data);
            at->stream == nullptr ? delete at : at->stream->on_handed_over(*at, ended);
        });
    } else {
        writer.in_hand = std::min(writer.total - writer.done, piece_size);
        writer.copy.resize(writer.in_hand);
        std::size_t skip = writer.done;
        std::size_t copied = 0;
        for (const std::span<const std::byte> part : writer.pieces) {
            if (skip >= part.size()) {
                skip -= part.size();
                continue;
            }
            const std::size_t some = std::min(part.size() - skip, writer.in_hand - copied);
            std::memcpy(writer.copy.data() + copied, part.data() + skip, some);
            copied += some;
            skip = 0;
            if (copied == writer.in_hand) { break; }
        }
        writer.write.data = &writer;
        const uv_buf_t buffer = buffer_of(std::span<const std::byte>(writer.copy));
        status = uv_write(&writer.write, &raw_.stream, &buffer, 1, [](uv_write_t* request, int ended) {
            auto* const at = static_cast<Writer*>(request->data);
            at->stream == nullptr ? delete at : at->stream->on_handed_over(*at, ended);
        });
    }
    writer.handed_over = status == 0;
    if (status == 0) { return; }
    host_.requests->defer(writer, failure(status));
    writers_.pop_front();
    pump();
}

void UvStream::on_handed_over(Writer& writer, int status) {
    HEDDLE_ASSERT(!writers_.empty() && writers_.front().get() == &writer, "S3");
    writer.handed_over = false;
    writer.done += std::exchange(writer.in_hand, 0);
    if (status < 0) {
        end_first(failure(status));
    } else if (writer.abandoned || writer.done == writer.total) {
        end_first(success(writer.done));
    }
    pump();
}

void UvStream::end_first(const Completion& completion) {
    const std::unique_ptr<Writer> writer = std::move(writers_.front());
    writers_.pop_front();
    host_.requests->finish(*writer, completion);
}

void UvStream::pump() {
    while (!closed_ && !writers_.empty() && !writers_.front()->handed_over) {
        Writer& writer = *writers_.front();
        if (writer.is_shutdown) {
            hand_over(writer);
            return;
        }
        // The kernel may take more than the next piece, and then straight from the writer's memory.
        std::array<uv_buf_t, buffers_max> parts{};
        unsigned count = 0;
        std::size_t skip = writer.done;
        for (const std::span<const std::byte> part : writer.pieces) {
            if (skip >= part.size()) {
                skip -= part.size();
            } else if (count < parts.size()) {
                parts[count++] = buffer_of(part.subspan(std::exchange(skip, 0)));
            }
        }
        const int status = uv_try_write(&raw_.stream, parts.data(), count);
        if (status < 0 && status != UV_EAGAIN) {
            end_first(failure(status));
            continue;
        }
        writer.done += status < 0 ? 0 : static_cast<std::size_t>(status);
        if (writer.done == writer.total) {
            end_first(success(writer.total));
            continue;
        }
        hand_over(writer);
        return;
    }
}

// ── connecting and listening ──

bool UvStream::Connector::on_abandoned() { return false; }

Submission UvStream::connect(const Operation& operation, const SourceOptions& options) {
    if (operation.address == nullptr) { throw AsyncError("connect needs an address"); }
    if (connector_ != nullptr) { throw AsyncError("a connect of this handle is in progress"); }
    const auto done = [](uv_connect_t* request, int status) {
        auto* const at = static_cast<Connector*>(request->data);
        if (at->stream == nullptr) {
            delete at;
            return;
        }
        UvStream& stream = *at->stream;
        const std::unique_ptr<Connector> connector = std::move(stream.connector_);
        stream.host_.requests->finish(*connector, status < 0 ? failure(status) : Completion{});
    };
    auto connector = std::make_unique<Connector>();
    connector->stream = this;
    connector->connect.data = connector.get();
    if (kind == HandleKind::tcp) {
        sockaddr_storage system{};
        if (to_system(*operation.address, system) == 0) { return answer(failure(UV_EAFNOSUPPORT), options); }
        const int status =
            uv_tcp_connect(&connector->connect, &raw_.tcp, reinterpret_cast<const sockaddr*>(&system), done);
        if (status != 0) { return answer(failure(status), options); }
    } else {
        if (operation.address->family != AddressFamily::local) { return answer(failure(UV_EAFNOSUPPORT), options); }
        if (operation.address->path.size() >= sizeof(sockaddr_un::sun_path)) {
            return answer(failure(UV_ENAMETOOLONG), options);
        }
        uv_pipe_connect(&connector->connect, &raw_.pipe, operation.address->path.c_str(), done);
    }
    const SourceId request = host_.requests->open(*connector, options);
    connector_ = std::move(connector);
    return {.request = request};
}

Submission UvStream::bind(const Operation& operation, const SourceOptions& options) {
    if (operation.address == nullptr) { throw AsyncError("bind needs an address"); }
    int status = UV_EAFNOSUPPORT;
    if (kind == HandleKind::tcp) {
        sockaddr_storage system{};
        if (to_system(*operation.address, system) != 0) {
            status = uv_tcp_bind(&raw_.tcp, reinterpret_cast<const sockaddr*>(&system), 0);
        }
    } else if (operation.address->family == AddressFamily::local) {
        status = operation.address->path.size() >= sizeof(sockaddr_un::sun_path)
                     ? static_cast<int>(UV_ENAMETOOLONG)
                     : uv_pipe_bind(&raw_.pipe, operation.address->path.c_str());
    }
    return answer(status < 0 ? failure(status) : Completion{}, options);
}

Submission UvStream::listen(const Operation& operation, const SourceOptions& options) {
    if (listening_ == nullptr) { listening_ = std::make_unique<Listening>(); }
    const int status =
        uv_listen(&raw_.stream, static_cast<int>(std::clamp<std::int64_t>(operation.amount, 1, 65'535)),
                  [](uv_stream_t* stream, int result) { static_cast<UvStream*>(stream->data)->on_connection(result); });
    if (status < 0) { listening_.reset(); }
    return answer(status < 0 ? failure(status) : Completion{}, options);
}

bool UvStream::Acceptor::on_abandoned() {
    stream->listening_->waiting.remove_if([this](const std::unique_ptr<Acceptor>& at) { return at.get() == this; });
    return true;
}

void UvStream::Acceptor::on_cancel() {
    stream->host_.requests->defer_cancelled(*this);
    stream->listening_->waiting.remove_if([this](const std::unique_ptr<Acceptor>& at) { return at.get() == this; });
}

Submission UvStream::accept(const SourceOptions& options) {
    if (listening_ == nullptr) { throw AsyncError("accept needs a handle that listens"); }
    if (listening_->waiting.empty()) {
        if (const int error = std::exchange(listening_->error, 0); error != 0) {
            return answer(failure(error), options);
        }
        if (listening_->has_connection && take_turn()) { return {.done = take_connection()}; }
    }
    auto acceptor = std::make_unique<Acceptor>();
    acceptor->stream = this;
    const SourceId request = host_.requests->open(*acceptor, options);
    if (listening_->has_connection) {
        host_.requests->defer(*acceptor, take_connection());
    } else {
        listening_->waiting.push_back(std::move(acceptor));
    }
    return {.request = request};
}

void UvStream::on_connection(int status) {
    if (listening_->waiting.empty()) {
        if (status < 0) {
            listening_->error = status;
        } else {
            listening_->has_connection = true;
        }
        return;
    }
    const std::unique_ptr<Acceptor> acceptor = std::move(listening_->waiting.front());
    listening_->waiting.pop_front();
    host_.requests->finish(*acceptor, status < 0 ? failure(status) : take_connection());
}

/// The connection that libuv holds, as a handle of its own.
Completion UvStream::take_connection() {
    listening_->has_connection = false;
    std::unique_ptr<UvStream> stream(new UvStream(host_, kind));
    if (const int status = stream->init(); status != 0) { return failure(status); }
    UvStream& connection = *stream.release();
    if (const int status = uv_accept(&raw_.stream, &connection.raw_.stream); status != 0) {
        connection.close();
        return failure(status);
    }
    return {.handle = host_.handles->add(connection)};
}

Submission UvStream::configure(const Operation& operation, const SourceOptions& options) {
    int status = UV_ENOTSUP;
    if (kind == HandleKind::tcp && operation.option == HandleOption::no_delay) {
        status = uv_tcp_nodelay(&raw_.tcp, operation.amount != 0 ? 1 : 0);
    } else if (kind == HandleKind::tcp && operation.option == HandleOption::keep_alive) {
        status = uv_tcp_keepalive(&raw_.tcp, operation.amount > 0 ? 1 : 0, static_cast<unsigned>(operation.amount));
    } else if (kind == HandleKind::tty && operation.option == HandleOption::raw_mode) {
        status = uv_tty_set_mode(&raw_.tty, operation.amount != 0 ? UV_TTY_MODE_RAW : UV_TTY_MODE_NORMAL);
    }
    return answer(status < 0 ? failure(status) : Completion{}, options);
}

}  // namespace heddle::real::detail
