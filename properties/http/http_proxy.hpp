// SPDX-License-Identifier: Apache-2.0
// Proxy: a handler that asks another HTTP service, over connections that are kept and lent out one request at a time.
//
//   request ─▶ lease ─┬─ exchange ─ answer ─▶ lease back, or gone if the peer closes
//                     └─ no answer ─▶ connection gone ─▶ 502, 504; a GET over a connection that may have been stale: once more
//
// PX1  A connection is lent to one request at a time, and only one that owes no answer is lent again.
// PX2  What may have been carried out is asked for again only if that does no harm: a GET.
// PX3  An attempt takes at most `lease` + `connect`, `exchange` until its answer begins, and as long again until the answer is whole.
//      There is at most one attempt more than there are connections.
// PX4  After close() no connection is open and nothing is lent.
// Choice points: those of core/io.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/sync/pool.hpp"
#include "heddle/properties/http/http_server.hpp"

namespace heddle::http {

struct ProxyOptions {
    std::string host = "localhost";
    std::uint16_t port = 80;
    std::int64_t connections = 4;
    Duration lease = std::chrono::seconds(1);     ///< wait for one of them
    Duration connect = std::chrono::seconds(1);
    Duration exchange = std::chrono::seconds(5);  ///< PX3
    Mistake mistake = Mistake::none;
};

struct ProxyCounts {
    std::uint64_t asked = 0;    ///< requests that went to the other service, retries too
    std::uint64_t retried = 0;
    std::uint64_t failed = 0;   ///< requests that ended as 502, 503 or 504
};

class Proxy {
public:
    explicit Proxy(const ProxyOptions& options);

    /// 502: no answer; 503: no connection is free; 504: none in time. Never throws but a cancellation. Suspends: yes.
    [[nodiscard]] Response forward(const Request& request);
    /// Requires: nothing is being forwarded. Suspends: until the last connection is gone.
    void close();
    [[nodiscard]] const ProxyCounts& counts() const { return counts_; }
    [[nodiscard]] std::size_t leased() const { return pool_.active_count(); }
    [[nodiscard]] std::size_t idle() const { return pool_.idle_count(); }

private:
    struct Upstream {
        Stream stream;
        bool was_used = false;
    };
    [[nodiscard]] std::optional<Upstream> connect();
    [[nodiscard]] Response exchange(Upstream& upstream, const Request& request);
    [[nodiscard]] Response give_up(unsigned status);
    void fail(Lease<Upstream>& lease);

    ProxyOptions options_;
    Pool<Upstream> pool_;
    ProxyCounts counts_;
    std::vector<Lease<Upstream>> kept_;  // Mistake::keeps_failed_connections
};

}  // namespace heddle::http
