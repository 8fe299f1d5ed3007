// SPDX-License-Identifier: Apache-2.0
// What the primitives cost in memory: operations that are said to allocate nothing allocate nothing once they are warm. A program of its
// own, because it counts every allocation of its process.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/channel.hpp"
#include "heddle/core/sync/mutex.hpp"
#include "heddle/core/sync/pool.hpp"

namespace {
std::size_t allocations = 0;
}

// Not inlined: GCC 12 sees through one half of the pair and calls it mismatched.
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* const memory = std::malloc(size == 0 ? 1 : size); memory != nullptr) { return memory; }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace heddle {
namespace {

using namespace heddle::testing;

class CostTest : public ::testing::Test, protected World {
protected:
    /// Allocations of `body`'s second run; the first one warms up.
    template <class Body>
    static std::size_t allocations_of(Body&& body) {
        body();
        const std::size_t before = allocations;
        body();
        return allocations - before;
    }
};

TEST_F(CostTest, CountsWhatIsAllocated) {
    EXPECT_EQ(allocations_of([] { delete new int(1); }), 1U);
}

TEST_F(CostTest, LendingAllocatesNothing) {
    run([&] {
        const Pool<int> pool({.max = 2, .factory = [] { return 1; }});
        EXPECT_EQ(allocations_of([&] {
            Lease<int> one = pool.acquire();
            Lease<int> other = pool.acquire();
            one.release();
            other.release();
        }), 0U);
    });
}

TEST_F(CostTest, WaitingForALeaseAllocatesNothing) {
    run([&] {
        const Pool<int> pool({.max = 1, .factory = [] { return 1; }});
        bool more = true;
        auto other = spawn([&] {
            while (more) {
                Lease<int> lease = pool.acquire();
                yield();
                lease.release();
            }
        });
        EXPECT_EQ(allocations_of([&] {
            yield();
            pool.acquire().release();
        }), 0U);
        more = false;
        other.await();
    });
}

TEST_F(CostTest, MessagesAllocateNothing) {
    run([&] {
        for (const std::size_t capacity : {0U, 1U, 8U}) {
            const Channel<int> channel({.capacity = capacity});
            auto receiver = spawn([channel] {
                for (const int value : channel) { EXPECT_EQ(value, 7); }
            });
            EXPECT_EQ(allocations_of([&] {
                for (int i = 0; i < 50; ++i) { channel.send(7); }
            }), 0U) << capacity;
            channel.close();
            receiver.await();
        }
    });
}

TEST_F(CostTest, HandingAMutexOverAllocatesNothing) {
    run([&] {
        Mutex mutex;
        bool more = true;
        auto other = spawn([&] {
            while (more) {
                const Lock lock(mutex);
                yield();
            }
        });
        EXPECT_EQ(allocations_of([&] {
            yield();
            const Lock lock(mutex);
        }), 0U);
        more = false;
        other.await();
    });
}

}  // namespace
}  // namespace heddle
