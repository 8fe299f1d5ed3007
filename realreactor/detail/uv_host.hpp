// SPDX-License-Identifier: Apache-2.0
// UvHost: what the families of sources (timers, descriptors, …) share: the loop, the table, the count, the clock and
// the sink.
//
//   family ── opened, count, deliver ──▶ UvHost ──▶ the reactor's counters and clock, core's sink
#pragma once

#include <memory>
#include <optional>

#include "heddle/realreactor/detail/uv_source.hpp"
#include "heddle/realreactor/uv_loop.hpp"
#include "heddle/realreactor/uv_reactor.hpp"

namespace heddle::real::detail {

class UvHandles;
class UvRequests;

class UvHost {
public:
    UvHost(UvReactor& reactor, UvOptions reactor_options) : options(reactor_options), reactor_(reactor) {}

    void count_up(const UvSource& source) {
        if (!source.hidden) { reactor_.count_up(); }
    }
    void count_down(const UvSource& source) {
        if (!source.hidden) { reactor_.count_down(); }
    }
    /// A wait of a stream that has no source of its own (UvHandle::wait_readable).
    void begin_wait() {
        ++waits;
        reactor_.count_up();
    }
    void end_wait() {
        --waits;
        reactor_.count_down();
    }
    /// Marks the source and counts it. @returns false if it was in that state already
    bool set_started(UvSource& source, bool started) {
        if (source.started == started) { return false; }
        source.started = started;
        started ? count_up(source) : count_down(source);
        return true;
    }

    /// `now()` follows libuv's clock, which moves when a poll returns and when it is told to, and at no other time
    /// (RCT-18, G2). Every entry from libuv comes through here first.
    void follow_clock() {
        const Instant at = loop->now();
        if (at != reactor_.now()) { reactor_.set_now(at); }
    }
    [[nodiscard]] Instant now() const { return reactor_.now(); }
    [[nodiscard]] std::size_t active_events() const { return reactor_.active_events(); }
    void start_clock() { reactor_.restart_clock(loop->now()); }
    void reset_counts() { reactor_.reset_counts(); }

    void deliver(const Delivery& delivery) {
        if (sink != nullptr) { sink->deliver(delivery); }
    }

    /// Nothing for a handle that is closed.
    void close_handle(HandleId id);

    const UvOptions options;
    std::optional<UvLoop> loop;  // while it is up
    ReactorSink* sink = nullptr;
    SourceTable sources;
    UvHandles* handles = nullptr;    // the reactor's
    UvRequests* requests = nullptr;  // likewise
    std::uint64_t tick_count = 0;
    std::size_t waits = 0;
    std::size_t closing_count = 0;  // handles whose close has not completed

private:
    UvReactor& reactor_;
};

}  // namespace heddle::real::detail
