// SPDX-License-Identifier: Apache-2.0
// Files of the simulated kernel, and what of them survives a crash.
#include "heddle/simreactor/disk/disk.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "heddle/simreactor/net/testing/kernel_rig.hpp"

namespace heddle::sim::testing {
namespace {

struct Files {
    explicit Files(NetworkOptions options = {}) : rig(std::move(options)), machine(rig.machine("a")) {}

    std::shared_ptr<OpenFile> open(std::string_view path) {
        int error = 0;
        return OpenFile::open(machine, path, {.read = true, .write = true, .create = true}, error);
    }
    static std::int64_t write(OpenFile& file, std::string_view text, std::int64_t offset = -1) {
        return file.write(std::as_bytes(std::span(text)), offset);
    }
    std::string content(std::string_view path) {
        const auto file = machine.disk().find(path);
        if (file == nullptr) { return "<none>"; }
        return {reinterpret_cast<const char*>(file->content.data()), file->content.size()};
    }
    void crash() {
        machine.crash();
        machine.set_host(&rig);
    }

    KernelRig rig;
    Machine& machine;
};

TEST(Disk, NamesArePathsWithoutDetours) {
    EXPECT_EQ(Disk::normal("a//b/./c/../d/"), "/a/b/d");
    EXPECT_EQ(Disk::normal("/../.."), "/");
    Files files;
    files.machine.disk().put("/var/log/service", "x");
    EXPECT_EQ(files.machine.disk().names_in("/var"), std::vector<std::string>{"log"});
    EXPECT_EQ(files.machine.disk().make_directory("/var/log"), -EEXIST);
    EXPECT_EQ(files.machine.disk().make_directory("/no/such"), -ENOENT);
    EXPECT_EQ(files.machine.disk().make_directory("/var/log/service/below"), -ENOTDIR);
}

TEST(Disk, CrashTakesWhatWasNotFlushed) {  // DK1, DK2
    Files files;
    const auto kept = files.open("/kept");
    Files::write(*kept, "durable");
    EXPECT_EQ(kept->flush(), 0);
    Files::write(*kept, " and not");
    Files::write(*files.open("/new"), "never flushed");
    EXPECT_EQ(files.content("/kept"), "durable and not");
    files.crash();
    EXPECT_EQ(files.content("/kept"), "durable");
    EXPECT_EQ(files.content("/new"), "<none>");
}

TEST(Disk, CrashKeepsAsManyOfTheLaterWritesAsItIsTold) {
    for (const auto& [answer, expected] : std::vector<std::pair<std::uint32_t, std::string>>{
             {0, "<none>"}, {1, ""}, {2, "one "}, {3, "one two "}, {4, "one two three"}}) {
        Files files;
        const auto file = files.open("/f");
        for (const char* text : {"one ", "two ", "three"}) { Files::write(*file, text); }
        files.rig.answer("crash-keeps", {answer});
        files.crash();
        EXPECT_EQ(files.content("/f"), expected);
        EXPECT_EQ(files.machine.disk().used(), expected == "<none>" ? 0U : expected.size());
    }
}

TEST(Disk, CrashTearsALongWriteAtASector) {
    Files files;
    const auto file = files.open("/f");
    Files::write(*file, std::string(5000, 'x'));
    files.rig.answer("crash-keeps", {3});
    files.crash();
    EXPECT_EQ(files.rig.counts.back(), 4U);
    EXPECT_EQ(files.content("/f"), std::string(2048, 'x'));
}

TEST(Disk, FailedFlushLosesWhatWasNotDurable) {
    Files files({.faults = {{{.kind = FaultKind::flush_failed, .nth = 1}}}});
    const auto file = files.open("/f");
    Files::write(*file, "gone");
    EXPECT_EQ(file->flush(), -EIO);
    EXPECT_EQ(files.content("/f"), "gone") << "it can still be read";
    files.rig.answer("crash-keeps", {1});
    files.crash();
    EXPECT_EQ(files.content("/f"), "") << "and nothing can make it durable";
}

TEST(Disk, FullDiskTakesAPart) {  // DK3
    Files files;
    files.machine.disk().set_capacity(6);
    const auto file = files.open("/f");
    EXPECT_EQ(Files::write(*file, "0123"), 4);
    EXPECT_EQ(Files::write(*file, "4567"), 2);
    EXPECT_EQ(Files::write(*file, "6"), -ENOSPC);
    EXPECT_EQ(Files::write(*file, "ab", 0), 2) << "what is there may be written over";
    EXPECT_EQ(files.content("/f"), "ab2345");
    EXPECT_EQ(file->truncate(2), 0);
    EXPECT_EQ(Files::write(*file, "xyz", 2), 3);
}

TEST(Disk, ReadsAreShortAndFailAsThePlanSays) {
    Files files({.faults = {{{.kind = FaultKind::disk_error, .nth = 4}, {.kind = FaultKind::short_read, .nth = 1}}}});
    const auto file = files.open("/f");  // the first opportunity of an error; the write is the second
    Files::write(*file, "0123456789");
    std::string text(10, '-');
    const std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(text))};
    EXPECT_EQ(file->read(buffers, 0), 5);
    EXPECT_EQ(file->read(buffers, 0), -EIO);
    EXPECT_EQ(file->read(buffers, 0), 10);
}

}  // namespace
}  // namespace heddle::sim::testing
