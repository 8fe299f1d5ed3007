// SPDX-License-Identifier: Apache-2.0
// FaultPlan: what goes wrong in a simulated world, as data, and how often each kind did.
//
//   opportunity ──▶ rules of the plan (ratio, or the n-th) ──▶ explorer, if it is offered the kind ──▶ strikes or not
//                                                                                     └── counted either way
//
// FP1  Without rules and without an explorer nothing goes wrong.
// FP2  Every opportunity and every strike is counted by kind: a search that never took a kind can say so (FaultTotals).
// FP3  A rule draws once per opportunity that it concerns, from a stream of its own: a rule more disturbs no other.
// Chance enters with the seed, through the ratios; an explorer's answers are choices of kind `fault`, with a label for each kind.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/simreactor/prng.hpp"

namespace heddle::sim {

enum class FaultKind : std::uint8_t {
    connect_refused,
    connect_timed_out,    ///< at once, not after minutes
    connect_unreachable,
    connection_reset,     ///< found by a read or a write; the peer hears of it, too
    connection_aborted,   ///< found by an accept; the client's connection is gone
    descriptors_exhausted,
    datagram_lost,
    datagram_doubled,
    datagram_late,        ///< others overtake it
    name_unknown,
    name_try_again,
    disk_error,           ///< EIO of a read, a write or an open
    disk_full,            ///< ENOSPC of a write
    flush_failed,         ///< EIO of a flush; what was not durable is lost for good
    short_read,           ///< of a file, one byte at least
    count_
};
[[nodiscard]] std::string_view to_string(FaultKind kind);

/// When one kind strikes.
struct FaultRule {
    FaultKind kind = FaultKind::count_;
    std::string machine{};     ///< whose operation it is; empty: anybody's
    Ratio ratio{};             ///< of the opportunities; not used with `nth`
    std::uint64_t nth = 0;     ///< the n-th opportunity, from 1; 0: by ratio
    bool for_ever = false;     ///< with `nth`: that one and all after it
    std::uint64_t times = 0;   ///< at most so often; 0: without limit
};

struct FaultPlan {
    std::vector<FaultRule> rules{};
};

/// Opportunities and strikes by kind, of one run or of many.
class FaultTotals {
public:
    struct Count {
        std::uint64_t opportunities = 0;
        std::uint64_t struck = 0;
        friend bool operator==(const Count&, const Count&) = default;
    };

    [[nodiscard]] Count& of(FaultKind kind) { return counts_[static_cast<std::size_t>(kind)]; }
    [[nodiscard]] const Count& of(FaultKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
    void add(const FaultTotals& other);
    /// No kind could have struck.
    [[nodiscard]] bool is_empty() const;
    /// "connection_reset 3 of 120, disk_full 0 of 7": every kind that could have struck.
    [[nodiscard]] std::string summary() const;

private:
    std::array<Count, static_cast<std::size_t>(FaultKind::count_)> counts_{};
};

/// The plan at work in one run.
class Faults {
public:
    Faults() = default;
    /// Throws ValueError for a rule that cannot be: no kind, or a ratio above one.
    Faults(FaultPlan plan, std::uint64_t seed);

    /// One opportunity. @returns true if a rule strikes
    [[nodiscard]] bool strikes(FaultKind kind, std::string_view machine);
    /// An explorer has chosen it.
    void chosen(FaultKind kind) {
        ++totals_.of(kind).struck;
        ++chosen_count_;
    }
    /// So many an explorer has chosen.
    [[nodiscard]] std::uint64_t chosen_count() const { return chosen_count_; }

    [[nodiscard]] std::uint64_t opportunities(FaultKind kind) const { return totals_.of(kind).opportunities; }
    [[nodiscard]] std::uint64_t struck(FaultKind kind) const { return totals_.of(kind).struck; }
    [[nodiscard]] const FaultTotals& totals() const { return totals_; }
    [[nodiscard]] std::string summary() const { return totals_.summary(); }

private:
    struct Rule {
        FaultRule rule;
        Prng prng;
        std::uint64_t seen = 0;
        std::uint64_t struck = 0;
    };
    std::vector<Rule> rules_;
    FaultTotals totals_;
    std::uint64_t chosen_count_ = 0;
};

}  // namespace heddle::sim
