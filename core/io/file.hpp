// SPDX-License-Identifier: Apache-2.0
// File: bytes that stay (RCT-40, RCT-44, RCT-46).
//
//   read, write              at the file's own position, one after the other in the order of the calls
//   read_at, write_at        anywhere; reads at an offset may overtake what was asked before
//
// Cancelled or timed out, an operation that a worker has begun goes on in silence; it never touches its caller's memory
// then.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/io/stream.hpp"

namespace heddle {

struct FileOptions {
    std::uint32_t flags = open_read;   ///< of OpenFlags
    std::uint32_t permissions = 0666;  ///< of a file that is created; the process's mask is taken away
};

class File final : public IoHandle {
public:
    File() = default;
    static File open(std::string_view path, const FileOptions& options = {}, const IoOptions& io = {},
                     SourceLocation at = SourceLocation::current());
    static File adopt(int descriptor);

    /// @returns 0 at the end; may be less than asked for
    std::size_t read(std::span<std::byte> buffer, const IoOptions& options = {},
                     SourceLocation at = SourceLocation::current());
    std::size_t read_at(std::int64_t offset, std::span<std::byte> buffer, const IoOptions& options = {},
                        SourceLocation at = SourceLocation::current());
    /// From the current position to the end. Throws ValueError once there is more than `size_max`.
    std::string read_all(std::size_t size_max, const IoOptions& options = {},
                         SourceLocation at = SourceLocation::current());
    /// All of it, or an error; a part may be in the file then.
    void write(std::span<const std::byte> data, const IoOptions& options = {},
               SourceLocation at = SourceLocation::current());
    void write(std::string_view text, const IoOptions& options = {}, SourceLocation at = SourceLocation::current()) {
        write(std::as_bytes(std::span(text)), options, at);
    }
    void write_at(std::int64_t offset, std::span<const std::byte> data, const IoOptions& options = {},
                  SourceLocation at = SourceLocation::current());
    /// @returns the new position
    std::int64_t seek(std::int64_t offset, SeekFrom whence = SeekFrom::begin,
                      SourceLocation at = SourceLocation::current());
    [[nodiscard]] FileStatus status(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());
    void truncate(std::int64_t size, const IoOptions& options = {}, SourceLocation at = SourceLocation::current());
    /// Everything written so far survives a crash of the machine.
    void flush(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());
    /// Closes it and throws what that found out; close() and the destructor say nothing.
    void close_checked(SourceLocation at = SourceLocation::current());

private:
    using IoHandle::IoHandle;
};

/// Status of a path, without opening it.
[[nodiscard]] FileStatus file_status(std::string_view path, const IoOptions& options = {},
                                     SourceLocation at = SourceLocation::current());

/// Writes a part of a file to a stream. @param count  bytes, or -1: to the end @returns bytes sent; less than `count`
/// at the end
std::int64_t send_file(Stream& to, File& from, std::int64_t offset, std::int64_t count = -1,
                       const IoOptions& options = {}, SourceLocation at = SourceLocation::current());

}  // namespace heddle
