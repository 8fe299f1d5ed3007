// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/portfolio.hpp"

#include <algorithm>

#include "heddle/simreactor/explore/sampling.hpp"

namespace heddle::sim {

Portfolio::Portfolio(const StrategyOptions& options) {
    const auto seed = [&](Member member) { return hash_mix(options.seed, 0x706f7274 + member); };
    StrategyOptions systematic = options;
    systematic.strategy = Strategy::exhaustive;
    systematic.reduction.reset();
    systematic.part.index %= systematic.part.count;  // a search that is gone on with has further seeds
    members_[deviations] = make_schedules(systematic);
    members_[pos] = std::make_unique<PosWalk>(seed(pos));
    members_[surw] = std::make_unique<SurwWalk>(seed(surw));
    members_[coverage] = std::make_unique<CoverageWalk>(seed(coverage));
    members_[pct2] = std::make_unique<PctWalk>(seed(pct2), 2);
    members_[pct3] = std::make_unique<PctWalk>(seed(pct3), 3);
    members_[delay] = std::make_unique<DelayWalk>(seed(delay), 2);
}

Portfolio::Member Portfolio::turn(std::uint64_t run) {
    constexpr std::array turns{deviations, surw, pos,  coverage, pos,  surw, pct2,       pos, surw,     delay,
                               deviations, pos,  surw, pos,      pct3, pos,  deviations, surw, coverage, pos};
    static_assert(turns.size() == 20 && std::ranges::count(turns, pos) == 7 && std::ranges::count(turns, surw) == 5, "PF2");
    static_assert(std::ranges::count(turns, deviations) == 3 && std::ranges::count(turns, coverage) == 2, "PF2");
    return turns[run % turns.size()];
}

Chooser* Portfolio::next() {
    active_ = is_small_ ? deviations : turn(runs_);
    Schedules& member = *members_[active_];
    Chooser* chooser = member.next();
    if (chooser == nullptr && member.complete()) { return nullptr; }
    if (chooser == nullptr) {  // bounded, or out of memory: the others go on
        active_ = pos;
        chooser = members_[pos]->next();
    }
    ++runs_;
    watching_ = members_[active_]->observer();
    foreseeing_ = members_[active_]->foresight();
    return chooser;
}

void Portfolio::finish(const RunEnd& end) {
    members_[active_]->finish(end);
    if (!is_small_) { return; }
    // The baseline's alternatives tell how many schedules there may be; what turns out larger is not small any more.
    if (runs_ == 1) { is_small_ = members_[deviations]->leaves_hint() <= small; }
    if (static_cast<double>(runs_) >= 2 * small) { is_small_ = false; }
    if (!is_small_ && runs_ > 1) { runs_ = 1; }  // the turns begin behind the baseline
}

}  // namespace heddle::sim
