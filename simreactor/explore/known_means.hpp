// SPDX-License-Identifier: Apache-2.0
// KnownMean: a buggy program for which the mean number of schedules to the bug is known, per sampler, so that ours can be held against it.
//
//   scenario ── 200 campaigns, one seed each: schedules until something is violated ──▶ mean ──▶ at most 1.5 × the known one?
//
// KM1  The mean is all schedules over all campaigns that found it, so that campaigns that were given up count with what they spent.
// KM2  Runs that only prepare (a profile, a length) are not counted for single samplers, and are for the portfolio.
// KM3  A run that is ended as a livelock counts as one that found nothing.
// Chance enters with the seed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heddle/simreactor/explore/strategy.hpp"
#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::sim {

struct KnownMean {
    std::string call;   ///< "litmus/reorder:n=10"
    double surw = 0;    ///< schedules; 0: never found, or not known
    double pos = 0;
    double pct = 0;     ///< depth 3
    double random = 0;
    std::string remark{};  ///< why `unreached` is not reached
    std::optional<Strategy> unreached{};
    bool large = false;    ///< left out of the default set
};

struct MeasureOptions {
    Strategy strategy = Strategy::pos;
    std::uint32_t depth = 3;                   ///< of pct
    std::uint64_t seed = 1;
    std::uint64_t campaigns = 200;
    std::uint64_t runs_max = 1'000'000;        ///< of one campaign
    std::function<bool()> stop{};              ///< asked now and then
};

struct MeasuredMean {
    std::uint64_t campaigns = 0;
    std::uint64_t found = 0;
    std::uint64_t runs = 0;   ///< that count (KM2), of all campaigns
    /// 0 if nothing was found.
    [[nodiscard]] double mean() const { return found == 0 ? 0 : static_cast<double>(runs) / static_cast<double>(found); }
};

/// Order `any`, without oracles.
[[nodiscard]] MeasuredMean measure_mean(const Program& program, const MeasureOptions& options);

}  // namespace heddle::sim
