// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/disk/disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "heddle/simreactor/net/machine.hpp"

namespace heddle::sim {
namespace {

constexpr std::size_t sector = 512;
constexpr std::size_t unflushed_max = 1024;  // changes of one file that are remembered one by one

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

// ── names ──

Disk::Disk(Machine& machine) : machine_(machine) {
    const auto root = std::make_shared<DiskFile>();
    root->is_directory = root->is_name_durable = true;
    root->path = "/";
    files_["/"] = root;
}

std::string Disk::normal(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t slash = std::min(path.find('/'), path.size());
        const std::string_view part = path.substr(0, slash);
        path.remove_prefix(std::min(slash + 1, path.size()));
        if (part.empty() || part == ".") { continue; }
        if (part == "..") {
            if (!parts.empty()) { parts.pop_back(); }
            continue;
        }
        parts.push_back(part);
    }
    std::string text;
    for (const std::string_view part : parts) { text += "/" + std::string(part); }
    return text.empty() ? "/" : text;
}

std::shared_ptr<DiskFile> Disk::find(std::string_view path) const {
    const auto found = files_.find(normal(path));
    return found == files_.end() ? nullptr : found->second;
}

std::shared_ptr<DiskFile> Disk::create(std::string_view path, std::uint32_t permissions, int& error) {
    const std::string name = normal(path);
    for (std::string above = parent_of(name);; above = parent_of(above)) {
        const auto found = files_.find(above);
        if (found != files_.end() && !found->second->is_directory) {
            error = -ENOTDIR;
            return nullptr;
        }
        if (found == files_.end()) { error = -ENOENT; }
        if (above == "/") { break; }
    }
    if (error != 0) { return nullptr; }
    const auto file = std::make_shared<DiskFile>();
    file->permissions = permissions;
    file->path = name;
    file->modified = machine_.is_up() ? machine_.host().true_time() : Instant{};
    files_[name] = file;
    machine_.touch(machine_.path_cell(name), TouchMode::write);
    changed(name, true);
    return file;
}

int Disk::make_directory(std::string_view path) {
    if (find(path) != nullptr) { return -EEXIST; }
    int error = 0;
    const std::shared_ptr<DiskFile> made = create(path, 0755, error);
    if (made == nullptr) { return error; }
    made->is_directory = made->is_name_durable = true;
    return 0;
}

void Disk::put(std::string_view path, std::string_view content) {
    const std::string name = normal(path);
    for (std::size_t slash = name.find('/', 1); slash != std::string::npos; slash = name.find('/', slash + 1)) {
        make_directory(name.substr(0, slash));
    }
    int error = 0;
    std::shared_ptr<DiskFile> file = find(name);
    if (file == nullptr) { file = create(name, 0644, error); }
    truncate(*file, 0);
    write(*file, 0, std::as_bytes(std::span(content)));
    flush(*file);
}

std::vector<std::string> Disk::names_in(std::string_view directory) const {
    const std::string above = normal(directory);
    std::vector<std::string> names;
    for (const auto& [path, file] : files_) {
        if (path != "/" && parent_of(path) == above) { names.push_back(path.substr(path.rfind('/') + 1)); }
    }
    return names;
}

void Disk::changed(const std::string& path, bool is_name) {
    for (PathWatch* const watch : std::vector<PathWatch*>(watches_)) { watch->tell(path, is_name); }
}

// ── content ──

void Disk::apply(std::vector<std::byte>& content, const DiskFile::Change& change, std::size_t bytes) const {
    if (change.is_truncation) {
        content.resize(change.offset);
        return;
    }
    if (bytes == 0) { return; }
    content.resize(std::max(content.size(), change.offset + bytes));
    std::memcpy(content.data() + change.offset, change.bytes.data(), bytes);
}

std::int64_t Disk::write(DiskFile& file, std::size_t offset, std::span<const std::byte> data) {
    const std::size_t end = offset + data.size();
    const std::size_t size = file.content.size();
    if (end > size && used_ + (end - size) > capacity_) {
        const std::uint64_t room = capacity_ > used_ ? capacity_ - used_ : 0;
        const std::size_t most = size + static_cast<std::size_t>(room);
        if (most <= offset) { return -ENOSPC; }
        data = data.first(most - offset);
    }
    DiskFile::Change change{offset, {data.begin(), data.end()}, false};
    apply(file.content, change, data.size());
    used_ += file.content.size() - size;
    file.unflushed.push_back(std::move(change));
    if (file.unflushed.size() > unflushed_max) {
        const std::size_t old = unflushed_max / 2;
        for (std::size_t i = 0; i < old; ++i) { apply(file.durable, file.unflushed[i], file.unflushed[i].bytes.size()); }
        file.unflushed.erase(file.unflushed.begin(), file.unflushed.begin() + static_cast<std::ptrdiff_t>(old));
        file.is_name_durable = true;
    }
    file.modified = machine_.is_up() ? machine_.host().true_time() : Instant{};
    changed(file.path, false);
    return static_cast<std::int64_t>(data.size());
}

void Disk::truncate(DiskFile& file, std::size_t size) {
    used_ += size;
    used_ -= file.content.size();
    file.content.resize(size);
    file.unflushed.push_back({size, {}, true});
    changed(file.path, false);
}

void Disk::flush(DiskFile& file) {
    file.durable = file.content;
    file.unflushed.clear();
    file.is_name_durable = true;
}

void Disk::crash(KernelHost* host) {
    for (auto at = files_.begin(); at != files_.end();) {
        DiskFile& file = *at->second;
        std::vector<std::byte> content = file.durable;
        bool keeps_name = file.is_name_durable;
        if (!file.is_directory && (!file.unflushed.empty() || !keeps_name) && host != nullptr) {
            // 0: nothing; then one more change each, and at last all but the end of the last one (DK1).
            const auto changes = static_cast<std::uint32_t>(file.unflushed.size());
            const bool can_tear = changes > 0 && file.unflushed.back().bytes.size() > sector;
            const std::uint32_t answer =
                host->choose("crash-keeps", 2 + changes + (can_tear ? 1 : 0), host->named(file.path));
            keeps_name = keeps_name || answer > 0;
            const bool torn = answer == changes + 2;
            const std::uint32_t whole = answer == 0 ? 0 : torn ? changes - 1 : answer - 1;
            for (std::uint32_t i = 0; i < whole; ++i) { apply(content, file.unflushed[i], file.unflushed[i].bytes.size()); }
            if (torn) { apply(content, file.unflushed.back(), file.unflushed.back().bytes.size() / 2 / sector * sector); }
        }
        used_ -= file.content.size();
        if (!keeps_name) {
            at = files_.erase(at);
            continue;
        }
        file.content = content;
        used_ += file.content.size();
        file.durable = std::move(content);
        file.unflushed.clear();
        file.is_name_durable = true;
        ++at;
    }
}

// ── open files ──

std::shared_ptr<OpenFile> OpenFile::open(Machine& machine, std::string_view path, const Flags& flags, int& error) {
    error = 0;
    Disk& disk = machine.disk();
    const std::string name = Disk::normal(path);
    machine.touch(machine.path_cell(name), TouchMode::read);
    if (machine.fault({FaultKind::disk_error}, machine.label()) != FaultKind::count_) {
        error = -EIO;
        return nullptr;
    }
    std::shared_ptr<DiskFile> file = disk.find(name);
    if (file == nullptr) {
        int missing = 0;
        if (!flags.create) {
            // Below a file there is nothing that could be missing.
            for (std::string above = parent_of(name); above != "/"; above = parent_of(above)) {
                const std::shared_ptr<DiskFile> at = disk.find(above);
                if (at != nullptr && !at->is_directory) { missing = -ENOTDIR; }
            }
            error = missing != 0 ? missing : -ENOENT;
            return nullptr;
        }
        file = disk.create(name, flags.permissions, error);
        if (file == nullptr) { return nullptr; }
    } else if (flags.create && flags.exclusive) {
        error = -EEXIST;
        return nullptr;
    } else if (file->is_directory && flags.write) {
        error = -EISDIR;
        return nullptr;
    } else if (flags.truncate && flags.write) {
        disk.truncate(*file, 0);
    }
    return std::make_shared<OpenFile>(machine, std::move(file), flags.read, flags.write, flags.append);
}

std::int64_t OpenFile::read(std::span<const std::span<std::byte>> buffers, std::int64_t offset) {
    if (!reads_) { return -EBADF; }
    if (file_->is_directory) { return -EISDIR; }
    machine_.touch(cell_of(), TouchMode::read);
    const std::size_t begin = offset < 0 ? position_ : static_cast<std::size_t>(offset);
    std::size_t left = begin < file_->content.size() ? file_->content.size() - begin : 0;
    switch (machine_.fault({FaultKind::disk_error, FaultKind::short_read}, label())) {
        case FaultKind::disk_error: return -EIO;
        case FaultKind::short_read: left = std::min(left, std::max<std::size_t>(left / 2, 1)); break;
        default: break;
    }
    std::size_t done = 0;
    for (const std::span<std::byte> buffer : buffers) {
        const std::size_t some = std::min(buffer.size(), left);
        if (some > 0) { std::memcpy(buffer.data(), file_->content.data() + begin + done, some); }
        done += some;
        left -= some;
    }
    if (offset < 0) { position_ += done; }
    return static_cast<std::int64_t>(done);
}

std::int64_t OpenFile::write(std::span<const std::byte> data, std::int64_t offset) {
    if (!writes_) { return -EBADF; }
    machine_.touch(cell_of(), TouchMode::write);
    switch (machine_.fault({FaultKind::disk_error, FaultKind::disk_full}, label())) {
        case FaultKind::disk_error: return -EIO;
        case FaultKind::disk_full: return -ENOSPC;
        default: break;
    }
    const std::size_t begin = appends_      ? file_->content.size()
                              : offset < 0 ? position_
                                           : static_cast<std::size_t>(offset);
    const std::int64_t done = machine_.disk().write(*file_, begin, data);
    if (done > 0 && offset < 0) { position_ = begin + static_cast<std::size_t>(done); }
    return done;
}

std::int64_t OpenFile::seek(std::int64_t offset, int from) {
    const std::size_t base = from == 0 ? 0 : from == 1 ? position_ : file_->content.size();
    const std::int64_t to = static_cast<std::int64_t>(base) + offset;
    if (to < 0) { return -EINVAL; }
    position_ = static_cast<std::size_t>(to);
    return to;
}

int OpenFile::flush() {
    machine_.touch(cell_of(), TouchMode::write);
    if (machine_.fault({FaultKind::flush_failed}, label()) != FaultKind::count_) {
        Disk::give_up(*file_);
        return -EIO;
    }
    Disk::flush(*file_);
    return 0;
}

int OpenFile::truncate(std::int64_t size) {
    if (!writes_) { return -EBADF; }
    if (size < 0) { return -EINVAL; }
    machine_.touch(cell_of(), TouchMode::write);
    machine_.disk().truncate(*file_, static_cast<std::size_t>(size));
    return 0;
}

// ── watches ──

void PathWatch::tell(const std::string& path, bool is_name) {
    std::string name;
    if (path != path_) {
        const std::string below = path_ == "/" ? path_ : path_ + "/";
        if (!path.starts_with(below)) { return; }
        name = path.substr(below.size());
        if (!recursive_ && name.find('/') != std::string::npos) { return; }
    }
    changes_.push_back({std::move(name), is_name});
    changed();
}

bool PathWatch::next(Change& change) {
    if (changes_.empty()) { return false; }
    change = std::move(changes_.front());
    changes_.erase(changes_.begin());
    return true;
}

void PathWatch::close() {
    if (std::exchange(is_open_, false)) { disk_.remove_watch(*this); }
}

}  // namespace heddle::sim
