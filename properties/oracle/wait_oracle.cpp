// SPDX-License-Identifier: Apache-2.0
// Wait oracle: waits for primitives. Each is ended once, grants go to the oldest who lives, and each grant is spent or handed on.
//
//   wait_begun ──▶ in line ──granted──▶ promised ──grant_spent──▶ over
//                    │ woken without a grant        └─handed_on──▶ over, and the next in line is promised what was given up
//                    └──▶ dead ──wait_left──▶ over
//
// The model is made of events alone: it knows neither lists nor counters of a primitive. Looks compare it with the books of each.
// INV-ALL-01 to 04, 08, INV-CHAN-08, INV-POOL-07, INV-MTX-01 to 05, INV-FUT-09.
// Choice points: none.
#include <map>
#include <string>
#include <vector>

#include "heddle/core/sync/future_state.hpp"
#include "heddle/core/sync/semaphore_state.hpp"
#include "heddle/properties/oracle/judge.hpp"
#include "heddle/properties/oracle/label_table.hpp"
#include "heddle/properties/oracle/oracles.hpp"

namespace heddle::prop {
namespace {

enum class At : std::uint8_t { in_line, dead, promised };

struct Place {
    Label who;
    At at = At::in_line;
};

/// One side of one object: its line, oldest first.
struct Side {
    std::string name;
    std::vector<Place> line;
};

struct Object {
    std::vector<Side> sides;
    bool closed = false;

    Side& side(std::string_view name) {
        for (Side& one : sides) {
            if (one.name == name) { return one; }
        }
        sides.push_back({std::string(name), {}});
        return sides.back();
    }
};

class WaitOracle final : public Judge {
protected:
    void reset() override { objects_.clear(); }

    void follow(const Event& event) override {
        switch (event.kind) {
            case EventKind::wait_begun:
                expect(count(event.who, At::in_line) == 0, "INV-ALL-01", "a coroutine waits in two lines at once", event.who);
                objects_[event.what].side(event.note).line.push_back({event.who, At::in_line});
                break;
            case EventKind::granted: granted(event); break;
            case EventKind::woken: woken(event); break;
            case EventKind::grant_spent:
            case EventKind::handed_on: leaves(event, At::promised); break;
            case EventKind::wait_left: leaves(event, At::dead); break;
            case EventKind::unwound:
                each([&](Place& place) {
                    if (place.who == event.who && place.at == At::in_line) { place.at = At::dead; }
                });
                break;
            case EventKind::object_closed: objects_[event.what].closed = true; break;
            default: break;
        }
    }

    void look(const Scheduler& scheduler, const Event&, bool) override {
        visit_objects(scheduler, [&](const RuntimeObject& object) {
            if (const auto* semaphore = dynamic_cast<const SemaphoreState*>(&object); semaphore != nullptr) { look_at(*semaphore); }
        });
    }

    void settled(const Scheduler& scheduler) override {
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            const auto& [label, object] = objects_.at(i);
            for (const Side& side : object.sides) {
                for (const Place& place : side.line) {
                    expect(place.at != At::promised, "INV-ALL-04", "something is promised at rest to", place.who);
                    expect(place.at != At::dead, "INV-ALL-04", "a dead waiter is in line at rest", place.who);
                }
            }
        }
        visit_objects(scheduler, [&](const RuntimeObject& object) {
            const auto* semaphore = dynamic_cast<const SemaphoreState*>(&object);
            if (semaphore == nullptr || semaphore->waiters().empty()) { return; }
            expect(semaphore->units_wanted(*semaphore->waiters().front()) > semaphore->available(), "INV-MTX-03",
                   "at rest somebody waits for permits that are free", object.object_label());
        });
        visit_coroutines(scheduler, [&](const CoroutineCore& c) {
            if (c.state() != CoroutineState::waiting) { return; }
            c.waker().visit_events([&](const EventSource& waited) {
                const auto* future = dynamic_cast<const FutureCore*>(&waited);
                if (future == nullptr || future->is_settled()) { return; }
                expect(future->producer_count() > 0 || future->has_source(), "INV-FUT-09", "somebody waits for a future that nobody can settle",
                       c.label());
            });
        });
    }

