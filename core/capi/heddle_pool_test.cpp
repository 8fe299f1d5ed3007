// SPDX-License-Identifier: Apache-2.0
// The C header as an extension written in C uses it (testing/pool_stories.c), run inside coroutines from here: the second route to a pool
// of POOL-77, which knows nothing of the implementation.
#include "heddle/core/capi/heddle_pool.h"

#include <gtest/gtest.h>

#include <string_view>

#include "heddle/core/capi/testing/pool_stories.h"
#include "heddle/core/run/cancellation.hpp"
#include "heddle/core/sync/testing/pool_world.hpp"

namespace heddle {
namespace {

class PoolInC : public ::testing::Test, protected testing::PoolWorld {
protected:
    void tell(const char* (*story)()) {
        bool told = false;
        run([&] {
            const char* const broken = story();
            EXPECT_EQ(broken, nullptr) << broken;
            told = true;
        });
        EXPECT_TRUE(told);
    }
};

TEST_F(PoolInC, LendsAndTakesBack) { tell(story_lends_and_takes_back); }
TEST_F(PoolInC, RefusesImpossibleArgumentsAndChangesNothing) { tell(story_refuses_impossible_arguments); }
TEST_F(PoolInC, AnswersInsteadOfWaiting) { tell(story_answers_instead_of_waiting); }
TEST_F(PoolInC, TimesOut) { tell(story_times_out); }
TEST_F(PoolInC, DestroysWhatIsBroken) { tell(story_destroys_what_is_broken); }
TEST_F(PoolInC, AsksItsCallbacks) { tell(story_asks_its_callbacks); }
TEST_F(PoolInC, Closes) { tell(story_closes); }

TEST_F(PoolInC, AnswersACancellation) {
    story_books books{};
    run([&] {
        const heddle_pool_options options = story_options(&books, 1);
        ASSERT_EQ(heddle_pool_create(&options, &books.pool), HEDDLE_POOL_OK);
        heddle_lease held{};
        ASSERT_EQ(heddle_pool_acquire(books.pool, 0, &held), HEDDLE_POOL_OK);
        heddle_pool_status said = HEDDLE_POOL_OK;
        auto waiter = spawn("waiter", [&] { said = story_wait(books.pool); });
        yield();
        EXPECT_EQ(heddle_pool_waiting(books.pool), 1U);
        waiter.cancel();
        waiter.await();  // it caught its cancellation: the C code went on and returned
        EXPECT_EQ(said, HEDDLE_POOL_CANCELLED);
        EXPECT_EQ(heddle_pool_waiting(books.pool), 0U);
        EXPECT_EQ(heddle_pool_release(books.pool, &held, HEDDLE_POOL_RETURN_RELEASED), HEDDLE_POOL_OK);
        EXPECT_EQ(heddle_pool_close(books.pool), HEDDLE_POOL_OK);
        heddle_pool_free(books.pool);
    });
    EXPECT_EQ(books.made, books.destroyed);
    EXPECT_EQ(books.dropped, 1);
}

TEST_F(PoolInC, WakesAWaiterWhenAPlaceIsGivenBack) {
    story_books books{};
    run([&] {
        const heddle_pool_options options = story_options(&books, 1);
        ASSERT_EQ(heddle_pool_create(&options, &books.pool), HEDDLE_POOL_OK);
        heddle_lease held{};
        ASSERT_EQ(heddle_pool_acquire(books.pool, 0, &held), HEDDLE_POOL_OK);
        auto waiter = spawn("waiter", [&] { return story_wait(books.pool); });
        yield();
        EXPECT_EQ(heddle_pool_release(books.pool, &held, HEDDLE_POOL_RETURN_RELEASED), HEDDLE_POOL_OK);
        EXPECT_EQ(waiter.await(), HEDDLE_POOL_OK);
        EXPECT_EQ(heddle_pool_close(books.pool), HEDDLE_POOL_OK);
        heddle_pool_free(books.pool);
    });
    EXPECT_EQ(books.made, 1);
}

TEST(PoolInCAlone, SaysThatNothingRuns) { EXPECT_EQ(story_outside(), HEDDLE_POOL_NO_RUNTIME); }

TEST(PoolInCAlone, HasWordsForEveryStatus) {
    for (int status = HEDDLE_POOL_OK; status <= HEDDLE_POOL_ERROR; ++status) {
        EXPECT_NE(std::string_view(heddle_pool_status_text(static_cast<heddle_pool_status>(status))), "an unknown status");
    }
    EXPECT_EQ(std::string_view(heddle_pool_status_text(static_cast<heddle_pool_status>(99))), "an unknown status");
}

}  // namespace
}  // namespace heddle
