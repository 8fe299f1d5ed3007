// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/run/reactor_event.hpp"

#include "heddle/core/run/scheduler.hpp"

namespace heddle {

ReactorEvent::ReactorEvent(Scheduler& scheduler, SourceKind kind, bool one_shot, bool hidden, const char* name)
    : EventSource(scheduler), label_(scheduler.object_label(name)), name_(name), kind_(kind), one_shot_(one_shot), hidden_(hidden) {}

SourceOptions ReactorEvent::source_options() { return {this, label_, hidden_}; }

Ref<ReactorEvent> ReactorEvent::timer(Scheduler& scheduler, const TimerOptions& options, bool hidden, const char* name) {
    const bool one_shot = !options.periodic && !options.multishot;
    Ref<ReactorEvent> event(new ReactorEvent(scheduler, SourceKind::timer, one_shot, hidden, name));
    event->source_ = scheduler.reactor().open_timer(options, event->source_options());
    return event;
}

Ref<ReactorEvent> ReactorEvent::poll(Scheduler& scheduler, int fd, PollMask mask, bool close_fd) {
    Ref<ReactorEvent> event(new ReactorEvent(scheduler, SourceKind::proxy, false, false, "poll"));
    event->poll_ = scheduler.reactor().open_poll(fd, close_fd, event->label_);
    event->source_ = scheduler.reactor().open_proxy(event->poll_, mask, event->source_options());
    return event;
}

Ref<ReactorEvent> ReactorEvent::trigger(Scheduler& scheduler, const char* name) {
    Ref<ReactorEvent> event(new ReactorEvent(scheduler, SourceKind::trigger, false, false, name));
    event->source_ = scheduler.reactor().open_trigger(event->source_options());
    return event;
}

Ref<ReactorEvent> ReactorEvent::signal(Scheduler& scheduler, int number) {
    Ref<ReactorEvent> event(new ReactorEvent(scheduler, SourceKind::signal, false, false, "signal"));
    event->source_ = scheduler.reactor().open_signal(number, event->source_options());
    return event;
}

Ref<ReactorEvent> ReactorEvent::process(Scheduler& scheduler, int pid) {
    Ref<ReactorEvent> event(new ReactorEvent(scheduler, SourceKind::process, true, false, "process"));
    event->source_ = scheduler.reactor().open_process(pid, event->source_options());
    return event;
}

Ref<ReactorEvent> ReactorEvent::task(Scheduler& scheduler, UniqueFunction<void()> body) {
    Ref<ReactorEvent> event(new ReactorEvent(scheduler, SourceKind::task, true, false, "task"));
    event->is_request_ = true;
    // The worker may outlive the event: what both touch is shared, and read only after the completion was delivered.
    event->task_error_ = std::make_shared<ErrorValue>();
    event->source_ = scheduler.reactor().submit_task(
        [body = std::move(body), error = event->task_error_]() mutable {
            try {
                body();
            } catch (...) {
                *error = ErrorValue(std::current_exception());
            }
        },
        event->source_options());
    return event;
}

void ReactorEvent::on_first_start() {
    if (!is_request_) { scheduler().reactor().start(source_); }
}

void ReactorEvent::on_last_stop() noexcept {
    if (!is_request_ && source_) { scheduler().reactor().stop(source_); }
}

void ReactorEvent::rearm(Duration timeout) {
    if (is_closed() || !source_) { throw AsyncError("rearm: the timer is closed"); }
    scheduler().reactor().rearm(source_, timeout);
}

TriggerPortPtr ReactorEvent::port() const { return scheduler().reactor().trigger_port(source_); }

bool ReactorEvent::cancel_request() { return is_request_ && source_ && !is_closed() && scheduler().reactor().cancel(source_); }

void ReactorEvent::close() {
    if (is_closed()) { return; }
    const Ref<EventSource> alive(this);
    if (one_shot_) {
        outcome_ = {0, false, ErrorValue::make<AsyncCancellation>(std::string(name_) + " was closed")};
        has_outcome_ = true;
    }
    stop_all();
    if (const SourceId source = std::exchange(source_, {}); source) { scheduler().reactor().close(source); }
    notify_and_close(one_shot_ ? outcome_ : Outcome{0, false, ErrorValue::make<AsyncError>(std::string(name_) + " was closed")});  // EVT-16
}

bool ReactorEvent::replay(Outcome& outcome) const {
    if (!has_outcome_) { return false; }
    outcome = outcome_;
    return true;
}

std::string ReactorEvent::describe() const {
    return label_ && scheduler().labels() != nullptr ? scheduler().labels()->text(label_) : std::string(name_);
}

void ReactorEvent::on_delivery(const Delivery& delivery) {
    Outcome outcome{delivery.value, true, {}};
    if (delivery.cancelled) {
        outcome = {0, false, ErrorValue::make<AsyncCancellation>(std::string(name_) + " was cancelled")};
    } else if (delivery.error != 0) {
        outcome = {delivery.value, true, ErrorValue::make<IoError>(std::string(name_) + " failed", delivery.error)};
    } else if (task_error_ && *task_error_) {
        outcome = {0, false, *task_error_};
    }
    if (kind_ == SourceKind::timer) { outcome.has_value = false; }
    scheduler().touch(label_, "state", TouchMode::write);
    if (one_shot_) {
        outcome_ = outcome;
        has_outcome_ = true;
        notify_and_close(outcome);
    } else {
        notify(outcome);
    }
}

void ReactorEvent::dispose() {
    drop_callbacks();
    stop_all();
    Reactor& reactor = scheduler().reactor();
    if (source_) { reactor.close(source_); }
    if (poll_) { reactor.close(poll_); }
    delete this;
}

}  // namespace heddle