    void ended(const Scheduler& scheduler) override {
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            for (const Side& side : objects_.at(i).record.sides) {
                if (!side.line.empty()) { expect(false, "INV-ALL-08", "a waiter is left behind the run", side.line.front().who); }
            }
        }
        visit_objects(scheduler, [&](const RuntimeObject& object) {
            const auto* semaphore = dynamic_cast<const SemaphoreState*>(&object);
            expect(semaphore == nullptr || semaphore->waiters().empty(), "INV-ALL-08", "a waiter is left behind the run", object.object_label());
        });
    }

private:
    template <class F>
    void each(F&& visit) {
        for (std::size_t i = 0; i < objects_.size(); ++i) {
            for (Side& side : objects_.at(i).record.sides) {
                for (Place& place : side.line) { visit(place); }
            }
        }
    }

    [[nodiscard]] std::size_t count(Label who, At at) {
        std::size_t found = 0;
        each([&](const Place& place) { found += place.who == who && place.at == at ? 1 : 0; });
        return found;
    }

    void granted(const Event& event) {
        Object& object = objects_[event.what];
        for (Place& place : object.side(event.note).line) {
            if (place.at != At::in_line) { continue; }
            expect(place.who == event.who,
                   event.note == "acquire" || event.note == "lock" ? "INV-MTX-02" : event.note == "lease" ? "INV-POOL-07" : "INV-CHAN-08",
                   "a grant passed by the oldest waiter", place.who);
            place.at = At::promised;
            return;
        }
        expect(false, "INV-ALL-02", "a grant to somebody who does not wait", event.who);
    }

    /// Its wait ended. One that was granted something is `promised` already, so that this was something else.
    void woken(const Event& event) {
        each([&](Place& place) {
            if (place.who == event.who && place.at == At::in_line) { place.at = At::dead; }
        });
    }

    void leaves(const Event& event, At expected) {
        std::vector<Place>& line = objects_[event.what].side(event.note).line;
        for (auto place = line.begin(); place != line.end(); ++place) {
            if (place->who != event.who) { continue; }
            // A wait that could not begin has not been woken by anything (CV-08).
            const bool right = place->at == expected || (expected == At::dead && place->at == At::in_line);
            expect(right, "INV-ALL-03",
                   expected == At::promised ? "somebody used or gave up what it was not promised" : "a grant was neither spent nor handed on",
                   event.who);
            line.erase(place);
            return;
        }
        // Linked, and thrown out before its wait began (CV-08): no line knows it.
        expect(expected == At::dead, "INV-ALL-02", "a wait ended twice", event.who);
    }

    void look_at(const SemaphoreState& semaphore) {
        std::size_t promised = 0;
        if (Object* object = objects_.find(semaphore.object_label()); object != nullptr) {
            for (const Side& side : object->sides) {
                for (const Place& place : side.line) { promised += place.at == At::promised ? 1 : 0; }
            }
        }
        const Label label = semaphore.object_label();
        expect(semaphore.available() <= semaphore.permits_max(), "INV-MTX-01", "more permits are free than there are", label);
        expect((semaphore.granted_units() > 0) == (promised > 0), "INV-ALL-03", "the promised permits are not those of the waiters in their window",
               label);
        if (semaphore.permits_max() != 1) { return; }
        // A mutex, or what is used as one.
        expect(promised <= 1, "INV-MTX-04", "a mutex was given to two", label);
        bool living = false;
        for (const detail::WaitEntry* at = semaphore.waiters().front(); at != nullptr; at = semaphore.waiters().next(*at)) {
            living = living || at->is_living();
        }
        expect(!living || semaphore.available() == 0, "INV-MTX-05", "a mutex is free while somebody waits for it", label);
    }

    LabelTable<Object> objects_;
};

}  // namespace

std::unique_ptr<sim::Oracle> make_wait_oracle() { return std::make_unique<WaitOracle>(); }

}  // namespace heddle::prop
