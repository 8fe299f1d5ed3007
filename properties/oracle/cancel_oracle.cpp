// SPDX-License-Identifier: Apache-2.0
// Cancellation oracle: every accepted request is delivered once, in its target's own code, and never inside a protected region.
//
//   cancel_requested ──accepted──▶ undelivered ──cancel_delivered──▶ (a new request may come)
//        │ dropped: one is undelivered      └──finished──▶ absorbed into the outcome
//   protect_entered, protect_left ──▶ depth; shutdown, deadlock and epilogue set it to 0 (PRT-7)
//
// The model says from requests alone what must have been accepted; looks compare it with the coroutine's own flags.
// INV-CAN-01 to 05, 08 to 10, INV-PRT-01, 02, 04, INV-SCOPE-08, INV-LIVE-09.
// Choice points: none.
#include <utility>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Target {
    const Scheduler* node = nullptr;
    std::int64_t depth = 0;
    bool started = false;
    bool internal = false;
    bool doomed = false;
    bool finished = false;
    bool unwound = false;
    bool accepted = false;      // ever
    bool undelivered = false;
    bool held_back = false;     // the undelivered one was, by protect
    std::int64_t may_return = 0;  // regions whose protection was removed: each, if a cleanup, makes what leaves it pending again (PRT-10)
    bool safe_last = false;     // the last request was a safe one
};

struct Running {
    Label open;
    bool cancelled = false;  // somebody, in this step
    void reset() { *this = Running{}; }
};

class CancelOracle final : public Judge {
protected:
    void reset() override {
        targets_.clear();
        nodes_.reset();
    }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::spawned: {
                Target& target = targets_[event.who];
                target.node = scheduler();
                target.internal = event.note == "internal";
                break;
            }
            case EventKind::started: targets_[event.who].started = true; break;
            case EventKind::step_begin:
                if (of_coroutine(event)) {
                    Running& running = nodes_[scheduler()];
                    expect(!running.open || !running.cancelled, "INV-CAN-04", "a cancel switched to another coroutine", event.who);
                    running.open = event.who;
                    running.cancelled = false;
                }
                break;
            case EventKind::step_end:
                if (of_coroutine(event)) { nodes_[scheduler()].open = {}; }
                break;
            case EventKind::cancel_requested: requested(event); break;
            case EventKind::doomed: {
                Target& target = targets_[event.who];
                expect(!target.finished, "INV-CAN-05", "a finished coroutine was doomed", event.who);
                target.doomed = true;
                break;
            }
            case EventKind::woken:
                if (event.note == "cancel") {
                    const Target& target = targets_[event.who];
                    expect(!target.finished, "INV-CAN-05", "a finished coroutine was woken by a cancellation", event.who);
                    expect(target.depth == 0, "INV-PRT-01", "a wait inside protect was ended by a cancellation", event.who);
                }
                break;
            case EventKind::cancel_deferred:
                expect(targets_[event.who].depth > 0, "INV-PRT-02", "a cancellation was held back outside protect", event.who);
                targets_[event.who].held_back = true;
                break;
            case EventKind::cancel_delivered: delivered(event); break;
            case EventKind::protect_entered: {
                Target& target = targets_[event.who];
                expect(event.a == target.depth + 1, "INV-PRT-04", "protection depth is not the number of regions entered", event.who);
                target.depth = event.a;
                break;
            }
            case EventKind::protect_left: {
                Target& target = targets_[event.who];
                expect(event.a >= 0 && event.a == target.depth - 1, "INV-PRT-04", "protection depth did not go down by one", event.who);
                target.depth = event.a;
                break;
            }
            case EventKind::shutdown_begun:
            case EventKind::second_phase:
            case EventKind::deadlock: protection_ends(); break;
            case EventKind::epilogue_expired:
                if (event.a == 1) { protection_ends(); }
                break;
            case EventKind::unwound: {
                Target& target = targets_[event.who];
                target.unwound = true;
                target.undelivered = false;  // SCH-72
                break;
            }
            case EventKind::finished: finished(event); break;
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event& event, bool) override {
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            const Target& target = targets_[c.label()];
            expect(c.protection_depth() == static_cast<std::uint32_t>(target.depth), "INV-PRT-04",
                   "protection depth is not the number of regions entered since it was removed", c.label());
            if (c.protection_depth() == 0) {
                expect(!c.has_deferred_cancellation(), "INV-PRT-02", "a cancellation is held back outside protect", c.label());
                expect(c.waker().status() != WakerStatus::waiting || !c.has_pending_cancellation(), "INV-PRT-04",
                       "an unprotected coroutine waits with a pending cancellation", c.label());
            }
            if (c.is_completed()) { return; }
            look_at_flag(c.is_cancellation_requested(), target, c.label());
            if (target.undelivered) { look_at_undelivered(c, target); }
        });
        const CoroutineCore* current = scheduler.current();
        if (event.kind == EventKind::step_end && of_coroutine(event) && current != nullptr && current->is_completed()) {
            look_at_flag(current->is_cancelled(), targets_[current->label()], current->label());
        }
    }

    void ended(const Scheduler& scheduler) override {
        // Further back in its history one may stand: what an error escaped from (CAN-13).
        expect(!scheduler.exit_error().is_cancellation(), "INV-CAN-08", "a cancellation became the exit exception");
    }

