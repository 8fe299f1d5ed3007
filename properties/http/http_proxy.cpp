// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/http/http_proxy.hpp"

#include <utility>

#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/sleep.hpp"

namespace heddle::http {

using namespace std::chrono_literals;

Proxy::Proxy(const ProxyOptions& options)
    : options_(options), pool_({.max = options.connections, .name = "upstream", .factory = [this] { return connect(); }}) {}

/// Empty if the other service cannot be reached.
std::optional<Proxy::Upstream> Proxy::connect() {
    try {
        return Upstream{Stream(TcpStream::connect(options_.host, options_.port, {.timeout = options_.connect}))};
    } catch (const OperationError&) {
    } catch (const NameError&) {
    } catch (const TimeoutError&) {}
    return std::nullopt;
}

Response Proxy::exchange(Upstream& upstream, const Request& request) {
    upstream.was_used = true;
    const Limits limits{.idle = options_.exchange, .message = options_.exchange};
    const Instant begin = now();
    Request asked = request;
    asked.keep_alive = true;  // between the two services; the client's wish is the server's business
    upstream.stream.write(asked, limits);
    Limits rest = limits;
    rest.idle -= now() - begin;
    if (rest.idle <= Duration::zero()) { throw TimeoutError(); }
    std::optional<Response> response = upstream.stream.read_response(rest);
    if (!response) { throw MessageError(MessageError::Reason::cut_off, "the connection ended without an answer"); }
    return *std::move(response);
}

Response Proxy::give_up(unsigned status) {
    ++counts_.failed;
    return {.status = status};
}

void Proxy::fail(Lease<Upstream>& lease) {
    switch (options_.mistake) {
        case Mistake::keeps_failed_connections: kept_.push_back(std::move(lease)); break;
        case Mistake::reuses_after_failure: lease.release(); break;
        default: lease.discard();
    }
}

Response Proxy::forward(const Request& request) {
    for (std::int64_t attempt = 0;; ++attempt) {
        Lease<Upstream> lease;
        try {
            lease = pool_.acquire({.timeout = options_.lease});
        } catch (const TimeoutError&) {
            return give_up(503);
        } catch (const PoolError& error) { return give_up(error.reason() == PoolError::Reason::closed ? 503 : 502); }
        const bool may_be_stale = lease->was_used;
        try {
            ++counts_.asked;
            Response response = exchange(*lease, request);
            if (response.keep_alive) {
                lease.release();
            } else {
                lease.discard();
            }
            return response;
        } catch (const TimeoutError&) {
            fail(lease);
            return give_up(504);
        } catch (const OperationError&) {
            fail(lease);
        } catch (const MessageError&) { fail(lease); }
        // The other service may have closed it while it was idle: the next one is as good, and a new one comes last.
        const bool does_no_harm = request.method == "GET" && may_be_stale;
        const bool again = does_no_harm || options_.mistake == Mistake::retries_everything;
        if (!again || attempt == options_.connections) { return give_up(502); }
        ++counts_.retried;
    }
}

void Proxy::close() {
    pool_.close();
    // What a cancelled request held is given back in the background (POOL-42).
    while (pool_.count() > 0 && kept_.empty()) { sleep_for(1ms); }
}

}  // namespace heddle::http
