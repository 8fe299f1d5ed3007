// SPDX-License-Identifier: Apache-2.0
#include "heddle/realreactor/uv_wakeup.hpp"

#include <algorithm>

namespace heddle::real::detail {

SourceId UvTriggers::open(const SourceOptions& options) {
    const SourceId id = host_.sources.open(SourceKind::trigger, options);
    triggers_.push_back({id, std::make_shared<UvPort>(host_.loop->bell())});
    return id;
}

const UvTriggers::Trigger* UvTriggers::find(SourceId id) const {
    const auto found =
        std::find_if(triggers_.begin(), triggers_.end(), [id](const Trigger& trigger) { return trigger.id == id; });
    return found == triggers_.end() || found->port == nullptr ? nullptr : &*found;
}

TriggerPortPtr UvTriggers::port(SourceId id) const {
    const Trigger* trigger = find(id);
    HEDDLE_ASSERT(trigger != nullptr, "an open trigger has a port");
    return trigger->port;
}

void UvTriggers::start(UvSource& source, SourceId id) {
    if (!host_.set_started(source, true)) { return; }
    if (find(id)->port->is_pending()) { host_.loop->bell()->ring(); }  // it was fired while nobody waited
}

void UvTriggers::close(SourceId id) {
    const auto found =
        std::find_if(triggers_.begin(), triggers_.end(), [id](const Trigger& trigger) { return trigger.id == id; });
    HEDDLE_ASSERT(found != triggers_.end() && found->port != nullptr, "an open trigger is listed");
    found->port->close();
    found->port.reset();
    sweep();
}

void UvTriggers::close_all() {
    for (const Trigger& trigger : triggers_) {
        if (trigger.port != nullptr) { trigger.port->close(); }
    }
    triggers_.clear();
}

void UvTriggers::sweep() {
    if (walking_) { return; }
    std::erase_if(triggers_, [](const Trigger& trigger) { return trigger.port == nullptr; });
}

void UvTriggers::on_woken() {
    host_.follow_clock();
    walking_ = true;
    const std::size_t count = triggers_.size();  // what a callback opens waits for a bell of its own
    for (std::size_t at = 0; at < count; ++at) {
        const Trigger trigger = triggers_[at];  // a callback may open another, and move the list
        if (trigger.port == nullptr) { continue; }
        const UvSource* source = host_.sources.find(trigger.id);
        HEDDLE_ASSERT(source != nullptr, "an open trigger is in the table");
        if (!source->started || !trigger.port->take()) { continue; }
        host_.deliver(
            {.source = trigger.id, .kind = SourceKind::trigger, .owner = source->owner, .label = source->label});
    }
    walking_ = false;
    sweep();
}

}  // namespace heddle::real::detail
