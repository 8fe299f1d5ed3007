// SPDX-License-Identifier: Apache-2.0
// Residual risk: what a search that ended without an answer may have missed, as estimates with 95 % intervals.
//
//   samples    a b a c d b …     seen once: c d      unseen mass ≈ (seen once) / (samples)                     Good–Turing
//   probes     2·3·2  2·3·3 …    product of the alternatives along a random path ≈ number of schedules         Knuth
//
// RR1  Good–Turing speaks of the distribution that the strategy draws from: mass 0.1 means that the next sample is new with a chance of
//      0.1, and not that a tenth of all traces is missing.
// RR2  An interval is an estimate, too. Where nothing was seen once, its upper end is the rule of three.
// RR3  Knuth's estimate has no bias and a long tail: few probes underestimate a tree whose bulk lies in rare branches. Its interval is
//      taken of the logarithm's side where the plain one would fall below what was counted.
// Chance: none of its own.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle::sim {

struct Estimate {
    double value = 0;
    double low = 0;   ///< of a 95 % interval
    double high = 0;
};

/// How often each trace was drawn, and what that says about those that never were.
/// Memory is bounded: what exceeds `kept_max` distinct traces is thinned to every second, fourth, … of them, by their hashes; ratios stay
/// what they are, and the number of distinct ones becomes an estimate.
class SampleTally {
public:
    static constexpr std::size_t kept_usually = std::size_t{1} << 20;
    explicit SampleTally(std::size_t kept_max = kept_usually) : kept_max_(kept_max) {}

    struct Drawn {
        std::uint64_t trace = 0;
        std::uint32_t count = 0;
    };

    /// @param count  so often
    void add(std::uint64_t trace, std::uint32_t count = 1);

    [[nodiscard]] std::uint64_t samples() const { return samples_; }
    [[nodiscard]] std::uint64_t distinct() const { return static_cast<std::uint64_t>(counts_.size()) << thinned_; }
    [[nodiscard]] bool is_exact() const { return thinned_ == 0; }
    /// Those that are kept, ascending.
    [[nodiscard]] std::vector<Drawn> drawn() const;
    /// Of those that are kept.
    [[nodiscard]] std::uint64_t once() const { return once_; }
    [[nodiscard]] std::uint64_t twice() const { return twice_; }
    /// Chance that the next sample is a trace that was never seen. Good–Turing, with Esty's variance. (0, 0, 1) without samples.
    [[nodiscard]] Estimate unseen_mass() const;
    /// Least number of traces there are: Chao's lower bound.
    [[nodiscard]] double distinct_at_least() const;

private:
    [[nodiscard]] bool is_kept(std::uint64_t trace) const;
    void thin();

    std::unordered_map<std::uint64_t, std::uint32_t> counts_;  // walked only to leave some out, in whatever order
    std::size_t kept_max_;
    std::uint32_t thinned_ = 0;    // one of 2^thinned_ traces is kept
    std::uint64_t samples_ = 0;
    std::uint64_t kept_samples_ = 0;
    std::uint64_t once_ = 0;
    std::uint64_t twice_ = 0;
};

/// The chance per sample of what never happened in `samples` independent ones: 95 % upper bound. 1 without samples.
[[nodiscard]] double never_seen_at_most(std::uint64_t samples);

/// Size of a tree from random paths: each tells the product of the alternatives along it.
class TreeEstimate {
public:
    /// @param log_product  natural logarithm of the product
    void add(double log_product);
    [[nodiscard]] std::uint64_t probes() const { return probes_; }
    /// Number of leaves. Infinite values stand for what a double does not hold. (0, 0, 0) without probes.
    [[nodiscard]] Estimate leaves() const;

private:
    std::uint64_t probes_ = 0;
    double largest_ = 0;  // logarithm; sums are relative to it
    double sum_ = 0;
    double squares_ = 0;
};

}  // namespace heddle::sim
