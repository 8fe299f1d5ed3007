// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/sync/sleep.hpp"

#include "heddle/core/run/reactor_event.hpp"
#include "heddle/core/run/runtime.hpp"
#include "heddle/core/sync/await.hpp"

namespace heddle {

/// The timer behind a Timeout: armed by the first start, for a deadline that later starts do not move.
class TimeoutEvent final : public EventSource {
public:
    TimeoutEvent(Scheduler& scheduler, Duration duration)
        : EventSource(scheduler), label_(scheduler.object_label("timeout")), duration_(duration) {}

    [[nodiscard]] bool is_disarmed() const override { return cancelled_; }
    /// Its deadline was fixed by an earlier wait, and nobody waited when it passed (TMO-02).
    void settle() override {
        if (is_closed() || !deadline_set_ || loop_refs() > 0) { return; }
        Reactor& reactor = scheduler().reactor();
        reactor.refresh_clock();
        if (reactor.now() >= deadline_) { fired(); }
    }

    void cancel() {
        if (is_closed()) { return; }
        cancelled_ = true;
        outcome_ = {0, false, ErrorValue::make<AsyncCancellation>("the timeout was disarmed")};
        const Ref<EventSource> alive(this);
        // As a token it has no effect any more: only those who await the timeout itself are woken (AWT-10).
        notify_and_close(outcome_);
    }

    [[nodiscard]] bool replay(Outcome& outcome) const override {
        if (!is_closed()) { return false; }
        outcome = outcome_;
        return true;
    }
    [[nodiscard]] std::string describe() const override { return "timeout of " + std::to_string(duration_.count()) + " ns"; }
    [[nodiscard]] Label label() const override { return label_; }

private:
    /// The timer's callback. It lives by itself, because the timer's pass may outlive this event (EVT-4).
    class Fire final : public EventCallback {
    public:
        explicit Fire(TimeoutEvent& timeout) : timeout_(timeout) {}
        void call(EventSource&, const Outcome&) override { timeout_.fired(); }

    private:
        void dispose() override { delete this; }
        TimeoutEvent& timeout_;
    };

    void on_first_start() override {
        Reactor& reactor = scheduler().reactor();
        if (!deadline_set_) {
            reactor.refresh_clock();
            deadline_ = reactor.now() + round_up(duration_, reactor.resolution());
        }
        TimerOptions options;
        options.timeout = deadline_ > reactor.now() ? deadline_ - reactor.now() : Duration::zero();
        timer_ = ReactorEvent::timer(scheduler(), options, false, "timeout");
        fire_ = new Fire(*this);
        timer_->subscribe(*fire_);
        timer_->start();
        deadline_set_ = true;  // only now: a start that failed left everything as it was (RCT-51)
    }
    void on_last_stop() noexcept override {
        const Ref<ReactorEvent> timer = std::exchange(timer_, {});
        if (!timer) { return; }
        timer->unsubscribe(*std::exchange(fire_, nullptr));
        timer->stop();
    }
    void fired() {
        outcome_ = {0, false, ErrorValue::make<TimeoutError>()};
        const Ref<EventSource> alive(this);
        notify_and_close(outcome_);
    }
    void dispose() override {
        drop_callbacks();
        stop_all();
        delete this;
    }

    Label label_;
    Duration duration_;
    Instant deadline_;
    bool deadline_set_ = false;
    bool cancelled_ = false;
    Outcome outcome_;
    Ref<ReactorEvent> timer_;
    Fire* fire_ = nullptr;
};

Timeout::Timeout(Duration duration) {
    if (duration <= Duration::zero()) { throw ValueError("timeout: the duration must be more than zero"); }
    event_ = Ref<TimeoutEvent>(new TimeoutEvent(current_runtime("timeout").scheduler(), duration));
}

Timeout::Timeout(const Timeout& other) = default;
Timeout& Timeout::operator=(const Timeout& other) = default;
Timeout::~Timeout() = default;

void Timeout::cancel() const { event_->cancel(); }
bool Timeout::is_completed() const { return event_->is_closed(); }
bool Timeout::is_cancelled() const { return event_->is_disarmed(); }
void Timeout::await(SourceLocation at) const { await_event(*event_, {}, at); }
EventSource& Timeout::event() const { return *event_; }

Token::Token(const Timeout& timeout) : event_(timeout.is_cancelled() ? nullptr : &timeout.event()) {}

void sleep_for(Duration duration, SourceLocation at) {
    Scheduler& scheduler = current_runtime("sleep_for").scheduler();
    if (duration < Duration::zero()) { throw ValueError("sleep_for: the duration must not be negative"); }
    if (duration == Duration::zero()) {
        scheduler.yield_now({"sleep", at});
        return;
    }
    CoroutineCore& self = scheduler.require_suspendable("sleep_for");
    TimerOptions options;
    options.timeout = duration;
    options.refresh = true;
    Waker& waker = self.waker();
    struct Clean {
        Waker& waker;
        ~Clean() { waker.clean(); }
    } clean{waker};
    waker.clean();
    const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler, options, false, "sleep");
    waker.resume_when(*timer, WakeBy::resolve);
    scheduler.suspend({"sleep", at, timer->label()});
}

void sleep_until(Instant deadline, SourceLocation at) {
    Reactor& reactor = current_runtime("sleep_until").scheduler().reactor();
    reactor.refresh_clock();
    sleep_for(deadline > reactor.now() ? deadline - reactor.now() : Duration::zero(), at);
}

}  // namespace heddle
