// SPDX-License-Identifier: Apache-2.0
// Messages on the wire: cut anywhere, one behind the other, too long, cut off, and no HTTP at all.
#include "heddle/properties/http/http_stream.hpp"

#include <gtest/gtest.h>

#include <string>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"
#include "heddle/core/sync/sleep.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::http {
namespace {

using namespace std::chrono_literals;

/// What a reader of requests makes of `text`, which comes in parts of `step` bytes, and then of the end of the connection.
std::string heard(const std::string& text, std::size_t step, const Limits& limits = {}) {
    std::string log;
    sim::World world;
    const sim::Outcome outcome = world.run([&] {
        auto listener = TcpListener::bind(Address::ip("127.0.0.1", 0));
        const Address at = listener.info().local;
        const auto talker = spawn("talker", [&] {
            TcpStream stream = TcpStream::connect(at);
            try {
                for (std::size_t from = 0; from < text.size(); from += step) {
                    stream.write(text.substr(from, step));
                    sleep_for(1ms);
                }
                stream.shutdown();
                static_cast<void>(stream.read_all(1));
            } catch (const OperationError&) {}  // the reader has had enough
        });
        {
            Stream stream(listener.accept());
            try {
                while (const std::optional<Request> request = stream.read_request(limits)) {
                    log += request->method + " " + request->target + (request->body.empty() ? "" : " " + request->body) +
                           (request->keep_alive ? ";" : " close;");
                }
                log += "end";
            } catch (const MessageError& error) {
                switch (error.reason()) {
                    case MessageError::Reason::malformed: log += "malformed"; break;
                    case MessageError::Reason::head_too_long: log += "head too long"; break;
                    case MessageError::Reason::body_too_long: log += "body too long"; break;
                    case MessageError::Reason::cut_off: log += "cut off"; break;
                }
            } catch (const TimeoutError&) { log += stream.has_begun() ? "too slow" : "idle"; }
        }
        talker.await();
    });
    return outcome.kind == trace::OutcomeKind::ok ? log : outcome.message;
}

const std::string get = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
const std::string post = "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
const std::string chunked = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n";
const std::string last = "GET /d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

TEST(HttpStream, ReadsMessagesWhereverTheyAreCut) {
    for (std::size_t step = 1; step <= 60; ++step) {
        EXPECT_EQ(heard(get + post + chunked + last, step), "GET /a;POST /b hello;POST /c abcde;GET /d close;end") << step;
    }
}

TEST(HttpStream, TakesTheEndBetweenMessagesForAnEndAndInsideOneForAnError) {
    EXPECT_EQ(heard("", 1), "end");
    const std::string all = get + post;
    for (std::size_t size = 1; size < all.size(); ++size) {
        EXPECT_EQ(heard(all.substr(0, size), 7), size < get.size() ? "cut off" : size == get.size() ? "GET /a;end" : "GET /a;cut off") << size;
    }
}

TEST(HttpStream, RefusesWhatIsTooLong) {
    EXPECT_EQ(heard("GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\n\r\n", 1000), "head too long");
    EXPECT_EQ(heard("GET / HTTP/1.1\r\nLong: " + std::string(20'000, 'x') + "\r\n\r\n", 1000), "head too long");
    EXPECT_EQ(heard(post, 100, {.body_max = 4}), "body too long");
    EXPECT_EQ(heard(post, 100, {.body_max = 5}), "POST /b hello;end");
    EXPECT_EQ(heard(chunked, 100, {.body_max = 4}), "body too long");
}

TEST(HttpStream, RefusesWhatIsNoHttp) {
    EXPECT_EQ(heard("hello\r\n\r\n", 3), "malformed");
    EXPECT_EQ(heard(std::string(100, '\0'), 3), "malformed");
    EXPECT_EQ(heard("GET / HTTP/1.1\r\nContent-Length: 5x\r\n\r\n", 100), "malformed");
    EXPECT_EQ(heard("POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 100), "malformed") << "two lengths";
}

TEST(HttpStream, GivesNoMoreTimeToWhoSendsByteByByte) {
    EXPECT_EQ(heard(get + post, 1, {.message = 10ms}), "too slow");
    EXPECT_EQ(heard(get + post, 100, {.message = 10ms}), "GET /a;POST /b hello;end");
}

TEST(HttpStream, WritesWhatItReads) {
    const Request request{.method = "POST", .target = "/x?y=1", .body = "some", .keep_alive = false};
    EXPECT_EQ(heard(text_of(request), 9), "POST /x?y=1 some close;end");
}

}  // namespace
}  // namespace heddle::http
