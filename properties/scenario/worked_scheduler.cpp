// SPDX-License-Identifier: Apache-2.0
// T1 to T17 of docs/spec/01-scheduler.md, section 16.
#include <array>
#include <stdexcept>
#include <string>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/properties/scenario/worked.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

/// Says what happens to one coroutine: "h:ENTER".
class Teller final : public SwitchHandler {
public:
    bool on_switch(CoroutineHandle, bool entering, bool finishing) override {
        say(finishing ? "h:FINISH" : entering ? "h:ENTER" : "h:LEAVE");
        return true;
    }
};

void suspends_forever() {
    const Ref<OneShotEvent> never = OneShotEvent::make(current_runtime("wait").scheduler(), "never");
    await_event(never);
}

void t1() {
    spawn("A", [] {
        say("a1");
        yield();
        say("a2");
        yield();
        say("a3");
    });
    spawn("B", [] {
        say("b1");
        yield();
        say("b2");
    });
    spawn("C", [] { say("c1"); });
}

void t2() {
    spawn("P", [] {
        say("p1");
        spawn("K", [] {
            say("k1");
            yield();
            say("k2");
        });
        say("p2");
        yield();
        say("p3");
        spawn("L", [] { say("l1"); });
    });
    spawn("I", [] { say("i1"); });
}

void t3() {
    const std::uint64_t before = current_runtime("T3").statistics().switches;
    yield();
    HEDDLE_CHECK(current_runtime("T3").statistics().switches == before);
    say("back");
}

void t4() {
    std::array<Coroutine<void>, 2> pair;
    for (std::size_t i = 0; i < 2; ++i) {
        pair[i] = spawn(i == 0 ? Name("A") : Name("B"), [&pair, i] {
            yield();
            try {
                pair[1 - i].await();
            } catch (const AsyncCancellation& reason) {
                say(reason.what());
                throw;
            }
        });
    }
    try {
        await_all(pair[0], pair[1]);
    } catch (const Cancellation&) {}
}

void t5() {
    auto y = spawn("Y", [] {
        try {
            suspends_forever();
        } catch (const Cancellation&) {
            say("Y-cancelled");
            throw;
        }
    });
    spawn("X", [] { throw std::runtime_error("E"); });
    try {
        y.await();
    } catch (const Cancellation&) {
        say("main-cancelled");
        throw;
    }
}

void t6() {
    struct Places {
        const Context* c = nullptr;
        const Context* n = nullptr;
        const Context* s = nullptr;
    };
    auto places = std::make_shared<Places>();
    spawn("S", [places] {
        places->s = current_coroutine().core().context();
        say("s1");
        yield();
        say("s2");
        HEDDLE_CHECK(current_coroutine().core().context() == places->s);  // a started coroutine keeps its context (INV-SCHED-22)
    });
    spawn("C", [places] {
        places->c = current_coroutine().core().context();
        SpawnOptions next;  // before S, which is queued
        next.name = "N";
        next.priority = Priority::high;
        spawn(next, [places] {
            places->n = current_coroutine().core().context();
            say(places->n == places->c ? "N-on-C" : "N-elsewhere");
        });
    });
}

void t7() {
    auto a = spawn("A", [] {
        Scheduler& scheduler = current_runtime("T7").scheduler();
        const Ref<ReactorEvent> due = ReactorEvent::timer(scheduler, {}, false, "due");
        spawn("B", [] { say("B"); });
        await_event(*due);
        say("A");
    });
    a.await();
}

void t8() {
    SpawnOptions high;
    high.priority = Priority::high;
    spawn("A", [] { say("A"); });
    high.name = "H1";
    spawn(high, [] { say("H1"); });
    high.name = "H2";
    spawn(high, [] { say("H2"); });
}

void t9() {
    Teller h;
    auto a = spawn("A", [] {
        say("a1");
        yield();
        say("a2");
    });
    a.add_switch_handler(h);
    auto b = spawn("B", [] { say("b1"); });
    a.await();
    b.await();
}

void t10() {
    Teller h;
    current_runtime("T10").add_switch_handler(h);
    const std::uint64_t before = current_runtime("T10").statistics().switches;
    yield();
    HEDDLE_CHECK(current_runtime("T10").statistics().switches == before);
    current_coroutine().core().scheduler().remove_switch_handler(current_coroutine().core(), h);
}

void t11() {
    auto a = spawn("A", [] {
        try {
            suspends_forever();
        } catch (const Cancellation&) {
            say("A-cancelled");
        }
    });
    yield();
    add_microtask([] {
        say("m1");
        throw std::runtime_error("E");
    });
    add_microtask([] { say("m2"); });
}

