// SPDX-License-Identifier: Apache-2.0
// Disk: the files of one machine, and what of them survives a crash.
//
//   write ──▶ content, as everybody reads it ──flush──▶ durable content            crash: durable content, and of what was
//                └── noted, in order, until it is durable                                 written since, a beginning
//
// DK1  What was flushed survives. What was not, survives as far as the crash says: the first k of the writes, and of the
//      one after them perhaps a part, cut at a multiple of 512 bytes (a torn write).
// DK2  A new file's name is durable with its first flush. Directories are durable at once.
//      What a thousand later writes have piled up on is written back without being asked for.
// DK3  A write goes through as a whole, in part (disk full), or not at all; a failed one changes nothing.
//
// How it differs from an operating system: no links, no permissions (they are kept and not asked), no times but that of the
// last change; writes survive in order; there is one file system, and its room is counted in bytes of content.
// Choice points: `crash-keeps` for each file with something unflushed (0: nothing of it); faults of open, read, write, flush.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/simreactor/net/kernel.hpp"

namespace heddle::sim {

class Machine;
class PathWatch;

struct DiskFile {
    bool is_directory = false;
    bool is_name_durable = false;
    std::uint32_t permissions = 0;
    Instant modified;
    std::vector<std::byte> content{};
    std::vector<std::byte> durable{};
    struct Change {
        std::size_t offset = 0;
        std::vector<std::byte> bytes{};  // of a write
        bool is_truncation = false;      // to `offset` bytes
    };
    std::vector<Change> unflushed{};
    std::string path{};
};

class Disk {
public:
    explicit Disk(Machine& machine);

    /// Absolute, without ".", ".." and doubled slashes. Relative paths begin at "/".
    [[nodiscard]] static std::string normal(std::string_view path);
    /// Null if there is none.
    [[nodiscard]] std::shared_ptr<DiskFile> find(std::string_view path) const;
    /// @returns 0 or -ENOENT, -ENOTDIR, -EEXIST
    int make_directory(std::string_view path);
    /// A file with this content, durable at once: for tests that prepare a world. Makes the directories above it.
    void put(std::string_view path, std::string_view content);
    /// @returns the new file and 0, or null and -ENOENT, -ENOTDIR
    std::shared_ptr<DiskFile> create(std::string_view path, std::uint32_t permissions, int& error);
    [[nodiscard]] std::vector<std::string> names_in(std::string_view directory) const;

    /// @returns bytes that there was room for, or -ENOSPC
    std::int64_t write(DiskFile& file, std::size_t offset, std::span<const std::byte> data);
    void truncate(DiskFile& file, std::size_t size);
    static void flush(DiskFile& file);
    /// A flush that failed: what is not durable will never be, though it can still be read.
    static void give_up(DiskFile& file) { file.unflushed.clear(); }
    [[nodiscard]] std::uint64_t used() const { return used_; }
    /// Bytes of content; what is there already stays.
    void set_capacity(std::uint64_t bytes) { capacity_ = bytes; }

    /// The machine loses its memory. @param host  asked what survives; null: nothing that was not flushed
    void crash(KernelHost* host);

    void add_watch(PathWatch& watch) { watches_.push_back(&watch); }
    void remove_watch(const PathWatch& watch) { std::erase(watches_, &watch); }

private:
    void changed(const std::string& path, bool is_name);
    void apply(std::vector<std::byte>& content, const DiskFile::Change& change, std::size_t bytes) const;

    Machine& machine_;
    std::map<std::string, std::shared_ptr<DiskFile>, std::less<>> files_;  // by normal path; "/" is always there
    std::uint64_t used_ = 0;
    std::uint64_t capacity_ = ~std::uint64_t{0};
    std::vector<PathWatch*> watches_;  // in the order in which they began
};

/// A file that is open: where it is read and written next, and what it may be used for.
class OpenFile final : public KernelObject {
public:
    OpenFile(Machine& machine, std::shared_ptr<DiskFile> file, bool reads, bool writes, bool appends)
        : machine_(machine), file_(std::move(file)), reads_(reads), writes_(writes), appends_(appends) {}

    struct Flags {
        bool read = false;
        bool write = false;
        bool create = false;
        bool exclusive = false;
        bool truncate = false;
        bool append = false;
        std::uint32_t permissions = 0;
    };
    /// @returns it, or null and `error`: -ENOENT, -ENOTDIR, -EISDIR, -EEXIST, -EIO
    static std::shared_ptr<OpenFile> open(Machine& machine, std::string_view path, const Flags& flags, int& error);

    /// @param offset  -1: where it stands, and goes on from there @returns bytes, 0 at the end, -EBADF, -EISDIR, -EIO
    std::int64_t read(std::span<const std::span<std::byte>> buffers, std::int64_t offset);
    /// @returns bytes (fewer if the disk is full), -EBADF, -EIO, -ENOSPC
    std::int64_t write(std::span<const std::byte> data, std::int64_t offset);
    /// @param from  0 begin, 1 where it stands, 2 end @returns the new position or -EINVAL
    std::int64_t seek(std::int64_t offset, int from);
    /// @returns 0, -EIO; after a failure what was not durable is lost, though it can still be read
    int flush();
    int truncate(std::int64_t size);
    [[nodiscard]] const DiskFile& file() const { return *file_; }
    void close() override {}
    [[nodiscard]] ReadyMask readiness() const override { return ready_read | ready_write; }
    [[nodiscard]] Cell cell_of() const { return cell(Label{hash_text(file_->path)}, "content"); }

private:
    Machine& machine_;
    std::shared_ptr<DiskFile> file_;
    bool reads_;
    bool writes_;
    bool appends_;
    std::size_t position_ = 0;
};

/// Changes of a file, or of what is in a directory, as they come (RCT-57).
class PathWatch final : public KernelObject {
public:
    PathWatch(Disk& disk, std::string path, bool recursive) : disk_(disk), path_(std::move(path)), recursive_(recursive) {
        disk_.add_watch(*this);
    }
    ~PathWatch() override { close(); }

    struct Change {
        std::string name;  ///< relative to what is watched; empty: itself
        bool is_name = false;
    };
    /// False if there is none.
    bool next(Change& change);
    void close() override;
    [[nodiscard]] ReadyMask readiness() const override { return changes_.empty() ? 0 : ReadyMask{ready_read}; }

private:
    friend class Disk;
    void tell(const std::string& path, bool is_name);

    Disk& disk_;
    std::string path_;
    bool recursive_;
    bool is_open_ = true;
    std::vector<Change> changes_;
};

}  // namespace heddle::sim
