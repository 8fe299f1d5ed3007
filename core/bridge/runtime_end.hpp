// SPDX-License-Identifier: Apache-2.0
// RuntimeEnd: the end of a bridge that stands in a runtime; PostBox: what other threads hold of it (THR-17 to THR-21).
//
//   worker ── box.post(item) ──▶ CompletionQueue ── was_empty ──▶ trigger.fire()        two actions: another thread may come in between
//   loop   ── trigger delivered (that clears it) ──▶ owner's on_wake ──▶ drain: take_all ──▶ item.settle() …
//
// RE1  The wake is a hidden trigger, armed as long as the end stands: it is delivered whenever the loop turns, and is no reason for it
//      to turn (RCT-14). `hold` is that reason: whoever waits for something from the other side holds, and lets go (THR-16).
// RE2  One wake may carry many items, and none (THR-19).
// RE3  Behind `detach` a post is dropped, and nothing touches the closed trigger (THR-21): its port is a no-op by then (RCT-58).
// Cells: `completions` of the end's label (post: W, drain: W); the trigger's flag is the reactor's.
// Choice points: none of its own; when the wake is seen is the reactor's.
#pragma once

#include <memory>
#include <vector>

#include "heddle/core/bridge/completion_queue.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/seam/reactor.hpp"

namespace heddle {

class Scheduler;

class PostBox {
public:
    PostBox(Label label, TriggerPortPtr wake) : label_(label), wake_(std::move(wake)) {}

    /// Any thread. On a worker others may come between the post and the signal.
    void post(CompletionPtr item);
    /// Wakes the runtime without a message: something else that both know has changed.
    void signal() const { wake_->fire(); }

    [[nodiscard]] CompletionQueue& queue() { return queue_; }
    [[nodiscard]] Label label() const { return label_; }

private:
    CompletionQueue queue_;
    Label label_;
    TriggerPortPtr wake_;
};

class RuntimeEnd final : private SourceOwner {
public:
    /// @param label  of the object that it is a part of: names its cell. @param on_wake  called for every wake, in scheduler phase, in
    /// place of `drain`: for an owner that must keep itself alive meanwhile, or has more to look at
    /// Throws AsyncError where no run is in progress.
    RuntimeEnd(Scheduler& scheduler, Label label, UniqueFunction<void()> on_wake = nullptr);
    RuntimeEnd(const RuntimeEnd&) = delete;
    RuntimeEnd& operator=(const RuntimeEnd&) = delete;
    ~RuntimeEnd() { detach(); }

    [[nodiscard]] const std::shared_ptr<PostBox>& box() const { return box_; }
    /// The loop must not end now. Balanced by `let_go`.
    void hold();
    void let_go() noexcept;
    [[nodiscard]] std::size_t holds() const { return holds_; }
    /// Settles what is there.
    void drain();
    /// Final. What was posted and not taken is dropped. Requires: the reactor still exists; its owner learns of its end by WorkerCode::over.
    void detach() noexcept;
    [[nodiscard]] bool is_detached() const { return detached_; }

private:
    void on_delivery(const Delivery& delivery) override;

    Scheduler& scheduler_;
    UniqueFunction<void()> on_wake_;
    std::shared_ptr<PostBox> box_;
    SourceId wake_;
    Ref<ReactorEvent> alive_;  // never fired: it counts while somebody holds
    std::size_t holds_ = 0;
    bool detached_ = false;
};

}  // namespace heddle
