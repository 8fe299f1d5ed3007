// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/explore/slice.hpp"

#include "heddle/core/base/assert.hpp"

namespace heddle::sim {
namespace {

/// A search that somebody else owns and looks at afterwards.
class Borrowed final : public Schedules {
public:
    explicit Borrowed(ReducedSearch& search) : search_(search) {}
    Chooser* next() override { return search_.next() ? &search_ : nullptr; }
    void finish(const RunEnd& end) override { search_.finish(end.extend); }
    Observer* observer() override { return &search_; }
    [[nodiscard]] bool is_systematic() const override { return true; }
    [[nodiscard]] bool complete() const override { return search_.complete(); }
    [[nodiscard]] std::uint32_t depth() const override { return search_.depth(); }
    [[nodiscard]] const ReducedSearch* reduced() const override { return &search_; }

private:
    ReducedSearch& search_;
};

ReducedSearch::Options search_options(const ExploreOptions& options, const SharedMemory& memory) {
    ReducedSearch::Options search;
    search.reduction = *options.reduction;
    search.sharing_any = options.sharing_any;
    search.count_traces = options.reduction == Reduction::none;
    search.one_question = true;
    search.faithful = options.order == trace::Order::faithful;
    search.memory = is_instrumented(options) ? &memory : nullptr;
    return search;
}

}  // namespace

std::pair<Report, SliceResult> run_slice(const ScenarioCall& call, ExploreOptions options, const SliceInput& input,
                                         const SliceOptions& slice, Seat& seat) {
    HEDDLE_ASSERT(options.reduction && options.reduction != Reduction::optimal && options.order && options.clock, "LS");
    SharedMemory memory;
    memory.load(input.lease.memory);
    options.memory = &memory;
    ReducedSearch search(search_options(options, memory));
    search.load(input.lease);
    for (const UpwardRace& race : input.races) { search.apply(race); }
    for (const LentNews& news : input.news) { search.apply(news); }
    SliceResult result;
    const std::function<double()> clock = options.clock;
    const double begun = clock();
    std::uint64_t runs = 0;
    seat.on_end = [&] {
        if (search.wants_restart()) { return false; }
        if ((++runs & 7U) != 0) { return true; }  // asking for the time costs as much as a short schedule
        const double now = clock();
        if (seat.is_stopped() || now - begun >= slice.seconds) { return false; }
        if (seat.wish() != wish_for_work || now - begun < slice.seconds_min) { return true; }
        std::optional<Lease> given = search.split();
        if (!given) { return true; }
        result.given.push_back(*std::move(given));
        return false;
    };
    options.guard = &seat;
    options.keep_seen = options.reduction == Reduction::none;
    options.schedules = [&search](trace::Order) -> std::unique_ptr<Schedules> {
        return std::make_unique<Borrowed>(search);
    };
    Report report = explore(call, std::move(options));
    seat.on_end = {};
    result.state = search.wants_restart()  ? SliceResult::State::restart
                   : search.is_waiting()   ? SliceResult::State::waiting
                   : search.is_exhausted() ? SliceResult::State::done
                                           : SliceResult::State::ready;
    result.upward = search.take_upward();
    result.lease = search.save();
    if (result.lease.depth > 0 && !result.lease.fresh && (search.is_exhausted() || search.is_simple())) {
        result.news = search.news();
    }
    return {std::move(report), std::move(result)};
}

std::vector<Lease> plan_leases(const ScenarioCall& call, const ExploreOptions& options, std::size_t parts_min,
                               std::uint32_t depth_max) {
    WorldOptions world_options;
    world_options.seed = options.seed;
    world_options.order = *options.order;
    world_options.timing = Timing::at(options.time);
    if (call.scenario->world) { call.scenario->world(world_options); }
    const OracleList judges = call.oracles();
    for (const auto& judge : judges) { world_options.oracles.push_back(judge.get()); }
    world_options.name_points = !judges.empty();
    const Program program = call.program();
    SharedMemory memory;
    if (is_instrumented(options)) { world_options.memory = &memory; }
    Lease root;
    for (std::uint32_t depth = 0;; ++depth) {
        std::vector<Lease> leases;
        if (depth == 0) {
            leases.push_back(root);
        } else {
            ReducedSearch search(search_options(options, memory));
            search.load(root);
            WorldOptions own = world_options;
            own.chooser = &search;
            own.observers.push_back(&search);
            World world(own);
            bool again = false;
            while (search.next()) {
                world.mutable_options().one_question = search.puts_one_question();
                const Outcome outcome = world.run(program);
                search.finish(outcome.kind != trace::OutcomeKind::violation);
                if (search.wants_restart()) {
                    root = Lease{};
                    root.whole_loop = search.whole_loop();
                    root.orders_shown = search.orders_shown();
                    root.zombies_shown = search.zombies_shown();
                    root.memory = memory.entries();
                    again = true;
                    break;
                }
                leases.push_back(search.cut_at(depth));
            }
            if (again) {
                --depth;  // the same level once more, with what is known now
                continue;
            }
        }
        if (leases.size() >= parts_min || depth == depth_max) { return leases; }
    }
}

}  // namespace heddle::sim
