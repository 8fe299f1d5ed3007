// SPDX-License-Identifier: Apache-2.0
// Streams of core/io on the operating system: what programs see of them, and what bad input does.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "heddle/core/io/dns.hpp"
#include "heddle/core/io/pipe.hpp"
#include "heddle/core/io/tcp.hpp"
#include "heddle/core/io/udp.hpp"
#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/realreactor/testing/io_rig.hpp"

namespace heddle::real::testing {
namespace {

using namespace std::chrono_literals;

const Address anywhere = Address::ip("127.0.0.1", 0);

struct Server {
    Server() : listener(TcpListener::bind(anywhere)), at(listener.info().local) {}
    std::pair<TcpStream, TcpStream> connect() { return connected<TcpStream>(listener, at); }
    TcpListener listener;
    Address at;
};

class TcpTest : public IoTest {};
class PipeTest : public IoTest {};
class TtyTest : public IoTest {};
class UdpTest : public IoTest {};
class NameTest : public IoTest {};

void echo(TcpStream& stream) {
    char buffer[128];
    while (const std::size_t size = stream.read(buffer, sizeof buffer)) {
        stream.write(std::string_view(buffer, size));
    }
    stream.shutdown();
}

TEST_F(TcpTest, EchoesUntilTheEnd) {
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        const auto echoes = spawn([&accepted = accepted] { echo(accepted); });
        for (const char* word : {"one", "two", "three"}) {
            client.write(word);
            std::string answer(std::string_view(word).size(), '\0');
            EXPECT_EQ(client.read_exactly(std::as_writable_bytes(std::span(answer))), answer.size());
            EXPECT_EQ(answer, word);
        }
        client.shutdown();
        EXPECT_EQ(client.read_all(10), "");
        echoes.await();
    });
}

TEST_F(TcpTest, ServesManyConnectionsAtOnce) {
    run([] {
        Server server;
        constexpr int count = 100;
        const auto serving = spawn("server", [&] {
            std::vector<Coroutine<void>> connections;
            for (int number = 0; number < count; ++number) {
                connections.push_back(spawn([stream = server.listener.accept()]() mutable { echo(stream); }));
            }
            for (const auto& connection : connections) { connection.await(); }
        });
        std::vector<Coroutine<void>> clients;
        for (int number = 0; number < count; ++number) {
            clients.push_back(spawn([&, number] {
                TcpStream stream = TcpStream::connect(server.at);
                const std::string text(static_cast<std::size_t>(number) * 997, static_cast<char>('a' + number % 26));
                const auto writer = spawn([&] {
                    stream.write(text);
                    stream.shutdown();
                });
                EXPECT_EQ(stream.read_all(1'000'000), text);
                writer.await();
            }));
        }
        for (const auto& client : clients) { client.await(); }
        serving.await();
    });
}

TEST_F(TcpTest, ReadThatTimesOutLosesNothing) {
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        char buffer[16];
        for (int round = 0; round < 3; ++round) {
            EXPECT_NE(
                error_of<TimeoutError>([&] { client.read(buffer, sizeof buffer, {.timeout = 1ms}); }).find("read"),
                std::string::npos);
        }
        accepted.write("kept");
        std::string text(4, '\0');
        EXPECT_EQ(client.read_exactly(std::as_writable_bytes(std::span(text)), {.timeout = 10s}), 4U);
        EXPECT_EQ(text, "kept");
        EXPECT_THROW(client.read(buffer, 1, {.timeout = -1ms}), ValueError);
    });
}

TEST_F(TcpTest, TokenEndsAWaitForAConnection) {
    run([] {
        Server server;
        const Timeout timeout(1ms);
        EXPECT_THROW(static_cast<void>(server.listener.accept({.token = timeout})), OperationCanceled);
        EXPECT_THROW(static_cast<void>(server.listener.accept({.token = timeout})), OperationCanceled)
            << "it has fired already";
        auto [client, accepted] = server.connect();
        EXPECT_TRUE(accepted.is_open());
    });
}

