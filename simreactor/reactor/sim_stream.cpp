// SPDX-License-Identifier: Apache-2.0
// Streams of the simulated reactor: detail/sim_stream.hpp says what they keep.
#include "heddle/simreactor/reactor/detail/sim_stream.hpp"

#include <algorithm>
#include <cerrno>

#include "heddle/core/base/error.hpp"

namespace heddle::sim::detail {
namespace {

Completion failure(std::int64_t result) {
    return {.transferred = -1, .error = static_cast<std::int32_t>(-result)};
}

/// Leaves out what was written.
void skip(std::vector<std::span<const std::byte>>& pieces, std::size_t count) {
    std::size_t whole = 0;
    while (whole < pieces.size() && pieces[whole].size() <= count) { count -= pieces[whole++].size(); }
    pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(whole));
    if (count > 0) { pieces.front() = pieces.front().subspan(count); }
}

}  // namespace

Submission SimStream::submit(const Operation& operation, const SourceOptions& options) {
    socket_->name(io_.label_for(options, operation.kind));
    switch (operation.kind) {
        case OperationKind::read: return read(operation, options);
        case OperationKind::write: return write(operation, options);
        case OperationKind::shutdown: return shut_down(options);
        case OperationKind::connect: return connect(operation, options);
        case OperationKind::accept: return accept(options);
        case OperationKind::bind: {
            if (operation.address == nullptr) { throw AsyncError("bind needs an address"); }
            const int error = socket_->bind(*operation.address);
            return answer(error < 0 ? failure(error) : Completion{}, options, operation.kind);
        }
        case OperationKind::listen: {
            const int error = socket_->listen(static_cast<int>(std::clamp<std::int64_t>(operation.amount, 1, 65'535)));
            return answer(error < 0 ? failure(error) : Completion{}, options, operation.kind);
        }
        case OperationKind::configure: {  // taken, and without effect: bytes are sent at once, and peers are not asked
            const bool known = kind == HandleKind::tcp && (operation.option == HandleOption::no_delay ||
                                                           operation.option == HandleOption::keep_alive);
            return answer(known ? Completion{} : failure(-ENOTSUP), options, operation.kind);
        }
        default: refuse(operation);
    }
}

// ── reading ──

bool SimStream::read_now(std::span<const std::span<std::byte>> buffers, StreamSocket::Patience patience,
                         Completion& completion) {
    const bool wants_none =
        std::ranges::all_of(buffers, [](const std::span<std::byte>& buffer) { return buffer.empty(); });
    if (wants_none) {  // only whether there is something (RCT-48)
        if (!can_read()) { return false; }
        completion = {.end_of_stream = socket_->available() == 0 && socket_->is_connected()};
        return true;
    }
    const std::int64_t result = socket_->read(buffers, patience);
    if (result == -EAGAIN) { return false; }
    completion = result < 0 ? failure(result) : Completion{.transferred = result, .end_of_stream = result == 0};
    return true;
}

Submission SimStream::read(const Operation& operation, const SourceOptions& options) {
    if (reader_ != 0) {
        throw AsyncError("a read of this " + std::string(to_string(kind)) + " handle is in progress (RCT-42)");
    }
    std::vector<std::span<std::byte>> buffers(operation.buffers.begin(), operation.buffers.end());
    if (operation.buffer.data() != nullptr || operation.buffers.empty()) {
        buffers.insert(buffers.begin(), operation.buffer);
    }
    if (!socket_->is_connected() && !can_read()) { return answer(failure(-ENOTCONN), options, operation.kind); }
    const bool wants_none =
        std::ranges::all_of(buffers, [](const std::span<std::byte>& buffer) { return buffer.empty(); });
    if (!std::exchange(is_late_, false) && can_read() && (wants_none ? has_turn() : take_turn())) {
        Completion completion;
        if (read_now(buffers, StreamSocket::Patience::may_wait, completion)) { return {.done = completion}; }
    }
    reader_ = io_.open_request(this, operation.kind, options);
    Request& request = *io_.find_request(reader_);
    request.buffers = std::move(buffers);
    if (can_read()) { io_.wake(reader_); }
    return {.request = request.source};
}

std::int64_t SimStream::try_read(std::span<std::byte> buffer) {
    if (reader_ != 0 || buffer.empty() || !can_read() || !take_turn()) { return -EAGAIN; }
    const std::span<std::byte> buffers[] = {buffer};
    const std::int64_t got = socket_->read(buffers, StreamSocket::Patience::may_wait);
    is_late_ = got == -EAGAIN;
    return got;
}

// ── writing ──

std::int64_t SimStream::try_write(std::span<const std::byte> data) {
    if (!writers_.empty() || data.empty() || !take_turn()) { return -EAGAIN; }
    const std::span<const std::byte> pieces[] = {data};
    return socket_->write(pieces);
}

Submission SimStream::write(const Operation& operation, const SourceOptions& options) {
    std::vector<std::span<const std::byte>> pieces;
    std::size_t total = 0;
    const auto add = [&](std::span<const std::byte> piece) {
        if (piece.empty()) { return; }
        pieces.push_back(piece);
        total += piece.size();
    };
    add(operation.data);
    for (const std::span<const std::byte> piece : operation.pieces) { add(piece); }
    if (total == 0) { return answer({}, options, operation.kind); }

    std::size_t done = 0;
    if (writers_.empty() && take_turn()) {
        const std::int64_t result = socket_->write(pieces);
        if (result < 0 && result != -EAGAIN) { return {.done = failure(result)}; }
        done = result < 0 ? 0 : static_cast<std::size_t>(result);
        if (done == total) { return {.done = {.transferred = static_cast<std::int64_t>(total)}}; }
    }
    const RequestKey key = io_.open_request(this, operation.kind, options);
    skip(pieces, done);
    Request& request = *io_.find_request(key);
    request.pieces = std::move(pieces);
    request.total = total;
    request.done = done;
    writers_.push_back(key);
    if (writers_.size() == 1 && is_ready(key)) { io_.wake(key); }
    return {.request = request.source};
}

Submission SimStream::shut_down(const SourceOptions& options) {
    if (writers_.empty()) {
        const int error = socket_->shut_down();
        return answer(error < 0 ? failure(error) : Completion{}, options, OperationKind::shutdown);
    }
    const RequestKey key = io_.open_request(this, OperationKind::shutdown, options);
    writers_.push_back(key);
    return {.request = io_.source_of(key)};
}

void SimStream::go_on_writing(RequestKey key) {
    Request& request = *io_.find_request(key);
    std::int64_t result = 0;
    if (request.kind == OperationKind::shutdown) {
        result = io_.in_kernel([this] { return socket_->shut_down(); });
    } else {
        result = io_.in_kernel([&] { return socket_->write(request.pieces); });
        if (result > 0) {
            request.done += static_cast<std::size_t>(result);
            skip(request.pieces, static_cast<std::size_t>(result));
        }
        if (result == -EAGAIN || (result > 0 && request.done < request.total)) {
            if (is_ready(key)) { io_.wake(key); }
            if (result > 0) { io_.tell_part(key); }  // IO4
            return;
        }
    }
    const Completion completion =
        result < 0 ? failure(result) : Completion{.transferred = static_cast<std::int64_t>(request.total)};
    writers_.pop_front();
    if (!writers_.empty() && is_ready(writers_.front())) { io_.wake(writers_.front()); }
    io_.finish(key, completion);
}

// ── connecting and accepting ──

Submission SimStream::connect(const Operation& operation, const SourceOptions& options) {
    if (operation.address == nullptr) { throw AsyncError("connect needs an address"); }
    if (connector_ != 0) { throw AsyncError("a connect of this handle is in progress"); }
    const int result = socket_->connect(*operation.address);
    if (result < 0 && result != -EINPROGRESS) {
        if (result == -ENOENT || result == -ECONNREFUSED || result == -EAGAIN) {  // ST3
            return {.request = io_.open_deferred(failure(result), options, operation.kind)};
        }
        return answer(failure(result), options, operation.kind);
    }
    connector_ = io_.open_request(this, operation.kind, options);
    if (is_ready(connector_)) { io_.wake(connector_); }
    return {.request = io_.source_of(connector_)};
}

bool SimStream::accept_now(Completion& completion) {
    int error = 0;
    const std::shared_ptr<StreamSocket> connection = socket_->accept(error);
    if (error == -EAGAIN) { return false; }
    if (connection == nullptr) {
        completion = failure(error);
        return true;
    }
    int refused = 0;
    const HandleId handle = io_.open_stream(connection, kind, refused);
    if (refused != 0) {
        connection->abort();
        connection->close();
        completion = failure(-refused);
        return true;
    }
    completion = {.handle = handle};
    return true;
}

Submission SimStream::accept(const SourceOptions& options) {
    if (!socket_->is_listening()) { throw AsyncError("accept needs a handle that listens"); }
    if (acceptors_.empty() && can_read() && take_turn()) {
        Completion completion;
        if (accept_now(completion)) { return {.done = completion}; }
    }
    const RequestKey key = io_.open_request(this, OperationKind::accept, options);
    acceptors_.push_back(key);
    if (is_ready(key)) { io_.wake(key); }
    return {.request = io_.source_of(key)};
}

// ── what waits ──

bool SimStream::is_ready(RequestKey key) const {
    if (key == reader_) { return can_read(); }
    if (key == connector_) { return !socket_->is_connecting(); }
    if (!acceptors_.empty() && key == acceptors_.front()) { return can_read(); }
    if (writers_.empty() || key != writers_.front()) { return false; }
    return can_write() || (!socket_->is_connected() && !socket_->is_connecting());
}

void SimStream::on_ready() {
    const auto look = [this](RequestKey key) {
        if (key != 0 && is_ready(key)) { io_.wake(key); }
    };
    look(connector_);
    look(reader_);
    if (!acceptors_.empty()) { look(acceptors_.front()); }
    if (!writers_.empty()) { look(writers_.front()); }
}

void SimStream::go_on(RequestKey key) {
    if (key == reader_) {
        Request& request = *io_.find_request(key);
        Completion completion;
        const bool is_done = io_.in_kernel(
            [&] { return read_now(request.buffers, StreamSocket::Patience::now, completion); });
        if (!is_done) { return; }
        reader_ = 0;
        io_.finish(key, completion);
    } else if (key == connector_) {
        connector_ = 0;
        const int error = socket_->take_error();
        if (!writers_.empty() && is_ready(writers_.front())) { io_.wake(writers_.front()); }
        io_.finish(key, error != 0 ? failure(-error) : Completion{});
    } else if (!acceptors_.empty() && key == acceptors_.front()) {
        Completion completion;
        if (!io_.in_kernel([&] { return accept_now(completion); })) { return; }
        acceptors_.pop_front();
        if (!acceptors_.empty() && is_ready(acceptors_.front())) { io_.wake(acceptors_.front()); }
        io_.finish(key, completion);
    } else {
        go_on_writing(key);
    }
}

bool SimStream::forget(RequestKey key) {
    if (key == reader_) {
        reader_ = 0;
    } else if (key == connector_) {
        connector_ = 0;  // the connection comes about, or not, without anybody who waits for it
    } else {
        std::erase(acceptors_, key);
        const bool was_first = !writers_.empty() && writers_.front() == key;
        std::erase(writers_, key);
        if (was_first && !writers_.empty() && is_ready(writers_.front())) { io_.wake(writers_.front()); }
    }
    if (!acceptors_.empty() && is_ready(acceptors_.front())) { io_.wake(acceptors_.front()); }
    return true;
}

HandleInfo SimStream::info() const {
    Machine& machine = socket_->machine();
    machine.touch(machine.ports_cell(), TouchMode::read);
    return {.kind = kind, .descriptor = descriptor(), .local = socket_->local(), .peer = socket_->peer()};
}

void SimStream::close() {
    const Completion canceled{.transferred = -1, .error = ECANCELED};
    socket_->watch(nullptr);
    for (const RequestKey key : {reader_, connector_}) {
        if (key != 0) { io_.defer(key, canceled); }
    }
    for (const RequestKey key : acceptors_) { io_.defer(key, canceled); }
    for (const RequestKey key : writers_) { io_.defer(key, canceled); }
    reader_ = connector_ = 0;
    acceptors_.clear();
    writers_.clear();
    static_cast<void>(io_.machine().close(descriptor()));
}

}  // namespace heddle::sim::detail
