// SPDX-License-Identifier: Apache-2.0
// Part of the contract of operations: files (RCT-40, RCT-44, RCT-46).
#pragma once

#include <algorithm>

#include "heddle/core/seam/contract/operations.hpp"

namespace heddle::contract {

class FileContract : public OperationContract {
protected:
    Completion try_open(const std::string& target, std::uint32_t flags) {
        return finish({.kind = OperationKind::open, .flags = flags, .amount = 0644, .target = target});
    }
    HandleId file_at(const std::string& target, std::uint32_t flags) {
        const Completion end = try_open(target, flags);
        EXPECT_EQ(end.error, 0);
        return keep(end.handle);
    }
    HandleId new_file() {
        path = environment->free_path();
        return file_at(path, open_read | open_write | open_create | open_exclusive);
    }
    Completion write_at(HandleId handle, std::int64_t offset, std::string_view text) {
        return finish({.kind = OperationKind::write, .handle = handle, .data = bytes_of(text), .offset = offset});
    }
    std::string read_at(HandleId handle, std::int64_t offset, std::size_t size) {
        std::string text(size, '\0');
        const Completion end =
            finish({.kind = OperationKind::read, .handle = handle, .buffer = room_of(text), .offset = offset});
        EXPECT_EQ(end.error, 0);
        return text.substr(0, end.error == 0 ? static_cast<std::size_t>(end.transferred) : 0);
    }
    std::int64_t seek(HandleId handle, std::int64_t offset, SeekFrom whence = SeekFrom::begin) {
        return finish({.kind = OperationKind::seek, .whence = whence, .handle = handle, .offset = offset}).transferred;
    }

