// SPDX-License-Identifier: Apache-2.0
// StackPool by itself: guards, mappings, reuse, colours, high-water marks, and how an overflow dies.
#include "heddle/core/run/stack_pool.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/run/detail/sanitizer.hpp"

namespace heddle {
namespace {

std::size_t mappings_of_process() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) { ++count; }
    return count;
}

// Writes one byte of a stack, past the sanitizers, as a frame would.
HEDDLE_NO_ADDRESS_CHECKS void write_byte(std::byte* at) { *static_cast<volatile std::byte*>(at) = std::byte{0x5a}; }

TEST(StackPool, GivesAtLeastTheBytesThatWereAskedFor) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{10'000}, std::size_t{65'536}}) {
        StackPool pool({.size = size});
        for (int count = 0; count < 40; ++count) {
            const Stack stack = pool.acquire();
            EXPECT_GE(stack.usable(), size);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stack.top) % 16, 0U);
            write_byte(stack.low);
            write_byte(stack.top - 1);
        }
    }
}

TEST(StackPool, ReusesTheStackThatWasReleasedLast) {
    StackPool pool;
    const Stack first = pool.acquire();
    const Stack second = pool.acquire();
    pool.release(first);
    pool.release(second);
    EXPECT_EQ(pool.acquire().low, second.low);
    EXPECT_EQ(pool.acquire().low, first.low);
    EXPECT_EQ(pool.in_use(), 2U);
    EXPECT_EQ(pool.cached(), 0U);
}

TEST(StackPool, MakesNoSystemCallWhileItIsWarm) {
    StackPool pool;
    std::vector<Stack> stacks;
    for (int count = 0; count < 100; ++count) { stacks.push_back(pool.acquire()); }
    for (const Stack& stack : stacks) { pool.release(stack); }
    const std::uint64_t before = pool.system_calls();
    EXPECT_GT(before, 0U);
    for (int round = 0; round < 50; ++round) {
        for (Stack& stack : stacks) { stack = pool.acquire(); }
        for (const Stack& stack : stacks) { pool.release(stack); }
    }
    EXPECT_EQ(pool.system_calls(), before);
    EXPECT_EQ(pool.cached(), 100U);
}

TEST(StackPool, SpreadsTheTopsOverTheCacheSets) {
    StackPool pool;
    std::set<std::uintptr_t> lines;
    for (int count = 0; count < 256; ++count) {
        lines.insert(reinterpret_cast<std::uintptr_t>(pool.acquire().top) % 4096 / StackPool::colour_step);
    }
    EXPECT_EQ(lines.size(), StackPool::colour_count);

    StackPool plain({.colour = false});
    lines.clear();
    for (int count = 0; count < 256; ++count) {
        lines.insert(reinterpret_cast<std::uintptr_t>(plain.acquire().top) % 4096);
    }
    EXPECT_EQ(lines.size(), 1U);
}

TEST(StackPool, LeavesAShallowStackOnOnePage) {
    StackPool pool;
    for (int count = 0; count < 64; ++count) {
        const Stack stack = pool.acquire();
        const auto top = reinterpret_cast<std::uintptr_t>(stack.top);
        EXPECT_EQ((top - 1) / 4096, (top - 2048) / 4096);
    }
}

// All three kinds of guard carry 100,000 touched stacks under the usual vm.max_map_count of 65,530.
class StackGuards : public testing::TestWithParam<GuardKind> {
protected:
    static StackOptions options() {
        StackOptions options{.size = 16 * 1024};
        options.guard_markers = GetParam() == GuardKind::marker;
        if (GetParam() == GuardKind::shared) { options.mapped_guards_max = 0; }
        return options;
    }
    // Whether the kernel has what the parameter asks for.
    static bool supported() {
        StackPool pool(options());
        return pool.guard(pool.acquire()) == GetParam();
    }
};