void t12() {
    auto x = spawn("X", [] { suspends_forever(); });
    x.finally([](CoroutineHandle) {
        say("handler");
        throw std::runtime_error("E2");
    });
    spawn("C", [] { throw std::runtime_error("E1"); });
}

void t13() {
    std::array<Coroutine<void>, 2> pair;
    for (std::size_t i = 0; i < 2; ++i) {
        pair[i] = spawn(i == 0 ? Name("c1") : Name("c2"), [&pair, i] {
            yield();
            try {
                pair[1 - i].await();
            } catch (const AsyncCancellation& reason) {
                say(reason.what());
            }
            say("end");
        });
    }
    try {
        pair[0].await();
    } catch (const Cancellation&) {}
    try {
        pair[1].await();
    } catch (const Cancellation&) {}
}

void t14() {
    spawn("A", [] {
        shutdown();
        say("x");
        yield();
        say("y");
    });
}

void t15() {
    Scheduler& scheduler = current_runtime("T15").scheduler();
    TimerOptions options;
    options.timeout = 1ms;
    options.periodic = true;
    // Owned by nobody who ends: it lives until the runtime has closed it.
    static_cast<void>(spawn("X", [timer = ReactorEvent::timer(scheduler, options, false, "periodic")] {
        timer->start();
        sleep_for(3ms);
        say("X");
        throw std::runtime_error("E");
    }));
}

void t16() {
    auto flag = std::make_shared<bool>(false);
    spawn("A", [flag] {
        while (!*flag) { yield(); }
        say("A");
    });
    spawn("B", [flag] {
        sleep_for(5ms);
        *flag = true;
        say("B");
    });
}

void wait_and_return_as_another(int generation) {
    try {
        suspends_forever();
    } catch (const Cancellation&) {
        say("again");
        if (generation < 100) { spawn("A", [generation] { wait_and_return_as_another(generation + 1); }); }
        throw;
    }
}

void t17() {
    spawn("A", [] { wait_and_return_as_another(0); });
}

constexpr std::string_view deadlock_of_1 = "deadlock: 1 coroutine(s) wait and nothing can wake them";
constexpr std::string_view deadlock_of_3 = "deadlock: 3 coroutine(s) wait and nothing can wake them";

constexpr std::array traces{
    Worked{"T1", "yielding coroutines take turns in spawn order", t1, "a1 b1 c1 a2 b2 a3", ""},
    Worked{"T2", "a child starts behind what was queued before it", t2, "p1 p2 i1 k1 p3 k2 l1", ""},
    Worked{"T3", "a yield with nothing else queued returns without a switch", t3, "back", ""},
    Worked{"T4", "two coroutines that await each other are a deadlock", t4, "deadlock deadlock", deadlock_of_3},
    Worked{"T5", "an unhandled error cancels the others and leaves run()", t5, "main-cancelled Y-cancelled", "E"},
    Worked{"T6", "a finished coroutine's context is handed to the next that is new", t6, "s1 N-on-C s2", ""},
    Worked{"T7", "a timer that is due: the in-place tick polls, or it does not", t7, "B A", ""},
    Worked{"T8", "of high priority, the last spawned starts first", t8, "H2 H1 A", ""},
    Worked{"T9", "switch handlers see every gain and loss of the stack", t9, "h:ENTER a1 h:LEAVE b1 h:ENTER a2 h:FINISH", ""},
    Worked{"T10", "a lonely yield calls LEAVE and ENTER without a switch", t10, "h:LEAVE h:ENTER", ""},
    Worked{"T11", "a microtask that throws starts shutdown; the rest is drained next", t11, "m1 A-cancelled m2", "E"},
    Worked{"T12", "an error in a finally handler during shutdown is the second phase", t12, "handler", "E2 < E1"},
    Worked{"T13", "catching the deadlock's cancellation does not undo it", t13, "deadlock end deadlock end", deadlock_of_3},
    Worked{"T14", "after shutdown() the caller goes on to its next suspension", t14, "x", ""},
    Worked{"T15", "a timer nobody owns does not keep a shut-down program running", t15, "X", "E"},
    Worked{"T16", "an endless yield loop does not stop the clock", t16, "B A", ""},
    Worked{"T17", "cleanup that spawns its own successor ends in terminal unwinding", t17, "again", deadlock_of_1},
};

}  // namespace

std::span<const Worked> worked_scheduler() { return traces; }

}  // namespace heddle::prop
