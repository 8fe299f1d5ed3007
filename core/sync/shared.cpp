// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/shared.hpp"

#include "heddle/core/run/scheduler.hpp"

namespace heddle {

detail::SharedCell::SharedCell(std::string_view name) {
    Scheduler* scheduler = ambient_scheduler();
    if (scheduler == nullptr || scheduler->observer() == nullptr) { return; }
    scheduler_ = scheduler;
    cell_ = heddle::cell(scheduler->object_label(name), "value");
}

void detail::SharedCell::tell(TouchMode mode) const {
    if (scheduler_->observed()) { scheduler_->observer()->on_touch(cell_, mode); }
}

void touch(std::string_view name, TouchMode mode) {
    const Scheduler* scheduler = ambient_scheduler();
    if (scheduler == nullptr || scheduler->observer() == nullptr) { return; }
    scheduler->touch(Label{hash_text(name)}, "user", mode);
}

}  // namespace heddle
