// SPDX-License-Identifier: Apache-2.0
// Corpus, area scheduler: who is in the ready queue, how often, and who gets a turn.
//
//   BUG-002  true-async/php-async@25dd603               a hook behind the enqueue throws, and the queue entry stays
//   BUG-003  true-async/php-async@565c95f               a wait that ends while it is started drops another one's wake
//   BUG-004  alibaba/PhotonLibOS#882                    a sleeper is interrupted at its deadline and made ready twice
//   BUG-005  google/marl#59, google/marl#71             the deadline of a wait that is over wakes the next one
//   BUG-006  tokio-rs/tokio#2349, tokio-rs/tokio#5686   two that wake each other keep everybody else waiting
//   BUG-007  sableland/sable#53                         a timer armed by a microtask is never waited for
//   BUG-009  scylladb/seastar@df8374789                 a signal runs the waiter in the middle of the signaller
//   BUG-011  crystal-lang/crystal#14851                 what was started directly is started again from the queue
//
// Where chance enters: sim::choose in each program; who runs next, ties of timers, and polls where the entry names them.
#include <array>
#include <optional>

#include "heddle/properties/scenario/corpus/corpus.hpp"
#include "heddle/properties/scenario/corpus/kit.hpp"
#include "heddle/properties/scenario/corpus/primitives.hpp"

