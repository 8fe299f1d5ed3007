// SPDX-License-Identifier: Apache-2.0
// Operation and Completion: what a program asks of the outside world, and the one answer that each request gets
// (RCT-41).
//
//   Reactor::submit(Operation) ──▶ Submission ── request: Delivery{kind = operation, completion} once, or silence after its close
//                                           └── done: the answer itself; there is no request, and nothing follows
//
// O1  Values only. What an Operation names by pointer, span or view is borrowed for the call of `submit`, but for the
//     bytes that are read into or written from: those until the completion, or until the request was closed (RCT-45).
// O2  A closed request never touches its caller's memory again, whatever a worker or a kernel is still doing for it.
// O3  A backend may answer at once whatever would not have waited, and may as well answer later: programs cannot rely
//     on either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/base/ids.hpp"
#include "heddle/core/base/time.hpp"
#include "heddle/core/seam/address.hpp"
#include "heddle/core/seam/footprint.hpp"

namespace heddle {

/// A stream, socket or file that a reactor holds for the program; never reused while the reactor lives.
using HandleId = Id<struct HandleIdTag>;

enum class HandleKind : std::uint8_t { none, tcp, pipe, tty, udp, file };
[[nodiscard]] std::string_view to_string(HandleKind kind);

enum class OperationKind : std::uint8_t {
    none,
    task,  ///< a function on a worker thread (RCT-59): Reactor::submit_task
    read,  ///< stream, file: into `buffer`, or into `buffers` one after the other. No buffer: waits until readable (RCT-48)
    write,            ///< stream, file: all of `data`, or of `pieces` one after the other
    shutdown,         ///< stream: the peer sees the end after everything written before
    close,            ///< file: closes it and says how that went; other handles: Reactor::close_handle
    connect,          ///< tcp, pipe: to `address`
    bind,             ///< tcp, pipe, udp: to `address`
    listen,           ///< tcp, pipe: up to `amount` connections wait to be accepted
    accept,           ///< tcp, pipe: Completion::handle is the connection, the receiver's own (RCT-49)
    udp_send,         ///< one datagram, `data`, to `address`, or to whom it is connected
    udp_receive,      ///< one datagram into `buffer`; Answer::addresses[0] is where it came from
    udp_connect,      ///< sends go to `address` and receives come from it only
    open,             ///< the file `target`, `flags` of OpenFlags, `amount` its permissions; Completion::handle
    seek,             ///< file: `offset` from `whence`; transferred: the new position
    stat,             ///< file: Answer::status; with `target` instead of a handle, of that path
    flush,            ///< file: everything written is durable
    truncate,         ///< file: to `offset` bytes
    configure,        ///< `option` of a handle becomes `amount`
    resolve_name,     ///< `target`, `service` (each may be empty, not both); Answer::addresses
    resolve_address,  ///< `address`; Answer::host, Answer::service
    execute,          ///< `child`; transferred: its pid, Answer::handles its pipes. Its end: Reactor::open_process
    kill,             ///< signal `flags` to the process `amount`
    watch,  ///< changes of `target`: a delivery for each until it is closed (RCT-57). `amount`: 1 with all below it
    count_
};
[[nodiscard]] std::string_view to_string(OperationKind kind);

/// How a file is opened; `read` or `write` or both are asked for.
enum OpenFlags : std::uint32_t {
    open_read = 1,
    open_write = 2,
    open_create = 4,
    open_exclusive = 8,  ///< with create: fails with EEXIST if it exists
    open_truncate = 16,
    open_append = 32,  ///< every write goes to the end
};

enum class SeekFrom : std::uint8_t { begin, current, end };

enum class HandleOption : std::uint8_t {
    none,
    no_delay,    ///< tcp: 1 sends small writes at once
    keep_alive,  ///< tcp: seconds of silence until the peer is asked, 0 never
    broadcast,   ///< udp
    raw_mode,    ///< tty: 1 gives key by key
};

/// What a new child gets as standard input, output or error.
enum class ChildStream : std::uint8_t { null, inherit, pipe };

struct ChildOptions {
    std::vector<std::string> arguments{};                   ///< the program, searched in PATH, and its arguments
    std::optional<std::vector<std::string>> environment{};  ///< "NAME=value"; none: the parent's
    std::string directory{};                                ///< empty: the parent's
    ChildStream input = ChildStream::null;
    ChildStream output = ChildStream::inherit;
    ChildStream error = ChildStream::inherit;
};

/// One request. Which members count depends on the kind; the others keep their defaults.
struct Operation {
    OperationKind kind = OperationKind::none;
    SeekFrom whence = SeekFrom::begin;
    HandleOption option = HandleOption::none;
    std::uint32_t flags = 0;
    HandleId handle{};
    std::span<std::byte> buffer{};
    std::span<const std::byte> data{};
    std::span<const std::span<std::byte>> buffers{};
    std::span<const std::span<const std::byte>> pieces{};
    std::int64_t offset = -1;  ///< file position, -1 for the current one
    std::int64_t amount = 0;
    std::string_view target{};
    std::string_view service{};
    const Address* address = nullptr;
    const ChildOptions* child = nullptr;
};

enum class FileKind : std::uint8_t { regular, directory, other };

struct FileStatus {
    FileKind kind = FileKind::other;
    std::uint32_t permissions = 0;
    std::int64_t size = 0;
    std::int64_t modified_ns = 0;  ///< since 1970
};

/// Why a name was not resolved.
enum class ResolverError : std::uint8_t { none, unknown_name, try_again, failed };

enum ChangeBits : std::uint32_t { change_content = 1, change_name = 2 };

/// What an answer carries beyond numbers.
struct Answer {
    std::vector<Address> addresses{};
    std::string host{};  ///< resolve_address; watch: what changed, relative to the target, may be empty
    std::string service{};
    FileStatus status{};
    HandleId handles[3]{};  ///< execute: the parent's ends of input, output and error; 0 where there is no pipe
};

/// How a request ended.
struct Completion {
    std::int64_t transferred = 0;  ///< bytes; -1 if it failed. watch: ChangeBits
    std::int32_t error = 0;        ///< 0, or a positive errno value. ECANCELED: the handle was closed
    ResolverError resolver = ResolverError::none;
    bool end_of_stream = false;
    bool cancelled = false;          ///< ended by its canceller before it took effect
    bool more = false;               ///< watch: the request goes on
    bool truncated = false;          ///< udp_receive: the datagram was longer than the buffer
    HandleId handle{};               ///< accept, open: who hears of it owns it
    const Answer* answer = nullptr;  ///< valid during the delivery, or until the next call of the reactor
};

/// What `submit` gives back.
struct Submission {
    SourceId request{};  ///< 0: `done` is the answer
    Completion done{};
    std::span<const Touch> footprint{};  ///< of the answer given at once, as Delivery::footprint
};

struct HandleInfo {
    HandleKind kind = HandleKind::none;
    int descriptor = -1;  ///< the operating system's, -1 if there is none yet
    Address local{};
    Address peer{};
};

}  // namespace heddle
