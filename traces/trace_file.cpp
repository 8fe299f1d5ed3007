// SPDX-License-Identifier: Apache-2.0
#include "heddle/traces/trace_file.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>

#include "heddle/traces/trace_json.hpp"

namespace heddle::trace {
namespace {

bool is_taken(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0;
}

std::string reason(int error) { return std::generic_category().message(error); }

/// An open descriptor with an end.
class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }

    [[nodiscard]] int get() const { return fd_; }
    /// @returns false if the system reports an error only now
    bool close() {
        const int fd = std::exchange(fd_, -1);
        return fd < 0 || ::close(fd) == 0;
    }

private:
    int fd_;
};

/// Where a path leads when symbolic links are followed; the path itself if nothing is there.
std::string followed(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
    return resolved ? std::string(resolved.get()) : path;
}

bool write_all(int fd, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR) { continue; }
        if (written < 0) { return false; }
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

/// Moves `part` to `path`, which must not exist. 0, or an errno value.
int move_to_free_name(const std::string& part, const std::string& path) {
    if (::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) { return 0; }
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) { return errno; }
    // A file system without RENAME_NOREPLACE: a hard link refuses an existing name, too.
    if (::link(part.c_str(), path.c_str()) != 0) { return errno; }
    ::unlink(part.c_str());
    return 0;
}

/// Makes the new name durable. Some file systems cannot, and then nothing is lost but durability.
void sync_folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.get() >= 0) { ::fsync(descriptor.get()); }
}

/// A new file beside `path`; its name is left in `part`. -1 with errno set if there can be none.
int open_part(const std::string& path, std::string& part) {
    constexpr int attempts = 1000;  // parts of a process that died, whose id we have now
    for (int attempt = 0; attempt < attempts; ++attempt) {
        // The name of a part, which never outlives the call: outside every world.
        part = path + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(attempt);
        const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) { return fd; }
    }
    return -1;
}

}  // namespace

Result<std::uint64_t> write_whole_file(const std::string& path, std::string_view content, Overwrite overwrite) {
    const auto taken = [&] { return InputError{path, "no file of that name (or --force)", "one"}; };
    struct stat status {};
    const std::string target = followed(path);
    const bool exists = ::stat(target.c_str(), &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) {
        return InputError{path, "a regular file or none", S_ISDIR(status.st_mode) ? "a folder" : "a device or pipe"};
    }
    if (exists && overwrite == Overwrite::no) { return taken(); }

    std::string part;
    Descriptor descriptor(open_part(target, part));
    if (descriptor.get() < 0) { return InputError{path, "a place to write to", reason(errno)}; }
    int error = 0;
    if (!write_all(descriptor.get(), content) || ::fsync(descriptor.get()) != 0) { error = errno; }
    if (error == 0 && exists) { ::fchmod(descriptor.get(), status.st_mode & 07777); }
    if (!descriptor.close() && error == 0) { error = errno; }
    if (error == 0 && overwrite == Overwrite::no) { error = move_to_free_name(part, target); }
    if (error == 0 && overwrite == Overwrite::yes && ::rename(part.c_str(), target.c_str()) != 0) { error = errno; }
    if (error != 0) {
        ::unlink(part.c_str());
        if (error == EEXIST) { return taken(); }
        return InputError{path, "to write " + std::to_string(content.size()) + " bytes", reason(error)};
    }
    sync_folder_of(target);
    return std::uint64_t{content.size()};
}

Result<std::string> read_whole_file(const std::string& path, std::uint64_t bytes_max) {
    const auto too_large = [&](const std::string& found) {
        return InputError{path, "a file of at most " + std::to_string(bytes_max) + " bytes", found};
    };
    const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor.get() < 0) { return InputError{path, "a readable file", reason(errno)}; }
    struct stat status {};
    if (::fstat(descriptor.get(), &status) != 0) { return InputError{path, "a readable file", reason(errno)}; }
    if (S_ISDIR(status.st_mode)) { return InputError{path, "a readable file", "a folder"}; }
    const auto size = S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size) : 0;
    if (size > bytes_max) { return too_large(std::to_string(size) + " bytes"); }

    std::string content;
    content.reserve(size + 1);  // one more, so that the end of a file of the expected size is seen without growing
    for (;;) {
        constexpr std::size_t chunk = std::size_t{1} << 16;
        const std::size_t before = content.size();
        content.resize(std::max(before + chunk, content.capacity()));
        const ssize_t got = ::read(descriptor.get(), content.data() + before, content.size() - before);
        content.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (got < 0 && errno == EINTR) { continue; }
        if (got < 0) { return InputError{path, "a readable file", reason(errno)}; }
        if (content.size() > bytes_max) { return too_large("more"); }  // a pipe, a device, or a file that grows
        if (got == 0) { return content; }
    }
}

Result<std::uint64_t> write_trace(const std::string& path, const Trace& trace, Overwrite overwrite) {
    return write_whole_file(path, to_json(trace), overwrite);
}

Result<std::string> write_trace_under_free_name(const std::string& stem, const Trace& trace) {
    constexpr int attempts = 100'000;
    constexpr std::string_view ending = ".trace.json";
    for (int attempt = 1; attempt <= attempts; ++attempt) {
        const std::string path = stem + (attempt == 1 ? "" : "-" + std::to_string(attempt)) + std::string(ending);
        if (is_taken(path)) { continue; }
        const Result<std::uint64_t> written = write_trace(path, trace, Overwrite::no);
        if (written) { return path; }
        if (!is_taken(path)) { return written.error(); }  // else somebody has taken the name since we looked
    }
    return InputError{stem + std::string(ending), "a free name", "all of its numbered names are taken"};
}

std::string as_file_name(std::string_view text) {
    constexpr std::size_t longest = 100;
    std::string name;
    for (const char c : text.substr(0, longest)) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
        name += plain ? c : '-';
    }
    if (name.empty() || name.front() == '.' || name.front() == '-') { name.insert(0, 1, '_'); }
    return name;
}

Result<Trace> read_trace(const std::string& path) {
    const Result<std::string> text = read_whole_file(path, trace_bytes_max);
    if (!text) { return InputError{text.error().where + ": (document)", text.error().expected, text.error().found}; }
    return from_json(*text, path);
}

}  // namespace heddle::trace
