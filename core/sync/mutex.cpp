// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/mutex.hpp"

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/unwind.hpp"

namespace heddle {

using detail::WaitEntry;

namespace {

Ref<SemaphoreState> make_state(Scheduler& scheduler, std::string_view name) {
    return Ref<SemaphoreState>(new SemaphoreState(scheduler, name, "the mutex", "lock", 1, 1));
}

}  // namespace

Mutex::Mutex(std::string_view name) : state_(make_state(current_runtime("mutex").scheduler(), name)) {}
Mutex::Mutex(Runtime& runtime, std::string_view name) : state_(make_state(runtime.scheduler(), name)) {}

void Mutex::lock(const Token& token, SourceLocation at) {
    if (is_mine()) { throw AsyncError("mutex: the caller holds it already"); }
    state_->acquire(1, token.event(), at);
}

bool Mutex::try_lock() { return state_->try_acquire(1); }

void Mutex::unlock() {
    if (!is_mine()) { throw AsyncError("mutex: the caller does not hold it"); }
    state_->release(1);
}

bool Mutex::is_locked() const {
    state_->touch_looked();
    return state_->available() == 0;
}

bool Mutex::is_mine() const {
    const Scheduler& scheduler = state_->scheduler();
    return state_->available() == 0 && scheduler.in_coroutine() && scheduler.current()->id() == state_->holder();
}

std::size_t Mutex::waiting() const {
    state_->touch_looked();
    return detail::living_count(state_->waiters());
}

/// The queue of a condition. It lives as long as its handle or a wait in it (CV-16).
class ConditionState final : public RuntimeObject {
public:
    static constexpr std::uint64_t by_one = 1;
    static constexpr std::uint64_t by_all = 2;

    ConditionState(Scheduler& scheduler, std::string_view name) : RuntimeObject(scheduler, name) {}

    void touch(TouchMode mode) const { scheduler().touch(object_label(), "queue", mode); }

    bool notify(std::uint64_t how) {
        touch(TouchMode::write);
        WaitEntry* const next = oldest_living(waiters, [](const WaitEntry&) {});
        if (next == nullptr) { return false; }
        waiters.remove(*next);
        next->ticket = how;
        next->grant();
        return true;
    }

    void abandon() {
        const Ref<ConditionState> alive(this);
        abandoned = true;
        while (WaitEntry* next = waiters.front()) {
            waiters.remove(*next);
            next->fail(ErrorValue::make<AsyncError>("the condition is gone"));
        }
    }

    void add_reference() { ++references_; }
    void drop_reference() {
        if (--references_ == 0) { delete this; }
    }

    detail::WaitList waiters;
    bool abandoned = false;

private:
    std::uint32_t references_ = 0;
};

Condition::Condition(std::string_view name) : state_(new ConditionState(current_runtime("condition").scheduler(), name)) {}
Condition::Condition(Runtime& runtime, std::string_view name) : state_(new ConditionState(runtime.scheduler(), name)) {}
Condition::~Condition() { state_->abandon(); }

void Condition::wait(Lock& lock, const Token& token, SourceLocation at) {
    const Ref<ConditionState> state = state_;
    Scheduler& scheduler = state->scheduler();
    CoroutineCore& self = scheduler.require_suspendable("condition");
    if (!lock.held_) { throw AsyncError("condition: the lock is not held"); }
    EventSource* const ends_it = live_token(token.event());
    if (state->abandoned) { throw AsyncError("the condition is gone"); }
    WaitEntry entry(*state, self, "notification");
    state->touch(TouchMode::write);
    state->waiters.push_back(entry);
    lock.unlock();  // C1: nobody runs in between
    // Whoever leaves by an exception was told nothing: the news goes to the next (C2).
    const auto pass_on = [&] {
        if (!entry.is_granted()) { return; }
        entry.note(EventKind::handed_on);
        if (entry.ticket == ConditionState::by_one) { state->notify(ConditionState::by_one); }
    };
    const auto relock = [&] {
        protect([&] {
            lock.state_->acquire(1, nullptr, at);
            lock.held_ = true;
        });
    };
    try {
        entry.park(ends_it, at);
    } catch (const UnwindToken&) {
        if (entry.ListHook<WaitEntry>::is_linked()) { state->waiters.remove(entry); }
        entry.note(entry.is_granted() ? EventKind::handed_on : EventKind::wait_left);
        throw;  // the rest is unwound as well: nobody is left whom the news would help
    } catch (...) {
        const ErrorValue thrown(std::current_exception());
        if (entry.ListHook<WaitEntry>::is_linked()) { state->waiters.remove(entry); }
        if (!entry.is_granted()) { entry.note(EventKind::wait_left); }
        pass_on();
        relock();
        thrown.rethrow();
    }
    try {
        relock();
    } catch (const UnwindToken&) {
        entry.note(EventKind::handed_on);
        throw;
    } catch (...) {
        pass_on();
        throw;
    }
    entry.note(EventKind::grant_spent);
}

bool Condition::notify_one() { return state_->notify(ConditionState::by_one); }

std::size_t Condition::notify_all() {
    std::size_t count = 0;
    while (state_->notify(ConditionState::by_all)) { ++count; }
    return count;
}

std::size_t Condition::waiting() const {
    state_->touch(TouchMode::read);
    return detail::living_count(state_->waiters);
}

}  // namespace heddle
