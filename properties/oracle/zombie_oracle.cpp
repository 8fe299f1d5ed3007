// SPDX-License-Identifier: Apache-2.0
// Zombie oracle: one transition per coroutine, only for a safe request, and the epilogue's timer exactly while it is in force.
//
//   spawned ──▶ active + 1        became_zombie ──▶ active - 1        finalized ──▶ active - 1, unless a zombie (ZOM-9)
//                    └── the same count as the scheduler's after every step
//
// INV-ZOM-01 to 05, 07.
// Choice points: none.
#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

struct Member {
    bool alive = false;
    bool zombie = false;
    bool asked_safely = false;
    WakerStatus status = WakerStatus::none;  // at the last look
    bool looked = false;
    bool moved = false;  // anything happened to it since the last look
};

struct Counts {
    std::int64_t active = 0;
    std::int64_t registered = 0;
    bool unwinding = false;
    std::size_t events_before = 0;  // active events when the epilogue was entered
    bool entering = false;
    Instant empty_since;            // when the epilogue was entered last
    bool epilogue = false;
    bool standalone = false;        // the program itself started an event, which may keep the run going

    void reset() { *this = Counts{}; }
};

class ZombieOracle final : public Judge {
protected:
    void reset() override {
        members_.clear();
        nodes_.reset();
    }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::spawned: begins(event.who, event.b == 1); break;
            case EventKind::doomed:
                begins(event.who, false);  // a request inside the spawn's hook comes before the spawn is told (SCH-90)
                members_[event.who].moved = true;
                break;
            case EventKind::cancel_requested: {
                Member& member = members_[event.who];
                member.asked_safely = static_cast<CancelKind>(event.a) != CancelKind::forced;
                member.moved = member.moved || !member.asked_safely;
                break;
            }
            case EventKind::became_zombie: becomes_zombie(event); break;
            case EventKind::finalized: {
                Member& member = members_[event.who];
                if (!member.alive) { break; }
                member.alive = false;
                --here().registered;
                if (!member.zombie) { --here().active; }
                break;
            }
            case EventKind::woken:
            case EventKind::parked:
            case EventKind::yielded:
            case EventKind::started:
            case EventKind::resumed: members_[event.who].moved = true; break;
            case EventKind::shutdown_begun:
            case EventKind::second_phase:
            case EventKind::deadlock:
            case EventKind::epilogue_expired:
                for (std::size_t i = 0; i < members_.size(); ++i) { members_.at(i).record.moved = true; }
                break;
            case EventKind::epilogue_entered:
                if (const Scheduler* running = scheduler(); running != nullptr) {
                    here().entering = true;
                    here().epilogue = true;
                    here().empty_since = event.at;
                    here().events_before = running->reactor().active_events();
                }
                break;
            case EventKind::event_started:
                if (Counts& counts = here(); counts.entering) {
                    counts.entering = false;
                    expect(scheduler()->reactor().active_events() == counts.events_before, "INV-ZOM-05", "the epilogue's timer is counted");
                } else if (const Scheduler* running = scheduler(); running != nullptr && !running->in_scheduler_phase()) {
                    counts.standalone = true;
                }
                break;
            case EventKind::unwound:
                here().unwinding = true;
                members_[event.who].moved = true;
                break;
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event&, bool) override {
        Counts& counts = nodes_[&scheduler];
        expect(counts.active == static_cast<std::int64_t>(scheduler.active_count()), "INV-ZOM-02",
               "the active count does not follow spawns, transitions and ends");
        expect(counts.registered == static_cast<std::int64_t>(scheduler.registry().size()), "INV-ZOM-04",
               "the registry does not follow spawns and ends");
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            Member& member = members_[c.label()];
            expect(c.is_zombie() == member.zombie, "INV-ZOM-01", "zombie status was lost, or came from nowhere", c.label());
            const WakerStatus status = c.waker().status();
            expect(!member.looked || member.moved || status == member.status, "INV-ZOM-03",
                   "a coroutine's wait changed although nothing but a safe request reached it", c.label());
            member.looked = true;
            member.moved = &c == scheduler.current();
            member.status = status;
        });
        if (scheduler.registry().empty()) { counts.unwinding = false; }
        if (!counts.unwinding) { look_at_epilogue(scheduler); }
    }

    void ended(const Scheduler& scheduler) override {
        const Counts& counts = nodes_[&scheduler];
        if (!counts.epilogue || counts.standalone) { return; }
        // Each of the two timers fires at its deadline as the clock counts, plus what timers may be late by in this world.
        const sim::WorldOptions& options = world().options();
        const Duration late = options.resolution + options.timing.jitter;
        expect(scheduler.reactor().now() - counts.empty_since <= 2 * (scheduler.options().zombie_timeout + late), "INV-ZOM-07",
               "zombies held the run up for longer than two timeouts");
    }

private:
    Counts& here() { return nodes_[scheduler()]; }

    void begins(Label who, bool zombie) {
        Member& member = members_[who];
        if (member.alive) { return; }
        member.alive = true;
        member.zombie = zombie;
        ++here().registered;
        if (!zombie) { ++here().active; }
    }

    void becomes_zombie(const Event& event) {
        Member& member = members_[event.who];
        if (event.a == 1) {
            // Also told of one that a request inside its spawn's hook made a zombie (SCH-90).
            expect(member.zombie, "INV-ZOM-01", "born a zombie, but spawned as an active coroutine", event.who);
            return;
        }
        begins(event.who, false);
        expect(!member.zombie, "INV-ZOM-02", "a coroutine became a zombie twice", event.who);
        expect(member.asked_safely, "INV-ZOM-01", "a coroutine became a zombie without a safe request", event.who);
        member.zombie = true;
        --here().active;
    }

    void look_at_epilogue(const Scheduler& scheduler) const {
        const bool in_force = scheduler.active_count() == 0 && !scheduler.registry().empty() && scheduler.epilogue_expiries() < 2 &&
                              !scheduler.has_second_phase_begun();
        expect(scheduler.epilogue_armed() == in_force, "INV-ZOM-05",
               in_force ? "no active coroutine is left, and the epilogue's timer is not armed" : "the epilogue's timer is armed out of season");
    }

    LabelTable<Member> members_;
    PerNode<Counts> nodes_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_zombie_oracle() { return std::make_unique<ZombieOracle>(); }

}  // namespace heddle::prop
