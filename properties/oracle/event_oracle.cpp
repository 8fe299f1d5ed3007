// SPDX-License-Identifier: Apache-2.0
// Event oracle: starts and stops balance, everybody who waits is told, and nobody waits for what is over.
//
//   event_started, event_stopped ──▶ loop_refs of each event, by label (INV-EVT-02)
//   look ──▶ waiting coroutines × their events: each wait holds its own start (INV-EVT-03)
//   notified … woken … ──▶ the waiters of one pass are woken in the order in which they began to wait (INV-EVT-04)
//
// INV-EVT-01 to 07 and 10, as far as events can be told apart by label; the rest by unit tests (properties/README.md).
// Choice points: none.
#include <algorithm>
#include <vector>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Source {
    std::int64_t refs = 0;
    bool by_program = false;  // started outside of a wait: it may stay started
    bool is_coroutine = false;
    bool finished = false;
    bool told = false;        // a coroutine's one and only pass
};

struct Waiting {
    std::uint64_t since = 0;  // ordinal of the wait
    bool waits = false;
};

class EventOracle final : public Judge {
protected:
    void reset() override {
        sources_.clear();
        waits_.clear();
        pass_ = {};
        pass_last_ = wait_count_ = 0;
    }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::spawned: sources_[event.who].is_coroutine = true; break;
            case EventKind::finished: over(sources_[event.who]); break;
            case EventKind::scope_terminated: over(sources_[event.what]); break;
            case EventKind::event_started: started(event); break;
            case EventKind::event_stopped: stopped(event); break;
            case EventKind::notified: notified(event); break;
            case EventKind::parked: waits_[event.who] = {++wait_count_, true}; break;
            case EventKind::woken: woken(event); break;
            case EventKind::resumed:
            case EventKind::fast_return: waits_[event.who].waits = false; break;
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event& event, bool) override {
        // Inside a tick a wait may have been decided while its subscriptions wait for the flush point.
        if (event.kind == EventKind::step_end && !of_coroutine(event)) { return; }
        held_.clear();
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            if (c.waker().status() != WakerStatus::waiting) { return; }
            c.waker().visit_events([&](const EventSource& waited) { hold(waited, c); });
        });
        for (const Held& held : held_) {
            expect(held.event->loop_refs() >= held.waits, "INV-EVT-03",
                   "an event was stopped more often than its waits started it", held.event->label());
        }
    }

    void settled(const Scheduler& scheduler) override {
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            if (c.waker().status() != WakerStatus::waiting) { return; }
            bool open = false;
            c.waker().visit_events([&](const EventSource& waited) { open = open || !waited.is_closed(); });
            expect(open, "INV-EVT-07", "a coroutine waits only for what is over", c.label());
        });
        if (world().node_count() > 1) { return; }  // the labels of all nodes are in one table
        std::size_t counted = 0;
        for (std::size_t i = 0; i < sources_.size(); ++i) { counted += sources_.at(i).record.refs > 0 ? 1 : 0; }
        // Requests and posts count from their submission on, without a start.
        if (const auto* reactor = dynamic_cast<const sim::SimReactor*>(&scheduler.reactor()); reactor != nullptr) {
            counted += reactor->tasks_in_flight() + reactor->posts_waiting();
        }
        expect(scheduler.reactor().active_events() <= counted, "INV-EVT-01", "more events are counted than are started");
    }

    void ended(const Scheduler& scheduler) override {
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            const auto& [label, source] = sources_.at(i);
            if (source.refs == 0 || source.by_program || world().node_count() > 1) { continue; }
            expect(false, "INV-EVT-10", "an event that a wait started was never stopped", label);
        }
        expect(scheduler.is_shutting_down() || scheduler.has_second_phase_begun() || !scheduler.reactor().alive(), "INV-EVT-10",
               "the run ended although a counted event is started");
    }

private:
    struct Held {
        const EventSource* event;
        std::uint32_t waits;
    };

    void hold(const EventSource& waited, const CoroutineCore& waiter) {
        if (waited.is_closed()) { return; }
        expect(waited.loop_refs() > 0, "INV-EVT-02", "a coroutine waits for an event that is not started", waiter.label());
        if (held_.size() >= everyone) { return; }
        const auto at = std::ranges::find_if(held_, [&](const Held& held) { return held.event == &waited; });
        if (at != held_.end()) {
            ++at->waits;
        } else {
            held_.push_back({&waited, 1});
        }
    }

    /// Closed: further stops do nothing.
    static void over(Source& source) {
        source.finished = true;
        source.refs = 0;
    }

    void started(const Event& event) {
        if (!event.what) { return; }
        Source& source = sources_[event.what];
        expect(event.a == source.refs + 1, "INV-EVT-02", "loop_refs is not the number of starts less that of stops", event.what);
        source.refs = event.a;
        const Scheduler* running = scheduler();
        if (running != nullptr && !running->in_scheduler_phase()) { source.by_program = true; }
    }

    void stopped(const Event& event) {
        if (!event.what) { return; }
        Source& source = sources_[event.what];
        expect(source.refs > 0, "INV-EVT-02", "an event was stopped that was not started", event.what);
        expect(event.a == source.refs - 1 || event.a == 0, "INV-EVT-02", "a stop did not lower loop_refs by one", event.what);
        source.refs = event.a;
    }

    void notified(const Event& event) {
        pass_ = event.what;
        pass_last_ = 0;
        if (!event.what) { return; }
        Source& source = sources_[event.what];
        if (!source.is_coroutine) { return; }
        expect(source.finished, "INV-EVT-06", "a coroutine's subscribers were told before it had an outcome", event.what);
        expect(!source.told, "INV-EVT-06", "a coroutine's subscribers were told twice", event.what);
        source.told = true;
    }

    void woken(const Event& event) {
        Waiting& waiting = waits_[event.who];
        const std::uint64_t since = waiting.since;
        const bool parked = waiting.waits;
        if (!event.what || event.what != pass_ || !parked) { return; }
        expect(since > pass_last_, "INV-EVT-04", "waiters were not told in the order in which they began to wait", event.who);
        pass_last_ = since;
    }

    LabelTable<Source> sources_;
    LabelTable<Waiting> waits_;
    std::vector<Held> held_;
    Label pass_;
    std::uint64_t pass_last_ = 0;
    std::uint64_t wait_count_ = 0;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_event_oracle() { return std::make_unique<EventOracle>(); }

}  // namespace heddle::prop