    std::string path;
};

TEST_P(FileContract, KeepsWhatIsWritten) {
    const HandleId file = new_file();
    EXPECT_EQ(write_at(file, -1, "hello ").transferred, 6);
    EXPECT_EQ(write_at(file, -1, "world").transferred, 5);
    EXPECT_EQ(error_of({.kind = OperationKind::flush, .handle = file}), 0);
    EXPECT_EQ(environment->file(path), "hello world");
    EXPECT_EQ(seek(file, 0), 0);
    EXPECT_EQ(read_at(file, -1, 5), "hello");
    EXPECT_EQ(read_at(file, -1, 100), " world");
    std::string rest(1, '\0');
    const Completion end = finish({.kind = OperationKind::read, .handle = file, .buffer = room_of(rest)});
    EXPECT_EQ(end.transferred, 0);
    EXPECT_TRUE(end.end_of_stream);
}

TEST_P(FileContract, ReadsAndWritesAnywhere) {
    const HandleId file = new_file();
    EXPECT_EQ(write_at(file, 4, "efgh").transferred, 4);
    EXPECT_EQ(write_at(file, 0, "abcd").transferred, 4);
    EXPECT_EQ(read_at(file, 2, 4), "cdef");
    EXPECT_EQ(seek(file, -3, SeekFrom::end), 5);
    EXPECT_EQ(read_at(file, -1, 10), "fgh");
    EXPECT_EQ(seek(file, -2, SeekFrom::current), 6);
    EXPECT_EQ(error_of({.kind = OperationKind::seek, .handle = file, .offset = -1}), EINVAL);
    EXPECT_EQ(error_of({.kind = OperationKind::truncate, .handle = file, .offset = 3}), 0);
    EXPECT_EQ(environment->file(path), "abc");
}

TEST_P(FileContract, SeveralBuffersAreOneAfterTheOther) {
    const HandleId file = new_file();
    const std::span<const std::byte> pieces[] = {bytes_of("ab"), bytes_of(""), bytes_of("cde")};
    EXPECT_EQ(finish({.kind = OperationKind::write, .handle = file, .pieces = pieces}).transferred, 5);
    std::string first(1, '\0');
    std::string second(10, '-');
    const std::span<std::byte> buffers[] = {room_of(first), room_of(second)};
    EXPECT_EQ(finish({.kind = OperationKind::read, .handle = file, .buffers = buffers, .offset = 0}).transferred, 5);
    EXPECT_EQ(first + second.substr(0, 5), "abcde-");
}

TEST_P(FileContract, WritesOfManyAreWholeAndInOrder) {  // RCT-44: one in flight, first in first out
    const HandleId file = new_file();
    std::string whole;
    std::vector<Ask*> writers;
    for (int number = 0; number < 50; ++number) {
        const std::string text(number % 7 == 0 ? 100'000 : 10, static_cast<char>('A' + number));
        whole += text;
        writers.push_back(&write(file, text));
    }
    Ask& size = submit({.kind = OperationKind::stat, .handle = file});
    for (const Ask* const writer : writers) {
        run_until_done(*writer);
        EXPECT_EQ(writer->end().error, 0);
    }
    run_until_done(size);
    EXPECT_EQ(size.answers.back().status.size, static_cast<std::int64_t>(whole.size())) << "asked after them";
    EXPECT_EQ(environment->file(path), whole);
}

TEST_P(FileContract, AppendsAtTheEndWhoeverElseWrites) {
    const HandleId one = new_file();
    const HandleId a = file_at(path, open_write | open_append);
    const HandleId b = file_at(path, open_write | open_append);
    std::vector<Ask*> writers;
    for (int number = 0; number < 20; ++number) { writers.push_back(&write(number % 2 == 0 ? a : b, "0123456789")); }
    for (const Ask* const writer : writers) { run_until_done(*writer); }
    EXPECT_EQ(read_at(one, 0, 1000).size(), 200U);
}

TEST_P(FileContract, SaysWhatItIs) {
    environment->put_file(path = environment->free_path(), "12345");
    Ask& of_path = submit({.kind = OperationKind::stat, .target = path});
    run_until_done(of_path);
    EXPECT_EQ(of_path.end().error, 0);
    EXPECT_EQ(of_path.answers.back().status.kind, FileKind::regular);
    EXPECT_EQ(of_path.answers.back().status.size, 5);
    const std::string directory = environment->new_directory();
    Ask& of_directory = submit({.kind = OperationKind::stat, .target = directory});
    run_until_done(of_directory);
    EXPECT_EQ(of_directory.answers.back().status.kind, FileKind::directory);
    EXPECT_EQ(error_of({.kind = OperationKind::stat, .target = environment->free_path()}), ENOENT);
}

TEST_P(FileContract, OpenFailsForWhatIsNotThereOrNotAllowed) {
    const std::string missing = environment->free_path();
    EXPECT_EQ(try_open(missing, open_read).error, ENOENT);
    EXPECT_EQ(try_open("", open_read).error, ENOENT);
    EXPECT_EQ(try_open(std::string("a\0b", 3), open_read).error, ENOENT);
    environment->put_file(missing, "there");
    EXPECT_EQ(try_open(missing, open_write | open_create | open_exclusive).error, EEXIST);
    EXPECT_EQ(try_open(environment->new_directory(), open_write).error, EISDIR);
    EXPECT_EQ(try_open(missing + "/below", open_read).error, ENOTDIR);
    EXPECT_THROW(submit({.kind = OperationKind::open, .target = missing}), AsyncError) << "neither reads nor writes";
    const HandleId reader = file_at(missing, open_read);
    EXPECT_EQ(write_at(reader, -1, "x").error, EBADF);
    file_at(missing, open_write | open_truncate);
    EXPECT_EQ(environment->file(missing), "");
}

TEST_P(FileContract, CloseSaysHowItWentAndWaitsForWhatIsInFlight) {  // RCT-46
    const HandleId file = new_file();
    Ask& writer = write(file, std::string(5'000'000, 'w'));
    std::string buffer(1'000'000, '\0');
    Ask& reader = submit({.kind = OperationKind::read, .handle = file, .buffer = room_of(buffer), .offset = 0});
    Ask& closing = submit({.kind = OperationKind::close, .handle = file});
    EXPECT_THROW(write(file, "late"), AsyncError);
    run_until_done(closing);
    EXPECT_EQ(closing.end().error, 0);
    run_until_done(writer);
    run_until_done(reader);
    EXPECT_EQ(writer.got.size() + reader.got.size(), 2U);
    EXPECT_EQ(environment->open_descriptors(), descriptors_before + descriptors_of_reactor);
}

TEST_P(FileContract, ClosedRequestsNeverTouchTheirCallersMemory) {  // RCT-45
    const HandleId file = new_file();
    write_at(file, 0, std::string(500'000, 'r'));
    for (int round = 0; round < 30; ++round) {
        auto into = std::make_unique<std::string>(500'000, '-');
        auto from = std::make_unique<std::string>(500'000, 'r');
        Ask& reader = submit({.kind = OperationKind::read, .handle = file, .buffer = room_of(*into), .offset = 0});
        Ask& writer = submit({.kind = OperationKind::write, .handle = file, .data = bytes_of(*from), .offset = 0});
        if (round % 3 == 0) { tick(TickMode::no_wait); }
        close(reader);
        close(writer);
        std::fill(from->begin(), from->end(), '!');
        into.reset();
        from.reset();
    }
    run_until([&] { return reactor().active_events() == 0; });
    EXPECT_EQ(read_at(file, 0, 500'000).find_first_not_of('r'), std::string::npos);
}

TEST_P(FileContract, OpenThatNobodyWaitsForLeavesNothingOpen) {
    environment->put_file(path = environment->free_path(), "x");
    for (int round = 0; round < 20; ++round) {
        Ask& opening = submit({.kind = OperationKind::open, .flags = open_read, .target = path});
        if (opening.is_done()) {
            keep(opening.end().handle);
            continue;
        }
        if (round % 2 == 0) { tick(TickMode::no_wait); }
        if (opening.is_done()) {
            keep(opening.end().handle);
        } else {
            close(opening);
        }
    }
    run_until([&] { return reactor().active_events() == 0; });
}

TEST_P(FileContract, CloseOfTheHandleEndsItsRequests) {  // RCT-47
    const HandleId file = new_file();
    std::vector<Ask*> writers;
    for (int number = 0; number < 10; ++number) { writers.push_back(&write(file, std::string(200'000, 'c'))); }
    reactor().close_handle(file);
    for (const Ask* const writer : writers) {
        run_until_done(*writer);
        EXPECT_TRUE(writer->end().error == 0 || writer->end().error == ECANCELED);
    }
    EXPECT_EQ(writers.back()->end().error, ECANCELED);
}

}  // namespace heddle::contract
