// SPDX-License-Identifier: Apache-2.0
// Scheduler oracle: who is in which state, in which queue, on which stack, and in which order the queue is served.
//
//   events ──▶ one Life per coroutine (spawned, started or doomed, finished, finalized), the open step, the last switch
//   look ────▶ registry × ready queue × contexts × scopes: the state table SCH-6 and the counters
//   two neighbouring looks ──▶ what stayed in the ready queue kept its order (INV-SCHED-07, INV-CAN-07)
//
// INV-SCHED-01 to 17, 19, 22 to 24, 26, and INV-CAN-07.
// Choice points: none.
#include <algorithm>
#include <utility>

#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Life {
    const Scheduler* node = nullptr;
    std::int64_t id = 0;
    bool spawned = false;
    bool started = false;
    bool doomed = false;
    bool finished = false;
    bool finalized = false;
    bool unwound = false;
    bool yielded = false;     // in the step that is open
    bool left = false;        // LEAVE handlers were called in this step
    bool cancelled = false;   // since the last look
    bool head_used = false;   // its one insertion at the head (INV-SCHED-08)
    ErrorValue outcome{};     // from its end to the end of its finalization
};

/// A place in the ready queue at the last look.
struct Place {
    Label who;
    bool doomed = false;
};

struct Node {
    Label open;                // whose step is open
    Label parked;              // whose in-place tick is going on, or what follows it
    Label switched_from;
    Label switched_to;
    std::uint64_t switches = 0;   // at the last `switched`
    std::vector<Place> queue;     // at the last look
    std::vector<Label> ran;       // coroutines whose step began since then
    std::uint32_t unseen = 0;     // steps that ended since then
    bool queue_known = false;
    bool direct = false;          // somebody was ready when `parked` parked
    bool disturbed = false;       // a microtask or heartbeat ran since the last look
    bool ending = false;          // second phase or terminal unwinding

    void reset() {
        open = parked = switched_from = switched_to = {};
        switches = unseen = 0;
        queue.clear();
        ran.clear();
        queue_known = direct = disturbed = ending = false;
    }
};

class SchedOracle final : public Judge {
protected:
    void reset() override {
        lives_.clear();
        nodes_.reset();
    }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::spawned: spawned(event); break;
            case EventKind::doomed: {
                Life& life = lives_[event.who];
                expect(!life.started && !life.finished, "INV-SCHED-01", "a coroutine that has started was doomed", event.who);
                life.doomed = true;
                life.node = scheduler();
                break;
            }
            case EventKind::started: {
                Life& life = lives_[event.who];
                expect(!life.started, "INV-SCHED-05", "an entry function began twice", event.who);
                expect(!life.doomed, "INV-SCHED-05", "the entry of a doomed coroutine began", event.who);
                expect(life.spawned, "INV-SCHED-06", "a coroutine began before its spawn returned", event.who);
                life.started = true;
                break;
            }
            case EventKind::step_begin:
                if (of_coroutine(event)) { step_begins(event.who); }
                break;
            case EventKind::step_end:
                ++here().unseen;
                if (of_coroutine(event)) { step_ends(event.who); }
                break;
            case EventKind::yielded: lives_[event.who].yielded = true; break;
            case EventKind::parked: {
                const Life& life = lives_[event.who];
                // SCH-30.3: a wait for nothing returns at once.
                expect(event.a > 0 || life.yielded, "INV-SCHED-17", "a suspension without a subscription parked", event.who);
                break;
            }
            case EventKind::handler_leave: lives_[event.who].left = true; break;
            case EventKind::fast_return:
                expect(!lives_[event.who].left, "INV-SCHED-16", "a fast return called switch handlers", event.who);
                break;
            case EventKind::resumed: expect(!lives_[event.who].finished, "INV-SCHED-09", "code ran after the end", event.who); break;
            case EventKind::finished: {
                Life& life = lives_[event.who];
                expect(!life.finished, "INV-SCHED-09", "finalized twice", event.who);
                expect(life.spawned || life.doomed, "INV-SCHED-09", "finished without having been enqueued", event.who);
                life.finished = true;
                if (const CoroutineCore* core = ending(event.who); core != nullptr) {
                    expect(core->is_completed() && sort_of(core->error()) == event.a, "INV-SCHED-10",
                           "a finished coroutine has no outcome, or another one than it was said to have", event.who);
                    life.outcome = core->error();
                }
                break;
            }
            case EventKind::finalized: {
                Life& life = lives_[event.who];
                expect(life.finished && !life.finalized, "INV-SCHED-09", "finalization out of order", event.who);
                life.finalized = true;
                const ErrorValue outcome = std::exchange(life.outcome, {});
                if (const CoroutineCore* core = ending(event.who); core != nullptr) {
                    expect(sort_of(core->error()) == sort_of(outcome) && (!outcome || outcome.same_error(core->error())), "INV-SCHED-10",
                           "the outcome of a finished coroutine changed", event.who);
                }
                break;
            }
            case EventKind::cancel_requested: lives_[event.who].cancelled = true; break;
            case EventKind::unwound:
                lives_[event.who].unwound = true;
                here().ending = true;
                break;
            case EventKind::second_phase: here().ending = true; break;
            case EventKind::microtask_run:
            case EventKind::heartbeat: here().disturbed = true; break;
            case EventKind::switched: switched(event); break;
            case EventKind::tick_begin: tick_begins(event); break;
            case EventKind::context_pooled: context_pooled(); break;
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event& event, bool neighbours) override {
        look_at_states(scheduler, event);
        look_at_counters(scheduler);
        look_at_contexts(scheduler);
        look_at_queue(scheduler, neighbours);
    }

    void ended(const Scheduler& scheduler) override {
        for (std::size_t i = 0; i < lives_.size(); ++i) {
            const auto& [label, life] = lives_.at(i);
            if (life.node != &scheduler || !(life.spawned || life.doomed)) { continue; }
            expect(life.finalized, "INV-SCHED-09", "the run ended before a coroutine was finalized", label);
        }
        expect(scheduler.statistics().pooled_contexts == 0, "INV-SCHED-24", "a context is pooled behind the end of the loop");
    }

