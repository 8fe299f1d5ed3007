// SPDX-License-Identifier: Apache-2.0
// KnownCount: a program whose number of traces is known from elsewhere, so that a search can be held against it.
//
//   scenario ── none · source · optimal ──▶ complete, N traces ── N == expected? ──▶ selfcheck: K of K counts equal
//
// KC1  Equality is demanded, of every reduction that is asked for; a count that a faithful port cannot reach carries the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/simreactor/explore/reduced_search.hpp"
#include "heddle/simreactor/world/scenario.hpp"

namespace heddle::sim {

struct KnownCount {
    std::string call;                     ///< "litmus/readers:n=8"
    std::uint64_t traces = 0;
    std::vector<Reduction> reductions{Reduction::source, Reduction::optimal};
    std::optional<std::uint32_t> bound{}; ///< with the baseline `ring`; `traces` are those within it
    bool large = false;                   ///< left out of the default set
    std::string remark{};                 ///< why the count is not the published one
};

struct CountOptions {
    Reduction reduction = Reduction::source;
    trace::Order order = trace::Order::any;
    std::optional<std::uint32_t> bound{};  ///< with the baseline `ring`
    bool one_question = true;              ///< let the world put one question for all that can happen, as long as it can
    Timing timing{};
    bool count_traces = false;             ///< tell them apart by their digests, also where a reduction promises that none comes twice
    std::uint64_t runs_max = 0;            ///< 0: no limit
};

struct Count {
    bool complete = false;
    std::uint64_t runs = 0;
    std::uint64_t traces = 0;
    std::uint64_t redundant = 0;
    bool reduced = true;      ///< false: what the reactor did made all steps dependent
    std::string violation{};  ///< of the run that ended the search; empty: none
};

/// Runs every trace of a program, without oracles, until the search is complete or a run is violated.
[[nodiscard]] Count count_traces(const Program& program, const CountOptions& options);

}  // namespace heddle::sim