TEST_F(TcpTest, CancelledReaderLeavesTheDataToTheNext) {  // RCT-45
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        const auto reader = spawn([&client = client] {
            char buffer[16];
            client.read(buffer, sizeof buffer);
        });
        yield();
        reader.cancel();
        EXPECT_THROW(reader.await(), Cancellation);
        accepted.write("x");
        char byte = 0;
        EXPECT_EQ(client.read(&byte, 1), 1U);
        EXPECT_EQ(byte, 'x');
    });
}

TEST_F(TcpTest, CancelledWriterTakesItsMemoryWithIt) {  // RCT-45
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        const auto writer = spawn([&client = client] {
            const auto large = std::make_unique<std::string>(8 * 1024 * 1024, 'x');
            client.write(*large);
        });
        sleep_for(1ms);
        writer.cancel();
        EXPECT_THROW(writer.await(), Cancellation);
        const auto ending = spawn([&client = client] { client.shutdown(); });
        const std::string got = accepted.read_all(8 * 1024 * 1024);
        ending.await();
        EXPECT_EQ(got.find_first_not_of('x'), std::string::npos);
    });
}

TEST_F(TcpTest, CloseWakesItsReaderWithATypedError) {  // RCT-47
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        const int descriptor = client.descriptor();
        const auto reader = spawn([&client = client, descriptor] {
            char buffer[16];
            try {
                client.read(buffer, sizeof buffer);
                ADD_FAILURE();
            } catch (const OperationError& error) {
                EXPECT_EQ(error.operation(), OperationKind::read);
                EXPECT_EQ(error.descriptor(), descriptor);
                EXPECT_TRUE(error.is_closed());
                EXPECT_EQ(std::string(error.what()),
                          "read of tcp descriptor " + std::to_string(descriptor) + ": closed");
            }
        });
        yield();
        client.close();
        client.close();
        reader.await();
        EXPECT_THROW(client.write("late"), AsyncError);
        EXPECT_THROW(client.info(), AsyncError);
        EXPECT_EQ(client.descriptor(), -1);
    });
}

TEST_F(TcpTest, SecondReaderIsRefused) {  // RCT-42
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        const auto reader = spawn([&client = client] {
            char byte = 0;
            return client.read(&byte, 1);
        });
        yield();
        char byte = 0;
        EXPECT_THROW(client.read(&byte, 1), AsyncError);
        accepted.write("x");
        EXPECT_EQ(reader.await(), 1U);
    });
}

TEST_F(TcpTest, WriterOfAPeerThatResetsGetsAnErrorAndNoSignal) {
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        client.write("never read");
        accepted.close();
        const std::string block(1024 * 1024, 'w');
        const int code = code_of([&client = client, &block] {
            for (int round = 0; round < 100; ++round) { client.write(block); }
        });
        EXPECT_TRUE(code == EPIPE || code == ECONNRESET) << code;
    });
}

TEST_F(TcpTest, ConnectSaysWhatItCouldNotReach) {
    run([] {
        Address nobody;
        {
            Server server;
            nobody = server.at;
        }
        try {
            TcpStream::connect(nobody);
            ADD_FAILURE();
        } catch (const OperationError& error) {
            EXPECT_EQ(error.operation(), OperationKind::connect);
            EXPECT_EQ(error.code(), ECONNREFUSED);
            EXPECT_NE(std::string(error.what()).find(nobody.text()), std::string::npos);
        }
        EXPECT_EQ(code_of([] { TcpStream::connect(Address::local("/nowhere")); }), EAFNOSUPPORT);
        EXPECT_THROW(Address::ip("not an address", 1), ValueError);
    });
}

TEST_F(TcpTest, ConnectsByName) {
    run([] {
        Server server;
        const auto accepts = spawn([&] { server.listener.accept().write("hello"); });
        EXPECT_EQ(TcpStream::connect("localhost", server.at.port).read_all(100), "hello");
        accepts.await();
        EXPECT_THROW(TcpStream::connect("nowhere.invalid", 80), NameError);
    });
}

