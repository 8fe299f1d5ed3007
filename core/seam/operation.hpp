// SPDX-License-Identifier: Apache-2.0
// Operation and Completion: what a program asks of the outside world, and the one answer that each request gets (RCT-41).
//
//   submit(Operation) ──▶ SourceId … Delivery{kind = operation, completion} exactly once, or silence after disposal (RCT-45)
//
// Values only. Buffers are borrowed until the completion or, if the request is disposed earlier, until `submit`'s owner was told:
// a disposed request writes into no caller memory (RCT-45). Files, streams and names come with core/io; the values are fixed here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "heddle/core/base/time.hpp"

namespace heddle {

enum class OperationKind : std::uint8_t {
    none,
    task,  ///< a function on a worker thread (RCT-59)
    read, readv, write, writev, shutdown, close, connect, accept, listen, bind,
    udp_send, udp_receive,
    open, seek, stat, flush, sendfile,
    resolve_name, resolve_address,
    execute,
};

[[nodiscard]] std::string_view to_string(OperationKind kind);

/// One request. Which members count depends on the kind; the others keep their defaults.
struct Operation {
    OperationKind kind = OperationKind::none;
    std::uint64_t handle = 0;              ///< the IO handle, 0 for none
    std::span<std::byte> buffer{};         ///< read into
    std::span<const std::byte> data{};     ///< written from
    std::int64_t offset = -1;              ///< file position, -1 for the current one
    Duration timeout = Duration::zero();   ///< 0: no limit; measured from the cached clock (RCT-23)
    bool multishot = false;                ///< armed read: notifies per chunk (RCT-43)
    bool hidden = false;                   ///< not counted as an active event (RCT-14)
    std::string target{};                  ///< path, host name, command
};

/// How a request ended.
struct Completion {
    std::int64_t transferred = 0;  ///< bytes; -1 if it failed
    std::int32_t error = 0;        ///< 0, or a positive errno value
    bool end_of_stream = false;
    bool cancelled = false;        ///< ended by its canceller before it took effect
};

}  // namespace heddle
