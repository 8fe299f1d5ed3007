// SPDX-License-Identifier: Apache-2.0
// The samplers against distributions that are known. Each test has a control that fails it: another sampler, or another program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "heddle/core/run/runtime.hpp"
#include "heddle/simreactor/chooser/coverage.hpp"
#include "heddle/simreactor/explore/sampling.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

/// Coroutines a, b, … with so many steps each; every step writes one cell and its letter.
class Letters {
public:
    explicit Letters(std::vector<int> steps, bool shared = true) : steps_(std::move(steps)), shared_(shared) {}

    [[nodiscard]] Program program() {
        return [this] {
            word_.clear();
            for (std::size_t i = 0; i < steps_.size(); ++i) {
                spawn("letter", [this, i] {
                    for (int step = 0; step < steps_[i]; ++step) {
                        if (step > 0) { heddle::yield(); }
                        const Scheduler& scheduler = current_runtime("test").scheduler();
                        if (scheduler.observed()) {
                            scheduler.observer()->on_touch(cell(Label{7}, "x", shared_ ? 0 : i), TouchMode::write);
                        }
                        word_ += static_cast<char>('a' + i);
                    }
                });
            }
        };
    }
    [[nodiscard]] const std::string& word() const { return word_; }

private:
    std::vector<int> steps_;
    bool shared_;
    std::string word_;
};

using Counts = std::map<std::string, std::uint64_t>;

Counts sample(Letters& letters, Schedules& schedules, std::uint64_t runs) {
    WorldOptions options;
    options.order = trace::Order::any;
    options.name_points = false;
    if (schedules.observer() != nullptr) { options.observers.push_back(schedules.observer()); }
    options.foresight = schedules.foresight();
    World world(options);
    const Program program = letters.program();
    Counts counts;
    while (runs > 0) {
        const bool profiles = schedules.is_profiling();
        world.mutable_options().chooser = schedules.next();
        EXPECT_EQ(world.run(program).kind, trace::OutcomeKind::ok);
        schedules.finish({});
        if (profiles) { continue; }
        ++counts[letters.word()];
        --runs;
    }
    return counts;
}

/// Pearson's statistic against the uniform distribution over `classes`.
double chi_square(const Counts& counts, std::size_t classes) {
    double total = 0;
    for (const auto& [word, count] : counts) { total += static_cast<double>(count); }
    const double expected = total / static_cast<double>(classes);
    double statistic = expected * static_cast<double>(classes - counts.size());  // classes that never came
    for (const auto& [word, count] : counts) {
        const double off = static_cast<double>(count) - expected;
        statistic += off * off / expected;
    }
    return statistic;
}

