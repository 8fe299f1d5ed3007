// SPDX-License-Identifier: Apache-2.0
// Corpus, area timer: deadlines that are missed, fire for somebody else, or never let go.
//
//   BUG-128  libuv/libuv#4250, libuv/libuv#3927        a timer that re-arms itself keeps the loop in its timers
//   BUG-129  tokio-rs/tokio#8274, tokio-rs/tokio#854, tokio-rs/tokio#849
//                                                      the loop sleeps past a deadline that was moved forward
//   BUG-130  scylladb/seastar@045c822f3                the timer of a wait that is over fires
//   BUG-131  dotnet/yarp#876                           a stale timeout ends the next operation
//   BUG-133  alibaba/PhotonLibOS#1255                  stopping a timer that has fired breaks the order of the others
//   BUG-134  alibaba/PhotonLibOS#1290                  dropping a timer whose callback is over waits for ever
//
// Where chance enters: sim::choose, ties of timers, timers against readiness, polls, who runs next.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

void timer_that_rearms_itself() {
    const Ref<ReactorEvent> bell = ReactorEvent::trigger(scheduler(), "bell");
    const TriggerPortPtr port = bell->port();
    const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), {.multishot = true});
    const RoundCounter rounds;
    std::uint64_t fires = 0;
    bool served = false;
    const Listener rearms(*timer, [&](const Outcome&) {
        ++fires;
        HEDDLE_CHECK(fires <= rounds.rounds());  // once per round at most
        HEDDLE_CHECK(fires <= 100);
        if (fires == 1) { port->fire(); }
        if (!served) { timer->rearm(0ms); }
    });
    timer->start();
    auto reader = spawn("reader", [&] {
        await_event(*bell);
        served = true;
    });
    join(reader);
    timer->stop();
}

void deadline_moved_forward() {
    const Clock clock;
    const Event done = make_event("done");
    const Ref<ReactorEvent> moved = ReactorEvent::timer(scheduler(), {.timeout = 100ms, .multishot = true});
    Duration fired_at{};
    const Listener fires(*moved, [&](const Outcome&) {
        fired_at = clock.elapsed();
        done->complete();
    });
    moved->start();
    // by a coroutine / by a callback / by a microtask of a callback / by a callback, to the past
    const std::uint32_t how = sim::choose(4, "the deadline is moved");
    Scheduler& mine = scheduler();
    Duration other_at{};
    const Alarm other(mine, 1ms, [&] {
        other_at = clock.elapsed();
        if (how == 1) { moved->rearm(4ms); }
        if (how == 2) {
            mine.runtime().add_microtask([&] { moved->rearm(4ms); });
        }
        if (how == 3) { moved->rearm(0ms); }
    });
    auto mover = spawn("mover", [&] {
        sleep_for(1ms);
        if (how == 0) { moved->rearm(4ms); }
    });
    await_event(done);
    join(mover);
    moved->stop();
    HEDDLE_CHECK(Clock::is_at(1ms, other_at));
    HEDDLE_CHECK(Clock::is_at(how == 3 ? 1ms : 5ms, fired_at));
    HEDDLE_CHECK(fired_at < 100ms);
}

void timer_of_a_wait_that_is_over() {
    const Event signal = make_event("signal");
    Ended ended = Ended::timed_out;
    int resumed = 0;
    auto a = spawn("a", [&] {
        ended = wait_bounded(*signal, 10ms);
        ++resumed;
    });
    bool decided = false;
    const auto send = [&] {
        decided = a.state() == CoroutineState::waiting;
        signal->complete();
        HEDDLE_CHECK(a.state() != CoroutineState::waiting);
    };
    let_all_run();
    const std::uint32_t by = sim::choose(3, "signalled");  // by a coroutine / by a timer / from outside
    if (by == 1) {
        const Alarm sends(scheduler(), 10ms, send);
        join(a);
        while (!sends.is_over()) { sleep_for(1ms); }
    } else if (by == 2) {
        const Completion sends(scheduler(), 10ms, send);
        join(a);
        while (!sends.is_over()) { sleep_for(1ms); }
    } else {
        sleep_for(10ms);
        send();
        HEDDLE_CHECK(statistics().active_events == 0);  // the signal disarmed the timer, not the resume
        join(a);
    }
    HEDDLE_CHECK(resumed == 1);
    HEDDLE_CHECK((ended == Ended::signalled) == decided);
}