TEST_F(TcpTest, LongerThanAllowedIsRefused) {  // a line without an end
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        const auto sender = spawn([&accepted = accepted] {
            const std::string block(64 * 1024, 'l');
            try {
                for (;;) { accepted.write(block); }
            } catch (const OperationError&) {}
        });
        EXPECT_THROW(client.read_all(1'000'000), ValueError);
        client.close();
        sender.await();
    });
}

TEST_F(TcpTest, ForeignDescriptorsAreRefusedAndStayTheCallers) {
    run([this] {
        EXPECT_EQ(code_of([] { TcpStream::adopt(-1); }), EBADF);
        EXPECT_EQ(code_of([] { TcpStream::adopt(1'000'000); }), EBADF);
        const int file = ::open(path("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(code_of([&] { TcpStream::adopt(file); }), ENOTSOCK);
        EXPECT_EQ(code_of([&] { PipeStream::adopt(file); }), ENOTSOCK);
        EXPECT_EQ(code_of([&] { UdpSocket::adopt(file); }), ENOTSOCK);
        EXPECT_EQ(code_of([&] { TtyStream::adopt(file); }), ENOTTY);
        EXPECT_EQ(::close(file), 0);
        int pair[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        EXPECT_EQ(code_of([&] { TcpStream::adopt(pair[0]); }), EPROTOTYPE);
        EXPECT_EQ(code_of([&] { UdpSocket::adopt(pair[0]); }), EPROTOTYPE);
        PipeStream one = PipeStream::adopt(pair[0]);
        PipeStream other = PipeStream::adopt(pair[1]);
        EXPECT_EQ(code_of([&] { PipeStream::adopt(pair[0]); }), EEXIST) << "it has a handle already";
        one.write("through");
        one.close();
        EXPECT_EQ(other.read_all(100), "through");
    });
}

TEST_F(TcpTest, ExhaustedDescriptorsAreAnError) {
    run([] {
        Server server;
        // A sanitizer that meets a type for the first time wants a descriptor of its own: one connection, and one error, before.
        { const auto once = server.connect(); }
        const auto nobody = [] {
            Server gone;
            return gone.at;
        }();
        EXPECT_EQ(code_of([&] { TcpStream::connect(nobody); }), ECONNREFUSED);
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        rlimit tight = limit;
        tight.rlim_cur = open_descriptors();
        const int highest = ::dup(0);  // the lowest number that is free
        ::close(highest);
        tight.rlim_cur = static_cast<rlim_t>(highest);
        ::setrlimit(RLIMIT_NOFILE, &tight);
        const int code = code_of([&] { TcpStream::connect(server.at); });
        ::setrlimit(RLIMIT_NOFILE, &limit);
        EXPECT_EQ(code, EMFILE);
        auto [client, accepted] = server.connect();
        EXPECT_TRUE(client.is_open()) << "and it goes on";
    });
}

TEST_F(TcpTest, OptionsAreSet) {
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        client.configure({.no_delay = true, .keep_alive = 60s});
        int value = 0;
        socklen_t size = sizeof value;
        ::getsockopt(client.descriptor(), SOL_SOCKET, SO_KEEPALIVE, &value, &size);
        EXPECT_EQ(value, 1);
    });
}

TEST_F(TcpTest, NeedsACoroutine) {
    EXPECT_THROW(TcpListener::bind(anywhere), AsyncError);
    EXPECT_THROW(static_cast<void>(resolve_name("localhost")), AsyncError);
}

TEST_F(TcpTest, StreamsMoveWithTheirConnection) {
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        TcpStream moved = std::move(client);
        EXPECT_FALSE(client.is_open());
        TcpStream other;
        other = std::move(moved);
        accepted.write("x");
        char byte = 0;
        EXPECT_EQ(other.read(&byte, 1), 1U);
        other = TcpStream();  // closes
        EXPECT_EQ(accepted.read(&byte, 1), 0U);
    });
}

TEST_F(TcpTest, RunEndsWithStreamsThatWereNeverClosed) {
    run([] {
        Server server;
        auto [client, accepted] = server.connect();
        const auto forgotten = spawn([stream = std::move(accepted)]() mutable {
            char byte = 0;
            stream.read(&byte, 1);
        });
        yield();
        shutdown();
    });
}

