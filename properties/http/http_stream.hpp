// SPDX-License-Identifier: Apache-2.0
// HttpStream: the messages of an HTTP/1.1 connection, one after the other. libhttp-parser reads them; it ends in http_stream.cpp.
//
//   TcpStream ──bytes──▶ read-ahead ──parser──▶ HttpRequest, HttpResponse          write: one message, whole
//
// HS1  A message is taken once. Bytes behind it belong to the next one, which a client may send without waiting for its answer.
// HS2  What is longer than its limit is refused before it is kept, and so is what is no HTTP.
// HS3  The end of the connection between two messages is none of a message; inside one it is an error.
// HS4  A message has one time limit, counted from its first byte: a peer that sends one byte at a time gets no more of it.
// Choice points: those of core/io. Suspends: reading and writing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/io/tcp.hpp"

namespace heddle::http {

struct Request {
    std::string method = "GET";
    std::string target = "/";  ///< without blanks and control characters, as the parser hands it out
    std::string body{};
    bool keep_alive = true;  ///< the connection is good for another one
};
struct Response {
    unsigned status = 200;
    std::string body{};
    bool keep_alive = true;
};

class MessageError : public Error {
public:
    enum class Reason : std::uint8_t {
        malformed,     ///< no HTTP/1, or nothing that is understood here, such as an upgrade
        head_too_long,
        body_too_long,
        cut_off,       ///< the connection ended inside a message
    };
    MessageError(Reason reason, const std::string& message) : Error(message), reason_(reason) {}
    [[nodiscard]] Reason reason() const { return reason_; }

private:
    Reason reason_;
};

/// Bounds of one message. Durations are positive; zero is no limit.
struct Limits {
    std::size_t head_max = 16 * 1024;    ///< bytes of the first line and the headers, 1 to 64 KiB
    std::size_t body_max = 1024 * 1024;  ///< bytes
    Duration idle = Duration::zero();    ///< wait for its first byte
    Duration message = Duration::zero(); ///< from its first byte to its last, and for writing one
    Token token{};                       ///< ends the wait for its first byte
};

class Stream {
public:
    explicit Stream(TcpStream connection) : connection_(std::move(connection)) {}

    /// Empty at the end of the connection. Throws: MessageError; TimeoutError, see `has_begun`; OperationError; OperationCanceled by the token.
    [[nodiscard]] std::optional<Request> read_request(const Limits& limits);
    [[nodiscard]] std::optional<Response> read_response(const Limits& limits);
    /// The last read has seen a part of a message.
    [[nodiscard]] bool has_begun() const { return has_begun_; }

    /// Throws: TimeoutError, OperationError; the message may have been sent in part.
    void write(const Request& request, const Limits& limits);
    void write(const Response& response, const Limits& limits);

    /// Drops what was read beyond the last message: a mistake, for properties that have to find it.
    void forget_read_ahead() { read_ahead_.clear(); }
    [[nodiscard]] TcpStream& connection() { return connection_; }

private:
    class Parser;
    bool read_message(Parser& parser, const Limits& limits);
    void write_text(std::string_view text, const Limits& limits);

    TcpStream connection_;
    std::string read_ahead_;  // HS1
    bool has_begun_ = false;
};

/// The text of one message, as `write` sends it.
[[nodiscard]] std::string text_of(const Request& request);
[[nodiscard]] std::string text_of(const Response& response);

}  // namespace heddle::http
