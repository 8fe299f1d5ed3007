// SPDX-License-Identifier: Apache-2.0
// E1 to E10 of docs/spec/02-waker-events.md, section 2.
#include <array>
#include <stdexcept>
#include <string>

#include "heddle/core/heddle.hpp"
#include "heddle/core/run/reactor_event.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/properties/scenario/worked.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

Scheduler& scheduler_here() { return current_runtime("example").scheduler(); }

Ref<ReactorEvent> timer_of(Duration timeout) {
    TimerOptions options;
    options.timeout = timeout;
    return ReactorEvent::timer(scheduler_here(), options, false, "timer");
}

/// Waits for events, each of which may end the wait, and says which ones fired, in the waker's order.
void say_triggered(std::initializer_list<std::pair<EventSource*, const char*>> named) {
    const std::vector<EventSource*> triggered = current_coroutine().core().waker().triggered();
    HEDDLE_CHECK(!triggered.empty());
    for (const EventSource* fired : triggered) {
        for (const auto& [event, text] : named) {
            if (event == fired) { say(text); }
        }
    }
}

void suspend_here() { scheduler_here().suspend({"example", SourceLocation::current()}); }

/// Awaits and says what came of it: the value, or the error's text.
void say_await(const Coroutine<int>& target, const Token& token = {}) {
    try {
        say(std::to_string(await(target, token)));
    } catch (const OperationCanceled&) {
        say("token");
    } catch (const Cancellation& reason) {
        say(reason.what());
    } catch (const std::exception& error) {
        say(error.what());
    }
}

void e1() {
    const Ref<ReactorEvent> first = timer_of(10ms);
    const Ref<ReactorEvent> second = timer_of(10ms);
    Waker& waker = current_coroutine().core().waker();
    waker.clean();
    waker.resume_when(*first, WakeBy::resolve);
    waker.resume_when(*second, WakeBy::resolve);
    suspend_here();
    say_triggered({{first.get(), "t1"}, {second.get(), "t2"}});
    waker.clean();
}

void e2() {
    const Ref<OneShotEvent> token = OneShotEvent::make(scheduler_here(), "token");
    auto b = spawn("B", [] {
        sleep_for(1ms);
        return 7;
    });
    auto firing = spawn("T", [token] {
        sleep_for(1ms);
        token->complete();
    });
    auto a = spawn("A", [b, token] { say_await(b, token); });
    await_all(a, firing);
}

void e3() {
    auto b = spawn("B", [] { return 7; });
    auto a = spawn("A", [b] { say_await(b); });
    auto canceller = spawn("canceller", [a, b] {
        yield();  // A awaits, B has completed
        a.cancel("cancelled");
        say("cancel");
        HEDDLE_CHECK(!b.is_completed() || *b.result() == 7);  // the value stays readable at its source
    });
    await_all(a, canceller);
}

void e4() {
    auto b = spawn("B", []() -> int {
        yield();
        yield();
        throw std::runtime_error("E");
    });
    auto a = spawn("A", [b] {
        say_await(b);
        try {
            yield();
            say("no-second-outcome");
        } catch (const Cancellation& reason) {
            say(std::string("then-") + reason.what());
        }
    });
    yield();
    yield();
    yield();
    a.cancel("cancelled");
    await_all(a);
}

void e5() {
    const Ref<OneShotEvent> event = OneShotEvent::make(scheduler_here(), "mine");
    Waker& waker = current_coroutine().core().waker();
    waker.clean();
    waker.resume_when(*event, WakeBy::resolve);
    event->complete(5);
    const std::uint64_t before = current_runtime("E5").statistics().switches;
    suspend_here();
    HEDDLE_CHECK(current_runtime("E5").statistics().switches == before);
    say(std::to_string(waker.outcome().value));
    waker.clean();
}

