// SPDX-License-Identifier: Apache-2.0
// FsWatch: changes of a file, a directory, or a whole tree (RCT-57).
//
// Changes are kept until somebody takes them. One change may be reported several times, several as one; names may be
// missing. An open watch is something that can still happen: it keeps the runtime's loop alive.
#pragma once

#include <memory>
#include <string>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/io/io_error.hpp"
#include "heddle/core/io/io_options.hpp"

namespace heddle {

struct FsChange {
    std::uint32_t bits = 0;  ///< of ChangeBits
    std::string name{};      ///< relative to what is watched; empty if unknown
};

struct FsWatchOptions {
    bool recursive = false;  ///< directories below it too, those that are made later included
};

class FsWatch {
public:
    /// Throws OperationError: there is no such path …
    explicit FsWatch(std::string_view path, const FsWatchOptions& options = {});
    FsWatch(FsWatch&&) noexcept;
    FsWatch& operator=(FsWatch&&) noexcept;
    ~FsWatch();

    /// The oldest change that nobody has taken. Throws OperationError if watching has failed.
    FsChange next(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle
