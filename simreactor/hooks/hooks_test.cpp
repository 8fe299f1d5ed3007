// SPDX-License-Identifier: Apache-2.0
// Plain variables, seen through the hooks: what a reduced search then finds, how it counts, and what it says its answer rests on. The same
// programs with declared variables are the oracle, and so is the search without reduction.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>

#include "heddle/simreactor/explore/campaign.hpp"
#include "heddle/simreactor/explore/sharing_audit.hpp"
#include "heddle/simreactor/hooks/testing/programs.hpp"
#include "heddle/simreactor/world/memory_watch.hpp"

namespace heddle::sim {
namespace {

using programs::Body;

ExploreOptions with(Reduction reduction) {
    ExploreOptions options;
    options.order = trace::Order::any;
    options.reduction = reduction;
    return options;
}

Report search(Body body, bool judged, const ExploreOptions& options) {
    return explore([body, judged] { body(judged); }, options);
}

constexpr Reduction reductions[] = {Reduction::none, Reduction::source, Reduction::optimal};

TEST(Hooks, AreInTheProgram) { EXPECT_TRUE(has_memory_hooks()); }

TEST(Hooks, PlainVariablesCountAsDeclaredOnes) {
    for (const auto& [name, plain] : programs::plain) {
        const Body declared = programs::declared.at(name);
        for (const Reduction reduction : reductions) {
            ExploreOptions options = with(reduction);
            const Report seen = search(plain, false, options);
            options.sharing_declared = true;
            const Report said = search(declared, false, options);
            EXPECT_TRUE(seen.complete && said.complete) << name;
            EXPECT_EQ(seen.traces, said.traces) << name << ", " << to_string(reduction);
            EXPECT_EQ(seen.redundant, said.redundant) << name << ", " << to_string(reduction);
            EXPECT_EQ(seen.rests_on, "instrumented");
            EXPECT_EQ(said.rests_on, "declared");
            std::printf("%-18s %-8s %4llu traces, %llu redundant, %llu runs\n", name.c_str(), std::string(to_string(reduction)).c_str(),
                        static_cast<unsigned long long>(seen.traces), static_cast<unsigned long long>(seen.redundant),
                        static_cast<unsigned long long>(seen.runs));
        }
    }
}

TEST(Hooks, BugsInPlainVariablesAreFoundAndWithoutThemAreMissed) {
    for (const auto& [name, plain] : programs::plain) {
        if (name == "neighbours" || name == "runtime_objects") { continue; }  // they have none
        for (const Reduction reduction : reductions) {
            ExploreOptions options = with(reduction);
            const Report seen = search(plain, true, options);
            ASSERT_TRUE(seen.violation) << name << ", " << to_string(reduction);
            EXPECT_EQ(seen.violation->invariant, "CHECK") << name;
            if (reduction == Reduction::none) { continue; }  // which misses nothing, whatever it rests on
            options.sharing_declared = true;
            const Report said = search(plain, true, options);
            EXPECT_FALSE(said.violation) << name << ", " << to_string(reduction);
            EXPECT_TRUE(said.complete) << name;
        }
    }
}

}  // namespace
}  // namespace heddle::sim
