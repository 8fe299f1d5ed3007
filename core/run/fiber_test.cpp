// SPDX-License-Identifier: Apache-2.0
// The switch. Built twice: with the return-balanced trampoline, and with plain jump_fcontext (fiber_plain_test).
#include "heddle/core/run/fiber.hpp"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cfenv>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/core/run/detail/sanitizer.hpp"

namespace heddle {
namespace {

// The host flow and its coroutines: as much scheduler as these tests need.
class Loom {
public:
    struct Thread {
        Loom* loom = nullptr;
        Fiber fiber;
        Stack stack;
        std::function<void(Thread&)> body;
        bool ended = false;

        void pause() { Fiber::switch_to(fiber, loom->host_, loom->globals_); }
    };

    explicit Loom(const StackOptions& options = {}) : pool_(options) {}

    Thread& weave(std::function<void(Thread&)> body) {
        threads_.push_back(std::make_unique<Thread>());
        Thread& thread = *threads_.back();
        thread.loom = this;
        thread.stack = pool_.acquire();
        restart(thread, std::move(body));
        return thread;
    }
    void restart(Thread& thread, std::function<void(Thread&)> body) {
        thread.body = std::move(body);
        thread.ended = false;
        thread.fiber.create(thread.stack, &Loom::run, &thread);
    }
    void resume(Thread& thread) { Fiber::switch_to(host_, thread.fiber, globals_); }
    void unravel(Thread& thread) {
        thread.fiber.destroy();
        pool_.release(thread.stack);
    }
    StackPool& pool() { return pool_; }
    Fiber& host() { return host_; }
    ExceptionGlobals globals() { return globals_; }

private:
    static void run(void* argument) {
        Thread& thread = *static_cast<Thread*>(argument);
        thread.body(thread);
        thread.body = nullptr;
        thread.ended = true;
        Fiber::switch_away_for_good(thread.fiber, thread.loom->host_, thread.loom->globals_);
    }

