// SPDX-License-Identifier: Apache-2.0
// Faults of the bridges to other threads.
#include "heddle/core/bridge/work_pool.hpp"
#include "heddle/properties/planted/builder.hpp"

namespace heddle::prop::planted_bugs {

using namespace std::chrono_literals;

void add_bridge_faults(Builder& add) {
    // No job takes time here, so that a token which fires first means that a completion was never seen.
    add.add("FLT-24", "the completions of two workers are seen, whichever posts first", 0, ChoiceMask{ChoiceKind::ready}, [] {
        WorkPool pool{{.workers = 2, .queue = 2}};
        const auto a = pool.submit([] { return 1; });
        const auto b = pool.submit([] { return 2; });
        const Timeout long_enough(1s);
        try {
            static_cast<void>(a.await(long_enough));
            static_cast<void>(b.await(long_enough));
        } catch (const OperationCanceled&) {
            HEDDLE_ASSERT(false, "INV-THR-05");
        }
    });
}

}  // namespace heddle::prop::planted_bugs
