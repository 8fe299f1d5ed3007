// SPDX-License-Identifier: Apache-2.0
// Context values: the nearest holder wins (docs/spec/13-task-group.md, 13.8).
#include <gtest/gtest.h>

#include <string>

#include "heddle/core/run/testing/world.hpp"
#include "heddle/core/sync/context.hpp"

namespace heddle {
namespace {

using namespace heddle::testing;

class ContextValuesTest : public ::testing::Test, protected World {};

TEST_F(ContextValuesTest, AreReadFromTheNearestScopeThatHoldsThem) {  // CTX-1, CTX-3, INV-CTX-01, `002`, `007`, `013`
    run([&] {
        EXPECT_EQ(current_context(), root_context());
        root_context().set("a", std::string("root"));
        root_context().set("b", 1);
        Scope middle = Scope::inherited();  // never asks for a context of its own: skipped
        middle
            .spawn([&] {
                Scope inner = Scope::inherited();
                inner
                    .spawn([&] {
                        current_context().set("a", std::string("inner"));
                        EXPECT_EQ(current_context().get<std::string>("a"), "inner");
                        EXPECT_EQ(current_context().get<int>("b"), 1);
                        EXPECT_FALSE(current_context().has_local("b"));
                        EXPECT_FALSE(current_context().has("c"));
                    })
                    .await();
            })
            .await();
        EXPECT_EQ(current_context().get<std::string>("a"), "root");
    });
}

TEST_F(ContextValuesTest, OfADetachedScopeHaveNoRoot) {  // CTX-3, `010`
    run([&] {
        root_context().set("a", 1);
        Scope detached;
        detached.spawn([&] { EXPECT_FALSE(current_context().has("a")); }).await();
    });
}

TEST_F(ContextValuesTest, OfACoroutineAreItsOwn) {  // CTX-2, `003`, `009`
    run([&] {
        coroutine_context().set("mine", 1);
        current_context().set("shared", 2);
        spawn([&] {
            EXPECT_FALSE(coroutine_context().has("mine"));
            EXPECT_FALSE(coroutine_context().has("shared"));
            EXPECT_TRUE(current_context().has("shared"));
        }).await();
        EXPECT_EQ(coroutine_context().get<int>("mine"), 1);
    });
}

TEST_F(ContextValuesTest, AreSetOnceUnlessReplaced) {  // CTX-4, CTX-5, `008`, `011`
    run([&] {
        const ContextValues here = current_context();
        here.set("k", 1);
        EXPECT_THROW(here.set("k", 2), AsyncError);
        here.set("k", 2, true);
        EXPECT_EQ(here.get_local<int>("k"), 2);
        EXPECT_THROW(static_cast<void>(here.get<std::string>("k")), ContextError);
        here.unset("k");
        here.unset("k");
        EXPECT_EQ(here.find("k"), nullptr);
        EXPECT_THROW(static_cast<void>(here.get<int>("k")), ContextError);
        Scope child = Scope::inherited();
        here.set("k", 3);
        child.spawn([&] { current_context().set("k", 4); }).await();  // an inherited one does not count
        EXPECT_EQ(here.get<int>("k"), 3);
    });
}

TEST_F(ContextValuesTest, AreFoundByTokensOfIdentity) {  // CTX-6, `005`, `012`
    run([&] {
        const ContextKey first = ContextKey::unique("k");
        const ContextKey second = ContextKey::unique("k");
        current_context().set(first, 1);
        EXPECT_TRUE(current_context().has(first));
        EXPECT_FALSE(current_context().has(second));
        EXPECT_FALSE(current_context().has("k"));
    });
}

TEST_F(ContextValuesTest, AreRefusedInASchedulerPhase) {  // CTX-7
    run([&] {
        const ContextValues here = current_context();
        in_next_tick([&] {
            EXPECT_THROW(static_cast<void>(current_context()), AsyncError);
            EXPECT_THROW(here.set("k", 1), AsyncError);
        });
        yield();
        EXPECT_FALSE(here.has("k"));
    });
    EXPECT_THROW(static_cast<void>(root_context()), AsyncError);
}

TEST_F(ContextValuesTest, OutliveTheirScopeByAReference) {  // CTX-8
    run([&] {
        root_context().set("above", 1);
        std::optional<ContextValues> kept;
        {
            Scope scope = Scope::inherited();
            scope.spawn([&] {
                     kept = current_context();
                     kept->set("here", 2);
                     EXPECT_TRUE(kept->has("above"));
                 })
                .await();
        }
        yield();
        EXPECT_TRUE(kept->has("here"));
        EXPECT_FALSE(kept->has("above"));
    });
}

}  // namespace
}  // namespace heddle