TEST(SurwChooser, DrawsEveryInterleavingOfOneCellWithTheSameChance) {
    // aabb … bbaa: 6 words, 5 degrees of freedom; 25.7 is exceeded once in ten thousand.
    Letters letters({2, 2});
    SurwWalk surw(11);
    EXPECT_LT(chi_square(sample(letters, surw, 6'000), 6), 25.7);
    RandomWalk random(11);
    EXPECT_GT(chi_square(sample(letters, random, 6'000), 6), 100) << "the random walk prefers words that change at the end";
}

TEST(SurwChooser, WeighsLongCoroutinesMore) {
    // 6! / 4! 1! 1! = 30 words, 29 degrees of freedom; 66.2 is exceeded once in ten thousand.
    Letters letters({4, 1, 1});
    SurwWalk surw(5);
    EXPECT_LT(chi_square(sample(letters, surw, 9'000), 30), 66.2);
    PosWalk pos(5);
    EXPECT_GT(chi_square(sample(letters, pos, 9'000), 30), 200) << "priorities know nothing of lengths";
}

TEST(PctChooser, OfDepthOneKeepsItsPriorities) {
    Letters letters({3, 3});
    PctWalk pct(3, 1);
    const Counts counts = sample(letters, pct, 400);
    ASSERT_EQ(counts.size(), 2U);
    EXPECT_NEAR(static_cast<double>(counts.at("aaabbb")), 200, 60);
    EXPECT_EQ(counts.count("bbbaaa"), 1U);
}

TEST(PctChooser, ReachesEveryPlaceOfOneChange) {
    // Depth 2: a word is a run of one letter, all of the other one, the rest of the first.
    Letters letters({4, 4});
    PctWalk pct(9, 2);
    const Counts counts = sample(letters, pct, 4'000);
    for (const char* word : {"aaaabbbb", "abbbbaaa", "aabbbbaa", "aaabbbba", "bbbbaaaa", "baaaabbb", "bbaaaabb", "bbbaaaab"}) {
        // 1 / (n · L), with the steps of main and a fifth more in L.
        EXPECT_GT(counts.count(word) == 0 ? 0 : counts.at(word), 4'000 / (2 * 12) / 2) << word;
    }
    EXPECT_EQ(counts.count("abababab"), 0U);
}

TEST(PosChooser, DrawsAnewForWhatRacesAlone) {
    // Where nothing conflicts the b that waits keeps its priority while a is redrawn; where all conflicts both draw.
    const auto ab_first = [](bool shared) {
        Letters letters({2, 1}, shared);
        PosWalk pos(21);
        const Counts counts = sample(letters, pos, 9'000);
        return static_cast<double>(counts.count("aba") == 0 ? 0 : counts.at("aba")) / 9'000;
    };
    // Shared: a wins 1/2, then b wins 1/2. Apart: b has lost once, so it is the smallest of three with 1/3, the middle one with 1/6 of two.
    EXPECT_NEAR(ab_first(true), 0.25, 0.03);
    EXPECT_NEAR(ab_first(false), 1.0 / 6, 0.03);
}

TEST(Samplers, AreDecidedByTheirSeed) {
    const auto words = [](auto make, std::uint64_t seed) {
        Letters letters({3, 2, 2});
        auto schedules = make(seed);
        std::vector<std::string> all;
        for (int run = 0; run < 20; ++run) {
            for (const auto& [word, count] : sample(letters, schedules, 1)) { all.push_back(word); }
        }
        return all;
    };
    const auto check = [&](auto make) {
        EXPECT_EQ(words(make, 4), words(make, 4));
        EXPECT_NE(words(make, 4), words(make, 5));
    };
    check([](std::uint64_t seed) { return SurwWalk(seed); });
    check([](std::uint64_t seed) { return PosWalk(seed); });
    check([](std::uint64_t seed) { return PctWalk(seed, 3); });
    check([](std::uint64_t seed) { return RandomWalk(seed); });
    check([](std::uint64_t seed) { return DelayWalk(seed, 2); });
}

/// A question with so many alternatives.
std::uint32_t ask(Chooser& chooser, std::uint32_t count) { return chooser.choose({ChoiceKind::value, {}, count, {}}); }

TEST(CoverageChooser, ClimbsToWhatARandomWalkDoesNotReach) {
    // Sixteen questions of four; new is whoever answers one more of them with 3 from the start. At random: 4^-16.
    const auto climb = [](CoverageChooser& chooser, bool feedback) {
        int highest = 0;
        for (std::uint64_t run = 0; run < 20'000; ++run) {
            chooser.begin(run);
            int level = 0;
            bool right = true;
            for (int question = 0; question < 16; ++question) {
                right = ask(chooser, 4) == 3 && right;
                level += right ? 1 : 0;
            }
            chooser.finish(feedback && level > highest);
            highest = std::max(highest, level);
        }
        return highest;
    };
    CoverageChooser guided;
    EXPECT_EQ(climb(guided, true), 16);
    CoverageChooser blind;
    EXPECT_LT(climb(blind, false), 12);
}

TEST(CoverageChooser, GivesAParentItsChildrenAndThenTheNext) {
    CoverageChooser chooser({.changes_max = 1, .children = 2});
    const auto run = [&](std::uint64_t seed, bool fresh) {
        chooser.begin(seed);
        std::vector<std::uint32_t> answers;
        for (int i = 0; i < 40; ++i) { answers.push_back(ask(chooser, 1000)); }
        chooser.finish(fresh);
        return answers;
    };
    const auto differences = [](const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
        int count = 0;
        for (std::size_t i = 0; i < a.size(); ++i) { count += a[i] == b[i] ? 0 : 1; }
        return count;
    };
    const auto first = run(1, true);
    const auto second = run(2, true);  // a child of the first
    EXPECT_LE(differences(first, second), 1);
    EXPECT_EQ(chooser.corpus_size(), 2U);
    for (const std::uint64_t seed : {3, 4}) { EXPECT_LE(differences(second, run(seed, false)), 1); }
    for (const std::uint64_t seed : {5, 6}) { EXPECT_LE(differences(first, run(seed, false)), 1); }
}

}  // namespace
}  // namespace heddle::sim
