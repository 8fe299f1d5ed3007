// SPDX-License-Identifier: Apache-2.0
// OneShotEvent: an event that is completed once, by hand, and remembers how (EVT-12, EVT-18).
//
//   open ──complete(value) / fail(error)──▶ closed: late subscribers replay
//
// No loop presence: waiting for it alone is no reason for the reactor to turn (EVT-15).
#pragma once

#include <string>

#include "heddle/core/base/unique_function.hpp"
#include "heddle/core/run/event_source.hpp"

namespace heddle {

class OneShotEvent final : public EventSource {
public:
    /// @param name  for labels and reports; must outlive the event (a literal)
    static Ref<OneShotEvent> make(Scheduler& scheduler, const char* name = "event");

    /// Completes it and wakes its waiters in subscription order; nobody runs inside this call. False if it was completed before.
    bool complete(std::int64_t value = 0);
    bool fail(ErrorValue error);
    [[nodiscard]] const Outcome& outcome() const { return outcome_; }

    [[nodiscard]] bool replay(Outcome& outcome) const override;
    [[nodiscard]] std::string describe() const override { return name_; }
    [[nodiscard]] Label label() const override { return label_; }

    /// What a first effective start and a last effective stop do besides counting; for events that begin to act when waited for.
    void set_start_hook(UniqueFunction<void()> hook) { start_hook_ = std::move(hook); }

private:
    OneShotEvent(Scheduler& scheduler, const char* name);
    void on_first_start() override {
        if (start_hook_) { start_hook_(); }
    }
    void dispose() override {
        drop_callbacks();
        delete this;
    }

    const char* name_;
    Label label_;
    Outcome outcome_;
    UniqueFunction<void()> start_hook_;
};

}  // namespace heddle
