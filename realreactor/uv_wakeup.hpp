// SPDX-License-Identifier: Apache-2.0
// UvTriggers: how other threads and signal handlers wake the reactor (RCT-58, RCT-65).
//
//   fire ─▶ port.pending (atomic) ─▶ bell ─▶ loop ─▶ for each trigger, in the order of opening: pending? ─▶ sink
//
// W1  All triggers share one handle of libuv; the flags are ours, so that a fire is kept until its trigger is started,
//     and orders what was written before it without relying on libuv's own memory order.
// W2  A port is shared by all who may fire it. After the trigger or the reactor is gone its fire does nothing.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "heddle/realreactor/detail/uv_host.hpp"

namespace heddle::real::detail {

class UvPort final : public TriggerPort {
public:
    explicit UvPort(std::shared_ptr<UvBell> bell) : bell_(std::move(bell)) {}
    void fire() noexcept override {
        if (closed_.load(std::memory_order_acquire)) { return; }
        if (!pending_.exchange(true, std::memory_order_acq_rel)) { bell_->ring(); }
    }
    [[nodiscard]] bool is_pending() const { return pending_.load(std::memory_order_acquire); }
    /// A fire from here on is another one.
    bool take() { return pending_.exchange(false, std::memory_order_acq_rel); }
    void close() { closed_.store(true, std::memory_order_release); }

private:
    std::atomic<bool> pending_{false};
    std::atomic<bool> closed_{false};
    const std::shared_ptr<UvBell> bell_;
};
static_assert(std::atomic<bool>::is_always_lock_free, "fire is called in signal handlers");

class UvTriggers {
public:
    explicit UvTriggers(UvHost& host) : host_(host) {}

    SourceId open(const SourceOptions& options);
    [[nodiscard]] TriggerPortPtr port(SourceId id) const;
    void start(UvSource& source, SourceId id);
    void close(SourceId id);
    void close_all();
    /// The bell rang.
    void on_woken();

private:
    struct Trigger {
        SourceId id;
        std::shared_ptr<UvPort> port;  // null once it is closed, until nobody walks the list
    };
    [[nodiscard]] const Trigger* find(SourceId id) const;
    void sweep();

    UvHost& host_;
    std::vector<Trigger> triggers_;  // in the order of opening, as libuv would have it (G21)
    bool walking_ = false;
};

}  // namespace heddle::real::detail
