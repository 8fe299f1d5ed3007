// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/world/sweep.hpp"

#include <array>
#include <utility>
#include <vector>

#include "heddle/core/run/runtime.hpp"

namespace heddle::sim {
namespace {

constexpr std::array<std::string_view, 4> names{"cancel", "fail", "both", "shutdown"};

/// Asks for each coroutine that may be cancelled here, oldest first.
void offer_cancellations(Runtime& runtime) {
    Scheduler& scheduler = runtime.scheduler();
    Chooser* const chooser = scheduler.chooser();
    if (chooser == nullptr) { return; }
    std::vector<Ref<CoroutineCore>> living;
    const auto& registry = scheduler.registry();
    for (CoroutineCore* at = registry.front(); at != nullptr; at = registry.next(*at)) {
        const bool spared = at->is_main() || at->is_internal() || at->is_completed() || at->is_cancellation_requested();
        if (!spared) { living.emplace_back(at); }
    }
    for (const Ref<CoroutineCore>& one : living) {
        const Label at = scheduler.labels()->point(one->label(), "cancelled");
        if (chooser->choose({ChoiceKind::arrival, at, 2, {}}) == 1) {
            scheduler.cancel(*one, CancelKind::forced, ErrorValue::make<AsyncCancellation>("by the sweep"));
        }
    }
}

void offer_shutdown(Runtime& runtime) {
    Scheduler& scheduler = runtime.scheduler();
    Chooser* const chooser = scheduler.chooser();
    if (chooser == nullptr || scheduler.is_shutting_down()) { return; }
    const Label at = scheduler.labels()->point(LabelBook::of("main"), "shutdown");
    if (chooser->choose({ChoiceKind::arrival, at, 2, {}}) == 1) { runtime.shutdown(); }
}

/// @param offer  called at the end of every step, for as long as the runtime lives
Program offering(Program inner, void (*offer)(Runtime&)) {
    return [inner = std::move(inner), offer] {
        Runtime& runtime = current_runtime("sweep");
        static_cast<void>(runtime.set_heartbeat([&runtime, offer] { offer(runtime); }));
        try {
            inner();
        } catch (const Cancellation&) {
            if (current_coroutine().is_cancellation_requested()) { throw; }
        }
    };
}

}  // namespace

std::string_view to_string(SweepOf of) { return names[static_cast<std::size_t>(of)]; }

std::optional<SweepOf> sweep_from(std::string_view text) {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == text) { return static_cast<SweepOf>(i); }
    }
    return std::nullopt;
}

Scenario swept(Scenario scenario, SweepOf of) {
    if (of != SweepOf::failures) {
        scenario.program = [make = std::move(scenario.program), of](const Parameters& values) {
            return offering(make(values), of == SweepOf::shutdowns ? &offer_shutdown : &offer_cancellations);
        };
    }
    scenario.world = [own = std::move(scenario.world), of](WorldOptions& world) {
        if (own) { own(world); }
        world.faults = of == SweepOf::failures || of == SweepOf::both;
        world.errors_are_violations = world.errors_are_violations && of != SweepOf::shutdowns;
        // The rest is asked for by the program itself, so that posts of the scenario come when production would deliver them.
        world.mask = world.faults ? ChoiceMask{ChoiceKind::fault} : ChoiceMask::none();
    };
    return scenario;
}

}  // namespace heddle::sim
