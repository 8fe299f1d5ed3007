// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_timer.hpp"

namespace heddle::real::detail {

SourceId UvTimers::open(const TimerOptions& timer, const SourceOptions& options) {
    const SourceId id = host_.sources.open(SourceKind::timer, options);
    UvSource& source = host_.sources.at(SourceTable::slot_of(id));
    source.periodic = timer.periodic;
    source.multishot = timer.multishot;
    source.refresh = timer.refresh;
    source.timeout = timer.timeout;
    return id;
}

void UvTimers::run_pass() {
    // What a callback arms has a greater start id, and a deadline that is not earlier: it stands behind everything that
    // was due.
    const Instant begin = host_.now();
    const std::uint64_t last_of_pass = last_start_id_;
    while (!queue_.empty()) {
        const TimerQueue::Entry due = queue_.first();
        if (due.deadline > begin || due.start_id > last_of_pass) { break; }
        queue_.disarm(due.slot);
        UvSource& source = host_.sources.at(due.slot);
        HEDDLE_ASSERT(source.kind == SourceKind::timer && source.started, "an armed timer is started");
        const Delivery delivery{.source = host_.sources.id_of(due.slot),
                                .kind = SourceKind::timer,
                                .owner = source.owner,
                                .label = source.label,
                                .value = static_cast<std::int64_t>(due.start_id)};
        if (source.periodic) {
            last_start_id_ = queue_.arm(due.slot, host_.now() + round_up(source.timeout, resolution));  // RCT-27
        } else {
            host_.set_started(source, false);
            if (!source.multishot) { host_.sources.close(due.slot); }  // closed before its callbacks (RCT-26)
        }
        host_.deliver(delivery);
    }
}

}  // namespace heddle::real::detail
