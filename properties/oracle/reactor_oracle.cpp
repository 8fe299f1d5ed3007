// SPDX-License-Identifier: Apache-2.0
// Reactor oracle: time goes forward, ticks do not nest, and nothing is delivered to what was stopped.
//
//   tick_begin ─ delivered ─ delivered ─ tick_end        no coroutine's step, no second tick inside
//   event_started ──▶ armed ──delivered──▶ (once per arming) ──event_stopped──▶ nothing more
//
// INV-RCT-01, 02, 04, 05; what a single backend keeps by itself is the business of core/seam/reactor_contract.hpp.
// Choice points: none.
#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Armed {
    std::int64_t refs = 0;
    std::int64_t last_arming = -1;  // start id of the firing before
    bool known = false;
};

struct Clock {
    Instant now;
    bool in_tick = false;
    void reset() { *this = Clock{}; }
};

class ReactorOracle final : public Judge {
protected:
    void reset() override {
        armed_.clear();
        nodes_.reset();
    }

    void follow(const Event& event) override {
        Clock& clock = nodes_[scheduler()];
        if (event.at < clock.now) {
            fail("INV-RCT-01", "time went back from " + std::to_string(clock.now.ns()) + " ns to " + std::to_string(event.at.ns()) + " ns");
        }
        clock.now = event.at;
        switch (event.kind) {
            case EventKind::tick_begin:
                expect(!clock.in_tick, "INV-RCT-05", "a tick began inside a tick");
                clock.in_tick = true;
                break;
            case EventKind::tick_end:
                expect(clock.in_tick, "INV-RCT-05", "a tick ended that had not begun");
                clock.in_tick = false;
                break;
            case EventKind::step_begin:
                expect(!clock.in_tick || !of_coroutine(event), "INV-RCT-05", "coroutine code runs inside a tick", event.who);
                break;
            case EventKind::event_started:
            case EventKind::event_stopped: {
                Armed& armed = armed_[event.what];
                armed.known = true;
                armed.refs = event.a;
                break;
            }
            case EventKind::delivered: delivered(event, clock); break;
            default: break;
        }
    }

private:
    void delivered(const Event& event, const Clock& clock) {
        const Scheduler* running = scheduler();
        expect(clock.in_tick || running == nullptr || running->in_scheduler_phase(), "INV-RCT-05", "a callback outside of a tick", event.who);
        if (event.note != to_string(SourceKind::timer)) { return; }
        Armed& armed = armed_[event.who];
        expect(!armed.known || armed.refs > 0, "INV-RCT-04", "a timer fired after it was stopped", event.who);
        expect(event.a > armed.last_arming, "INV-RCT-02", "a timer fired twice for one arming", event.who);
        armed.last_arming = event.a;
    }

    LabelTable<Armed> armed_;
    PerNode<Clock> nodes_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_reactor_oracle() { return std::make_unique<ReactorOracle>(); }

}  // namespace heddle::prop
