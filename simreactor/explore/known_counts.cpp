// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/known_counts.hpp"

#include "heddle/core/base/error.hpp"

namespace heddle::sim {

Count count_traces(const Program& program, const CountOptions& options) {
    ReducedSearch::Options search_options;
    search_options.reduction = options.reduction;
    search_options.bound = options.bound;
    if (options.bound) { search_options.baseline = ReducedSearch::Baseline::ring; }
    search_options.count_traces = options.count_traces || options.reduction == Reduction::none;
    search_options.one_question = options.one_question;
    search_options.faithful = options.order == trace::Order::faithful;
    ReducedSearch search(search_options);
    WorldOptions world_options;
    world_options.order = options.order;
    world_options.timing = options.timing;
    world_options.name_points = false;
    world_options.chooser = &search;
    world_options.observers.push_back(&search);
    World world(world_options);
    Count count;
    while (count.violation.empty() && (options.runs_max == 0 || search.runs() < options.runs_max) && search.next()) {
        world.mutable_options().one_question = search.puts_one_question();
        const Outcome outcome = world.run(program);
        const bool violated = outcome.kind == trace::OutcomeKind::violation;
        if (violated) { count.violation = outcome.invariant + ": " + outcome.message; }
        search.finish(!violated);
    }
    count.complete = count.violation.empty() && search.is_exhausted();
    count.runs = search.runs();
    count.traces = search.traces();
    count.redundant = search.redundant();
    count.reduced = !search.whole_loop();
    return count;
}

}  // namespace heddle::sim
