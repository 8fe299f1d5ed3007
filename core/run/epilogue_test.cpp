// SPDX-License-Identifier: Apache-2.0
// The end of the application: how long zombies may go on once nobody active is left (ZOM-12 to ZOM-15, Z2 to Z4, INV-ZOM-07).
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/run/testing/world.hpp"

namespace heddle::testing {
namespace {

using namespace std::chrono_literals;

class Epilogue : public ::testing::Test, protected World {
protected:
    [[nodiscard]] Duration time() { return reactor().now() - Instant{}; }

    std::function<void()> keep_;  // what shall outlive the run
};

TEST_F(Epilogue, AllowsZombiesToFinishInTime) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            // Z3
            Scope scope;
            scope.allow_zombies();
            scope.spawn([&] {
                pause_for(100ms);
                program.log("A");
            });
            yield();
            scope.dispose();
        });
        EXPECT_EQ(program.text(), "A");
        EXPECT_EQ(program.reactor().now() - Instant{}, 100ms);
        EXPECT_FALSE(exit);
        EXPECT_EQ(program.reactor().open_sources(), 0U);
    });
}

TEST_F(Epilogue, CancelsThemAfterTheZombieTimeout) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            // Z4
            Scope scope;
            scope.allow_zombies();
            scope.spawn([&] { program.log(message(caught([] { pause_for(10s); }))); });
            scope.spawn([&] { program.log(message(caught([] { protect([] { pause_for(10s); }); }))); });
            yield();
            scope.dispose();
        });
        EXPECT_EQ(program.text(), "the application has ended the application has ended");
        EXPECT_EQ(program.reactor().now() - Instant{}, 2s);
        EXPECT_FALSE(exit);
    });
}

TEST_F(Epilogue, UnwindsAfterTheSecondPeriodWhoStillGoesOn) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            Scope scope;
            scope.allow_zombies();
            scope.spawn([&] {
                const AtExit gone([&] { program.log("gone"); });
                for (;;) { program.log(message(caught([] { pause_for(100s); }))); }
            });
            yield();
            scope.dispose();
        });
        EXPECT_EQ(program.text(), "the application has ended gone");
        EXPECT_EQ(program.reactor().now() - Instant{}, 4s);  // INV-ZOM-07
        EXPECT_FALSE(exit);
        EXPECT_EQ(program.reactor().active_events(), 0U);
    });
}

TEST_F(Epilogue, ExpiresInTheNextTimersPassIfTheTimeoutIsZero) {
    RuntimeOptions options;
    options.zombie_timeout = 0ms;
    in_every_mode(options, [](Program& program) {
        SCOPED_TRACE(program.mode());
        program.run([&] {
            Scope scope;
            scope.allow_zombies();
            scope.spawn([&] { program.log(message(caught([] { pause_for(10s); }))); });
            yield();
            scope.dispose();
        });
        EXPECT_EQ(program.text(), "the application has ended");
        EXPECT_LT(program.reactor().now() - Instant{}, 1ms);
    });
}

TEST_F(Epilogue, IsLeftWhileSomebodyActiveRunsAndBeginsAfresh) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        scope.spawn([&] {
            pause_for(1500ms);
            EXPECT_TRUE(scheduler().epilogue_armed());
            Scope open;
            const auto active = open.spawn([] { pause_for(1s); });
            EXPECT_FALSE(scheduler().epilogue_armed());  // ZOM-12b
            active.await();
            EXPECT_TRUE(scheduler().epilogue_armed());
            log_caught([] { pause_for(10s); });
            log(std::to_string(time() / 1ms));
        });
        yield();
        EXPECT_FALSE(scheduler().epilogue_armed());
        scope.dispose();
    });
    EXPECT_EQ(text(), "the application has ended 4500");  // a fresh period from 2500
}

