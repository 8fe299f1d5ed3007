// SPDX-License-Identifier: Apache-2.0
// Corpus, area reactor: what is counted as a reason to wait, and what an outside that comes at any moment may do.
//
//   BUG-117  true-async/php-async@7cba1c6, true-async/php-async@eb5da10   a surplus stop takes another event's count
//   BUG-118  true-async/php-async@1dc2eab                                 a deadlock is seen while a notification is due
//   BUG-119  true-async/php-async@ab4e27d                                 a deadlock is seen from an old reading
//   BUG-122  libuv/libuv#2231                                             a wake from another thread meets the close
//   BUG-124  scylladb/seastar@788c46cb3                                   a completion comes as the loop falls asleep
//   BUG-125  true-async/php-async#216                                     an idle watch pins a program that is over
//   BUG-126  scylladb/seastar@25e2487da                                   a hung-up descriptor nobody waits for spins
//   BUG-177  libuv/libuv#2686                                             one watch of a descriptor, stopped twice, stops another one
//
// They are about the simulated outside; on libuv those that need one of its descriptors, threads or children refuse.
// Where chance enters: sim::choose; order and batching of what is ready, closes, ties of timers, polls, who runs next.
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

void surplus_stop_and_another_event() {
    const Clock clock;
    const Ref<ReactorEvent> bell = ReactorEvent::trigger(scheduler(), "bell");
    const TriggerPortPtr port = bell->port();
    auto other = spawn("other", [&] {
        sleep_for(100ms);
        HEDDLE_CHECK(clock.is_at(100ms));
    });
    const std::uint32_t how = sim::choose(4, "a ends");  // by its value / cancelled / by its timeout / it never waits
    auto a = spawn("a", [&] {
        if (how != 3) { static_cast<void>(wait_bounded(*bell, 5ms)); }
    });
    let_all_run();
    HEDDLE_CHECK(bell->loop_refs() == (how == 3 ? 0U : 1U));
    if (how == 0) { port->fire(); }
    if (how == 1) { a.cancel(); }
    join(a);
    HEDDLE_CHECK(bell->loop_refs() == 0);
    for (std::uint32_t surplus = sim::choose(3, "surplus stops"); surplus > 0; --surplus) { bell->stop(); }
    HEDDLE_CHECK(bell->loop_refs() == 0);
    HEDDLE_CHECK(statistics().active_events == 1);  // the other one's timer
    join(other);
}

void notification_due_when_nothing_is_active() {
    const Clock clock;
    sim::SimReactor& reactor = outside();
    const int fd = reactor.make_descriptor();
    const std::uint32_t how = sim::choose(3, "the descriptor goes");  // closed / hung up / hung up and closed
    const Ref<ReactorEvent> readable = ReactorEvent::poll(scheduler(), fd, PollBits::readable, true);
    bool told = false;
    auto a = spawn("reader", [&] {
        const ErrorValue closed = caught([&] {
            const Outcome outcome = await_event(*readable);
            HEDDLE_CHECK((static_cast<PollMask>(outcome.value) & PollBits::disconnect) != 0);
        });
        HEDDLE_CHECK(!closed || how != 1);
        told = true;
    });
    auto b = spawn("closer", [&] {
        if (how != 0) { reactor.hang_up(fd); }
        if (how != 1) { readable->close(); }
    });
    await_all(a, b);
    HEDDLE_CHECK(told);
    HEDDLE_CHECK(clock.is_at(0ms));
}

void armed_after_the_loop_has_looked() {
    const Clock clock;
    const bool at_once = sim::choose(2, "armed in the first slice") == 1;
    auto a = spawn("a", [&] {
        if (!at_once) { yield(); }
        sleep_for(5ms);
    });
    join(a);
    HEDDLE_CHECK(clock.is_at(5ms));
}

