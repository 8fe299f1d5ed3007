// SPDX-License-Identifier: Apache-2.0
// Bell: an event that a test rings by hand, and that remembers how often it was started and stopped. Listener: a callback as a function.
//
//   Bell ── subscribe ── Listener      ring() runs one pass; a Bell that was told to may ring, or fail, while it is being started
//
// Multi-shot, without loop presence.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "heddle/core/run/event_source.hpp"
#include "heddle/core/run/scheduler.hpp"

namespace heddle::testing {

class Bell final : public EventSource {
public:
    static Ref<Bell> make(Scheduler& scheduler, std::string name = "bell") {
        return Ref<Bell>(new Bell(scheduler, std::move(name)));
    }

    bool ring(const Outcome& outcome = {}) { return notify(outcome); }
    bool ring_value(std::int64_t value) { return notify({value, true, {}}); }
    bool ring_error(ErrorValue error) { return notify({0, false, std::move(error)}); }
    /// Closes it; what it closed with is replayed if `keeps`.
    void close(const Outcome& outcome = {}, bool keeps = false) {
        last_ = outcome;
        keeps_ = keeps;
        notify_and_close(outcome);
    }

    /// What happens inside the first effective start; may ring, close, or throw.
    void at_start(std::function<void()> body) { at_start_ = std::move(body); }
    /// Replaces the pass (EVT-10): gets the outcome, returns the one that the pass shall carry.
    void transform(std::function<Outcome(const Outcome&)> body) { transform_ = std::move(body); }

    [[nodiscard]] int starts() const { return starts_; }
    [[nodiscard]] int stops() const { return stops_; }
    [[nodiscard]] bool replay(Outcome& outcome) const override {
        if (!is_closed() || !keeps_) { return false; }
        outcome = last_;
        return true;
    }
    [[nodiscard]] std::string describe() const override { return name_; }

    /// Number of bells that exist, to see that each is freed.
    static int& alive() {
        static int count = 0;
        return count;
    }

private:
    Bell(Scheduler& scheduler, std::string name) : EventSource(scheduler), name_(std::move(name)) { ++alive(); }
    ~Bell() override { --alive(); }
    void on_first_start() override {
        if (at_start_) { at_start_(); }
        ++starts_;
    }
    void on_last_stop() noexcept override { ++stops_; }
    void notify_hook(const Outcome& outcome) override { run_pass(transform_ ? transform_(outcome) : outcome); }
    void dispose() override {
        drop_callbacks();
        stop_all();
        delete this;
    }

    std::string name_;
    std::function<void()> at_start_;
    std::function<Outcome(const Outcome&)> transform_;
    Outcome last_;
    bool keeps_ = false;
    int starts_ = 0;
    int stops_ = 0;
};

/// A member of a test's frame: it outlives every call, and unsubscribes itself at the end.
class Listener final : public EventCallback {
public:
    using Body = std::function<void(EventSource&, const Outcome&)>;
    explicit Listener(Body body) : body_(std::move(body)) {}
    Listener(EventSource& event, Body body) : body_(std::move(body)) { event.subscribe(*this); }
    ~Listener() override { leave(); }
    void leave() {
        if (event() != nullptr) { event()->unsubscribe(*this); }
    }
    void call(EventSource& event, const Outcome& outcome) override {
        ++calls_;
        body_(event, outcome);
    }
    [[nodiscard]] int calls() const { return calls_; }

private:
    Body body_;
    int calls_ = 0;
};

}  // namespace heddle::testing