TEST_F(PipeTest, ListensAtAPath) {
    run([this] {
        const std::string at = path("socket");
        PipeListener listener = PipeListener::bind(at);
        auto [client, accepted] = connected<PipeStream>(listener, at);
        const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(std::string_view("ab"))),
                                                     std::as_bytes(std::span(std::string_view("cd")))};
        client.writev(pieces);
        accepted.wait_readable();
        char first[1];
        char second[8];
        const std::span<std::byte> buffers[] = {std::as_writable_bytes(std::span(first)),
                                                std::as_writable_bytes(std::span(second))};
        EXPECT_EQ(accepted.readv(buffers), 4U);
        EXPECT_EQ(std::string(first, 1) + std::string(second, 3), "abcd");
        listener.close();
        EXPECT_FALSE(std::filesystem::exists(at));
        EXPECT_EQ(code_of([&] { PipeStream::connect(at); }), ENOENT);
        EXPECT_EQ(code_of([&] { PipeStream::connect(std::string(200, 'p')); }), ENAMETOOLONG);
    });
}

TEST_F(TtyTest, ReadsAndWritesATerminal) {
    run([] {
        const int controller = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        ASSERT_GE(controller, 0);
        ASSERT_EQ(::grantpt(controller), 0);
        ASSERT_EQ(::unlockpt(controller), 0);
        const int terminal = ::open(::ptsname(controller), O_RDWR | O_NOCTTY | O_CLOEXEC);
        ASSERT_GE(terminal, 0);
        {
            TtyStream tty = TtyStream::adopt(terminal);
            tty.set_raw(true);
            ASSERT_EQ(::write(controller, "k", 1), 1);
            char key = 0;
            EXPECT_EQ(tty.read(&key, 1), 1U) << "key by key";
            EXPECT_EQ(key, 'k');
            tty.write("out");
            char shown[8];
            EXPECT_EQ(::read(controller, shown, sizeof shown), 3);
            tty.set_raw(false);
        }
        sleep_for(1ms);  // the descriptor goes with the handle
        ::close(controller);
    });
}

TEST_F(UdpTest, SendsAndReceives) {
    run([] {
        UdpSocket a = UdpSocket::bind(anywhere);
        UdpSocket b = UdpSocket::bind(anywhere);
        char buffer[64];
        a.send("ping", b.info().local);
        const Datagram got = b.receive(std::as_writable_bytes(std::span(buffer)));
        EXPECT_EQ(got.size, 4U);
        EXPECT_EQ(got.from, a.info().local);
        UdpSocket c = UdpSocket::connect(b.info().local);
        c.send(std::as_bytes(std::span("x", 1)));
        EXPECT_EQ(b.receive(std::as_writable_bytes(std::span(buffer))).from, c.info().local);
        EXPECT_THROW(static_cast<void>(b.receive(std::as_writable_bytes(std::span(buffer)), {.timeout = 1ms})),
                     TimeoutError);
        c.allow_broadcast(true);
        const auto receiver = spawn([&] {
            char other[8];
            return code_of([&] { static_cast<void>(b.receive(std::as_writable_bytes(std::span(other)))); });
        });
        yield();
        b.close();
        EXPECT_EQ(receiver.await(), ECANCELED);
    });
}

TEST_F(NameTest, BecomeAddressesAndBack) {
    run([] {
        const std::vector<Address> addresses = resolve_name("127.0.0.1", "80");
        ASSERT_EQ(addresses.size(), 1U);
        EXPECT_EQ(addresses[0].text(), "127.0.0.1:80");
        EXPECT_FALSE(resolve_address(addresses[0]).host.empty());
        try {
            static_cast<void>(resolve_name("nowhere.invalid"));
            ADD_FAILURE();
        } catch (const NameError& error) {
            EXPECT_NE(error.reason(), ResolverError::none);
            EXPECT_NE(std::string(error.what()).find("nowhere.invalid"), std::string::npos);
        }
        EXPECT_EQ(code_of([] { static_cast<void>(resolve_address(Address::local("/x"))); }), EAFNOSUPPORT);
    });
}

}  // namespace
}  // namespace heddle::real::testing
