// SPDX-License-Identifier: Apache-2.0
// End oracle: how runs end: shutdown reaches everybody, deadlocks are real, run() throws what was unhandled, and nothing is left.
//
//   active ──shutdown_begun──▶ shutting down ──second_phase──▶ no new code, no blocking ──▶ unwound … ──▶ run_ended
//     └──quiescent, nothing counted──▶ deadlock, each time with fewer coroutines ──▶ unwound … ──────────────┘
//
// INV-SHUT-01 to 07, INV-DEAD-01 to 03, INV-EVT-10, INV-ERR-06, INV-LIVE-01, 07.
// Choice points: none.
#include <algorithm>
#include <vector>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Member {
    bool internal = false;
    bool finished = false;
    bool unwound = false;
    bool swept = true;  // the sweep at hand has reached it
};

struct Run {
    bool shutdown = false;
    bool second_phase = false;
    bool unwinding = false;
    bool sweep_due = false;
    const char* sweep = "";          // number that the sweep at hand has to keep
    std::int64_t unhandled = 0;
    std::int64_t deadlocks = 0;
    std::int64_t last_deadlock = 0;  // its number of coroutines
    bool tick_was_quiet = false;     // the last tick did not block and woke nobody
    bool in_tick = false;
    std::uint32_t idle_rounds = 0;   // quiescent with nothing that could ever happen, in a row
    void reset() { *this = Run{}; }
};

class EndOracle final : public Judge {
public:
    void at_end(sim::World& world) override {
        for (std::size_t i = 0; i < world.node_count(); ++i) {
            if (world.has_crashed(i)) { continue; }
            const RuntimeStatistics left = world.runtime(i).statistics();
            expect(left.registered == 0 && left.active == 0 && left.ready == 0 && left.microtasks == 0, "INV-SHUT-05",
                   "something is left in a queue or the registry behind the run");
            expect(left.live_contexts == 0, "INV-SHUT-05", "a context is left behind the run");
            expect(left.active_events == 0, "INV-EVT-10", "an event is counted behind the run");
            expect(world.runtime(i).scheduler().state() == Scheduler::State::ready, "INV-SHUT-05", "the runtime cannot be launched again");
        }
    }

protected:
    void reset() override {
        members_.clear();
        nodes_.reset();
    }

    void follow(const Event& event) override {
        Run& run = nodes_[scheduler()];
        switch (event.kind) {
            case EventKind::spawned:
                // The runtime's own, and what a microtask or callback spawned (SCH-13).
                members_[event.who].internal = event.note == "internal" || (scheduler() != nullptr && scheduler()->in_scheduler_phase());
                break;
            case EventKind::started:
                progress(run);
                expect(!run.second_phase || members_[event.who].internal, "INV-SHUT-06", "new code began in the second phase", event.who);
                break;
            case EventKind::step_begin:
                expect_swept(run);
                progress(run);
                if (of_coroutine(event)) { expect_no_pending(); }
                break;
            case EventKind::step_end: expect_swept(run); break;
            case EventKind::woken:
                progress(run);
                run.tick_was_quiet = run.tick_was_quiet && !run.in_tick;
                break;
            case EventKind::parked: expect(!members_[event.who].unwound, "INV-SHUT-07", "a coroutine that is unwound parked", event.who); break;
            case EventKind::cancel_requested:
                if (event.a == static_cast<std::int64_t>(CancelKind::forced)) { members_[event.who].swept = true; }
                break;
            case EventKind::finished: members_[event.who].finished = members_[event.who].swept = true; break;
            case EventKind::unhandled: ++run.unhandled; break;
            case EventKind::shutdown_begun:
                expect(!run.shutdown, "INV-SHUT-01", "shutdown began twice");
                run.shutdown = true;
                begin_sweep(run, "INV-SHUT-01");
                break;
            case EventKind::second_phase:
                expect(run.shutdown && !run.second_phase, "INV-SHUT-06", "the second phase began without shutdown, or twice");
                run.second_phase = true;
                begin_sweep(run, "INV-SHUT-01");
                break;
            case EventKind::deadlock: deadlock(event, run); break;
            case EventKind::unwound: unwound(event, run); break;
            case EventKind::tick_begin:
                expect_swept(run);
                expect(event.a == 0 || !run.second_phase, "INV-SHUT-06", "a blocking tick in the second phase");
                run.in_tick = true;
                run.tick_was_quiet = event.a == 0;
                break;
            case EventKind::tick_end: run.in_tick = false; break;
            case EventKind::microtask_run:
            case EventKind::delivered: progress(run); break;
            default: break;
        }
    }