private:
    void look_at_flag(bool flag, const Target& target, Label who) const {
        if (flag == target.accepted) { return; }
        if (flag && target.safe_last) { fail("INV-SCOPE-08", "a safe request cancelled " + name(who)); }
        fail("INV-CAN-09", name(who) + (flag ? " reads as cancelled, and no request was accepted" : " lost a request that was accepted"));
    }

    /// It is kept somewhere until it is delivered: held back, pending, as the outcome of a wait, or as the doom of an unstarted one.
    void look_at_undelivered(const CoroutineCore& c, const Target& target) const {
        const ErrorValue& outcome = c.waker().outcome().error;
        const bool kept = c.has_deferred_cancellation() || c.has_pending_cancellation() || (outcome && outcome.is_cancellation());
        if (kept) { return; }
        if (!c.is_started()) { fail("INV-CAN-03", "an unstarted coroutine was cancelled and is not doomed: " + name(c.label())); }
        if (target.held_back) { fail("INV-LIVE-09", "a cancellation that was held back was never delivered: " + name(c.label())); }
        fail("INV-CAN-01", "an accepted cancellation is kept nowhere: " + name(c.label()));
    }

    void requested(const Event& event) {
        Target& target = targets_[event.who];
        nodes_[scheduler()].cancelled = true;
        const auto kind = static_cast<CancelKind>(event.a);
        target.safe_last = kind != CancelKind::forced;
        const bool cancels = kind == CancelKind::forced || (kind == CancelKind::safe_cancel && !target.started);
        const bool accepted = cancels && !target.finished && !target.undelivered && !is_out_of_reach(target, kind, event.who);
        // What was delivered inside a cleanup may be undelivered again, and then a new one is dropped (PRT-10).
        expect(accepted == (event.b == 1) || target.may_return > 0, "INV-CAN-01",
               accepted ? "a cancellation was dropped although none is undelivered" : "a cancellation was accepted that must be dropped",
               event.who);
        if (event.b != 1) { return; }
        target.accepted = target.undelivered = true;
        target.held_back = false;
    }

    /// FIN-11: an unstarted finally coroutine is reached by nothing, a started one by forced requests only.
    [[nodiscard]] bool is_out_of_reach(const Target& target, CancelKind kind, Label who) const {
        const Scheduler* running = scheduler();
        if (!target.internal || running == nullptr || (target.started && kind == CancelKind::forced)) { return false; }
        bool in_finally = false;
        visit_coroutines(*running, [&](const CoroutineCore& c) { in_finally = in_finally || (c.label() == who && c.is_in_finally_run()); });
        return in_finally;
    }

    void delivered(const Event& event) {
        Target& target = targets_[event.who];
        expect(nodes_[scheduler()].open == event.who, "INV-CAN-02", "a cancellation was delivered outside of its target's code", event.who);
        expect(target.depth == 0, "INV-PRT-01", "a cancellation was thrown inside protect", event.who);
        if (!target.undelivered) {
            expect(target.accepted, "INV-CAN-01", "a cancellation was delivered that nobody asked for", event.who);
            expect(target.may_return > 0, "INV-CAN-10", "one cancellation was delivered twice", event.who);
            --target.may_return;
        }
        target.undelivered = false;
    }

    void finished(const Event& event) {
        Target& target = targets_[event.who];
        if (target.doomed) { expect(event.a == 2, "INV-CAN-03", "a doomed coroutine ended without its cancellation", event.who); }
        expect(!target.undelivered || event.a != 0, "INV-CAN-01", "an accepted cancellation was lost: its target ended with a value", event.who);
        target.finished = true;
        target.undelivered = false;
    }

    void protection_ends() {
        const Scheduler* running = scheduler();
        for (std::size_t i = 0; i < targets_.size(); ++i) {
            Target& target = targets_.at(i).record;
            if (target.node != running || target.depth == 0) { continue; }
            target.may_return += std::exchange(target.depth, 0);
        }
    }

    LabelTable<Target> targets_;
    PerNode<Running> nodes_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_cancel_oracle() { return std::make_unique<CancelOracle>(); }

}  // namespace heddle::prop