void wake_from_outside_meets_the_close() {
    const Ref<ReactorEvent> bell = ReactorEvent::trigger(scheduler(), "bell");
    const TriggerPortPtr port = bell->port();
    const Event rung = make_event("rung");
    int calls = 0;
    const Listener closes(*bell, [&](const Outcome& outcome) {
        if (outcome.error) { return; }  // told that it closed
        ++calls;
        bell->close();
        rung->complete();
    });
    bell->start();
    const bool gap = sim::choose(2, "a wait lies in the gap") == 1;
    sim::ForeignThread& worker = outside().add_thread("worker");
    worker.then(sim::Latency::exactly(1ms), [port] { port->fire(); })
        .then(sim::Latency::exactly(gap ? 1ms : 0ms), [port] { port->fire(); });
    await_event(rung);
    sleep_for(5ms);
    HEDDLE_CHECK(worker.done());
    HEDDLE_CHECK(calls == 1);
    HEDDLE_CHECK(statistics().active_events == 0);
}

void completion_as_the_loop_falls_asleep() {
    const Clock clock;
    struct Item {
        Duration pushed;
    };
    std::deque<Item> queue;
    const Ref<ReactorEvent> bell = ReactorEvent::trigger(scheduler(), "bell");
    const TriggerPortPtr port = bell->port();
    const auto push = [&] { queue.push_back({clock.elapsed()}); };
    const auto signal = [port] { port->fire(); };
    constexpr int count = 2;
    sim::ForeignThread& worker = outside().add_thread("worker");
    for (int i = 0; i < count; ++i) { worker.then(sim::Latency::exactly(1ms), push).then(signal); }
    auto busy = spawn("busy", [] {
        sleep_for(1ms);
        yield();
        yield();
    });
    int handled = 0;
    while (handled < count) {
        for (; !queue.empty(); queue.pop_front()) {
            HEDDLE_CHECK(Clock::is_at(queue.front().pushed, clock.elapsed()));
            ++handled;
        }
        if (handled < count) { await_event(*bell); }
    }
    join(busy);
    sleep_for(1ms);
    HEDDLE_CHECK(worker.done());
}

void idle_watch_of_a_program_that_is_over() {
    const int child = outside().start_child();
    Ref<ReactorEvent> watch = ReactorEvent::process(scheduler(), child);
    const std::uint32_t how = sim::choose(4, "the watch ends");  // stopped and dropped / dropped / never started / by its waiter's cancellation
    if (how == 3) {
        auto waiter = spawn("waiter", [&] { await_event(*watch); });
        let_all_run();
        HEDDLE_CHECK(statistics().active_events == 1);
        waiter.cancel();
        join(waiter);
    } else if (how != 2) {
        watch->start();
        HEDDLE_CHECK(statistics().active_events == 1);
    }
    if (how == 0) { watch->stop(); }
    watch.reset();
    HEDDLE_CHECK(statistics().active_events == 0);
    const Ref<ReactorEvent> hidden = ReactorEvent::timer(scheduler(), {.timeout = 10ms, .periodic = true}, true, "hidden");
    hidden->start();
    HEDDLE_CHECK(statistics().active_events == 0);
}

void hung_up_descriptor_nobody_waits_for() {
    const Clock clock;
    sim::SimReactor& reactor = outside();
    const int fd = reactor.make_descriptor();
    const Ref<ReactorEvent> readable = ReactorEvent::poll(scheduler(), fd, PollBits::readable);
    const bool resets = sim::choose(2, "an error, not a hang-up") == 1;
    if (sim::choose(2, "somebody has waited and left") == 1) {
        auto left = spawn("left", [&] { await_event(*readable); });
        let_all_run();
        left.cancel();
        join(left);
    }
    if (resets) {
        reactor.fail(fd, ECONNRESET);
    } else {
        reactor.hang_up(fd);
    }
    const RoundCounter rounds;
    sleep_for(10ms);
    HEDDLE_CHECK(clock.is_at(10ms));
    HEDDLE_CHECK(rounds.rounds() <= 8);
    const ErrorValue error = caught([&] {
        const Outcome outcome = await_event(*readable);
        HEDDLE_CHECK((static_cast<PollMask>(outcome.value) & PollBits::disconnect) != 0);
    });
    HEDDLE_CHECK(holds<IoError>(error) == resets);
    HEDDLE_CHECK(clock.is_at(10ms));
}

