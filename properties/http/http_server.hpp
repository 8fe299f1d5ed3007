// SPDX-License-Identifier: Apache-2.0
// Server: keeps HTTP/1.1 connections alive, answers each request once, and ends within a bound.
//
//   run ──accept──▶ connection: request ─▶ handler ─▶ answer ─▶ request … ──end, idle for too long, failure, "close"──▶ gone
//    │ stop()
//    └─▶ no more accepting, idle connections close; what is being answered has `drain` to end; then it is cancelled
//
// SV1  Requests of one connection are answered in their order, each by one answer, or by the end of the connection.
// SV2  received = answered + unanswered, once run() has ended.
// SV3  run() ends at most `drain` after stop(), and no connection is open then.
// Choice points: those of core/io. Source: RFC 9112.
#pragma once

#include <cstdint>
#include <functional>

#include "heddle/core/io/tcp.hpp"
#include "heddle/core/run/one_shot.hpp"
#include "heddle/core/run/scope.hpp"
#include "heddle/properties/http/http_stream.hpp"

namespace heddle::http {

/// What can be wrong with a service of this kind; for properties that have to find it.
enum class Mistake : std::uint8_t {
    none,
    forgets_read_ahead,       ///< a client that does not wait for an answer loses its next request
    drains_without_bound,     ///< stop() waits for clients that have nothing to say
    retries_everything,       ///< an order that may have been carried out is given again
    reuses_after_failure,     ///< a late answer from behind goes to whoever asks next
    keeps_failed_connections, ///< a place in the pool is lost with each failure
};

struct ServerOptions {
    Limits limits{.idle = std::chrono::seconds(60), .message = std::chrono::seconds(10)};  ///< of a request; `token` is not used
    Duration drain = std::chrono::seconds(5);  ///< more than zero
    Mistake mistake = Mistake::none;
};

struct ServerCounts {
    std::uint64_t connections = 0;
    std::uint64_t received = 0;    ///< requests
    std::uint64_t answered = 0;    ///< an answer was written
    std::uint64_t unanswered = 0;  ///< the connection failed under it, or the drain was over
    std::uint64_t refused = 0;     ///< no request could be made out: an answer 4xx
};

class Server {
public:
    /// Called once per request, in the coroutine of its connection; may suspend. An error of it that is no Cancellation is the answer 500.
    using Handler = std::function<Response(const Request&)>;

    Server(TcpListener listener, Handler handler, const ServerOptions& options = {});
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Serves until stop(). Throws: a cancellation of the caller, with every connection ended; OperationError if the listener fails.
    void run();
    /// Idempotent. Suspends: no.
    void stop();
    [[nodiscard]] bool is_stopping() const { return is_stopping_; }
    [[nodiscard]] Address address() const { return address_; }
    [[nodiscard]] const ServerCounts& counts() const { return counts_; }
    [[nodiscard]] std::size_t open_connections() const { return open_; }

private:
    void accept_all();
    void drain();
    void serve(Stream& client);
    [[nodiscard]] std::optional<Request> next_request(Stream& client);
    void refuse(Stream& client, unsigned status);

    TcpListener listener_;
    Address address_;
    Handler handler_;
    ServerOptions options_;
    Ref<OneShotEvent> stopping_;
    Scope connections_ = Scope::inherited();
    ServerCounts counts_;
    std::size_t open_ = 0;
    bool is_stopping_ = false;
};

}  // namespace heddle::http
