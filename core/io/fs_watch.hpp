// SPDX-License-Identifier: Apache-2.0
// FsWatch: changes of a file, a directory, or a whole tree (RCT-57, FSW-01 to FSW-03).
//
//   system ── change ──▶ filter ──▶ kept, one entry per path ──────────────────────────▶ next(), for (const FsChange& change : watch)
//                            └─ debounce: held until nothing came for a while, or for too long ──▶ one entry without a name
//
// Changes are kept from the construction on until somebody takes them. One change may be reported several times, several as one; names
// may be missing. An open watch is something that can still happen: it keeps the runtime's loop alive.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
    bool raw = false;        ///< every change in its order; else one entry per path, with the bits of all its changes
    Duration debounce{};     ///< hold changes until none came for so long, then tell of all in one entry without a name; 0: at once
    Duration hold_max{};     ///< with a debounce: but tell so long after the first of them; 0: no limit
    /// Endings that count (".cpp"); empty: all do. A change without a name counts always.
    std::vector<std::string> extensions{};
};

class FsWatch {
public:
    /// Throws OperationError: there is no such path …; ValueError for a negative duration.
    explicit FsWatch(std::string_view path, const FsWatchOptions& options = {});
    FsWatch(FsWatch&&) noexcept;
    FsWatch& operator=(FsWatch&&) noexcept;
    ~FsWatch();

    /// The oldest change that nobody has taken. Throws OperationError if watching has failed, AsyncError if it was closed and nothing is
    /// left, or somebody waits already. Suspends: until there is one.
    FsChange next(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());
    /// The same, and none once the watch was closed and what it had kept was taken.
    std::optional<FsChange> next_if_open(const IoOptions& options = {}, SourceLocation at = SourceLocation::current());

    /// Watches no further; what it keeps or holds can still be taken. Ends a wait. Idempotent.
    void close();
    [[nodiscard]] bool is_closed() const;
    [[nodiscard]] std::size_t kept() const;

    /// Each step behaves as next_if_open; the loop ends with it.
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = FsChange;
        using difference_type = std::ptrdiff_t;
        using pointer = const FsChange*;
        using reference = const FsChange&;

        Iterator() = default;
        explicit Iterator(FsWatch& watch) : watch_(&watch) { ++*this; }
        [[nodiscard]] const FsChange& operator*() const { return *change_; }
        [[nodiscard]] const FsChange* operator->() const { return &*change_; }
        Iterator& operator++() {
            change_ = watch_->next_if_open();
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const Iterator& a, const Iterator& b) { return a.change_.has_value() == b.change_.has_value(); }

    private:
        FsWatch* watch_ = nullptr;
        std::optional<FsChange> change_{};
    };
    [[nodiscard]] Iterator begin() { return Iterator(*this); }
    [[nodiscard]] static Iterator end() { return {}; }

private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle
