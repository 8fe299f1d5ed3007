// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/http/http_stream.hpp"

#include <http_parser.h>

#include <utility>

#include "heddle/core/run/runtime.hpp"

namespace heddle::http {

/// One message, however it is cut into parts.
class Stream::Parser {
public:
    Parser(http_parser_type type, const Limits& limits) : limits_(limits) {
        http_parser_init(&parser_, type);
        parser_.data = this;
    }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    /// @returns how many of them belong to the message. Throws MessageError.
    std::size_t feed(std::string_view bytes) {
        const std::size_t taken = http_parser_execute(&parser_, &settings(), bytes.data(), bytes.size());
        if (is_complete_) { return taken; }
        if (refusal_ == MessageError::Reason::body_too_long) { throw MessageError(*refusal_, "the body is too long"); }
        if (refusal_) { throw MessageError(*refusal_, "the head is too long"); }
        const auto code = static_cast<http_errno>(parser_.http_errno);
        if (code == HPE_HEADER_OVERFLOW) { throw MessageError(MessageError::Reason::head_too_long, "the head is too long"); }
        if (code != HPE_OK) { throw MessageError(MessageError::Reason::malformed, http_errno_description(code)); }
        if (!has_headers_) { count_head(bytes.size()); }
        return taken;
    }
    /// The connection has ended: a response without a length is complete by it.
    bool end() {
        http_parser_execute(&parser_, &settings(), nullptr, 0);
        return is_complete_;
    }
    [[nodiscard]] bool is_complete() const { return is_complete_; }
    [[nodiscard]] Request take_request() {
        return {http_method_str(static_cast<http_method>(parser_.method)), std::move(target_), std::move(body_), keep_alive_};
    }
    [[nodiscard]] Response take_response() { return {parser_.status_code, std::move(body_), keep_alive_}; }

private:
    static Parser& of(http_parser* parser) { return *static_cast<Parser*>(parser->data); }
    static const http_parser_settings& settings() {
        static const http_parser_settings all = [] {
            http_parser_settings made;
            http_parser_settings_init(&made);
            made.on_url = [](http_parser* parser, const char* at, std::size_t size) { return of(parser).add_target({at, size}); };
            made.on_header_field = made.on_header_value = [](http_parser* parser, const char*, std::size_t size) {
                return of(parser).add_header(size);
            };
            made.on_headers_complete = [](http_parser* parser) {
                of(parser).has_headers_ = true;
                return 0;
            };
            made.on_body = [](http_parser* parser, const char* at, std::size_t size) { return of(parser).add_body({at, size}); };
            made.on_message_complete = [](http_parser* parser) {
                of(parser).is_complete_ = true;
                of(parser).keep_alive_ = http_should_keep_alive(parser) != 0 && parser->upgrade == 0;
                http_parser_pause(parser, 1);  // HS1: what follows is not this message's
                return 0;
            };
            return made;
        }();
        return all;
    }

    int refuse(MessageError::Reason reason) {
        refusal_ = reason;
        return 1;
    }
    void count_head(std::size_t size) {
        head_ += size;
        if (head_ > limits_.head_max) { throw MessageError(MessageError::Reason::head_too_long, "the head is too long"); }
    }
    int add_target(std::string_view part) {
        if (target_.size() + part.size() > limits_.head_max) { return refuse(MessageError::Reason::head_too_long); }
        target_ += part;
        return 0;
    }
    int add_header(std::size_t size) {
        headers_ += size;
        return target_.size() + headers_ > limits_.head_max ? refuse(MessageError::Reason::head_too_long) : 0;
    }
    int add_body(std::string_view part) {
        if (body_.size() + part.size() > limits_.body_max) { return refuse(MessageError::Reason::body_too_long); }
        body_ += part;
        return 0;
    }

    const Limits& limits_;
    http_parser parser_{};
    std::string target_;
    std::string body_;
    std::size_t head_ = 0;     // bytes of parts that ended before the headers did
    std::size_t headers_ = 0;  // bytes of their names and values
    std::optional<MessageError::Reason> refusal_;
    bool has_headers_ = false;
    bool is_complete_ = false;
    bool keep_alive_ = false;
};

bool Stream::read_message(Parser& parser, const Limits& limits) {
    has_begun_ = !read_ahead_.empty();
    const bool is_limited = limits.message != Duration::zero();
    Instant deadline = now() + limits.message;
    for (;;) {
        if (!read_ahead_.empty()) {
            read_ahead_.erase(0, parser.feed(read_ahead_));
            if (parser.is_complete()) { return true; }
        }
        IoOptions options;
        if (!has_begun_) {
            options.timeout = limits.idle;
            options.token = limits.token;
        } else if (is_limited) {
            options.timeout = deadline - now();
            if (options.timeout <= Duration::zero()) { throw TimeoutError(); }
        }
        char part[4096];
        const std::size_t size = connection_.read(part, sizeof part, options);
        if (size == 0) {
            if (!has_begun_) { return false; }
            if (parser.end()) { return true; }
            throw MessageError(MessageError::Reason::cut_off, "the connection ended inside a message");
        }
        if (!std::exchange(has_begun_, true)) { deadline = now() + limits.message; }
        read_ahead_.append(part, size);
    }
}

std::optional<Request> Stream::read_request(const Limits& limits) {
    Parser parser(HTTP_REQUEST, limits);
    if (!read_message(parser, limits)) { return std::nullopt; }
    return parser.take_request();
}

std::optional<Response> Stream::read_response(const Limits& limits) {
    Parser parser(HTTP_RESPONSE, limits);
    if (!read_message(parser, limits)) { return std::nullopt; }
    return parser.take_response();
}

void Stream::write_text(std::string_view text, const Limits& limits) { connection_.write(text, {.timeout = limits.message}); }
void Stream::write(const Request& request, const Limits& limits) { write_text(text_of(request), limits); }
void Stream::write(const Response& response, const Limits& limits) { write_text(text_of(response), limits); }

namespace {
std::string rest_of(const std::string& body, bool keep_alive) {
    return "Content-Length: " + std::to_string(body.size()) + "\r\n" + (keep_alive ? "" : "Connection: close\r\n") + "\r\n" + body;
}
}  // namespace

std::string text_of(const Request& request) {
    return request.method + " " + request.target + " HTTP/1.1\r\nHost: heddle\r\n" + rest_of(request.body, request.keep_alive);
}

std::string text_of(const Response& response) {
    return "HTTP/1.1 " + std::to_string(response.status) + " " + http_status_str(static_cast<http_status>(response.status)) + "\r\n" +
           rest_of(response.body, response.keep_alive);
}

}  // namespace heddle::http
