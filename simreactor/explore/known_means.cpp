// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/known_means.hpp"

#include "heddle/simreactor/explore/trace_watch.hpp"

namespace heddle::sim {

MeasuredMean measure_mean(const Program& program, const MeasureOptions& options) {
    WorldOptions wanted;
    wanted.order = trace::Order::any;
    wanted.name_points = false;
    wanted.dispatches_max = 100'000;
    World world(wanted);
    TraceWatch watch;
    MeasuredMean measured;
    for (std::uint64_t campaign = 0; campaign < options.campaigns; ++campaign) {
        StrategyOptions strategy;
        strategy.strategy = options.strategy;
        strategy.depth = options.depth;
        strategy.order = trace::Order::any;
        strategy.seed = hash_mix(options.seed, campaign);
        const std::unique_ptr<Schedules> schedules = make_schedules(strategy);
        WorldOptions& in_use = world.mutable_options();
        in_use.observers.clear();
        if (schedules->observer() != nullptr) { in_use.observers.push_back(schedules->observer()); }
        if (schedules->wants_watch()) { in_use.observers.push_back(&watch); }
        in_use.foresight = schedules->foresight();
        ++measured.campaigns;
        for (std::uint64_t run = 0; run < options.runs_max; ++run) {
            if (options.stop && (run & 1023U) == 0 && options.stop()) { return measured; }
            Chooser* chooser = schedules->next();
            if (chooser == nullptr) { break; }
            const bool counts = !schedules->is_profiling();
            if (schedules->wants_watch()) {
                watch.begin(*chooser);
                chooser = &watch;
            }
            in_use.chooser = chooser;
            const Outcome outcome = world.run(program);
            const bool violated = outcome.kind == trace::OutcomeKind::violation;
            if (schedules->wants_watch()) { watch.finish(); }
            schedules->finish({!violated, schedules->wants_watch() ? &watch : nullptr});
            if (!counts) { continue; }
            ++measured.runs;
            if (violated && outcome.invariant != "INV-LIVE-01") {  // a loop that was starved is not the bug
                ++measured.found;
                break;
            }
        }
    }
    return measured;
}

}  // namespace heddle::sim
