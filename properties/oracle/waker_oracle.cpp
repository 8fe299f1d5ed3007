// SPDX-License-Identifier: Apache-2.0
// Waker oracle: every wait has one outcome, decided by the event that came first, and ends for a reason.
//
//   running ──parked──▶ waiting ──woken──▶ ready ──resumed──▶ running          each arrow once per wait (INV-WAKE-01, 04, 05)
//                                  outcome at one look ══ outcome at the next, but for a cancellation (INV-WAKE-02, INV-CAN-06)
//
// INV-WAKE-01 to 07, 10, 11, INV-AWAIT-02, INV-CAN-06, INV-CAN-11, INV-LIVE-02.
// Choice points: none.
#include <algorithm>
#include <optional>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

enum class At : std::uint8_t { unborn, queued_new, doomed, running, waiting, ready, finished };

struct Wait {
    At at = At::unborn;
    bool woken = false;          // since the wait began; an early wake-up is not counted
    bool by_cancel = false;      // the wake-up was one
    bool yielded = false;
    bool unwound = false;
    bool asked = false;          // somebody cancelled it since the last look
    bool parked_now = false;     // in the step that is ending
    bool await_kind = false;
    bool early = false;          // an event woke it while it ran, before its wait began
    std::optional<bool> with_error{};  // what `woken` said, until the next look
    // at the last look, while it was in the queue
    bool known = false;
    bool ignored = false;
    std::int64_t value = 0;
    bool has_value = false;
    ErrorValue error{};
};

class WakerOracle final : public Judge {
protected:
    void reset() override { waits_.clear(); }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::spawned: {
                Wait& wait = waits_[event.who];
                if (wait.at == At::unborn) { wait.at = At::queued_new; }
                break;
            }
            case EventKind::doomed: {
                Wait& wait = waits_[event.who];
                expect(wait.at == At::queued_new || wait.at == At::unborn, "INV-WAKE-01", "only an unstarted coroutine is doomed", event.who);
                wait.at = At::doomed;
                break;
            }
            case EventKind::started: {
                Wait& wait = waits_[event.who];
                expect(wait.at != At::doomed, "INV-WAKE-11", "a doomed coroutine ran", event.who);
                expect(wait.at == At::queued_new, "INV-WAKE-01", "started without having been queued", event.who);
                wait.at = At::running;
                wait.known = false;
                break;
            }
            case EventKind::yielded: {
                Wait& wait = waits_[event.who];
                expect(wait.at == At::running, "INV-WAKE-01", "only the running coroutine yields", event.who);
                wait.yielded = true;
                break;
            }
            case EventKind::parked: {
                Wait& wait = waits_[event.who];
                expect(wait.at == At::running || wait.at == At::ready, "INV-WAKE-01", "parked without running", event.who);
                expect(!wait.unwound, "INV-SHUT-07", "a coroutine that is unwound parked again", event.who);
                wait.at = wait.yielded || wait.woken ? At::ready : At::waiting;
                wait.parked_now = true;
                wait.known = false;
                wait.await_kind = event.note == "await" && event.a == 1;
                break;
            }
            case EventKind::woken: woken(event); break;
            case EventKind::fast_return:
                expect(waits_[event.who].woken, "INV-WAKE-04", "a fast return without a wake-up", event.who);
                ends(waits_[event.who]);
                break;
            case EventKind::resumed: {
                Wait& wait = waits_[event.who];
                expect(wait.woken || wait.yielded || wait.unwound, "INV-WAKE-04", "a wait ended for no reason", event.who);
                expect(wait.at == At::ready || wait.unwound, "INV-WAKE-01", "resumed without having been queued", event.who);
                ends(wait);
                break;
            }
            case EventKind::cancel_requested: waits_[event.who].asked = true; break;
            case EventKind::shutdown_begun:
            case EventKind::second_phase:
            case EventKind::deadlock:
            case EventKind::epilogue_expired: everybody_is_asked(); break;
            case EventKind::unwound: waits_[event.who].unwound = true; break;
            case EventKind::finished: {
                Wait& wait = waits_[event.who];
                expect(!wait.woken || wait.at != At::ready || wait.unwound, "INV-LIVE-02", "a coroutine that was woken ended without going on",
                       event.who);
                wait.at = At::finished;
                break;
            }
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event& event, bool) override {
        const bool of_step = event.kind == EventKind::quiescent || of_coroutine(event);
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            Wait& wait = waits_[c.label()];
            const Waker& waker = c.waker();
            switch (waker.status()) {
                case WakerStatus::waiting: look_at_waiting(c, wait); break;
                case WakerStatus::queued:
                case WakerStatus::ignored: look_at_queued(c, wait, of_step); break;
                case WakerStatus::none:
                case WakerStatus::result: wait.known = false; break;
            }
            wait.asked = wait.parked_now = false;
            wait.with_error.reset();
        });
    }

