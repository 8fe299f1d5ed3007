// SPDX-License-Identifier: Apache-2.0
// IoHandle: what streams, sockets and files of a program have in common: one owner, one close, errors that say what
// failed.
//
//   TcpStream, PipeStream, TtyStream ─▷ Stream ─▷ IoHandle ── HandleId ──▶ Reactor
//   TcpListener, PipeListener, UdpSocket, File ─▷ IoHandle
//
// H1  The last thing that happens to a handle is its close: by `close`, or by its destructor, which never suspends.
// H2  Closing wakes everybody who waits on the handle with an OperationError "closed" (RCT-47); later operations throw
//     AsyncError.
// H3  A handle belongs to the runtime in which it was made, and does not outlive that runtime's reactor.
// Operations are called in a coroutine of that runtime. They suspend unless the answer is there already, and each is
// one request.
// Errors: OperationError with the operation, the descriptor and the code; TimeoutError; OperationCanceled by a token;
// AsyncError for misuse. Choice points: those of the reactor.
#pragma once

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/io/io_error.hpp"
#include "heddle/core/io/io_options.hpp"
#include "heddle/core/run/scheduler.hpp"
#include "heddle/core/seam/operation.hpp"

namespace heddle {

namespace detail {
struct Performed;
}

class IoHandle {
public:
    IoHandle(IoHandle&& other) noexcept;
    IoHandle& operator=(IoHandle&& other) noexcept;
    ~IoHandle() { close(); }

    /// Idempotent. Suspends: no.
    void close() noexcept;
    [[nodiscard]] bool is_open() const { return static_cast<bool>(id_); }
    [[nodiscard]] HandleKind kind() const { return kind_; }
    /// -1 if there is none, or none yet.
    [[nodiscard]] int descriptor() const;
    /// The addresses of both ends, as far as they are known. Throws AsyncError if it is closed.
    [[nodiscard]] HandleInfo info() const;

protected:
    IoHandle() = default;
    IoHandle(Scheduler& scheduler, HandleKind kind, HandleId id) : scheduler_(&scheduler), id_(id), kind_(kind) {}
    /// Opens one in the current runtime. Throws OperationError.
    IoHandle(HandleKind kind, int descriptor, const char* operation);

    /// A descriptor that is to be taken over, as it is. Throws IoError if it is negative: -1 would ask for a new one.
    static int adopted(int descriptor);
    /// Runs one operation of this handle. Throws for whatever its completion calls an error.
    detail::Performed perform(Operation& operation, const IoOptions& options, SourceLocation at) const;
    [[noreturn]] void fail(OperationKind operation, int code, const std::string& subject = {}) const;
    [[nodiscard]] Scheduler& scheduler() const { return *scheduler_; }
    [[nodiscard]] HandleId id() const { return id_; }

private:
    Scheduler* scheduler_ = nullptr;
    HandleId id_{};
    HandleKind kind_ = HandleKind::none;
    int last_descriptor_ = -1;  // for the errors of those who were waiting when it was closed
};

}  // namespace heddle
