// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/bridge/runtime_end.hpp"

#include <utility>

#include "heddle/core/bridge/worker.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle {

void PostBox::post(CompletionPtr item) {
    touch_shared(label_, "completions", TouchMode::write);
    const CompletionQueue::Pushed pushed = queue_.push(std::move(item));
    if (!pushed.was_empty) { return; }
    worker_point("signal");
    wake_->fire();
}

RuntimeEnd::RuntimeEnd(Scheduler& scheduler, Label label, UniqueFunction<void()> on_wake)
    : scheduler_(scheduler), on_wake_(std::move(on_wake)) {
    if (scheduler.state() != Scheduler::State::active) { throw AsyncError("threads are bridged to a runtime while it runs"); }
    Reactor& reactor = scheduler.reactor();
    wake_ = reactor.open_trigger({.owner = this, .label = scheduler.object_label("wake"), .hidden = true});
    box_ = std::make_shared<PostBox>(label, reactor.trigger_port(wake_));
    alive_ = ReactorEvent::trigger(scheduler, "bridge");
    reactor.start(wake_);
}

void RuntimeEnd::hold() {
    if (detached_) { return; }
    ++holds_;
    alive_->start();
}

void RuntimeEnd::let_go() noexcept {
    if (detached_) { return; }
    HEDDLE_ASSERT(holds_ > 0, "RE1");
    --holds_;
    alive_->stop();
}

void RuntimeEnd::drain() {
    scheduler_.touch(box_->label(), "completions", TouchMode::write);
    const std::vector<CompletionPtr> items = box_->queue().take_all();
    for (const CompletionPtr& item : items) { item->settle(); }
}

void RuntimeEnd::on_delivery(const Delivery&) {
    if (on_wake_) {
        on_wake_();
    } else {
        drain();
    }
}

void RuntimeEnd::detach() noexcept {
    if (detached_) { return; }
    detached_ = true;
    static_cast<void>(box_->queue().detach());
    scheduler_.reactor().close(wake_);
    alive_ = {};
}

}  // namespace heddle