void shared_watch_stopped_twice() {
    sim::SimReactor& reactor = outside();
    const int fd = reactor.make_descriptor();
    const Ref<ReactorEvent> first = ReactorEvent::poll(scheduler(), fd, PollBits::readable);
    const bool same = sim::choose(2, "both wait for the same") == 0;
    const PollMask wanted = same ? PollBits::readable : PollBits::writable;
    const Ref<ReactorEvent> second = ReactorEvent::poll(scheduler(), fd, wanted);
    const std::uint32_t how = sim::choose(3, "a ends");  // by its timeout / cancelled / with its watch closed
    const std::uint32_t surplus = sim::choose(3, "surplus stops");
    auto b = spawn("b", [&] {
        const Outcome outcome = await_event(*second);
        HEDDLE_CHECK((static_cast<PollMask>(outcome.value) & wanted) != 0);
    });
    auto a = spawn("a", [&] { static_cast<void>(caught([&] { static_cast<void>(wait_bounded(*first, 5ms)); })); });
    let_all_run();
    if (how == 1) { a.cancel(); }
    if (how == 2) { first->close(); }
    join(a);
    for (std::uint32_t count = 0; count < surplus; ++count) { first->stop(); }
    HEDDLE_CHECK(first->loop_refs() == 0);
    HEDDLE_CHECK(second->loop_refs() == 1);
    HEDDLE_CHECK(!b.is_completed());
    reactor.set_ready(fd, wanted);
    join(b);
    HEDDLE_CHECK(second->loop_refs() == 0);
}

}  // namespace

std::vector<sim::Scenario> reactor_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-117", "true-async/php-async@7cba1c6, true-async/php-async@eb5da10",
                     "A surplus stop of one event does not take away what another one counts.", 2,
                     {value, dispatch, timer, ready, batch, poll}},
                    surplus_stop_and_another_event),
        scenario_of({"corpus/BUG-118", "true-async/php-async@1dc2eab",
                     "A notification that is still due is delivered before anybody speaks of a deadlock.", 3,
                     {value, dispatch, close, ready, batch, poll}},
                    notification_due_when_nothing_is_active),
        scenario_of({"corpus/BUG-119", "true-async/php-async@ab4e27d",
                     "Whether something is left to wait for is asked after the coroutines have run.", 2, {value, dispatch, poll, time}},
                    armed_after_the_loop_has_looked),
        scenario_of({"corpus/BUG-122", "libuv/libuv#2231",
                     "A wake from another thread that meets the close of its target is without effect.", 3,
                     {value, dispatch, ready, batch, merge, poll}},
                    wake_from_outside_meets_the_close),
        scenario_of({"corpus/BUG-124", "scylladb/seastar@788c46cb3",
                     "A completion pushed at any moment around the loop's decision to sleep is handled at once.", 3,
                     {value, dispatch, ready, batch, merge, timer_io, poll}},
                    completion_as_the_loop_falls_asleep),
        ends_by(scenario_of({"corpus/BUG-125", "true-async/php-async#216",
                             "A watch that was stopped, dropped or left does not keep a program that is over.", 2, {value, dispatch, poll}},
                            idle_watch_of_a_program_that_is_over),
                0ms),
        scenario_of({"corpus/BUG-126", "scylladb/seastar@25e2487da",
                     "A descriptor that nobody waits for makes no work, and says what happened to the one who comes.", 2,
                     {value, dispatch, ready, batch, spurious, poll, time}},
                    hung_up_descriptor_nobody_waits_for),
        scenario_of({"corpus/BUG-177", "libuv/libuv#2686",
                     "A watch that is stopped more often than it was started takes nothing from another one of its descriptor.", 3,
                     {value, dispatch, ready, batch, poll}},
                    shared_watch_stopped_twice),
    };
}

}  // namespace heddle::prop::corpus