namespace heddle::prop::corpus {
namespace {

using namespace std::chrono_literals;

void hook_throws_behind_the_enqueue() {
    std::array<int, 2> ran{};
    std::array<bool, 2> refused{};
    for (std::size_t i = 0; i < ran.size(); ++i) {
        const std::uint32_t throws = sim::choose(3, "hook throws");  // never / behind the enqueue / before it
        const auto hook = [](const CoroutineHandle&) { throw AsyncError("the hook refuses"); };
        SpawnOptions options;
        options.name = Name("child");
        if (throws == 1) { options.after = hook; }
        if (throws == 2) { options.before = hook; }
        refused[i] = holds<AsyncError>(caught([&] { spawn(options, [&ran, i] { ++ran[i]; }); }));
        HEDDLE_CHECK(refused[i] == (throws != 0));
    }
    let_all_run();
    for (std::size_t i = 0; i < ran.size(); ++i) { HEDDLE_CHECK(ran[i] == (refused[i] ? 0 : 1)); }
    HEDDLE_CHECK(statistics().registered == 1);
    HEDDLE_CHECK(statistics().active == 1);
}

void start_ends_one_wait_and_wakes_another() {
    const Event f = make_event("f");
    const Event g = make_event("g");
    const Event h = make_event("h");
    const auto complete_both = [&] {
        f->complete();
        g->complete();
    };
    const bool at_start = sim::choose(2, "f completes at its start") == 1;
    if (at_start) { f->set_start_hook(complete_both); }
    auto b = spawn("b", [&] { await_event(g); });
    auto a = spawn("a", [&] {
        HEDDLE_CHECK(await_any({f.get(), h.get()}) == 0);
        HEDDLE_CHECK(b.state() != CoroutineState::waiting);
    });
    if (!at_start) { spawn("completer", complete_both); }
    await_all(a, b);
}

void sleeper_interrupted_at_its_deadline() {
    int resumed = 0;
    bool expired = false;
    bool interrupted = false;
    auto sleeper = spawn("sleeper", [&] {
        Waker& waker = scheduler().current()->waker();
        const EventSource* const timer = waker.begin_with_timeout(10ms);
        scheduler().suspend({"sleep", SourceLocation::current()});
        ++resumed;
        expired = waker.was_triggered(*timer);
        waker.clean();
    });
    const std::uint32_t how = sim::choose(3, "the interrupter is woken");  // by its timer / by one armed earlier / from outside
    const Event arrived = make_event("arrived");
    std::optional<Completion> arrives;
    if (how == 2) { arrives.emplace(scheduler(), 10ms, [&] { arrived->complete(); }); }
    auto interrupter = spawn("interrupter", [&] {
        if (how == 2) {
            await_event(arrived);
        } else {
            sleep_for(how == 0 ? 10ms : 9ms);
            if (how == 1) { sleep_for(1ms); }
        }
        if (!sleeper.is_completed()) { interrupted = scheduler().resume(sleeper.core(), nullptr, {}); }
        yield();
        yield();
    });
    await_all(sleeper, interrupter);
    HEDDLE_CHECK(resumed == 1);
    HEDDLE_CHECK(expired != interrupted);
    HEDDLE_CHECK(statistics().active_events == 0);
}

void stale_deadline_meets_the_next_wait() {
    const Event first = make_event("first");
    const Event second = make_event("second");
    const Clock clock;
    int resumed = 0;
    auto a = spawn("a", [&] {
        Waker& waker = scheduler().current()->waker();
        const EventSource* const timer = waker.begin_with_timeout(50ms);
        waker.resume_when(*first, WakeBy::resolve);
        if (sim::choose(2, "fired before the park") == 1) { first->complete(); }
        scheduler().suspend({"first", SourceLocation::current()});
        ++resumed;
        HEDDLE_CHECK(!waker.was_triggered(*timer));
        waker.clean();
        await_event(second);
        ++resumed;
        HEDDLE_CHECK(clock.is_at(100ms));
    });
    auto b = spawn("b", [&] {
        sleep_for(1ms);
        first->complete();
    });
    auto witness = spawn("witness", [&] {
        sleep_for(60ms);
        HEDDLE_CHECK(a.state() == CoroutineState::waiting);
        HEDDLE_CHECK(resumed == 1);
    });
    sleep_for(100ms);
    second->complete();
    await_all(a, b, witness);
    HEDDLE_CHECK(resumed == 2);
}

void two_that_wake_each_other() {
    Channel there(0);
    Channel back(0);
    bool bystander_ran = false;
    bool timer_fired = false;
    int turns = 0;
    // A real clock has to get 5 ms ahead; virtual time moves within the fairness bounds of polls.
    const int turns_max = sim::World::current() != nullptr ? 200 : 100'000'000;
    auto a = spawn("a", [&] {
        while (!bystander_ran || !timer_fired) {
            HEDDLE_CHECK(++turns <= turns_max);
            there.send(turns);
            back.receive();
        }
        there.send(-1);
    });
    auto b = spawn("b", [&] {
        while (there.receive() >= 0) { back.send(0); }
    });
    auto c = spawn("bystander", [&] { bystander_ran = true; });
    auto d = spawn("timed", [&] {
        sleep_for(5ms);
        timer_fired = true;
    });
    await_all(a, b, c, d);
}

void timer_armed_by_a_microtask() {
    Scheduler& mine = scheduler();
    const Event done = make_event("done");
    const Clock clock;
    std::optional<Alarm> in_task;
    const auto arm = [&] { in_task.emplace(mine, 5ms, [&] { done->complete(); }); };
    const bool in_tick = sim::choose(2, "queued by a callback") == 1;
    std::optional<Alarm> in_callback;
    if (in_tick) {
        in_callback.emplace(mine, 1ms, [&] { mine.runtime().add_microtask(arm); });
    } else {
        add_microtask(arm);
    }
    await_event(done);
    HEDDLE_CHECK(clock.is_at(in_tick ? 6ms : 5ms));
}

void signal_in_a_critical_stretch() {
    const Event signal = make_event("signal");
    int x = 0;
    int seen = 0;
    bool in_stretch = false;
    auto a = spawn("a", [&] {
        await_event(signal);
        HEDDLE_CHECK(!in_stretch);
        seen = x;
    });
    auto b = spawn("b", [&] {
        in_stretch = true;
        x = 1;
        signal->complete();
        x = 2;
        in_stretch = false;
        yield();
    });
    await_all(a, b);
    HEDDLE_CHECK(seen == 2);
}

void started_directly_while_queued() {
    const bool suspends = sim::choose(2, "the child suspends") == 1;
    int ran = 0;
    auto child = spawn("child", [&] {
        ++ran;
        if (suspends) { yield(); }
    });
    auto other = spawn("other", [] {});
    child.as_hi_priority().as_hi_priority();
    yield();
    let_all_run();
    HEDDLE_CHECK(ran == 1);
    HEDDLE_CHECK(child.is_completed() && other.is_completed());
    HEDDLE_CHECK(holds<AsyncError>(caught([&] { scheduler().resume(child.core(), nullptr, {}); })));
    HEDDLE_CHECK(scheduler().ready_queue().empty());
    join(child, other);
}

}  // namespace

std::vector<sim::Scenario> scheduler_area() {
    using enum ChoiceKind;
    return {
        scenario_of({"corpus/BUG-002", "true-async/php-async@25dd603",
                     "A spawn whose hook throws leaves neither a queue entry nor a registered coroutine behind.", 2, {value, dispatch}},
                    hook_throws_behind_the_enqueue),
        scenario_of({"corpus/BUG-003", "true-async/php-async@565c95f",
                     "A wait that ends while it is being started makes ready whoever else that start resumed.", 2, {value, dispatch}},
                    start_ends_one_wait_and_wakes_another),
        scenario_of({"corpus/BUG-004", "alibaba/PhotonLibOS#882",
                     "A sleeper that is interrupted at its deadline is resumed once, for one of the two reasons.", 3,
                     {value, dispatch, timer, timer_io, poll, time}},
                    sleeper_interrupted_at_its_deadline),
        scenario_of({"corpus/BUG-005", "google/marl#59, google/marl#71",
                     "A wait that was signalled before its deadline takes the deadline with it.", 3, {value, dispatch, timer, poll}},
                    stale_deadline_meets_the_next_wait),
        scenario_of({"corpus/BUG-006", "tokio-rs/tokio#2349, tokio-rs/tokio#5686",
                     "Two coroutines that keep waking each other starve neither a third one nor a timer.", 1, {dispatch, poll, time}},
                    two_that_wake_each_other),
        scenario_of({"corpus/BUG-007", "sableland/sable#53",
                     "A timer armed by a microtask is waited for, also when nothing else is left.", 2, {value, dispatch, poll, time}},
                    timer_armed_by_a_microtask),
        scenario_of({"corpus/BUG-009", "scylladb/seastar@df8374789",
                     "A signal only queues the waiter; the signaller is not cut between two of its statements.", 1, {dispatch}},
                    signal_in_a_critical_stretch),
        scenario_of({"corpus/BUG-011", "crystal-lang/crystal#14851",
                     "A coroutine moved to the head of the queue runs once; one that ended cannot be resumed.", 2, {value, dispatch}},
                    started_directly_while_queued),
    };
}

}  // namespace heddle::prop::corpus
