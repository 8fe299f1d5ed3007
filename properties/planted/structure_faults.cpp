// SPDX-License-Identifier: Apache-2.0
// Faults of scopes, zombies, protected regions and finally handlers.
#include <memory>
#include <stdexcept>

#include "heddle/properties/planted/builder.hpp"

namespace heddle::prop::planted_bugs {

using namespace std::chrono_literals;

void add_structure_faults(Builder& add) {
    add.add("FLT-10", "asking a zombie to become one again changes no count", 0, ChoiceMask::none(), [] {
        Scope scope;
        scope.allow_zombies();
        auto a = scope.spawn("a", [] { sleep_for(5ms); });
        yield();
        scope.cancel();
        scope.cancel();
        HEDDLE_ASSERT(scheduler().active_count() == 1, "INV-ZOM-02");
        a.await();
    });
    add.add("FLT-11", "await_after_cancellation waits for the last member", 0, ChoiceMask::none(), [] {
        Scope scope;
        auto member = [](Duration cleans_up_for) {
            return [cleans_up_for] {
                try {
                    sleep_for(1s);
                } catch (const Cancellation&) {
                    protect([&] { sleep_for(cleans_up_for); });
                    throw;
                }
            };
        };
        auto a = scope.spawn("a", member(5ms));
        auto b = scope.spawn("b", member(10ms));
        yield();
        scope.cancel();
        scope.await_after_cancellation();
        HEDDLE_ASSERT(a.is_completed() && b.is_completed(), "INV-SCOPE-11");
    });
    add.add("FLT-12", "the end of an inner protected region does not let a cancellation in", 0, ChoiceMask::none(), [] {
        auto outer_done = std::make_shared<bool>(false);
        auto a = spawn("a", [outer_done] {
            protect([&] {
                protect([] { sleep_for(1ms); });
                sleep_for(1ms);
                *outer_done = true;
            });
        });
        yield();
        a.cancel();
        try {
            a.await();
        } catch (const Cancellation&) {
        }
        HEDDLE_ASSERT(*outer_done, "INV-PRT-01");
    });
    add.add("FLT-14", "a hidden timer is no reason to go on", 0, ChoiceMask::none(), [] {
        TimerOptions options;
        options.timeout = 10s;
        auto hidden = ReactorEvent::timer(scheduler(), options, true, "hidden");
        hidden->start();
        HEDDLE_ASSERT(scheduler().reactor().active_events() == 0, "INV-RCT-06");
        hidden->stop();
    });
    add.add("FLT-17", "the error of a coroutine does not keep its own finally handlers from running", 0, ChoiceMask::none(), [] {
        Scope scope;
        auto ran = std::make_shared<bool>(false);
        auto x = scope.spawn("x", [] { throw std::runtime_error("x"); });
        x.finally([ran](const CoroutineHandle&) { *ran = true; });
        for (int i = 0; i < 4; ++i) { yield(); }
        HEDDLE_ASSERT(*ran, "INV-FIN-01");
    });
    add.ends_with_an_error();
    add.add("FLT-18", "who waits for a scope gets the error that ends it, not the cancellation that it causes", 0, ChoiceMask::none(), [] {
        Scope scope;
        scope.spawn("x", [] {
            yield();
            throw std::runtime_error("x");
        });
        scope.spawn("y", [] { sleep_for(1s); });
        auto never = event("never");
        bool got_error = false;
        try {
            scope.await_completion(*never);
        } catch (const std::runtime_error&) {
            got_error = true;
        } catch (const Cancellation&) {
        }
        HEDDLE_ASSERT(got_error, "INV-ERR-07");
    });
    add.ends_with_an_error();
    add.add("FLT-19", "shutdown wakes a protected coroutine that has a cancellation pending", 0, ChoiceMask::none(), [] {
        auto never = event("never");
        auto delivered = std::make_shared<bool>(false);
        auto a = spawn("a", [never, delivered] {
            current_coroutine().cancel("by itself");
            try {
                protect([&] { await_event(never); });
            } catch (const Cancellation&) {
                *delivered = true;
                throw;
            }
        });
        yield();
        shutdown();
        try {
            sleep_for(1ms);
        } catch (const Cancellation&) {
        }
        for (int i = 0; i < 3; ++i) { yield(); }
        HEDDLE_ASSERT(*delivered, "INV-PRT-04");
    });
    add.ends_with_an_error();
    add.add("FLT-20", "a region that shutdown has ended changes nothing at its exit", 0, ChoiceMask::none(), [] {
        auto never = event("never");
        auto depth_after = std::make_shared<std::uint32_t>(0);
        auto a = spawn("a", [never, depth_after] {
            try {
                protect([&] { await_event(never); });
            } catch (const Cancellation&) {
            }
            *depth_after = current_coroutine().core().protection_depth();
        });
        yield();
        shutdown();
        try {
            sleep_for(1ms);
        } catch (const Cancellation&) {
        }
        for (int i = 0; i < 3; ++i) { yield(); }
        HEDDLE_ASSERT(*depth_after == 0 && a.is_completed(), "INV-PRT-04");
    });
    add.ends_with_an_error();
}

}  // namespace heddle::prop::planted_bugs