TEST_P(StackGuards, CarryAHundredThousandStacksUnderTheLimitOnMappings) {
    if (!supported()) { GTEST_SKIP() << "guard regions need Linux 6.13"; }
    constexpr std::size_t count = detail::instrumented ? 20'000 : 100'000;
    StackPool pool(options());
    std::vector<Stack> stacks;
    for (std::size_t number = 0; number < count; ++number) {
        stacks.push_back(pool.acquire());
        write_byte(stacks.back().top - 1);
    }
    EXPECT_EQ(pool.in_use(), count);
    EXPECT_LT(mappings_of_process(), 65'530U);
    EXPECT_LT(pool.mappings(), 45'000U);
    if (GetParam() != GuardKind::marker) {
        EXPECT_GE(mappings_of_process(), pool.mappings() * 9 / 10);  // the count is about something
    }
    std::set<const std::byte*> different;
    for (const Stack& stack : stacks) {
        different.insert(stack.low);
        pool.release(stack);
    }
    EXPECT_EQ(different.size(), count);
}

TEST_P(StackGuards, NameTheStackThatAnAddressBelongsTo) {
    if (!supported()) { GTEST_SKIP() << "guard regions need Linux 6.13"; }
    StackPool pool(options());
    const Stack first = pool.acquire();
    const Stack second = pool.acquire();
    for (const Stack& stack : {first, second}) {
        Stack found;
        bool in_guard = true;
        ASSERT_TRUE(pool.find(stack.low, found, in_guard));
        EXPECT_EQ(found.low, stack.low);
        EXPECT_FALSE(in_guard);
        ASSERT_TRUE(pool.find(stack.low + stack.size - 1, found, in_guard));
        EXPECT_EQ(found.low, stack.low);
        ASSERT_TRUE(pool.find(stack.low - 1, found, in_guard));
        EXPECT_EQ(found.low, stack.low);
        EXPECT_TRUE(in_guard);
    }
    int elsewhere = 0;
    Stack found;
    bool in_guard = false;
    EXPECT_FALSE(pool.find(&elsewhere, found, in_guard));
}

TEST_P(StackGuards, KillTheProcessThatWritesBelowAGuardedStack) {
    if (!supported()) { GTEST_SKIP() << "guard regions need Linux 6.13"; }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    StackPool pool(options());
    const Stack stack = pool.acquire();  // the first of its group, so it is guarded under every kind
    StackPool::name_owners_by(
        [](const void*, char* buffer, std::size_t size) { std::strncpy(buffer, "main/reader#1", size - 1); });
    // The stack pointer is far away, so this is not called an overflow. A sanitizer reports it in its own words.
    const char* const expected =
        detail::instrumented ? "" : "heddle: stray access to the guard page below the stack of.*main/reader#1";
    EXPECT_DEATH(write_byte(stack.low - 1), expected);
    StackPool::name_owners_by(nullptr);
}

TEST_P(StackGuards, MeasureHowDeepAStackWasUsed) {
    if (!supported()) { GTEST_SKIP() << "guard regions need Linux 6.13"; }
    StackPool pool(options());
    const Stack stack = pool.acquire();
    EXPECT_EQ(pool.high_water(stack), 0U);
    write_byte(stack.top - 100);
    EXPECT_EQ(pool.high_water(stack), 100U);
    write_byte(stack.top - 9'000);
    EXPECT_EQ(pool.high_water(stack), 9'000U);
    write_byte(stack.low);
    EXPECT_EQ(pool.high_water(stack), stack.usable());
    pool.release(stack);
    EXPECT_EQ(pool.high_water(stack), stack.usable());  // pages are kept …
    pool.trim();
    EXPECT_EQ(pool.high_water(stack), 0U);  // … until they are trimmed
    EXPECT_EQ(pool.acquire().low, stack.low);
}

INSTANTIATE_TEST_SUITE_P(Kinds, StackGuards, testing::Values(GuardKind::marker, GuardKind::mapping, GuardKind::shared),
                         [](const testing::TestParamInfo<GuardKind>& kind) {
                             return kind.param == GuardKind::marker    ? "Marker"
                                    : kind.param == GuardKind::mapping ? "Mapping"
                                                                       : "Shared";
                         });

TEST(StackPool, SharesGuardsOnlyBeyondItsShareOfMappings) {
    StackPool pool({.size = 4096, .guard_markers = false, .mapped_guards_max = 24});
    std::vector<Stack> stacks;
    for (int count = 0; count < 100; ++count) { stacks.push_back(pool.acquire()); }
    std::size_t own = 0;
    for (const Stack& stack : stacks) { own += pool.guard(stack) == GuardKind::mapping ? 1 : 0; }
    EXPECT_EQ(own, 24U);  // 8 + 16; the next slab of 32 would exceed the share
    EXPECT_EQ(pool.guard(stacks.back()), GuardKind::shared);
}

TEST(StackPool, SeesWritesIntoTheUntouchedPagesOfASharedGuard) {
    StackPool pool({.size = 4096, .guard_markers = false, .mapped_guards_max = 0});
    const Stack first = pool.acquire();
    const Stack second = pool.acquire();
    write_byte(second.low - 1);  // an overflow by one byte: survived, and seen
    EXPECT_EQ(pool.high_water(second), second.usable() + 1);
    EXPECT_EQ(pool.high_water(first), 0U);
}

TEST(StackPool, TrimsAllButTheStacksThatAreReusedFirst) {
    StackPool pool;
    const Stack older = pool.acquire();
    const Stack newer = pool.acquire();
    write_byte(older.top - 1);
    write_byte(newer.top - 1);
    pool.release(older);
    pool.release(newer);
    pool.trim(1);
    EXPECT_EQ(pool.high_water(older), 0U);
    EXPECT_EQ(pool.high_water(newer), 1U);
    EXPECT_EQ(pool.cached(), 2U);
}

#if !defined(HEDDLE_ADDRESS_SANITIZER)

extern "C" void exit_with_seven(int) { _exit(7); }

TEST(StackPool, LeavesOtherFaultsToTheHandlerThatWasThereBefore) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, exit_with_seven);
            StackPool pool;
            volatile std::uintptr_t nowhere = 8;
            write_byte(reinterpret_cast<std::byte*>(nowhere));  // nobody's stack
        },
        testing::ExitedWithCode(7), "");
}

TEST(StackPool, PutsThePreviousHandlerBackWithTheLastPool) {
    struct sigaction before {};
    sigaction(SIGSEGV, nullptr, &before);
    {
        StackPool pool;
        StackPool another;
        struct sigaction during {};
        sigaction(SIGSEGV, nullptr, &during);
        EXPECT_NE(during.sa_sigaction, before.sa_sigaction);
        EXPECT_NE(during.sa_flags & SA_ONSTACK, 0);
    }
    struct sigaction after {};
    sigaction(SIGSEGV, nullptr, &after);
    EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
}

TEST(StackPool, PreparesEachThreadThatUsesOne) {
    std::thread([] {
        StackPool pool;
        stack_t alternate{};
        ASSERT_EQ(sigaltstack(nullptr, &alternate), 0);
        EXPECT_EQ(alternate.ss_flags & SS_DISABLE, 0);
    }).join();
}

#endif

}  // namespace
}  // namespace heddle
