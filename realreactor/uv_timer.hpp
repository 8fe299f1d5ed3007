// SPDX-License-Identifier: Apache-2.0
// UvTimers: the reactor's timers, in a queue of our own (RCT-26 to RCT-31).
//
//   start ─▶ queue (deadline, start id) ─▶ first deadline bounds libuv's poll ─▶ pass: all that are due ─▶ sink
//
// T1  libuv's timers are not used: their pass runs before the poll up to 1.44 and takes in timers armed during it up to
//     1.47; ours runs after the iteration, and its due set is fixed when it begins (RCT-30), on every version.
// T2  A timer costs no handle, no allocation once the tables have had their size, and no close completion.
#pragma once

#include "heddle/core/base/timer_queue.hpp"
#include "heddle/realreactor/detail/uv_host.hpp"

namespace heddle::real::detail {

class UvTimers {
public:
    explicit UvTimers(UvHost& host) : host_(host) {}

    SourceId open(const TimerOptions& timer, const SourceOptions& options);
    void start(UvSource& source, std::uint32_t slot) {
        if (source.started) { return; }
        arm(source, slot, source.timeout);
        host_.set_started(source, true);
    }
    /// Requires: an open multishot timer.
    void rearm(UvSource& source, std::uint32_t slot, Duration timeout) {
        arm(source, slot, timeout);
        host_.set_started(source, true);
    }
    void stop(UvSource& source, std::uint32_t slot) {
        if (host_.set_started(source, false)) { queue_.disarm(slot); }
    }

    /// The nearest deadline, hidden timers included (RCT-14); never if there is none.
    [[nodiscard]] Instant next() const { return queue_.empty() ? Instant::never() : queue_.first().deadline; }
    [[nodiscard]] bool empty() const { return queue_.empty(); }
    void run_pass();
    void clear() { queue_.clear(); }

private:
    void arm(const UvSource& source, std::uint32_t slot, Duration timeout) {
        if (source.refresh) {
            host_.loop->update_time();
            host_.follow_clock();
        }
        last_start_id_ = queue_.arm(slot, host_.now() + round_up(timeout, resolution));
    }

    static constexpr Duration resolution = std::chrono::milliseconds(1);

    UvHost& host_;
    TimerQueue queue_;
    std::uint64_t last_start_id_ = 0;
};

}  // namespace heddle::real::detail
