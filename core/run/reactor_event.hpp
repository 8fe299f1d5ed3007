// SPDX-License-Identifier: Apache-2.0
// ReactorEvent: a reactor source as an event: timers, polls, triggers, signals, processes, tasks, requests.
//
//   EventSource ◁── ReactorEvent ── SourceId ──▶ Reactor
//                        ▲ on_delivery ─────────────┘
//
// E1  The source is armed iff the event is started (EVT-13); requests work from their creation and count by themselves (RCT-12).
// E2  A one-shot source closes its event before the callbacks run (EVT-12); its outcome is kept and replayed.
// E3  The source is closed when the last owner lets go, and nothing is delivered to it after that (INV-RCT-04).
// Choice points: none here; the reactor asks.
#pragma once

#include <string>

#include "heddle/core/run/event_source.hpp"
#include "heddle/core/seam/reactor.hpp"

namespace heddle {

class ReactorEvent : public EventSource, private SourceOwner {
public:
    /// A one-shot, periodic or multishot timer (RCT-26 to RCT-28). @param name a literal for labels and reports
    static Ref<ReactorEvent> timer(Scheduler& scheduler, const TimerOptions& options, bool hidden = false, const char* name = "timer");
    /// One waiter's view of a descriptor's readiness (RCT-33). Value of a notification: the mask.
    static Ref<ReactorEvent> poll(Scheduler& scheduler, int fd, PollMask mask, bool close_fd = false);
    static Ref<ReactorEvent> trigger(Scheduler& scheduler, const char* name = "trigger");
    static Ref<ReactorEvent> signal(Scheduler& scheduler, int number);
    /// Exit of a child process; value: exit code or -(signal).
    static Ref<ReactorEvent> process(Scheduler& scheduler, int pid);
    /// A function on a worker thread; completes once, with its error if it threw.
    static Ref<ReactorEvent> task(Scheduler& scheduler, UniqueFunction<void()> body);

    /// New deadline for a multishot timer (RCT-28). Throws AsyncError for any other, and for a closed one.
    void rearm(Duration timeout);
    /// What other threads may hold of a trigger.
    [[nodiscard]] TriggerPortPtr port() const;
    /// Asks a task to end before it begins; its waiters get AsyncCancellation if that wins (RCT-59).
    bool cancel_request();
    /// Final: no callback of it runs after this returned (RCT-55). Waiters are told (EVT-16).
    void close();

    [[nodiscard]] SourceId source() const { return source_; }
    [[nodiscard]] SourceKind kind() const { return kind_; }
    [[nodiscard]] bool is_hidden() const { return hidden_; }
    [[nodiscard]] bool replay(Outcome& outcome) const override;
    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] Label label() const override { return label_; }

private:
    ReactorEvent(Scheduler& scheduler, SourceKind kind, bool one_shot, bool hidden, const char* name);
    [[nodiscard]] SourceOptions source_options();

    void on_first_start() override;
    void on_last_stop() noexcept override;
    void dispose() override;
    void on_delivery(const Delivery& delivery) override;

    SourceId source_;
    SourceId poll_;  // the descriptor's poll handle behind a proxy
    Label label_;
    const char* name_;
    Outcome outcome_;
    SourceKind kind_;
    bool one_shot_;
    bool hidden_;
    bool has_outcome_ = false;
    bool is_request_ = false;
    std::shared_ptr<ErrorValue> task_error_;
};

}  // namespace heddle
