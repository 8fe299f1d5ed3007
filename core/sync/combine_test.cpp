// SPDX-License-Identifier: Apache-2.0
// Combinators with typed results (docs/spec/12-future-await.md, 12.5, 12.9).
#include <gtest/gtest.h>

#include <string>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/combine.hpp"

namespace heddle {
namespace {

using namespace heddle::testing;

class CombineTest : public ::testing::Test, protected World {
protected:
    template <class Pairs>
    static std::string text_of(const Pairs& pairs) {
        std::string all;
        for (const auto& [key, value] : pairs) { all += (all.empty() ? "" : " ") + std::to_string(key) + "=" + std::to_string(value); }
        return all;
    }
};

TEST_F(CombineTest, CollectsValuesAndErrorsByKey) {  // AWC-13, AWC-15, INV-AWC-04
    run([&] {
        const FutureState<int> state;
        const std::vector<Awaitable<int>> inputs{spawn([] {
                                                     yield();
                                                     return 1;
                                                 }),
                                                 state.future(), Future<int>::failed(ErrorValue::make<Failure>("E"))};
        spawn([&] { state.complete(2); });
        const auto all = await_all(inputs);
        EXPECT_EQ(text_of(all.values), "0=1 1=2");
        ASSERT_EQ(all.errors.size(), 1U);
        EXPECT_EQ(all.errors[0].first, 2U);
        const auto by_completion = await_all(inputs, {.preserve_key_order = false});
        EXPECT_EQ(by_completion.values.size(), 2U);
        EXPECT_THROW(static_cast<void>(await_all_or_fail(inputs)), Failure);
    });
}

TEST_F(CombineTest, AnyOfReportsWhatHadSettledAtItsInstant) {  // AWC-10, 12.9 example 2
    run([&] {
        std::vector<FutureState<int>> states(3);
        std::vector<Awaitable<int>> inputs;
        for (const auto& state : states) { inputs.emplace_back(state.future()); }
        auto waiter = spawn([&] {
            const auto two = await_any_of(2, inputs);
            EXPECT_EQ(text_of(two.values), "0=10 1=11");
            log("two");
        });
        yield();
        for (int i = 0; i < 3; ++i) { states[static_cast<std::size_t>(i)].complete(10 + i); }
        waiter.await();
        EXPECT_TRUE(await_any_of(0, inputs).values.empty());           // AWC-11
        EXPECT_EQ(await_any_of(9, inputs).values.size(), 3U);
        EXPECT_EQ(await_any_of_or_fail(1, inputs).size(), 1U);
    });
    EXPECT_EQ(text(), "two");
}

TEST_F(CombineTest, NamesTheFirst) {  // AWC-11, AWC-12
    run([&] {
        const Keyed<std::string, int> none;
        EXPECT_FALSE(await_any_or_fail(none).has_value());
        const Keyed<std::string, int> inputs{{"bad", Future<int>::failed(ErrorValue::make<Failure>("E"))}, {"good", Future<int>::completed(4)}};
        EXPECT_THROW(static_cast<void>(await_any_or_fail(inputs)), Failure);
        const auto first = await_first_success(inputs);
        ASSERT_EQ(first.values.size(), 1U);
        EXPECT_EQ(first.values[0].first, "good");
        EXPECT_EQ(first.errors.size(), 1U);
        const auto slots = first.filled(inputs);
        EXPECT_FALSE(slots[0].second.has_value());
        EXPECT_EQ(slots[1].second, 4);
        const Keyed<std::string, int> bad{{"bad", Future<int>::failed(ErrorValue::make<Failure>("E"))}};
        EXPECT_TRUE(await_first_success(bad).values.empty());
    });
}

TEST_F(CombineTest, ATokenDiscardsWhatWasCollected) {  // AWC-16
    run([&] {
        const auto token = OneShotEvent::make(scheduler());
        const FutureState<int> pending;
        const std::vector<Awaitable<int>> inputs{Future<int>::completed(1), pending.future()};
        auto waiter = spawn([&] { EXPECT_THROW(static_cast<void>(await_all(inputs, {.token = token})), OperationCanceled); });
        yield();
        token->complete();
        waiter.await();
        pending.complete(2);
    });
}

}  // namespace
}  // namespace heddle
