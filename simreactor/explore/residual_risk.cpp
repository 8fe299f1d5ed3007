// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/residual_risk.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "heddle/core/base/label.hpp"

namespace heddle::sim {
namespace {

constexpr double two_sided = 1.959964;  // 97.5 % quantile of the normal distribution

}  // namespace

bool SampleTally::is_kept(std::uint64_t trace) const {
    return (hash_mix(trace, 0x7468696e) & ((std::uint64_t{1} << thinned_) - 1)) == 0;
}

void SampleTally::add(std::uint64_t trace, std::uint32_t count) {
    samples_ += count;
    if (thinned_ > 0 && !is_kept(trace)) { return; }
    kept_samples_ += count;
    std::uint32_t& of_trace = counts_[trace];
    const std::uint32_t before = of_trace;
    of_trace += count;
    if (before == 1) { --once_; }
    if (before == 2) { --twice_; }
    if (of_trace == 1) { ++once_; }
    if (of_trace == 2) { ++twice_; }
    if (before == 0 && counts_.size() > kept_max_) { thin(); }
}

std::vector<SampleTally::Drawn> SampleTally::drawn() const {
    std::vector<Drawn> all;
    all.reserve(counts_.size());
    std::ranges::transform(counts_, std::back_inserter(all), [](const auto& entry) { return Drawn{entry.first, entry.second}; });
    std::ranges::sort(all, {}, &Drawn::trace);  // the map has no order; from here on there is one
    return all;
}

void SampleTally::thin() {
    ++thinned_;
    once_ = twice_ = kept_samples_ = 0;
    std::erase_if(counts_, [this](const auto& entry) {
        if (!is_kept(entry.first)) { return true; }
        kept_samples_ += entry.second;
        once_ += entry.second == 1 ? 1 : 0;
        twice_ += entry.second == 2 ? 1 : 0;
        return false;
    });
}

Estimate SampleTally::unseen_mass() const {
    if (kept_samples_ == 0) { return {0, 0, 1}; }
    const auto n = static_cast<double>(kept_samples_);
    const auto once = static_cast<double>(once_);
    const double value = once / n;
    const double variance = (once * (n - once) / n + 2 * static_cast<double>(twice_)) / (n * n);
    const double half = two_sided * std::sqrt(std::max(variance, 0.0));
    return {value, std::max(0.0, value - half), std::min(1.0, std::max(value + half, never_seen_at_most(kept_samples_)))};
}

double SampleTally::distinct_at_least() const {
    const auto once = static_cast<double>(once_);
    const double unseen = once * std::max(once - 1, 0.0) / (2 * (static_cast<double>(twice_) + 1));
    return static_cast<double>(distinct()) + std::ldexp(unseen, static_cast<int>(thinned_));
}

double never_seen_at_most(std::uint64_t samples) {
    return samples == 0 ? 1 : -std::expm1(std::log(0.05) / static_cast<double>(samples));
}

void TreeEstimate::add(double log_product) {
    if (probes_++ == 0 || log_product > largest_) {
        const double shrink = probes_ == 1 ? 0 : std::exp(largest_ - log_product);
        sum_ *= shrink;
        squares_ *= shrink * shrink;
        largest_ = log_product;
    }
    const double relative = std::exp(log_product - largest_);
    sum_ += relative;
    squares_ += relative * relative;
}

Estimate TreeEstimate::leaves() const {
    if (probes_ == 0) { return {}; }
    const auto n = static_cast<double>(probes_);
    const double scale = std::exp(largest_);
    const double mean = sum_ / n;
    if (probes_ == 1) { return {scale * mean, 1, std::numeric_limits<double>::infinity()}; }
    const double variance = std::max(0.0, (squares_ - n * mean * mean) / (n - 1));
    // Of the mean's logarithm: products span orders of magnitude, and a size is not negative.
    const double spread = std::exp(two_sided * std::sqrt(std::log1p(variance / (n * mean * mean))));
    return {scale * mean, std::max(1.0, scale * mean / spread), scale * mean * spread};
}

}  // namespace heddle::sim
