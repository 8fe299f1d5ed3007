// SPDX-License-Identifier: Apache-2.0
// Pipes: streams inside one machine, by name in the file system or around descriptors; and terminals.
#pragma once

#include "heddle/core/io/stream.hpp"

namespace heddle {

class PipeStream final : public Stream {
public:
    PipeStream() = default;
    /// Throws OperationError: nobody listens there, the path is too long …
    static PipeStream connect(std::string_view path, const IoOptions& options = {},
                              SourceLocation at = SourceLocation::current());
    /// Takes over one end of a pipe, or a stream socket of the local family.
    static PipeStream adopt(int descriptor);

private:
    friend class PipeListener;
    friend class Process;
    using Stream::Stream;
};

class PipeListener final : public IoHandle {
public:
    PipeListener() = default;
    /// Makes a socket at the path, which goes when the listener is closed.
    static PipeListener bind(std::string_view path, int backlog = 511, SourceLocation at = SourceLocation::current());
    [[nodiscard]] PipeStream accept(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());

private:
    using IoHandle::IoHandle;
};

class TtyStream final : public Stream {
public:
    TtyStream() = default;
    /// Takes over a terminal. Throws IoError for a descriptor that is none.
    static TtyStream adopt(int descriptor);
    /// Key by key, without echo; or line by line.
    void set_raw(bool raw, SourceLocation at = SourceLocation::current());

private:
    using Stream::Stream;
};

}  // namespace heddle
