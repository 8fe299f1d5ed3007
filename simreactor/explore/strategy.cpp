// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/strategy.hpp"

#include <array>
#include <utility>

#include "heddle/simreactor/explore/exhaustive.hpp"
#include "heddle/simreactor/explore/portfolio.hpp"
#include "heddle/simreactor/explore/reversal_search.hpp"
#include "heddle/simreactor/explore/sampling.hpp"

namespace heddle::sim {
namespace {

constexpr std::array strategies{std::pair{Strategy::portfolio, "portfolio"}, std::pair{Strategy::exhaustive, "exhaustive"},
                                std::pair{Strategy::random, "random"},       std::pair{Strategy::pct, "pct"},
                                std::pair{Strategy::pos, "pos"},             std::pair{Strategy::surw, "surw"},
                                std::pair{Strategy::delay, "delay"},         std::pair{Strategy::coverage, "coverage"}};

class Deviations final : public Schedules {
public:
    explicit Deviations(const StrategyOptions& options) : search_(search_options(options)) {}
    Chooser* next() override { return search_.next() ? &search_ : nullptr; }
    void finish(const RunEnd& end) override { search_.finish(end.extend); }
    [[nodiscard]] bool is_systematic() const override { return true; }
    [[nodiscard]] bool complete() const override { return search_.complete(); }
    [[nodiscard]] bool is_repeat() const override { return search_.is_repeat(); }
    [[nodiscard]] std::uint32_t depth() const override { return search_.depth(); }
    [[nodiscard]] double leaves_hint() const override { return search_.alternatives(); }

private:
    static ExhaustiveSearch::Options search_options(const StrategyOptions& options) {
        ExhaustiveSearch::Options search;
        search.deviations_max = options.bound;
        search.by_delay = options.bound_kind == BoundKind::delay;
        search.part_index = options.part.index;
        search.part_count = options.part.count;
        return search;
    }

    ExhaustiveSearch search_;
};

class Reduced final : public Schedules {
public:
    explicit Reduced(const StrategyOptions& options) : search_(search_options(options)) {}
    Chooser* next() override { return search_.next() ? &search_ : nullptr; }
    void finish(const RunEnd& end) override { search_.finish(end.extend); }
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
        search.memory = options.memory;
        search.one_question = true;
        search.faithful = options.order == trace::Order::faithful;
        search.count_traces = options.reduction == Reduction::none;
        return search;
    }

    ReducedSearch search_;
};

}  // namespace

std::string_view to_string(BoundKind kind) {
    switch (kind) {
        case BoundKind::deviations: return "deviations";
        case BoundKind::delay: return "delay";
        case BoundKind::reversal: return "reversal";
    }
    return "?";
}

const std::vector<std::string_view>& strategy_names() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        for (const auto& [strategy, name] : strategies) { all.emplace_back(name); }
        return all;
    }();
    return names;
}

bool is_sampler(Strategy strategy) { return strategy != Strategy::exhaustive; }

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
            if (options.bound && options.bound_kind == BoundKind::reversal) { return std::make_unique<Reversals>(*options.bound); }
            return std::make_unique<Deviations>(options);
        case Strategy::portfolio: return std::make_unique<Portfolio>(options);
        case Strategy::random: return std::make_unique<RandomWalk>(options.seed);
        case Strategy::delay: return std::make_unique<DelayWalk>(options.seed, options.bound.value_or(2));
        case Strategy::pct: return std::make_unique<PctWalk>(options.seed, options.depth);
        case Strategy::pos: return std::make_unique<PosWalk>(options.seed);
        case Strategy::surw: return std::make_unique<SurwWalk>(options.seed);
        case Strategy::coverage: return std::make_unique<CoverageWalk>(options.seed);
    }
    return nullptr;
}

}  // namespace heddle::sim
