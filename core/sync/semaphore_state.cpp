// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/semaphore_state.hpp"

#include "heddle/core/run/unwind.hpp"

namespace heddle {

using detail::WaitEntry;

SemaphoreState::SemaphoreState(Scheduler& scheduler, std::string_view name, const char* what, const char* side, std::size_t permits,
                               std::size_t permits_max)
    : RuntimeObject(scheduler, name), what_(what), side_(side), permits_(permits), permits_max_(permits_max), available_(permits) {}

SemaphoreState::~SemaphoreState() { HEDDLE_ASSERT(waiters_.empty(), "SM4"); }

void SemaphoreState::touch_acquire(std::size_t count) const {
    if (scheduler().observer() == nullptr) [[likely]] { return; }
    scheduler().touch(object_label(), "tail", TouchMode::write);
    scheduler().touch(object_label(), "skips", TouchMode::read);
    const std::uint64_t last = asked_ + count - 1;
    if (last >= permits_) { scheduler().touch(object_label(), "release", TouchMode::read, last - permits_); }
}

void SemaphoreState::touch_release(std::size_t count) const {
    if (scheduler().observer() == nullptr) [[likely]] { return; }
    scheduler().touch(object_label(), "released", TouchMode::write);
    scheduler().touch(object_label(), "skips", TouchMode::read);
    for (std::size_t i = 0; i < count; ++i) { scheduler().touch(object_label(), "release", TouchMode::write, released_ + i); }
}

void SemaphoreState::touch_looked() const {
    if (scheduler().observer() == nullptr) [[likely]] { return; }
    scheduler().touch(object_label(), "tail", TouchMode::read);
    scheduler().touch(object_label(), "released", TouchMode::read);
    scheduler().touch(object_label(), "skips", TouchMode::read);
}

/// A waiter will never get what it asked for: those behind it move up.
void SemaphoreState::skip(std::size_t count) {
    scheduler().touch(object_label(), "skips", TouchMode::write);
    asked_ -= count;
}

void SemaphoreState::serve() {
    while (WaitEntry* next = oldest_living(waiters_, [this](const WaitEntry& dead) { skip(dead.ticket); })) {
        if (next->ticket > available_) { return; }
        waiters_.remove(*next);
        available_ -= next->ticket;
        granted_units_ += next->ticket;
        holder_ = next->coroutine().id();
        next->grant();
    }
}

void SemaphoreState::take(std::size_t count, CoroutineId by) {
    HEDDLE_ASSERT(count <= available_, "SM1");
    available_ -= count;
    holder_ = by;
}

bool SemaphoreState::try_acquire(std::size_t count) {
    serve();  // those behind a waiter that died a moment ago come first (CV-08)
    if (abandoned_ || !waiters_.empty() || count > available_) {
        touch_looked();
        return false;
    }
    touch_acquire(count);
    asked_ += count;
    take(count, scheduler().in_coroutine() ? scheduler().current()->id() : CoroutineId{});
    return true;
}

void SemaphoreState::acquire(std::size_t count, EventSource* token, SourceLocation at) {
    CoroutineCore& self = scheduler().require_suspendable(side_);
    EventSource* const ends_it = live_token(token);
    if (abandoned_) { throw AsyncError(std::string(what_) + " is gone"); }
    const Ref<SemaphoreState> alive(this);
    serve();
    touch_acquire(count);
    asked_ += count;
    if (waiters_.empty() && count <= available_) {
        take(count, self.id());
        return;
    }
    WaitEntry entry(*this, self, side_);
    entry.ticket = count;
    waiters_.push_back(entry);
    try {
        entry.park(ends_it, at);
    } catch (...) {
        if (entry.is_granted()) {
            granted_units_ -= count;
            entry.note(EventKind::handed_on);
            release(count);  // CV-06
        } else {
            entry.note(EventKind::wait_left);
            if (entry.ListHook<WaitEntry>::is_linked()) {
                waiters_.remove(entry);
                skip(count);
            }
            serve();
        }
        throw;
    }
    HEDDLE_ASSERT(entry.is_granted(), "SM2");
    granted_units_ -= count;
    entry.note(EventKind::grant_spent);
}

void SemaphoreState::release(std::size_t count) {
    HEDDLE_ASSERT(count <= room(), "SM1");
    touch_release(count);
    released_ += count;
    available_ += count;
    holder_ = {};
    serve();
}

void SemaphoreState::abandon() {
    abandoned_ = true;
    const Ref<SemaphoreState> alive(this);
    while (WaitEntry* next = waiters_.front()) {
        waiters_.remove(*next);
        skip(next->ticket);
        next->fail(ErrorValue::make<AsyncError>(std::string(what_) + " is gone"));
    }
}

}  // namespace heddle
