// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/http/http_server.hpp"

#include <cerrno>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle::http {

using namespace std::chrono_literals;

Server::Server(TcpListener listener, Handler handler, const ServerOptions& options)
    : listener_(std::move(listener)), address_(listener_.info().local), handler_(std::move(handler)), options_(options),
      stopping_(OneShotEvent::make(current_runtime("http server").scheduler(), "stopping")) {
    if (options_.drain <= Duration::zero()) { throw ValueError("http server: the drain must be more than zero"); }
}

void Server::stop() {
    is_stopping_ = true;
    stopping_->complete();
}

void Server::run() {
    try {
        accept_all();
        listener_.close();
        drain();
    } catch (...) {
        listener_.close();
        cleanup([this] {
            connections_.cancel();
            connections_.await_after_cancellation();
        });
        throw;
    }
}

void Server::accept_all() {
    while (!is_stopping_) {
        try {
            TcpStream accepted = listener_.accept({.token = stopping_});
            ++counts_.connections;
            connections_.spawn("connection", [this, stream = Stream(std::move(accepted))]() mutable {
                struct Open {
                    std::size_t& count;
                    explicit Open(std::size_t& all) : count(all) { ++count; }
                    ~Open() { --count; }
                } open(open_);
                Stream client = std::move(stream);
                serve(client);
            });
        } catch (const OperationCanceled&) {
            return;
        } catch (const OperationError& error) {
            // A client that has gone again, or too many of them: the next one may have more luck.
            if (error.code() == EMFILE || error.code() == ENFILE) {
                sleep_for(10ms);
            } else if (error.code() != ECONNABORTED && error.code() != EINTR) {
                throw;
            }
        }
    }
}

void Server::drain() {
    if (options_.mistake == Mistake::drains_without_bound) {
        const Ref<OneShotEvent> never = OneShotEvent::make(current_runtime("drain").scheduler(), "never");
        connections_.await_completion(*never);
        return;
    }
    const Timeout limit(options_.drain);
    try {
        connections_.await_completion(limit.event());
    } catch (const TimeoutError&) {
    } catch (const OperationCanceled&) {}
    connections_.cancel();
    connections_.await_after_cancellation();
}

/// Empty when there is no more to serve on this connection.
std::optional<Request> Server::next_request(Stream& client) {
    Limits limits = options_.limits;
    if (options_.mistake != Mistake::drains_without_bound) { limits.token = stopping_; }
    try {
        return client.read_request(limits);
    } catch (const OperationCanceled&) {  // it is idle, and the server ends
    } catch (const OperationError&) {
    } catch (const TimeoutError&) {
        if (client.has_begun()) { refuse(client, 408); }
    } catch (const MessageError& error) {
        switch (error.reason()) {
            case MessageError::Reason::malformed: refuse(client, 400); break;
            case MessageError::Reason::head_too_long: refuse(client, 431); break;
            case MessageError::Reason::body_too_long: refuse(client, 413); break;
            case MessageError::Reason::cut_off: break;
        }
    }
    return std::nullopt;
}

void Server::refuse(Stream& client, unsigned status) {
    ++counts_.refused;
    try {
        client.write(Response{.status = status, .keep_alive = false}, options_.limits);
    } catch (const OperationError&) {
    } catch (const TimeoutError&) {}  // it is told what is wrong if it listens
}

void Server::serve(Stream& client) {
    while (const std::optional<Request> request = next_request(client)) {
        if (options_.mistake == Mistake::forgets_read_ahead) { client.forget_read_ahead(); }
        ++counts_.received;
        try {
            Response response;
            try {
                response = handler_(*request);
            } catch (const std::exception& error) { response = {.status = 500, .body = error.what()}; }
            response.keep_alive = request->keep_alive && !is_stopping_;
            client.write(response, options_.limits);
            ++counts_.answered;
            if (!response.keep_alive) { return; }
        } catch (const OperationError&) {
            ++counts_.unanswered;
            return;
        } catch (const TimeoutError&) {
            ++counts_.unanswered;
            return;
        } catch (const Cancellation&) {
            ++counts_.unanswered;
            throw;
        }
    }
}

}  // namespace heddle::http
