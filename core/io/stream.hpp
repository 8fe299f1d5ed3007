// SPDX-License-Identifier: Apache-2.0
// Stream: bytes in order, both ways (docs/spec/05-reactor.md, RCT-42 to RCT-48).
//
//   read(buffer) ──▶ 1 to buffer.size() bytes, or 0 at the end          write(data) ──▶ all of it, or an error
//
// S1  One read at a time; any number of writers, whole and in the order of their calls.
// S2  A writer that is cancelled, or times out, may have written a part.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/io/io_handle.hpp"

namespace heddle {

class Stream : public IoHandle {
public:
    Stream() = default;

    /// @returns how many bytes were read; 0 at the end of the stream, and ever after. An empty buffer: see
    /// wait_readable.
    /// Throws AsyncError if another read is in progress.
    std::size_t read(std::span<std::byte> buffer, const IoOptions& options = {},
                     SourceLocation at = SourceLocation::current());
    std::size_t read(char* buffer, std::size_t size, const IoOptions& options = {},
                     SourceLocation at = SourceLocation::current()) {
        return read(std::as_writable_bytes(std::span(buffer, size)), options, at);
    }
    /// Into several buffers, one after the other.
    std::size_t readv(std::span<const std::span<std::byte>> buffers, const IoOptions& options = {},
                      SourceLocation at = SourceLocation::current());
    /// The whole buffer. @returns less than its size only at the end of the stream. The timeout is for each part.
    std::size_t read_exactly(std::span<std::byte> buffer, const IoOptions& options = {},
                             SourceLocation at = SourceLocation::current());
    /// Everything up to the end. Throws ValueError once there is more than `size_max`.
    std::string read_all(std::size_t size_max, const IoOptions& options = {},
                         SourceLocation at = SourceLocation::current());
    /// Waits until a read would not wait: for programs with many idle streams, which need no buffer meanwhile.
    void wait_readable(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());

    void write(std::span<const std::byte> data, const IoOptions& options = {},
               SourceLocation at = SourceLocation::current());
    void write(std::string_view text, const IoOptions& options = {}, SourceLocation at = SourceLocation::current()) {
        write(std::as_bytes(std::span(text)), options, at);
    }
    void writev(std::span<const std::span<const std::byte>> pieces, const IoOptions& options = {},
                SourceLocation at = SourceLocation::current());
    /// The peer sees the end of the stream after everything that was written before; reading goes on.
    void shutdown(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());

protected:
    using IoHandle::IoHandle;

private:
    [[nodiscard]] bool may_take_short_ways() const;
};

}  // namespace heddle