    void settled(const Scheduler& scheduler) override {
        Run& run = nodes_[&scheduler];
        if (scheduler.registry().empty() || scheduler.reactor().alive()) {
            run.idle_rounds = 0;
            return;
        }
        // A deadlock, or one more tick that brings a close or a post: but not for ever.
        constexpr std::uint32_t rounds_max = 64;
        expect(++run.idle_rounds <= rounds_max, "INV-DEAD-02", "the loop turns, nothing can ever happen, and no deadlock is found");
    }

    void ended(const Scheduler& scheduler) override {
        const Run& run = nodes_[&scheduler];
        expect(scheduler.registry().empty() && scheduler.ready_queue().empty() && !scheduler.has_microtasks() && scheduler.active_count() == 0,
               "INV-SHUT-05", "the run ended with something in a queue or the registry");
        expect(!scheduler.has_pending_error(), "INV-SHUT-02", "an error is pending behind the last handling point");
        // SCH-73: the end of main alone never ends a run.
        expect(run.shutdown || !scheduler.reactor().alive(), "INV-SHUT-04", "the run ended although a counted event is left");
        const bool threw = static_cast<bool>(scheduler.exit_error());
        const bool must = run.unhandled > 0 || run.deadlocks > 0;
        expect(threw || !must, "INV-SHUT-03", "something was unhandled, and run() does not throw");
        // An error that leaves a coroutine while it is unwound joins the chain without having been pending (SCH-72).
        expect(must || !threw || run.unwinding, "INV-SHUT-03", "run() throws although nothing was unhandled");
        expect(is_finite(scheduler.exit_error()), "INV-ERR-06", "the history of an error has no end");
        expect(run.deadlocks == 0 || has_deadlock_error(scheduler.exit_error()), "INV-DEAD-03", "a deadlock is not in the exit chain");
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const auto& [label, member] = members_.at(i);
            expect(member.finished || world().node_count() > 1, "INV-LIVE-01", "the run ended before a coroutine did", label);
        }
    }

private:
    static void progress(Run& run) { run.idle_rounds = 0; }

    void expect_no_pending() const {
        const Scheduler* running = scheduler();
        if (running == nullptr) { return; }
        expect(!running->has_pending_error(), "INV-SHUT-02", "a coroutine went on while an error waits for its handling point");
    }

    void begin_sweep(Run& run, const char* number) {
        const Scheduler* running = scheduler();
        if (running == nullptr) { return; }
        run.sweep_due = true;
        run.sweep = number;
        visit_coroutines(*running, [&](const CoroutineCore& c) { members_[c.label()].swept = c.is_completed(); });
    }

    /// Everybody who was registered when the sweep began has been asked to end, or has ended.
    void expect_swept(Run& run) {
        if (!run.sweep_due) { return; }
        run.sweep_due = false;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const auto& [label, member] = members_.at(i);
            expect(member.swept, run.sweep, "a sweep left a coroutine out", label);
        }
    }

    void deadlock(const Event& event, Run& run) {
        if (const Scheduler* running = scheduler(); running != nullptr) {
            expect(running->ready_queue().empty() && !running->has_microtasks(), "INV-DEAD-01", "a deadlock although somebody is ready");
            expect(!running->reactor().alive(), "INV-DEAD-01", "a deadlock although a counted event is started");
            expect(!running->registry().empty(), "INV-DEAD-01", "a deadlock of nobody");
            expect(run.tick_was_quiet, "INV-DEAD-01", "a deadlock without one more tick that wakes nobody");
        }
        expect(run.deadlocks == 0 || event.a < run.last_deadlock, "INV-LIVE-07", "a further deadlock of no fewer coroutines");
        ++run.deadlocks;
        run.last_deadlock = event.a;
        run.idle_rounds = 0;
        begin_sweep(run, "INV-DEAD-03");
    }

    void unwound(const Event& event, Run& run) {
        run.unwinding = true;
        run.idle_rounds = 0;
        members_[event.who].unwound = true;
        const Scheduler* running = scheduler();
        if (running == nullptr || running->registry().back() == nullptr) { return; }
        expect(running->registry().back()->label() == event.who, "INV-SHUT-07", "an older coroutine was unwound before a younger one", event.who);
    }

    static bool is_finite(const ErrorValue& error) {
        std::size_t left = 100'000;  // more than any run has errors
        for (ErrorValue at = error; at && left > 0; at = at.previous()) { --left; }
        return left > 0;
    }

    static bool has_deadlock_error(const ErrorValue& error) {
        for (ErrorValue at = error; at; at = at.previous()) {
            try {
                at.rethrow();
            } catch (const DeadlockError&) {
                return true;
            } catch (...) {
                continue;
            }
        }
        return false;
    }

    LabelTable<Member> members_;
    PerNode<Run> nodes_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_end_oracle() { return std::make_unique<EndOracle>(); }

}  // namespace heddle::prop