TEST_F(Epilogue, LeftInTheLastMomentUnwindsNobody) {
    auto open = std::make_shared<std::optional<Scope>>();
    const ErrorValue exit = run([&] {
        open->emplace();
        Scope scope;
        scope.allow_zombies();
        scope.spawn([&] {
            log_caught([] { pause_for(10s); });
            // Due with the second expiry, behind it: a callback spawns somebody active, so nothing is unwound (ZOM-12b, ZOM-12e).
            const Ref<ReactorEvent> timer = ReactorEvent::timer(scheduler(), in(2s));
            const Listener spawns(*timer, [&](EventSource&, const Outcome&) {
                EXPECT_FALSE(scheduler().epilogue_armed());
                SpawnOptions options;
                options.scope = **open;
                const auto late = [&] {
                    log("late");
                    pause_for(1s);
                };
                program_.runtime().spawn_with(options, late, {}, true);
            });
            timer->start();
            log_caught([] { pause_for(10s); });
            log(std::to_string(time() / 1ms));
        });
        yield();
        scope.dispose();
    });
    // The late one ends at 5 s, and a fresh period begins.
    EXPECT_EQ(text(), "the application has ended late the application has ended 7000");
    EXPECT_FALSE(exit) << chain(exit);
}

TEST_F(Epilogue, AFinallyHandlerOfAZombieIsActiveWhileItRuns) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        const Ref<ReactorEvent> later = ReactorEvent::timer(scheduler(), in(1s));
        const auto a = scope.spawn([] { pause_for(1s); });
        a.finally([&](const CoroutineHandle&) {
            EXPECT_FALSE(scheduler().epilogue_armed());  // ZOM-11
            log("handler");
        });
        scope.spawn([&] { log_caught([] { pause_for(10s); }); });
        yield();
        scope.dispose();
    });
    EXPECT_EQ(text(), "handler the application has ended");
    EXPECT_EQ(time(), 3s);
}

TEST_F(Epilogue, DoesNotDelayADeadlock) {
    in_every_mode([](Program& program) {
        SCOPED_TRACE(program.mode());
        const ErrorValue exit = program.run([&] {
            // Z2
            Scope scope;
            scope.allow_zombies();
            auto a = std::make_shared<Coroutine<>>();
            auto b = std::make_shared<Coroutine<>>();
            *a = scope.spawn([&program, b] { program.log(message(caught([&] { b->await(); }))); });
            *b = scope.spawn([&program, a] { program.log(message(caught([&] { a->await(); }))); });
            yield();
            scope.dispose();
        });
        EXPECT_EQ(program.text(), "deadlock deadlock");
        ASSERT_TRUE(holds<DeadlockError>(exit));
        try {
            exit.rethrow();
        } catch (const DeadlockError& error) {
            EXPECT_EQ(error.waiting_count(), 2U);  // ZOM-15: zombies count
        }
        EXPECT_LT(program.reactor().now() - Instant{}, 1s);
    });
}

TEST_F(Epilogue, VisibleEventsOfNobodyKeepTheRunAndProtectNoZombie) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        scope.spawn([&] { log_caught([] { wait_forever(); }); });
        yield();
        scope.dispose();
        TimerOptions options = in(500ms);
        options.periodic = true;
        auto timer = std::make_shared<Ref<ReactorEvent>>(ReactorEvent::timer(scheduler(), options, false, "standalone"));
        int left = 8;
        auto ticks = std::make_shared<std::optional<Listener>>();
        ticks->emplace(**timer, [this, timer, left](EventSource& event, const Outcome&) mutable {
            if (--left == 0) {
                log("end of timer");
                event.stop();
            }
        });
        (*timer)->start();
        // Both live on until the run is over.
        keep_ = [timer, ticks] {};
    });
    EXPECT_EQ(text(), "the application has ended end of timer");  // ZOM-13
    EXPECT_EQ(time(), 4s);
}

TEST_F(Epilogue, AShutdownCancelsZombiesAtOnce) {
    run([&] {
        Scope scope;
        scope.allow_zombies();
        scope.spawn([&] { log_caught([] { pause_for(10s); }); });
        yield();
        scope.dispose();
        shutdown(ErrorValue::make<AsyncCancellation>("shutdown"));
    });
    EXPECT_EQ(text(), "shutdown");  // ZOM-14
    EXPECT_LT(time(), 1s);
}

}  // namespace
}  // namespace heddle::testing
