// SPDX-License-Identifier: Apache-2.0
// Switch oracle: when switch handlers are called, and that microtasks run to the last one before every dispatch.
//
//   a step of a coroutine with handlers:   [ENTER pass] … code … [LEAVE pass | FINISH pass]      a pass is index 0, 1, 2, …
//   between two steps:                     heartbeat, microtasks until none is left
//
// INV-SW-01 to 03, INV-TASK-02 to 05, INV-LIVE-04.
// Choice points: none.
#include <algorithm>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Calls {
    std::int64_t next_index = 0;  // of the pass in progress
    EventKind pass = EventKind::count_;
    bool started = false;
    bool stepping = false;
    bool entered = false;  // in this step
    bool left = false;
    bool finished = false;
    bool finish_called = false;
};

struct Tasks {
    std::uint64_t added = 0;
    std::uint64_t ended = 0;           // run, skipped or dropped
    std::uint64_t added_by_step = 0;   // when the last step of a coroutine ended
    bool thrown = false;               // an error became pending since the last step began
    bool in_tick = false;
    bool ending = false;               // second phase, terminal unwinding

    void reset() { *this = Tasks{}; }
};

class SwitchOracle final : public Judge {
protected:
    void reset() override {
        calls_.clear();
        nodes_.reset();
    }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::step_begin:
                if (of_coroutine(event)) { step_begins(event.who); }
                break;
            case EventKind::step_end:
                if (of_coroutine(event)) { step_ends(event.who); }
                break;
            case EventKind::started: calls_[event.who].started = true; break;
            case EventKind::finished: calls_[event.who].finished = true; break;
            case EventKind::fast_return:
                expect(!calls_[event.who].left, "INV-SW-01", "LEAVE was called for a fast return", event.who);
                break;
            case EventKind::handler_enter:
            case EventKind::handler_leave:
            case EventKind::handler_finish: called(event); break;
            case EventKind::microtask_added: ++here().added; break;
            case EventKind::microtask_run:
            case EventKind::microtask_skipped:
            case EventKind::microtask_dropped: {
                Tasks& tasks = here();
                ++tasks.ended;
                expect(tasks.ended <= tasks.added, "INV-TASK-02", "more microtasks ended than were added");
                expect(!tasks.in_tick, "INV-TASK-04", "a microtask ran inside the reactor");
                expect(event.kind != EventKind::microtask_dropped || tasks.thrown || tasks.ending, "INV-LIVE-04",
                       "a microtask was never executed although nothing was thrown before it");
                break;
            }
            case EventKind::heartbeat: expect(!here().in_tick, "INV-TASK-05", "the heartbeat was called inside the reactor"); break;
            case EventKind::tick_begin: here().in_tick = true; break;
            case EventKind::tick_end: here().in_tick = false; break;
            case EventKind::unhandled: here().thrown = true; break;
            case EventKind::second_phase:
            case EventKind::unwound: here().ending = true; break;
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event&, bool) override {
        const MicrotaskQueue& queue = scheduler.microtask_queue();
        const std::size_t size = std::min(queue.size(), everyone);
        for (std::size_t i = 0; i < size; ++i) {
            std::uint32_t entries = 0;
            for (std::size_t k = 0; k < size; ++k) { entries += &queue.at(k) == &queue.at(i) ? 1 : 0; }
            expect(queue.at(i).references() >= entries, "INV-TASK-03", "a microtask has more queue entries than references");
        }
    }

    void ended(const Scheduler& scheduler) override {
        const Tasks& tasks = nodes_[&scheduler];
        expect(tasks.added == tasks.ended, "INV-TASK-02", "a microtask was neither run, skipped nor counted as never executed");
    }

private:
    Tasks& here() { return nodes_[scheduler()]; }

    void step_begins(Label who) {
        Calls& calls = calls_[who];
        calls.stepping = true;
        calls.entered = calls.left = false;
        calls.pass = EventKind::count_;
        Tasks& tasks = here();
        expect(!tasks.in_tick, "INV-TASK-04", "a coroutine was dispatched inside the reactor", who);
        // What was queued when the last step ended is gone by now; what a tick or a sweep added may wait for the next drain.
        expect(tasks.thrown || tasks.ending || tasks.ended >= tasks.added_by_step, "INV-TASK-04",
               "a coroutine was dispatched before a microtask that was queued", who);
        tasks.thrown = false;
    }

    void step_ends(Label who) {
        calls_[who].stepping = false;
        Tasks& tasks = here();
        tasks.added_by_step = tasks.added;
    }

    void called(const Event& event) {
        Calls& calls = calls_[event.who];
        if (event.a == 0) {
            calls.next_index = 0;
            calls.pass = event.kind;
            begins_pass(event, calls);
        }
        expect(calls.pass == event.kind && calls.next_index == event.a, "INV-SW-03", "a pass skipped or repeated a handler", event.who);
        ++calls.next_index;
    }

    void begins_pass(const Event& event, Calls& calls) const {
        expect(!calls.finish_called, "INV-SW-03", "a handler was called after FINISH", event.who);
        if (event.kind == EventKind::handler_finish) {
            expect(calls.finished, "INV-SW-01", "FINISH before the coroutine had finished", event.who);
            calls.finish_called = true;
            return;
        }
        expect(calls.started && !calls.finished, "INV-SW-01", "ENTER or LEAVE outside of the coroutine's life", event.who);
        expect(calls.stepping, "INV-SW-02", "ENTER or LEAVE while another coroutine has the stack", event.who);
        expect(!calls.left, "INV-SW-01", "a call after LEAVE without a switch", event.who);
        if (event.kind == EventKind::handler_enter) {
            expect(!calls.entered, "INV-SW-01", "ENTER twice", event.who);
            calls.entered = true;
        } else {
            calls.left = true;
        }
    }

    LabelTable<Calls> calls_;
    PerNode<Tasks> nodes_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_switch_oracle() { return std::make_unique<SwitchOracle>(); }

}  // namespace heddle::prop
