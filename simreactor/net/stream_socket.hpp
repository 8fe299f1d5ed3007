// SPDX-License-Identifier: Apache-2.0
// StreamSocket: TCP, sockets of the local family, and the ends of pipes.
//
//   fresh ─bind─▶ ─listen─▶ listening ─accept─▶ (a connected one)          each end: Conduit in, Conduit out
//     └──connect──▶ connecting ──▶ connected ──shutdown, reset, close──▶ closed
//                        └─ refused, unreachable, timed out: an error to be taken, and fresh again
//
// SS1  A connection exists once the listener's kernel has taken it into its queue; accepting only hands it out.
// SS2  What has arrived is read before an error or the end is. An error is told once; then reading is at the end and
//      writing is a broken pipe.
// SS3  Closing with something unread, and sending to an end that is closed, reset a connection: its peer hears of it. Of a
//      local socket the writer hears at once.
// SS4  The end arrives after everything written before it.
//
// How it differs from Linux: one buffer per direction, of a fixed size, in place of two that grow; no urgent data, no
// linger, no simultaneous open; a full backlog makes the client try again, as there, after 1, 2, 4 … seconds.
// Choice points: `read-part` and `write-part` (how much of it, CP-PARTIAL; a read may also find that nothing is there
// yet, if it asks for that); faults of connect, accept, read and write.
#pragma once

#include <deque>
#include <memory>
#include <span>

#include "heddle/core/seam/address.hpp"
#include "heddle/simreactor/net/conduit.hpp"
#include "heddle/simreactor/net/kernel.hpp"
#include "heddle/simreactor/net/machine.hpp"

namespace heddle::sim {

enum class StreamKind : std::uint8_t { tcp, local, pipe };

class StreamSocket final : public KernelObject, public std::enable_shared_from_this<StreamSocket> {
public:
    StreamSocket(Machine& machine, StreamKind kind) : machine_(machine), kind_(kind) {}
    ~StreamSocket() override { close(); }

    [[nodiscard]] StreamKind kind() const { return kind_; }
    [[nodiscard]] Machine& machine() { return machine_; }
    [[nodiscard]] const Address& local() const { return local_; }
    [[nodiscard]] const Address& peer() const { return peer_; }

    /// @returns 0 or -EAFNOSUPPORT, -EINVAL (bound already), -ENAMETOOLONG, -EADDRINUSE, -EADDRNOTAVAIL
    int bind(const Address& address);
    /// @param backlog  connections that wait to be accepted; at least 1 @returns 0 or -EINVAL, -EADDRINUSE
    int listen(int backlog);
    [[nodiscard]] bool is_listening() const { return state_ == State::listening; }
    /// @returns 0 (local sockets), -EINPROGRESS: then it becomes writable and take_error says how it went; or an error
    int connect(const Address& to);
    [[nodiscard]] bool is_connecting() const { return state_ == State::connecting; }
    /// The error that is pending, a positive errno value, or 0; once.
    int take_error() { return std::exchange(error_, 0); }
    /// Null with `error`, a negative errno value: -EAGAIN, -ECONNABORTED, -EMFILE (the connection waits on).
    std::shared_ptr<StreamSocket> accept(int& error);

    enum class Patience : std::uint8_t {
        now,     ///< what is there is there
        may_wait ///< it may as well come later: -EAGAIN although something is there (once per arrival)
    };
    /// Into the buffers, one after the other. @returns bytes, 0 at the end, -EAGAIN, -ENOTCONN, or the pending error
    std::int64_t read(std::span<const std::span<std::byte>> buffers, Patience patience = Patience::now);
    /// @returns bytes (perhaps not all), -EAGAIN, -ENOTCONN, -EPIPE, or the pending error
    std::int64_t write(std::span<const std::span<const std::byte>> pieces);
    /// @returns 0 or -ENOTCONN
    int shut_down();
    /// Ends the connection at once; the peer is told.
    void abort();
    void close() override;
    /// Its machine is gone: as `close`, and nobody is told.
    void vanish();

    [[nodiscard]] ReadyMask readiness() const override;
    [[nodiscard]] bool is_connected() const { return state_ == State::connected; }
    /// Bytes that a read would find now.
    [[nodiscard]] std::size_t available() const { return in_ == nullptr ? 0 : in_->arrived.size(); }

    /// Joins two fresh ones of one machine or of two.
    static void join(StreamSocket& a, StreamSocket& b, std::size_t capacity, Label label);
    /// The same one way: a pipe.
    static void join_one_way(StreamSocket& reader, StreamSocket& writer, std::size_t capacity, Label label);

private:
    enum class State : std::uint8_t { fresh, listening, connecting, connected, closed };

    void attempt();
    void attempt_was_lost();
    void knock(Machine& target);
    void failed(int error);
    void established(StreamSocket& server);
    void be_reset(int error);
    [[nodiscard]] std::size_t part(std::size_t whole, std::string_view name, bool may_be_none);
    static void arrive(const std::shared_ptr<Conduit>& conduit, std::span<const std::byte> data);
    static void send_reset(const std::shared_ptr<Conduit>& to_whom, Machine& from);
    void send_end();
    void let_go_of_name();
    void touch(const Conduit& conduit) { machine_.touch(conduit.bytes_cell(), TouchMode::write); }
    [[nodiscard]] Cell queue_cell() const { return cell(label(), "backlog"); }

    Machine& machine_;
    StreamKind kind_;
    State state_ = State::fresh;
    bool is_bound_ = false;
    bool waited_ = false;  // a read has found nothing although something was there
    int error_ = 0;
    std::uint32_t attempts_ = 0;
    Address local_;
    Address peer_;
    std::shared_ptr<Conduit> in_;
    std::shared_ptr<Conduit> out_;
    std::size_t backlog_ = 0;
    std::deque<std::shared_ptr<StreamSocket>> queue_;  // listening: connections that nobody has accepted
};

}  // namespace heddle::sim