void e6() {
    Waker& waker = current_coroutine().core().waker();
    EventSource* const timeout = waker.begin_with_timeout(10ms);
    const Ref<ReactorEvent> other = timer_of(10ms);
    waker.resume_when(*other, WakeBy::resolve);
    suspend_here();
    say_triggered({{timeout, "timeout"}, {other.get(), "other"}});
    waker.clean();
}

void e7() {
    sim::SimReactor& reactor = sim::World::current()->reactor();
    const int fd = reactor.make_descriptor();
    const Ref<ReactorEvent> poll = ReactorEvent::poll(scheduler_here(), fd, PollBits::readable);
    const auto waits = [poll](const char* text) {
        return [poll, text] {
            try {
                await_event(*poll);
                say(text);
            } catch (const Cancellation&) {
                say("cancelled");
                throw;
            }
        };
    };
    auto a = spawn("A", waits("A"));
    auto b = spawn("B", waits("B"));
    sleep_for(1ms);
    a.cancel();
    sleep_for(1ms);
    HEDDLE_CHECK(poll->loop_refs() == 1);  // B's start is still there
    reactor.set_ready(fd, PollBits::readable);
    b.await();
    reactor.close_descriptor(fd);
}

void e8() {
    const Ref<OneShotEvent> fired = OneShotEvent::make(scheduler_here(), "token");
    fired->complete();
    auto done = spawn("done", [] { return 7; });
    done.await();
    say_await(done, fired);
    auto open = spawn("open", [] {
        sleep_for(1ms);
        return 8;
    });
    say_await(open, fired);
    open.await();
}

void e9() {
    const Ref<ReactorEvent> event = timer_of(1ms);
    const Ref<ReactorEvent> later = timer_of(1ms);
    auto a = spawn("A", [event] {
        try {
            await_event(*event);
            say("value");
        } catch (const Cancellation&) {
            say("cancelled");
            throw;
        }
    });
    auto canceller = spawn("canceller", [later, a] {
        Waker& waker = current_coroutine().core().waker();
        waker.clean();
        waker.resume_when(*later, [a, self = current_coroutine()](EventSource& fired, const Outcome& outcome) {
            a.cancel();  // in the same tick, behind the event that woke A
            self.core().scheduler().resume(self.core(), &fired, outcome);
        });
        suspend_here();
        waker.clean();
    });
    await_all(a, canceller);
}

void e10() {
    const Ref<OneShotEvent> token = OneShotEvent::make(scheduler_here(), "token");
    auto target = spawn("target", [] {
        sleep_for(5ms);
        return 1;
    });
    auto a = spawn("A", [target, token] {
        say_await(target, token);
        try {
            yield();
            say("no-second-outcome");
        } catch (const Cancellation&) {
            say("then-cancelled");
        }
    });
    sleep_for(1ms);
    token->complete();
    a.cancel();
    await_all(a, target);
}

constexpr std::array traces{
    Worked{"E1", "two timers due in one tick: the first armed wins, both are listed", e1, "t1 t2", ""},
    Worked{"E2", "a target and a token in one tick: what came first decides", e2, "7", ""},
    Worked{"E3", "a cancellation behind a value takes its place; the value stays at its source", e3, "7 cancel", ""},
    Worked{"E4", "an error and a cancellation race: neither is lost", e4, "E then-cancelled", ""},
    Worked{"E5", "an event that fires before the suspend is not lost", e5, "5", ""},
    Worked{"E6", "a timeout and a timer of one deadline: armed first, wins", e6, "timeout other", ""},
    Worked{"E7", "two wait on one descriptor, one is cancelled, the other is woken", e7, "cancelled B", ""},
    Worked{"E8", "a fired token ends only the wait for what is unfinished", e8, "7 token", ""},
    Worked{"E9", "in one tick an event and a cancellation: the cancellation is the outcome", e9, "cancelled", ""},
    Worked{"E10", "a token's end and a cancellation behind it: both arrive", e10, "token then-cancelled", ""},
};

}  // namespace

std::span<const Worked> worked_waker() { return traces; }

}  // namespace heddle::prop
