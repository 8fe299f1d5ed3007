// SPDX-License-Identifier: Apache-2.0
#include "heddle/properties/scenario/say.hpp"

#include "heddle/core/run/runtime.hpp"

namespace heddle::prop {

void say(std::string_view text) {
    const Scheduler* scheduler = ambient_scheduler();
    if (scheduler == nullptr) { return; }
    const CoroutineCore* current = scheduler->current();
    scheduler->note(EventKind::user, current != nullptr ? current->label() : Label{}, {}, 0, 0, text);
}

}  // namespace heddle::prop
