// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/net/fault_plan.hpp"

#include <algorithm>

#include "heddle/core/base/error.hpp"

namespace heddle::sim {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(FaultKind::count_)> names{
    "connect_refused",  "connect_timed_out",  "connect_unreachable",   "connection_reset",
    "connection_aborted", "descriptors_exhausted", "datagram_lost",   "datagram_doubled",
    "datagram_late",    "name_unknown",       "name_try_again",        "disk_error",
    "disk_full",        "flush_failed",       "short_read"};

}  // namespace

std::string_view to_string(FaultKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    return index < names.size() ? names[index] : std::string_view("?");
}

Faults::Faults(FaultPlan plan, std::uint64_t seed) {
    const Prng root(seed);
    for (FaultRule& rule : plan.rules) {
        if (rule.kind >= FaultKind::count_) { throw ValueError("fault plan: a rule needs a kind"); }
        if (rule.ratio.denominator == 0 || rule.ratio.numerator > rule.ratio.denominator) {
            throw ValueError("fault plan: the ratio of " + std::string(to_string(rule.kind)) + " must be at most one");
        }
        const std::string name = std::string(to_string(rule.kind)) + "#" + std::to_string(rules_.size());
        rules_.push_back({std::move(rule), root.stream(name)});
    }
}

bool Faults::strikes(FaultKind kind, std::string_view machine) {
    ++totals_.of(kind).opportunities;
    bool any = false;
    for (Rule& at : rules_) {
        if (at.rule.kind != kind || (!at.rule.machine.empty() && at.rule.machine != machine)) { continue; }
        ++at.seen;
        const bool hit = at.rule.nth == 0 ? at.prng.chance(at.rule.ratio)
                         : at.rule.for_ever ? at.seen >= at.rule.nth
                                            : at.seen == at.rule.nth;
        if (!hit || (at.rule.times != 0 && at.struck >= at.rule.times)) { continue; }
        ++at.struck;
        any = true;
    }
    if (any) { ++totals_.of(kind).struck; }
    return any;
}

void FaultTotals::add(const FaultTotals& other) {
    for (std::size_t kind = 0; kind < counts_.size(); ++kind) {
        counts_[kind].opportunities += other.counts_[kind].opportunities;
        counts_[kind].struck += other.counts_[kind].struck;
    }
}

bool FaultTotals::is_empty() const {
    return std::ranges::all_of(counts_, [](const Count& count) { return count.opportunities == 0; });
}

std::string FaultTotals::summary() const {
    std::string text;
    for (std::size_t kind = 0; kind < names.size(); ++kind) {
        const Count& count = counts_[kind];
        if (count.opportunities == 0) { continue; }
        text += (text.empty() ? "" : ", ") + std::string(names[kind]) + " " + std::to_string(count.struck) + " of " +
                std::to_string(count.opportunities);
    }
    return text;
}

}  // namespace heddle::sim
