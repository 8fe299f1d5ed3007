// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/stream.hpp"

#include <cerrno>

#include "heddle/core/io/detail/request.hpp"

namespace heddle {

/// In production; where a Chooser or an Observer is attached, each request is one that they can see.
inline bool Stream::may_take_short_ways() const {
    return is_open() && scheduler().reactor().has_short_ways() && !scheduler().observed() &&
           !scheduler().may_choose() && scheduler().in_coroutine();
}

std::size_t Stream::read(std::span<std::byte> buffer, const IoOptions& options, SourceLocation at) {
    if (is_open() && scheduler().reactor().has_short_ways() && scheduler().in_coroutine() && !buffer.empty())
        [[likely]] {
        // What arrives is read when its reader runs, and not while the reactor looks at all that is ready: the kernel's
        // part of a connection is then still at hand when the answer is written. And who gives up waiting, or is
        // cancelled as it comes, has taken nothing.
        const bool is_seen = options.timeout != Duration::zero() || options.token.event() != nullptr ||
                             scheduler().observed() || scheduler().may_choose();
        for (;;) {
            if (is_seen) [[unlikely]] {
                wait_readable(options, at);
            } else if (const int error = detail::wait_readable(scheduler(), id(), at); error != 0) [[unlikely]] {
                fail(OperationKind::read, error);
            }
            if (!is_open()) [[unlikely]] { fail(OperationKind::read, ECANCELED); }
            const std::int64_t got = scheduler().reactor().try_read(id(), buffer);
            if (got >= 0) [[likely]] { return static_cast<std::size_t>(got); }
            if (got != -EAGAIN) [[unlikely]] { fail(OperationKind::read, static_cast<int>(-got)); }
        }
    }
    Operation operation{.kind = OperationKind::read, .buffer = buffer};
    return static_cast<std::size_t>(perform(operation, options, at).completion.transferred);
}

std::size_t Stream::readv(std::span<const std::span<std::byte>> buffers, const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::read, .buffers = buffers};
    return static_cast<std::size_t>(perform(operation, options, at).completion.transferred);
}

std::size_t Stream::read_exactly(std::span<std::byte> buffer, const IoOptions& options, SourceLocation at) {
    std::size_t count = 0;
    while (count < buffer.size()) {
        const std::size_t some = read(buffer.subspan(count), options, at);
        if (some == 0) { break; }
        count += some;
    }
    return count;
}

std::string Stream::read_all(std::size_t size_max, const IoOptions& options, SourceLocation at) {
    std::string text;
    for (;;) {
        char part[4096];
        const std::size_t some = read(part, sizeof part, options, at);
        if (some == 0) { return text; }
        if (some > size_max - text.size()) {
            throw ValueError("read_all: more than " + std::to_string(size_max) + " bytes");
        }
        text.append(part, some);
    }
}

void Stream::wait_readable(const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::read};
    perform(operation, options, at);
}

void Stream::write(std::span<const std::byte> data, const IoOptions& options, SourceLocation at) {
    if (may_take_short_ways()) [[likely]] {
        const std::int64_t written = scheduler().reactor().try_write(id(), data);
        if (written == static_cast<std::int64_t>(data.size())) [[likely]] { return; }
        if (written > 0) {
            data = data.subspan(static_cast<std::size_t>(written));
        } else if (written != -EAGAIN) {
            fail(OperationKind::write, static_cast<int>(-written));
        }
    }
    Operation operation{.kind = OperationKind::write, .data = data};
    perform(operation, options, at);
}

void Stream::writev(std::span<const std::span<const std::byte>> pieces, const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::write, .pieces = pieces};
    perform(operation, options, at);
}

void Stream::shutdown(const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::shutdown};
    perform(operation, options, at);
}

}  // namespace heddle
