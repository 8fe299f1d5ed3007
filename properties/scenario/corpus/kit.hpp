// SPDX-License-Identifier: Apache-2.0
// What the scenarios of the corpus have in common: how an entry is written down, and the short words of its language.
//
//   wake(X) ▸ event->complete()      the window ▸ between it and the run of X      t=n ▸ clock.is_at(n)
//   "M lets everybody run" ▸ let_all_run()      "delay(n) in a callback" ▸ Alarm
//
// K1  A program's locals outlive its coroutines: main waits for all of them, however they end.
// K2  Times are exact where simulated time moves only when everybody waits; elsewhere they are lower bounds, for a timer may be late
//     (RCT-21).
// Choice points: none here.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "heddle/core/base/source_location.hpp"
#include "heddle/core/heddle.hpp"
#include "heddle/simreactor/world/anywhere.hpp"
#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::prop::corpus {

struct Entry {
    const char* name;    ///< "corpus/BUG-002"
    const char* source;  ///< as the entry names it
    const char* about;
    std::uint32_t depth;
    sim::ChoiceMask choices;
};

[[nodiscard]] sim::Scenario scenario_of(const Entry& entry, void (*program)());
/// Adds a judge: the run has to be over by then, in virtual time (BOUNDED-STOP).
[[nodiscard]] sim::Scenario ends_by(sim::Scenario scenario, Duration limit);
/// The program has to end with an error, by itself a right outcome; a run that ends well is the violation (DEADLOCK-SEEN).
[[nodiscard]] sim::Scenario ends_with_an_error(sim::Scenario scenario);

using Event = Ref<OneShotEvent>;

[[nodiscard]] inline Scheduler& scheduler() { return current_runtime("a scenario of the corpus").scheduler(); }
[[nodiscard]] inline Event make_event(const char* name) { return OneShotEvent::make(scheduler(), name); }
[[nodiscard]] inline RuntimeStatistics statistics() { return current_runtime("statistics").statistics(); }

/// The simulated outside of this world. Throws AsyncError where none runs: such a scenario is about the simulated one.
[[nodiscard]] sim::SimReactor& outside();

/// Yields until nobody else is ready. One coroutine at a time may do this, or two wait for each other.
inline void let_all_run() {
    while (!scheduler().ready_queue().empty()) { yield(); }
}

/// Only a cancellation ends it.
inline void park_for_ever(SourceLocation at = SourceLocation::current()) { await_event(make_event("never"), {}, at); }

/// Waits until all of them have ended, however; throws only the caller's own cancellation.
template <class... Handles>
void join(const Handles&... handles) {
    EventSource* const inputs[] = {&handles.core()...};
    static_cast<void>(await_collect(inputs, {}));
}

/// What `body` threw, or no error. The unwinding of a run that has ended passes through.
template <class Body>
[[nodiscard]] ErrorValue caught(Body&& body) {
    try {
        body();
    } catch (const Cancellation&) {
        return ErrorValue(std::current_exception());
    } catch (const std::exception&) {
        return ErrorValue(std::current_exception());
    }
    return {};
}

/// The same for what a shutdown interrupts: its first suspension throws the cancellation, then it does run.
inline void let_all_run_after_shutdown() {
    static_cast<void>(caught([] { let_all_run(); }));
    let_all_run();
}

template <class E>
[[nodiscard]] bool holds(const ErrorValue& error) {
    if (!error) { return false; }
    try {
        error.rethrow();
    } catch (const E&) {
        return true;
    } catch (...) {
        return false;  // only asked about; the error is its owner's
    }
}

/// Virtual time since it was made.
class Clock {
public:
    Clock() : begin_(now()) {}
    [[nodiscard]] Duration elapsed() const { return now() - begin_; }
    /// K2.
    [[nodiscard]] bool is_at(Duration expected) const { return is_at(expected, elapsed()); }
    [[nodiscard]] static bool is_at(Duration expected, Duration measured);

private:
    Instant begin_;
};

/// A function as a callback; a member of a frame, it unsubscribes itself at the end.
class Listener final : public EventCallback {
public:
    using Body = UniqueFunction<void(const Outcome&)>;
    Listener(EventSource& event, Body body) : body_(std::move(body)) { event.subscribe(*this); }
    ~Listener() override { leave(); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    void leave() {
        if (event() != nullptr) { event()->unsubscribe(*this); }
    }
    void call(EventSource&, const Outcome& outcome) override { body_(outcome); }

private:
    Body body_;
};

/// A one-shot timer with a callback, armed from its construction on.
class Alarm {
public:
    Alarm(Scheduler& of, Duration after, UniqueFunction<void()> body)
        : timer_(ReactorEvent::timer(of, {.timeout = after}, false, "alarm")),
          listener_(*timer_, [run = std::move(body)](const Outcome&) mutable { run(); }) {
        timer_->start();
    }
    void stop() { timer_->stop(); }
    [[nodiscard]] bool is_over() const { return timer_->is_closed(); }

private:
    Ref<ReactorEvent> timer_;
    Listener listener_;
};

/// The same from outside: in a simulated world a post, which meets the timers of its instant in either order (CP-TIMERIO).
class Completion {
public:
    Completion(Scheduler& of, Duration after, UniqueFunction<void()> body);
    ~Completion();
    Completion(const Completion&) = delete;
    Completion& operator=(const Completion&) = delete;
    [[nodiscard]] bool is_over() const { return *over_; }

private:
    std::shared_ptr<bool> over_ = std::make_shared<bool>(false);
    std::unique_ptr<Alarm> alarm_;
    sim::SimReactor* reactor_ = nullptr;
    sim::PostId post_;
};

/// Counts the rounds of the scheduler while it lives.
class RoundCounter {
public:
    RoundCounter() : runtime_(current_runtime("heartbeat")), previous_(runtime_.set_heartbeat([this] { ++rounds_; })) {}
    ~RoundCounter() { static_cast<void>(runtime_.set_heartbeat(std::move(previous_))); }
    RoundCounter(const RoundCounter&) = delete;
    RoundCounter& operator=(const RoundCounter&) = delete;
    [[nodiscard]] std::uint64_t rounds() const { return rounds_; }

private:
    Runtime& runtime_;
    UniqueFunction<void()> previous_;
    std::uint64_t rounds_ = 0;
};

enum class Ended : std::uint8_t { signalled, timed_out };

/// Waits for the event, at most so long, the way a primitive does: one wait on the event and on a private timer.
Ended wait_bounded(EventSource& event, Duration limit, SourceLocation at = SourceLocation::current());

}  // namespace heddle::prop::corpus
