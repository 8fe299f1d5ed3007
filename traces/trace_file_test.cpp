// SPDX-License-Identifier: Apache-2.0
// Files: written whole or not at all, never over another one unless told to, and read within a bound.
#include "heddle/traces/trace_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "heddle/traces/testing/sample_trace.hpp"
#include "heddle/traces/trace_json.hpp"

namespace heddle::trace {
namespace {

namespace fs = std::filesystem;

class TraceFile : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "heddle-trace-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] static std::string content(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }
    [[nodiscard]] std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
};

TEST_F(TraceFile, ReadsBackWhatItWrote) {
    const Result<std::uint64_t> written = write_trace(path("t.json"), testing::full_trace(), Overwrite::no);
    ASSERT_TRUE(written) << written.error().text();
    EXPECT_EQ(*written, content(path("t.json")).size());
    const Result<Trace> read = read_trace(path("t.json"));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, testing::full_trace());
    EXPECT_EQ(files(), 1U);
}

TEST_F(TraceFile, KeepsAnExistingFileUnlessToldToReplaceIt) {
    ASSERT_TRUE(write_whole_file(path("f"), "old", Overwrite::no));
    const Result<std::uint64_t> refused = write_whole_file(path("f"), "new", Overwrite::no);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text(), path("f") + ": expected no file of that name (or --force), found one");
    EXPECT_EQ(content(path("f")), "old");
    ASSERT_TRUE(write_whole_file(path("f"), "new", Overwrite::yes));
    EXPECT_EQ(content(path("f")), "new");
    EXPECT_EQ(files(), 1U);
}

TEST_F(TraceFile, KeepsModeAndLinkOfAReplacedFile) {
    ASSERT_TRUE(write_whole_file(path("f"), "old", Overwrite::no));
    fs::permissions(path("f"), fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink(path("f"), path("link"));
    EXPECT_FALSE(write_whole_file(path("link"), "new", Overwrite::no));
    ASSERT_TRUE(write_whole_file(path("link"), "new", Overwrite::yes));
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(content(path("f")), "new");
    EXPECT_EQ(fs::status(path("f")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(TraceFile, RefusesFoldersDevicesAndMissingPlaces) {
    EXPECT_FALSE(write_whole_file(folder_.string(), "x", Overwrite::yes));
    EXPECT_FALSE(write_whole_file("/dev/null", "x", Overwrite::yes));
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    const Result<std::uint64_t> missing = write_whole_file(path("no/such/folder"), "x", Overwrite::no);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().text(),
              path("no/such/folder") + ": expected a place to write to, found No such file or directory");
}

TEST_F(TraceFile, LeavesNothingBehindWhenTheDiskIsFull) {
    ASSERT_TRUE(write_whole_file(path("f"), "old", Overwrite::no));
    // A limit on file sizes stands in for a full disk: write fails half-way in both.
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small { 4096, before.rlim_max };
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Result<std::uint64_t> written = write_whole_file(path("f"), std::string(100'000, 'x'), Overwrite::yes);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().text(), path("f") + ": expected to write 100000 bytes, found File too large");
    EXPECT_EQ(content(path("f")), "old");
    EXPECT_EQ(files(), 1U);
}

TEST_F(TraceFile, RefusesAGigabyteBeforeReadingIt) {
    std::ofstream(path("huge.json")) << "{";
    fs::resize_file(path("huge.json"), std::uint64_t{1} << 30);
    const Result<Trace> read = read_trace(path("huge.json"));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().text(),
              path("huge.json") + ": (document): expected a file of at most 67108864 bytes, found 1073741824 bytes");
}

TEST_F(TraceFile, StopsReadingADeviceWithoutAnEnd) {
    const Result<std::string> read = read_whole_file("/dev/zero", 1'000'000);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().text(), "/dev/zero: expected a file of at most 1000000 bytes, found more");
}

TEST_F(TraceFile, ReadsUpToItsBoundExactly) {
    ASSERT_TRUE(write_whole_file(path("f"), std::string(70'000, 'x'), Overwrite::no));
    const Result<std::string> exact = read_whole_file(path("f"), 70'000);
    ASSERT_TRUE(exact) << exact.error().text();
    EXPECT_EQ(*exact, std::string(70'000, 'x'));
    EXPECT_FALSE(read_whole_file(path("f"), 69'999));
}

TEST_F(TraceFile, SaysWhatIsWrongWithAPath) {
    EXPECT_EQ(read_trace(path("none.json")).error().text(),
              path("none.json") + ": (document): expected a readable file, found No such file or directory");
    EXPECT_EQ(read_trace(folder_.string()).error().text(),
              folder_.string() + ": (document): expected a readable file, found a folder");
    ASSERT_TRUE(write_whole_file(path("empty"), "", Overwrite::no));
    EXPECT_EQ(read_trace(path("empty")).error().text(),
              path("empty") + ":1: (document): expected JSON, found an empty file");
}

}  // namespace
}  // namespace heddle::trace
