// SPDX-License-Identifier: Apache-2.0
// What the outside holds of a simulated trigger. It outlives the trigger and the reactor, and is a no-op then (RCT-58).
#pragma once

#include "heddle/simreactor/reactor/sim_reactor.hpp"

namespace heddle::sim {

class SimReactor::Port final : public TriggerPort {
public:
    Port(SimReactor& reactor, SourceId trigger) : reactor_(&reactor), trigger_(trigger) {}

    void fire() noexcept override {
        if (reactor_ != nullptr) { reactor_->fired(trigger_); }
    }
    void disconnect() { reactor_ = nullptr; }

private:
    SimReactor* reactor_;  // absent once the trigger is closed
    SourceId trigger_;
};

}  // namespace heddle::sim
