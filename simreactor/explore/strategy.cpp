// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/strategy.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "heddle/simreactor/chooser/delay.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/explore/exhaustive.hpp"

namespace heddle::sim {
namespace {

constexpr std::array strategies{std::pair{Strategy::exhaustive, "exhaustive"}, std::pair{Strategy::random, "random"},
                                std::pair{Strategy::delay, "delay"}};

class Deviations final : public Schedules {
public:
    explicit Deviations(const StrategyOptions& options) : search_(search_options(options)) {}
    Chooser* next() override { return search_.next() ? &search_ : nullptr; }
    void finish(bool extend) override { search_.finish(extend); }
    [[nodiscard]] bool is_systematic() const override { return true; }
    [[nodiscard]] bool complete() const override { return search_.complete(); }
    [[nodiscard]] std::uint32_t depth() const override { return search_.depth(); }

private:
    static ExhaustiveSearch::Options search_options(const StrategyOptions& options) {
        ExhaustiveSearch::Options search;
        search.deviations_max = options.bound;
        return search;
    }

    ExhaustiveSearch search_;
};

class Reduced final : public Schedules {
public:
    explicit Reduced(const StrategyOptions& options) : search_(search_options(options)) {}
    Chooser* next() override { return search_.next() ? &search_ : nullptr; }
    void finish(bool extend) override { search_.finish(extend); }
    Observer* observer() override { return &search_; }
    [[nodiscard]] bool is_systematic() const override { return true; }
    [[nodiscard]] bool complete() const override { return search_.complete(); }
    [[nodiscard]] std::uint32_t depth() const override { return search_.depth(); }
    [[nodiscard]] const ReducedSearch* reduced() const override { return &search_; }

private:
    static ReducedSearch::Options search_options(const StrategyOptions& options) {
        ReducedSearch::Options search;
        search.reduction = *options.reduction;
        search.sharing_any = options.sharing_any;
        search.count_traces = options.reduction == Reduction::none;
        return search;
    }

    ReducedSearch search_;
};

class RandomWalk final : public Schedules {
public:
    explicit RandomWalk(const StrategyOptions& options) : seed_(options.seed) {}
    Chooser* next() override {
        random_.begin(hash_mix(seed_, count_++));
        return &random_;
    }

private:
    RandomChooser random_{0};
    std::uint64_t seed_;
    std::uint64_t count_ = 0;
};

class DelayWalk final : public Schedules {
public:
    explicit DelayWalk(const StrategyOptions& options) : seed_(options.seed), deviations_max_(options.bound.value_or(2)) {}
    Chooser* next() override {
        delay_.begin({hash_mix(seed_, count_++), deviations_max_, std::max<std::uint64_t>(length_, 1)});
        return &delay_;
    }
    void finish(bool) override { length_ = std::max(length_, delay_.points()); }

private:
    DelayChooser delay_{{}};
    std::uint64_t seed_;
    std::uint32_t deviations_max_;
    std::uint64_t count_ = 0;
    std::uint64_t length_ = 0;
};

}  // namespace

std::string_view to_string(Strategy strategy) {
    for (const auto& [known, name] : strategies) {
        if (known == strategy) { return name; }
    }
    return "?";
}

std::optional<Strategy> strategy_from(std::string_view text) {
    for (const auto& [known, name] : strategies) {
        if (name == text) { return known; }
    }
    return std::nullopt;
}

std::unique_ptr<Schedules> make_schedules(const StrategyOptions& options) {
    switch (options.strategy) {
        case Strategy::exhaustive:
            if (options.reduction) { return std::make_unique<Reduced>(options); }
            return std::make_unique<Deviations>(options);
        case Strategy::random: return std::make_unique<RandomWalk>(options);
        case Strategy::delay: return std::make_unique<DelayWalk>(options);
    }
    return nullptr;
}

}  // namespace heddle::sim
