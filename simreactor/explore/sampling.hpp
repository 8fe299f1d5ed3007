// SPDX-License-Identifier: Apache-2.0
// The samplers (simreactor/chooser) as strategies: each prepares one run after the other, from one seed.
//
//   seed ── hash_mix(seed, run) ──▶ sampler.begin ── run ──▶ sampler.finish: lengths, profiles, coverage
//
// Chance enters with the seed. A run's sampler depends on the seed and on the runs before it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/simreactor/chooser/coverage.hpp"
#include "heddle/simreactor/chooser/delay.hpp"
#include "heddle/simreactor/chooser/pct.hpp"
#include "heddle/simreactor/chooser/pos.hpp"
#include "heddle/simreactor/chooser/random.hpp"
#include "heddle/simreactor/chooser/surw.hpp"
#include "heddle/simreactor/explore/coverage_map.hpp"
#include "heddle/simreactor/explore/strategy.hpp"

namespace heddle::sim {

class RandomWalk final : public Schedules {
public:
    explicit RandomWalk(std::uint64_t seed) : seed_(seed) {}
    Chooser* next() override {
        random_.begin(hash_mix(seed_, count_++));
        return &random_;
    }

private:
    RandomChooser random_{0};
    std::uint64_t seed_;
    std::uint64_t count_ = 0;
};

/// Zero to `deviations_max` deviations, each number equally likely.
class DelayWalk final : public Schedules {
public:
    DelayWalk(std::uint64_t seed, std::uint32_t deviations_max) : seed_(seed), deviations_max_(deviations_max) {}
    Chooser* next() override {
        const std::uint64_t drawn = hash_mix(seed_, count_++);
        const auto deviations = static_cast<std::uint32_t>(Prng{drawn}.stream("delays").below(std::uint64_t{deviations_max_} + 1));
        delay_.begin({drawn, deviations, std::max<std::uint64_t>(length_, 1)});
        return &delay_;
    }
    void finish(const RunEnd&) override { length_ = std::max(length_, delay_.points()); }

private:
    DelayChooser delay_{{}};
    std::uint64_t seed_;
    std::uint32_t deviations_max_;
    std::uint64_t count_ = 0;
    std::uint64_t length_ = 0;
};

class PctWalk final : public Schedules {
public:
    PctWalk(std::uint64_t seed, std::uint32_t depth) : sampler_(depth), seed_(seed) {}
    Chooser* next() override {
        sampler_.begin(hash_mix(seed_, count_++));
        return &sampler_;
    }
    void finish(const RunEnd& end) override { sampler_.finish(!end.extend); }
    Observer* observer() override { return &sampler_; }
    [[nodiscard]] bool is_profiling() const override { return sampler_.is_profiling(); }

private:
    PctChooser sampler_;
    std::uint64_t seed_;
    std::uint64_t count_ = 0;
};

class PosWalk final : public Schedules {
public:
    explicit PosWalk(std::uint64_t seed) : seed_(seed) {}
    Chooser* next() override {
        sampler_.begin(hash_mix(seed_, count_++));
        return &sampler_;
    }
    Observer* observer() override { return &sampler_; }
    Foresight* foresight() override { return &sampler_; }

private:
    PosChooser sampler_;
    std::uint64_t seed_;
    std::uint64_t count_ = 0;
};

class SurwWalk final : public Schedules {
public:
    explicit SurwWalk(std::uint64_t seed) : seed_(seed) {}
    Chooser* next() override {
        sampler_.begin(hash_mix(seed_, count_++));
        return &sampler_;
    }
    void finish(const RunEnd& end) override { sampler_.finish(!end.extend); }
    Observer* observer() override { return &sampler_; }
    Foresight* foresight() override { return &sampler_; }
    [[nodiscard]] bool is_profiling() const override { return sampler_.is_profiling(); }

private:
    SurwChooser sampler_;
    std::uint64_t seed_;
    std::uint64_t count_ = 0;
};

class CoverageWalk final : public Schedules {
public:
    explicit CoverageWalk(std::uint64_t seed) : seed_(seed) {}
    Chooser* next() override {
        sampler_.begin(hash_mix(seed_, count_++));
        return &sampler_;
    }
    void finish(const RunEnd& end) override { sampler_.finish(end.watch != nullptr && map_.add(*end.watch)); }
    [[nodiscard]] bool wants_watch() const override { return true; }

private:
    CoverageChooser sampler_;
    CoverageMap map_;
    std::uint64_t seed_;
    std::uint64_t count_ = 0;
};

}  // namespace heddle::sim