    StackPool pool_;
    Fiber host_;
    ExceptionGlobals globals_ = exception_globals();
    std::vector<std::unique_ptr<Thread>> threads_;
};

std::string message_of_current() {
    try {
        throw;
    } catch (const std::exception& error) { return error.what(); }
}

TEST(Fiber, IsTheVariantThatThisTestWasBuiltFor) { EXPECT_EQ(Fiber::balanced(), HEDDLE_EXPECT_BALANCED != 0); }

TEST(Fiber, RunsFromSwitchToSwitch) {
    Loom loom;
    std::vector<int> order;
    Loom::Thread& thread = loom.weave([&](Loom::Thread& self) {
        order.push_back(1);
        self.pause();
        order.push_back(3);
    });
    EXPECT_TRUE(thread.fiber.resumable());
    loom.resume(thread);
    order.push_back(2);
    EXPECT_FALSE(thread.ended);
    EXPECT_TRUE(thread.fiber.resumable());
    loom.resume(thread);
    order.push_back(4);
    EXPECT_TRUE(thread.ended);
    EXPECT_FALSE(thread.fiber.resumable());
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
}

TEST(Fiber, RunsOnItsOwnStack) {
    Loom loom;
    bool inside = false;
    Loom::Thread& thread = loom.weave([&](Loom::Thread& self) {
        const auto* const at = static_cast<const std::byte*>(__builtin_frame_address(0));
        inside = at > self.stack.low && at < self.stack.top;
    });
    loom.resume(thread);
    EXPECT_TRUE(inside);
    EXPECT_TRUE(thread.fiber.has_stack());
    EXPECT_EQ(thread.fiber.stack().low, thread.stack.low);
    EXPECT_FALSE(loom.host().has_stack());
}

TEST(Fiber, SwitchesDirectlyBetweenTwoCoroutines) {
    Loom loom;
    std::string order;
    Loom::Thread* second = nullptr;
    Loom::Thread& first = loom.weave([&](Loom::Thread& self) {
        for (int round = 0; round < 3; ++round) {
            order += 'a';
            Fiber::switch_to(self.fiber, second->fiber, loom.globals());
        }
    });
    second = &loom.weave([&](Loom::Thread& self) {
        for (int round = 0; round < 3; ++round) {
            order += 'b';
            Fiber::switch_to(self.fiber, first.fiber, loom.globals());
        }
    });
    loom.resume(first);
    EXPECT_EQ(order, "ababab");
    EXPECT_TRUE(first.ended);
    EXPECT_FALSE(second->ended);
}

TEST(Fiber, CanBeCreatedAgainAfterItsEnd) {
    Loom loom;
    int sum = 0;
    Loom::Thread& thread = loom.weave([&](Loom::Thread&) { sum += 1; });
    loom.resume(thread);
    for (int round = 0; round < 1'000; ++round) {
        loom.restart(thread, [&](Loom::Thread& self) {
            self.pause();
            sum += 1;
        });
        loom.resume(thread);
        loom.resume(thread);
        ASSERT_TRUE(thread.ended);
    }
    EXPECT_EQ(sum, 1'001);
}

TEST(Fiber, KeepsRegistersAndRoundingModeOfEachFlow) {
    Loom loom;
    int mode_seen = -1;
    Loom::Thread& thread = loom.weave([&](Loom::Thread& self) {
        std::fesetround(FE_UPWARD);
        self.pause();
        mode_seen = std::fegetround();
        std::fesetround(FE_TONEAREST);
    });
    loom.resume(thread);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    loom.resume(thread);
    EXPECT_EQ(mode_seen, FE_UPWARD);
}

TEST(Fiber, KeepsItsOwnCaughtException) {
    Loom loom;
    std::vector<std::string> seen;
    const auto body = [&](const std::string& name) {
        return [&seen, name](Loom::Thread& self) {
            try {
                throw std::runtime_error(name);
            } catch (...) {
                self.pause();
                seen.push_back(message_of_current());
                self.pause();
                try {
                    throw;
                } catch (const std::runtime_error& error) { seen.push_back(error.what()); }
            }
        };
    };
    Loom::Thread& a = loom.weave(body("a"));
    Loom::Thread& b = loom.weave(body("b"));
    try {
        throw std::runtime_error("host");
    } catch (...) {
        for (int round = 0; round < 3; ++round) {
            loom.resume(a);
            EXPECT_EQ(message_of_current(), "host");
            loom.resume(b);
            EXPECT_EQ(message_of_current(), "host");
        }
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "a", "b"}));
    EXPECT_TRUE(a.ended);
    EXPECT_TRUE(b.ended);
    EXPECT_TRUE(loom.globals().clean());
}

// Suspends in its destructor, as clean-up code may, and tells how many exceptions were in flight before and after.
struct SuspendsInDestructor {
    Loom::Thread& self;
    std::vector<int>& counts;
    ~SuspendsInDestructor() {
        counts.push_back(std::uncaught_exceptions());
        self.pause();
        counts.push_back(std::uncaught_exceptions());
    }
};

TEST(Fiber, KeepsItsOwnUnwindingException) {
    Loom loom;
    std::vector<int> counts_a;
    std::vector<int> counts_b;
    std::vector<std::string> caught;
    const auto body = [&](const std::string& name, std::vector<int>& counts) {
        return [&caught, &counts, name](Loom::Thread& self) {
            try {
                SuspendsInDestructor outer{self, counts};
                SuspendsInDestructor inner{self, counts};
                throw std::runtime_error(name);
            } catch (const std::runtime_error& error) { caught.push_back(error.what()); }
            counts.push_back(std::uncaught_exceptions());
        };
    };
    Loom::Thread& a = loom.weave(body("a", counts_a));
    Loom::Thread& b = loom.weave(body("b", counts_b));
    for (int round = 0; round < 3; ++round) {
        loom.resume(a);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        EXPECT_EQ(std::current_exception(), nullptr);
        loom.resume(b);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
    EXPECT_EQ(counts_a, (std::vector<int>{1, 1, 1, 1, 0}));
    EXPECT_EQ(counts_b, counts_a);
    EXPECT_EQ(caught, (std::vector<std::string>{"a", "b"}));
}

TEST(Fiber, StartsWithACleanExceptionState) {
    Loom loom;
    bool clean = false;
    bool nothing_caught = false;
    try {
        throw std::runtime_error("spawner's");
    } catch (...) {
        Loom::Thread& thread = loom.weave([&](Loom::Thread&) {
            clean = loom.globals().clean();
            nothing_caught = std::current_exception() == nullptr;
        });
        loom.resume(thread);
        EXPECT_EQ(message_of_current(), "spawner's");
    }
    EXPECT_TRUE(clean);
    EXPECT_TRUE(nothing_caught);
}

TEST(ExceptionGuard, HidesWhatTheFlowHasCaughtFromForeignWork) {
    const ExceptionGlobals globals = exception_globals();
    try {
        throw std::runtime_error("mine");
    } catch (...) {
        {
            const ExceptionGuard guard(globals);
            EXPECT_EQ(std::current_exception(), nullptr);
            EXPECT_EQ(std::uncaught_exceptions(), 0);
            try {
                throw std::runtime_error("foreign");
            } catch (...) { EXPECT_EQ(message_of_current(), "foreign"); }
        }
        EXPECT_EQ(message_of_current(), "mine");
    }
}

int deep_throw(int depth) {
    std::array<volatile char, 32> frame{};
    frame[0] = static_cast<char>(depth);
    if (depth == 0) { throw std::runtime_error("from the depth"); }
    return deep_throw(depth - 1) + frame[0];
}

TEST(Fiber, UnwindsDeepStacksByExceptions) {
    Loom loom;
    int caught = 0;
    for (int number = 0; number < 200; ++number) {
        Loom::Thread& thread = loom.weave([&](Loom::Thread& self) {
            self.pause();
            try {
                deep_throw(60);
            } catch (const std::runtime_error&) { ++caught; }
        });
        loom.resume(thread);
        loom.resume(thread);
        ASSERT_TRUE(thread.ended);
        loom.unravel(thread);
    }
    EXPECT_EQ(caught, 200);
}

TEST(Fiber, CanBeAbandonedWithLiveFrames) {
    Loom loom;
    for (int number = 0; number < 100; ++number) {
        Loom::Thread& thread = loom.weave([&](Loom::Thread& self) {
            std::array<volatile char, 1'000> frame{};
            frame[static_cast<std::size_t>(number)] = 1;
            self.pause();
        });
        loom.resume(thread);
        loom.unravel(thread);  // the next one gets this stack, red zones and all
    }
    EXPECT_EQ(loom.pool().cached(), 1U);
}

TEST(Fiber, ParksAHundredThousandAtOnce) {
#if defined(HEDDLE_THREAD_SANITIZER)
    constexpr std::size_t count = 500;  // the sanitizer has room for some 8,000 fibers, and makes them slowly
#elif defined(HEDDLE_ADDRESS_SANITIZER)
    constexpr std::size_t count = 5'000;
#else
    constexpr std::size_t count = 100'000;
#endif
    Loom loom({.size = 16 * 1024});
    std::size_t finished = 0;
    std::vector<Loom::Thread*> threads;
    for (std::size_t number = 0; number < count; ++number) {
        threads.push_back(&loom.weave([&](Loom::Thread& self) {
            self.pause();
            ++finished;
        }));
        loom.resume(*threads.back());
    }
    EXPECT_LT(loom.pool().mappings(), 65'530U);
    for (Loom::Thread* thread : threads) { loom.resume(*thread); }
    EXPECT_EQ(finished, count);
}

TEST(Fiber, ShowsItsFramesToTheUnwinder) {
    Loom loom;
    int frames = 0;
    Loom::Thread& thread = loom.weave([&](Loom::Thread& self) {
        self.pause();
        std::array<void*, 32> addresses{};
        frames = backtrace(addresses.data(), static_cast<int>(addresses.size()));
    });
    loom.resume(thread);
    loom.resume(thread);
    EXPECT_GT(frames, 2);
    EXPECT_LT(frames, 32);  // it ends at make_fcontext, not somewhere in memory
}

TEST(FiberDeath, RefusesToResumeWhatIsRunningOrEnded) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    Loom loom;
    Loom::Thread& thread = loom.weave([](Loom::Thread&) {});
    loom.resume(thread);
    EXPECT_DEATH(loom.resume(thread), "F2 violated");
}

[[gnu::noinline]] int recurse(int depth) {
    std::array<volatile char, 256> frame{};
    frame[0] = static_cast<char>(depth);
    return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

void overflow(const StackOptions& options) {
    StackPool::name_owners_by(
        [](const void*, char* buffer, std::size_t size) { std::strncpy(buffer, "main/worker#2", size - 1); });
    Loom loom(options);
    Loom::Thread& thread = loom.weave([](Loom::Thread&) { recurse(1'000'000); });
    loom.resume(thread);
}

#if defined(HEDDLE_ADDRESS_SANITIZER)
constexpr const char* overflow_message = "AddressSanitizer: stack-overflow";
#elif defined(HEDDLE_THREAD_SANITIZER)
constexpr const char* overflow_message = "heddle: stack overflow in coroutine main/worker#2 \\(256 KiB stack";
#else
constexpr const char* overflow_message = "heddle: stack overflow in coroutine main/worker#2 \\(64 KiB stack";
#endif

TEST(FiberDeath, OverflowDiesOnTheGuardWithTheCoroutinesName) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(overflow({}), overflow_message);
    EXPECT_DEATH(overflow({.guard_markers = false}), overflow_message);
    EXPECT_DEATH(overflow({.guard_markers = false, .mapped_guards_max = 0}), overflow_message);
}

// Suspends below its stack, in the untouched pages that stand in for a guard of its own.
TEST(FiberDeath, OverflowIntoASharedGapIsSeenWhenTheCoroutineSuspends) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    StackPool::name_owners_by(
        [](const void*, char* buffer, std::size_t size) { std::strncpy(buffer, "main/worker#2", size - 1); });
    Loom loom({.size = 16 * 1024, .guard_markers = false, .mapped_guards_max = 0});
    loom.weave([](Loom::Thread&) {});  // has the guard of the group
    Loom::Thread& thread = loom.weave([](Loom::Thread& self) {
        const std::size_t bytes = self.stack.usable() + 4096;
        auto* const block = static_cast<volatile char*>(__builtin_alloca(bytes));
        block[0] = 1;
        self.pause();
        block[1] = 1;
    });
    EXPECT_DEATH(loom.resume(thread), "heddle: stack overflow in coroutine main/worker#2|AddressSanitizer");
    StackPool::name_owners_by(nullptr);
}

}  // namespace
}  // namespace heddle
