// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/detail/wait_entry.hpp"

namespace heddle::detail {

/// A wait's end as an event, on the stack of the wait (WE3).
class WaitEntry::End final : public EventSource {
public:
    explicit End(WaitEntry& entry) : EventSource(entry.scheduler()), entry_(entry) { entry_.end_ = this; }
    ~End() override {
        entry_.phase_ = Phase::over;
        entry_.self_.waker().clean();
        entry_.end_ = nullptr;
    }

    [[nodiscard]] Label label() const override { return entry_.label_; }
    [[nodiscard]] std::string describe() const override {
        std::string text = entry_.side_;
        if (const LabelBook* labels = scheduler().labels(); labels != nullptr) { text += " of " + labels->text(entry_.object_.object_label()); }
        return text;
    }

private:
    void dispose() override {}

    WaitEntry& entry_;
};

void WaitEntry::park_watched(EventSource* token, SourceLocation at, Duration timeout) {
    Waker& waker = self_.waker();
    End end(*this);
    waker.clean();
    phase_ = Phase::parked;
    waker.resume_when(end, WakeBy::resolve);
    if (timeout > Duration::zero()) {
        TimerOptions options;
        options.timeout = timeout;
        options.refresh = true;  // time spent before the wait does not shorten it (RCT-22)
        const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), options, false, "wait_timeout");
        waker.resume_when(*timer, WakeBy::timeout);
    }
    if (token != nullptr) { waker.resume_when(*token, WakeBy::token); }
    note(EventKind::wait_begun);
    scheduler().suspend({side_, at, object_.object_label()});
}

void WaitEntry::grant(bool keeps) {
    HEDDLE_ASSERT(phase_ == Phase::parked && is_living(), "WE1");
    granted_ = true;
    note(EventKind::granted);
    if (end_ == nullptr) [[likely]] {
        scheduler().end_wait(self_);
    } else {
        end_->notify_and_close({0, true, {}});
    }
    if (keeps) { self_.waker().keep_outcome(); }
}

void WaitEntry::fail(const ErrorValue& error) {
    if (!is_living()) {
        touch_dead();
    } else if (end_ == nullptr) {
        scheduler().resume(self_, nullptr, {0, false, error});
    } else {
        end_->notify_and_close({0, false, error});
    }
}

void WaitEntry::touch_dead() const { scheduler().touch(self_.label(), "wait", TouchMode::read); }

void WaitEntry::tell(EventKind kind) const { scheduler().note(kind, self_.label(), object_.object_label(), 0, 0, side_); }

std::size_t living_count(const WaitList& list) {
    std::size_t count = 0;
    for (const WaitEntry* entry = list.front(); entry != nullptr; entry = list.next(*entry)) { count += entry->is_living() ? 1U : 0U; }
    return count;
}

}  // namespace heddle::detail