private:
    static void ends(Wait& wait) {
        wait.at = At::running;
        wait.woken = wait.by_cancel = wait.yielded = wait.known = wait.early = false;
        wait.with_error.reset();
    }

    /// Protection is removed from everybody, so that what was held back or pending may become an outcome (PRT-7).
    void everybody_is_asked() {
        for (std::size_t i = 0; i < waits_.size(); ++i) { waits_.at(i).record.asked = true; }
    }

    void woken(const Event& event) {
        Wait& wait = waits_[event.who];
        if (event.note == "early") {
            expect(wait.at == At::running, "INV-WAKE-01", "an early wake-up of somebody who does not run", event.who);
            wait.early = true;
            return;
        }
        expect(!wait.woken, "INV-WAKE-05", "one wait was ended twice", event.who);
        // Running: an event fired while it was being started, before the coroutine parked.
        expect(wait.at == At::waiting || wait.at == At::running, "INV-WAKE-01", "somebody was woken who does not wait", event.who);
        if (wait.at == At::waiting) { wait.at = At::ready; }
        wait.woken = true;
        wait.by_cancel = event.note == "cancel";
        wait.with_error = event.a == 1;
    }

    void look_at_waiting(const CoroutineCore& c, const Wait& wait) const {
        expect(!wait.woken, "INV-WAKE-03", "an event woke a coroutine, and it still waits", c.label());
        expect(c.waker().has_subscriptions(), "INV-WAKE-03", "a coroutine waits for nothing", c.label());
        // A wait begins clean: what is there already came early, or is left of another wait.
        const Outcome& now = c.waker().outcome();
        if (now.error || now.has_value || !c.waker().triggered().empty()) {
            if (wait.early) { fail("INV-WAKE-07", "an event that fired before its wait began was lost: " + name(c.label())); }
            fail("INV-WAKE-06", "a coroutine waits with an outcome of an earlier wait: " + name(c.label()));
        }
        bool open = false;
        c.waker().visit_events([&](const EventSource& waited) { open = open || !waited.is_closed(); });
        expect(open || !wait.parked_now || !wait.await_kind, "INV-AWAIT-02", "awaiting what was over parked", c.label());
        expect(open, "INV-WAKE-03", "a wake-up was lost: everything that a coroutine waits for is over", c.label());
    }

    void look_at_queued(const CoroutineCore& c, Wait& wait, bool of_step) const {
        const Outcome& now = c.waker().outcome();
        const bool ignored = c.waker().status() == WakerStatus::ignored;
        if (of_step && wait.by_cancel) {
            expect(!c.waker().has_subscriptions(), "INV-CAN-11", "a cancelled wait keeps its subscriptions", c.label());
        }
        if (wait.with_error && !wait.asked) {
            expect(*wait.with_error == static_cast<bool>(now.error), "INV-WAKE-02", "a later event replaced the outcome of a wait", c.label());
        }
        if (wait.known) { compare(c, wait, now, ignored); }
        wait.known = true;
        wait.ignored = ignored;
        wait.value = now.value;
        wait.has_value = now.has_value;
        wait.error = now.error;
        look_at_triggered(c);
    }

    void compare(const CoroutineCore& c, const Wait& wait, const Outcome& now, bool ignored) const {
        const bool same_error = static_cast<bool>(wait.error) == static_cast<bool>(now.error) && (!now.error || wait.error.same_error(now.error));
        expect(!wait.ignored || (ignored && same_error), "INV-WAKE-11", "a doomed coroutine lost its first reason", c.label());
        if (ignored) { return; }
        if (wait.error && !same_error) {
            fail("INV-CAN-06", "an error or cancellation that was stored was replaced: " + name(c.label()) + " had " +
                                   wait.error.describe() + ", has " + (now.error ? now.error.describe() : "none"));
        }
        if (same_error && now.value == wait.value && now.has_value == wait.has_value) { return; }
        expect(wait.asked && now.error && now.error.is_cancellation(), "INV-WAKE-02",
               "the outcome of a wait was replaced by something that is not a cancellation", c.label());
    }

    void look_at_triggered(const CoroutineCore& c) const {
        const std::vector<EventSource*> triggered = c.waker().triggered();
        for (std::size_t i = 0; i < triggered.size(); ++i) {
            const auto from = triggered.begin() + static_cast<std::ptrdiff_t>(i);
            expect(std::find(from + 1, triggered.end(), triggered[i]) == triggered.end(), "INV-WAKE-10",
                   "an event is in the triggered list twice", c.label());
        }
    }

    LabelTable<Wait> waits_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_waker_oracle() { return std::make_unique<WakerOracle>(); }

}  // namespace heddle::prop
