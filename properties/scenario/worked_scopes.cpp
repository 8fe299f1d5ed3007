// SPDX-License-Identifier: Apache-2.0
// S1 to S17 of docs/spec/03-cancellation-scope.md, section 6; S13 needs channels and stands with them.
#include <array>
#include <stdexcept>
#include <string>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/properties/scenario/worked.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

Ref<OneShotEvent> new_event(const char* name) { return OneShotEvent::make(current_runtime("example").scheduler(), name); }

/// Runs `body` and says what ended it.
template <class F>
void say_end(const char* who, F&& body) {
    try {
        body();
    } catch (const Cancellation& reason) {
        say(std::string(who) + ":" + reason.what());
        throw;
    } catch (const std::exception& error) {
        say(std::string(who) + ":" + error.what());
        throw;
    }
}

void wait_forever(const char* who) {
    say_end(who, [] { await_event(new_event("never")); });
}

ErrorValue reason(const char* text) { return ErrorValue::make<AsyncCancellation>(text); }

void s1() {
    Scope s;
    auto x = s.spawn("X", [] { yield(); });
    x.finally([](CoroutineHandle) { say("f1"); });
    x.finally([](CoroutineHandle) { say("f2"); });
    x.finally([](CoroutineHandle) {
        say("f3");
        throw std::runtime_error("E3");
    });
    x.release();
    Scope child = s.inherit();
    auto y = child.spawn("Y", [] { yield(); });
    y.finally([](CoroutineHandle) { say("g"); });
    yield();  // X and Y have started
    s.finally([](ScopeRef) { say("h"); });
    s.cancel();
}

void s2() {
    Scope s;
    s.set_exception_handler([](ScopeRef, CoroutineHandle who, const ErrorValue&) { say("H(" + std::string(who.name()) + ")"); });
    s.spawn("B1", [] { throw std::runtime_error("E"); });
    s.spawn("B2", [] { throw std::runtime_error("E"); });
    auto good = s.spawn("Good", [] {
        yield();
        say("Good");
    });
    good.await();
    HEDDLE_CHECK(!s.is_cancelled() && !s.is_closed());
}

void s3() {
    Scope s;
    auto a = s.spawn("A", [] { say_end("A", [] { yield(); }); });
    yield();
    auto b = s.spawn("B", [] { say("B"); });
    const bool a_was_left = !a.is_completed();
    s.cancel(reason("r"));
    await_all(a, b);
    HEDDLE_CHECK(a.is_cancelled() == a_was_left);
    HEDDLE_CHECK(b.is_cancelled() && !b.is_started());
}

void s4() {
    Scope s;
    s.allow_zombies();
    auto a = s.spawn("A", [] {
        yield();
        say("A");
    });
    yield();
    auto b = s.spawn("B", [] { say("B"); });
    s.dispose();
    HEDDLE_CHECK((a.is_zombie() || a.is_completed()) && b.is_zombie());
    await_all(a, b);
    HEDDLE_CHECK(!a.is_cancelled() && !b.is_cancelled());
}

void s5() {
    Scope p;
    Scope c1 = p.inherit();
    Scope c2 = p.inherit();
    auto a = c1.spawn("A", [] { wait_forever("A"); });
    auto b = c2.spawn("B", [] {
        yield();
        say("B");
    });
    yield();
    c1.cancel();
    HEDDLE_CHECK(c1.is_cancelled() && !c2.is_cancelled() && !p.is_cancelled());
    await_all(a, b);
}

void s6() {
    auto c = spawn("c", [] { say("f"); });
    c.finally([](CoroutineHandle) { say("g"); });
    c.cancel("r");
    say_end("main", [&] { c.await(); });
}

void s7() {
    const Ref<OneShotEvent> first = new_event("first");
    const Ref<OneShotEvent> second = new_event("second");
    auto c = spawn("c", [first, second] {
        say_end("c", [&] {
            protect([&] {
                protect([&] {
                    await_event(first);
                    say("1");
                });
                say("x");
                await_event(second);
                say("2");
            });
            say("after");
        });
    });
    yield();
    c.cancel("r");
    first->complete();
    yield();
    second->complete();
    await_all(c);
}

void s8() {
    auto a = spawn("A", [] {
        try {
            await_event(new_event("never"));
        } catch (const Cancellation& r) {
            say(r.what());
            wait_forever("A");
        }
    });
    yield();
    a.cancel("r1");
    yield();
    a.cancel("r2");
    await_all(a);
    HEDDLE_CHECK(a.is_cancelled());
}

void s9() {
    auto a = spawn("A", [] { wait_forever("A"); });
    yield();
    a.cancel("r1");
    a.cancel("r2");
    await_all(a);
}

void s10(bool keeps_handle) {
    Coroutine<void> x;
    Coroutine<void> y;
    {
        Scope s;
        y = s.spawn("Y", [] { wait_forever("Y"); });
        x = s.spawn("X", [] {
            yield();
            spawn("Z", [] { say("Z"); });
            say("X");
            throw std::runtime_error("E");
        });
        yield();
        yield();
        if (!keeps_handle) { x.release(); }
        try {
            y.await();
        } catch (const AsyncCancellation&) {}
        HEDDLE_CHECK(s.is_cancelled());
    }
    if (!keeps_handle) { return; }
    HEDDLE_CHECK(x.error() && !x.error().is_cancellation());
    say("kept");
    try {
        x.await();
    } catch (const std::runtime_error&) {}
}
void s10_released() { s10(false); }
void s10_kept() { s10(true); }

