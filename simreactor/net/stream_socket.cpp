// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/net/stream_socket.hpp"

#include <cerrno>
#include <utility>
#include <vector>

#include "heddle/simreactor/net/network.hpp"

namespace heddle::sim {
namespace {

constexpr std::size_t local_path_max = 107;  // of the operating system's own address

bool is_internet(const Address& address) {
    return address.family == AddressFamily::ip4 || address.family == AddressFamily::ip6;
}

Label named(Label label, std::string_view what) { return Label{hash_mix(hash_text(what), label.value)}; }

}  // namespace

// ── names ──

int StreamSocket::bind(const Address& address) {
    if (kind_ == StreamKind::tcp ? !is_internet(address) : address.family != AddressFamily::local) {
        return -EAFNOSUPPORT;
    }
    if (is_bound_ || state_ != State::fresh) { return -EINVAL; }
    Address wanted = address;
    if (kind_ == StreamKind::tcp) {
        machine_.touch(address.port == 0 ? machine_.ports_cell() : machine_.port_cell(address.port),
                       address.port == 0 ? TouchMode::add : TouchMode::write);
        if (const int error = machine_.bind(Transport::stream, wanted, *this); error != 0) { return error; }
    } else {
        if (address.path.size() > local_path_max) { return -ENAMETOOLONG; }
        machine_.touch(machine_.path_cell(address.path), TouchMode::write);
        if (!machine_.local_sockets().emplace(address.path, this).second) { return -EADDRINUSE; }
    }
    local_ = wanted;
    is_bound_ = true;
    return 0;
}

void StreamSocket::let_go_of_name() {
    if (!std::exchange(is_bound_, false)) { return; }
    if (kind_ == StreamKind::tcp) {
        machine_.touch(machine_.port_cell(local_.port), TouchMode::write);
        machine_.unbind(Transport::stream, local_, *this);
    } else {
        machine_.touch(machine_.path_cell(local_.path), TouchMode::write);
        machine_.local_sockets().erase(local_.path);
    }
}

int StreamSocket::listen(int backlog) {
    if (state_ == State::connecting || state_ == State::connected || kind_ == StreamKind::pipe) { return -EINVAL; }
    if (!is_bound_) {
        if (kind_ != StreamKind::tcp) { return -EINVAL; }
        if (const int error = bind(Address::ip("0.0.0.0", 0)); error != 0) { return error; }
    }
    name(named(machine_.label(), local_.text()));
    machine_.touch(queue_cell(), TouchMode::write);
    state_ = State::listening;
    backlog_ = static_cast<std::size_t>(std::max(backlog, 1)) + 1;  // Linux waits with one more than it was told
    return 0;
}

// ── connecting ──

int StreamSocket::connect(const Address& to) {
    if (kind_ == StreamKind::tcp ? !is_internet(to) : to.family != AddressFamily::local) { return -EAFNOSUPPORT; }
    if (state_ == State::connected) { return -EISCONN; }
    if (state_ == State::connecting) { return -EALREADY; }
    if (state_ != State::fresh || kind_ == StreamKind::pipe) { return -EINVAL; }
    name(named(machine_.label(), "socket"));
    if (kind_ == StreamKind::local) {
        if (to.path.size() > local_path_max) { return -ENAMETOOLONG; }
        machine_.touch(machine_.path_cell(to.path), TouchMode::read);
        const auto found = machine_.local_sockets().find(to.path);
        if (found == machine_.local_sockets().end()) { return -ENOENT; }
        StreamSocket& listener = *found->second;
        if (listener.state_ != State::listening) { return -ECONNREFUSED; }
        if (machine_.fault({FaultKind::connect_refused}, label()) != FaultKind::count_) { return -ECONNREFUSED; }
        if (listener.queue_.size() >= listener.backlog_) { return -EAGAIN; }
        peer_ = to;
        knock(machine_);
        return 0;
    }
    if (!is_bound_) {
        local_ = machine_.source_address(to);
        local_.port = machine_.free_port(Transport::stream);
        machine_.touch(machine_.ports_cell(), TouchMode::add);
    }
    peer_ = to;
    state_ = State::connecting;
    attempts_ = 0;
    switch (machine_.fault({FaultKind::connect_refused, FaultKind::connect_timed_out, FaultKind::connect_unreachable},
                           label())) {
        case FaultKind::connect_refused: failed(ECONNREFUSED); break;
        case FaultKind::connect_timed_out: failed(ETIMEDOUT); break;
        case FaultKind::connect_unreachable: failed(EHOSTUNREACH); break;
        default: attempt(); break;
    }
    return -EINPROGRESS;
}

void StreamSocket::attempt() {
    Machine* const target = machine_.network().find(machine_, peer_);
    if (target == nullptr) {
        failed(EHOSTUNREACH);
        return;
    }
    const std::shared_ptr<StreamSocket> self = shared_from_this();
    machine_.network().send(
        machine_, *target, Network::IfLost::never, [self, target] { self->knock(*target); },
        [self] { self->attempt_was_lost(); });
}

void StreamSocket::attempt_was_lost() {
    if (state_ != State::connecting || !machine_.is_up()) { return; }
    const NetworkOptions& options = machine_.network().options();
    if (++attempts_ >= options.connect_attempts) {
        failed(ETIMEDOUT);
        return;
    }
    const Duration wait = options.connect_retry * (1LL << (attempts_ - 1));
    machine_.host().later(Latency::exactly(wait), {}, [self = shared_from_this()] {
        if (self->state_ == State::connecting) { self->attempt(); }
    });
}

/// The attempt has come to its target: SS1.
void StreamSocket::knock(Machine& target) {
    if (state_ == State::closed) { return; }
    const std::shared_ptr<StreamSocket> self = shared_from_this();
    Network& network = machine_.network();
    StreamSocket* listener = nullptr;
    if (kind_ == StreamKind::local) {
        listener = machine_.local_sockets().at(peer_.path);
    } else {
        target.touch(target.port_cell(peer_.port), TouchMode::read);
        listener = dynamic_cast<StreamSocket*>(target.bound(Transport::stream, peer_));
    }
    if (listener == nullptr || listener->state_ != State::listening) {
        network.send(target, machine_, Network::IfLost::again, [self] { self->failed(ECONNREFUSED); });
        return;
    }
    target.touch(listener->queue_cell(), TouchMode::write);
    if (listener->queue_.size() >= listener->backlog_) {
        attempt_was_lost();
        return;
    }
    const auto server = std::make_shared<StreamSocket>(target, kind_);
    server->name(target.host().named_below(label(), "accepted"));
    server->local_ = peer_;
    server->peer_ = local_;
    server->state_ = State::connected;
    const std::size_t capacity = network.options().stream_buffer;
    server->in_ = std::make_shared<Conduit>(machine_, target, capacity, named(label(), "out"));
    server->out_ = std::make_shared<Conduit>(target, machine_, capacity, named(label(), "in"));
    server->in_->reader = server.get();
    server->out_->writer = server.get();
    listener->queue_.push_back(server);
    listener->changed();
    if (kind_ == StreamKind::local) {
        established(*server);
        return;
    }
    network.send(target, machine_, Network::IfLost::again, [self, server] { self->established(*server); });
}

void StreamSocket::established(StreamSocket& server) {
    const std::shared_ptr<Conduit> in = server.out_;
    const std::shared_ptr<Conduit> out = server.in_;
    if (state_ == State::closed) {
        send_reset(out, machine_);
        return;
    }
    in_ = in;
    out_ = out;
    in_->reader = this;
    out_->writer = this;
    state_ = State::connected;
    changed();
}

void StreamSocket::failed(int error) {
    if (state_ != State::connecting) { return; }
    state_ = State::fresh;
    error_ = error;
    changed();
}

std::shared_ptr<StreamSocket> StreamSocket::accept(int& error) {
    error = -EINVAL;
    if (state_ != State::listening) { return nullptr; }
    machine_.touch(queue_cell(), TouchMode::write);
    error = -EAGAIN;
    if (queue_.empty()) { return nullptr; }
    switch (machine_.fault({FaultKind::connection_aborted, FaultKind::descriptors_exhausted}, label())) {
        case FaultKind::connection_aborted: {
            const std::shared_ptr<StreamSocket> gone = std::move(queue_.front());
            queue_.pop_front();
            gone->abort();
            error = -ECONNABORTED;
            return nullptr;
        }
        case FaultKind::descriptors_exhausted: error = -EMFILE; return nullptr;
        default: break;
    }
    error = 0;
    std::shared_ptr<StreamSocket> connection = std::move(queue_.front());
    queue_.pop_front();
    return connection;
}

void StreamSocket::join_one_way(StreamSocket& reader, StreamSocket& writer, std::size_t capacity, Label label) {
    const auto conduit = std::make_shared<Conduit>(writer.machine_, reader.machine_, capacity, label);
    conduit->reader = &reader;
    conduit->writer = &writer;
    reader.in_ = conduit;
    writer.out_ = conduit;
    reader.state_ = writer.state_ = State::connected;
}

void StreamSocket::join(StreamSocket& a, StreamSocket& b, std::size_t capacity, Label label) {
    join_one_way(a, b, capacity, named(label, "in"));
    join_one_way(b, a, capacity, named(label, "out"));
}

// ── bytes ──

/// CP-PARTIAL: how much of what could be moved is moved. Production moves all of it.
std::size_t StreamSocket::part(std::size_t whole, std::string_view name, bool may_be_none) {
    const std::uint32_t splits = machine_.network().options().splits;
    if (splits == 0 || !machine_.is_up() || (whole < 2 && !may_be_none)) { return whole; }
    const std::size_t parts[] = {whole, 1, whole / 2, whole - 1};
    const bool any = whole <= splits;
    const auto sizes = static_cast<std::uint32_t>(any ? whole : std::size(parts));
    const std::uint32_t answer = machine_.host().choose(name, sizes + (may_be_none ? 1 : 0), label());
    if (answer == sizes) { return 0; }
    if (answer == 0) { return whole; }
    return any ? answer : parts[answer];
}

std::int64_t StreamSocket::read(std::span<const std::span<std::byte>> buffers, Patience patience) {
    if (in_ == nullptr) {
        if (const int error = take_error(); error != 0) { return -error; }
        return -ENOTCONN;
    }
    touch(*in_);
    if (in_->arrived.empty()) {
        if (const int error = take_error(); error != 0) { return -error; }
        return in_->end_arrived ? 0 : -EAGAIN;
    }
    std::size_t room = 0;
    for (const std::span<std::byte> buffer : buffers) { room += buffer.size(); }
    if (room == 0) { return 0; }
    if (kind_ == StreamKind::tcp &&
        machine_.fault({FaultKind::connection_reset}, label()) == FaultKind::connection_reset) {
        abort();
        return -ECONNRESET;
    }
    const bool may_wait = patience == Patience::may_wait && !waited_;
    std::size_t left = part(std::min(room, in_->arrived.size()), "read-part", may_wait);
    waited_ = left == 0;
    if (left == 0) { return -EAGAIN; }
    const auto total = static_cast<std::int64_t>(left);
    const bool was_full = in_->room() == 0;
    for (const std::span<std::byte> buffer : buffers) {
        const std::size_t some = std::min(left, buffer.size());
        in_->arrived.take(buffer.first(some));
        left -= some;
    }
    if (was_full && in_->writer != nullptr) { in_->writer->changed(); }
    return total;
}

std::int64_t StreamSocket::write(std::span<const std::span<const std::byte>> pieces) {
    if (const int error = take_error(); error != 0) { return -error; }
    if (out_ == nullptr) { return state_ == State::connected || in_ != nullptr ? -EPIPE : -ENOTCONN; }
    touch(*out_);
    if (out_->end_sent) { return -EPIPE; }
    if (kind_ != StreamKind::tcp && out_->reader == nullptr) { return -EPIPE; }
    std::size_t size = 0;
    for (const std::span<const std::byte> piece : pieces) { size += piece.size(); }
    const std::size_t room = out_->room();
    if (room == 0) { return -EAGAIN; }
    if (kind_ == StreamKind::tcp &&
        machine_.fault({FaultKind::connection_reset}, label()) == FaultKind::connection_reset) {
        abort();
        return -ECONNRESET;
    }
    std::size_t left = part(std::min(size, room), "write-part", false);
    const auto total = static_cast<std::int64_t>(left);
    const std::shared_ptr<Conduit> conduit = out_;  // a reset may come back before this returns
    const bool instant = machine_.network().is_instant(machine_, *conduit->target);
    std::vector<std::byte> copy;
    for (const std::span<const std::byte> piece : pieces) {
        const std::span<const std::byte> some = piece.first(std::min(left, piece.size()));
        left -= some.size();
        if (instant) {
            arrive(conduit, some);
        } else {
            copy.insert(copy.end(), some.begin(), some.end());
        }
    }
    if (!copy.empty()) {
        conduit->under_way += copy.size();
        machine_.network().send(machine_, *conduit->target, Network::IfLost::again,
                                [conduit, data = std::move(copy)] {
                                    conduit->under_way -= data.size();
                                    conduit->target->touch(conduit->bytes_cell(), TouchMode::write);
                                    arrive(conduit, data);
                                });
    }
    return total;
}

void StreamSocket::arrive(const std::shared_ptr<Conduit>& conduit, std::span<const std::byte> data) {
    if (data.empty()) { return; }
    if (conduit->reader == nullptr) {
        send_reset(conduit, *conduit->target);  // SS3
        return;
    }
    conduit->arrived.append(data);
    conduit->reader->waited_ = false;
    conduit->reader->changed();
}

// ── ends ──

int StreamSocket::shut_down() {
    if (state_ != State::connected || out_ == nullptr) { return -ENOTCONN; }
    send_end();
    changed();
    return 0;
}

void StreamSocket::send_end() {
    if (std::exchange(out_->end_sent, true)) { return; }
    touch(*out_);
    const auto arrives = [conduit = out_] {
        conduit->end_arrived = true;
        if (conduit->reader != nullptr) { conduit->reader->changed(); }
    };
    if (machine_.network().is_instant(machine_, *out_->target)) {
        arrives();
    } else {
        machine_.network().send(machine_, *out_->target, Network::IfLost::again, arrives);
    }
}

/// Tells the writer of a conduit that its bytes have nowhere to go.
void StreamSocket::send_reset(const std::shared_ptr<Conduit>& to_whom, Machine& from) {
    if (!from.is_up()) { return; }
    const auto arrives = [to_whom] {
        if (to_whom->writer != nullptr) { to_whom->writer->be_reset(ECONNRESET); }
    };
    if (from.network().is_instant(from, *to_whom->source)) {
        arrives();
    } else {
        from.network().send(from, *to_whom->source, Network::IfLost::again, arrives);
    }
}

void StreamSocket::be_reset(int error) {
    if (state_ != State::connected || (in_ != nullptr && in_->end_arrived && out_ != nullptr && out_->end_sent)) {
        return;  // it is over both ways: there is nothing left to reset
    }
    // Linux calls it a broken pipe where the peer had ended its side before.
    error_ = in_ != nullptr && in_->end_arrived ? EPIPE : error;
    if (in_ != nullptr) {
        touch(*in_);
        in_->end_arrived = true;
    }
    if (out_ != nullptr) {
        touch(*out_);
        out_->end_sent = true;
    }
    changed();
}

void StreamSocket::abort() {
    if (state_ != State::connected) { return; }
    if (in_ != nullptr) {
        send_reset(in_, machine_);
        in_->end_arrived = true;
    }
    if (out_ != nullptr) { out_->end_sent = true; }
    changed();
}

void StreamSocket::vanish() {
    for (const std::shared_ptr<Conduit>& conduit : {in_, out_}) {
        if (conduit == nullptr) { continue; }
        if (conduit->reader == this) { conduit->reader = nullptr; }
        if (conduit->writer == this) { conduit->writer = nullptr; }
    }
    for (const std::shared_ptr<StreamSocket>& waiting : queue_) { waiting->vanish(); }
    queue_.clear();
    let_go_of_name();
    state_ = State::closed;
    in_ = out_ = nullptr;
}

void StreamSocket::close() {
    if (state_ == State::closed) { return; }
    const bool was_connected = state_ == State::connected;
    if (state_ == State::listening) { machine_.touch(queue_cell(), TouchMode::write); }
    std::deque<std::shared_ptr<StreamSocket>> waiting = std::move(queue_);
    queue_.clear();
    let_go_of_name();
    state_ = State::closed;
    for (const std::shared_ptr<StreamSocket>& connection : waiting) {
        connection->abort();  // nobody will ever accept it
        connection->close();
    }
    if (!was_connected || !machine_.is_up()) {
        vanish();
        return;
    }
    const std::shared_ptr<Conduit> in = std::exchange(in_, nullptr);
    const std::shared_ptr<Conduit> out = out_;
    if (in != nullptr) {
        touch(*in);
        in->reader = nullptr;
        if (!in->arrived.empty() && kind_ != StreamKind::pipe) {
            send_reset(in, machine_);  // SS3
            if (out != nullptr) { out->end_sent = true; }
        } else if (kind_ != StreamKind::tcp && in->writer != nullptr) {
            in->writer->changed();  // it finds a broken pipe
        }
    }
    if (out != nullptr) {
        out->writer = nullptr;
        send_end();
    }
    out_ = nullptr;
}

ReadyMask StreamSocket::readiness() const {
    ReadyMask ready = 0;
    if (state_ == State::listening) { return queue_.empty() ? 0 : ReadyMask{ready_read}; }
    if (error_ != 0) { return ready_read | ready_write; }
    if (state_ != State::connected) { return 0; }
    if (in_ != nullptr && (!in_->arrived.empty() || in_->end_arrived)) { ready |= ready_read; }
    const bool broken = out_ != nullptr && kind_ != StreamKind::tcp && out_->reader == nullptr;
    if (out_ != nullptr && (broken || out_->end_sent || out_->room() > 0)) { ready |= ready_write; }
    return ready;
}

}  // namespace heddle::sim
