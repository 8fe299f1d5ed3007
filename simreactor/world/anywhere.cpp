// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/world/anywhere.hpp"

#include "heddle/core/run/runtime.hpp"
#include "heddle/simreactor/world/world.hpp"

namespace heddle::sim {
namespace {

/// The simulated reactor of the running coroutine's runtime, or null.
SimReactor* simulated() {
    Scheduler* scheduler = ambient_scheduler();
    return scheduler == nullptr ? nullptr : dynamic_cast<SimReactor*>(&scheduler->reactor());
}

/// Asks the runtime's chooser, if there is one, and if its world wants to be asked about this kind.
std::uint32_t ask(ChoiceKind kind, std::uint32_t n, std::string_view name) {
    if (ambient_scheduler() == nullptr || n == 1) { return 0; }
    Scheduler& scheduler = *ambient_scheduler();
    Chooser* chooser = scheduler.chooser();
    const SimReactor* reactor = simulated();
    if (chooser == nullptr || (reactor != nullptr && !reactor->options().mask.has(kind))) { return 0; }
    const CoroutineCore* self = scheduler.current();
    const Label at = scheduler.labels()->point(self != nullptr ? self->label() : Label{}, name);
    return chooser->choose({kind, at, n, {}});
}

}  // namespace

std::uint32_t choose(std::uint32_t n, std::string_view name) {
    HEDDLE_ASSERT(n >= 1, "a choice has an alternative");
    return ask(ChoiceKind::value, n, name);
}

bool fails(std::string_view name) {
    const SimReactor* reactor = simulated();
    return reactor != nullptr && reactor->options().faults && ask(ChoiceKind::fault, 2, name) == 1;
}

void anywhere(UniqueFunction<void()> run, std::string_view name) {
    Runtime& runtime = current_runtime("anywhere");
    SimReactor* reactor = simulated();
    if (reactor == nullptr) {
        runtime.add_microtask(std::move(run));
        return;
    }
    PostOptions options;
    options.anywhere = true;
    // It may refer to what stands on its caller's stack: whoever has ended is no longer disturbed.
    const Ref<CoroutineCore> caller(runtime.scheduler().current());
    auto unless_over = [caller, run = std::move(run)]() mutable {
        if (caller.get() == nullptr || !caller->is_completed()) { run(); }
    };
    reactor->post(name, std::move(unless_over), options);
}

}  // namespace heddle::sim