void s11() {
    Scope p;
    p.set_child_scope_exception_handler([](ScopeRef, CoroutineHandle, const ErrorValue&) { say("K"); });
    p.set_exception_handler([](ScopeRef, CoroutineHandle, const ErrorValue&) { say("H"); });
    Scope c = p.inherit();
    auto x = c.spawn("X", [] { throw std::runtime_error("E"); });
    while (!x.is_completed()) { yield(); }
    HEDDLE_CHECK(c.is_cancelled() && !p.is_cancelled());
}

void s12() {
    Scope s;
    auto a = s.spawn("A", [] {
        try {
            await_event(new_event("never"));
        } catch (const Cancellation&) {
            sleep_for(5ms);
            say("cleanup");
        }
    });
    yield();
    s.cancel(reason("r"));
    Timeout bound(50ms);
    try {
        s.await_completion(bound.event());
        say("completed");
    } catch (const AsyncCancellation& r) {
        say(r.what());
    }
    s.await_after_cancellation();
    HEDDLE_CHECK(a.is_completed());
    say("gone");
}

void s14() {
    Scope s;
    auto x = s.spawn("X", [] { throw std::runtime_error("E"); });
    x.finally([](CoroutineHandle) { say("f"); });
    x.release();
    yield();
}

void s15() {
    auto a = spawn("A", [] {
        say_end("A", [] {
            current_coroutine().cancel("r");
            protect([] { await_event(new_event("never")); });
        });
    });
    yield();
    shutdown();
    try {
        yield();
    } catch (const Cancellation&) {}
}

void s16() {
    Scope s;
    s.spawn("X", [] {
        sleep_for(1ms);
        throw std::runtime_error("E");
    });
    auto y = s.spawn("Y", [] { wait_forever("Y"); });
    Timeout bound(50ms);
    try {
        s.await_completion(bound.event());
    } catch (const std::exception& error) {
        say(std::string("main:") + error.what());
    }
    try {
        y.await();
    } catch (const AsyncCancellation&) {}
}

void s17() {
    const Ref<OneShotEvent> second = new_event("second");
    auto c = spawn("c", [second] {
        protect([&] {
            try {
                protect([] { wait_forever("c"); });
            } catch (const Cancellation&) {}
            try {
                protect([&] {
                    await_event(second);
                    say("undisturbed");
                });
            } catch (const Cancellation& r) {
                say(r.what());
            }
        });
        say("after");
    });
    auto other = spawn("other", [c, second] {
        try {
            yield();
        } catch (const Cancellation&) {}
        yield();
        c.cancel("r2");
        second->complete();
    });
    yield();
    shutdown();
}

constexpr std::array traces{
    Worked{"S1", "finally handlers of a coroutine, of a child's and of the scope, and an error among them", s1, "f1 f2 f3 g h", "E3"},
    Worked{"S2", "an exception handler keeps siblings and scope alive", s2, "H(B1) H(B2) Good", ""},
    Worked{"S3", "a cancelled scope: who has started gets the reason, who has not never runs", s3, "A:r", ""},
    Worked{"S4", "a scope that allows zombies is disposed: everybody goes on", s4, "A B", ""},
    Worked{"S5", "cancelling one child leaves its sibling alone", s5, "B A:the scope was cancelled", ""},
    Worked{"S6", "a coroutine cancelled before its start still has its finally handlers", s6, "g main:r", ""},
    Worked{"S7", "only the outermost protect delivers", s7, "1 x 2 c:r", ""},
    Worked{"S8", "a second cancellation interrupts the cleanup of the first", s8, "r1 A:r2", ""},
    Worked{"S9", "of two cancellations before delivery the first counts", s9, "A:r1", ""},
    Worked{"S10", "an error of a member cancels its siblings and leaves run()", s10_released, "X Y:a sibling failed", "E"},
    Worked{"S10-kept", "the same, and somebody holds the failed coroutine's handle", s10_kept, "X Y:a sibling failed kept", ""},
    Worked{"S11", "the child's handler comes before the parent's own", s11, "K", ""},
    Worked{"S12", "two ways to wait for a cancelled scope", s12, "r cleanup gone", ""},
    Worked{"S14", "the finally handlers of the coroutine whose error cancels the scope run", s14, "f", "E"},
    Worked{"S15", "shutdown ends a protected wait with the cancellation that was pending", s15, "A:r", ""},
    Worked{"S16", "a waiter gets the error, a sibling the cancellation", s16, "Y:a sibling failed main:E", ""},
    Worked{"S17", "regions of before a shutdown change nothing at their exit, later ones protect again", s17,
           "c:graceful shutdown undisturbed r2 after", ""},
};

}  // namespace

std::span<const Worked> worked_scopes() { return traces; }

}  // namespace heddle::prop
