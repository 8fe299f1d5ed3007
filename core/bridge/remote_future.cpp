// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/bridge/remote_future.hpp"

#include "heddle/core/run/scheduler.hpp"

namespace heddle::detail {

std::shared_ptr<RemoteEnd> RemoteEnd::attach(FutureCore& future) {
    future.require_settler("move_to_thread");
    if (future.is_settled()) { future.refuse_settled("move_to_thread"); }
    auto end = std::make_shared<RemoteEnd>(future);
    // The runtime ends first: what came is settled, and nobody hears of the rest.
    end->listener_ = EndListener::listen(future.scheduler(), "remote future", nullptr, [raw = end.get()] {
        const std::shared_ptr<RemoteEnd> alive = raw->shared_from_this();
        raw->on_wake();
        raw->end_.detach();
    });
    future.move_away(end);
    return end;
}

RemoteEnd::RemoteEnd(FutureCore& future)
    : future_(future), end_(future.scheduler(), future.label(), [this] { on_wake(); }), stop_(std::make_shared<StopState>(future.label(), 0)) {}

void RemoteEnd::on_wake() {
    const std::shared_ptr<RemoteEnd> alive = shared_from_this();
    end_.drain();
}

void RemoteEnd::released(FutureCore& future) {
    const bool dropped = future.consumer_count() == 0;
    if (dropped && (!future.is_used() || future.is_ignored())) { return; }
    stop_->request();
}

}  // namespace heddle::detail
