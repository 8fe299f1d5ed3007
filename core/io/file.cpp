// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/io/file.hpp"

#include <algorithm>
#include <vector>

#include "heddle/core/io/detail/request.hpp"
#include "heddle/core/run/runtime.hpp"

namespace heddle {
namespace {

detail::Performed ask(Scheduler& scheduler, const Operation& operation, const IoOptions& options, SourceLocation at) {
    detail::Performed performed = detail::perform(scheduler, operation, options, at);
    if (performed.completion.error != 0) {
        throw OperationError(operation.kind, HandleKind::file, -1, std::string(operation.target),
                             performed.completion.error);
    }
    return performed;
}

}  // namespace

File File::open(std::string_view path, const FileOptions& options, const IoOptions& io, SourceLocation at) {
    Scheduler& scheduler = current_runtime("File::open").scheduler();
    const Operation operation{.kind = OperationKind::open,
                              .flags = options.flags,
                              .amount = static_cast<std::int64_t>(options.permissions),
                              .target = path};
    return {scheduler, HandleKind::file, ask(scheduler, operation, io, at).completion.handle};
}

File File::adopt(int descriptor) { return {HandleKind::file, adopted(descriptor), "File::adopt"}; }

std::size_t File::read(std::span<std::byte> buffer, const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::read, .buffer = buffer};
    return static_cast<std::size_t>(perform(operation, options, at).completion.transferred);
}

std::size_t File::read_at(std::int64_t offset, std::span<std::byte> buffer, const IoOptions& options,
                          SourceLocation at) {
    if (offset < 0) { throw ValueError("read_at: the offset must not be negative"); }
    Operation operation{.kind = OperationKind::read, .buffer = buffer, .offset = offset};
    return static_cast<std::size_t>(perform(operation, options, at).completion.transferred);
}

std::string File::read_all(std::size_t size_max, const IoOptions& options, SourceLocation at) {
    std::string text;
    std::vector<std::byte> part(64 * 1024);
    for (;;) {
        const std::size_t some = read(part, options, at);
        if (some == 0) { return text; }
        if (some > size_max - text.size()) {
            throw ValueError("read_all: more than " + std::to_string(size_max) + " bytes");
        }
        text.append(reinterpret_cast<const char*>(part.data()), some);
    }
}

void File::write(std::span<const std::byte> data, const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::write, .data = data};
    perform(operation, options, at);
}

void File::write_at(std::int64_t offset, std::span<const std::byte> data, const IoOptions& options, SourceLocation at) {
    if (offset < 0) { throw ValueError("write_at: the offset must not be negative"); }
    Operation operation{.kind = OperationKind::write, .data = data, .offset = offset};
    perform(operation, options, at);
}

std::int64_t File::seek(std::int64_t offset, SeekFrom whence, SourceLocation at) {
    Operation operation{.kind = OperationKind::seek, .whence = whence, .offset = offset};
    return perform(operation, {}, at).completion.transferred;
}

FileStatus File::status(const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::stat};
    return perform(operation, options, at).answer->status;
}

void File::truncate(std::int64_t size, const IoOptions& options, SourceLocation at) {
    if (size < 0) { throw ValueError("truncate: the size must not be negative"); }
    Operation operation{.kind = OperationKind::truncate, .offset = size};
    perform(operation, options, at);
}

void File::flush(const IoOptions& options, SourceLocation at) {
    Operation operation{.kind = OperationKind::flush};
    perform(operation, options, at);
}

void File::close_checked(SourceLocation at) {
    Operation operation{.kind = OperationKind::close};
    const detail::Performed performed = perform(operation, {}, at);
    close();
}

FileStatus file_status(std::string_view path, const IoOptions& options, SourceLocation at) {
    Scheduler& scheduler = current_runtime("file_status").scheduler();
    return ask(scheduler, Operation{.kind = OperationKind::stat, .target = path}, options, at).answer->status;
}

std::int64_t send_file(Stream& to, File& from, std::int64_t offset, std::int64_t count, const IoOptions& options,
                       SourceLocation at) {
    std::vector<std::byte> part(64 * 1024);
    std::int64_t sent = 0;
    while (count < 0 || sent < count) {
        const std::size_t wanted = count < 0 ? part.size()
                                             : static_cast<std::size_t>(std::min<std::int64_t>(
                                                   count - sent, static_cast<std::int64_t>(part.size())));
        const std::size_t some = from.read_at(offset + sent, std::span(part).first(wanted), options, at);
        if (some == 0) { break; }
        to.write(std::span(part).first(some), options, at);
        sent += static_cast<std::int64_t>(some);
    }
    return sent;
}

}  // namespace heddle
