// SPDX-License-Identifier: Apache-2.0
// Files, signals, children and watches of core/io on the operating system.
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>

#include "heddle/core/io/file.hpp"
#include "heddle/core/io/fs_watch.hpp"
#include "heddle/core/io/process.hpp"
#include "heddle/core/io/signal.hpp"
#include "heddle/core/io/tcp.hpp"
#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/realreactor/testing/io_rig.hpp"

namespace heddle::real::testing {
namespace {

using namespace std::chrono_literals;

class FileTest : public IoTest {};
class SignalTest : public IoTest {};
class ProcessTest : public IoTest {};
class FsWatchTest : public IoTest {};

constexpr FileOptions fresh{.flags = open_read | open_write | open_create | open_truncate};

TEST_F(FileTest, IsReadAndWrittenAtItsPosition) {
    run([this] {
        File file = File::open(path("file"), fresh);
        file.write("hello ");
        file.write("world");
        file.write_at(0, std::as_bytes(std::span(std::string_view("H"))));
        file.flush();
        EXPECT_EQ(file.status().size, 11);
        EXPECT_EQ(file.seek(-5, SeekFrom::end), 6);
        EXPECT_EQ(file.read_all(100), "world");
        EXPECT_EQ(file.seek(0), 0);
        EXPECT_THROW(static_cast<void>(file.read_all(5)), ValueError);
        file.truncate(5);
        EXPECT_EQ(file_status(path("file")).size, 5);
        file.close_checked();
        EXPECT_FALSE(file.is_open());
        EXPECT_THROW(file.write("late"), AsyncError);
    });
}

TEST_F(FileTest, AppendsOfManyCoroutinesAreWhole) {
    run([this] {
        File file = File::open(path("log"), {.flags = open_write | open_create | open_truncate | open_append});
        std::vector<Coroutine<void>> writers;
        for (int number = 0; number < 20; ++number) {
            writers.push_back(spawn([&file, number] {
                const std::string line(10'000, static_cast<char>('a' + number));
                for (int round = 0; round < 5; ++round) { file.write(line + "\n"); }
            }));
        }
        for (const auto& writer : writers) { writer.await(); }
        file.close();
        std::ifstream lines(path("log"));
        std::size_t count = 0;
        for (std::string line; std::getline(lines, line); ++count) {
            EXPECT_EQ(line.size(), 10'000U);
            EXPECT_EQ(line.find_first_not_of(line[0]), std::string::npos);
        }
        EXPECT_EQ(count, 100U);
    });
}

TEST_F(FileTest, ErrorsNameOperationAndFile) {
    run([this] {
        try {
            File::open(path("missing"));
            ADD_FAILURE();
        } catch (const OperationError& error) {
            EXPECT_EQ(error.operation(), OperationKind::open);
            EXPECT_EQ(error.code(), ENOENT);
            EXPECT_NE(std::string(error.what()).find(path("missing")), std::string::npos);
        }
        File file = File::open(path("file"), {.flags = open_write | open_create});
        char byte = 0;
        EXPECT_EQ(code_of([&] { file.read(std::as_writable_bytes(std::span(&byte, 1))); }), EBADF);
        EXPECT_EQ(code_of([this] { static_cast<void>(file_status(path("missing"))); }), ENOENT);
        EXPECT_EQ(code_of([] { File::adopt(0x7fff); }), EBADF);
        EXPECT_EQ(code_of([] { static_cast<void>(file_status("/dev/null/below")); }), ENOTDIR);
        EXPECT_EQ(code_of([] { File::open("/dev/full", {.flags = open_write}).write("x"); }), ENOSPC);
    });
}

TEST_F(FileTest, CancelledOperationsLeaveTheirMemoryAlone) {  // RCT-45: the worker is still running
    run([this] {
        File file = File::open(path("file"), fresh);
        file.write(std::string(1'000'000, 'r'));
        for (int round = 0; round < 20; ++round) {
            const auto reader = spawn([&] {
                const auto into = std::make_unique<std::string>(1'000'000, '-');
                file.read_at(0, std::as_writable_bytes(std::span(*into)));
            });
            yield();
            reader.cancel();
            try {
                reader.await();
            } catch (const Cancellation&) {}
        }
        EXPECT_EQ(file.status().size, 1'000'000);
    });
}

TEST_F(FileTest, IsSentThroughAStream) {
    run([this] {
        const std::string content(300'000, 's');
        File file = File::open(path("file"), fresh);
        file.write(content);
        TcpListener listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
        auto [client, accepted] = connected<TcpStream>(listener, listener.info().local);
        const auto sender = spawn([&, &accepted = accepted] {
            const std::int64_t sent = send_file(accepted, file, 100'000);
            EXPECT_EQ(send_file(accepted, file, 0, 10), 10);
            accepted.shutdown();
            return sent;
        });
        EXPECT_EQ(client.read_all(1'000'000).size(), 200'010U);
        EXPECT_EQ(sender.await(), 200'000);
    });
}

TEST_F(SignalTest, IsKeptUntilSomebodyWaits) {  // RCT-52
    run([] {
        SignalWatch watch(SIGUSR1);
        EXPECT_THROW(watch.wait({.timeout = 1ms}), TimeoutError);
        ::raise(SIGUSR1);
        sleep_for(1ms);
        EXPECT_GE(watch.wait(), 1U);
        const auto waiter = spawn([&] { return watch.wait(); });
        yield();
        ::raise(SIGUSR1);
        EXPECT_GE(waiter.await(), 1U);
    });
    EXPECT_FALSE(is_caught(SIGUSR1));
    run([] {
        EXPECT_THROW(SignalWatch(0), AsyncError);
        EXPECT_THROW(SignalWatch{SIGKILL}, AsyncError);
    });
}

TEST_F(SignalTest, StormOfSignalsIsHeardByEveryWatch) {
    run([] {
        SignalWatch one(SIGUSR1);
        SignalWatch other(SIGUSR1);
        for (int number = 0; number < 1000; ++number) { ::raise(SIGUSR1); }
        EXPECT_GE(one.wait(), 1U);
        EXPECT_GE(other.wait(), 1U);
    });
}

TEST_F(SignalTest, FutureOfTheNextOneLeavesTheDefaultBehaviourBehind) {  // SIG-01 to SIG-03
    run([] {
        const Future<int> first = signal(SIGUSR1);
        const Future<int> second = signal(SIGUSR1, Timeout(10s));
        EXPECT_TRUE(is_caught(SIGUSR1));
        ::raise(SIGUSR1);
        EXPECT_EQ(first.await(), SIGUSR1);
        EXPECT_EQ(second.await(), SIGUSR1);
        EXPECT_THROW(static_cast<void>(signal(SIGUSR2, Timeout(1ms)).await()), OperationCanceled);
        EXPECT_THROW(static_cast<void>(signal(SIGKILL)), AsyncError);
    });
    EXPECT_FALSE(is_caught(SIGUSR1));
    EXPECT_FALSE(is_caught(SIGUSR2));
}

TEST_F(ProcessTest, CommandReadsAndWrites) {
    run([] {
        const std::string text(500'000, 't');
        const CommandResult result = run_command({"cat"}, {.input = text});
        EXPECT_EQ(result.code, 0);
        EXPECT_EQ(result.output, text);
        const CommandResult failed = run_command({"sh", "-c", "echo out; echo err >&2; exit 3"});
        EXPECT_EQ(failed.code, 3);
        EXPECT_EQ(failed.output, "out\n");
        EXPECT_EQ(failed.error, "err\n");
        EXPECT_EQ(run_command({"true"}, {.input = text}).code, 0) << "it reads nothing of its input";
    });
}

TEST_F(ProcessTest, BadCommandsAreErrors) {
    run([] {
        EXPECT_EQ(code_of([] { run_command({"/no/such/program"}); }), ENOENT);
        EXPECT_EQ(code_of([] { Process({.arguments = {"true"}, .directory = "/no/such/directory"}); }), ENOENT);
        EXPECT_THROW(run_command({}), AsyncError);
        EXPECT_THROW(run_command({"yes"}, {.size_max = 100'000}), ValueError);
    });
}

TEST_F(ProcessTest, CommandThatTakesTooLongIsTerminated) {
    run([] { EXPECT_THROW(run_command({"sleep", "1000"}, {.timeout = 5ms}), TimeoutError); });
}

TEST_F(ProcessTest, EndIsHeardByEverybody) {  // RCT-53
    run([] {
        Process child({.arguments = {"sh", "-c", "read line; exit 7"}, .input = ChildStream::pipe});
        const auto one = spawn([&] { return child.wait(); });
        const auto other = spawn([&] { return child.wait(); });
        EXPECT_THROW(child.wait({.timeout = 1ms}), TimeoutError);
        child.input().write("\n");
        EXPECT_EQ(one.await(), 7);
        EXPECT_EQ(other.await(), 7);
        EXPECT_EQ(child.wait(), 7) << "afterwards, too";
        child.kill(SIGTERM);  // nothing: the number may be another's by now
    });
}

TEST_F(ProcessTest, ReaderOnAKilledChildsPipeIsWoken) {
    run([] {
        Process child({.arguments = {"sleep", "1000"}, .output = ChildStream::pipe});
        const auto reader = spawn([&] { return child.output().read_all(10); });
        yield();
        child.kill(SIGKILL);
        EXPECT_EQ(reader.await(), "");
        EXPECT_EQ(child.wait(), -SIGKILL);
    });
}

TEST_F(ProcessTest, ChildThatIsDroppedIsTerminatedAndWaitedFor) {
    run([] {
        int pid = 0;
        {
            Process child({.arguments = {"sleep", "1000"}});
            pid = child.pid();
        }
        while (::kill(pid, 0) == 0) { sleep_for(1ms); }
        EXPECT_EQ(::waitpid(pid, nullptr, 0), -1);
        EXPECT_EQ(errno, ECHILD);
    });
}

TEST_F(FsWatchTest, ChangesAreKeptUntilTaken) {  // RCT-57
    run([this] {
        std::filesystem::create_directory(path("tree"));
        {
            FsWatch watch(path("tree"), {.recursive = true});
            EXPECT_THROW(static_cast<void>(watch.next({.timeout = 1ms})), TimeoutError);
            std::filesystem::create_directory(path("tree/below"));
            std::ofstream(path("tree/below/file")) << "x";
            bool seen = false;
            while (!seen) { seen = watch.next().name == "below/file"; }
        }
        std::filesystem::remove_all(path("tree"));
        EXPECT_EQ(code_of([this] { FsWatch watch(path("missing")); }), ENOENT);
    });
}

TEST_F(FsWatchTest, BurstIsOneEntryAndACloseEndsAnIteration) {  // FSW-02, FSW-03
    run([this] {
        std::filesystem::create_directory(path("burst"));
        FsWatch watch(path("burst"), {.debounce = 20ms, .extensions = {".txt"}});
        for (const char* name : {"burst/a.txt", "burst/b.txt", "burst/c"}) { std::ofstream(path(name)) << "x"; }
        int entries = 0;
        auto loop = spawn([&] {
            for (const FsChange& change : watch) {
                EXPECT_EQ(change.name, "");
                ++entries;
                watch.close();
            }
        });
        loop.await();
        EXPECT_EQ(entries, 1);
    });
}

}  // namespace
}  // namespace heddle::real::testing
