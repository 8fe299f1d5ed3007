// SPDX-License-Identifier: Apache-2.0
// TriggerPort: the only thing that another thread, or a signal handler, may hold of a reactor (RCT-1, RCT-58).
#pragma once

#include <memory>

namespace heddle {

class TriggerPort {
public:
    virtual ~TriggerPort() = default;
    /// Asks for a delivery of the trigger. Any number of fires before the delivery begins give at least one and possibly only one;
    /// a fire after it began gives another. A no-op once the trigger is closed, also when the reactor is gone.
    /// Safe from any thread and from signal handlers; what happened before it in the firing thread is visible to the callback (RCT-65).
    virtual void fire() noexcept = 0;
};

using TriggerPortPtr = std::shared_ptr<TriggerPort>;

}  // namespace heddle
