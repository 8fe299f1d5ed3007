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
#include <vector>

#include "heddle/core/seam/observer.hpp"
#include "heddle/simreactor/explore/reduced_search.hpp"
#include "heddle/simreactor/explore/trace_watch.hpp"
#include "heddle/traces/trace.hpp"

namespace heddle::sim {

class Foresight;

enum class Strategy : std::uint8_t { exhaustive, random, delay, pct, pos, surw, coverage, portfolio };
[[nodiscard]] std::string_view to_string(Strategy strategy);
[[nodiscard]] std::optional<Strategy> strategy_from(std::string_view text);
/// Their names, as `to_string` gives them.
[[nodiscard]] const std::vector<std::string_view>& strategy_names();

/// What a bound counts (EX4). A bounded search is never called complete.
enum class BoundKind : std::uint8_t {
    deviations,  ///< answers other than 0
    delay,       ///< answer i costs i: so many candidates were held up
    reversal,    ///< races decided the other way than in the run that led here; another answer that is no dispatch costs 1, too
};
[[nodiscard]] std::string_view to_string(BoundKind kind);

/// One of `count` parts that together are the whole and have nothing in common.
struct Part {
    std::uint64_t index = 0;
    std::uint64_t count = 1;
};

struct StrategyOptions {
    Strategy strategy = Strategy::exhaustive;
    std::uint64_t seed = 1;
    trace::Order order = trace::Order::faithful;
    std::optional<std::uint32_t> bound{};
    BoundKind bound_kind = BoundKind::deviations;
    std::optional<Reduction> reduction{};  ///< of the exhaustive strategy
    bool sharing_any = false;              ///< of a reduction: ReducedSearch::Options of the same name
    const SharedMemory* memory = nullptr;  ///< likewise
    std::uint32_t depth = 3;               ///< of pct
    Part part{};                           ///< of a search by deviations, also a portfolio's; samplers have seeds of their own
};

/// What the campaign saw of a run.
struct RunEnd {
    bool extend = true;                ///< false if it was cut: by a violation, or by a limit
    const TraceWatch* watch = nullptr; ///< its steps and races; null where nobody watched
};

/// Whether a strategy samples, so that what it missed is estimated from what it saw once.
[[nodiscard]] bool is_sampler(Strategy strategy);

/// A strategy at work on one program and one order.
class Schedules {
public:
    virtual ~Schedules() = default;

    /// The chooser of the next schedule. Null when there is no other.
    virtual Chooser* next() = 0;
    virtual void finish(const RunEnd& end) { (void)end; }

    /// Who has to watch the runs; null: nobody. The same one for all of them.
    virtual Observer* observer() { return nullptr; }
    /// Who wants to be told what a program's next steps will touch; null: nobody.
    virtual Foresight* foresight() { return nullptr; }
    /// Every schedule is run at most once: nobody has to tell them apart.
    [[nodiscard]] virtual bool is_systematic() const { return false; }
    /// The present run is drawn at random, from a distribution that does not know the runs before it, or hardly.
    [[nodiscard]] virtual bool is_sample() const { return !is_systematic(); }
    /// The run only prepares others.
    [[nodiscard]] virtual bool is_profiling() const { return false; }
    /// After the baseline run: the product of its alternatives, a guess at the number of schedules. 0 where nobody knows.
    [[nodiscard]] virtual double leaves_hint() const { return 0; }
    /// It learns from the steps of its runs (RunEnd::watch).
    [[nodiscard]] virtual bool wants_watch() const { return false; }
    /// The present run belongs to another part and shows what lies behind it.
    [[nodiscard]] virtual bool is_repeat() const { return false; }
    [[nodiscard]] virtual bool complete() const { return false; }
    /// Deviations of the present run where the strategy counts them, or its steps; else 0.
    [[nodiscard]] virtual std::uint32_t depth() const { return 0; }
    /// The reduced search that it is; null: it is none.
    [[nodiscard]] virtual const ReducedSearch* reduced() const { return nullptr; }
};

[[nodiscard]] std::unique_ptr<Schedules> make_schedules(const StrategyOptions& options);

}  // namespace heddle::sim
