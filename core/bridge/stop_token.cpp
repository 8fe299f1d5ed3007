// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/bridge/stop_token.hpp"

#include "heddle/core/base/error.hpp"
#include "heddle/core/bridge/worker.hpp"

namespace heddle {

bool StopState::begin() {
    touch_shared(object_, "stop", TouchMode::write, number_);
    return (bits_.fetch_or(begun, std::memory_order_acq_rel) & asked) == 0;
}

bool StopState::request() {
    touch_shared(object_, "stop", TouchMode::write, number_);
    return (bits_.fetch_or(asked, std::memory_order_acq_rel) & asked) == 0;
}

bool StopToken::requested() const {
    if (state_ == nullptr) { return false; }
    worker_point("poll");
    worker_may_die();
    touch_shared(state_->object(), "stop", TouchMode::read, state_->number());
    return state_->is_requested();
}

void StopToken::throw_if_requested() const {
    if (requested()) { throw AsyncCancellation("the job was asked to stop"); }
}

}  // namespace heddle
