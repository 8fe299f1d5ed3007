// SPDX-License-Identifier: Apache-2.0
// Zombies: the transition, the epilogue that bounds them, and the register (docs/spec/04-zombies.md).
//
//   active coroutine ──safe request──▶ zombie: runs on, is not counted      A = 0 and somebody registered: epilogue
//
//   epilogue ──zombie_timeout──▶ all cancelled, armed once more ──zombie_timeout──▶ the rest is terminally unwound
//
// Z1  One transition per coroutine, in one step; the flag is never cleared (INV-ZOM-01, INV-ZOM-02).
// Z2  Waker, queue place, subscriptions, outcome and protection stay as they are (INV-ZOM-03).
// Z3  The timer is hidden: it is no reason for the loop to go on, and a deadlock is found without waiting for it (ZOM-12f).
#include "heddle/core/run/scheduler.hpp"

namespace heddle {
namespace {

std::string place(const char* file, std::uint32_t line) {
    return file == nullptr ? std::string("unknown") : std::string(file) + ":" + std::to_string(line);
}

}  // namespace

void Scheduler::make_zombie(CoroutineCore& coroutine) {
    if (coroutine.finished_ || coroutine.zombie_) { return; }
    const Waker& waker = coroutine.waker_;
    const bool about_to_unwind = coroutine.has_pending_ || waker.status_ == WakerStatus::ignored ||
                                 (waker.origin_ == Waker::Origin::cancel && waker.outcome_.error);
    if (about_to_unwind) { return; }
    coroutine.zombie_ = true;
    touch(coroutine.label_, "wait", TouchMode::write);
    ScopeCore& scope = *coroutine.scope_;
    scope.count_zombie();
    HEDDLE_ASSERT(active_count_ > 0, "INV-ZOM-02");
    --active_count_;
    note(EventKind::became_zombie, coroutine.label_, scope.label());
    for (ScopeCore* at = &scope; at != nullptr; at = at->parent_) { at->notify_waiters(ScopeCore::News::counters); }
    if (options_.on_zombie) [[unlikely]] {
        try {
            const NoSuspend region(*this);
            options_.on_zombie(CoroutineHandle(&coroutine), ScopeRef(&scope));
        } catch (...) {
            record_unhandled(ErrorValue(std::current_exception()));
        }
    }
    if (active_count_ == 0) { active_count_changed(); }
}

/// Callback of the epilogue's timer.
class EpilogueCallback final : public EventCallback {
public:
    explicit EpilogueCallback(UniqueFunction<void()> body) : body_(std::move(body)) {}
    void call(EventSource&, const Outcome&) override { body_(); }

private:
    void dispose() override { delete this; }
    UniqueFunction<void()> body_;
};

void Scheduler::disarm_epilogue() {
    if (!epilogue_timer_) { return; }
    const Ref<ReactorEvent> timer = std::exchange(epilogue_timer_, {});
    timer->unsubscribe(*epilogue_callback_);
    epilogue_callback_ = nullptr;
    timer->stop();
}

/// Enters or leaves the epilogue (ZOM-12); called whenever the active count reached or left 0, or the registry shrank at 0.
void Scheduler::active_count_changed() {
    const bool in_force =
        active_count_ == 0 && !registry_.empty() && !second_phase_ && !loop_ended_ && state_ == State::active && !unwinding_rest_;
    if (!in_force) {
        if (epilogue_timer_ || epilogue_expiries_ > 0) { note(EventKind::epilogue_left); }
        disarm_epilogue();
        epilogue_expiries_ = 0;
        terminal_due_ = false;
        return;
    }
    if (epilogue_timer_ || epilogue_expiries_ >= 2) { return; }
    if (epilogue_expiries_ == 0) { note(EventKind::epilogue_entered); }
    TimerOptions timer;
    timer.timeout = options_.zombie_timeout;
    timer.refresh = true;
    epilogue_timer_ = ReactorEvent::timer(*this, timer, true, "epilogue");
    epilogue_callback_ = new EpilogueCallback([this] { epilogue_expired(); });
    epilogue_timer_->subscribe(*epilogue_callback_);
    epilogue_timer_->start();
}

void Scheduler::epilogue_expired() {
    ++epilogue_expiries_;
    note(EventKind::epilogue_expired, {}, {}, epilogue_expiries_);
    disarm_epilogue();
    if (epilogue_expiries_ == 1) {
        sweep(ErrorValue::make<AsyncCancellation>("the application has ended"));
        active_count_changed();  // once more, for their cleanup
        return;
    }
    terminal_due_ = true;  // not here, inside a callback: at the scheduler coroutine's next iteration (ZOM-12e)
}

std::vector<CoroutineRecord> Scheduler::coroutines(bool zombies_only) const {
    std::vector<CoroutineRecord> records;
    for (const CoroutineCore* c = registry_.front(); c != nullptr; c = registry_.next(*c)) {
        if (zombies_only && !c->zombie_) { continue; }
        CoroutineRecord record;
        record.id = c->id_;
        record.title = c->title();
        record.scope = c->scope_ != nullptr ? c->scope_->id() : ScopeId{};
        record.state = c->state();
        record.zombie = c->zombie_;
        record.spawned_at = place(c->spawn_file_, c->spawn_line_);
        if (c->is_suspended()) {
            record.suspended_at = place(c->suspend_file(), c->suspend_line());
            record.waits_for = c->wait_kind();
            for (const EventSource* event : c->waker_.events()) { record.waits_for += " " + event->describe(); }
            record.since = c->suspended_since_;
        }
        records.push_back(std::move(record));
    }
    return records;
}

}  // namespace heddle
