// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/detail/wait_entry.hpp"

namespace heddle::detail {

WaitEntry::WaitEntry(const RuntimeObject& object, CoroutineCore& self, const char* side)
    : EventSource(object.scheduler()), object_(object), self_(self), side_(side), label_(object.scheduler().object_label(side)) {}

void WaitEntry::park(EventSource* token, SourceLocation at, Duration timeout) {
    Waker& waker = self_.waker();
    struct End {
        Waker& waker;
        Phase& phase;
        ~End() {
            phase = Phase::over;
            waker.clean();
        }
    } end{waker, phase_};
    waker.clean();
    phase_ = Phase::parked;
    waker.resume_when(*this, WakeBy::resolve);
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

bool WaitEntry::is_living() const {
    if (is_closed() || phase_ != Phase::parked) { return phase_ == Phase::fresh; }
    const Waker& waker = self_.waker();
    // With no status yet, the running coroutine stands between its registration and its suspension.
    return waker.status() == WakerStatus::waiting || (waker.status() == WakerStatus::none && waker.has_subscriptions());
}

void WaitEntry::grant(bool keeps) {
    HEDDLE_ASSERT(phase_ == Phase::parked && is_living(), "WE1");
    granted_ = true;
    note(EventKind::granted);
    notify_and_close({0, true, {}});
    if (keeps) { self_.waker().keep_outcome(); }
}

void WaitEntry::fail(const ErrorValue& error) {
    if (!is_living()) {
        touch_dead();
        return;
    }
    notify_and_close({0, false, error});
}

void WaitEntry::touch_dead() const { scheduler().touch(self_.label(), "wait", TouchMode::read); }

void WaitEntry::note(EventKind kind) const {
    if (scheduler().observer() != nullptr) [[unlikely]] { scheduler().note(kind, self_.label(), object_.object_label(), 0, 0, side_); }
}

std::string WaitEntry::describe() const {
    std::string text = side_;
    if (const LabelBook* labels = scheduler().labels(); labels != nullptr) { text += " of " + labels->text(object_.object_label()); }
    return text;
}

std::size_t living_count(const WaitList& list) {
    std::size_t count = 0;
    for (const WaitEntry* entry = list.front(); entry != nullptr; entry = list.next(*entry)) { count += entry->is_living() ? 1U : 0U; }
    return count;
}

}  // namespace heddle::detail
