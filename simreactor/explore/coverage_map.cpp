// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/coverage_map.hpp"

#include <algorithm>

namespace heddle::sim {

bool CoverageMap::add(const TraceWatch& run) {
    const StepGraph& graph = run.graph();
    const std::span<const Race> races = graph.races_from(0);
    if (run.reactor_seen() || races.empty()) { return features_.insert(hash_mix(run.key(), 3)).second; }
    bool fresh = false;
    for (const Race& race : races) {
        const Label first = graph.label_of(graph.pid(race.first));
        const Label second = graph.label_of(graph.pid(race.second));
        for (const Foot& foot : graph.feet(race.second).feet) {
            const std::span<const Foot> others = graph.feet(race.first).feet;
            const auto meets = [&](const Foot& other) { return foot.cell == other.cell && conflicts(foot.mode, other.mode); };
            if (std::ranges::none_of(others, meets)) { continue; }
            const std::uint64_t handed = hash_mix(hash_mix(first.value, second.value), foot.cell);
            fresh = features_.insert(hash_mix(handed, 1)).second || fresh;
        }
        const std::uint64_t pair = hash_mix(hash_mix(first.value, graph.ordinal(race.first)),
                                            hash_mix(second.value, graph.ordinal(race.second)));
        fresh = features_.insert(hash_mix(pair, 2)).second || fresh;
    }
    return fresh;
}

}  // namespace heddle::sim
