// SPDX-License-Identifier: Apache-2.0
// UvStream: TCP connections, pipes and terminals, and the listeners of the first two (RCT-40 to RCT-49).
//
//   read  ─▶ data known to be there? read it now ── else ─▶ stay armed ─▶ readable ─▶ into the reader's own buffer ─▶ completion
//                                                                               └── no buffer: completion, then try_read
//   write ─▶ uv_try_write ── all of it: done
//                      └── the rest waits in a queue ─▶ copied piece by piece, as the kernel takes it ─▶ completion
//
// S1  Reading stays armed between two reads, so that a read costs no system call of its own. Data that comes while
//     nobody reads stays in the kernel: libuv is given no buffer. When that happens twice in a row the watch is taken
//     back, and the next read looks first.
// S2  libuv only ever sees copies of what is written, at most `piece_size` bytes at a time: a writer that goes away
//     takes its memory with it (RCT-45). What was handed over already is sent all the same.
// S3  One reader; writers in the order of their submission, each whole (RCT-42, RCT-44). Shutdown comes after the
//     writers before it.
// S4  libuv's handle and its requests live until its close callback ran; what waits on a closed handle is answered in
//     the next tick.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include <uv.h>

#include "heddle/realreactor/detail/uv_request.hpp"

namespace heddle::real::detail {

class UvStream final : public UvHandle {
public:
    /// Throws: IoError. @param descriptor -1 for none
    static HandleId open(UvHost& host, HandleKind kind, int descriptor);

    Submission submit(const Operation& operation, const SourceOptions& options) override;
    SourceId wait_readable(SourceOwner& owner) override;
    void stop_waiting() override;
    std::int64_t try_read(std::span<std::byte> buffer) override;
    std::int64_t try_write(std::span<const std::byte> data) override;
    [[nodiscard]] int descriptor() const override;
    [[nodiscard]] HandleInfo info() const override;
    void close() override;

private:
    static constexpr std::size_t piece_size = 64 * 1024;

    class Reader final : public UvRequest {
    public:
        explicit Reader(UvStream& of) : stream(of) {}
        bool on_abandoned() override;
        void on_cancel() override;
        UvStream& stream;
        std::span<std::byte> buffer{};
        std::span<const std::span<std::byte>> buffers{};
    };
    /// A write, or a shutdown, that waits for its turn.
    struct Writer final : UvRequest {
        bool on_abandoned() override;
        void on_cancel() override;
        UvStream* stream = nullptr;  // null once the stream has let go of it
        bool is_shutdown = false;
        bool handed_over = false;  // libuv has a piece of it, or its shutdown
        bool abandoned = false;
        std::vector<std::span<const std::byte>> pieces{};
        std::size_t total = 0;
        std::size_t done = 0;
        std::size_t in_hand = 0;
        std::vector<std::byte> copy{};
        uv_write_t write{};
        uv_shutdown_t shutdown{};
    };
    struct Connector final : UvRequest {
        bool on_abandoned() override;
        void on_cancel() override {}  // only closing its handle ends it
        UvStream* stream = nullptr;
        uv_connect_t connect{};
    };
    class Acceptor final : public UvRequest {
    public:
        bool on_abandoned() override;
        void on_cancel() override;
        UvStream* stream = nullptr;
    };
    struct Listening {
        std::list<std::unique_ptr<Acceptor>> waiting;
        bool has_connection = false;  // libuv holds one, and listens no further until it is taken
        int error = 0;                // a failure that nobody waited for
    };
    union Raw {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
        uv_tty_t tty;
    };

    UvStream(UvHost& host, HandleKind handle_kind) : UvHandle(host, handle_kind), reader_(*this) {}
    int init();
    int adopt(int descriptor);

    void require_no_reader() const;
    /// @returns 0 or a status of libuv
    int start_reading();
    Submission read(const Operation& operation, const SourceOptions& options);
    void tell_waiter(int error);
    void on_readable(ssize_t count, std::size_t offered);
    void stop_reading();
    /// Reads what is there. @returns false if nothing is
    bool read_now(std::span<std::byte> buffer, std::span<const std::span<std::byte>> buffers, Completion& completion);

    Submission write(const Operation& operation, const SourceOptions& options);
    Submission shut_down(const SourceOptions& options);
    void pump();
    void hand_over(Writer& writer);
    void on_handed_over(Writer& writer, int status);
    void end_first(const Completion& completion);

    Submission connect(const Operation& operation, const SourceOptions& options);
    Submission bind(const Operation& operation, const SourceOptions& options);
    Submission listen(const Operation& operation, const SourceOptions& options);
    Submission accept(const SourceOptions& options);
    void on_connection(int status);
    Completion take_connection();
    Submission configure(const Operation& operation, const SourceOptions& options);

    Raw raw_{};
    Reader reader_;
    SourceOwner* waiter_ = nullptr;  // of wait_readable; no reader then
    bool armed_ = false;             // libuv reads
    bool ended_ = false;             // the end was seen (RCT-42)
    bool more_expected_ = false;     // data is in the kernel, as far as we know
    bool passed_over_ = false;       // an event came while nobody read, and was let go by (S1)
    bool closed_ = false;
    int kept_descriptor_ = -1;  // a terminal's own, which libuv has made a second one of
    std::list<std::unique_ptr<Writer>> writers_;
    std::unique_ptr<Connector> connector_;
    std::unique_ptr<Listening> listening_;
};

}  // namespace heddle::real::detail
