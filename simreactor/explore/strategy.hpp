// SPDX-License-Identifier: Apache-2.0
// Strategy: in which order a search goes through the schedules of one program.
//
//   campaign ── next() ──▶ Chooser of the next schedule ── a world runs it ──▶ finish() ── next() … null: there is no other
//
// ST1  What a strategy answers depends on its options and on the runs so far, never on a clock.
// ST2  A strategy that samples sees answers and footprints alone; that a schedule comes twice is no error.
// ST3  A strategy says `complete` only if every schedule of its order was run, or one of every trace with a reduction.
// Chance enters with the seed, in all strategies but the exhaustive one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/seam/observer.hpp"
#include "heddle/simreactor/explore/reduced_search.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

class Foresight;

enum class Strategy : std::uint8_t { exhaustive, random, delay };
[[nodiscard]] std::string_view to_string(Strategy strategy);
[[nodiscard]] std::optional<Strategy> strategy_from(std::string_view text);

struct StrategyOptions {
    Strategy strategy = Strategy::exhaustive;
    std::uint64_t seed = 1;
    trace::Order order = trace::Order::faithful;
    std::optional<std::uint32_t> bound{};
    std::optional<Reduction> reduction{};  ///< of the exhaustive strategy
    bool sharing_any = false;              ///< of a reduction: ReducedSearch::Options of the same name
};

/// A strategy at work on one program and one order.
class Schedules {
public:
    virtual ~Schedules() = default;

    /// The chooser of the next schedule. Null when there is no other.
    virtual Chooser* next() = 0;
    /// The run is over. @param extend  false if it was cut: by a violation, or by a limit
    virtual void finish(bool extend) { (void)extend; }

    /// Who has to watch the runs; null: nobody. The same one for all of them.
    virtual Observer* observer() { return nullptr; }
    /// Who wants to be told what a program's next steps will touch; null: nobody.
    virtual Foresight* foresight() { return nullptr; }
    /// Every schedule is run at most once: nobody has to tell them apart.
    [[nodiscard]] virtual bool is_systematic() const { return false; }
    [[nodiscard]] virtual bool complete() const { return false; }
    /// Deviations of the present run where the strategy counts them, or its steps; else 0.
    [[nodiscard]] virtual std::uint32_t depth() const { return 0; }
    /// The reduced search that it is; null: it is none.
    [[nodiscard]] virtual const ReducedSearch* reduced() const { return nullptr; }
};

[[nodiscard]] std::unique_ptr<Schedules> make_schedules(const StrategyOptions& options);

}  // namespace heddle::sim