private:
    Node& here() { return nodes_[scheduler()]; }

    /// `who`, if it is the one whose finalization is going on.
    [[nodiscard]] static const CoroutineCore* ending(Label who) {
        const Scheduler* running = scheduler();
        const CoroutineCore* current = running != nullptr ? running->current() : nullptr;
        return current != nullptr && current->label() == who ? current : nullptr;
    }
    /// As `finished` says it: 0 a value, 1 an error, 2 a cancellation.
    [[nodiscard]] static std::int64_t sort_of(const ErrorValue& outcome) { return !outcome ? 0 : outcome.is_cancellation() ? 2 : 1; }

    void spawned(const Event& event) {
        Life& life = lives_[event.who];
        expect(!life.spawned, "INV-SCHED-26", "one label names two coroutines", event.who);
        expect(event.a > 0, "INV-SCHED-26", "a coroutine without an id", event.who);
        life.spawned = true;
        life.id = event.a;
        life.node = scheduler();
    }

    void step_begins(Label who) {
        Node& node = here();
        const Life& life = lives_[who];
        expect(!node.open, "INV-SCHED-04", "two coroutines run at once: a step began inside another one's", who);
        expect(!life.finished, "INV-SCHED-09", "a step of a finished coroutine", who);
        const Scheduler* running = scheduler();
        if (running != nullptr) {
            expect(!running->in_scheduler_phase(), "INV-SCHED-19", "user code runs in a scheduler phase", who);
            expect_no_subscriptions(*running);
            check_switches(node, *running, who);
            check_dispatch(node, *running, who, life);
        }
        node.open = who;
        node.parked = node.switched_from = node.switched_to = {};
        node.ran.push_back(who);
    }

    void step_ends(Label who) {
        Node& node = here();
        Life& life = lives_[who];
        // A doomed or unwound coroutine is finalized without a step of its own.
        expect(node.open == who || (!node.open && life.finished && !life.started), "INV-SCHED-04", "a step ended that had not begun", who);
        node.open = {};
        node.parked = life.finished ? Label{} : who;
        node.direct = scheduler() != nullptr && !scheduler()->ready_queue().empty();
        life.yielded = life.left = false;
        if (const Scheduler* running = scheduler(); running != nullptr && !life.finished) { expect_no_subscriptions(*running); }
    }

    /// After a flush point no woken coroutine has a subscription left.
    void expect_no_subscriptions(const Scheduler& scheduler) const {
        const auto& ready = scheduler.ready_queue();
        const std::size_t count = std::min(ready.size(), everyone);
        for (std::size_t i = 0; i < count; ++i) {
            expect(!ready[i]->waker().has_subscriptions(), "INV-SCHED-19", "a ready coroutine still has subscriptions", ready[i]->label());
        }
    }

    void switched(const Event& event) {
        Node& node = here();
        node.switched_from = event.who;
        node.switched_to = event.what;
        if (const Scheduler* running = scheduler(); running != nullptr) { node.switches = running->statistics().switches; }
    }

    /// INV-SCHED-14, INV-SCHED-15: a live coroutine that was ready when another one parked is reached by one switch, from there.
    void check_switches(const Node& node, const Scheduler& scheduler, Label who) const {
        if (node.switched_to && node.switched_to == who) {
            expect(scheduler.statistics().switches == node.switches + 1, "INV-SCHED-14", "a dispatch took more than one switch", who);
        }
        if (!node.parked || node.parked == who || !node.direct || node.ending || scheduler.has_second_phase_begun()) { return; }
        expect(node.switched_from == node.parked, "INV-SCHED-15", "the scheduler coroutine came between two coroutines", who);
    }

    /// INV-SCHED-07: the head of the queue is dispatched.
    void check_dispatch(const Node& node, const Scheduler& scheduler, Label who, const Life& life) const {
        if (!knows_queue(node) || node.queue.empty() || life.unwound || scheduler.options().any_order) { return; }
        const auto at = std::ranges::find_if(node.queue, [&](const Place& place) { return place.who == who; });
        if (at == node.queue.end() || at == node.queue.begin()) { return; }
        fail("INV-SCHED-07", name(who) + " was dispatched before " + name(node.queue.front().who) + ", which was queued before it");
    }

    /// The queue is as it was at the last look, as far as coroutines and deliveries go.
    [[nodiscard]] static bool knows_queue(const Node& node) { return node.queue_known && node.unseen == 0 && !node.disturbed; }

    void tick_begins(const Event& event) {
        const Scheduler* running = scheduler();
        if (running == nullptr || event.a != 1) { return; }
        expect(running->ready_queue().empty(), "INV-SCHED-13", "a blocking tick began although a coroutine is ready");
        expect(!running->has_microtasks(), "INV-SCHED-13", "a blocking tick began although a microtask is queued");
    }

    void context_pooled() {
        const Scheduler* running = scheduler();
        if (running == nullptr) { return; }
        const RuntimeStatistics now = running->statistics();
        const std::size_t before = now.pooled_contexts - 1;
        expect(before < 4 || before < now.ready, "INV-SCHED-24", "the pool accepted more contexts than it may hold");
    }

    void look_at_states(const Scheduler& scheduler, const Event& event) {
        const CoroutineCore* current = scheduler.current();
        CoroutineId last;
        std::size_t queued = 0;
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            const Label who = c.label();
            expect(c.id() > last, "INV-SCHED-11", "the registry is not in the order of ids", who);
            last = c.id();
            if (c.is_completed()) {  // inside its own finalization
                expect(&c == current, "INV-SCHED-11", "a finished coroutine is registered", who);
                return;
            }
            const WakerStatus status = c.waker().status();
            const bool needs_context = c.is_started() && !c.is_main();
            expect((c.context() != nullptr) == needs_context, "INV-SCHED-01", "a started coroutine has a context, and no other", who);
            switch (status) {
                case WakerStatus::none:
                case WakerStatus::result:
                    expect(c.is_started(), "INV-SCHED-01", "a registered coroutine is neither queued nor started", who);
                    expect(&c == current, "INV-SCHED-04", "a coroutine runs that is not the current one", who);
                    break;
                case WakerStatus::waiting: expect(c.is_started(), "INV-SCHED-01", "an unstarted coroutine waits", who); break;
                case WakerStatus::ignored:
                    expect(!c.is_started(), "INV-SCHED-01", "a started coroutine is doomed", who);
                    ++queued;
                    break;
                case WakerStatus::queued: ++queued; break;
            }
        });
        const auto& ready = scheduler.ready_queue();
        expect(queued == ready.size(), "INV-SCHED-02", "not exactly the queued coroutines are in the ready queue");
        for (std::size_t i = 0; i < ready.size(); ++i) {
            const CoroutineCore& c = *ready[i];
            expect(!c.is_completed(), "INV-SCHED-03", "a finished coroutine is in the ready queue", c.label());
            expect(c.waker().in_queue(), "INV-SCHED-03", "a coroutine is in the ready queue that is not queued", c.label());
        }
        // What a delivery's end shows is the middle of a tick; a finalization's end still names the finished one.
        if (event.kind == EventKind::step_end && !of_coroutine(event) && current != nullptr) {
            expect(!current->is_completed(), "INV-SCHED-04", "the current coroutine has finished", current->label());
        }
    }

    void look_at_counters(const Scheduler& scheduler) const {
        std::size_t active = 0;
        visit_coroutines(scheduler, [&](const CoroutineCore& c) { active += c.is_zombie() ? 0 : 1; });
        expect(active == scheduler.active_count(), "INV-SCHED-12", "the active count is not the number of registered non-zombies");
        std::size_t in_scopes = 0;
        visit_scopes(scheduler, [&](const ScopeCore& scope) { in_scopes += scope.active(); });
        expect(active == in_scopes, "INV-SCHED-12", "the active count is not the sum over all scopes");
    }

    void look_at_contexts(const Scheduler& scheduler) const {
        std::size_t hosted = 0;
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            if (c.context() == nullptr) { return; }
            expect(c.context()->hosted == &c, "INV-SCHED-22", "a coroutine's context hosts somebody else", c.label());
            ++hosted;
        });
        const RuntimeStatistics now = scheduler.statistics();
        for (std::size_t i = 0; i < now.pooled_contexts; ++i) {
            expect(scheduler.pooled_context(i)->hosted == nullptr, "INV-SCHED-22", "a pooled context hosts a coroutine");
        }
        const std::size_t known = hosted + now.pooled_contexts + 1;
        expect(now.live_contexts == known || now.live_contexts == known + 1, "INV-SCHED-23",
               "there are more contexts than coroutines, pool and scheduler account for");
    }

    /// What was in the queue at the last look and did not run since is still there, in the same order; what is new stands behind it,
    /// a first enqueue of high priority before it.
    void look_at_queue(const Scheduler& scheduler, bool neighbours) {
        Node& node = nodes_[&scheduler];
        const auto& ready = scheduler.ready_queue();
        const bool small = ready.size() <= everyone;
        if (node.queue_known && neighbours && small) {
            std::size_t next = 0;                     // behind the last survivor, as of the last look
            const CoroutineCore* newcomer = nullptr;  // at the tail, or so it should be
            for (std::size_t i = 0; i < ready.size(); ++i) {
                const CoroutineCore& c = *ready[i];
                const Life& life = lives_[c.label()];
                if (!c.is_started() && c.priority() == Priority::high && !life.head_used) { continue; }
                const std::size_t before = survivor(node, c.label());
                if (before == node.queue.size()) {
                    if (newcomer == nullptr) { newcomer = &c; }
                    continue;
                }
                if (newcomer != nullptr) {
                    fail(newcomer->is_started() ? "INV-SCHED-08" : "INV-SCHED-07",
                         name(newcomer->label()) + " went before " + name(c.label()) + ", which was queued before it");
                }
                if (before < next) {
                    fail(life.cancelled ? "INV-CAN-07" : "INV-SCHED-07", "the order of the ready queue changed: " + name(c.label()));
                }
                next = before + 1;
            }
        }
        node.queue_known = small;
        node.queue.clear();
        for (std::size_t i = 0; small && i < ready.size(); ++i) {
            const CoroutineCore& c = *ready[i];
            Life& life = lives_[c.label()];
            life.cancelled = false;
            if (!c.is_started() && c.priority() == Priority::high) { life.head_used = true; }
            node.queue.push_back({c.label(), c.waker().status() == WakerStatus::ignored});
        }
        node.ran.clear();
        node.disturbed = false;
        node.unseen = 0;
    }

    /// Its place at the last look; the queue's size if it was not there, or left it meanwhile.
    [[nodiscard]] static std::size_t survivor(const Node& node, Label who) {
        if (std::ranges::find(node.ran, who) != node.ran.end()) { return node.queue.size(); }
        const auto at = std::ranges::find_if(node.queue, [&](const Place& place) { return place.who == who; });
        return static_cast<std::size_t>(at - node.queue.begin());
    }

    LabelTable<Life> lives_;
    PerNode<Node> nodes_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_sched_oracle() { return std::make_unique<SchedOracle>(); }

}  // namespace heddle::prop
