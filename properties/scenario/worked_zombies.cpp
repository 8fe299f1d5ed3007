// SPDX-License-Identifier: Apache-2.0
// Z1 to Z7 of docs/spec/04-zombies.md, section 6.
#include <array>
#include <string>

#include "heddle/core/heddle.hpp"
#include "heddle/properties/scenario/say.hpp"
#include "heddle/properties/scenario/worked.hpp"

namespace heddle::prop {
namespace {

using namespace std::chrono_literals;

std::string at_ms(const char* what) { return std::string(what) + "@" + std::to_string(now().ns() / 1'000'000); }

/// Sleeps, and says when it ended and how.
void sleep_and_say(Duration duration, const char* who) {
    try {
        sleep_for(duration);
        say(at_ms(who));
    } catch (const Cancellation&) {
        say(at_ms("cancelled"));
        throw;
    }
}

void z1() {
    Scope s;
    s.allow_zombies();
    s.spawn("A", [] { sleep_and_say(50ms, "a"); });
    yield();
    s.dispose();
    Timeout bound(1000ms);
    s.await_completion(bound.event());
    say("complete");
    s.await_after_cancellation();
    say("gone");
}

void z2() {
    auto s = std::make_shared<Scope>();
    s->allow_zombies();
    struct Pair {
        Coroutine<void> a;
        Coroutine<void> b;
    };
    auto pair = std::make_shared<Pair>();
    const auto awaits = [pair](bool first) {
        return [pair, first] {
            yield();
            Coroutine<void> other = first ? pair->b : pair->a;
            try {
                other.await();
            } catch (const AsyncCancellation& reason) {
                say(reason.what());
                pair->a.release();
                pair->b.release();
                throw;
            }
        };
    };
    pair->a = s->spawn("A", awaits(true));
    pair->b = s->spawn("B", awaits(false));
    yield();
    s->dispose();
}

void z3() {
    Scope s;
    s.allow_zombies();
    s.spawn("A", [] { sleep_and_say(100ms, "a"); });
    yield();
    s.dispose();
}

void z4() {
    Scope s;
    s.allow_zombies();
    s.spawn("A", [] { sleep_and_say(10'000ms, "a"); });
    yield();
    s.dispose();
}

void z5() {
    Scope s;
    auto a = s.spawn("A", [] {
        yield();
        say("a");
    });
    s.dispose_safely();
    HEDDLE_CHECK(a.is_zombie() && !a.is_started());
    a.await();
}

void z6() {
    Scope s;
    s.allow_zombies();
    auto a = s.spawn("A", [] { sleep_and_say(1000ms, "a"); });
    yield();
    s.dispose_after_timeout(5ms);
    s.dispose_safely();
    const bool a_was_left = !a.is_completed();
    HEDDLE_CHECK(a.is_zombie() == a_was_left);
    s.await_after_cancellation();
    HEDDLE_CHECK(a.is_completed());
}

void z7() {
    Scope s;
    s.allow_zombies();
    auto a = s.spawn("A", [] { sleep_and_say(5ms, "a"); });
    yield();
    const std::size_t before = current_runtime("Z7").statistics().active;
    const std::size_t left = a.is_started() && !a.is_completed() ? 1 : 0;  // an unstarted one is doomed, not made a zombie
    s.cancel();
    s.cancel();
    HEDDLE_CHECK(current_runtime("Z7").statistics().active + left == before);
    HEDDLE_CHECK(s.is_closed() == a.is_completed());  // closed when it is drained, not by the second request (SCP-22)
    s.await_after_cancellation();
    HEDDLE_CHECK(a.is_completed());
}

constexpr std::array traces{
    Worked{"Z1", "zombies do not delay await_completion, and do delay await_after_cancellation", z1, "complete a@50 gone", ""},
    Worked{"Z2", "zombies that wait for each other behind main are a deadlock", z2, "deadlock deadlock",
           "deadlock: 2 coroutine(s) wait and nothing can wake them"},
    Worked{"Z3", "a zombie that ends in time ends normally", z3, "a@100", ""},
    Worked{"Z4", "a zombie that does not is cancelled at the epilogue's end", z4, "cancelled@2000", ""},
    Worked{"Z5", "safely disposed before its start, a coroutine runs as a zombie", z5, "a", ""},
    Worked{"Z6", "dispose_after_timeout is forced, also on a safe scope", z6, "cancelled@5", ""},
    Worked{"Z7", "a second safe request changes nothing", z7, "a@5", ""},
};

}  // namespace

std::span<const Worked> worked_zombies() { return traces; }

}  // namespace heddle::prop