void stale_timeout_and_the_next_operation() {
    const Clock clock;
    const std::array<Event, 2> values{make_event("v"), make_event("v")};
    Scheduler& mine = scheduler();
    const auto first = [&] { values[0]->complete(); };
    const auto second = [&] { values[1]->complete(); };
    std::optional<Alarm> first_timer;
    std::optional<Alarm> second_timer;
    std::optional<Completion> first_outside;
    std::optional<Completion> second_outside;
    if (sim::choose(2, "the values come from outside") == 1) {
        first_outside.emplace(mine, 10ms, first);
        second_outside.emplace(mine, 15ms, second);
    } else {
        first_timer.emplace(mine, 10ms, first);
        second_timer.emplace(mine, 15ms, second);
    }
    auto a = spawn("a", [&] {
        static_cast<void>(wait_bounded(*values[0], 10ms));  // either may win at its own deadline
        HEDDLE_CHECK(clock.is_at(10ms));
        HEDDLE_CHECK(wait_bounded(*values[1], 10ms) == Ended::signalled);
        HEDDLE_CHECK(clock.is_at(15ms));
    });
    auto b = spawn("b", [&] {
        static_cast<void>(caught([&] { await_event(values[0], Timeout(10ms)); }));
        HEDDLE_CHECK(!caught([&] { await_event(values[1], Timeout(10ms)); }));
        HEDDLE_CHECK(clock.is_at(15ms));
    });
    await_all(a, b);
}

void stopping_a_timer_that_has_fired() {
    constexpr std::array<Duration, 4> after{5ms, 10ms, 7ms, 8ms};
    Scheduler& mine = scheduler();
    std::array<std::unique_ptr<Alarm>, 4> timers;
    std::array<bool, 4> stopped{};
    std::vector<std::size_t> fired;
    const auto arm = [&](std::size_t i) {
        timers.at(i) = std::make_unique<Alarm>(mine, after.at(i), [&fired, i] { fired.push_back(i); });
    };
    const auto stop = [&](std::size_t i) {
        stopped.at(i) = true;
        timers.at(i)->stop();
    };
    arm(0);
    sleep_for(6ms);
    arm(1);
    if (const std::uint32_t one = sim::choose(3, "stopped"); one != 0) { stop(one - 1); }
    arm(2);
    stop(0);
    if (const std::uint32_t one = sim::choose(4, "stopped"); one != 0) { stop(one - 1); }
    arm(3);
    if (const std::uint32_t one = sim::choose(5, "stopped"); one != 0) { stop(one - 1); }
    sleep_for(20ms);
    std::vector<std::size_t> expected{0};
    for (const std::size_t i : {2U, 3U, 1U}) {
        if (!stopped.at(i)) { expected.push_back(i); }
    }
    HEDDLE_CHECK(fired == expected);
}

void dropping_a_timer_at_its_deadline() {
    const Event dropped = make_event("dropped");
    Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), {.timeout = 5ms});
    int called = 0;
    const std::uint32_t when = sim::choose(3, "the timer is dropped");  // behind its deadline / at it / by its own callback
    std::optional<Listener> callback;
    callback.emplace(*timer, [&](const Outcome&) {
        ++called;
        if (when == 2) {
            timer.reset();
            dropped->complete();
        }
    });
    timer->start();
    auto a = spawn("a", [&] {
        sleep_for(when == 1 ? 5ms : 8ms);
        timer.reset();
        const int before = called;
        yield();
        dropped->complete();
        sleep_for(2ms);
        HEDDLE_CHECK(called == before);
    });
    await_event(dropped);
    join(a);
    HEDDLE_CHECK(called <= 1);
    HEDDLE_CHECK(called == 1 || when == 1);
    callback.reset();
    HEDDLE_CHECK(statistics().active_events == 0);
}

}  // namespace

std::vector<sim::Scenario> timer_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-128", "libuv/libuv#4250, libuv/libuv#3927",
                     "A timer that re-arms itself with zero fires once per round, and others are served.", 1,
                     {value, dispatch, batch, ready, timer, timer_io, poll}},
                    timer_that_rearms_itself),
        scenario_of({"corpus/BUG-129", "tokio-rs/tokio#8274, tokio-rs/tokio#854, tokio-rs/tokio#849",
                     "A deadline that is moved forward is met, whoever moves it, and a past one at once.", 3,
                     {value, dispatch, timer, poll}},
                    deadline_moved_forward),
        scenario_of({"corpus/BUG-130", "scylladb/seastar@045c822f3",
                     "A wait that is signalled at its deadline has one outcome, and its timer is gone with the signal.", 3,
                     {value, dispatch, timer, timer_io, poll, time}},
                    timer_of_a_wait_that_is_over),
        scenario_of({"corpus/BUG-131", "dotnet/yarp#876",
                     "The deadline of one wait, met or missed, leaves the next wait of the same coroutine alone.", 3,
                     {value, dispatch, timer, timer_io, batch, poll}},
                    stale_timeout_and_the_next_operation),
        scenario_of({"corpus/BUG-133", "alibaba/PhotonLibOS#1255",
                     "Stopping timers, fired ones included, leaves the others in the order of their deadlines.", 3, {value, timer}},
                    stopping_a_timer_that_has_fired),
        scenario_of({"corpus/BUG-134", "alibaba/PhotonLibOS#1290",
                     "A timer can be dropped before, at and behind its deadline, and inside its own callback.", 2,
                     {value, dispatch, timer, poll, time}},
                    dropping_a_timer_at_its_deadline),
    };
}

}  // namespace heddle::prop::corpus
